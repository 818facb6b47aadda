package mp4

import (
	"bytes"
	"fmt"
	"iter"
	"slices"

	gomp4 "github.com/abema/go-mp4"

	"github.com/mediafrag/mediafrag/formats"
)

// box is a box in memory.
type box struct {
	typ    string // four characters
	off    int64  // where its header begins in the file
	header int    // length of the header: 8 or 16
	raw    []byte // header and payload
	path   string // the elements above it and itself, such as "moov/trak"
}

// payload is what follows the header.
func (b box) payload() []byte { return b.raw[b.header:] }

// payloadOff is where the payload begins in the file.
func (b box) payloadOff() int64 { return b.off + int64(b.header) }

// damaged returns the error that the box contradicts the format at byte at of
// its payload.
func (b box) damaged(at int, problem string, args ...any) error {
	return damaged(b.path, b.payloadOff()+int64(at), problem, args...)
}

func damaged(path string, off int64, problem string, args ...any) error {
	return &formats.Error{
		Container: Name, Element: path, Offset: off, Err: formats.ErrDamaged,
		Problem: fmt.Sprintf(problem, args...),
		Hint:    "the file is broken or incomplete; try another copy",
	}
}

func unsupported(path string, off int64, hint, problem string, args ...any) error {
	return &formats.Error{
		Container: Name, Element: path, Offset: off, Err: formats.ErrUnsupported,
		Problem: fmt.Sprintf(problem, args...), Hint: hint,
	}
}

// readHeader reads the header of the box that begins at data[0]. Its size is
// checked against the header itself, not against what data holds; a size of 0
// (to the end of the file) is returned as -1. ok is false where data is too
// short for a header.
func readHeader(data []byte) (typ string, header int, size int64, ok bool) {
	info, err := gomp4.ReadBoxInfo(bytes.NewReader(data[:min(len(data), 16)]))
	if err != nil {
		return "", 0, 0, false
	}
	typ, header = string(info.Type[:]), int(info.HeaderSize)
	switch {
	case info.ExtendToEOF:
		return typ, header, -1, true
	case info.Size < info.HeaderSize || info.Size > 1<<62:
		return typ, header, 0, true
	}
	return typ, header, int64(info.Size), true
}

// children yields the boxes of a payload, in order. Less than a header at the
// end is ignored, as is QuickTime's zero terminator.
func children(parent string, off int64, data []byte) iter.Seq2[box, error] {
	return func(yield func(box, error) bool) {
		for at := 0; len(data)-at >= 8; {
			typ, header, size, ok := readHeader(data[at:])
			here := off + int64(at)
			path := typ
			if parent != "" {
				path = parent + "/" + typ
			}
			switch {
			case size == -1: // a box to the end, or the terminator
				if typ == "\x00\x00\x00\x00" || parent != "" {
					return
				}
				size = int64(len(data) - at)
			case !ok || size == 0:
				yield(box{}, damaged(path, here, "box size smaller than its header"))
				return
			case size > int64(len(data)-at):
				yield(box{}, damaged(path, here, "box of %d bytes runs past its parent, which has %d left", size, len(data)-at))
				return
			}
			b := box{typ: typ, off: here, header: header, raw: data[at : at+int(size)], path: path}
			if !yield(b, nil) {
				return
			}
			at += int(size)
		}
	}
}

// children yields the boxes inside b.
func (b box) children() iter.Seq2[box, error] {
	return children(b.path, b.payloadOff(), b.payload())
}

// childrenAt yields the boxes of the payload from skip on.
func (b box) childrenAt(skip int) iter.Seq2[box, error] {
	p := b.payload()
	return children(b.path, b.payloadOff()+int64(min(skip, len(p))), p[min(skip, len(p)):])
}

// child returns the first box of a type inside b.
func (b box) child(types ...string) (box, bool, error) {
	for c, err := range b.children() {
		if err != nil {
			return box{}, false, err
		}
		if slices.Contains(types, c.typ) {
			return c, true, nil
		}
	}
	return box{}, false, nil
}

// unmarshal reads the payload into one of go-mp4's types. It is only for boxes
// whose size is bounded by their own fields; tables are read in place.
func (b box) unmarshal(dst gomp4.IBox, ctx gomp4.Context) error {
	p := b.payload()
	if _, err := gomp4.Unmarshal(bytes.NewReader(p), uint64(len(p)), dst, ctx); err != nil {
		return b.damaged(0, "%v", err)
	}
	return nil
}

// builder writes boxes.
type builder struct{ buf []byte }

// box writes a box with what body writes as its payload.
func (w *builder) box(typ string, body func()) {
	at := len(w.buf)
	w.buf = append(w.buf, 0, 0, 0, 0)
	w.buf = append(w.buf, typ...)
	body()
	be.PutUint32(w.buf[at:], uint32(len(w.buf)-at))
}

// full writes a full box: version and flags in front of the payload.
func (w *builder) full(typ string, version uint8, flags uint32, body func()) {
	w.box(typ, func() {
		w.u32(uint32(version)<<24 | flags)
		body()
	})
}

func (w *builder) raw(b []byte) { w.buf = append(w.buf, b...) }
func (w *builder) u32(v uint32) { w.buf = be.AppendUint32(w.buf, v) }
func (w *builder) u64(v uint64) { w.buf = be.AppendUint64(w.buf, v) }
