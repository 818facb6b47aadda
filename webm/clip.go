package webm

import (
	"context"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// assemble arranges the clip: a new header, a first cluster that begins with
// what was cut, the clusters between as they stream, and a last one.
func (p *planner) assemble(ctx context.Context) (*formats.Plan, error) {
	if p.endOff <= p.startOff && !p.anyFrames() {
		return nil, p.nothing(ctx)
	}
	b, err := p.body()
	if err != nil {
		return nil, err
	}
	for _, q := range p.followers {
		if q.endOff <= q.startOff && !q.anyFrames() {
			continue
		}
		more, err := q.body()
		if err != nil {
			return nil, err
		}
		b.join(more)
	}
	header, err := p.header(b)
	if err != nil {
		return nil, err
	}
	attached, _ := p.attachmentParts()
	parts := slices.Concat([]seek.Part{seek.Literal(header, "header")}, attached, b.parts)
	plan := &formats.Plan{
		MediaType: p.m.mediaType(p.tracks),
		Parts:     slices.DeleteFunc(parts, func(q seek.Part) bool { return q.Size == 0 }),
		Warnings:  p.warnings,
		Needed:    p.needed(),
	}
	p.describe(plan)
	for _, q := range plan.Parts {
		if q.Size < 0 {
			plan.Size = -1
			break
		}
		plan.Size += q.Size
	}
	return plan, nil
}

func (p *planner) anyFrames() bool {
	for _, c := range p.sounds {
		if len(c.head)+len(c.tail) > 0 {
			return true
		}
	}
	return false
}

// nothing is the error for an interval in which nothing lies.
func (p *planner) nothing(ctx context.Context) error {
	if !p.m.bounded() { // it goes on behind the interval
		return formats.ErrNothing
	}
	d, err := p.m.findEnd(ctx)
	if err != nil {
		return err
	}
	if p.a-p.m.start >= d {
		return &formats.PastEndError{Start: nanos(p.a - p.m.start), Duration: nanos(d)}
	}
	return formats.ErrNothing
}

// needed is the least that a reader must fetch that reads whole elements.
func (p *planner) needed() int64 {
	from := p.startOff
	for _, c := range p.sounds {
		from = min(from, c.offset)
	}
	n := max(0, p.endOff-from) + p.m.first.offset - p.m.base
	if p.m.cuesElement.offset > p.m.first.offset {
		n += p.m.cuesElement.head + p.m.cuesElement.size
	}
	return n + p.attached.size
}

// lastShown is when the last picture that is delivered ends where one comes
// behind the interval, which others before its end need.
func (p *planner) lastShown() (end int64) {
	for i := range p.end.blocks {
		b := &p.end.blocks[i]
		t := p.has(b.track)
		if t == nil || t.kind != typeVideo || b.offset >= p.endOff {
			continue
		}
		if _, to := p.limits(t); to == 0 || b.offset < to {
			if at := p.time(b.ts, t); at >= p.b {
				end = max(end, at+max(p.m.length(t, b), p.m.info.scale))
			}
		}
	}
	return end
}

// holdsDuration reports whether the Segment has all of the duration that it states,
// as far as was seen: where it states no size, or grows, its last sample tells.
func (p *planner) holdsDuration() bool {
	m := p.m
	if m.segment.size != unknownSize && !m.growing || !m.timed || !p.end.ended {
		return m.holdsDuration()
	}
	return m.lastOf(p.end.blocks) >= m.start+m.duration-outlastSlack
}

// describe states the intervals, from the presentation's time 0 on.
func (p *planner) describe(plan *formats.Plan) {
	start := p.m.start
	end := p.b
	if end == maxOffset {
		if end = p.m.lastOf(p.end.blocks); p.holdsDuration() {
			end = start + p.m.duration
		}
	}
	between := func(a, b int64) fragment.Interval {
		return fragment.Between(nanos(max(0, a-start)), nanos(max(0, b-start)))
	}
	plan.Requested = p.sel.Interval
	if p.m.timed {
		plan.Requested = plan.Requested.Clamp(nanos(p.m.duration))
	}
	present, covered := p.zero, p.first
	finish := end
	for i, c := range p.sounds {
		if !p.video {
			if i == 0 || c.present < present {
				present = c.present
			}
		}
		finish = max(finish, c.finish)
		if !c.exact {
			p.warnings = append(p.warnings, fragment.Warning{Reason: "track " + c.t.ID + ": " + c.t.Codec + " can only be cut at whole frames"})
		}
	}
	if p.sel.Layout != formats.Exact {
		finish = max(finish, p.lastShown())
	}
	plan.Presented = between(present, finish)
	plan.Covered = between(covered, finish)
	if d := p.m.lastOf(p.end.blocks); !p.holdsDuration() && (p.m.timed || p.b != maxOffset) && p.end.ended && d < p.b {
		plan.Presented, plan.Covered = between(present, d), between(covered, d)
		if second := p.m.next.Load(); p.m.timed && second > 0 {
			p.warn("the Segment at byte %d is cut off at byte %d, where another begins: its media end at %v s, not at %v", p.m.base, second, nanos(d-start), nanos(p.m.duration))
		} else if p.m.timed && p.m.growing {
			p.warn("the file has media up to %v s so far, not up to %v", nanos(d-start), nanos(p.m.duration))
		} else if p.m.timed {
			p.warn("the file is cut off: its media end at %v s, not at %v", nanos(d-start), nanos(p.m.duration))
		}
	}
	if present == start && plan.Requested.Start.Sign() == 0 || plan.Presented.Start.Equal(plan.Requested.Start) {
		plan.Presented.Start = plan.Requested.Start
	}
	if plan.Requested.Open { // nobody knows how long the medium is
		plan.Presented.Open, plan.Covered.Open = true, true
		plan.Presented.End, plan.Covered.End = fragment.Time{}, fragment.Time{}
	}
	if p.sel.Layout == formats.Exact {
		plan.Presented.Start = plan.Requested.Start
	}
	plan.Warnings = p.warnings
	for _, t := range p.tracks {
		plan.Tracks = append(plan.Tracks, t.Track)
	}
}
