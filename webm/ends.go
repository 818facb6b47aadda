package webm

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// gather reads the two ends of the interval. Where no keyframe is found at the
// place that the index tells, it does without the index.
func (p *planner) gather(ctx context.Context) error {
	for {
		second := p.m.next.Load()
		if err := p.locate(ctx); err != nil {
			return err
		}
		shown := p.prefetchShown()
		if err := p.readEnds(ctx); err != nil {
			return err
		}
		ok, err := p.settle(ctx)
		switch {
		case p.m.next.Load() != second && max(p.from.at.offset, p.to.at.offset) >= p.m.next.Load():
			p.cues = p.m.pointsOf(p.main.number)
			continue // it lay in a second Segment, which showed now
		case errors.Is(err, formats.ErrDamaged) && len(p.cues) > 0 && p.end != nil && p.end.stretch != nil && len(p.end.clusters) == 0:
			p.warn("the index points to byte %d for %v s, where no Cluster is", p.end.from, nanos(p.m.ns(p.to.at.time)))
			p.cues, p.searched = nil, true
		case err != nil:
			p.m.short.Store(p.m.short.Load() || errors.Is(err, formats.ErrDamaged))
			return err
		case ok:
			if err := p.takeShown(ctx, shown); err != nil {
				return err
			}
			return p.withinMedia()
		case len(p.cues) > 0: // it is not to be trusted
			p.warn("the index points to byte %d for %v s, where no keyframe is", p.from.at.offset, nanos(p.m.ns(p.from.at.time)))
			p.cues, p.searched = nil, true
		case p.start.err != nil:
			return p.start.err
		default:
			return damaged("Segment/Cluster", p.start.from, "no keyframe was found at or before the interval")
		}
	}
}

// withinMedia reports an interval that begins behind the last sample, which only
// shows here where no duration is stated, or one that the file does not hold.
func (p *planner) withinMedia() error {
	if r := p.start; len(r.blocks) == 0 && len(r.gaps) > 0 {
		return r.gaps[0].err
	}
	if p.m.timed && p.end.ended && p.m.lastOf(p.end.blocks) < p.m.start+p.m.duration-outlastSlack {
		p.m.short.Store(true)
	}
	if p.holdsDuration() || !p.end.ended || p.m.timed && p.m.next.Load() > 0 {
		return nil // or what follows has the times behind
	}
	if end := p.m.lastOf(p.end.blocks); p.a > p.m.start && p.a >= end {
		return &formats.PastEndError{Start: p.sel.Interval.Start, Duration: nanos(end - p.m.start)}
	}
	return nil
}

