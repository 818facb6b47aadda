package webm

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// Segment is one media segment of WebM, such as HLS and DASH have: Clusters,
// without the header of the file.
type Segment struct {
	// Resource is where the segment is, and Range its bytes in there; Length
	// ToEnd is all from Offset on.
	Resource *seek.Info
	Range    seek.Range
	// Data is the whole segment where it was read.
	Data []byte
}

// PlanSegments makes a clip of segments behind one another by the rules of this
// package, as if they were one file: pictures from the keyframe on, the sound in
// step, exact at the end. Header is the initialization segment. The interval and
// those of the plan are on the clock of the segments' timestamps. The first
// segments are those that it begins in, the last ones those that it ends in: they
// have Data. Those between without Data pass on as they stream, their times
// changed.
func PlanSegments(ctx context.Context, header []byte, segments []Segment, s formats.Selection) (*formats.Plan, error) {
	m, apart, err := openSegments(ctx, header, segments)
	if err != nil {
		return nil, err
	}
	defer m.w.Close()
	zero := nanos(m.start)
	s.Interval = s.Interval.Shift(fragment.Time{}.Sub(zero))
	s.Interval.Start = s.Interval.Start.Max(fragment.Time{})
	p, err := m.planner(s)
	if err != nil {
		return nil, err
	}
	p.apart = apart
	if err := p.gather(ctx); err != nil {
		return nil, err
	}
	if err := p.cut(); err != nil {
		return nil, err
	}
	plan, err := p.assemble(ctx)
	if err != nil {
		return nil, err
	}
	for i := range plan.Parts {
		if err := apart.place(&plan.Parts[i]); err != nil {
			return nil, err
		}
	}
	plan.Requested, plan.Presented, plan.Covered = plan.Requested.Shift(zero), plan.Presented.Shift(zero), plan.Covered.Shift(zero)
	return plan, nil
}

// SegmentTimes returns when a segment begins and ends on the clock of its
// timestamps, by its pictures, or by its sound where it has none.
func SegmentTimes(ctx context.Context, header, segment []byte) (fragment.Interval, error) {
	m, _, err := openSegments(ctx, header, []Segment{{Data: segment}})
	if err != nil {
		return fragment.Interval{}, err
	}
	defer m.w.Close()
	data, err := m.w.ReadRange(ctx, seek.Range{Offset: m.first.offset, Length: seek.ToEnd}, seek.Media, "segment")
	if err != nil {
		return fragment.Interval{}, err
	}
	walk := m.walk(data, m.first.offset, m.first.offset)
	for _, kind := range []uint64{typeVideo, typeAudio} {
		first, end := int64(maxOffset), int64(0)
		for i := range walk.blocks {
			b := &walk.blocks[i]
			if t := m.byNumber[b.track]; t != nil && t.kind == kind {
				at := m.ns(b.ts) - t.codecDelay
				first, end = min(first, at), max(end, at+m.length(t, b)-max(0, b.discard))
			}
		}
		if first < end {
			return fragment.Between(nanos(first), nanos(end)), nil
		}
	}
	return fragment.Interval{}, damaged("Segment/Cluster", m.first.offset, "a segment without pictures or sound")
}

// apart tells which segments the bytes of the file are that stands for them
// while a clip is planned: those with Data, one behind the other.
type apart struct {
	segments []Segment
	starts   []int64 // where each begins in the file; those without Data where the next does
}

// openSegments opens the file that segments make.
func openSegments(ctx context.Context, header []byte, segments []Segment) (*media, *apart, error) {
	file, err := segmentHeader(header)
	if err != nil {
		return nil, nil, err
	}
	a := &apart{segments: segments}
	for _, s := range segments {
		a.starts = append(a.starts, int64(len(file)))
		file = append(file, s.Data...)
	}
	m := &media{w: seek.NewWindow(ctx, inMemory(file), 2*int64(len(file))+1<<20), limits: formats.Limits{}.WithDefaults()}
	if err := m.open(ctx); err != nil {
		m.w.Close()
		return nil, nil, err
	}
	if m.first.id == 0 {
		return nil, nil, damaged("Segment", m.segment.offset, "there is no Cluster in the segments")
	}
	if m.start > 0 { // what it begins with is not the beginning of the tracks
		for _, t := range m.tracks {
			t.begun = false
		}
	}
	return m, a, nil
}

