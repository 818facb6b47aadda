package ogg

import (
	"context"
	"fmt"
	"math/rand/v2"
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

// deliver asks for the parts of a plan as its reader does, and returns how many
// of their bytes were held before anything was asked for the clip: those of the
// resource's first and last bytes.
func (g *gate) deliver(t testing.TB, w *seek.Window, p *formats.Plan) (known int64) {
	t.Helper()
	for _, part := range p.Parts {
		if part.Resource == nil {
			continue
		}
		body, err := w.Open(t.Context(), part.Request)
		if err != nil {
			t.Fatal(err)
		}
		if err := body.Close(); err != nil {
			t.Fatal(err)
		}
		known += max(0, part.End()-max(part.Offset, g.Info.Size-tailChunk)) + max(0, min(part.End(), headChunk)-part.Offset)
	}
	return known
}

// cost is what seeks cost.
type cost struct {
	seeks, rounds, most int
	bytes               int64 // of all requests, delivery included, beyond those that the clip is made of
	opening             int   // rounds
}

func (c *cost) add(rounds int, bytes int64) {
	c.seeks++
	c.rounds += rounds
	c.most = max(c.most, rounds)
	c.bytes += bytes
}

func (c cost) plus(d cost) cost {
	return cost{c.seeks + d.seeks, c.rounds + d.rounds, max(c.most, d.most), c.bytes + d.bytes, c.opening + d.opening}
}

func (c cost) mean() float64 { return float64(c.rounds) / float64(max(1, c.seeks)) }
func (c cost) probes() int64 { return c.bytes / int64(max(1, c.seeks)) }
func (c cost) String() string {
	return fmt.Sprintf("%.2f rounds (max %d), %d KiB", c.mean(), c.most, c.probes()>>10)
}

// ours resolves random intervals on a medium that was just opened, from what its
// first and last bytes tell: to the end of the medium, which is one seek, or, with
// both set, of 10 s, which is one for each end. What a probe reads of the clip is
// the clip's, as long as delivery does not ask for it again.
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
		rounds := g.rounds - opened
		pages := p.Needed - m.(*media).links().links[0].data
		known := g.deliver(t, w, p)
		c.add(rounds, g.bytes-bytes-(pages-known))
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
			t.Logf("a seek: %v; both ends of 10 s at once: %v", one, both)
			if one.mean() > k.mean || one.most > budget.OggMostRounds || one.probes() > budget.OggProbes {
				t.Errorf("%v; want a mean of at most %g, a maximum of %d, and %d KiB", one, k.mean, budget.OggMostRounds, budget.OggProbes>>10)
			}
			if both.most > budget.OggMostRounds || both.probes() > 2*budget.OggProbes {
				t.Errorf("both ends took %v; want at most %d rounds, and %d KiB for each", both, budget.OggMostRounds, budget.OggProbes>>10)
			}
		})
	}
}
