package ogg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// vp8 is the mapping of VP8 in Ogg (On2, "Ogg Vp8 Mapping"). A tick is a shown
// picture. The granule position holds 32 bits of pictures shown up to and with
// this one, 2 that count hidden ones since (3: none), 27 of the distance to the
// keyframe, and 3 that are reserved.
type vp8 struct{}

const (
	vp8Pictures = 32 // shift of the number of pictures
	vp8Hidden   = 30
	vp8Shown    = 3
	vp8Distance = 3
)

func (*vp8) header(i int, p []byte, m *mapping) (more bool, err error) {
	if i > 0 { // comments, which some programs leave out
		if !bytes.HasPrefix(p, []byte("OVP80")) {
			return false, errNoHeader
		}
		return false, nil
	}
	if len(p) < 26 {
		return false, errors.New("broken: VP8 header is cut off")
	}
	if p[5] != 1 || p[6] != 1 {
		return false, fmt.Errorf("%w: VP8 mapping of version %d.%d", errVersion, p[6], p[7])
	}
	big24 := func(at int) int { return int(p[at])<<16 | int(p[at+1])<<8 | int(p[at+2]) }
	m.rate = clock{int64(binary.BigEndian.Uint32(p[18:])), int64(binary.BigEndian.Uint32(p[22:]))}
	if err := m.rate.check(); err != nil {
		return false, err
	}
	w, h := int(binary.BigEndian.Uint16(p[8:])), int(binary.BigEndian.Uint16(p[10:]))
	m.track = videoTrack("vp8", w, h, big24(12), big24(15), m.rate)
	m.mime, m.headers = "video/x-vp8", 2
	return true, nil
}

// length: a hidden picture (RFC 6386, section 9.1) takes no time.
func (*vp8) length(p []byte) int64 {
	if len(p) > 0 && p[0]>>4&1 == 0 {
		return 0
	}
	return 1
}

func (*vp8) key(p []byte) bool { return len(p) > 0 && p[0]&1 == 0 }

func (*vp8) position(g int64) (position, bool) {
	if g < 0 {
		return position{}, false
	}
	end := g >> vp8Pictures
	return position{end: end, key: max(0, end-1-g>>vp8Distance&(1<<27-1))}, true
}

func (*vp8) granule(p position) int64 {
	return p.end<<vp8Pictures | vp8Shown<<vp8Hidden | max(0, p.end-1-p.key)<<vp8Distance
}