// segmentHeader returns an initialization segment as the beginning of a file that
// is as long as what follows, without what counts another: an index, a duration.
func segmentHeader(b []byte) ([]byte, error) {
	doc, at, err := parseDocHeader(b, 0)
	if err != nil {
		return nil, err
	}
	out := appendUnknownSize(appendID(bytes.Clone(b[:at]), idSegment), 8)
	for inside := false; at < int64(len(b)); {
		e, err := doc.parse(b[at:], at)
		if err != nil || e.id == idCluster {
			break
		}
		if e.id == idSegment && !inside {
			at, inside = e.body(), true
			continue
		}
		if e.size == unknownSize || e.end() > int64(len(b)) {
			return nil, damaged("Segment/"+e.String(), e.offset, "the initialization segment ends in it")
		}
		switch body := b[e.body():e.end()]; e.id {
		case idInfo:
			var info []byte
			each(doc.lengths, e, body, func(x element, b []byte) {
				if x.id != idDuration {
					info = appendElement(info, x.id, b)
				}
			})
			out = appendElement(out, idInfo, info)
		case idTracks:
			out = append(out, b[e.offset:e.end()]...)
		}
		at = e.end()
	}
	return out, nil
}

// place makes of a part of the file that stands for segments one of its segment. A
// segment that was cut off may end in an element that takes the next for its own.
func (a *apart) place(q *seek.Part) error {
	if q.Resource == nil || q.Resource.Name != "" {
		return nil
	}
	for i := len(a.segments) - 1; i >= 0; i-- {
		s := a.segments[i]
		if s.Data == nil || q.Offset < a.starts[i] {
			continue
		}
		q.Resource, q.Offset = s.Resource, q.Offset-a.starts[i]+s.Range.Offset
		if end := s.Range.Offset + int64(len(s.Data)); q.End() > end {
			return damaged("Segment/Cluster", q.Offset, fmt.Sprintf("it runs over the end of its segment at byte %d", end))
		}
		return nil
	}
	return nil
}

// split divides [from, to) of the file where its segments meet, and puts those
// between that were not read in their places.
func (a *apart) split(p *planner, from, to int64, within *Within) (parts []seek.Part) {
	add := func(end int64) {
		if from < end {
			parts = append(parts, p.mediaPart(from, end, within))
		}
		from, within = end, nil
	}
	begin := from
	for i, s := range a.segments {
		at := a.starts[i]
		if at <= begin || at > to {
			continue
		}
		add(at)
		if s.Data == nil {
			parts = append(parts, p.passOn(s))
		}
	}
	add(to)
	return parts
}

// passOn is a segment that was not read.
func (p *planner) passOn(s Segment) seek.Part {
	q := seek.Bytes(s.Resource, s.Range, "segment")
	w := Rewrite{Shift: p.clusterShift(), Follow: p.lonely(), IDLength: p.m.doc.id, SizeLength: p.m.doc.size}
	for _, t := range p.m.tracks {
		r := TrackRewrite{Number: t.number, Drop: p.has(t.number) == nil}
		if !r.Drop {
			r.Shift = p.shift(t.number) - w.Shift
		}
		if r != (TrackRewrite{Number: t.number}) {
			w.Tracks = append(w.Tracks, r)
		}
	}
	q.Rewrite = w
	if p.drops() || s.Range.Length < 0 {
		q.Size = -1
	}
	return q
}

// inMemory is a source of bytes in memory.
type inMemory []byte

// Open opens a range.
func (b inMemory) Open(_ context.Context, r seek.Request) (*seek.Body, error) {
	size := int64(len(b))
	from, to := r.Offset, size
	if from < 0 {
		from = max(0, size+from)
	} else if r.Length >= 0 {
		to = min(size, from+r.Length)
	}
	from = min(from, to)
	return &seek.Body{Info: seek.Info{Size: size}, Offset: from, ReadCloser: io.NopCloser(bytes.NewReader(b[from:to]))}, nil
}
