package mp4

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// spread is the fragments that were read for an interval: those at its
// beginning, and where there are too many, those at its end.
type spread struct {
	head, tail []*moof
	hole       *hole       // between head and tail; nil: there is nothing between
	first      bool        // head begins with the file's first fragment
	last       bool        // the file's last fragment was read
	cutOff     bool        // what the file had behind that is cut off
	run        placeRun    // of an indexed file, or of segments
	searched   searchedRun // of a file without an index
}

// all returns the fragments in the order of the file.
func (s *spread) all() []*moof { return sorted(append(append([]*moof(nil), s.head...), s.tail...)) }

// locator finds fragments by time.
type locator interface {
	// find reads the fragments of the given tracks for the media that they
	// need.
	find(ctx context.Context, tracks []*track, need needs) (*spread, error)
	// earlier reads n more fragments before those of s, later one behind.
	earlier(ctx context.Context, s *spread, n int) (*spread, error)
	later(ctx context.Context, s *spread) (*spread, error)
}

// needs tells what of a track's media is needed, in composition time.
type needs func(*track) (from, to int64, ok bool)

// inSeconds is needs in seconds.
func (n needs) inSeconds(t *track) (from, to fragment.Time, ok bool) {
	a, b, ok := n(t)
	return fragment.Ticks(a, t.timescale), fragment.Ticks(b, t.timescale), ok
}

// withRoll is needs with what sound is decoded before, as far as its coding tells.
func (n needs) withRoll(t *track) (from, to int64, ok bool) {
	from, to, ok = n(t)
	return from - int64(math.Ceil(t.rollSeconds()*float64(t.timescale))), to, ok
}

// Limits on how far around a time fragments are looked for that the index does
// not name, because tracks are not in step or a fragment begins without a sync
// sample.
const (
	maxEarlier = 8 // times, each time twice as many
	maxLater   = 4
)

// errNothing is the error of an interval in which no edit of the tracks shows
// anything.
var errNothing = fmt.Errorf("%w: no selected track is presented then", formats.ErrNothing)

// far is an end beyond any medium.
var far = fragment.Ticks(maxTicks, 1)

// resolver makes views of fragmented media.
type resolver struct {
	movie   *movie
	locator locator
	limit   int64 // samples of a track
}

// resolve returns a view that holds what the tracks need for an interval.
func (r *resolver) resolve(ctx context.Context, want fragment.Interval, chosen []*track) (*view, error) {
	if want.Open {
		want = fragment.Between(want.Start, far)
	}
	m := r.movie
	need := needs(func(t *track) (from, to int64, ok bool) { return m.needs(t, want) })
	s, err := r.locator.find(ctx, chosen, need)
	if err != nil {
		return nil, err
	}
	n, more := 1, 0
	for range maxEarlier + maxLater {
		tables, spans, err := m.gather(chosen, s.all(), s.first, r.limit)
		if err != nil {
			return nil, err
		}
		early, late := false, false
		for t, table := range tables {
			from, to, ok := need(t)
			early = early || ok && !s.first && t.short(table, from)
			late = late || ok && !s.last && t.late(table, to)
		}
		switch {
		case early:
			if s, err = r.locator.earlier(ctx, s, n); err != nil {
				return nil, err
			}
			n *= 2
			continue
		case late && more < maxLater:
			more++
			if s, err = r.locator.later(ctx, s); err != nil {
				return nil, err
			}
			continue
		}
		return r.view(s, tables, spans, want)
	}
	return nil, unsupported("moof", s.all()[0].box.off, "choose an earlier beginning", "no sync sample in the fragments before the interval")
}

// view makes a view of the fragments that were read.
func (r *resolver) view(s *spread, tables map[*track]*sampleTables, spans map[*track][]sampleRange, want fragment.Interval) (*view, error) {
	v := &view{movie: r.movie.viewOf(tables, !s.last), fragments: s.all(), hole: s.hole, indexed: s.run.index != nil, spans: map[uint32][]sampleRange{}}
	for t, list := range spans {
		v.spans[t.id] = list
	}
	if s.last {
		length := fragment.Time{}
		for t := range tables {
			length = length.Max(v.presentation(v.track(t.id)))
		}
		if !want.Start.Less(length) {
			if s.cutOff {
				return nil, damaged("moof", v.fragments[len(v.fragments)-1].box.off, "the file is cut off: what it has ends at %s s", length)
			}
			return nil, &formats.PastEndError{Start: want.Start, Duration: length}
		}
		v.cutOff = s.cutOff && length.Less(want.End)
		want = want.Clamp(length)
	}
	v.want = want
	return v, nil
}

