package hls

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/segments"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/seek"
)

// liveMP4 is a clip of fragmented MP4 whose end is yet to come. Its header and the
// fragments of the first segments come first, then whole segments as they appear,
// and when the end has been published what the plan of all has beside those.
type liveMP4 struct {
	streams []*followed
	last    uint32          // number of the last fragment that was given out
	given   map[extent]bool // segments that were given out whole
	begun   bool
}

// followed is one of its streams.
type followed struct {
	*cut              // of all segments that were seen
	next   int        // the segment to give out
	rebase mp4.Rebase // what becomes of its segments
}

// joined gives out what there is of a selection that takes several streams, or has an
// initialization section.
func (f *follower) joined(ctx context.Context, s formats.Selection, streams []*stream) (done bool, err error) {
	published := !slices.ContainsFunc(streams, func(x *stream) bool { return !f.published(f.m.media(x)) })
	if f.fragments == nil {
		if published {
			return true, f.plan(ctx)
		}
		f.fragments = &liveMP4{given: map[extent]bool{}}
		for _, x := range streams {
			list := *f.m.streamList(x)
			own := *list.media
			own.segments = nil
			list.media = &own
			c := f.m.cutOf(x, &list, s.Interval)
			c.keeps = true
			f.fragments.streams = append(f.fragments.streams, &followed{cut: c})
		}
	}
	l := f.fragments
	for _, x := range l.streams {
		if err := x.remember(f.m.streamList(x.s), f.selection); err != nil {
			return true, err
		}
	}
	if !l.begun {
		if published {
			return true, f.plan(ctx)
		}
		if !l.canBegin(s) {
			return false, nil
		}
		if more, err := f.beginMP4(ctx, l, s); err != nil || !more {
			return true, err
		}
	}
	if more, err := f.passOn(ctx, l, s); err != nil || !more {
		return true, err
	}
	if !published {
		return false, nil
	}
	return true, f.endMP4(ctx, l, s)
}

// streamList is a stream's playlist as it is now.
func (m *Medium) streamList(s *stream) *playlist {
	m.mu.Lock()
	defer m.mu.Unlock()
	return s.list
}

// remember adds what is new in a playlist. Its names are made absolute: the next one
// may come from another host.
func (x *followed) remember(now *playlist, s formats.Selection) error {
	all := &x.list.segments
	list := now.media.upTo(s.Interval)
	for _, y := range list.segments {
		if n := len(*all); n > 0 && y.sequence <= (*all)[n-1].sequence {
			continue
		} else if n > 0 && y.sequence > (*all)[n-1].sequence+1 {
			return hasExpired(ErrExpired, "number %d of the interval %s: the playlist begins with %d", (*all)[n-1].sequence+1, s.Interval, list.segments[0].sequence)
		}
		if name, err := resolve(now.base, y.uri); err == nil {
			y.uri = name
		}
		if init := y.init; init != nil && init.uri != "" {
			own := *init
			if name, err := resolve(now.base, init.uri); err == nil {
				own.uri = name
			}
			y.init = &own
			if n := len(*all); n > 0 && own.same((*all)[n-1].init) {
				y.init = (*all)[n-1].init
			}
		}
		var keys []*key
		for _, k := range y.keys {
			own := *k
			if name, err := resolve(now.base, k.uri); err == nil {
				own.uri = name
			}
			keys = append(keys, &own)
		}
		y.keys = keys
		*all = append(*all, y)
	}
	x.list.ended, x.list.kind, x.list.tail = list.ended, list.kind, nil
	return nil
}

// settled is when what ends before is given out whole: the last segments are left
// until it is known which of them the interval ends in.
func (x *followed) settled(s formats.Selection) time.Duration {
	return segments.Duration(s.Interval.End) - max(x.list.target, shortestTarget)
}

// passable reports whether a segment is one to give out whole.
func (x *followed) passable(i int, s formats.Selection) bool {
	return i < len(x.list.segments) && x.list.segments[i].end() <= x.settled(s)
}

