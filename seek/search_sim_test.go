package seek_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/seek"
)

// tally is what seeks cost.
type tally struct {
	rounds []int
	bytes  int64
	most   int // rounds of one Find
}

func (t *tally) add(rounds int, bytes int64) {
	t.rounds = append(t.rounds, rounds)
	t.bytes += bytes
}

func (t *tally) mean() float64 {
	sum := 0
	for _, r := range t.rounds {
		sum += r
	}
	return float64(sum) / float64(len(t.rounds))
}
func (t *tally) kib() float64 { return float64(t.bytes) / float64(len(t.rounds)) / 1024 }
func (t *tally) quantile(q float64) int {
	sorted := slices.Sorted(slices.Values(t.rounds))
	return sorted[int(q*float64(len(sorted)-1))]
}

// searches runs n random seeks, each in a medium that was just opened: one Find
// for each of its streams, one after the other.
func searches(tb testing.TB, s *stream, n int) *tally {
	rng, src := seeded(99), s.source()
	var t tally
	for range n {
		search := s.open(tb, src)
		tick := s.somewhere(rng)
		for stream := range s.streams() {
			checkFind(tb, s, search, stream, tick)
		}
		got := search.Stats()
		t.add(got.Rounds, got.Bytes)
		t.most = max(t.most, got.Most)
		search.Window.Close()
	}
	return &t
}

// later runs n random seeks in the same medium, without the first.
func later(tb testing.TB, s *stream, n int) *tally {
	rng, search := seeded(98), s.open(tb, s.source())
	var t tally
	for i := range n + 1 {
		was := search.Stats()
		checkFind(tb, s, search, 0, rng.Int64N(s.duration()))
		now := search.Stats()
		if i > 0 {
			t.add(now.Rounds-was.Rounds, now.Bytes-was.Bytes)
			t.most = max(t.most, now.Rounds-was.Rounds)
		}
	}
	return &t
}

// bisection halves the bytes until what is left fits into a probe, each look
// 64 KiB.
func bisection(s *stream, n int) *tally {
	rng := seeded(99)
	var t tally
	for range n {
		tick := rng.Int64N(s.duration())
		from, to := int64(0), s.size
		rounds := 0
		for {
			rounds++
			mid := from + (to-from)/2
			if to-from <= seek.DefaultProbe {
				mid = from
			}
			first, last, ok := s.seen(mid, seek.DefaultProbe)
			switch {
			case !ok:
				from = mid + seek.DefaultProbe
			case first.tick > tick && mid > from:
				to = mid
			case last.tick <= tick && mid+seek.DefaultProbe < to:
				from = last.off
			default:
				from = to
			}
			if from >= to {
				break
			}
		}
		t.add(rounds, int64(rounds)*seek.DefaultProbe)
	}
	return &t
}

// seen returns the first and last timed elements of a stretch.
func (s *stream) seen(off, n int64) (first, last element, ok bool) {
	i, _ := s.index(off)
	for ; i < len(s.elements) && s.elements[i].off < off+n; i++ {
		if e := s.elements[i]; !e.silent {
			if !ok {
				first = e
			}
			last, ok = e, true
		}
	}
	return first, last, ok
}