// locate finds both ends, at the same time.
func (p *planner) locate(ctx context.Context) error {
	m := p.m
	var back bracket
	end := min(p.b, maxOffset)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		p.from, err = p.locateStart(ctx, p.begin()/m.info.scale)
		return err
	})
	g.Go(func() (err error) {
		p.to, err = p.locateEnd(ctx, end)
		return err
	})
	g.Go(func() (err error) { // sound before b may lie before the cluster of b
		back, err = p.locateEnd(ctx, max(0, end-interleave))
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	if p.to.at.offset < p.from.at.offset { // the one was narrowed, the other not
		p.to.at = p.from.at
	}
	if p.tail = back.at; p.tail.offset < p.from.at.offset {
		p.tail = p.from.at
	}
	return nil
}

// locateStart finds the cluster that a lies in. Where points of the index are
// far apart there may be keyframes between.
func (p *planner) locateStart(ctx context.Context, ticks int64) (bracket, error) {
	m := p.m
	b, err := m.find(ctx, p.cues, ticks)
	if err != nil || len(p.cues) == 0 || m.ns(b.next.time-b.at.time) <= sparseTime || m.ns(ticks-b.at.time) <= sparseTime/4 {
		return b, err
	}
	// What probably is wanted comes with the search.
	at := m.place(b, p.a)
	m.w.Prefetch(mediaRequest(at, min(m.place(b, p.b)+maxBehind-at, maxEdge)))
	fine, err := m.refine(ctx, b, ticks)
	p.searched = p.searched || fine != b
	return fine, err
}

// locateEnd finds the cluster that b lies in. Where points of the index are far
// apart, all from one of them to b would be read at once.
func (p *planner) locateEnd(ctx context.Context, ns int64) (bracket, error) {
	m := p.m
	b, err := m.find(ctx, p.cues, ns/m.info.scale)
	if err != nil || len(p.cues) == 0 || m.place(b, ns)-b.at.offset <= sparseBytes {
		return b, err
	}
	return m.refine(ctx, b, ns/m.info.scale)
}

// rate is the number of bytes a second between two anchors.
func rate(m *media, a, b anchor) int64 {
	ns := m.ns(b.time - a.time)
	if ns <= 0 || b.offset <= a.offset {
		return 0
	}
	return int64(float64(b.offset-a.offset) * 1e9 / float64(ns))
}

// bytesFor is what a time costs at a rate, within bounds.
func bytesFor(rate, ns, least, most int64) int64 {
	return max(least, min(int64(float64(rate)*float64(ns)/1e9), most))
}

// readEnds reads what probably holds the first and the last blocks.
func (p *planner) readEnds(ctx context.Context) error {
	m := p.m
	s, e := p.from, p.to
	r := &region{lo: s.at.offset, from: s.at.offset}
	if warm, ideal := p.leadIn(); p.video && ideal > 0 && r.from > m.first.offset {
		around := rate(m, s.prev, s.at)
		if s.prev.offset == 0 || around == 0 {
			around = rate(m, s.at, s.next)
		}
		n := max(bytesFor(around, warm+lag, minBefore, maxBefore), min(bytesFor(around, ideal+lag, 0, maxBefore), maxIdeal+minEdge))
		r.lo = max(m.first.offset, r.from-n)
		if s.prev.offset > 0 && s.prev.offset >= r.from-smallCluster {
			r.lo, r.from = min(r.lo, s.prev.offset), s.prev.offset
		}
	}
	hi := p.guessEnd(e)
	if !p.video {
		if begin := m.place(s, p.begin()) - insideSlack; begin-r.from > smallCluster {
			if ok, err := p.readInside(ctx, begin, hi); ok || err != nil {
				return err
			}
		}
	}
	if hi-s.at.offset <= oneRead {
		r.size = hi - r.lo
		p.start, p.end = r, r
		return m.read(ctx, r)
	}
	if p.searched && p.video && s.lead != leadKey { // a keyframe may lie further in front
		back := max(m.first.offset, r.from-p.backBy(0))
		m.lookBack(back, r.lo)
		r.lo = min(r.lo, back)
	}
	edge := max(minEdge, min((s.next.offset-s.at.offset)/3, maxEdge))
	if !p.video || p.searched { // up to a, and what lags behind
		edge = max(edge, m.place(s, p.a)-s.at.offset+bytesFor(rate(m, s.at, s.next), interleave, minBehind, maxBehind)+min(s.spread, maxSpread))
	}
	r.size = min(s.at.offset+edge, m.limit()) - r.lo
	p.start, p.end = r, &region{lo: p.tail.offset, from: p.tail.offset, size: hi - p.tail.offset}
	if r.lo+r.size >= p.end.lo {
		r.size, p.end = hi-r.lo, r
		return m.read(ctx, r)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.findMiddle(ctx) })
	g.Go(func() error { return m.read(ctx, r, p.end) })
	return g.Wait()
}

// findMiddle finds Clusters at which what lies between the ends of a long clip
// is divided: a rewriter must begin at one, and whoever reads from the middle of
// the clip should not need all that lies before.
func (p *planner) findMiddle(ctx context.Context) error {
	m := p.m
	from, to := p.from.at, p.tail
	p.middle = nil
	if len(p.cues) == 0 || to.offset-from.offset <= longMiddle {
		return nil
	}
	n := min((to.offset-from.offset)/middlePart, maxParts)
	at := from.offset
	var requests []seek.Request
	for i := int64(1); i < n; i++ {
		target := from.offset + (to.offset-from.offset)*i/n
		for _, c := range p.cues {
			if c.cluster >= target && c.cluster > at && c.cluster < to.offset {
				at = c.cluster
				requests = append(requests, mediaRequest(at, clusterHead))
				break
			}
		}
	}
	got, err := m.w.Read(ctx, requests...)
	if err != nil {
		return err
	}
	for i, b := range got {
		off := requests[i].Offset
		if c, err := m.clusterAt(b, off); err == nil || err == errShort && c.id == idCluster {
			p.middle = append(p.middle, off)
		}
	}
	return nil
}

