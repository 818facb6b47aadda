package ogg

import (
	"bytes"
	"encoding/binary"
	"math/big"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

// Skeleton (versions 3 and 4, Xiph wiki "Ogg Skeleton"): a stream without media
// that describes the others. All its numbers are little-endian.

// skeleton is what the Skeleton of a link says.
type skeleton struct {
	serial  uint32
	head    []byte // the fishead packet
	bones   []fisbone
	indexes []index
	ended   bool        // its last page came before the data
	lies    atomic.Bool // an index did not lead to a page of its stream
}

// fisbone describes one stream.
type fisbone struct {
	serial uint32
	fields []field
}

// field is a message header field of a fisbone.
type field struct{ name, value string }

func (b *fisbone) field(name string) string {
	for _, f := range b.fields {
		if strings.EqualFold(f.name, name) {
			return f.value
		}
	}
	return ""
}

// Sizes of Skeleton packets in bytes.
const (
	fisheadLen = 64 // of version 3; version 4 adds the length of the segment and where its data begins
	fisheadV4  = 80
	fisboneLen = 52
	indexLen   = 42
	maxBones   = 4 * maxStreams
)

func isFishead(p []byte) bool {
	return bytes.HasPrefix(p, []byte("fishead\x00")) && len(p) >= fisheadLen
}

func newSkeleton(serial uint32, head []byte) *skeleton { return &skeleton{serial: serial, head: head} }

// add reads a packet after the first. What cannot be read is passed over: the
// Skeleton describes, nothing depends on it.
func (k *skeleton) add(p []byte) {
	if len(k.bones)+len(k.indexes) >= maxBones {
		return
	}
	switch {
	case bytes.HasPrefix(p, []byte("fisbone\x00")) && len(p) >= fisboneLen:
		k.bones = append(k.bones, readFisbone(p))
	case bytes.HasPrefix(p, []byte("index\x00")) && len(p) >= indexLen:
		if x, ok := readIndex(p); ok {
			k.indexes = append(k.indexes, x)
		}
	}
}

func readFisbone(p []byte) fisbone {
	b := fisbone{serial: binary.LittleEndian.Uint32(p[12:])}
	// The offset of the fields counts from itself, at byte 8.
	at := int64(8) + int64(binary.LittleEndian.Uint32(p[8:]))
	if at < fisboneLen || at > int64(len(p)) {
		return b
	}
	for line := range strings.SplitSeq(string(p[at:]), "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			b.fields = append(b.fields, field{strings.TrimSpace(name), strings.TrimSpace(value)})
		}
	}
	return b
}

// bone returns the description of a stream.
func (k *skeleton) bone(serial uint32) (b fisbone, ok bool) {
	if k == nil {
		return b, false
	}
	for _, b := range k.bones {
		if b.serial == serial {
			return b, true
		}
	}
	return b, false
}

// describe tells the link's tracks what the Skeleton says of them.
func (k *skeleton) describe(l *link) {
	for _, s := range l.streams {
		b, ok := k.bone(s.serial)
		if !ok {
			continue
		}
		if name := b.field("Name"); name != "" {
			s.track.Name = name
		} else if title := b.field("Title"); title != "" {
			s.track.Name = title
		}
		if language := b.field("Language"); language != "" {
			language, _, _ = strings.Cut(language, ",")
			s.track.Language = strings.TrimSpace(language)
		}
	}
}

// indexed reports whether there is a keyframe index.
func (k *skeleton) indexed() bool { return k != nil && len(k.indexes) > 0 }

// keypoint is an entry of a keyframe index: a page at off holds the keyframe
// that presents at time.
type keypoint struct {
	off  int64
	time int64 // in ticks of the index
}

// index is the keyframe index of one stream (Skeleton 4).
type index struct {
	serial uint32
	per    int64 // ticks a second
	points []keypoint
}

// readIndex reads an index packet: pairs of differences, each in as many bytes
// of 7 bits as it needs, the last with its high bit set.
func readIndex(p []byte) (x index, ok bool) {
	x.serial = binary.LittleEndian.Uint32(p[6:])
	n := binary.LittleEndian.Uint64(p[10:])
	x.per = int64(binary.LittleEndian.Uint64(p[18:]))
	rest := p[indexLen:]
	if x.per <= 0 || n > uint64(len(rest)/2) {
		return x, false
	}
	var off, time int64
	for range n {
		a, used := readVariable(rest)
		b, more := readVariable(rest[used:])
		if used == 0 || more == 0 {
			return x, false
		}
		rest = rest[used+more:]
		off, time = satAdd(off, a), satAdd(time, b)
		x.points = append(x.points, keypoint{off, time})
	}
	return x, true
}