// opusfile searches as that library does: one place at a time, 64 KiB before
// where the line between the bounds says, reading on where the page found is
// within a second of the target, and the middle where two steps gained less
// than half. Bytes are those read until it is done, in chunks of 64 KiB.
func opusfile(s *stream, n int) *tally {
	const chunk = 64 << 10
	rng := seeded(99)
	var t tally
	for range n {
		target := rng.Int64N(s.duration())
		begin, end := int64(0), s.size
		beginTick, endTick := int64(0), s.duration()
		d := [3]int64{end - begin, end - begin, end - begin}
		requests, read, here := 0, int64(0), int64(-1)
		for begin < end {
			d[0], d[1], d[2] = d[1], d[2], end-begin
			at := begin
			if end-begin >= chunk {
				if d[2]*2 > d[0] && requests > 2 {
					at = begin + (end-begin)/2
				} else {
					f := float64(target-beginTick) / math.Max(1, float64(endTick-beginTick))
					at = begin + int64(f*float64(end-begin)) - chunk
				}
				if at-chunk < begin {
					at = begin
				}
				at = min(at, end)
			}
			if at != here {
				requests++
			}
			i, _ := s.index(at)
			start := at
			landed, moved := false, false
			for ; i < len(s.elements) && s.elements[i].off < end; i++ {
				e := s.elements[i]
				if e.silent {
					continue
				}
				if e.tick > target {
					if moved || e.off == begin || at == begin {
						landed = true
					} else {
						end, endTick = at, e.tick
					}
					read += e.off + e.size - start
					here = e.off + e.size
					break
				}
				moved = true
				begin, beginTick = e.off+e.size, e.tick
				if target-e.tick > second {
					here = begin
					read += e.off + e.size - start
					break
				}
			}
			if i >= len(s.elements) || s.elements[i].off >= end {
				if moved {
					landed = true
				} else {
					end = at
				}
			}
			if landed {
				break
			}
		}
		t.add(max(requests, 1), max(read, chunk*int64(requests)))
	}
	return &t
}

// kinds are the streams that the budgets name, several recordings of each.
var kinds = []struct {
	name   string
	record func(seed uint64) *stream
	mean   float64 // most rounds
}{
	{"steady", steady, budget.SearchSteady},
	{"music", music, budget.SearchVaried},
	{"podcast", podcast, budget.SearchVaried},
	{"speech", speech, budget.SearchVaried},
	{"video", video, budget.SearchVaried},
}

const recordings = 5

// measure sums a way to search up over all recordings of a kind.
func measure(record func(uint64) *stream, n int, search func(*stream, int) *tally) *tally {
	var sum tally
	for seed := range uint64(recordings) {
		t := search(record(seed+1), n/recordings)
		sum.rounds = append(sum.rounds, t.rounds...)
		sum.bytes += t.bytes
		sum.most = max(sum.most, t.most)
	}
	return &sum
}

// Random seeks in media that were just opened stay within the budgets, and cost
// less than what others do on the same streams.
func TestSearchBudgets(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			n := budget.SearchSeeks
			got := measure(k.record, n, func(s *stream, n int) *tally { return searches(t, s, n) })
			t.Logf("%s", got)
			if len(got.rounds) < n {
				t.Errorf("%d seeks, want %d", len(got.rounds), n)
			}
			if got.mean() > k.mean {
				t.Errorf("%.2f rounds on the average, want at most %.1f", got.mean(), k.mean)
			}
			if got.most > budget.SearchMost {
				t.Errorf("a search took %d rounds, want at most %d", got.most, budget.SearchMost)
			}
			if got.kib()*1024 > budget.SearchBytes {
				t.Errorf("%.0f KiB of probes on the average, want at most %d", got.kib(), budget.SearchBytes>>10)
			}
			if halves := measure(k.record, n, bisection); got.mean() > halves.mean()/2 {
				t.Errorf("%.2f rounds, plain bisection %.2f", got.mean(), halves.mean())
			}
		})
	}
}

// Another seek in the same medium starts from what is known.
func TestLaterSearches(t *testing.T) {
	for _, k := range kinds {
		got := measure(k.record, 250, func(s *stream, n int) *tally { return later(t, s, n) })
		t.Logf("%s: %s", k.name, got)
		if got.quantile(0.5) > budget.SearchLater {
			t.Errorf("%s: median %d rounds, want at most %d", k.name, got.quantile(0.5), budget.SearchLater)
		}
	}
}

// String states the statistic in one line.
func (t *tally) String() string {
	return fmt.Sprintf("%.2f rounds a seek, 95th percentile %d, most %d (of one search %d), %.0f KiB of probes",
		t.mean(), t.quantile(0.95), slices.Max(t.rounds), t.most, t.kib())
}