// guessEnd guesses where the last needed byte lies, and adds what it may be
// wrong by.
func (p *planner) guessEnd(e bracket) int64 {
	m := p.m
	most := max(m.clustersEnd(e.at.offset), e.at.offset)
	if p.b == maxOffset {
		return most
	}
	behind := int64(400e6)
	if p.main.reorders() {
		behind = 650e6
	}
	return min(m.place(e, p.b)+bytesFor(rate(m, e.at, e.next), behind, minBehind, maxBehind)+min(e.spread, maxSpread), most)
}

// place guesses where a time lies in a bracket.
func (m *media) place(e bracket, ns int64) int64 {
	part := 1.0
	if span := m.ns(e.next.time - e.at.time); span > 0 {
		part = max(0, min(float64(ns-m.ns(e.at.time))/float64(span), 1))
	}
	return e.at.offset + int64(part*float64(e.next.offset-e.at.offset))
}

// readInside reads sound from the middle of a large cluster on, for the index
// leads to its beginning only. It reports false where that does not work out.
func (p *planner) readInside(ctx context.Context, begin, hi int64) (bool, error) {
	m := p.m
	head := &region{lo: p.from.at.offset, from: p.from.at.offset, size: clusterHead}
	r := &region{lo: begin, from: begin, size: min(hi-begin, oneRead)}
	requests := []seek.Request{mediaRequest(head.lo, head.size), mediaRequest(r.lo, r.size)}
	regions := []*region{head, r}
	whole := hi-begin <= oneRead
	if !whole {
		r.size = max(minEdge, m.place(p.from, p.a)-begin+bytesFor(rate(m, p.from.at, p.from.next), interleave, minBehind, maxBehind))
		requests[1] = mediaRequest(r.lo, r.size)
		p.end = &region{lo: p.tail.offset, from: p.tail.offset, size: hi - p.tail.offset}
		if p.tail.offset <= begin+r.size {
			return false, nil
		}
		requests, regions = append(requests, mediaRequest(p.end.lo, p.end.size)), append(regions, p.end)
	}
	if err := m.fill(ctx, regions, requests); err != nil {
		return false, err
	}
	c, err := m.clusterAt(head.data, head.lo)
	if err != nil || c.end() <= begin {
		return false, nil
	}
	if c.size == unknownSize { // others may begin before: only what begins with one has sure times
		if r.from = m.clusterBefore(r, p.begin()); r.from < 0 {
			return false, nil
		}
		r.stretch = m.walk(r.data, r.lo, r.from)
	} else {
		if r.from = m.inside(c, r.data, r.lo); r.from < 0 {
			return false, nil
		}
		r.within = &c
		r.stretch = m.walkOn(&stretch{next: r.from, clusters: []cluster{c}}, r.data, r.lo)
	}
	for _, t := range p.tracks { // a block of many frames may begin long before the one that is wanted
		i := slices.IndexFunc(r.blocks, func(b block) bool { return b.track == t.number })
		if i < 0 || p.time(r.blocks[i].ts, t) > p.begin() {
			return false, nil
		}
	}
	if p.start = r; whole {
		p.end = r
	}
	return true, nil
}

// clusterBefore is the last Cluster in a region that is not later than a time, in ns;
// -1 without one.
func (m *media) clusterBefore(r *region, ns int64) int64 {
	at := int64(-1)
	marks, _ := m.recognize(r.lo, r.data)
	for _, mark := range marks {
		if m.ns(mark.Tick) <= ns {
			at = mark.Offset
		}
	}
	return at
}

// begin is when the first sound that is needed begins, in ns.
func (p *planner) begin() int64 {
	if p.video {
		return p.a
	}
	_, ideal := p.leadIn()
	return max(0, p.a-ideal)
}
