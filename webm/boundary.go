package webm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// Where a Segment states no size, such as a browser's recording, nothing says where
// another begins that was put behind it. It shows by its header in whatever bytes
// are read, and by times: those of Clusters begin anew there. So of all Clusters
// that a search sees, two that follow each other in the file and of which the later
// has an earlier time, or one that is much too early for the bytes between, have a
// boundary between them, perhaps: that is looked for.

const (
	// boundaryTrust is how much of the time that the bytes between two Clusters
	// suggest must lie between them, not to look for a boundary there.
	boundaryTrust  = 0.85
	boundaryRounds = 12
	doubtRounds    = 2 // where a boundary is not certain
	boundaryProbes = 4
	boundaryProbe  = 64 << 10
	// maxBoundaryProbe is the largest to begin with, where Clusters are large.
	maxBoundaryProbe = 256 << 10
	// boundaryRead is what is read whole between two Clusters, at least and at most.
	boundaryRead, maxBoundaryRead = 384 << 10, 8 << 20
	maxGlimpses                   = 1 << 14
	maxAround                     = 32 // Clusters that tell a rate
	rungLeast                     = 8 << 10
)

// glimpses are the Clusters that were seen of a Segment.
type glimpses struct {
	mu    sync.Mutex
	seen  []anchor       // in the order of their bytes
	plain map[int64]bool // those behind which no Segment begins before the next
}

// glimpse remembers Clusters.
func (m *media) glimpse(marks []seek.Mark) {
	g := &m.glimpses
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, mark := range marks {
		at, have := slices.BinarySearchFunc(g.seen, mark.Offset, func(a anchor, off int64) int { return cmp.Compare(a.offset, off) })
		if !have && len(g.seen) < maxGlimpses {
			g.seen = slices.Insert(g.seen, at, anchor{mark.Offset, mark.Tick})
		}
	}
}

// behind are the Clusters from an offset on that were seen.
func (m *media) behind(off int64) (marks []seek.Mark) {
	m.glimpses.mu.Lock()
	defer m.glimpses.mu.Unlock()
	for _, a := range m.glimpses.seen {
		if a.offset >= off {
			marks = append(marks, seek.Mark{Offset: a.offset, Tick: a.time})
		}
	}
	return marks
}

// doubt finds the first two Clusters between which another Segment seems to begin,
// and whether that is certain. Of the rates that are seen the largest counts, or
// thoroughly any.
func (m *media) doubt(thorough bool) (lo, hi anchor, certain, ok bool) {
	g := &m.glimpses
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := 1; i < len(g.seen) && g.seen[i].offset < m.limit(); i++ {
		lo, hi = g.seen[i-1], g.seen[i]
		if g.plain[lo.offset] {
			continue
		}
		if hi.time < lo.time {
			return lo, hi, true, true
		}
		rate := 0.0
		for _, r := range []float64{m.headRate, m.rateAround(i-1, -1), m.rateAround(i, 1)} {
			if r > 0 && (r > rate) != (thorough && rate > 0) {
				rate = r
			}
		}
		if gap := hi.offset - lo.offset; gap > 2*boundaryProbe && rate > 0 && float64(hi.time-lo.time)*rate < boundaryTrust*float64(gap) {
			return lo, hi, false, true
		}
	}
	return lo, hi, false, false
}

// rateAround is how many bytes a tick has from a Cluster on, or up to it, as those
// that were seen near it tell; 0 where none do.
func (m *media) rateAround(i, step int) (rate float64) {
	seen := m.glimpses.seen
	for n := i + step; n >= 0 && n < len(seen) && n*step <= i*step+maxAround; n += step {
		bytes, ticks := float64(seen[n].offset-seen[i].offset), float64(seen[n].time-seen[i].time)
		if ticks*bytes <= 0 || bytes*float64(step) > float64(2*m.clusterGuess) {
			break
		}
		rate = bytes / ticks
	}
	return rate
}

// findNext looks where another Segment begins, if what was seen of this one, of
// unknown size, makes one likely. Where it is not certain, it is given up after few
// rounds; thoroughly, less makes it likely, and it takes as many rounds as it needs.
func (m *media) findNext(ctx context.Context, thorough bool) error {
	if m.sizeOr(-1) < 0 {
		return nil
	}
	sized := m.whole() // then times that begin anew alone are a reason
	rounds := doubtRounds
	if thorough {
		rounds = boundaryRounds
	}
	size := max(boundaryProbe, min(m.clusterGuess*5/4, maxBoundaryProbe))
	var before [2]anchor
	next := m.next.Load()
	for round := 0; ; round++ {
		if found := m.next.Load(); found != next { // there may be another before it
			next, round = found, 0
		}
		lo, hi, certain, ok := m.doubt(thorough)
		switch {
		case !ok || !certain && (sized || round >= rounds) || m.segment.size != unknownSize && round == boundaryRounds:
			return nil
		case round == boundaryRounds:
			return &formats.Error{Container: "webm", Element: "Segment", Offset: lo.offset, Err: seek.ErrLimit,
				Problem: fmt.Sprintf("another Segment begins between here and byte %d, and was not found in %d rounds", hi.offset, round),
				Hint:    "split the file there, or write it anew with mkvmerge"}
		case hi.offset-lo.offset <= max(boundaryRead, min(2*m.clusterGuess, maxBoundaryRead)):
			if err := m.look(ctx, []seek.Range{{Offset: lo.offset, Length: hi.offset + clusterHead - lo.offset}}); err != nil {
				return err
			}
			m.isPlain(lo)
			continue
		}
		if before == [2]anchor{lo, hi} { // no probe showed a Cluster
			size *= 2
		}
		before = [2]anchor{lo, hi}
		if err := m.look(ctx, m.boundaryPlaces(lo, hi, size)); err != nil {
			return err
		}
	}
}

