package webm

import (
	"math"
	"slices"

	"github.com/mediafrag/mediafrag/seek"
)

// clipBody is the media of a clip.
type clipBody struct {
	parts []seek.Part
	size  int64 // -1: not known
	cues  []cue // cluster: offset in the clusters
}

// body arranges the clusters of the clip.
func (p *planner) body() (*clipBody, error) {
	b := &clipBody{}
	var lead []frame
	var tail []frame
	for _, c := range p.sounds {
		lead = append(lead, c.head...)
		tail = append(tail, c.tail...)
	}
	for _, f := range p.subtitles() {
		f.ts = max(0, p.base()+max(f.ns, p.zero)/p.m.info.scale)
		lead = append(lead, f)
	}
	for _, frames := range [][]frame{lead, tail} {
		slices.SortStableFunc(frames, func(x, y frame) int { return int(max(-1, min(1, x.ts-y.ts))) })
	}
	first := p.clusterOf(p.start, p.startOff)
	last := p.clusterOf(p.end, p.endOff-1)
	if p.endOff <= p.startOff {
		last, p.endOff = first, p.startOff
	}
	if first == nil || last == nil {
		return nil, damaged("Segment/Cluster", p.startOff, "no Cluster holds it")
	}
	if last.offset <= first.offset {
		return b, p.single(b, *first, lead, tail)
	}
	return b, p.several(b, *first, *last, lead, tail)
}

// clusterOf returns the cluster that holds a byte.
func (p *planner) clusterOf(r *region, off int64) *cluster {
	for i := len(r.clusters) - 1; i >= 0; i-- {
		if c := &r.clusters[i]; c.offset <= off {
			return c
		}
	}
	return nil
}

// drops reports whether blocks are left out, so that no size is known.
func (p *planner) drops() bool { return len(p.tracks) < len(p.m.tracks) }

// stamp is the Timestamp that a cluster gets: of the original one, shifted, and
// not behind its new frames.
func (p *planner) stamp(c cluster, frames []frame) int64 {
	at := c.timestamp + p.clusterShift()
	for _, f := range frames {
		at = min(at, f.ts)
	}
	return max(0, at)
}

// separate takes out frames that do not fit into the cluster that they come
// before, whose blocks would move too far: they get clusters of their own.
func (p *planner) separate(c cluster, frames []frame) (alone []byte, rest []frame, err error) {
	own := max(0, c.timestamp+p.clusterShift())
	longest := p.longest()
	if c.to < 0 || c.to == len(p.start.blocks) { // not all of its blocks were seen
		longest = max(longest, math.MaxInt16/2)
	}
	fits := own-p.stamp(c, frames)+longest < math.MaxInt16
	for _, f := range frames {
		fits = fits && f.ts-own < math.MaxInt16
	}
	if fits {
		return nil, frames, nil
	}
	if alone, err = ownClusters(frames); err != nil {
		return nil, nil, err
	}
	return alone, nil, nil
}

// ownClusters writes frames in clusters of their own.
func ownClusters(frames []frame) (out []byte, err error) {
	for len(frames) > 0 {
		n := 1
		for n < len(frames) && frames[n].ts-frames[0].ts < math.MaxInt16 {
			n++
		}
		stamp := max(0, frames[0].ts)
		body, err := appendFrames(appendUint(nil, idTimestamp, uint64(stamp)), frames[:n], stamp)
		if err != nil {
			return nil, err
		}
		out = appendElement(out, idCluster, body)
		frames = frames[n:]
	}
	return out, nil
}

// closing writes the frames that end a cluster. Those that are too late for it,
// such as the last of a block of many frames, follow in clusters of their own.
func closing(frames []frame, stamp int64) (inside, behind []byte, err error) {
	n := 0
	for n < len(frames) && frames[n].ts-stamp <= math.MaxInt16 {
		n++
	}
	if inside, err = appendFrames(nil, frames[:n], stamp); err != nil {
		return nil, nil, err
	}
	behind, err = ownClusters(frames[n:])
	return inside, behind, err
}

// clusterShift is how many ticks clusters move: as much as the track that moves
// the most, so that no block comes before its cluster.
func (p *planner) clusterShift() int64 {
	shift := p.base()
	if !p.video && len(p.sounds) > 0 {
		shift = p.sounds[0].shift
	}
	for _, c := range p.sounds {
		shift = min(shift, c.shift)
	}
	return shift
}

