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
// is a [seek.Rewriter].
//
// Nobody has looked at the middle before, so that it also reports damage: bytes
// that are no page, pages of streams that the file does not have, pages that
// stand again or too late, and missing ones. All but the last are passed over. Of
// a part whose length is known they are made zeros, which no decoder takes for a
// page, so that the clip keeps its length and can be entered anywhere. Where pages
// are missing the numbers of those that follow keep the gap: by that decoders know
// not to join what does not belong together.
type Renumber struct {
	// Streams are those of the clip. With none, all bytes stay as they are, and
	// damage is only reported.
	Streams []Shift
	// Drop leaves out the pages of all other streams, and damage, so that the
	// length of the result is known only once it was read.
	Drop bool
}

var _ seek.Rewriter = Renumber{}

// Shift says how the pages of one stream change.
type Shift struct {
	Serial uint32
	// As is the stream's serial number in the clip.
	As uint32
	// Pages is added to page numbers, modulo 2^32.
	Pages uint32
	// Granule is subtracted from granule positions.
	Granule int64
	// Text says that it is a stream of text: each begins Ticks earlier, End is the
	// tick of the original at which the clip ends, and so many Bits of the granule
	// position count from the earliest that still shows. What begins at the end or
	// later is moved to the end, and nothing ends the stream: the clip does.
	Text       bool
	Ticks, End int64
	Bits       uint
	// Kate says that text packets hold times too.
	Kate bool
	// Before is the number of the stream's last page before the part, and After
	// that of its first behind it; -1 where that is not known.
	Before, After int64
}

// granule returns the new granule position of a page.
func (s *Shift) granule(g int64) int64 {
	if g == noGranule {
		return g
	}
	if !s.Text {
		return g - s.Granule
	}
	k := keyed{s.Bits}
	p, ok := k.position(g)
	if !ok {
		return g
	}
	return k.granule(position{end: max(0, satSub(min(p.end, s.End), s.Ticks)), key: max(0, satSub(min(p.key, s.End), s.Ticks))})
}

// apply changes a whole page in place.
func (s *Shift) apply(p []byte) {
	binary.LittleEndian.PutUint64(p[6:], uint64(s.granule(int64(binary.LittleEndian.Uint64(p[6:])))))
	binary.LittleEndian.PutUint32(p[14:], s.As)
	binary.LittleEndian.PutUint32(p[18:], binary.LittleEndian.Uint32(p[18:])+s.Pages)
	if s.Text {
		p[5] &^= flagEOS
	}
	if s.Kate {
		q, _ := parsePage(p, 0) // the checksum is wrong already
		for _, f := range q.pieces() {
			switch {
			case !f.begins || len(f.data) == 0:
			case f.data[0] == kateEnd:
				f.data[0] = kateKeep
			default:
				copy(f.data, kateShift(f.data, s.Ticks, s.End))
			}
		}
	}
	binary.LittleEndian.PutUint32(p[22:], pageChecksum(p))
}

// Name is "ogg-renumber", or "ogg-check" of one that changes nothing.
func (r Renumber) Name() string {
	if len(r.Streams) == 0 {
		return "ogg-check"
	}
	return "ogg-renumber"
}

// lookBack is how many bytes before a place decide what stands there: from
// within a page or damage it takes a page to find the next beginning, and the
// place's own page is compared with those of lateWithin before it.
const lookBack = maxPage + lateWithin + maxPage

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
	p := &renumbering{Renumber: r, in: body, report: in.Damaged, from: from, at: from, start: from}
	for _, s := range r.Streams {
		if s.Before >= 0 && from == 0 {
			p.order.expect(s.Serial, uint32(s.Before))
		}
	}
	if _, err := io.CopyN(io.Discard, p, off-from); err != nil && err != io.EOF {
		body.Close()
		return nil, err
	}
	return p, nil
}

// renumbering changes pages as they pass.
type renumbering struct {
	Renumber
	in     io.ReadCloser
	report func(off int64, problem string)
	from   int64  // where in the part reading began
	at     int64  // where buf begins
	buf    []byte // what was read and not yet looked at
	space  []byte // for out
	out    []byte // what is done
	err    error  // of in
	start  int64  // where the last page begins
	order  order
	lost   damage // what precedes at and is passed over, in the part
	filled int64  // of that, up to here is in out or was
}

func (r *renumbering) Close() error { return r.in.Close() }

