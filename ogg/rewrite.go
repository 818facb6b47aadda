package ogg

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/mediafrag/mediafrag/seek"
)

// Renumber changes the pages of a clip's middle while they stream: page
// numbers, granule positions and checksums, and the times inside Kate text. It
// is a [seek.Rewriter]. Nothing changes its length, so that the result can be
// entered anywhere, unless Drop is set.
type Renumber struct {
	Streams []Shift
	// Drop leaves out the pages of all other streams.
	Drop bool
}

var _ seek.Rewriter = Renumber{}

// Shift says how the pages of one stream change.
type Shift struct {
	Serial uint32
	// Pages is added to page numbers, modulo 2^32.
	Pages uint32
	// Granule is subtracted from granule positions.
	Granule int64
	// Ticks and Bits are set for text: so much earlier each begins, and so many
	// bits of the granule position count from the earliest that still shows.
	Ticks int64
	Bits  uint
	// Kate says that text packets hold times too.
	Kate bool
}

// granule returns the new granule position of a page.
func (s *Shift) granule(g int64) int64 {
	if g == noGranule {
		return g
	}
	if s.Bits == 0 {
		return g - s.Granule
	}
	k := keyed{s.Bits}
	p, ok := k.position(g)
	if !ok {
		return g
	}
	return k.granule(position{end: max(0, satSub(p.end, s.Ticks)), key: max(0, satSub(p.key, s.Ticks))})
}

// apply changes a whole page in place.
func (s *Shift) apply(p []byte) {
	binary.LittleEndian.PutUint64(p[6:], uint64(s.granule(int64(binary.LittleEndian.Uint64(p[6:])))))
	binary.LittleEndian.PutUint32(p[18:], binary.LittleEndian.Uint32(p[18:])+s.Pages)
	if s.Kate && s.Ticks != 0 {
		q, _ := parsePage(p, 0) // the checksum is wrong already
		for _, f := range q.pieces() {
			if f.begins && f.ends {
				copy(f.data, kateShift(f.data, s.Ticks))
			}
		}
	}
	binary.LittleEndian.PutUint32(p[22:], pageChecksum(p))
}

// Name is "ogg-renumber".
func (Renumber) Name() string { return "ogg-renumber" }

// lookBack is how many bytes before a place can decide what stands there: the
// header of a page, and of Kate text the times at the beginning of its packet.
const lookBack = pageHeader + maxSegments + maxSegments

// Rewrite returns the changed pages from off on.
func (r Renumber) Rewrite(ctx context.Context, in seek.Input, off int64) (io.ReadCloser, error) {
	if r.Drop && off != 0 {
		return nil, fmt.Errorf("entering a part of unknown size at %d: %w", off, seek.ErrUnsized)
	}
	from := max(0, off-lookBack)
	body, err := in.Open(ctx, from, seek.ToEnd)
	if err != nil {
		return nil, err
	}
	p := &renumbering{Renumber: r, in: body}
	if _, err := io.CopyN(io.Discard, p, off-from); err != nil && err != io.EOF {
		body.Close()
		return nil, err
	}
	return p, nil
}

// renumbering changes pages as they pass.
type renumbering struct {
	Renumber
	in    io.ReadCloser
	buf   []byte // what was read and not yet passed on
	ready int    // so many bytes of buf are done
	err   error  // of in
}

func (r *renumbering) Close() error { return r.in.Close() }

func (r *renumbering) Read(p []byte) (int, error) {
	for r.ready == 0 {
		if r.step() {
			continue
		}
		if r.err != nil {
			return 0, r.err
		}
		r.fill()
	}
	n := copy(p, r.buf[:r.ready])
	r.buf, r.ready = r.buf[n:], r.ready-n
	return n, nil
}

// fill reads more. What is left of the buffer moves to its beginning.
func (r *renumbering) fill() {
	const room = 2 * maxPage
	buf := make([]byte, len(r.buf), max(room, len(r.buf)+room/2))
	copy(buf, r.buf)
	n, err := r.in.Read(buf[len(buf):cap(buf)])
	r.buf, r.err = buf[:len(buf)+n], err
}

// step makes the beginning of the buffer ready, or drops it, and reports
// whether it could: a page cut off by the buffer's end needs more.
func (r *renumbering) step() bool {
	if len(r.buf) == 0 {
		return false
	}
	p, kind := parsePage(r.buf, 0)
	switch {
	case kind == parsedShort && r.err == nil:
		return false
	case kind == parsedPage:
		n := int(p.size())
		for i := range r.Streams {
			if r.Streams[i].Serial == p.serial {
				r.Streams[i].apply(r.buf[:n])
				r.ready = n
				return true
			}
		}
		if r.Drop {
			r.buf = r.buf[n:]
			return true
		}
		r.ready = n
		return true
	}
	n := 1 + nextCapture(r.buf[1:]) // no page: passed on as it is
	if r.Drop {
		r.buf = r.buf[n:]
		return true
	}
	r.ready = n
	return true
}