// canBegin reports whether the clip can begin: there is an end that it can state, and
// of each stream its first segment and one that is passed on, by one clock.
func (l *liveMP4) canBegin(s formats.Selection) bool {
	if s.Interval.Open || s.Form == formats.Verbatim || s.Layout == mp4.Progressive {
		return false
	}
	for _, x := range l.streams {
		first, end := segments.Overlap(len(x.list.segments), x.list.bounds, s.Interval)
		if first == end || s.Interval.Start.Less(segments.Time(x.list.segments[0].start)) {
			return false
		}
		if x.first, x.last = x.list.independent(first), end-1; x.last == x.first || !x.passable(x.first+1, s) {
			return false
		}
		if init := x.list.segments[x.first].init; init == nil || init.uri == "" {
			return false
		}
		for i := x.first; i <= x.last; i++ {
			if x.changes(i) || !x.wanted(i) {
				return false
			}
		}
	}
	return true
}

// changes reports whether a segment has another clock or initialization than the
// first.
func (x *followed) changes(i int) bool {
	a, b := &x.list.segments[x.first], &x.list.segments[i]
	return a.discontinuity != b.discontinuity || !b.init.same(a.init)
}

// goesOn fails where a segment has another clock than the first, or another
// initialization: by its bytes, for it may come from another host.
func (x *followed) goesOn(ctx context.Context, i int) error {
	if !x.changes(i) {
		return nil
	}
	first, s := &x.list.segments[x.first], &x.list.segments[i]
	if s.init != nil && s.discontinuity == first.discontinuity {
		a, err := x.readInit(ctx, first.init)
		if err != nil {
			return err
		}
		b, err := x.readInit(ctx, s.init)
		if err != nil {
			return err
		}
		if bytes.Equal(a.data, b.data) {
			s.init = first.init
			return nil
		}
	}
	return unsupported("EXT-X-DISCONTINUITY", fmt.Sprintf("the clock or the initialization of a live stream changes at %s s", segments.Time(s.start)), asFolder)
}

// beginMP4 gives out the header and what the interval has of the first segments.
func (f *follower) beginMP4(ctx context.Context, l *liveMP4, s formats.Selection) (more bool, err error) {
	var cuts []*cut
	for i, x := range l.streams {
		if err := f.read(ctx, x.cut, x.first); err != nil {
			return false, err
		}
		x.last = x.first + 1 // it stands for all that follow
		if i == 0 && x.s != f.m.main {
			if err := x.anchor(ctx); err != nil {
				return false, err
			}
		}
		if containerOf(x.pieces[x.first].data) != fragmentedMP4 {
			return false, unsupported("segment", "a live stream whose segments are no fragmented MP4 behind an initialization section", asFolder)
		}
		cuts = append(cuts, x.cut)
	}
	p, err := f.m.planMP4(ctx, cuts, s, true)
	if err != nil {
		return false, err
	}
	for _, x := range l.streams {
		x.next = x.first + 1
	}
	l.begun = true
	for _, part := range p.Parts {
		r, ok := rebaseOf(part)
		if !ok {
			if !f.give(part) {
				return false, nil
			}
			continue
		}
		for _, x := range l.streams {
			if at, err := x.extent(x.next); err == nil && at.name == part.Resource.Name {
				x.rebase, l.last = r, max(l.last, r.Number)
			}
		}
	}
	return true, nil
}

// rebaseOf returns what becomes of a segment that is passed on; ok is false for other
// parts.
func rebaseOf(p seek.Part) (r mp4.Rebase, ok bool) {
	next := p.Rewrite
	if own, decrypts := next.(Rewriter); decrypts {
		next = own.Next
	}
	r, ok = next.(mp4.Rebase)
	return r, ok
}

// extent is where a segment lies.
func (c *cut) extent(i int) (extent, error) {
	s, name, err := c.segment(i)
	if err != nil {
		return extent{}, err
	}
	return extent{name, s.bytes}, nil
}

