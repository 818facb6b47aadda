package hls

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/segments"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/seek"
)

// liveMP4 is a clip of fragmented MP4 whose end is yet to come. Its header and the
// fragments of the first segments come first, then whole segments as they appear,
// and when the end has been published what the plan of all has beside those. From
// the last segment before a discontinuity on nothing is given out until then: how
// what follows is joined on depends on both sides.
type liveMP4 struct {
	streams []*followed
	last    uint32 // number of the last fragment that was given out
	begun   bool   // something was given out
	joint   bool   // a discontinuity has come
	held    int64  // bytes of segments that are held since
}

// followed is one of its streams.
type followed struct {
	*cut              // of all segments that were seen; its given is the segment to give out
	rebase mp4.Rebase // what becomes of its segments
}

// joined gives out what there is of a selection that takes several streams, or has an
// initialization section.
func (f *follower) joined(ctx context.Context, s formats.Selection, streams []*stream) (done bool, err error) {
	published := !slices.ContainsFunc(streams, func(x *stream) bool { return !f.m.media(x).published(f.selection.Interval) })
	if f.fragments == nil {
		if published {
			return true, f.plan(ctx)
		}
		f.fragments = &liveMP4{}
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
	if s.Form == formats.Verbatim {
		if err := l.verbatim(s); err != nil {
			return true, err
		}
	}
	if !l.begun && !l.joint {
		if published {
			return true, f.plan(ctx)
		}
		if !l.canBegin(s) {
			return false, nil
		}
		if !l.joint {
			if more, err := f.beginMP4(ctx, l, s); err != nil || !more {
				return true, err
			}
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

// verbatim fails as soon as it is known that a clip cannot be of the original's bytes.
func (l *liveMP4) verbatim(s formats.Selection) error {
	var cuts []*cut
	for _, x := range l.streams {
		first, end := segments.Overlap(len(x.list.segments), x.list.bounds, s.Interval)
		x.first, x.last = first, end-1
		cuts = append(cuts, x.cut)
	}
	return verbatimOf(cuts, "")
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
// of each stream its first segment and one that is passed on. Where these have
// different clocks, that is the joint.
func (l *liveMP4) canBegin(s formats.Selection) bool {
	if s.Interval.Open || s.Form == formats.Verbatim || s.Layout == mp4.Progressive {
		return false
	}
	joint := false
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
		if !x.wanted(x.first) || !x.wanted(x.first+1) {
			return false
		}
		joint = joint || x.changes(x.first+1)
	}
	l.joint = joint
	return true
}

// changes reports whether a segment has another clock or initialization than the
// first.
func (x *followed) changes(i int) bool {
	a, b := &x.list.segments[x.first], &x.list.segments[i]
	return a.discontinuity != b.discontinuity || !b.init.same(a.init)
}

// goesOn reports whether a segment has the clock and the initialization of the first:
// by the bytes of this, for it may come from another host. It fails where one file
// cannot hold what both initializations describe.
func (x *followed) goesOn(ctx context.Context, i int) (bool, error) {
	if !x.changes(i) {
		return true, nil
	}
	first, s := &x.list.segments[x.first], &x.list.segments[i]
	if s.init == nil || s.init.uri == "" {
		return false, x.noInit()
	}
	a, err := x.readInit(ctx, first.init)
	if err != nil {
		return false, err
	}
	b, err := x.readInit(ctx, s.init)
	if err != nil {
		return false, err
	}
	if !bytes.Equal(a.data, b.data) {
		r, err := mp4.OpenRendition(a.data, []mp4.Segment{{Init: b.data}}, formats.Env{Limits: x.m.env.Limits})
		if err != nil {
			return false, initChanges(err, s)
		}
		return false, r.Close()
	}
	if s.discontinuity == first.discontinuity {
		s.init = first.init
	}
	return s.discontinuity == first.discontinuity, nil
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
	l.begun, f.told.MediaType = true, p.MediaType
	for _, x := range l.streams {
		x.given = x.first + 1
	}
	for _, part := range p.Parts {
		r, ok := rebaseOf(part)
		if !ok {
			if !f.give(part) {
				return false, nil
			}
			continue
		}
		for _, x := range l.streams {
			if at, err := x.extent(x.first + 1); err == nil && at.name == part.Resource.Name {
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

// passOn gives out the segments that have appeared, by time: each once it is known
// that what is behind it goes on.
func (f *follower) passOn(ctx context.Context, l *liveMP4, s formats.Selection) (more bool, err error) {
	for !l.joint {
		var x *followed
		for _, y := range l.streams {
			if y.passable(y.given, s) && (x == nil || y.list.segments[y.given].start < x.list.segments[x.given].start) {
				x = y
			}
		}
		if x == nil || slices.ContainsFunc(l.streams, func(y *followed) bool {
			return y.given == len(y.list.segments) && y.list.duration() < x.list.segments[x.given].start // it comes before
		}) {
			return true, nil
		}
		i := x.given
		if x.wanted(i) { // now: it may have left when the next one comes
			if err := f.read(ctx, x.cut, i); err != nil {
				return false, err
			}
		}
		if i+1 == len(x.list.segments) {
			return true, nil
		}
		for _, j := range []int{i, i + 1} {
			on, err := x.goesOn(ctx, j)
			if err != nil {
				return false, err
			}
			l.joint = l.joint || !on
		}
		if l.joint {
			break
		}
		x.given++
		if !x.wanted(i) {
			f.told.Warnings = append(f.told.Warnings, gapWarning(&x.list.segments[i], x.s))
			continue
		}
		part, err := x.rebased(i, l)
		if err != nil {
			return false, err
		}
		if !f.give(part) {
			return false, nil
		}
	}
	return true, f.hold(ctx, l, s)
}

// hold reads what has appeared behind a joint, for it may have left the window when
// the end is published. What is too much to hold is asked for then.
func (f *follower) hold(ctx context.Context, l *liveMP4, s formats.Selection) error {
	for _, x := range l.streams {
		for i := max(x.first, x.given); i < len(x.list.segments) && segments.Time(x.list.segments[i].start).Less(s.Interval.End); i++ {
			if x.pieces[i] != nil || !x.wanted(i) {
				continue
			}
			if _, err := x.goesOn(ctx, i); err != nil {
				return err
			}
			if l.held >= f.m.behind {
				return nil
			}
			if err := f.read(ctx, x.cut, i); err != nil {
				return err
			}
			l.held += x.pieces[i].plain
		}
	}
	return nil
}

// rebased is the part that is a segment which is passed on, and was read.
func (x *followed) rebased(i int, l *liveMP4) (seek.Part, error) {
	at, err := x.extent(i)
	if err != nil {
		return seek.Part{}, err
	}
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
		for i := max(x.first, x.given); i <= x.last && !l.joint; i++ {
			if !x.wanted(i) {
				continue
			}
			on, err := x.goesOn(ctx, i)
			if err != nil {
				return err
			}
			l.joint = !on
		}
	}
	if l.joint {
		if err := f.hold(ctx, l, s); err != nil {
			return err
		}
	}
	for _, x := range l.streams {
		if err := x.skipGaps(); err != nil {
			return err
		}
		if err := f.read(ctx, x.cut, x.last); err != nil {
			return err
		}
		if err := x.readEnds(ctx); err != nil {
			return f.notHeld(ctx, l, err)
		}
		cuts = append(cuts, x.cut)
	}
	if !l.begun && cuts[0].s != f.m.main {
		if err := cuts[0].anchor(ctx); err != nil {
			return err
		}
	}
	p, err := f.m.planMP4(ctx, cuts, s, false)
	if err != nil {
		return f.notHeld(ctx, l, err)
	}
	given, warnings := f.told.Parts, f.told.Warnings
	*f.told = *p
	f.told.Parts, f.told.Warnings = given, append(warnings, p.Warnings...)
	f.told.Tracks = enrich(f.tracks, p.Tracks)
	for _, part := range p.Parts {
		if !f.give(part) {
			return nil
		}
	}
	return nil
}

// notHeld tells of segments that were too much to hold: whether one has left its
// playlist.
func (f *follower) notHeld(ctx context.Context, l *liveMP4, err error) error {
	if !errors.Is(err, seek.ErrNotFound) {
		return err
	}
	for _, x := range l.streams {
		for i := max(x.first, x.given); i <= x.last; i++ {
			if x.pieces[i] == nil && x.wanted(i) {
				if err = f.gone(ctx, x.cut, i, err); errors.Is(err, ErrExpired) {
					return err
				}
				break // those behind it are still there
			}
		}
	}
	return err
}
