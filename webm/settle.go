package webm

import (
	"context"
	"math"
	"slices"

	"github.com/mediafrag/mediafrag/seek"
)

// settle reads on at both ends of the interval until all that the clip needs is
// at hand, at both in the same round. It reports false where no keyframe at or
// before a is found.
func (p *planner) settle(ctx context.Context) (bool, error) {
	for round := 0; ; round++ {
		p.findEarly()
		lo, hi, ok := p.wantStart(round)
		if !ok {
			return false, nil
		}
		if p.end != p.start && p.wantEnd(round) == p.end.hi() && lo == p.start.lo && hi == p.start.hi() {
			return p.checkEnd()
		}
		more, err := p.readOn(ctx, lo, hi, p.wantEnd(round))
		if err != nil {
			return false, err
		}
		if !more {
			return p.checkEnd()
		}
	}
}

// readOn grows both regions, in one round. It reports false where there is no
// more to read.
func (p *planner) readOn(ctx context.Context, lo, hi, end int64) (bool, error) {
	if p.end != p.start && hi >= p.end.lo { // the two have met
		p.end = p.start
	}
	if p.end == p.start {
		hi = max(hi, end)
	}
	var grown []*region
	p.m.lookBack(lo, p.start.lo)
	if lo < p.start.lo || hi > p.start.hi() {
		p.start.lo, p.start.size = lo, hi-lo
		grown = append(grown, p.start)
	}
	if p.end != p.start && end > p.end.hi() {
		p.end.size = end - p.end.lo
		grown = append(grown, p.end)
	}
	if len(grown) == 0 {
		return false, nil
	}
	held := func() (n int) {
		for _, r := range grown {
			n += len(r.data)
		}
		return n
	}
	before := held()
	err := p.m.read(ctx, grown...)
	return held() > before, err
}

// lookBack begins to fetch what lies before a region: in search of a keyframe, or
// of sound that leads in.
func (m *media) lookBack(from, to int64) {
	if from < to {
		m.w.Prefetch(seek.Request{Range: seek.Range{Offset: from, Length: to - from}, Purpose: seek.Probe, Note: "before"})
	}
}

// wantStart returns the bytes that the start region should have. It reports
// false where no keyframe at or before a can be there.
func (p *planner) wantStart(round int) (lo, hi int64, ok bool) {
	r := p.start
	lo, hi = r.lo, r.hi()
	found := p.findKey()
	switch {
	case !found && !p.searched && p.pastStart() || p.misled():
		return lo, hi, false
	case !found && r.lo > p.m.first.offset && (p.seenTo(p.a) || r.over()):
		if r.hi()-lo >= mostBack {
			return lo, hi, false
		}
		lo = max(p.m.first.offset, lo-p.backBy(round))
	case !found && !r.over():
		hi = p.ahead(r, p.a, round)
	case !found:
		return lo, hi, false
	case !r.over() && (p.searched || p.manyPictures()) && !p.seenTo(p.a):
		hi = p.ahead(r, p.a+interleave, round)
	case !p.startSettled():
		hi = p.ahead(r, max(p.zero, p.a)+interleave, round)
	}
	if found {
		lo = min(lo, p.wantOthers(lo, round))
	}
	if found && !p.earlyEnough() {
		lo = max(p.m.first.offset, lo-minEdge<<min(round, 8))
	}
	return lo, hi, true
}

// manyPictures reports whether there is more than one track of pictures, of whose
// keyframes the main one's index says nothing.
func (p *planner) manyPictures() bool {
	return slices.ContainsFunc(p.tracks, func(t *track) bool { return t.kind == typeVideo && t != p.main })
}

// wantOthers returns from where on the region should be read so that each
// further track of pictures has a keyframe of its own at or before a: where its
// points of the index say, else some way back. One that is too far away is not
// worth it.
func (p *planner) wantOthers(lo int64, round int) int64 {
	want := lo
	for _, t := range p.tracks {
		if t.kind != typeVideo || p.keys[t] != nil || !p.begins(t) {
			continue
		}
		at := int64(-1)
		for _, c := range p.m.cues {
			if c.track == t.number && p.time(c.time, t) <= p.a {
				at = c.cluster
			}
		}
		switch {
		case at >= 0 && lo-at <= maxBack:
			want = min(want, at)
		case at < 0 && round < 2:
			want = min(want, max(p.m.first.offset, lo-p.backBy(round)))
		}
	}
	return want
}

// begins reports whether a picture of a track at or before a was seen.
func (p *planner) begins(t *track) bool {
	return slices.ContainsFunc(p.start.blocks, func(b block) bool { return b.track == t.number && p.time(b.ts, t) <= p.a })
}

// fromKey is the offset from which on a track of pictures can be decoded.
func (p *planner) fromKey(t *track) int64 {
	if b := p.keys[t]; b != nil {
		return b.offset
	}
	for i := range p.start.blocks {
		if b := &p.start.blocks[i]; b.track == t.number && t.isKey(b) {
			return b.offset
		}
	}
	return 0
}

// over reports whether a region cannot be read on.
func (r *region) over() bool { return r.ended || r.err != nil }

// backBy is how far back to look for a keyframe, in bytes: as far as they were
// seen to be apart, or to the point of the index before, each time more.
func (p *planner) backBy(round int) int64 {
	n := p.m.keyDistance()
	if s := p.from; round == 0 && s.prev.offset > 0 && s.at.offset > s.prev.offset {
		n = s.at.offset - s.prev.offset
	}
	return max(minBack, min(n, maxBack)) << min(2*round, 6)
}

