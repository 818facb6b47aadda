package webm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/mediafrag/mediafrag/formats"
)

// unknownSize is the size of an element that ends where its parent does, or
// where an element begins that cannot stand in it (RFC 8794 section 6.2).
const unknownSize = -1

// Lengths of an element's header, in bytes.
const (
	maxIDLength   = 4 // of the IDs that Matroska defines; longer ones are skipped
	maxSizeLength = 8
	maxHeader     = 8 + maxSizeLength // a DocType may allow longer IDs
)

// maxOffset bounds every size and position, so that sums cannot overflow.
const maxOffset = math.MaxInt64 / 4

var (
	errShort   = errors.New("element header cut off")
	errInvalid = errors.New("no element begins here")
)

// element is the header of one EBML element.
type element struct {
	id     uint32 // 0 for an ID longer than four bytes
	offset int64  // of its first byte, in the resource
	head   int64  // length of ID and size
	size   int64  // of its body, or unknownSize
}

func (e element) body() int64 { return e.offset + e.head }

// end is the offset behind the element; of an unknown size, far away.
func (e element) end() int64 {
	if e.size == unknownSize {
		return maxOffset
	}
	return e.offset + e.head + e.size
}

func (e element) String() string {
	if n := names[e.id]; n != "" {
		return n
	}
	return fmt.Sprintf("element 0x%X", e.id)
}

// lengths are the longest IDs and sizes that the EBML header allows.
type lengths struct{ id, size int }

var defaultLengths = lengths{maxIDLength, maxSizeLength}

// parse reads the element header that b begins with; off is where b stands.
func (l lengths) parse(b []byte, off int64) (element, error) {
	id, n, err := l.parseID(b)
	if err != nil {
		return element{}, err
	}
	size, m, err := parseSize(b[n:], l.size)
	if err != nil {
		return element{}, err
	}
	if size > maxOffset-off {
		return element{}, errInvalid
	}
	return element{id, off, int64(n + m), size}, nil
}

func (l lengths) parseID(b []byte) (id uint32, n int, err error) {
	if len(b) == 0 {
		return 0, 0, errShort
	}
	n = bits.LeadingZeros8(b[0]) + 1
	switch {
	case n > l.id:
		return 0, 0, errInvalid
	case len(b) < n:
		return 0, 0, errShort
	case n > maxIDLength:
		return 0, n, nil
	}
	for _, c := range b[:n] {
		id = id<<8 | uint32(c)
	}
	return id, n, nil
}

// parseSize reads a data size (RFC 8794 section 6): all ones of any length is
// an unknown size.
func parseSize(b []byte, longest int) (size int64, n int, err error) {
	v, n, err := parseVint(b, longest)
	if err != nil {
		return 0, 0, err
	}
	if v == 1<<(7*n)-1 {
		return unknownSize, n, nil
	}
	return int64(v), n, nil
}

// parseVint reads a variable-length number without its marker.
func parseVint(b []byte, longest int) (v uint64, n int, err error) {
	if len(b) == 0 {
		return 0, 0, errShort
	}
	n = bits.LeadingZeros8(b[0]) + 1
	switch {
	case n > longest || n > 8:
		return 0, 0, errInvalid
	case len(b) < n:
		return 0, 0, errShort
	}
	for _, c := range b[:n] {
		v = v<<8 | uint64(c)
	}
	return v &^ (1 << (7 * n)), n, nil
}

// children yields the elements of a body that is all at hand. An element that
// runs over the body's end is an error; Void and CRC-32 are left out.
type children struct {
	lengths
	data []byte
	base int64 // offset of data[0] in the resource
	pos  int
	path string
}

// next returns the next element and its body; ok is false at the end.
func (c *children) next() (e element, body []byte, ok bool, err error) {
	for c.pos < len(c.data) {
		e, err = c.parse(c.data[c.pos:], c.base+int64(c.pos))
		if err != nil {
			return e, nil, false, damaged(c.path, c.base+int64(c.pos), err.Error())
		}
		room := int64(len(c.data)-c.pos) - e.head
		if e.size == unknownSize {
			e.size = room
		}
		if e.size > room {
			return e, nil, false, damaged(c.path+"/"+e.String(), e.offset,
				fmt.Sprintf("its %d bytes run over the end of its parent", e.size))
		}
		from := c.pos + int(e.head)
		c.pos = from + int(e.size) // progress: a header has two bytes at least
		if e.id == idVoid || e.id == idCRC32 {
			continue
		}
		return e, c.data[from:c.pos:c.pos], true, nil
	}
	return element{}, nil, false, nil
}

// all calls f for each element, to the end or to the first error: of f, or about
// what is damaged.
func (c children) all(f func(e element, body []byte) error) error {
	for {
		e, body, ok, err := c.next()
		if err != nil || !ok {
			return err
		}
		if err := f(e, body); err != nil {
			return err
		}
	}
}

// uintOf reads an unsigned integer element's body, 0 to 8 bytes.
func uintOf(b []byte) (v uint64) {
	for _, c := range b[:min(len(b), 8)] {
		v = v<<8 | uint64(c)
	}
	return v
}

// intOf reads a signed integer element's body.
func intOf(b []byte) int64 {
	if len(b) == 0 {
		return 0
	}
	n := min(len(b), 8)
	return int64(uintOf(b[:n])<<(64-8*n)) >> (64 - 8*n)
}

// ticksOf reads an unsigned number of ticks or nanoseconds, saturated so that
// sums cannot overflow.
func ticksOf(b []byte) int64 { return int64(min(uintOf(b), maxOffset)) }

// floatOf reads a float element's body: 0, 4 or 8 bytes.
func floatOf(b []byte) float64 {
	switch len(b) {
	case 4:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
	case 8:
		return math.Float64frombits(binary.BigEndian.Uint64(b))
	}
	return 0
}

// stringOf reads a string element's body: up to the first zero byte.
func stringOf(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// damaged is an error about the resource's bytes.
func damaged(path string, off int64, problem string) error {
	return &formats.Error{Container: "webm", Element: path, Offset: off, Problem: problem,
		Hint: "check that the file is complete; mkvmerge may be able to repair it", Err: formats.ErrDamaged}
}

// unsupported is an error about something that is right but not handled.
func unsupported(path string, off int64, problem, hint string) error {
	return &formats.Error{Container: "webm", Element: path, Offset: off, Problem: problem, Hint: hint, Err: formats.ErrUnsupported}
}
