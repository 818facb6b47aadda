package seek

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// maxStretch is the most bytes that one probe reads on in search of a mark,
// where elements are that large.
const maxStretch = 2 << 20

// model says where a tick lies, and how far off that may be. Bytes are taken to
// drift around a line between two marks as a random walk does that is tied down
// at both ends; how strongly it drifts is learnt from what was found.
type model struct {
	drift  float64 // sum of squares of what was seen, in units of drift
	weight float64
}

// guess is where a tick is thought to lie.
type guess struct {
	at       float64 // in bytes
	spread   float64 // standard deviation, in bytes
	from, to Mark    // of any stream, between which it was interpolated; bare if to is the zero Mark
}

// Of the model; tuned with the simulations of search_test.go.
const driftUnit = 32 << 10 // bytes

// Of the placing of probes.
const (
	pKappa   = 0.5
	pFloor   = 0.3
	pFloorW  = 0.2
	priorW   = 0.7
	pDoubt   = 0.02
	pDoubtS  = 0.5
	pWide    = 4.0
	pWideW   = 0.3
	pLand    = 1.6
	pLandMin = 0.7
	pMargin  = 1.5
	pH       = 0.7
	pDecay   = 0.6
	pSight   = 2.5
	pMinW    = 4.0
)

func (m *model) guess(a *atlas, b bracket, stream int, tick, probe int64) guess {
	lo, hi := a.closest(b, stream, tick)
	from, to := float64(lo.Offset), float64(hi.Offset)
	g := guess{at: (from + to) / 2, spread: math.Abs(to-from) / 3}
	switch rate := a.rate(stream); {
	case from >= to: // streams that are interleaved loosely
	case !b.bare[0] && !b.bare[1]:
		g.from, g.to = lo, hi
		g.at, g.spread = m.between(a, stream, lo, hi, tick)
	case !b.bare[0] && rate > 0:
		ahead := (float64(tick) - float64(lo.Tick)) * rate
		g.at, g.spread = from+ahead, ahead/8+float64(probe)/2
	case !b.bare[1] && rate > 0:
		back := (float64(hi.Tick) - float64(tick)) * rate
		g.at, g.spread = to-back, back/8+float64(probe)/2
	}
	g.at = min(max(g.at, float64(b.before.Offset)), float64(b.after.Offset))
	return g
}

// closest narrows a stream's bracket by the marks of the others.
func (a *atlas) closest(b bracket, stream int, tick int64) (lo, hi Mark) {
	lo, hi = b.before, b.after
	for _, l := range a.lines {
		if l.stream == stream {
			continue
		}
		i := sort.Search(len(l.marks), func(i int) bool { return l.marks[i].Tick > tick })
		if i > 0 && l.marks[i-1].Offset > lo.Offset && l.marks[i-1].Offset < b.after.Offset {
			lo = l.marks[i-1]
		}
		if i < len(l.marks) && l.marks[i].Offset < hi.Offset && l.marks[i].Offset > b.before.Offset {
			hi = l.marks[i]
		}
	}
	return lo, hi
}

// between interpolates.
func (m *model) between(a *atlas, stream int, lo, hi Mark, tick int64) (at, spread float64) {
	f := (float64(tick) - float64(lo.Tick)) / (float64(hi.Tick) - float64(lo.Tick))
	f = min(max(f, 0), 1)
	length := float64(hi.Offset - lo.Offset)
	v := a.variance(stream)
	s := (m.drift + priorW*pKappa*pKappa*v) / (m.weight + priorW)
	return float64(lo.Offset) + f*length, math.Sqrt(s*f*(1-f)) * scale(length)
}

// learn compares a guess with the marks that were found for it.
func (m *model) learn(g guess, found []Mark) {
	if g.to.Offset == 0 || len(found) == 0 {
		return
	}
	nearest := slices.MinFunc(found, func(x, y Mark) int {
		return cmp.Compare(math.Abs(float64(x.Offset)-g.at), math.Abs(float64(y.Offset)-g.at))
	})
	length := float64(g.to.Offset - g.from.Offset)
	f := (float64(nearest.Tick) - float64(g.from.Tick)) / (float64(g.to.Tick) - float64(g.from.Tick))
	if f <= 0 || f >= 1 {
		return
	}
	off := float64(nearest.Offset) - (float64(g.from.Offset) + f*length)
	m.drift *= pDecay
	m.weight *= pDecay
	m.drift += off * off / (f * (1 - f) * scale(length) * scale(length))
	m.weight++
}

func scale(length float64) float64 { return math.Pow(length, pH) * math.Pow(driftUnit, 1-pH) }

// rate returns the bytes of a tick over all that is known, 0 where too little is.
func (a *atlas) rate(stream int) float64 {
	marks := a.line(stream).marks
	if len(marks) < 2 {
		return 0
	}
	m, n := marks[0], marks[len(marks)-1]
	if n.Tick <= m.Tick {
		return 0
	}
	return float64(n.Offset-m.Offset) / (float64(n.Tick) - float64(m.Tick))
}

// run is a stretch of marks that were read together.
type run struct{ bytes, ticks float64 }