// BenchmarkSearch reports the statistic beside that of plain bisection and of a
// search like opusfile's on the same streams.
func BenchmarkSearch(b *testing.B) {
	for _, k := range kinds {
		for _, way := range []struct {
			name   string
			search func(*stream, int) *tally
		}{
			{"search", func(s *stream, n int) *tally { return searches(b, s, n) }},
			{"bisection", bisection},
			{"opusfile", opusfile},
		} {
			b.Run(k.name+"/"+way.name, func(b *testing.B) {
				var t *tally
				for b.Loop() {
					t = measure(k.record, budget.SearchSeeks, way.search)
				}
				b.ReportMetric(t.mean(), "rounds/seek")
				b.ReportMetric(float64(slices.Max(t.rounds)), "rounds/worst")
				b.ReportMetric(t.kib(), "probeKiB/seek")
			})
		}
	}
}

// large are lists of fragments and clusters, twenty minutes, two seconds each.
func large() []*stream {
	sizes := []float64{60e3, 250e3, 500e3, 1e6, 2e6}
	if !tools.Full() {
		sizes = []float64{60e3, 250e3, 1e6} // a probe, a round of them, and more
	}
	var all []*stream
	for _, size := range sizes {
		name := fmt.Sprintf("%.0fk", size/1e3)
		all = append(all,
			fragments("moof "+name, size, 0.3, true, false),
			fragments("cluster "+name, size, 0.3, false, false),
			fragments("unsized cluster "+name, size, 0.3, false, true))
	}
	return all
}

// Fragments and clusters without an index are found within the budget of
// rounds, on the average.
func TestLargeElements(t *testing.T) {
	for _, s := range large() {
		most := float64(budget.SearchLarge)
		if size := s.size / int64(len(s.elements)); s.unsized && size > 400e3 {
			// Where nothing states how long a large cluster is, all of it must be
			// read before the next can be known to be that.
			most *= 2
		}
		got := searches(t, s, 60)
		within := 0
		for _, r := range got.rounds {
			if r <= budget.SearchLarge {
				within++
			}
		}
		t.Logf("%-22s %s; %d %% within %d", s.name, got, within*100/len(got.rounds), budget.SearchLarge)
		if got.mean() > most {
			t.Errorf("%s: %.2f rounds on the average, want at most %.0f", s.name, got.mean(), most)
		}
	}
}

// What an element states of itself saves rounds: its length, how long it lasts,
// and the duration of the whole.
func TestHints(t *testing.T) {
	plain := fragments("plain", 250e3, 0.3, false, true)
	plain.stated = false
	cost := func(change func(*stream)) float64 {
		s := *plain
		change(&s)
		return searches(t, &s, 100).mean()
	}
	none := cost(func(s *stream) {})
	for _, hint := range []struct {
		name   string
		change func(*stream)
		saves  float64
	}{
		{"the duration", func(s *stream) { s.stated = true }, 0.2},
		{"lengths", func(s *stream) { s.unsized = false }, 0.05},
		{"lengths and times", func(s *stream) { s.unsized, s.lasting = false, true }, 0.5},
	} {
		got := cost(hint.change)
		t.Logf("%s: %.2f rounds, without hints %.2f", hint.name, got, none)
		if got > none-hint.saves {
			t.Errorf("%s: %.2f rounds, without hints %.2f", hint.name, got, none)
		}
	}
}

// Streams that surprise again and again cost more, but not without end.
func TestSurprises(t *testing.T) {
	n := 80
	if tools.Full() {
		n = 200
	}
	for _, s := range []*stream{bursty(1), bursty(2), sparse(1), holes(1), lopsided()} {
		got := searches(t, s, n)
		t.Logf("%s: %s", s.name, got)
		mean := float64(budget.SearchMost)
		if s.name == "lopsided" {
			mean *= 1.5
		}
		if got.mean() > mean || got.most > 2*budget.SearchMost {
			t.Errorf("%s: %s", s.name, got)
		}
	}
}

// allStreams returns one stream of each kind, and harder ones.
func allStreams() []*stream {
	var all []*stream
	for _, k := range kinds {
		all = append(all, k.record(1))
	}
	return append(append(all, bursty(1), sparse(1), holes(1)), large()...)
}
