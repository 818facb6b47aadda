package seek

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// model says how far a guess may be off. Between two marks, bytes are taken to
// drift around the straight line as a random walk does that is tied down at
// both ends; how strongly is learnt from what was found.
type model struct {
	drift  float64 // weighted sum of the squares of what was seen
	weight float64
}

// Constants of the model, chosen by simulation over the streams of
// search_stream_test.go and others like them.
const (
	// driftPower: the drift grows as this power of the distance in bytes. A rate
	// without memory would have 0.5, one that never changes its mind 1.
	driftPower = 0.68
	driftUnit  = 32 << 10 // the distance at which drift and distance are compared, in bytes
	// driftOfRate is the drift to expect for each unit by which rates were seen
	// to differ from their average.
	driftOfRate = 0.65
	// priorWeight is how many rounds that expectation counts for.
	priorWeight = 2.2
	// memory is what earlier rounds still count for in each later one, since
	// drift is stronger over long distances than the power says, or weaker.
	memory = 0.3
	// Where rates were not seen to vary at all: by how much they may, and for
	// how many scans that counts. So steady streams are soon believed.
	rateDoubt       = 0.3
	rateDoubtWeight = 0.015
	// rateCap is the most that a scan counts: 64 KiB may be one large picture.
	rateCap = 0.6
	// localShare is how far a guess at one end of its bracket goes by the rate
	// beyond that end.
	localShare = 0.6
	// aheadSpread is the spread of a guess beyond the last mark, for each byte
	// that it lies ahead.
	aheadSpread = 0.2
)

// untried reports whether no guess has been compared with what was found.
func (m *model) untried() bool { return m.weight == 0 }

// guess is where a tick is thought to lie.
type guess struct {
	at     float64 // in bytes
	spread float64 // standard deviation, in bytes
	// blind: there is nothing to go by but the number of bytes.
	blind bool
	// from and to are the marks, of any stream, between which was interpolated;
	// zero where it was not.
	from, to Mark
}

// guess guesses where in its bracket a tick lies.
func (m *model) guess(a *atlas, b bracket, tick, probe int64) guess {
	lo, hi := a.closest(b, tick)
	stated := b.bare[1] && a.endTick > max(tick, lo.Tick)
	if stated {
		hi.Tick = a.endTick
	}
	from, to := float64(lo.Offset), float64(hi.Offset)
	g := guess{at: (from + to) / 2, spread: math.Abs(to-from) / 3}
	switch rate := a.rate(b.before.Stream); {
	case from >= to: // streams that are interleaved loosely
	case !b.bare[0] && (!b.bare[1] || stated):
		g.from, g.to = lo, hi
		f := g.fraction(tick)
		g.at = a.local(g, tick, from+f*(to-from))
		g.spread = m.strength(a, b.before.Stream) * drift(f, to-from)
	case !b.bare[0] && rate > 0:
		ahead := (float64(tick) - float64(lo.Tick)) * rate
		g.at, g.spread = from+ahead, aheadSpread*ahead+float64(probe)/2
	case !b.bare[1] && rate > 0:
		back := (float64(hi.Tick) - float64(tick)) * rate
		g.at, g.spread = to-back, aheadSpread*back+float64(probe)/2
	default:
		g.blind = true
	}
	start, end := float64(b.before.Offset), float64(b.after.Offset)
	g.at, g.spread = min(max(g.at, start), end), min(g.spread, end-start)
	return g
}

// local bends a guess that lies much nearer to one end of its bracket than to
// the other towards the rate on the far side of that end, over about the same
// time.
func (a *atlas) local(g guess, tick int64, at float64) float64 {
	f := g.fraction(tick)
	near, step := g.from, -1
	if f > 0.5 {
		near, step = g.to, 1
	}
	marks := a.line(near.Stream).marks
	i, known := slices.BinarySearchFunc(marks, near.Offset, compareOffset)
	if !known {
		return at
	}
	apart := func(a, b int64) float64 { return math.Abs(float64(a) - float64(b)) }
	ticks := apart(tick, near.Tick)
	j := i
	for j+step >= 0 && j+step < len(marks) && apart(marks[j].Tick, near.Tick) < ticks {
		j += step
	}
	beyond := apart(marks[j].Tick, near.Tick)
	if beyond == 0 || ticks == 0 {
		return at
	}
	rate := apart(marks[j].Offset, near.Offset) / beyond
	weight := localShare * (1 - 2*min(f, 1-f)) * min(1, beyond/ticks, 2*ticks/beyond)
	at += weight * (float64(near.Offset) - float64(step)*ticks*rate - at)
	return min(max(at, float64(g.from.Offset)), float64(g.to.Offset))
}

// fraction returns how much of the time from g.from to g.to is over at tick.
func (g guess) fraction(tick int64) float64 {
	whole := float64(g.to.Tick) - float64(g.from.Tick)
	if whole <= 0 { // ticks so large that float64 does not tell them apart
		return 0.5
	}
	return min(max((float64(tick)-float64(g.from.Tick))/whole, 0), 1)
}

// drift returns the spread of a drift of 1 at a fraction of a distance.
func drift(f, distance float64) float64 {
	return math.Sqrt(f*(1-f)) * math.Pow(distance, driftPower) * math.Pow(driftUnit, 1-driftPower)
}

// strength returns how strongly bytes drift, as far as is known.
func (m *model) strength(a *atlas, stream int) float64 {
	expected := driftOfRate * driftOfRate * a.variance(stream)
	return math.Sqrt((m.drift + priorWeight*expected) / (m.weight + priorWeight))
}

// learn compares a guess with the marks that were found for it.
func (m *model) learn(g guess, found []Mark) {
	if g.from.Tick >= g.to.Tick || len(found) == 0 {
		return
	}
	nearest := slices.MinFunc(found, func(x, y Mark) int {
		return cmp.Compare(math.Abs(float64(x.Offset)-g.at), math.Abs(float64(y.Offset)-g.at))
	})
	distance := float64(g.to.Offset - g.from.Offset)
	f := g.fraction(nearest.Tick)
	if f == 0 || f == 1 {
		return
	}
	off := (float64(nearest.Offset) - float64(g.from.Offset) - f*distance) / drift(f, distance)
	m.drift = memory*m.drift + off*off
	m.weight = memory*m.weight + 1
}

// closest narrows a bracket by the marks of the other streams.
func (a *atlas) closest(b bracket, tick int64) (lo, hi Mark) {
	lo, hi = b.before, b.after
	for _, l := range a.lines {
		if l.stream == b.before.Stream {
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

// rate returns the bytes of a tick over all that is known of a stream, 0 where
// that is too little.
func (a *atlas) rate(stream int) float64 {
	marks := a.line(stream).marks
	if len(marks) == 0 {
		return 0
	}
	first, last := marks[0], marks[len(marks)-1]
	if last.Until > last.Tick && last.End > last.Offset {
		last.Offset, last.Tick = last.End, last.Until
	}
	ticks := float64(last.Tick) - float64(first.Tick)
	if ticks <= 0 {
		return 0
	}
	return float64(last.Offset-first.Offset) / ticks
}

// run is a stretch of marks that were read together.
type run struct{ bytes, ticks float64 }

// variance returns the mean square by which rates differ from their average, in
// units of it, where they were seen.
func (a *atlas) variance(stream int) float64 {
	sum, n := rateDoubt*rateDoubt*rateDoubtWeight, rateDoubtWeight
	if rate := a.rate(stream); rate > 0 {
		for _, r := range a.runs {
			d := min(r.bytes/(r.ticks*rate)-1, rateCap)
			sum += d * d
			n++
		}
	}
	return sum / n
}
