package seek_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

// spoilt returns a copy of s in which change was applied to the elements.
func spoilt(s *stream, change func([]element)) *stream {
	c := *s
	c.elements = slices.Clone(s.elements)
	change(c.elements)
	return &c
}

// A few marks that state a wrong time are not believed: the right neighbours
// are found, but for the liar's own.
func TestLyingMarks(t *testing.T) {
	honest := steady(1)
	tests := []struct {
		name   string
		change func([]element)
	}{
		{"one is hours late", func(e []element) { e[1800].tick = 1e9 }},
		{"one is at the beginning", func(e []element) { e[1800].tick = 0 }},
		{"one is negative", func(e []element) { e[1800].tick = -5e9 }},
		{"one is beyond all time", func(e []element) { e[1800].tick = math.MaxInt64 }},
		{"one is before all time", func(e []element) { e[1800].tick = math.MinInt64 }},
		{"one is ten seconds early", func(e []element) { e[1801].tick -= 10 * second }},
		{"the first says that all is over", func(e []element) { e[0].tick = 1e12 }},
		{"the last says that nothing has begun", func(e []element) { e[len(e)-1].tick = 5 }},
		{"every tenth", func(e []element) {
			for i := 5; i < len(e); i += 10 {
				e[i].tick = int64(i*7919) % 3_600_000
			}
		}},
		{"some minutes came from another clock", func(e []element) {
			for i := 1700; i < 1790; i++ {
				e[i].tick += 1e8
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := spoilt(honest, tt.change)
			search := open(t, s, s.source())
			rng := seeded(11)
			wrong := 0
			for range 100 {
				tick := rng.Int64N(s.elements[3590].tick)
				before, after, err := search.Find(t.Context(), 0, tick)
				if err != nil {
					t.Fatalf("tick %d: %v", tick, err)
				}
				checkOrder(t, tick, before, after)
				wantBefore, wantAfter := honest.neighbours(0, tick)
				i, _ := honest.index(wantBefore.off)
				if slices.Contains(s.elements[max(0, i-1):min(i+3, len(s.elements))], honest.elements[i]) &&
					s.elements[i] == wantBefore && s.elements[i+1] == wantAfter && (before.Offset != wantBefore.off || after.Offset != wantAfter.off) {
					wrong++
				}
			}
			if wrong > 0 {
				t.Errorf("%d of 100 searches beside the lies went wrong", wrong)
			}
		})
	}
}

// checkOrder asserts what holds of every result.
func checkOrder(tb testing.TB, tick int64, before, after seek.Mark) {
	tb.Helper()
	if before.Offset > after.Offset {
		tb.Errorf("tick %d: before is at %d, after at %d", tick, before.Offset, after.Offset)
	}
	if before.Tick > tick || after.Tick <= tick && after.Tick != math.MaxInt64 {
		tb.Errorf("tick %d: between %d and %d", tick, before.Tick, after.Tick)
	}
}

// Where most marks contradict each other there is an error that says so, or an
// answer in order: never a loop.
func TestContradictions(t *testing.T) {
	tests := []struct {
		name   string
		change func([]element)
		want   error // nil: an answer in order
	}{
		{"time runs backwards", func(e []element) {
			for i := range e {
				e[i].tick = int64(len(e)-i) * second
			}
		}, seek.ErrDisorder},
		{"times are random", func(e []element) {
			rng := seeded(1)
			for i := range e {
				e[i].tick = rng.Int64N(3_600_000)
			}
		}, seek.ErrDisorder},
		{"time stands still", func(e []element) {
			for i := range e {
				e[i].tick = 7
			}
		}, nil},
		{"time starts again in the middle", func(e []element) {
			for i := len(e) / 2; i < len(e); i++ {
				e[i].tick -= e[len(e)/2-1].tick
			}
		}, nil},
		{"nothing has a time", func(e []element) {
			for i := range e {
				e[i].silent = true
			}
		}, seek.ErrLimit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := spoilt(steady(1), tt.change)
			for _, tick := range []int64{0, 100_500, 1_800_500, 3_500_500} {
				search := open(t, s, s.source())
				before, after, err := search.Find(t.Context(), 0, tick)
				switch {
				case tt.want == nil && err != nil:
					t.Errorf("tick %d: %v", tick, err)
				case tt.want == nil:
					checkOrder(t, tick, before, after)
				case err != nil && !errors.Is(err, tt.want):
					t.Errorf("tick %d: %v, want %v", tick, err, tt.want)
				case err == nil:
					checkOrder(t, tick, before, after)
				}
				checkCost(t, search, 1)
			}
		})
	}
}

