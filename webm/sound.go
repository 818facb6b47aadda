package webm

import (
	"strings"

	"github.com/mediafrag/mediafrag/internal/audioframe"
)

// cut is how the beginning and the end of sound inside a frame can be stated.
type cut int

const (
	cutWhole   cut = iota // not at all: whole frames
	cutPreSkip            // Opus: pre-skip and CodecDelay; DiscardPadding at the end
	cutPadding            // DiscardPadding at both ends
	cutBytes              // PCM: frames themselves can be cut
)

// sound is what is known of the frames of an audio track.
type sound struct {
	cut cut
	// rate is the number of ticks a second in which frame lengths are counted.
	rate int64
	// length returns how long a frame presents, in those ticks, 0 where it
	// cannot be told. Prev is the frame before, nil where it is not known.
	length func(prev, frame []byte) int64
	// grid is what all lengths are multiples of, 0 where that is not known: frames
	// that follow each other since the track's first begin on it.
	grid int64
	// warmUp is how much sound before the frame that holds the first wanted the
	// decoder needs to be right, in ns; ideal is how much makes it right to the bit
	// in practice. Such a frame lasts at most longest; where that is 0 both count
	// from the wanted sample.
	warmUp, ideal, longest int64
	// entry reports whether decoding can begin with a frame as nowhere else, and
	// needs none before it; nil where any frame may be the first.
	entry func(frame []byte) bool
	// align is the number of bytes of one sample of all channels (PCM).
	align int
	// unsure says that length may not know a frame, which then lasts until the next.
	unsure bool
	// silentFirst says that a decoder gives nothing for its first frame.
	silentFirst bool
}

const (
	opusRate = 48000
	opusGrid = 120 // 2.5 ms, the shortest frame
	// opusWarmUp is what RFC 7845 section 4.2 asks for; opusIdeal made clips of
	// ten seconds equal to the bit. Chromium plays either without a wait, but
	// counts what is decoded before the clip into the duration that it shows.
	opusWarmUp = 80e6
	opusIdeal  = 1000e6
	// maxPreSkip is the most that OpusHead can state (16 bits).
	maxPreSkip = 65535
)

func (t *track) soundOf() sound {
	s := sound{rate: max(int64(t.coreRate+0.5), 1)}
	if t.kind != typeAudio || t.opaque {
		return s
	}
	fixed := func(n int64) {
		s.cut, s.grid = cutPadding, n
		s.length = func(_, _ []byte) int64 { return n }
	}
	// Frames of at most so many samples each need some before them.
	lead := func(samples, frames int64) {
		s.longest = samplesToNs(samples, s.rate)
		s.warmUp = frames * s.longest
		s.ideal = s.warmUp
	}
	switch id := t.codecID; {
	case id == "A_OPUS" && len(t.private) >= 19 && string(t.private[:8]) == "OpusHead":
		s = sound{cut: cutPreSkip, rate: opusRate, length: opusLength, grid: opusGrid, warmUp: max(opusWarmUp, min(t.seekPreRoll, opusIdeal)), ideal: opusIdeal}
	case id == "A_VORBIS":
		if v, ok := parseVorbis(t.private); ok {
			s = sound{cut: cutPadding, rate: v.rate, length: v.length, grid: v.grid(), silentFirst: true}
			s.warmUp = int64(v.long) * 1e9 / v.rate // half of it is the packet before
			s.ideal = s.warmUp
		}
	case id == "A_AAC" || strings.HasPrefix(id, "A_AAC/"):
		c, ok := audioframe.ParseConfig(t.private)
		if ok {
			s.rate = int64(c.Rate)
		}
		if fixed(1024); c.Short {
			fixed(960)
		}
		if lead(s.grid, audioframe.AACPreroll); c.SBR {
			s.warmUp, s.ideal = 4*s.longest, audioframe.SBRPreroll*1e9
		}
	case id == "A_MPEG/L3":
		// The bit reservoir reaches back 511 bytes: at 32 kbit/s that is five
		// frames, and the filter bank remembers one more.
		s.cut, s.length, s.warmUp, s.ideal = cutPadding, mpegLength, 7*1152*1e9/s.rate, audioframe.MP3Preroll*1152*1e9/s.rate
		if s.grid = 1152; s.rate < 32000 { // MPEG-2
			s.grid = 576
		}
	case id == "A_MPEG/L2":
		s.cut, s.length, s.grid = cutPadding, mpegLength, 1152
		lead(1152, audioframe.MP2Preroll)
	case id == "A_FLAC":
		s.cut = cutPadding
		s.length, s.grid = t.flacLength()
	case id == "A_ALAC" && len(t.private) >= 4:
		if n := int64(uintOf(t.private[:4])); n > 0 && n <= 1<<16 {
			fixed(n)
		}
	case id == "A_PCM/INT/LIT" || id == "A_PCM/INT/BIG" || id == "A_PCM/FLOAT/IEEE":
		if align := t.Channels * t.bitDepth / 8; align > 0 && t.bitDepth%8 == 0 {
			s.cut, s.align = cutBytes, align
			s.length = func(_, f []byte) int64 { return int64(len(f) / align) }
		}
	case id == "A_AC3" || strings.HasPrefix(id, "A_AC3/") || id == "A_EAC3":
		// ffmpeg applies DiscardPadding to the frame before, for its parser lags by
		// one: nothing can be hidden.
		if s.length, s.grid = ac3Length, 1536; id == "A_EAC3" {
			s.length, s.grid = eac3Length, 256
		}
		lead(1536, audioframe.AC3Preroll)
	case id == "A_DTS" || strings.HasPrefix(id, "A_DTS/"):
		s.cut, s.length, s.grid, s.unsure = cutPadding, t.dtsLength, 256, true
		lead(512, audioframe.TransformPreroll)
	case id == "A_TRUEHD" || id == "A_MLP":
		unit := mlpUnit(s.rate)
		fixed(unit)
		lead(unit, audioframe.MLPPreroll)
		s.entry = mlpSync
	}
	if len(t.prefix) > 0 && s.length != nil {
		length, prefix := s.length, t.prefix
		s.length = func(prev, f []byte) int64 {
			if prev != nil {
				prev = append(prefix[:len(prefix):len(prefix)], prev[:min(len(prev), 16)]...)
			}
			return length(prev, append(prefix[:len(prefix):len(prefix)], f...))
		}
		if s.cut == cutBytes {
			s.cut = cutWhole
		}
		if entry := s.entry; entry != nil {
			s.entry = func(f []byte) bool { return entry(append(prefix[:len(prefix):len(prefix)], f[:min(len(f), 16)]...)) }
		}
	}
	return s
}

