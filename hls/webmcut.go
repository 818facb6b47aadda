package hls

import (
	"context"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/segments"
	"github.com/mediafrag/mediafrag/seek"
	"github.com/mediafrag/mediafrag/webm"
)

// webmLead is how much of the sound before an interval a decoder takes, at most.
const webmLead = 100 * time.Millisecond

// webmCut is a cut of segments of WebM behind one initialization section.
type webmCut struct {
	*locator
	header []byte
}

// planWebM makes one file of segments of WebM by the rules of package webm.
func (c *cut) planWebM(ctx context.Context, s formats.Selection) (*formats.Plan, error) {
	section := c.list.segments[c.first].init
	if section == nil || section.uri == "" {
		return nil, damaged("EXT-X-MAP", -1, "segments of WebM without an initialization section")
	}
	if err := c.oneClock(section); err != nil {
		return nil, err
	}
	init, err := c.readInit(ctx, section)
	if err != nil {
		return nil, err
	}
	t := &webmCut{header: init.data}
	t.locator = newLocator(c, t.clock, t.head)
	t.bound()
	if err := t.locate(ctx); err != nil {
		return nil, err
	}
	list, err := t.describe(ctx)
	if err != nil {
		return nil, err
	}
	zero := segments.Time(t.zero[t.list.segments[t.first].discontinuity])
	p, err := webm.PlanSegments(ctx, t.header, list, formats.Selection{Interval: t.interval.Shift(zero), Timeline: s.Timeline})
	if err != nil {
		return nil, err
	}
	back := fragment.Time{}.Sub(zero)
	p.Requested, p.Presented, p.Covered = t.interval, p.Presented.Shift(back), p.Covered.Shift(back)
	p.Warnings = append(t.warnings, p.Warnings...)
	for i := range p.Parts {
		if err := t.encrypted(&p.Parts[i]); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// describe tells package webm of the segments. Those at the ends are read, and
// the one before where decoding the sound takes it.
func (t *webmCut) describe(ctx context.Context) ([]webm.Segment, error) {
	from := t.first
	x, err := t.times(ctx, t.first)
	if err != nil {
		return nil, err
	}
	if segments.Duration(t.interval.Start)-x.start < webmLead {
		from = t.far(t.first, -1)
	}
	var list []webm.Segment
	for i := from; i <= t.last; i++ {
		if !t.wanted(i) {
			continue
		}
		s, name, err := t.segment(i)
		if err != nil {
			return nil, err
		}
		k, err := usable(s.keys)
		if err != nil {
			return nil, err
		}
		x := webm.Segment{Resource: t.info(name), Range: s.bytes}
		if k != nil { // its plain bytes are a resource of their own
			x.Resource, x.Range = &seek.Info{Name: t.plainName(i), Size: -1}, seek.Range{Length: seek.ToEnd}
		}
		if i <= t.first || i == t.last {
			p, err := t.read(ctx, i)
			if err != nil {
				return nil, err
			}
			x.Data, x.Range.Length = p.data, p.plain
		}
		list = append(list, x)
	}
	return list, nil
}

// clock returns what a segment presents on its own clock.
func (t *webmCut) clock(ctx context.Context, i int) (times, error) {
	p, err := t.read(ctx, i)
	if err != nil {
		return times{}, err
	}
	x, err := webm.SegmentTimes(ctx, t.header, p.data)
	if err != nil {
		return times{}, err
	}
	start := segments.Duration(x.Start)
	return times{start: start, end: segments.Duration(x.End), decodable: start, known: true}, nil
}

// head returns the clock at the beginning of a segment.
func (t *webmCut) head(ctx context.Context, i int) (start time.Duration, ok bool, err error) {
	x, err := t.clock(ctx, i)
	return x.start, err == nil, err
}