// ahead is how far to read a region so that it shows a time, in ns, as its own
// rate has it, and each time more.
func (p *planner) ahead(r *region, ns int64, round int) int64 {
	n := int64(step) << min(round, 6)
	if len(r.blocks) > 1 {
		first, last := r.blocks[0], r.blocks[len(r.blocks)-1]
		at := rate(p.m, anchor{first.offset, first.ts}, anchor{last.end, last.ts})
		n += bytesFor(at, max(0, ns-p.m.ns(last.ts)), 0, maxStep)
	}
	// A block whose payload begins in the region may end far behind it.
	return max(r.hi(), min(max(r.hi(), r.next)+n, p.m.limit()))
}

// misled reports whether the index pointed to a cluster in which its time cannot
// be, or to a picture long before it.
func (p *planner) misled() bool {
	r, at := p.start, p.from.at
	if p.searched || len(p.cues) == 0 || at.offset <= p.m.first.offset || r.stretch == nil || len(r.clusters) == 0 {
		return false
	}
	i := 0
	for i < len(r.clusters) && r.clusters[i].offset != at.offset {
		i++
	}
	if i == len(r.clusters) {
		return r.err != nil
	}
	off := at.time - r.clusters[i].timestamp
	return off > math.MaxInt16 || off < math.MinInt16 || p.key != nil && p.m.ns(at.time-p.key.ts) > 1e9
}

// seenTo reports whether the start region shows the picture at a time.
func (p *planner) seenTo(ns int64) bool {
	if p.start.ended || p.start.err != nil {
		return true
	}
	for _, b := range p.start.blocks {
		if b.track == p.main.number && p.time(b.ts, p.main) > ns {
			return true
		}
	}
	return false
}

// findKey finds what the clip begins with: the last keyframe at or before a
// that is at hand.
func (p *planner) findKey() bool {
	p.key, p.zero, p.opening = nil, p.a, nil
	p.keys = map[*track]*block{}
	if p.start.stretch == nil || len(p.start.clusters) == 0 {
		return false
	}
	atFirst := p.start.from <= p.m.first.offset
	if !p.video {
		return atFirst || p.start.within != nil || p.time(p.start.clusters[0].timestamp, p.main) <= p.a
	}
	pictures := false
	for i := range p.start.blocks {
		b := &p.start.blocks[i]
		t := p.has(b.track)
		if t == nil || t.kind != typeVideo {
			continue
		}
		pictures = pictures || t == p.main
		if at := p.time(b.ts, t); at <= p.a && t.isKey(b) {
			p.keys[t] = b
		}
	}
	p.key = p.keys[p.main]
	p.opening = p.key
	if p.key != nil {
		p.zero = p.time(p.key.ts, p.main)
		for t, b := range p.keys {
			p.zero = min(p.zero, p.time(b.ts, t))
			if b.offset < p.opening.offset {
				p.opening = b
			}
		}
	}
	// Before the first picture there may be sound.
	return p.key != nil || atFirst && (pictures || p.start.ended)
}

// pastStart reports whether the start region has gone far beyond a.
func (p *planner) pastStart() bool {
	if p.start.err != nil {
		return true
	}
	n := 0
	for _, b := range p.start.blocks {
		if b.track == p.main.number && p.m.ns(b.ts) > p.a {
			n++
		}
	}
	return n > reorder
}

// startSettled reports whether of each sound track a block at or behind zero
// was seen, so that all that lead in are known.
func (p *planner) startSettled() bool {
	if p.start.ended || p.start.err != nil {
		return true
	}
	seen := map[uint64]bool{}
	for _, b := range p.start.blocks {
		t := p.has(b.track)
		if t == nil {
			continue
		}
		at := p.time(b.ts, t)
		if at >= p.zero && (t.kind != typeAudio || b.payload != nil) {
			seen[b.track] = true
		}
		if at > p.zero+2e9 {
			return true
		}
	}
	for _, t := range p.tracks {
		if (t.kind == typeAudio || t == p.main) && !seen[t.number] {
			return false
		}
	}
	return true
}

// wantEnd returns where the end region should end.
func (p *planner) wantEnd(round int) int64 {
	if r := p.end; !r.over() && !p.endSettled() {
		return p.ahead(r, min(p.b, maxOffset/2)+interleave, round)
	}
	return p.end.hi()
}

// checkEnd reports an end that is damaged where the clip cannot end there.
func (p *planner) checkEnd() (bool, error) {
	if !p.findKey() {
		return false, nil
	}
	if err := p.end.err; err != nil {
		if len(p.end.blocks) == 0 || p.b != maxOffset && !p.endSettled() {
			return false, err
		}
		p.warn("%v; the clip ends there", err)
	}
	return true, nil
}

// endSettled reports whether nothing before b can follow.
func (p *planner) endSettled() bool {
	if p.end.ended {
		return true
	}
	if p.b == maxOffset {
		return false
	}
	behind := map[uint64]int{}
	for _, b := range p.end.blocks {
		t := p.has(b.track)
		if t == nil {
			continue
		}
		at := p.time(b.ts, t)
		switch {
		case at >= p.b+2e9:
			return true
		case at < p.b:
			behind[b.track] = 0
		case at >= p.b+500e6 || !t.reorders():
			behind[b.track] += reorder
		default:
			behind[b.track]++
		}
	}
	for _, t := range p.tracks {
		if (t.kind == typeAudio || t.kind == typeVideo) && behind[t.number] < reorder {
			return false
		}
	}
	return len(behind) > 0
}

// reorders reports whether pictures may be decoded in another order than they
// are shown in.
func (t *track) reorders() bool {
	if t.kind != typeVideo {
		return false
	}
	switch t.codecID {
	case "V_VP8", "V_VP9", "V_AV1", "V_MJPEG", "V_THEORA", "V_FFV1", "V_PRORES", "V_UNCOMPRESSED":
		return false
	}
	return true
}