// opusLength reads the TOC byte and the frame count (RFC 6716 section 3.1), in
// samples of 48 kHz.
func opusLength(_, f []byte) int64 {
	if len(f) == 0 {
		return 0
	}
	var one int64
	switch config := f[0] >> 3; {
	case config < 12: // SILK: 10, 20, 40, 60 ms
		one = [...]int64{480, 960, 1920, 2880}[config&3]
	case config < 16: // hybrid: 10, 20 ms
		one = [...]int64{480, 960}[config&1]
	default: // CELT: 2.5, 5, 10, 20 ms
		one = 120 << (config & 3)
	}
	switch f[0] & 3 {
	case 0:
		return one
	case 1, 2:
		return 2 * one
	}
	if len(f) < 2 {
		return 0
	}
	return min(one*int64(f[1]&63), 5760)
}

// mpegLength reads the frame header of MPEG audio (ISO/IEC 11172-3 section
// 2.4.2.3, and 13818-3).
func mpegLength(_, f []byte) int64 {
	if len(f) < 4 || f[0] != 0xFF || f[1]&0xE0 != 0xE0 {
		return 0
	}
	version, layer := f[1]>>3&3, f[1]>>1&3
	switch {
	case layer == 3: // layer I
		return 384
	case layer == 1 && version != 3: // layer III of MPEG-2 and 2.5
		return 576
	case layer == 0:
		return 0
	}
	return 1152
}

// flacLength reads block sizes: of STREAMINFO where all are the same, which is
// the grid then, else of each frame's header (RFC 9639 sections 8.2 and 9.1.1).
func (t *track) flacLength() (length func(prev, f []byte) int64, grid int64) {
	if p := t.private; len(p) >= 12 && string(p[:4]) == "fLaC" {
		if least, most := uintOf(p[8:10]), uintOf(p[10:12]); least == most && least > 0 {
			return func(_, f []byte) int64 { return flacFrame(f, int64(least)) }, int64(least)
		}
	}
	return func(_, f []byte) int64 { return flacFrame(f, 0) }, 0
}

// flacFrame returns the block size that a frame's header states.
func flacFrame(f []byte, otherwise int64) int64 {
	if len(f) < 6 || f[0] != 0xFF || f[1]&0xFC != 0xF8 {
		return otherwise
	}
	code := f[2] >> 4
	n := 4 // behind the coded number, which is written as UTF-8 writes it
	for first := f[4]; first&0x80 != 0 && n < 11; first <<= 1 {
		n++
	}
	if n == 4 {
		n = 5
	}
	switch {
	case code == 1:
		return 192
	case code >= 2 && code <= 5:
		return 144 << code
	case code == 6 && len(f) > n:
		return int64(f[n]) + 1
	case code == 7 && len(f) > n+1:
		return int64(uintOf(f[n:n+2])) + 1
	case code >= 8:
		return 1 << code
	}
	return otherwise
}
