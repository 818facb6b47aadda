package ogg

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/seek"
)

// gate is a Source that answers in rounds: requests wait until no more come,
// then all are answered. In a bubble that is exact: its clock stands still while
// anybody may still ask.
type gate struct {
	*seektest.Source
	mu      sync.Mutex
	waiting []chan struct{}
	timer   *time.Timer
	rounds  int
	bytes   int64
}

const gateQuiet = 2 * time.Millisecond

func (g *gate) Open(ctx context.Context, r seek.Request) (*seek.Body, error) {
	pass := make(chan struct{})
	g.mu.Lock()
	g.waiting = append(g.waiting, pass)
	if g.timer == nil {
		g.timer = time.AfterFunc(gateQuiet, g.release)
	} else {
		g.timer.Reset(gateQuiet)
	}
	g.bytes += max(0, r.Length)
	g.mu.Unlock()
	<-pass
	return g.Source.Open(ctx, r)
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) > 0 {
		g.rounds++
	}
	for _, w := range g.waiting {
		close(w)
	}
	g.waiting = nil
}

// useful returns how many of the bytes that were asked for to find the clip are
// delivered without being asked for again: those of its first pages and of what
// its middle begins with, and of what the middle ends with. Headers is how long
// those are.
func (g *gate) useful(p *formats.Plan, headers int64) (n int64) {
	var probes []seek.Range
	for _, r := range g.Requests() {
		if r.Purpose == seek.Probe {
			probes = append(probes, r.Range)
		}
	}
	slices.SortFunc(probes, func(a, b seek.Range) int { return cmp.Compare(a.Offset, b.Offset) })
	for _, part := range p.Parts {
		if part.Resource == nil {
			continue
		}
		first := max(0, part.Offset-max(0, p.Needed-headers-part.Length)) // of the clip's pages, or a little before
		head, tail := part.Offset, part.End()
		at := first
		for _, r := range probes {
			if from, to := max(r.Offset, at), min(r.End(), part.Offset); from < to {
				n += to - from
				at = to
			}
			if r.Offset <= head {
				head = min(max(head, r.End()), part.End())
			}
		}
		for _, r := range slices.Backward(probes) {
			if r.End() >= tail {
				tail = max(min(tail, r.Offset), head)
			}
		}
		n += head - part.Offset + part.End() - tail
	}
	return n
}

// within returns how many of the bytes that were asked for lie in the clip, also
// where they are asked for again because others before them were not.
func (g *gate) within(p *formats.Plan) (n int64) {
	for _, part := range p.Parts {
		for _, r := range g.Requests() {
			if part.Resource != nil && r.Purpose == seek.Probe {
				n += max(0, min(r.End(), part.End())-max(r.Request.Offset, part.Offset))
			}
		}
	}
	return n
}

// cost is what seeks cost.
type cost struct {
	seeks, rounds, most int
	bytes               int64
	opening             int   // rounds
	strictly            int64 // bytes, with those that are asked for again
}

func (c *cost) add(rounds int, bytes int64) {
	c.seeks++
	c.rounds += rounds
	c.most = max(c.most, rounds)
	c.bytes += bytes
}

func (c cost) plus(d cost) cost {
	return cost{c.seeks + d.seeks, c.rounds + d.rounds, max(c.most, d.most), c.bytes + d.bytes, c.opening + d.opening, c.strictly + d.strictly}
}

func (c cost) mean() float64 { return float64(c.rounds) / float64(max(1, c.seeks)) }
func (c cost) probes() int64 { return c.bytes / int64(max(1, c.seeks)) }
func (c cost) String() string {
	return fmt.Sprintf("%.2f rounds (max %d), %d KiB", c.mean(), c.most, c.probes()>>10)
}

