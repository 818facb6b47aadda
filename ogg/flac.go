package ogg

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mediafrag/mediafrag/formats"
)

// flac is the mapping of FLAC since version 1.1.1 (RFC 9639, section 10.1).
type flac struct {
	samples
	count int // header packets besides the first, 0: unknown
}

// Lengths and types in FLAC headers, in bytes.
const (
	flacPrefix     = 13 // before the STREAMINFO block: 0x7f FLAC, version, count, fLaC
	flacStreamInfo = 4 + 34
	flacSeekTable  = 3
	flacPicture    = 6
)

func (f *flac) header(i int, p []byte, m *mapping) (more bool, err error) {
	if i > 0 {
		if len(p) < 4 {
			return false, errors.New("broken: FLAC metadata block is cut off")
		}
		last := p[0]&0x80 != 0 || f.count > 0 && i >= f.count // GStreamer counts the first packet, too
		if last {
			m.headers = i + 1
		}
		return !last, nil
	}
	if len(p) < flacPrefix+flacStreamInfo {
		return false, errors.New("broken: FLAC header is cut off")
	}
	if p[5] != 1 || string(p[9:13]) != "fLaC" || p[13]&0x7f != 0 {
		return false, fmt.Errorf("%w: FLAC mapping of version %d.%d", errVersion, p[5], p[6])
	}
	f.count = int(binary.BigEndian.Uint16(p[7:]))
	info := p[flacPrefix+4:]
	rate := int64(binary.BigEndian.Uint32(info[10:]) >> 12)
	channels := int(info[12]>>1&7) + 1
	m.track = formats.Track{Kind: formats.Audio, Codec: "flac", Channels: channels, SampleRate: int(rate)}
	m.mime, m.rate = "audio/flac", clock{rate, 1}
	return f.count > 0 || p[13]&0x80 == 0, nil
}

// length reads the block size from a frame's header (RFC 9639, section 9.1).
func (*flac) length(p []byte) int64 {
	if len(p) < 6 || p[0] != 0xff || p[1]&0xfe != 0xf8 {
		return 0
	}
	number := 1 // bytes of the coded frame or sample number, as in UTF-8
	for b := p[4]; b&0xc0 == 0xc0 && number < 7; b <<= 1 {
		number++
	}
	switch code := p[2] >> 4; {
	case code == 1:
		return 192
	case code >= 2 && code <= 5:
		return 576 << (code - 2)
	case code == 6 && len(p) > 4+number:
		return int64(p[4+number]) + 1
	case code == 7 && len(p) > 5+number:
		return int64(binary.BigEndian.Uint16(p[4+number:])) + 1
	case code >= 8:
		return 256 << (code - 8)
	}
	return 0
}

// flacHeaders returns the header packets for a clip of n samples: without the
// checksum of the whole and without the seek table, both of which would lie.
func flacHeaders(old [][]byte, n int64) [][]byte {
	head := append([]byte(nil), old[0]...)
	info := head[flacPrefix+4:]
	if n < 0 || n >= 1<<36 {
		n = 0 // unknown
	}
	info[13] = info[13]&0xf0 | byte(n>>32)
	binary.BigEndian.PutUint32(info[14:], uint32(n))
	clear(info[18:34])
	out := [][]byte{head}
	for _, p := range old[1:] {
		if p[0]&0x7f != flacSeekTable {
			out = append(out, append([]byte(nil), p...))
		}
	}
	for i, p := range out {
		at := 0
		if i == 0 {
			at = flacPrefix
		}
		p[at] &= 0x7f
		if i == len(out)-1 {
			p[at] |= 0x80
		}
	}
	if binary.BigEndian.Uint16(head[7:]) != 0 {
		binary.BigEndian.PutUint16(head[7:], uint16(len(out)-1))
	}
	return out
}