// mostBytes is the most that a round reads: one stretch, and a probe beside it.
const mostBytes = 4*4<<20 + 2*seek.DefaultProbe

// checkCost asserts that so many Finds stayed within their limits.
func checkCost(tb testing.TB, search *seek.Search, finds int) {
	tb.Helper()
	most := search.MaxRounds
	if most == 0 {
		most = seek.DefaultRounds
	}
	got := search.Stats()
	if got.Most > most || got.Rounds > finds*most || got.Bytes > int64(finds*most)*mostBytes {
		tb.Errorf("%+v after %d searches of at most %d rounds", got, finds, most)
	}
}

// A search that cannot succeed ends with an error that states what it cost.
func TestRoundsAreLimited(t *testing.T) {
	src := seektest.Virtual(1<<40, seektest.Fill(func(p []byte, _ int64) { clear(p) }))
	for _, rounds := range []int{1, 3, 0} {
		w := seek.NewWindow(t.Context(), src, 0)
		defer w.Close()
		search := &seek.Search{
			Window: w, End: 1 << 40, MaxRounds: rounds,
			Recognize: func(off int64, data []byte) ([]seek.Mark, int64) { return nil, off + int64(len(data)) },
		}
		_, _, err := search.Find(t.Context(), 0, 1000)
		var failed *seek.SearchError
		if !errors.As(err, &failed) || !errors.Is(err, seek.ErrLimit) {
			t.Fatalf("%v, want a SearchError of %v", err, seek.ErrLimit)
		}
		want := rounds
		if rounds == 0 {
			want = seek.DefaultRounds
		}
		stats := search.Stats()
		if failed.Rounds != want || failed.Bytes != stats.Bytes || failed.Tick != 1000 || failed.Range != (seek.Range{Length: 1 << 40}) {
			t.Errorf("%+v, want %d rounds of %d bytes", failed, want, stats.Bytes)
		}
		for _, part := range []string{"tick 1000", fmt.Sprintf("%d rounds", want), fmt.Sprintf("%d bytes", stats.Bytes)} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not state %q", err, part)
			}
		}
		checkCost(t, search, 1)
	}
}

// Recognisers that break every promise do not make a Find loop, panic or answer
// out of order.
func TestHostileRecognizers(t *testing.T) {
	const size = 200 << 20
	const far = math.MaxInt64
	tests := []struct {
		name      string
		recognize func(off int64, data []byte) ([]seek.Mark, int64)
	}{
		{"never gets on", func(off int64, data []byte) ([]seek.Mark, int64) { return nil, off }},
		{"goes back", func(off int64, data []byte) ([]seek.Mark, int64) { return nil, math.MinInt64 }},
		{"has read everything", func(off int64, data []byte) ([]seek.Mark, int64) { return nil, far }},
		{"finds marks elsewhere", func(off int64, data []byte) ([]seek.Mark, int64) {
			return []seek.Mark{{Offset: off - 10, Tick: 1}, {Offset: off + int64(len(data)) + 5, Tick: 2}, {Offset: -far}, {Offset: far, Tick: far}}, off
		}},
		{"finds marks out of order", func(off int64, data []byte) ([]seek.Mark, int64) {
			n := int64(len(data))
			return []seek.Mark{{Offset: off + n/2, Tick: off}, {Offset: off, Tick: off + n}, {Offset: off + n - 1, Tick: off + 7}, {Offset: off, Tick: 9}}, off + n
		}},
		{"states the ends of time", func(off int64, data []byte) ([]seek.Mark, int64) {
			return []seek.Mark{{Offset: off, Tick: -far - 1}, {Offset: off + 1, Tick: far}}, off + int64(len(data))
		}},
		{"states endless elements", func(off int64, data []byte) ([]seek.Mark, int64) {
			return []seek.Mark{{Offset: off, End: far, Tick: off}}, far
		}},
		{"states elements that end before they begin", func(off int64, data []byte) ([]seek.Mark, int64) {
			return []seek.Mark{{Offset: off, End: -far, Tick: off, Until: -far}}, off + int64(len(data))
		}},
		{"states endless times", func(off int64, data []byte) ([]seek.Mark, int64) {
			return []seek.Mark{{Offset: off, End: off + 1, Tick: off, Until: far}}, off + 1
		}},
		{"finds one mark a byte", func(off int64, data []byte) (marks []seek.Mark, next int64) {
			for i := range data {
				marks = append(marks, seek.Mark{Offset: off + int64(i), Tick: off / 3})
			}
			return marks, off + int64(len(data))
		}},
		{"every mark is of another stream", func(off int64, data []byte) (marks []seek.Mark, next int64) {
			for i := range min(64, len(data)) {
				marks = append(marks, seek.Mark{Stream: i, Offset: off + int64(i), Tick: off})
			}
			return marks, off + int64(len(data))
		}},
		{"the tick depends on where it began", func(off int64, data []byte) ([]seek.Mark, int64) {
			return []seek.Mark{{Offset: off + 100, Tick: off*7919%size + 1}}, off + int64(len(data))
		}},
	}
	src := seektest.Virtual(size, seektest.Fill(func(p []byte, _ int64) { clear(p) }))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := seek.NewWindow(t.Context(), src, 0)
			defer w.Close()
			search := &seek.Search{Window: w, Recognize: tt.recognize, Start: 4096, End: size}
			ticks := []int64{math.MinInt64, -1, 0, 5, size / 3, size, math.MaxInt64}
			for _, tick := range ticks {
				before, after, err := search.Find(t.Context(), 0, tick)
				switch {
				case err == nil:
					checkOrder(t, tick, before, after)
					if before.Offset < 4096 || after.Offset > size {
						t.Errorf("tick %d: %d and %d are outside", tick, before.Offset, after.Offset)
					}
				case !errors.Is(err, seek.ErrLimit) && !errors.Is(err, seek.ErrDisorder):
					t.Errorf("tick %d: %v", tick, err)
				}
			}
			checkCost(t, search, len(ticks))
		})
	}
}

