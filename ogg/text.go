package ogg

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mediafrag/mediafrag/formats"
)

// keyed is the granule position of text: the tick of the earliest text that
// still shows, shifted, and how far behind it this one begins.
type keyed struct{ shift uint }

func (keyed) length([]byte) int64 { return 0 }
func (keyed) key([]byte) bool     { return true }

func (k keyed) position(g int64) (position, bool) {
	if g < 0 {
		return position{}, false
	}
	base := g >> k.shift
	return position{end: base + g&(1<<k.shift-1), key: base}, true
}

// granule keeps the distance within its bits: where it is too large, the base
// moves.
func (k keyed) granule(p position) int64 {
	most := int64(1)<<k.shift - 1
	base := min(max(p.key, p.end-most), (1<<63-1)>>k.shift)
	p.end = min(p.end, base+most)
	return base<<k.shift | (p.end - base)
}

// kate is the mapping of Kate text (Xiph wiki, "OggKate").
type kate struct {
	keyed
	count int
}

const (
	kateHeader = 0x80 // type of the first header packet
	kateText   = 0x00 // type of a packet that shows text
	kateKeep   = 0x01 // type of a packet that only says that the stream goes on
	kateRepeat = 0x02 // type of a packet that shows again what one before it does
	kateEnd    = 0x7f // type of the last packet
)

func (k *kate) header(i int, p []byte, m *mapping) (more bool, err error) {
	if len(p) < 8 || p[0] != byte(kateHeader+i) {
		return false, fmt.Errorf("header packet %d is no Kate header", i)
	}
	if i > 0 {
		return i+1 < k.count, nil
	}
	if len(p) < 64 {
		return false, errors.New("broken: Kate header is cut off")
	}
	if p[9] != 0 {
		return false, fmt.Errorf("%w: Kate version %d.%d", errVersion, p[9], p[10])
	}
	k.count, k.shift = int(p[11]), uint(p[15])
	if k.count == 0 || k.shift >= 63 {
		return false, fmt.Errorf("broken: Kate with %d headers and granule shift %d", k.count, k.shift)
	}
	m.headers = k.count
	m.rate = clock{int64(binary.LittleEndian.Uint32(p[24:])), int64(binary.LittleEndian.Uint32(p[28:]))}
	m.track = formats.Track{Kind: formats.Subtitle, Codec: "kate", Language: cString(p[32:48])}
	m.mime = "application/x-kate"
	return k.count > 1, nil
}

// cString returns the text before the first zero byte.
func cString(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}

// goodbye is the packet on the last page of a text stream.
func (m *mapping) goodbye() []byte {
	if _, ok := m.codec.(*kate); ok {
		return []byte{kateEnd}
	}
	return nil
}

// cue reports whether a packet shows something. Others say that the stream goes
// on, or end it.
func (m *mapping) cue(p []byte) bool {
	if _, ok := m.codec.(*kate); ok {
		_, _, ok := kateShows(p)
		return ok
	}
	return len(p) > 0
}

// kateTimes is how many bytes of a text packet its type and times take: where it
// begins, how long it shows, and how much earlier the first began that still
// shows then.
const kateTimes = 25

// kateShows returns the ticks between which a text shows; ok is false where the
// packet shows none. The packet may be cut off behind its times.
func kateShows(p []byte) (from, to int64, ok bool) {
	if len(p) < kateTimes || p[0] != kateText && p[0] != kateRepeat {
		return 0, 0, false
	}
	from = int64(binary.LittleEndian.Uint64(p[1:]))
	length := int64(binary.LittleEndian.Uint64(p[9:]))
	return from, satAdd(from, length), from >= 0 && length >= 0
}

// granuleOf returns the granule position of a text on a page of its own, which may
// have shared one with later texts. Kate says it itself, but where it only says
// again what shows already.
func (m *mapping) granuleOf(q placed) int64 {
	if _, ok := m.codec.(*kate); !ok || q.data[0] != kateText {
		return q.granule
	}
	first := satSub(q.from, int64(binary.LittleEndian.Uint64(q.data[17:])))
	return m.granule(position{end: q.from, key: min(max(0, first), q.from)})
}

// kateShift returns the packet with its text delta ticks earlier. One that
// would begin before 0 is shortened to begin there, and one that begins at end or
// later, on the original's clock, does not show: it begins at the end and lasts
// no time.
func kateShift(p []byte, delta, end int64) []byte {
	from, to, ok := kateShows(p)
	if !ok {
		return p
	}
	p = slices.Clone(p)
	first := satSub(from, int64(binary.LittleEndian.Uint64(p[17:])))
	if from >= end {
		from, to = end, end
	}
	from, to, first = max(0, satSub(from, delta)), max(0, satSub(to, delta)), max(0, satSub(first, delta))
	binary.LittleEndian.PutUint64(p[1:], uint64(from))
	binary.LittleEndian.PutUint64(p[9:], uint64(to-from))
	binary.LittleEndian.PutUint64(p[17:], uint64(max(0, from-first))) // decoders refuse more than from
	return p
}

// cmml is the mapping of CMML (Continuous Media Markup Language, version 2.1,
// Annex). The time of a clip element is in its granule position only.
type cmml struct{ keyed }

func (c *cmml) header(i int, p []byte, m *mapping) (more bool, err error) {
	m.headers = 3
	if i > 0 {
		return i < 2, nil
	}
	if len(p) < 29 {
		return false, errors.New("broken: CMML header is cut off")
	}
	c.shift = uint(p[28])
	if c.shift >= 63 {
		return false, fmt.Errorf("broken: CMML with granule shift %d", c.shift)
	}
	m.rate = clock{int64(binary.LittleEndian.Uint64(p[12:])), int64(binary.LittleEndian.Uint64(p[20:]))}
	m.track = formats.Track{Kind: formats.Subtitle, Codec: "cmml"}
	m.mime = "text/x-cmml"
	return true, nil
}
