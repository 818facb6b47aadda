package ogg

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// Plan resolves a selection. Where a clip leaves out streams of the file, its size
// is not known: how many of the bytes between its two ends are of which stream
// nobody knows before they have come.
func (m *media) Plan(ctx context.Context, s formats.Selection) (*formats.Plan, error) {
	if s.Layout != "" {
		return nil, &formats.Error{Container: Name, Offset: -1, Err: formats.ErrUnsupported,
			Problem: fmt.Sprintf("the layout %q", s.Layout), Hint: "leave the layout out: Ogg has only one"}
	}
	for {
		if err := m.reach(ctx, func(known fragment.Time) bool { return !s.Interval.Open && s.Interval.End.Less(known) }); err != nil {
			return nil, err
		}
		c := m.links()
		review := m.review(ctx, c)
		p, err := m.planLinks(ctx, c, s)
		if revised, failed := review.wait(ctx); failed != nil {
			return nil, cmp.Or(err, failed)
		} else if !revised {
			return p, err
		}
	}
}

// planLinks resolves a selection of the links that are known.
func (m *media) planLinks(ctx context.Context, c *chain, s formats.Selection) (*formats.Plan, error) {
	info := m.Info()
	tracks, err := formats.Chosen(info.Tracks, s)
	if err != nil {
		return nil, err
	}
	interval, err := c.clamp(s.Interval)
	if err != nil {
		return nil, err
	}
	p := &formats.Plan{MediaType: info.MediaType, Requested: interval, Tracks: tracks}
	resource := m.window.Info()
	used := map[uint32]bool{} // serial numbers
	var at fragment.Time      // where the link begins on the joined timeline
	for i, l := range c.links[:c.closed] {
		from, to := interval.Start.Sub(at).Max(fragment.Time{}), interval.End.Sub(at).Min(l.length())
		begin := at
		at = at.Add(l.length())
		if !from.Less(to) {
			continue
		}
		part, err := m.planLink(ctx, l, s, tracks, from, to, at.Less(interval.End), i, used, &resource)
		if err != nil {
			return nil, err
		}
		if part != nil {
			join(p, part, begin.Sub(l.begin))
		}
	}
	if len(p.Parts) == 0 {
		return nil, formats.ErrNothing
	}
	return p, nil
}

// clamp ends an interval where the links end.
func (c *chain) clamp(i fragment.Interval) (fragment.Interval, error) {
	if !i.Start.Less(c.length) && c.complete {
		return i, &formats.PastEndError{Start: i.Start, Duration: c.length}
	}
	return i.Clamp(c.length), nil
}

// planLink resolves what a link gives: [from, to) on its own timeline, which
// begins at 0; more says that the interval goes on in the next link. Tracks are
// those of the first link; of later ones it takes all streams, or where some were
// named, those of their kinds. Used are the serial numbers of the links before. It
// returns nil where the link has nothing there.
func (m *media) planLink(ctx context.Context, l *link, s formats.Selection, tracks []formats.Track, from, to fragment.Time, more bool, number int, used map[uint32]bool, resource *seek.Info) (*clip, error) {
	c := &cutting{w: m.window, l: l, a: from.Add(l.begin), b: to.Add(l.begin), original: s.Timeline == formats.Original, asIs: s.Form == formats.Verbatim}
	for _, t := range l.streams {
		if slices.ContainsFunc(tracks, func(k formats.Track) bool {
			return number == 0 && k.ID == t.track.ID || number > 0 && k.Kind == t.track.Kind
		}) || number > 0 && len(s.Tracks) == 0 {
			c.streams = append(c.streams, t)
		}
	}
	c.serials = serials{l, used, map[uint32]uint32{}}
	whole := number > 0 && from.Sign() == 0 && to.Equal(l.length()) && len(c.streams) == len(l.streams)
	if whole && (c.asIs || !c.serials.again()) {
		c.serials.keep()
		return l.wholly(resource), nil
	}
	if err := c.resolve(ctx); err != nil {
		return nil, err
	}
	if !c.carries() {
		return nil, nil
	}
	if c.asIs {
		return c.verbatim(resource), nil
	}
	if begin := c.earlier(); more && begin.Less(c.a) {
		return m.planLink(ctx, l, s, tracks, begin.Sub(l.begin), to, more, number, used, resource)
	}
	return c.assemble(resource), nil
}

// carries reports whether a packet is carried, or whether all that is selected there
// is text.
func (c *cutting) carries() bool {
	text := 0
	for _, k := range c.carried {
		switch {
		case k.s.text():
			if text++; len(k.early)+len(k.behind) > 0 || k.s.ended && c.a.Less(k.s.time(k.s.finish)) {
				return true
			}
		case !k.empty:
			return true
		}
	}
	return text > 0 && text == len(c.carried)
}

// wholly is a link as it is: one that lies within the interval.
func (l *link) wholly(resource *seek.Info) *clip {
	r := seek.Range{Offset: l.off, Length: l.end - l.off}
	all := fragment.Between(l.begin, l.finish)
	return &clip{parts: []seek.Part{watched(resource, r, "whole link")}, size: r.Length, needed: r.Length, presented: all, covered: all}
}

// join adds what a link gives to a plan; shift is from the link's own clock to
// the plan's.
func join(p *formats.Plan, part *clip, shift fragment.Time) {
	first := len(p.Parts) == 0
	p.Parts = append(p.Parts, part.parts...)
	p.Needed += part.needed
	p.Warnings = append(p.Warnings, part.warnings...)
	if part.size < 0 || p.Size < 0 {
		p.Size = -1
	} else {
		p.Size += part.size
	}
	move := func(i fragment.Interval) fragment.Interval {
		return fragment.Between(i.Start.Add(shift), i.End.Add(shift))
	}
	presented, covered := move(part.presented), move(part.covered)
	if first {
		p.Presented, p.Covered = presented, covered
		return
	}
	p.Presented.End, p.Covered.End = p.Presented.End.Max(presented.End), p.Covered.End.Max(covered.End)
}