// readVariable reads a number of 7 bits a byte, least significant first. Used
// is 0 where it does not end or does not fit.
func readVariable(p []byte) (v int64, used int) {
	for i, b := range p[:min(len(p), 9)] {
		v |= int64(b&0x7f) << (7 * i)
		if b&0x80 != 0 {
			return v, i + 1
		}
	}
	return 0, 0
}

// fishead returns the first packet of a clip's Skeleton: presentation begins at
// start on the clip's clock.
func (k *skeleton) fishead(start, base fragment.Time) []byte {
	p := make([]byte, fisheadLen)
	copy(p, "fishead\x00")
	binary.LittleEndian.PutUint16(p[8:], 3)
	putFraction(p[12:], start)
	putFraction(p[28:], base)
	if k != nil && len(k.head) >= fisheadLen {
		copy(p[44:64], k.head[44:64]) // wall-clock time of the base time
	}
	return p
}

// putFraction writes a time as numerator and denominator, in milliseconds where
// the exact fraction does not fit.
func putFraction(p []byte, t fragment.Time) {
	r := t.Rat()
	if !r.Num().IsInt64() || !r.Denom().IsInt64() {
		r = big.NewRat(t.Round(1000), 1000)
	}
	binary.LittleEndian.PutUint64(p, uint64(r.Num().Int64()))
	binary.LittleEndian.PutUint64(p[8:], uint64(r.Denom().Int64()))
}

// fisbonePacket describes a stream of a clip: its serial number there, its first
// granule position and what the original said of it.
func (k *skeleton) fisbonePacket(s *stream, serial uint32, headers int, first int64) []byte {
	p := make([]byte, fisboneLen)
	copy(p, "fisbone\x00")
	binary.LittleEndian.PutUint32(p[8:], fisboneLen-8)
	binary.LittleEndian.PutUint32(p[12:], serial)
	binary.LittleEndian.PutUint32(p[16:], uint32(headers))
	rate := s.rate.num
	if _, ok := s.codec.(*vp8); ok && rate < 1<<31 {
		// The low half of its granule positions counts from the keyframe, but is
		// no number to add: as a fraction of a picture it does no harm.
		rate <<= vp8Pictures
	}
	binary.LittleEndian.PutUint64(p[20:], uint64(rate))
	binary.LittleEndian.PutUint64(p[28:], uint64(s.rate.den))
	binary.LittleEndian.PutUint64(p[36:], uint64(first))
	binary.LittleEndian.PutUint32(p[44:], s.preroll())
	p[48] = byte(s.granuleShift())
	b, ok := k.bone(s.serial)
	if !ok || b.field("Content-Type") == "" {
		b.fields = append([]field{{"Content-Type", s.mime}}, b.fields...)
	}
	if b.field("Role") == "" && s.track.Kind != formats.Other {
		b.fields = append(b.fields, field{"Role", s.role()})
	}
	for _, f := range b.fields {
		p = append(p, f.name+": "+f.value+"\r\n"...)
	}
	return p
}

// before returns the granule position that a page would have that ends where
// the tick begins.
func (s *stream) before(tick int64) int64 {
	switch c := s.codec.(type) {
	case *theora:
		return max(0, tick-1+c.base) << c.shift
	case *vp8:
		return tick<<vp8Pictures | vp8Shown<<vp8Hidden
	case *kate:
		return tick << c.shift
	case *cmml:
		return tick << c.shift
	}
	return tick
}

// preroll is how many packets a decoder needs before it is right.
func (s *stream) preroll() uint32 {
	switch s.codec.(type) {
	case *vorbis:
		return 2
	case *speex:
		return 3
	case *opus:
		return 4 // 80 ms of 20 ms packets
	}
	return 0
}

// granuleShift is how many bits of the granule position count from a keyframe.
func (s *stream) granuleShift() uint {
	switch c := s.codec.(type) {
	case *theora:
		return c.shift
	case *kate:
		return c.shift
	case *cmml:
		return c.shift
	}
	return 0
}

func (s *stream) role() string {
	switch s.track.Kind {
	case formats.Video:
		return "video/main"
	case formats.Audio:
		return "audio/main"
	}
	return "text/subtitle"
}

// String names the stream in messages.
func (s *stream) String() string {
	return s.track.Codec + " stream " + strconv.FormatUint(uint64(s.serial), 10)
}
