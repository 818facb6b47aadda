package seek

import (
	"cmp"
	"math"
	"slices"
)

// Bounds of what a round reads.
const (
	// maxStretch is the most bytes that a probe, or a round, reads where
	// elements are so large that the usual size would show none.
	maxStretch = 4 << 20
	// nearStretch is the same for who reads on from a mark anyway: what the
	// search reads before the tick comes to use, as a rule.
	nearStretch = 16 << 20
	// maxGrow bounds the factor by which probes grow that show nothing.
	maxGrow = 64
)

// Constants of the placing, chosen by simulation as those of the model are.
const (
	// A probe that is to show a mark has the size of so many elements, and at
	// least so much of a whole one.
	showElements = 3
	showLeast    = 0.25
	// showLarge is the same for elements that are larger than a probe, and
	// roundLarge what a whole round reads of them.
	showLarge  = 1.25
	roundLarge = 3.0
	// A round reads the place guessed, in one stretch, if that catches what is
	// off by so many times the spread; it reads on to catch this much.
	landLeast = 0.35
	landMost  = 2.0
	// Spread is a guess itself: with this probability it is so many times more.
	wideShare  = 0.4
	wideFactor = 5
	// The probability that the guess says nothing, and the tick may be anywhere:
	// at first, for each round from the third on, and at most.
	doubtFirst = 0.03
	doubtLate  = 0.2
	doubtMost  = 0.95
	// untriedSpread is, as part of what is searched, how far off to look besides
	// where nothing has tried the model yet.
	untriedSpread = 0.02
	// patience is how many rounds are sparing with bytes; later ones would
	// rather read more than need another.
	patience = 3
	// sparing is what part of a round's bytes a sparing one reads in one stretch.
	sparing = 0.75
)

// sizes are what probes have to be like, in bytes.
type sizes struct {
	element     int64 // between two marks, about
	width       int64 // of a probe that is to show a mark
	probes      int64 // of that width
	room        int64 // of a round that reads one stretch
	stated      bool  // the size of elements is not only a guess
	lead, trail int64 // around a tick: what it takes to see the marks around it
}

// sizes chooses them by what was seen.
func (s *Search) sizes(f *finding) sizes {
	probe, n := s.probeSize(), int64(s.parallel())
	most := int64(maxStretch)
	if f.reach > 0 {
		most = nearStretch
	}
	element := s.known.element()
	if s.known.sized == 0 && s.known.scannedMarks < 2 {
		element = max(element, s.Element)
	}
	z := sizes{element: min(element, most), room: probe * n, stated: s.known.sized > 0}
	if z.element <= probe {
		z.lead = max(s.known.spacing(probe), probe/8)
		z.trail = z.lead + z.element // an element may show only where all of it is there
		z.width = min(max(showElements*z.element, int64(showLeast*float64(probe))), probe)
	} else {
		z.lead, z.trail = z.element, z.element
		if f.reach > 0 || s.known.line(f.stream).lasting {
			z.trail = probe / 8 // no need to see what follows
		}
		z.width = int64(showLarge * float64(z.element))
		z.room = max(z.room, min(int64(roundLarge*float64(z.element)), most))
	}
	z.width = min(max(z.width, 2*s.known.barren)*f.grow, most)
	if f.looks > patience {
		z.room = max(z.room, n*DefaultProbe)
	}
	z.room = max(z.room, z.width)
	z.probes = min(n, max(z.room, n*DefaultProbe)/z.width)
	return z
}

// place chooses the ranges of a round.
func (s *Search) place(f *finding, b bracket, g guess) []Range {
	z := s.sizes(f)
	least := z.lead + z.trail + int64(2*landLeast*g.spread)
	most := z.lead + z.trail + int64(2*landMost*g.spread)
	var want []Range
	switch {
	case b.unread <= z.room && (f.looks > patience || b.unread <= most):
		want = slices.Clone(b.gaps)
	case least <= z.room:
		room := z.room
		if f.looks <= patience {
			room = int64(sparing * float64(z.room))
		}
		size := min(most, max(room, z.lead+z.trail))
		if f.grow > 1 { // it was too small to show an element
			size = max(size, z.width)
		}
		beside := (size - z.lead - z.trail) / 2
		want = []Range{{int64(g.at) - z.lead - beside, size}}
		if s.model.untried() {
			// That rates do not vary is known from little: two more probes,
			// further off, tell how much they do should the guess be wrong.
			wide := g
			wide.spread = max(wide.spread, untriedSpread*float64(b.after.Offset-b.before.Offset))
			z.probes = min(2, z.probes)
			want = append(want, z.scatter(f, b, wide)...)
		} else if f.looks > patience { // and elsewhere: a guess that is never right may be founded on lies
			z.probes = (z.probes + 1) / 2
			want = append(want, z.scatter(f, b, g)...)
		}
	default:
		want = z.scatter(f, b, g)
	}
	// The end of a large element that is known is where the next one is.
	if end := b.before.End; z.element > s.probeSize() && g.at < float64(end+4*z.element) &&
		slices.ContainsFunc(b.gaps, func(g Range) bool { return g.Offset == end }) {
		want = append(want, Range{end, s.probeSize()})
	}
	return s.fit(b, want, z.width)
}

// scatter spreads probes so that the tick lies between any two of them with the
// same probability. Where nothing is known of the end, one looks there.
func (z sizes) scatter(f *finding, b bracket, g guess) []Range {
	doubt := min(max(doubtFirst, doubtLate*float64(f.looks-2)), doubtMost)
	likely := likelihood{g, float64(b.before.Offset), float64(b.after.Offset), doubt}
	var out []Range
	n := z.probes
	switch {
	case g.blind && !z.stated && f.looks == 1:
		return []Range{{b.after.Offset - z.room, z.room}}
	case g.blind && n > 1:
		out = append(out, Range{b.after.Offset - z.width, z.width})
		n--
	}
	for i := range n {
		x := likely.quantile((float64(i) + 0.5) / float64(n))
		out = append(out, Range{int64(x) - z.width/2, z.width})
	}
	return out
}

// likelihood is where a tick may lie: about as guessed, or, as far as the guess
// is in doubt, anywhere from low to high.
type likelihood struct {
	guess
	low, high float64
	doubt     float64
}

// below returns the probability that the tick lies before x.
func (l likelihood) below(x float64) float64 {
	normal := func(spread float64) float64 { return math.Erfc((l.at-x)/(spread*math.Sqrt2)) / 2 }
	guessed := (1-wideShare)*normal(l.spread) + wideShare*normal(wideFactor*l.spread)
	return (1-l.doubt)*guessed + l.doubt*(x-l.low)/(l.high-l.low)
}

// quantile returns the x below which the tick lies with probability p, as
// nearly as matters.
func (l likelihood) quantile(p float64) float64 {
	low, high := l.low, l.high
	for range 40 {
		if x := (low + high) / 2; l.below(x) < p {
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
		n := min(max(r.Length, 1), g.Length)
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
		joined[i].Length = s.joinEnd(joined[i], width) - joined[i].Offset
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

// joinEnd returns where a range has to end that should join what was read
// behind it: an element may be cut where that reading began, so that it is read
// again up to its first mark, or for as long as it takes to show one.
func (s *Search) joinEnd(r Range, width int64) int64 {
	if len(s.known.unread(r.End(), r.End()+1)) > 0 {
		return r.End()
	}
	return max(r.End(), min(s.known.markFrom(r.End()), r.Offset+max(width, 2*r.Length)))
}
