package webm

import (
	"context"

	"github.com/mediafrag/mediafrag/seek"
)

// anchor is a place where a Cluster begins, and a time.
type anchor struct {
	offset int64
	time   int64 // ticks; of a block in the cluster, not before its Timestamp
}

// bracket is where a time lies: after at, before next. Prev is the anchor
// before at; its offset is 0 where there is none.
type bracket struct {
	prev, at, next anchor
	lead           lead  // of the cluster at at
	spread         int64 // by how many bytes a guess between at and next may be wrong
}

// clustersEnd is where the clusters behind an offset end at the latest.
func (m *media) clustersEnd(off int64) int64 {
	end := m.limit()
	for _, o := range m.others {
		if o > off {
			end = min(end, o)
		}
	}
	return end
}

// endTime is when the file ends, in ticks, as far as Info says it.
func (m *media) endTime() int64 {
	if m.timed {
		return (m.start+m.duration)/m.info.scale + 1
	}
	return maxOffset / m.info.scale
}

// byCues finds a time among cue points.
func (m *media) byCues(points []cue, ticks int64) bracket {
	i := 0
	for i < len(points) && points[i].time <= ticks {
		i++
	}
	first := anchor{m.first.offset, m.start / m.info.scale}
	b := bracket{at: first}
	if i > 0 {
		b.at = anchor{points[i-1].cluster, points[i-1].time}
		if b.at.offset > first.offset {
			b.prev = first
		}
	}
	for j := i - 2; j >= 0; j-- {
		if points[j].cluster < b.at.offset {
			b.prev = anchor{points[j].cluster, points[j].time}
			break
		}
	}
	b.next = anchor{m.clustersEnd(b.at.offset), max(m.endTime(), b.at.time)}
	for _, p := range points[i:] {
		if p.cluster > b.at.offset && p.cluster < b.next.offset && p.time > ticks {
			b.next = anchor{p.cluster, p.time}
			break
		}
	}
	return b
}

// find brackets a time by the index, or without one by a search.
func (m *media) find(ctx context.Context, points []cue, ticks int64) (bracket, error) {
	if len(points) > 0 {
		if b := m.byCues(points, ticks); b.next.offset < maxOffset {
			return b, nil
		}
		err := m.measure(ctx) // the index ends before
		return m.byCues(points, ticks), err
	}
	if err := m.reach(ctx, ticks); err != nil {
		return bracket{}, err
	}
	return m.near(ctx, m.clusters(), ticks)
}

// region is a stretch of bytes at hand and what a walk over them has seen.
type region struct {
	lo, from int64    // its first byte; where the walk began
	within   *cluster // the cluster in which it began, nil for at one
	data     []byte
	size     int64 // bytes to ask for
	*stretch
}

func (r *region) hi() int64 { return r.lo + int64(len(r.data)) }

// read fetches stretches of media at once and walks over each from its anchor.
func (m *media) read(ctx context.Context, regions ...*region) error {
	var requests []seek.Request
	for _, r := range regions {
		requests = append(requests, mediaRequest(r.lo, r.size))
	}
	return m.fill(ctx, regions, requests)
}

func mediaRequest(off, n int64) seek.Request {
	return seek.Request{Range: seek.Range{Offset: off, Length: n}, Purpose: seek.Media, Note: "edge"}
}

func (m *media) fill(ctx context.Context, regions []*region, requests []seek.Request) error {
	got, err := m.w.Read(ctx, requests...)
	if err != nil {
		return err
	}
	for i, r := range regions {
		r.data = got[i]
		begin := &stretch{next: r.from}
		if r.within != nil {
			begin.clusters = []cluster{*r.within}
		}
		r.stretch = m.walkOn(begin, r.data, r.lo)
	}
	return nil
}