// indexed finds fragments by an index that tells their places.
type indexed struct {
	file *file
	// index returns the places for media between two times in seconds, with so
	// many round trips at most from one index to another.
	index func(ctx context.Context, from, to fragment.Time, hops int) (*placeIndex, error)
	// beyond finds what the index does not reach; nil where it tells all.
	beyond func(ctx context.Context) (locator, error)
}

// placeRun is which places of an index a spread has read: [from, headEnd) and
// [tailStart, end).
type placeRun struct {
	index          *placeIndex
	after, until   fragment.Time // what the index was asked for, in seconds
	from, headEnd  int
	tailStart, end int
}

var _ locator = (*indexed)(nil)

func (x *indexed) find(ctx context.Context, tracks []*track, need needs) (*spread, error) {
	from, to := far, fragment.Time{}
	for _, t := range tracks {
		if a, b, ok := need.inSeconds(t); ok {
			from, to = from.Min(a), to.Max(b)
		}
	}
	if !from.Less(to) {
		return nil, errNothing
	}
	index, err := x.index(ctx, from, to, maxHops)
	var s *spread
	if err == nil {
		s, err = x.findBy(ctx, index, from, to, tracks, need)
	}
	if x.beyond == nil || !errors.Is(err, errFar) && !errors.Is(err, formats.ErrDamaged) {
		return s, err
	}
	search, failed := x.beyond(ctx) // an index that lies is worth no more than none
	if failed == nil && search == nil {
		failed = damaged("sidx", x.file.first, "an index without fragments")
	}
	if failed != nil {
		if errors.Is(err, errFar) {
			err = failed
		}
		return nil, err
	}
	return search.find(ctx, tracks, need)
}

// findBy is find by what the index tells of media between two times in seconds.
func (x *indexed) findBy(ctx context.Context, index *placeIndex, from, to fragment.Time, tracks []*track, need needs) (*spread, error) {
	index = index.within(x.file.window.Info().Size)
	main, last := index.around(tracks, need.inSeconds)
	if last < main {
		return nil, damaged("moov", x.file.movie.box.off, "an index without fragments")
	}
	first, _ := index.around(tracks, needs(need.withRoll).inSeconds)
	run := placeRun{index, from, to, first, last, last, last + 1}
	if last-main >= maxFragments || index.sparse(first, last) {
		run.headEnd = first + 1
	}
	if err := x.ahead(ctx, run, main, to); err != nil {
		return nil, err
	}
	return x.read(ctx, run)
}

// Reading fragments whole.
const (
	maxAhead   = 4 << 20   // bytes that are read at once with their moofs, rather than the moofs first
	aheadShare = 768 << 10 // bytes from which on several connections share them
	endBytes   = 16 << 10  // read of a fragment whose last sound is needed
)

// ahead reads the fragments of a run whole, from the place main on and up to a
// time in seconds, where that is little: it saves the round trip for the moofs
// alone. Of the places before, the last sound is needed, which most often stands
// at their end.
func (x *indexed) ahead(ctx context.Context, run placeRun, main int, to fragment.Time) error {
	if run.headEnd != run.tailStart {
		return nil
	}
	var requests []seek.Request
	var total int64
	for i, p := range run.index.places[run.from:run.end] {
		r := seek.Range{Offset: p.start, Length: p.end - p.start}
		guess := x.file.reader().guess
		switch {
		case run.from+i < main && r.Length > guess+endBytes:
			requests = append(requests, seek.Request{Range: seek.Range{Offset: p.start, Length: guess}, Purpose: seek.Index, Note: "moof"})
			r.Offset, r.Length = p.end-endBytes, endBytes
		case run.from+i == run.end-1:
			r.Length = int64(float64(r.Length) * run.index.share(run.end-1, to))
			r.Length = min(max(r.Length, guess), p.end-p.start)
		}
		if total += r.Length; total > maxAhead {
			return nil
		}
		requests = append(requests, seek.Request{Range: r, Purpose: seek.Media, Note: "fragment"})
	}
	if total > aheadShare { // one call each, so that neighbours are not joined
		each := (len(requests) + seek.DefaultParallel - 1) / seek.DefaultParallel
		for part := range slices.Chunk(requests, each) {
			x.file.window.Prefetch(part...)
		}
	}
	_, err := x.file.window.Read(ctx, requests...)
	return err
}

