package ogg

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// Marks of an Ogg search are pages on which a packet ends, at the time at which
// the last of them ends; the clock is the file's own, in nanoseconds.

const searchClock = 1_000_000_000

// nanos returns a stream's tick on the clock of searches. It keeps the order of
// ticks as long as they are no shorter than a nanosecond.
func (s *stream) nanos(tick int64) int64 { return s.time(tick).Floor(searchClock) }

// recognize finds marks for [seek.Search].
func (l *link) recognize(off int64, data []byte) ([]seek.Mark, int64) {
	found := scanPages(data, off, false)
	marks := make([]seek.Mark, 0, len(found.pages))
	for i := range found.pages {
		p := &found.pages[i]
		s := l.stream(p.serial)
		if s == nil || s.text() && !l.onlyText() || !p.completes() || p.off < s.data {
			continue
		}
		if pos, ok := s.position(p.granule); ok {
			marks = append(marks, seek.Mark{Stream: s.index, Offset: p.off, End: p.end(), Tick: s.nanos(pos.end), Value: pageMark{p.granule, p.seq, p.eos()}})
		}
	}
	l.tell(marks)
	return marks, found.rest
}

// onlyText reports whether there is nothing but text, whose pages then tell the
// time.
func (l *link) onlyText() bool {
	return !slices.ContainsFunc(l.streams, func(s *stream) bool { return !s.text() })
}

// watchers are told of marks as they are found.
type watchers struct {
	mu   sync.Mutex
	last int
	all  map[int]func(seek.Mark)
}

// watch tells f of all marks that are found from now on, until the function
// that it returns is called.
func (w *watchers) watch(f func(seek.Mark)) (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[int]func(seek.Mark){}
	}
	w.last++
	id := w.last
	w.all[id] = f
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.all, id)
	}
}

func (w *watchers) tell(marks []seek.Mark) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.all {
		for _, m := range marks {
			f(m)
		}
	}
}

// pageMark is the Value of a mark.
type pageMark struct {
	granule int64
	seq     uint32
	eos     bool
}

// stretch is where something of one stream is: it begins on or behind the page
// at from, and the page on which it is known to have ended ends at to.
type stretch struct {
	from, to int64
	before   *pageMark // of the page at from; nil: it is the first with data
	after    *pageMark // of the page that ends at to; nil: there is none, and to is the end of the one before
}

// find returns the stretch in which the packet of s lies that holds the tick:
// from the last page that ends at or before it to the next that ends after it.
func (l *link) find(ctx context.Context, s *stream, tick int64) (stretch, error) {
	before, after, err := l.search.Find(ctx, s.index, s.nanos(tick))
	if err != nil {
		return stretch{}, err
	}
	out := stretch{from: l.data, to: l.data}
	if m, ok := before.Value.(pageMark); ok {
		out.from, out.to, out.before = before.Offset, before.End, &m
	}
	if m, ok := after.Value.(pageMark); ok {
		out.to, out.after = after.End, &m
	}
	return out, nil
}

// region is a stretch of pages that were read whole.
type region struct {
	from, to int64
	pages    []page
	damage   []damage
}

// readRegion reads the pages that begin in [from, to).
func (l *link) readRegion(ctx context.Context, w *seek.Window, from, to int64) (*region, error) {
	r := &region{from: from, to: to}
	if from >= to {
		return r, nil
	}
	pages := pageReader{w: w, at: from, to: to, chunk: to - from, purpose: seek.Media, note: "edge"}
	var order order
	for {
		next, err := pages.next(ctx)
		if err != nil {
			return nil, err
		}
		if len(next) == 0 {
			break
		}
		for _, p := range next {
			missing, late := order.next(&p)
			switch {
			case late:
				r.damage = append(r.damage, damage{p.off, p.end(), lateReason(&p)})
				continue
			case missing > 0:
				r.damage = append(r.damage, damage{p.off, p.off, missingReason(p.serial, missing)})
			}
			r.pages = append(r.pages, p)
		}
	}
	r.damage = append(r.damage, pages.damage...)
	slices.SortStableFunc(r.damage, func(a, b damage) int { return cmp.Compare(a.off, b.off) })
	return r, nil
}

// place returns the packets of s that end in the region.
func (r *region) place(s *stream, l *link) []placed {
	line := newTimeline(s, r.from == l.data)
	var out []placed
	for i := range r.pages {
		if p := &r.pages[i]; p.serial == s.serial && s.data >= 0 && p.off >= s.data {
			out = append(out, line.add(p)...)
		}
	}
	return out
}

// times converts between the file's own clock and a stream's.
func (s *stream) firstFrom(t fragment.Time) int64 {
	if s.video() {
		return satAdd(s.rate.ceil(t), s.origin)
	}
	return s.nearest(t)
}