// isPlain notes that no Segment begins between a Cluster and the next.
func (m *media) isPlain(lo anchor) {
	g := &m.glimpses
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.plain == nil {
		g.plain = map[int64]bool{}
	}
	g.plain[lo.offset] = true
}

// boundaryPlaces says where to look between two Clusters: where the later one's
// time counts back to 0, and evenly.
func (m *media) boundaryPlaces(lo, hi anchor, size int64) (out []seek.Range) {
	gap := hi.offset - lo.offset
	rate := m.headRate
	if ticks := lo.time - m.start/m.info.scale; ticks > 0 {
		rate = float64(lo.offset-m.first.offset) / float64(ticks)
	}
	places := []int64{hi.offset - int64(float64(hi.time)*rate) - size/2}
	for i := range int64(boundaryProbes - 1) {
		places = append(places, lo.offset+gap*(i+1)/boundaryProbes)
	}
	for _, at := range places {
		at = max(lo.offset, min(at, hi.offset-size))
		out = append(out, seek.Range{Offset: at, Length: min(size, hi.offset-at)})
	}
	return out
}

// look reads ranges for the Clusters in them, and for the header of a Segment.
func (m *media) look(ctx context.Context, ranges []seek.Range) error {
	var requests []seek.Request
	for _, r := range ranges {
		requests = append(requests, seek.Request{Range: r, Purpose: seek.Probe, Note: "whether it is one Segment"})
	}
	got, err := m.w.Read(ctx, requests...)
	if err != nil {
		return err
	}
	for i, data := range got {
		m.recognize(requests[i].Offset, data)
	}
	return nil
}

// review looks at a Segment whose size is not known, or not right, at twice the distance from its
// beginning each time, where Clusters are small enough to show: behind a boundary
// the time at one place is not later than at the one before.
func (m *media) review(ctx context.Context) error {
	if m.sizeOr(-1) < 0 || m.first.id == 0 {
		return nil
	}
	var rungs []seek.Range
	if n := 2 * m.clusterGuess; n <= boundaryProbe {
		n = max(n, rungLeast)
		for d := int64(headSize); m.first.offset+d+n < m.limit(); d *= 2 {
			rungs = append(rungs, seek.Range{Offset: m.first.offset + d, Length: n})
		}
	}
	if size := m.limit(); size > m.first.offset+headSize {
		rungs = append(rungs, seek.Range{Offset: size - headSize, Length: headSize})
	}
	rungs = append(rungs, seek.Range{Offset: m.first.offset, Length: min(headSize, m.limit()-m.first.offset)})
	return m.look(ctx, rungs)
}

// outlastSlack is by how much a stated duration and the end of the last sample may
// differ in one Segment, in ns.
const outlastSlack = 1e9

// outlast looks whether another Segment begins behind one that states its duration
// but no size, such as ffmpeg writes into a pipe, or a size that it has not. Where the
// last sample of the resource does not end when the first Segment should, one does.
func (m *media) outlast(ctx context.Context) error {
	if !m.timed || m.endless() || m.growing && m.segment.size != unknownSize {
		return nil
	}
	if err := m.measure(ctx); err != nil {
		return err
	}
	for {
		next := m.next.Load()
		if err := m.review(ctx); err != nil {
			return err
		}
		if end := m.limit(); m.segment.size != unknownSize && len(m.behind(end-headSize)) == 0 { // Clusters are larger than that
			n := min(2*m.clusterGuess, oneRead, end-m.first.offset)
			if err := m.look(ctx, []seek.Range{{Offset: end - n, Length: n}}); err != nil {
				return err
			}
		}
		off := int64(0)
		if m.segment.size == unknownSize || m.overrun.Load() {
			end, err := m.findEnd(ctx)
			if err != nil {
				return err
			}
			off = end - m.duration
		}
		if err := m.findNext(ctx, off > outlastSlack || off < -outlastSlack); err != nil || m.next.Load() == next {
			return err
		}
	}
}