func (r *renumbering) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		r.out = r.space[:0]
		switch {
		case r.step():
		case r.err == nil:
			r.fill()
		default:
			if r.found(); len(r.out) > 0 {
				break
			}
			if r.err == io.EOF {
				r.expected()
			}
			return 0, r.err
		}
	}
	if cap(r.out) > cap(r.space) {
		r.space = r.out
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
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

// step takes what the buffer begins with, and reports whether it could: a page
// cut off by the buffer's end needs more.
func (r *renumbering) step() bool {
	if len(r.buf) == 0 {
		return false
	}
	p, kind := parsePage(r.buf, r.at)
	switch {
	case kind == parsedShort && r.err == nil:
		return false
	case kind == parsedPage:
		r.page(&p)
		return true
	}
	why := "bytes that are no page"
	if kind == parsedBad {
		why = "page with a wrong checksum"
	}
	if r.lost.end == r.at && r.lost.reason != "" {
		why = r.lost.reason // it goes on
	}
	r.lose(int64(1+nextCapture(r.buf[1:])), why)
	return true
}

// page takes a page.
func (r *renumbering) page(p *page) {
	s := r.stream(p.serial)
	if s == nil && len(r.Streams) > 0 {
		if r.Drop {
			r.found()
			r.at, r.buf = p.end(), r.buf[p.size():]
		} else {
			r.lose(p.size(), fmt.Sprintf("a page of stream %d, which has no first page", p.serial))
		}
		return
	}
	missing, late := r.order.next(p)
	if late {
		r.lose(p.size(), lateReason(p))
		return
	}
	r.found()
	if missing > 0 {
		r.report(p.off, missingReason(p.serial, missing))
	}
	if s != nil {
		s.apply(r.buf[:p.size()])
	}
	r.out = append(r.out, r.buf[:p.size()]...)
	r.start = p.off
	r.at, r.buf = p.end(), r.buf[p.size():]
}

// stream returns what changes in a stream's pages; nil where it is none of the
// clip's.
func (r *renumbering) stream(serial uint32) *Shift {
	for i := range r.Streams {
		if r.Streams[i].Serial == serial {
			return &r.Streams[i]
		}
	}
	return nil
}

// lose passes over the next n bytes.
func (r *renumbering) lose(n int64, why string) {
	if r.lost.end != r.at || r.lost.reason != why {
		r.found()
		r.lost, r.filled = damage{r.at, r.at, why}, r.at
	}
	if len(r.Streams) == 0 {
		r.out, r.filled = append(r.out, r.buf[:n]...), r.at+n
	}
	r.lost.end += n
	r.at, r.buf = r.at+n, r.buf[n:]
	if r.lost.end-r.start > farApart {
		r.blank(r.lost.end - pageHeader)
	}
}

// found ends what is passed over, and reports it, unless it may be the rest of
// the page in which reading began.
func (r *renumbering) found() {
	if r.lost.end == r.lost.off {
		return
	}
	r.blank(r.lost.end)
	if r.lost.off > r.from || r.from == 0 {
		r.report(r.lost.off, r.lost.passedOver())
	}
	r.lost = damage{}
}

// Some programs take 64 KiB in which no page begins for the end of the file. Where
// so many bytes are passed over that more than farApart lie between the beginnings
// of two pages, empty ones are put there: one at once, and one every so often. Their
// checksums are wrong: who takes any page for a sign of life has one, and who
// counts pages does not miss what belongs between the others.
const (
	farApart  = 60_000
	fillEvery = 24 << 10
)

// blank puts zeros in the place of what is passed over, up to an offset in the
// part, and empty pages.
func (r *renumbering) blank(to int64) {
	if r.Drop || to <= r.filled {
		return
	}
	at := len(r.out)
	r.out = append(r.out, make([]byte, to-r.filled)...)
	if r.lost.end-r.start > farApart {
		empty := appendPage(nil, 0, noGranule, r.Streams[0].As, ^uint32(0), nil, nil)
		empty[22]++ // see farApart
		put := func(m int64) {
			if m+pageHeader > r.lost.end {
				return
			}
			for i, b := range empty {
				if p := m + int64(i); p >= r.filled && p < to {
					r.out[at+int(p-r.filled)] = b
				}
			}
		}
		put(r.lost.off)
		for m := r.filled / fillEvery * fillEvery; m < to; m += fillEvery {
			if m >= r.lost.off+pageHeader {
				put(m)
			}
		}
	}
	r.filled = to
}

// expected compares the last page of each stream with the one behind the part,
// at its end.
func (r *renumbering) expected() {
	for _, s := range r.Streams {
		if s.After >= 0 {
			if n := r.order.missing(s.Serial, uint32(s.After)); n > 0 {
				r.report(r.at, missingReason(s.Serial, n))
			}
		}
	}
}