// variance returns the mean square by which the bytes of a tick differ from
// their average where they were seen.
func (a *atlas) variance(stream int) float64 {
	rate := a.rate(stream)
	sum, n := pFloor*pFloor*pFloorW, pFloorW
	if rate > 0 {
		for _, r := range a.runs {
			d := r.bytes/(r.ticks*rate) - 1
			sum += d * d
			n++
		}
	}
	return sum / n
}

// place chooses the ranges of a round.
func (s *Search) place(f *finding, b bracket, g guess) []Range {
	probe, n := s.probeSize(), int64(s.parallel())
	room, element := probe*n, s.known.element()
	width := min(max(int64(float64(element)*pSight), s.known.barren*4, int64(float64(probe)/pMinW)), probe) // enough to show a mark
	if element > probe {
		width = min(element*5/4, max(maxStretch, room))
		n = max(1, room/width)
		room = max(room, width)
	}
	width, room = min(width*f.grow, maxStretch), min(room*f.grow, max(room, maxStretch))

	var want []Range
	margin := max(probe/2, width/2, int64(pMargin*float64(min(element, probe))))
	shift := min(element, probe) / 2
	switch {
	case b.unread <= room:
		want = slices.Clone(b.gaps)
	case margin+int64(pLandMin*g.spread) <= room/2 && !f.stalled:
		half := min(room/2, margin+int64(pLand*g.spread))
		want = []Range{{int64(g.at) - shift - half, 2 * half}}
	default:
		m := mixture{g, float64(b.before.Offset), float64(b.after.Offset), pDoubt}
		if f.stalled {
			m.doubt = pDoubtS
		}
		for i := range n {
			x := m.quantile((float64(i) + 0.5) / float64(n))
			want = append(want, Range{int64(x) - shift - width/2, width})
		}
	}
	if m := b.before; element > probe && m.End > m.Offset && slices.ContainsFunc(b.gaps, func(g Range) bool { return g.Offset == m.End }) {
		want = append(want, Range{m.End, probe})
	}
	return s.fit(b, want, width)
}

// mixture is where a tick may lie: as guessed, or, as far as the guess is in
// doubt, anywhere in the bracket.
type mixture struct {
	guess
	low, high float64
	doubt     float64
}

// below returns the probability that the tick lies before x.
func (m mixture) below(x float64) float64 {
	near := 0.5 * math.Erfc(-(x-m.at)/(m.spread*math.Sqrt2))
	wide := 0.5 * math.Erfc(-(x-m.at)/(pWide*m.spread*math.Sqrt2))
	return (1-m.doubt)*(near*(1-pWideW)+wide*pWideW) + m.doubt*(x-m.low)/(m.high-m.low)
}

// quantile returns the x in the bracket below which the tick lies with
// probability p, as nearly as matters.
func (m mixture) quantile(p float64) float64 {
	low, high := m.low, m.high
	for range 40 {
		if x := (low + high) / 2; m.below(x) < p {
			low = x
		} else {
			high = x
		}
	}
	return low
}

// fit moves ranges to what was not read, lets those near it read on from what
// was, and joins those that touch.
func (s *Search) fit(b bracket, want []Range, width int64) []Range {
	var out []Range
	for _, r := range want {
		g := gapFor(b.gaps, r)
		n := min(r.Length, g.Length)
		from := min(max(r.Offset, g.Offset), g.End()-n)
		to := from + n
		if from-g.Offset <= width/2 {
			from = g.Offset
		}
		if g.End()-to <= width/2 {
			to = g.End()
		}
		out = append(out, Range{from, to - from})
	}
	slices.SortFunc(out, func(a, b Range) int { return cmp.Compare(a.Offset, b.Offset) })
	joined := out[:0]
	for _, r := range out {
		if n := len(joined) - 1; n >= 0 && r.Offset <= joined[n].End() {
			joined[n].Length = max(joined[n].End(), r.End()) - joined[n].Offset
			continue
		}
		joined = append(joined, r)
	}
	for i := range joined {
		joined[i].Length = max(joined[i].Length, s.untilMark(joined[i])-joined[i].Offset)
	}
	return joined
}

// gapFor returns the gap nearest to the middle of a range.
func gapFor(gaps []Range, r Range) Range {
	middle := r.Offset + r.Length/2
	return slices.MinFunc(gaps, func(a, b Range) int { return cmp.Compare(distance(a, middle), distance(b, middle)) })
}

func distance(r Range, at int64) int64 {
	switch {
	case at < r.Offset:
		return r.Offset - at
	case at >= r.End():
		return at - r.End() + 1
	}
	return 0
}

// untilMark returns where a range has to end that should join what was read
// behind it: an element may be cut where that reading began, so that it is read
// again up to its first mark.
func (s *Search) untilMark(r Range) int64 {
	i, _ := slices.BinarySearchFunc(s.known.read, r.End(), func(c Range, off int64) int { return cmp.Compare(c.End(), off) })
	if i == len(s.known.read) || s.known.read[i].Offset > r.End() {
		return r.End()
	}
	return min(s.known.read[i].End(), s.known.markFrom(r.End()))
}
