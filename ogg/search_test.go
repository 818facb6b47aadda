package ogg

import (
	"context"
	"fmt"
	"math"
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
// then all are answered. It counts rounds without a clock to depend on, but for
// the time after which nobody is expected to ask any more.
type gate struct {
	*seektest.Source
	mu      sync.Mutex
	waiting []chan struct{}
	timer   *time.Timer
	rounds  int
	bytes   int64
}

const gateQuiet = 3 * time.Millisecond

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
// the clip's.
func (g *gate) useful(p *formats.Plan) (n int64) {
	var from, to int64 = math.MaxInt64, 0
	for _, part := range p.Parts {
		if part.Resource != nil {
			from, to = min(from, part.Offset), max(to, part.End())
		}
	}
	for _, r := range g.Requests() {
		if r.Purpose == seek.Probe {
			n += max(0, min(r.End(), to)-max(r.Request.Offset, from))
		}
	}
	return n
}

// cost is what seeks cost.
type cost struct {
	seeks, rounds, most int
	bytes               int64
	opening             int // rounds
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
// both set, of 10 s, which is one for each end.
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
		c.add(g.rounds-opened, g.bytes-bytes-g.useful(p))
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

// measure takes seeks over several recordings of a kind.
func (k kind) measure(t testing.TB, seeks int, way func(*synth, int) cost) (all cost) {
	const recordings = 4
	for seed := range uint64(recordings) {
		all = all.plus(way(k.record(seed+1), seeks/recordings))
	}
	return all
}

// TestSearchRounds holds the search to its budget: rounds of probes until all is
// known, on a medium that was just opened.
func TestSearchRounds(t *testing.T) {
	seeks := 60
	if tools.Full() {
		seeks = budget.OggSeeks
	}
	var all cost
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			one := k.measure(t, seeks, func(s *synth, n int) cost { return s.ours(t, n, false) })
			t.Logf("a seek: %v", one)
			all = all.plus(one)
			if one.mean() > k.mean || one.most > budget.OggMostRounds {
				t.Errorf("%v; want a mean of at most %g and a maximum of %d", one, k.mean, budget.OggMostRounds)
			}
			both := k.measure(t, seeks, func(s *synth, n int) cost { return s.ours(t, n, true) })
			t.Logf("both ends of 10 s at once: %v", both)
			if both.most > budget.OggMostRounds {
				t.Errorf("both ends took %v; want at most %d rounds", both, budget.OggMostRounds)
			}
		})
	}
	t.Logf("all seeks: %v", all)
	if all.probes() > budget.OggProbes {
		t.Errorf("%d KiB of probes on average, want at most %d", all.probes()>>10, budget.OggProbes>>10)
	}
}
