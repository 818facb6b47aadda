package seek_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

// checkFind searches and compares with the truth.
func checkFind(tb testing.TB, s *stream, search *seek.Search, stream int, tick int64) {
	tb.Helper()
	before, after, err := search.Find(tb.Context(), stream, tick)
	if err != nil {
		tb.Errorf("%s: tick %d: %v", s.name, tick, err)
		return
	}
	wantBefore, wantAfter := s.neighbours(stream, tick)
	if before.Offset != wantBefore.off || after.Offset != wantAfter.off || before.Tick != wantBefore.tick || after.Tick != wantAfter.tick {
		tb.Errorf("%s: tick %d: between %d (%d) and %d (%d), want %d (%d) and %d (%d)", s.name, tick,
			before.Offset, before.Tick, after.Offset, after.Tick, wantBefore.off, wantBefore.tick, wantAfter.off, wantAfter.tick)
	}
}

// open is stream.open with a Window that is closed when the test ends.
func open(t *testing.T, s *stream, src seek.Source) *seek.Search {
	search := s.open(t, src)
	t.Cleanup(func() { search.Window.Close() })
	return search
}

func TestFindReturnsTheNeighbours(t *testing.T) {
	for _, s := range allStreams() {
		t.Run(s.name, func(t *testing.T) {
			search := open(t, s, s.source())
			rng := seeded(99)
			last := s.duration()
			ticks := []int64{math.MinInt64, -1, 0, 1, s.elements[0].tick, last - 1, last, last + 1, math.MaxInt64 - 1}
			for range 40 {
				ticks = append(ticks, rng.Int64N(last))
			}
			for _, tick := range ticks {
				for stream := range s.streams() {
					checkFind(t, s, search, stream, tick)
				}
			}
		})
	}
}

// What a probe read is read once, by requests that say what they are.
func TestNothingIsReadTwice(t *testing.T) {
	s := video(1)
	src := s.source()
	search := open(t, s, src)
	opened := len(src.Requests())
	rng := seeded(3)
	for range 50 {
		checkFind(t, s, search, 0, rng.Int64N(s.duration()))
	}
	read := map[int64]int64{} // from, to
	for i, r := range src.Requests() {
		if i >= opened && (r.Purpose != seek.Probe || len(r.Note) < len("round 1") || r.Note[:6] != "round ") {
			t.Errorf("request %s: purpose %q, note %q", r.Range, r.Purpose, r.Note)
		}
		for from, to := range read {
			if r.Range.Offset < to && from < r.End() {
				t.Errorf("request %s overlaps %d-%d", r.Range, from, to-1)
			}
		}
		read[r.Range.Offset] = r.End()
	}
	stats := search.Stats()
	edges := int64(2 * edge)
	// Near neighbours come by one request, with the bytes between.
	if got := src.Delivered() - edges; got < stats.Bytes || got > stats.Bytes+stats.Bytes/10 {
		t.Errorf("%d bytes were read, %d stated", got, stats.Bytes)
	}
	if stats.Finds != 50 || stats.Rounds < 50/2 || stats.Probes < stats.Rounds || stats.Most > budget.SearchMost {
		t.Errorf("%+v", stats)
	}
}

// A second search for the same time needs nothing.
func TestMarksAreRemembered(t *testing.T) {
	s := music(1)
	search := open(t, s, s.source())
	checkFind(t, s, search, 0, 1_800_500)
	was := search.Stats()
	checkFind(t, s, search, 0, 1_800_900)
	if now := search.Stats(); now.Rounds != was.Rounds || now.Bytes != was.Bytes || now.Finds != 2 {
		t.Errorf("%+v after %+v", now, was)
	}
}

// Marks that are known from elsewhere count as those that were found.
func TestAddedMarks(t *testing.T) {
	s := fragments("added", 250e3, 0.3, true, false)
	plain, told := open(t, s, s.source()), open(t, s, s.source())
	i, j := 300, 303
	told.Add(s.mark(i), s.mark(j))
	told.Add(seek.Mark{Offset: -5, Tick: s.elements[i+1].tick}, seek.Mark{Offset: s.size, Tick: s.elements[i+1].tick})
	tick := s.elements[i+1].tick
	checkFind(t, s, plain, 0, tick)
	checkFind(t, s, told, 0, tick)
	if told.Stats().Rounds > 2 || told.Stats().Bytes >= plain.Stats().Bytes {
		t.Errorf("%+v between marks three elements apart, %+v without", told.Stats(), plain.Stats())
	}
}