// Marks that are stated for bytes that were not given are not believed.
func TestMarksElsewhere(t *testing.T) {
	s := steady(1)
	search := open(t, s, s.source())
	search.Recognize = func(off int64, data []byte) ([]seek.Mark, int64) {
		marks, next := s.recognize(off, data)
		if len(marks) > 0 {
			last := marks[len(marks)-1]
			marks = append(marks, seek.Mark{Offset: off + int64(len(data)) + 20, Tick: last.Tick + 10, Until: last.Tick + 900})
			first := marks[0]
			marks = append(marks, seek.Mark{Offset: off - 20, Tick: first.Tick - 10})
		}
		return marks, next
	}
	rng := seeded(2)
	for range 50 {
		checkFind(t, s, search, 0, rng.Int64N(s.duration()))
	}
}

// FuzzSearch lets a recogniser state marks that the input dictates.
func FuzzSearch(f *testing.F) {
	f.Add([]byte("\x01\x02\x03\x04\x05\x06\x07\x08"), int64(1000), int64(4<<20))
	f.Add([]byte("\xff\x00\x80\x7f\x01\x40\x00\x10\x20\x30"), int64(-1), int64(1<<40))
	f.Add([]byte{}, int64(math.MaxInt64), int64(1))
	f.Add([]byte("\x00"), int64(math.MinInt64), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, script []byte, tick, size int64) {
		if size <= 0 {
			return
		}
		src := seektest.Virtual(size, seektest.Fill(func(p []byte, _ int64) { clear(p) }))
		w := seek.NewWindow(t.Context(), src, 0)
		defer w.Close()
		calls := 0
		wild := func(n int) int64 { // a number that the script dictates
			if len(script) == 0 {
				return int64(n)
			}
			b := script[(calls*7+n)%len(script)]
			v := int64(b&0x3f) << (b >> 6 * 19)
			if b%5 == 0 {
				v = -v
			}
			return v
		}
		search := &seek.Search{Window: w, End: size, MaxRounds: 6, Probe: 4096}
		search.Recognize = func(off int64, data []byte) (marks []seek.Mark, next int64) {
			calls++
			for n := range int(wild(0) & 15) {
				at := off + wild(5*n+1)
				marks = append(marks, seek.Mark{
					Stream: int(wild(n) & 1), Offset: at, End: at + wild(5*n+2),
					Tick: at/16 + wild(5*n+3), Until: at + wild(5*n+4),
				})
			}
			return marks, off + wild(2)
		}
		before, after, err := search.Find(t.Context(), 0, tick)
		switch {
		case err == nil:
			checkOrder(t, tick, before, after)
		case !errors.Is(err, seek.ErrLimit) && !errors.Is(err, seek.ErrDisorder):
			t.Error(err)
		}
		checkCost(t, search, 1)
	})
}