// give yields a part.
func (f *follower) give(p seek.Part) bool {
	f.told.Parts = append(f.told.Parts, p)
	return f.yield(p, nil)
}

// passOn gives out the segments that have appeared, by time.
func (f *follower) passOn(ctx context.Context, l *liveMP4, s formats.Selection) (more bool, err error) {
	for {
		var x *followed
		for _, y := range l.streams {
			if y.passable(y.next, s) && (x == nil || y.list.segments[y.next].start < x.list.segments[x.next].start) {
				x = y
			}
		}
		if x == nil || slices.ContainsFunc(l.streams, func(y *followed) bool {
			return y.next == len(y.list.segments) && y.list.duration() < x.list.segments[x.next].start // it comes before
		}) {
			return true, nil
		}
		i := x.next
		x.next++
		if !x.wanted(i) {
			f.told.Warnings = append(f.told.Warnings, gapWarning(&x.list.segments[i], x.s))
			continue
		}
		if err := x.goesOn(ctx, i); err != nil {
			return false, err
		}
		if err := f.read(ctx, x.cut, i); err != nil {
			return false, err
		}
		part, err := x.rebased(i, l)
		if err != nil {
			return false, err
		}
		if !f.give(part) {
			return false, nil
		}
	}
}

// rebased is the part that is a segment which is passed on, and was read.
func (x *followed) rebased(i int, l *liveMP4) (seek.Part, error) {
	at, err := x.extent(i)
	if err != nil {
		return seek.Part{}, err
	}
	l.given[at] = true
	l.last += 1 << 8
	r := x.rebase
	r.Number = l.last
	p := seek.Part{Resource: x.info(at.name), Request: seek.Request{Range: at.Range, Purpose: seek.Media, Note: "fragments"}, Rewrite: r, Size: at.Length}
	if len(x.list.segments[i].keys) > 0 {
		p.Resource, p.Range, p.Size = &seek.Info{Name: x.plainName(i), Size: -1}, seek.Range{Length: seek.ToEnd}, -1
		err = x.encrypted(&p)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.pieces, i)
	return p, err
}

// endMP4 gives out what the plan of all has that was not given out.
func (f *follower) endMP4(ctx context.Context, l *liveMP4, s formats.Selection) error {
	var cuts []*cut
	for _, x := range l.streams {
		x.interval = s.Interval.Clamp(segments.Time(x.list.duration()))
		_, end := segments.Overlap(len(x.list.segments), x.list.bounds, x.interval)
		x.last = end - 1
		for i := x.next; i <= x.last; i++ {
			if !x.wanted(i) {
				continue
			}
			if err := x.goesOn(ctx, i); err != nil {
				return err
			}
		}
		if err := x.skipGaps(); err != nil {
			return err
		}
		if err := f.read(ctx, x.cut, x.last); err != nil {
			return err
		}
		if err := x.readEnds(ctx); err != nil {
			return err
		}
		cuts = append(cuts, x.cut)
	}
	p, err := f.m.planMP4(ctx, cuts, s, false)
	if err != nil {
		return err
	}
	rest := p.Parts
	if i := slices.IndexFunc(rest, func(p seek.Part) bool { _, ok := rebaseOf(p); return ok }); i >= 0 {
		rest = rest[i:]
	}
	given, warnings := f.told.Parts, f.told.Warnings
	*f.told = *p
	f.told.Parts, f.told.Warnings = given, append(warnings, p.Warnings...)
	f.told.Tracks = enrich(f.tracks, p.Tracks)
	for _, part := range rest {
		if _, ok := rebaseOf(part); ok && l.has(part) {
			continue
		}
		if !f.give(part) {
			return nil
		}
	}
	return nil
}

// has reports whether a segment was given out.
func (l *liveMP4) has(p seek.Part) bool { return l.given[extent{p.Resource.Name, p.Range}] }