// Two neighbours that state where they end need no look.
func TestAddedNeighbours(t *testing.T) {
	s := fragments("added", 250e3, 0.3, false, false)
	search := open(t, s, s.source())
	search.Add(s.mark(300), s.mark(301))
	checkFind(t, s, search, 0, s.elements[300].tick+1)
	if got := search.Stats(); got.Rounds != 0 || got.Bytes != 0 {
		t.Errorf("%+v, want no round", got)
	}
}

// Bytes that belong to nothing, before a mark that is known already, do not keep
// a search from seeing that it has read all there is.
func TestHoleBeforeAKnownMark(t *testing.T) {
	s := holes(1)
	for i := 1004; i < 1100; i += 5 { // a hole follows each
		search := open(t, s, s.source())
		after := s.elements[i+1]
		data, err := search.Window.ReadRange(t.Context(), seek.Range{Offset: after.off, Length: edge}, seek.Probe, "")
		if err != nil {
			t.Fatal(err)
		}
		search.Scan(after.off, data)
		checkFind(t, s, search, 0, s.elements[i].tick)
	}
}

// The searches for the two ends of an interval share what they read.
func TestFindsShare(t *testing.T) { synctest.Test(t, testFindsShare) }

func testFindsShare(t *testing.T) {
	s := music(2)
	rng := seeded(5)
	var one, two int64
	for range 40 {
		a := rng.Int64N(s.duration() - 10*second)
		alone := s.open(t, s.source())
		checkFind(t, s, alone, 0, a)
		one += alone.Stats().Bytes
		alone.Window.Close()

		src := s.source()
		src.Latency = 2 * time.Millisecond
		both := s.open(t, src)
		var wg sync.WaitGroup
		for _, tick := range []int64{a, a + 10*second} {
			wg.Go(func() { checkFind(t, s, both, 0, tick) })
			time.Sleep(src.Latency / 2) // the second begins while the first is under way
		}
		wg.Wait()
		two += both.Stats().Bytes
		both.Window.Close()
	}
	t.Logf("%d KiB for one end, %d KiB for both", one/40/1024, two/40/1024)
	if float64(two) > budget.SearchShared*float64(one) {
		t.Errorf("both ends read %d KiB, one %d KiB: more than %.1f times", two/40/1024, one/40/1024, budget.SearchShared)
	}
}

// A Find that is cancelled returns, and others go on with what it asked for.
func TestCancelledFind(t *testing.T) { synctest.Test(t, testCancelledFind) }

func testCancelledFind(t *testing.T) {
	s := steady(1)
	src := s.source()
	stall := make(chan struct{})
	asked := make(chan struct{}, 100)
	src.Fault = func(_ context.Context, n int, r seek.Request) seektest.Fault {
		if r.Purpose != seek.Probe {
			return seektest.Fault{}
		}
		asked <- struct{}{}
		return seektest.Fault{Stall: stall}
	}
	search := open(t, s, src)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, _, err := search.Find(ctx, 0, 1_800_500)
		ended <- err
	}()
	<-asked
	var wg sync.WaitGroup
	wg.Go(func() { checkFind(t, s, search, 0, 1_800_500) })
	synctest.Wait() // the second waits for the first's probe
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
	close(stall)
	wg.Wait()
	seen := map[string]bool{}
	for _, r := range src.Ranges() {
		if seen[r] {
			t.Errorf("%s was asked for again: %v", r, src.Ranges())
		}
		seen[r] = true
	}
}

// A source that fails makes Find fail, with its error.
func TestFailedProbe(t *testing.T) {
	s := steady(1)
	src := s.source()
	broken := errors.New("broken")
	src.Fault = func(_ context.Context, n int, r seek.Request) seektest.Fault {
		if r.Purpose == seek.Probe {
			return seektest.Fault{Err: broken}
		}
		return seektest.Fault{}
	}
	if _, _, err := open(t, s, src).Find(t.Context(), 0, 1_800_500); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}

// A Search that has seen more marks than it keeps forgets some, and still finds.
func TestForgottenMarks(t *testing.T) {
	s := &stream{name: "tiny", probe: 64 << 10}
	for n := range int64(300_000) {
		s.append(n, 40)
	}
	search := open(t, s, s.source())
	for tick := int64(0); tick < 300_000; tick += 1117 {
		checkFind(t, s, search, 0, tick)
	}
	for tick := int64(500); tick < 300_000; tick += 11171 {
		checkFind(t, s, search, 0, tick)
	}
}