// beginCluster returns the literal that a cluster begins with: its header, its Timestamp
// and the frames that are written anew. Size is that of what follows, -1 where
// it is not known.
func (p *planner) beginCluster(stamp int64, frames []frame, size int64) ([]byte, error) {
	body := appendUint(nil, idTimestamp, uint64(stamp))
	body, err := appendFrames(body, frames, stamp)
	if err != nil {
		return nil, err
	}
	out := appendID(nil, idCluster)
	if size < 0 || p.drops() {
		out = appendUnknownSize(out, 8)
	} else {
		out = appendSize(out, int64(len(body))+size, 8)
	}
	return append(out, body...), nil
}

func appendFrames(b []byte, frames []frame, stamp int64) ([]byte, error) {
	var err error
	for i := range frames {
		if b, err = frames[i].append(b, stamp); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// single arranges a clip that lies in one cluster.
func (p *planner) single(b *clipBody, c cluster, lead, tail []frame) error {
	alone, lead, err := p.separate(c, lead)
	if err != nil {
		return err
	}
	stamp := p.stamp(c, lead)
	last, behind, err := closing(tail, stamp)
	if err != nil {
		return err
	}
	size := p.endOff - p.startOff
	literal, err := p.beginCluster(stamp, lead, size+int64(len(last)))
	if err != nil {
		return err
	}
	b.cue(p, p.firstTick(stamp), int64(len(alone)))
	b.add(seek.Literal(append(alone, literal...), "first cluster"))
	b.add(p.mediaPart(p.startOff, p.endOff, &Within{c.timestamp, stamp, size}))
	b.add(seek.Literal(append(last, behind...), "last blocks"))
	return nil
}

// several arranges a clip of more than one cluster.
func (p *planner) several(b *clipBody, first, last cluster, lead, tail []frame) error {
	alone, lead, err := p.separate(first, lead)
	if err != nil {
		return err
	}
	stamp := p.stamp(first, lead)
	left := int64(-1) // of the first cluster
	if end := p.endOf(first); end >= 0 {
		left = end - p.startOff
	}
	literal, err := p.beginCluster(stamp, lead, left)
	if err != nil {
		return err
	}
	b.cue(p, p.firstTick(stamp), int64(len(alone)))
	b.add(seek.Literal(append(alone, literal...), "first cluster"))
	b.mapCues(p, last.offset)
	for _, q := range p.split(p.startOff, last.offset, &Within{first.timestamp, stamp, left}) {
		b.add(q)
	}

	stamp = p.stamp(last, nil)
	end, behind, err := closing(tail, stamp)
	if err != nil {
		return err
	}
	size := p.endOff - last.first
	if literal, err = p.beginCluster(stamp, nil, size+int64(len(end))); err != nil {
		return err
	}
	if ticks, ok := p.keyIn(last); ok && b.size >= 0 {
		b.cue(p, ticks, b.size)
	}
	b.add(seek.Literal(literal, "last cluster"))
	b.add(p.mediaPart(last.first, p.endOff, &Within{last.timestamp, stamp, size}))
	b.add(seek.Literal(append(end, behind...), "last blocks"))
	return nil
}

// endOf is where a cluster of the start region ends, -1 where that is not known.
func (p *planner) endOf(c cluster) int64 {
	for _, next := range p.start.clusters {
		if next.offset > c.offset && (c.size == unknownSize || next.offset < c.end()) {
			return next.offset
		}
	}
	if c.size != unknownSize {
		return c.end()
	}
	return -1
}

// mediaPart is a part of the original's bytes [from, to), rewritten.
func (p *planner) mediaPart(from, to int64, within *Within) seek.Part {
	info := p.m.w.Info()
	q := seek.Bytes(&info, seek.Range{Offset: from, Length: to - from}, "media")
	w := Rewrite{Shift: p.clusterShift(), Follow: p.lonely(), Within: within, IDLength: p.m.doc.id, SizeLength: p.m.doc.size}
	for _, t := range p.m.tracks {
		r := TrackRewrite{Number: t.number}
		if p.has(t.number) == nil {
			r.Drop = true
			w.Tracks = append(w.Tracks, r)
			continue
		}
		r.Shift = p.shift(t.number) - w.Shift
		head, tail := p.limits(t)
		r.From = max(0, min(head, to)-from)
		switch {
		case tail > 0 && tail <= from: // none of it stays
			r.From = to - from
		case tail > 0 && tail < to:
			r.To = tail - from
		}
		if r != (TrackRewrite{Number: t.number}) {
			w.Tracks = append(w.Tracks, r)
		}
	}
	q.Rewrite = w
	if p.drops() {
		q.Size = -1
	}
	return q
}

// limits are the offsets between which the blocks of a track stay in place; to
// is 0 where all that follow do.
func (p *planner) limits(t *track) (from, to int64) {
	for _, c := range p.sounds {
		if c.t == t {
			return c.from, c.to
		}
	}
	if t.kind == typeVideo && t != p.main {
		from = p.fromKey(t)
	} else if p.opening != p.key {
		from = p.key.offset
	}
	for i := range p.start.blocks {
		if b := &p.start.blocks[i]; b.track == t.number && p.isEarlySubtitle(b) {
			from = b.end
		}
	}
	if p.b == maxOffset {
		return from, 0
	}
	for _, b := range p.end.blocks { // behind the last that is needed
		if b.track == t.number && p.time(b.ts, t) < p.b {
			to = b.end
		}
	}
	if to == 0 {
		to = max(p.end.from, 1)
	}
	return from, to
}

func (b *clipBody) add(q seek.Part) {
	if q.Size == 0 {
		return
	}
	b.parts = append(b.parts, q)
	if b.size >= 0 && q.Size >= 0 {
		b.size += q.Size
	} else {
		b.size = -1
	}
}

// join adds the clusters of the next Segment.
func (b *clipBody) join(next *clipBody) {
	if b.size >= 0 {
		for _, c := range next.cues {
			c.cluster += b.size
			b.cues = append(b.cues, c)
		}
	}
	for _, q := range next.parts {
		b.add(q)
	}
}

// cue notes a point for a cluster at an offset in the clip's clusters.
func (b *clipBody) cue(p *planner, ticks, off int64) {
	b.cues = append(b.cues, cue{time: ticks, cluster: off, track: p.main.number})
}

// firstTick is the time that leads to the first cluster of the clip.
func (p *planner) firstTick(stamp int64) int64 {
	if p.key != nil {
		return p.key.ts + p.base()
	}
	return stamp
}

// keyIn returns the time in the clip of the first keyframe in the last cluster.
func (p *planner) keyIn(c cluster) (ticks int64, ok bool) {
	for i := range p.end.blocks {
		b := &p.end.blocks[i]
		if b.offset > c.offset && b.offset < p.endOff && b.track == p.main.number && p.main.isKey(b) {
			return b.ts + p.shift(b.track), true
		}
	}
	return 0, false
}

// mapCues notes the points of the original's index that lie between.
func (b *clipBody) mapCues(p *planner, end int64) {
	if p.drops() {
		return
	}
	shift := p.shift(p.main.number)
	for _, c := range p.cues {
		if c.cluster > p.startOff && c.cluster < end && c.time+shift > 0 && c.track == p.main.number {
			b.cues = append(b.cues, cue{time: c.time + shift, cluster: b.size + c.cluster - p.startOff, track: c.track})
		}
	}
}

// split divides what lies between the ends into parts of which several are
// fetched at a time.
func (p *planner) split(from, to int64, within *Within) (parts []seek.Part) {
	if p.apart != nil {
		return p.apart.split(p, from, to, within)
	}
	if !p.drops() { // what has no known size is read in order
		// A Cluster in which bytes are missing ends where the next was seen to begin.
		places := slices.Clone(p.middle)
		for _, r := range []*region{p.start, p.end} {
			for _, g := range r.gaps {
				places = append(places, g.to)
			}
		}
		slices.Sort(places)
		for _, at := range places {
			if at > from && at < to && (within == nil || within.Size < 0 || at >= from+within.Size) {
				parts = append(parts, p.mediaPart(from, at, within))
				from, within = at, nil
			}
		}
	}
	return append(parts, p.mediaPart(from, to, within))
}