// read reads the places of a run.
func (x *indexed) read(ctx context.Context, run placeRun) (*spread, error) {
	head, tail := run.index.places[run.from:run.headEnd], run.index.places[run.tailStart:run.end]
	fragments, cutOff, err := x.file.reader().read(ctx, append(append([]place(nil), head...), tail...))
	if err != nil {
		return nil, err
	}
	s := &spread{
		head: fragments, run: run,
		first:  run.from == 0 && !run.index.before,
		last:   run.end == len(run.index.places) && !run.index.after,
		cutOff: cutOff || run.index.cutOff,
	}
	if at := missing(fragments, head, tail); at >= 0 && (!s.cutOff || len(fragments) == 0) {
		return nil, damaged("moof", at, "no fragment where the index has one")
	}
	if !s.first || run.index.decodes != nil {
		run.index.date(x.file.movie, fragments, run.from)
	}
	if run.headEnd < run.tailStart {
		run.index.date(x.file.movie, fragments, run.tailStart)
	}
	if run.headEnd == run.tailStart {
		return s, nil
	}
	n := 0
	for n < len(fragments) && fragments[n].box.off < tail[0].start {
		n++
	}
	s.head, s.tail = fragments[:n], fragments[n:]
	s.hole = &hole{before: n, stretches: x.file.stretches(head[len(head)-1].end, tail[0].start, run)}
	return s, nil
}

// missing returns where the first of some places begins that no fragment was read
// of, -1 where there is none.
func missing(fragments []*moof, places ...[]place) int64 {
	for _, p := range slices.Concat(places...) {
		if !slices.ContainsFunc(fragments, func(m *moof) bool { return m.box.off >= p.start && m.box.off < p.end }) {
			return p.start
		}
	}
	return -1
}

func (x *indexed) earlier(ctx context.Context, s *spread, n int) (*spread, error) {
	run := s.run
	if run.index == nil { // found beyond the index
		search, err := x.beyond(ctx)
		if err != nil {
			return nil, err
		}
		return search.earlier(ctx, s, n)
	}
	if run.from == 0 && run.index.before {
		var err error
		if run, err = x.widen(ctx, run, run.after.Min(run.index.beforeEnd), run.until); err != nil {
			return nil, err
		}
	}
	run.from = max(0, run.from-n)
	return x.read(ctx, run)
}

func (x *indexed) later(ctx context.Context, s *spread) (*spread, error) {
	run := s.run
	if run.index == nil {
		search, err := x.beyond(ctx)
		if err != nil {
			return nil, err
		}
		return search.later(ctx, s)
	}
	if run.end == len(run.index.places) && run.index.after {
		var err error
		if run, err = x.widen(ctx, run, run.after, run.until.Max(run.index.afterStart.Add(instant))); err != nil {
			return nil, err
		}
	}
	run.end = min(run.end+1, len(run.index.places))
	return x.read(ctx, run)
}

// instant is less than any difference between two times of media.
var instant = fragment.Ticks(1, 1<<32)

// widen asks the index for more around a run, which may be in other indices, and
// returns the run by what it tells.
func (x *indexed) widen(ctx context.Context, run placeRun, from, to fragment.Time) (placeRun, error) {
	index, err := x.index(ctx, from, to, maxHops+maxEarlier)
	if err != nil {
		return run, err
	}
	index = index.within(x.file.window.Info().Size)
	// find returns where the index has a place that the run has read.
	find := func(i int) (int, error) {
		at := run.index.places[i].start
		i, ok := slices.BinarySearchFunc(index.places, at, func(p place, at int64) int { return cmp.Compare(p.start, at) })
		if !ok {
			return 0, damaged("sidx", at, "segment indices contradict each other about where fragments begin")
		}
		return i, nil
	}
	out := placeRun{index: index, after: from, until: to}
	if out.from, err = find(run.from); err != nil {
		return run, err
	}
	if out.tailStart, err = find(run.tailStart); err != nil {
		return run, err
	}
	out.headEnd = out.tailStart
	if run.headEnd < run.tailStart {
		if out.headEnd, err = find(run.headEnd - 1); err != nil {
			return run, err
		}
		out.headEnd++
	}
	if out.end, err = find(run.end - 1); err != nil {
		return run, err
	}
	out.end++
	return out, nil
}

// stretches returns [start, end) of the file in pieces of bounded size, cut where
// one of the places begins that a run leaves out.
func (f *file) stretches(start, end int64, run placeRun) []stretchOf {
	info := f.window.Info()
	var out []stretchOf
	add := func(end int64, next map[uint32]fragment.Time) {
		if start < end {
			out = append(out, stretchOf{info: &info, Range: seek.Range{Offset: start, Length: end - start}, next: next})
			start = end
		}
	}
	for i := run.headEnd; i < run.tailStart; i++ {
		if p := run.index.places[i]; p.start-start >= maxStretch {
			add(p.start, run.index.later(i, run.from))
		}
	}
	add(end, run.index.later(run.tailStart, run.from))
	return out
}