// ours resolves random intervals on a medium that was just opened, from what its
// first and last bytes tell: to the end of the medium, which is one seek, whose
// probes in the clip are the clip's; or, with both set, of 10 s, which is one for
// each end, and what is asked for again counts, too.
func (s *synth) ours(t testing.TB, seeks int, both bool) cost {
	t.Helper()
	r := rand.New(rand.NewPCG(9, 9))
	var c cost
	source := seektest.New(s.data)
	for range seeks {
		at := r.Float64() * (s.length - 11)
		g := &gate{Source: source}
		w := seek.NewWindow(t.Context(), g, 0)
		w.Prefetch(seek.Request{Range: seek.Suffix(tailChunk), Purpose: seek.Tail})
		if _, err := w.ReadRange(t.Context(), seek.Range{Length: headChunk}, seek.Head, ""); err != nil {
			t.Fatal(err)
		}
		m, err := Format{}.Open(t.Context(), w, formats.Env{})
		if err != nil {
			t.Fatal(err)
		}
		opened, bytes := g.rounds, g.bytes
		c.opening += opened
		i := fragment.From(fragment.FromSeconds(at))
		if both {
			i = fragment.Between(i.Start, fragment.FromSeconds(at+10))
		}
		p, err := m.Plan(t.Context(), formats.Selection{Interval: i})
		if err != nil {
			t.Fatalf("%s at %g: %v", s.name, at, err)
		}
		strictly := g.bytes - bytes - g.useful(p, m.(*media).links().links[0].data)
		c.strictly += strictly
		if both {
			c.add(g.rounds-opened, strictly)
		} else {
			c.add(g.rounds-opened, g.bytes-bytes-g.within(p))
		}
		w.Close()
		source.Reset()
	}
	return c
}

// kind is a kind of stream that the budgets name.
type kind struct {
	name   string
	record func(seed uint64) *synth
	mean   float64 // most rounds of a seek
}

func kinds(t testing.TB) []kind {
	return []kind{
		{"steady Opus 1 h", steadyHour, budget.OggSteadyRounds},
		{"VBR music 1 h", musicHour, budget.OggRounds},
		{"podcast 2 h", podcast, budget.OggRounds},
		{"speech 8 h", speechDay, budget.OggRounds},
		{"Theora+Vorbis 10 min", func(seed uint64) *synth { return theoraVorbis(t, 600, seed) }, budget.OggRounds},
	}
}

// measure takes seeks over several recordings of a kind, in each of some ways.
func (k kind) measure(seeks int, ways ...func(*synth, int) cost) []cost {
	const recordings = 4
	all := make([]cost, len(ways))
	for seed := range recordings {
		s := k.record(uint64(seed + 1))
		for i, way := range ways {
			all[i] = all[i].plus(way(s, seeks/recordings))
		}
	}
	return all
}

// TestSearchRounds holds the search to its budget for each kind of stream: rounds
// of probes until all is known, on a medium that was just opened, and their bytes.
func TestSearchRounds(t *testing.T) {
	seeks := 60
	if tools.Full() {
		seeks = budget.OggSeeks
	}
	for _, k := range kinds(t) {
		seektest.Counted(t, k.name, func(t *testing.T) {
			costs := k.measure(seeks,
				func(s *synth, n int) cost { return s.ours(t, n, false) },
				func(s *synth, n int) cost { return s.ours(t, n, true) })
			one, both := costs[0], costs[1]
			t.Logf("a seek: %v, %d KiB with what is asked for again; both ends of 10 s at once: %v", one, one.strictly/int64(one.seeks)>>10, both)
			if one.mean() > k.mean || one.most > budget.OggMostRounds || one.probes() > budget.OggProbes {
				t.Errorf("%v; want a mean of at most %g, a maximum of %d, and %d KiB", one, k.mean, budget.OggMostRounds, budget.OggProbes>>10)
			}
			if both.most > budget.OggMostRounds || both.probes() > 2*budget.OggProbes {
				t.Errorf("both ends took %v; want at most %d rounds, and %d KiB for each", both, budget.OggMostRounds, budget.OggProbes>>10)
			}
		})
	}
}
