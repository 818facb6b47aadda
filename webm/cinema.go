package webm

import (
	"encoding/binary"

	"github.com/mediafrag/mediafrag/internal/audioframe"
)

// ac3Length is that of all frames of AC-3, six blocks.
func ac3Length(_, _ []byte) int64 { return 1536 }

// eac3Length counts the blocks of a frame and of those that share its packet
// (ETSI TS 102 366 annex E.1.2).
func eac3Length(_, f []byte) int64 {
	if n, _ := audioframe.Count(f); n > 0 {
		return int64(n)
	}
	return 1536
}

const dtsCoreSync = 0x7FFE8001

// dtsRates are the sampling rates of a core, in Hz, by SFREQ (ETSI TS 102 114
// table 5-5).
var dtsRates = [16]int64{1: 8000, 2: 16000, 3: 32000, 6: 11025, 7: 22050, 8: 44100, 11: 12000, 12: 24000, 13: 48000}

// dtsLength reads the header of a DTS core (ETSI TS 102 114 section 5.3.1), in
// samples of the track's rate, which that of an extension may be; 0 where there
// is no core.
func (t *track) dtsLength(_, f []byte) int64 {
	if len(f) < 9 || binary.BigEndian.Uint32(f) != dtsCoreSync {
		return 0
	}
	blocks := int64(binary.BigEndian.Uint16(f[4:])>>2&0x7F) + 1
	rate := dtsRates[f[8]>>2&15]
	if rate == 0 {
		return 0
	}
	return blocks * 32 * max(int64(t.coreRate+0.5), 1) / rate
}

// mlpUnit is how long an access unit of TrueHD or MLP lasts: 40 samples at 44.1
// or 48 kHz, and as long at their multiples.
func mlpUnit(rate int64) int64 {
	base := int64(48000)
	if rate%11025 == 0 {
		base = 44100
	}
	return max(40*rate/base, 1)
}

// mlpSync reports whether an access unit has a major sync, which all that a
// decoder needs to begin with follows ("Meridian Lossless Packing", format_sync).
func mlpSync(f []byte) bool {
	if len(f) < 8 {
		return false
	}
	sync := binary.BigEndian.Uint32(f[4:])
	return sync == 0xF8726FBA || sync == 0xF8726FBB
}
