package ogg

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

// theora is the mapping of Theora (specification, sections 6.2 and A.2). A tick
// is a picture. The granule position is the number of the keyframe, shifted,
// and the pictures since.
type theora struct {
	shift uint
	// base is what the granule position of the very first picture counts it
	// as: 1 since bitstream version 3.2.1, 0 before.
	base int64
}

func (t *theora) header(i int, p []byte, m *mapping) (more bool, err error) {
	if len(p) < 7 || p[0] != byte(0x80+i) || string(p[1:7]) != "theora" {
		return false, fmt.Errorf("header packet %d is no Theora header", i)
	}
	m.headers = 3
	if i > 0 {
		return i < 2, nil
	}
	if len(p) < 42 {
		return false, errors.New("broken: Theora identification header is cut off")
	}
	if p[7] != 3 || p[8] != 2 {
		return false, fmt.Errorf("%w: Theora version %d.%d", errVersion, p[7], p[8])
	}
	if p[9] >= 1 {
		t.base = 1
	}
	big24 := func(at int) int { return int(p[at])<<16 | int(p[at+1])<<8 | int(p[at+2]) }
	t.shift = uint(p[40]&3)<<3 | uint(p[41]>>5)
	m.rate = clock{int64(binary.BigEndian.Uint32(p[22:])), int64(binary.BigEndian.Uint32(p[26:]))}
	if err := m.rate.check(); err != nil {
		return false, err
	}
	m.track = videoTrack("theora", big24(14), big24(17), big24(30), big24(33), m.rate)
	m.track.CodedWidth = 16 * int(binary.BigEndian.Uint16(p[10:]))
	m.track.CodedHeight = 16 * int(binary.BigEndian.Uint16(p[12:]))
	m.mime = "video/theora"
	return true, nil
}

// videoTrack describes a picture of w×h samples whose width to height is
// aspectW:aspectH (0: square).
func videoTrack(codec string, w, h, aspectW, aspectH int, rate clock) formats.Track {
	shown := w
	if aspectW > 0 && aspectH > 0 {
		shown = (w*aspectW + aspectH/2) / aspectH
	}
	return formats.Track{
		Kind: formats.Video, Codec: codec,
		Width: shown, Height: h, CodedWidth: w, CodedHeight: h,
		FrameRate: fragment.Ticks(rate.num, rate.den),
	}
}

// length is one picture; an empty packet repeats the one before.
func (*theora) length([]byte) int64 { return 1 }

func (*theora) key(p []byte) bool { return len(p) > 0 && p[0]&0xc0 == 0 }

func (t *theora) position(g int64) (position, bool) {
	if g < 0 {
		return position{}, false
	}
	key := g>>t.shift - t.base
	since := g & (1<<t.shift - 1)
	return position{end: key + since + 1, key: key}, true
}

func (t *theora) granule(p position) int64 {
	return (p.key+t.base)<<t.shift | (p.end - 1 - p.key)
}
