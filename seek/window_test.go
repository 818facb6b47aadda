package seek_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const kiB, miB = 1 << 10, 1 << 20

// pattern is a resource of size bytes that costs no memory.
func pattern(size int64) *seektest.Source {
	return seektest.Virtual(size, seektest.Fill(seektest.Pattern))
}

func newWindow(t *testing.T, s seek.Source, limit int64) *seek.Window {
	w := seek.NewWindow(t.Context(), s, limit)
	t.Cleanup(func() { w.Close() })
	return w
}

func at(off, n int64) seek.Request {
	return seek.Request{Range: seek.Range{Offset: off, Length: n}, Purpose: seek.Index, Note: "test"}
}

func last(n int64) seek.Request { return seek.Request{Range: seek.Suffix(n), Purpose: seek.Tail} }

// expect checks that the window gives the pattern's bytes for each request;
// want are offsets and ends.
func expect(t *testing.T, w *seek.Window, requests []seek.Request, want ...seek.Range) {
	t.Helper()
	got, err := w.Read(t.Context(), requests...)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	for i, r := range want {
		if !bytes.Equal(got[i], seektest.PatternBytes(r.Offset, r.Length)) {
			t.Errorf("%s: wrong bytes (%d, want %d)", requests[i].Range, len(got[i]), r.Length)
		}
	}
}

func rng(off, n int64) seek.Range { return seek.Range{Offset: off, Length: n} }

// What is asked of the source, call after call.
func TestWindowAsks(t *testing.T) {
	const size = 10 * miB
	type call struct {
		requests []seek.Request
		want     []seek.Range
		asks     []string // in any order
	}
	tests := []struct {
		name  string
		size  int64
		setup func(*seektest.Source)
		calls []call
	}{
		{"head and tail at once, then nothing twice", size, nil, []call{
			{[]seek.Request{at(0, 64*kiB), last(64 * kiB)}, []seek.Range{rng(0, 64*kiB), rng(size-64*kiB, 64*kiB)}, []string{"0-65535", "-65536"}},
			{[]seek.Request{at(100, 1000), last(10), at(size-5, 5)}, []seek.Range{rng(100, 1000), rng(size-10, 10), rng(size-5, 5)}, nil},
			{[]seek.Request{at(65000, 1000)}, []seek.Range{rng(65000, 1000)}, []string{"65536-65999"}},
			{[]seek.Request{last(64*kiB + 5)}, []seek.Range{rng(size-64*kiB-5, 64*kiB+5)}, []string{"10420219-10420223"}},
		}},
		{"near neighbours by one request", size, nil, []call{
			{[]seek.Request{at(50000, 10), at(0, 100), at(100+16*kiB, 10), at(20000, 10)}, []seek.Range{rng(50000, 10), rng(0, 100), rng(100+16*kiB, 10), rng(20000, 10)}, []string{"0-20009", "50000-50009"}},
			{[]seek.Request{at(7000, 10)}, []seek.Range{rng(7000, 10)}, nil},
		}},
		{"overlapping ranges of one call", size, nil, []call{
			{[]seek.Request{at(10, 100), at(50, 100), at(20, 10)}, []seek.Range{rng(10, 100), rng(50, 100), rng(20, 10)}, []string{"10-149"}},
		}},
		{"only what lies between", size, nil, []call{
			{[]seek.Request{at(0, 1000), at(100000, 1000)}, nil, []string{"0-999", "100000-100999"}},
			{[]seek.Request{at(500, 100000)}, []seek.Range{rng(500, 100000)}, []string{"1000-99999"}},
		}},
		{"a small resource comes whole with its head", 5000, nil, []call{
			{[]seek.Request{at(0, 64*kiB)}, []seek.Range{rng(0, 5000)}, []string{"0-65535"}},
			{[]seek.Request{last(64 * kiB), at(4000, seek.ToEnd), at(9000, 10), at(4990, 100)}, []seek.Range{rng(0, 5000), rng(4000, 1000), rng(5000, 0), rng(4990, 10)}, nil},
		}},
		{"a small resource comes whole with its tail", 5000, nil, []call{
			{[]seek.Request{last(64 * kiB)}, []seek.Range{rng(0, 5000)}, []string{"-65536"}},
			{[]seek.Request{at(0, 64*kiB)}, []seek.Range{rng(0, 5000)}, nil},
		}},
		{"no suffix ranges: a closed range once the size is known", size, func(s *seektest.Source) { s.NoSuffix = true }, []call{
			{[]seek.Request{at(0, 64*kiB), last(1000)}, []seek.Range{rng(0, 64*kiB), rng(size-1000, 1000)}, []string{"0-65535", "-1000", "10484760-10485759"}},
			{[]seek.Request{last(2000)}, []seek.Range{rng(size-2000, 2000)}, []string{"10483760-10484759"}},
		}},
		{"no suffix ranges, a small resource: the head has the tail", 5000, func(s *seektest.Source) { s.NoSuffix = true }, []call{
			{[]seek.Request{at(0, 64*kiB), last(1000)}, []seek.Range{rng(0, 5000), rng(4000, 1000)}, []string{"0-65535", "-1000"}},
		}},
		{"a size that is never told is learnt from a short answer", 5000, func(s *seektest.Source) { s.Unsized = true }, []call{
			{[]seek.Request{at(0, 1000)}, []seek.Range{rng(0, 1000)}, []string{"0-999"}},
			{[]seek.Request{at(4000, 5000)}, []seek.Range{rng(4000, 1000)}, []string{"4000-8999"}},
			{[]seek.Request{at(4500, 5000), at(6000, 5), last(700)}, []seek.Range{rng(4500, 500), rng(6000, 0), rng(4300, 700)}, nil},
		}},
		{"a size that is never told is learnt from a suffix", 5000, func(s *seektest.Source) { s.Unsized = true }, []call{
			{[]seek.Request{last(100)}, []seek.Range{rng(4900, 100)}, []string{"-100"}},
			{[]seek.Request{at(4950, 5000)}, []seek.Range{rng(4950, 50)}, nil},
		}},
		{"a size that is never told: nothing beyond the end, not asked again", 5000, func(s *seektest.Source) { s.Unsized = true }, []call{
			{[]seek.Request{at(6000, 10)}, []seek.Range{rng(6000, 0)}, []string{"6000-6009"}},
			{[]seek.Request{at(6000, 10), at(7000, seek.ToEnd)}, []seek.Range{rng(6000, 0), rng(7000, 0)}, nil},
			{[]seek.Request{at(4990, 2000)}, []seek.Range{rng(4990, 10)}, []string{"4990-5999"}},
		}},
		{"to the end", 100 * kiB, nil, []call{
			{[]seek.Request{at(1000, seek.ToEnd), at(2000, 5)}, []seek.Range{rng(1000, 101400), rng(2000, 5)}, []string{"1000-"}},
		}},
		{"an empty resource", 0, nil, []call{
			{[]seek.Request{at(0, 10), last(10)}, []seek.Range{rng(0, 0), rng(0, 0)}, []string{"0-9", "-10"}},
			{[]seek.Request{at(0, 10), last(10)}, []seek.Range{rng(0, 0), rng(0, 0)}, nil},
		}},
		{"offsets that overflow", size, nil, []call{
			{[]seek.Request{at(0, 1)}, []seek.Range{rng(0, 1)}, []string{"0-0"}},
			{[]seek.Request{at(1<<63-1, 1<<20), at(1<<63-1, seek.ToEnd), at(size-1, 1<<63-1)}, []seek.Range{rng(0, 0), rng(0, 0), rng(size-1, 1)}, []string{"10485759-10485759"}},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := pattern(tt.size)
			if tt.setup != nil {
				tt.setup(src)
			}
			w := newWindow(t, src, 0)
			for i, c := range tt.calls {
				expect(t, w, c.requests, c.want...)
				got := src.Ranges()
				slices.Sort(got)
				slices.Sort(c.asks)
				if diff := cmp.Diff(c.asks, got); diff != "" {
					t.Errorf("call %d asks:\n%s", i, diff)
				}
				src.Reset()
			}
		})
	}
}

// All that a call lacks is on its way before any of it is answered.
func TestWindowAsksAtOnce(t *testing.T) {
	src := pattern(miB)
	asked := make(chan struct{}, 4)
	answer := make(chan struct{})
	src.Fault = func(ctx context.Context, n int, r seek.Request) seektest.Fault {
		asked <- struct{}{}
		<-answer
		return seektest.Fault{}
	}
	w := newWindow(t, src, 0)
	go func() {
		for range 4 {
			<-asked
		}
		close(answer)
	}()
	expect(t, w, []seek.Request{at(0, 10), last(10), at(300000, 10), at(600000, 10)}, rng(0, 10), rng(miB-10, 10), rng(300000, 10), rng(600000, 10))
	if got := src.MaxConcurrent(); got != 4 {
		t.Errorf("%d at a time, want 4", got)
	}
}

// Thousands of far ranges are not thousands of requests at a time.
func TestWindowBoundsRequestsAtATime(t *testing.T) { synctest.Test(t, testWindowBoundsRequestsAtATime) }

func testWindowBoundsRequestsAtATime(t *testing.T) {
	src := pattern(1 << 30)
	src.Latency = time.Millisecond
	w := newWindow(t, src, 0)
	var requests []seek.Request
	for i := range int64(500) {
		requests = append(requests, at(i*miB, 10))
	}
	if _, err := w.Read(t.Context(), requests...); err != nil {
		t.Fatal(err)
	}
	if got := src.MaxConcurrent(); got > 16 {
		t.Errorf("%d at a time", got)
	}
}

// blocked is a Fault that holds the requests back for which it is asked to,
// until release is called.
func blocked(hold func(r seek.Request) bool) (fault func(context.Context, int, seek.Request) seektest.Fault, release func()) {
	gate := make(chan struct{})
	fault = func(ctx context.Context, n int, r seek.Request) seektest.Fault {
		if hold(r) {
			select {
			case <-gate:
			case <-ctx.Done():
			}
		}
		return seektest.Fault{}
	}
	return fault, sync.OnceFunc(func() { close(gate) })
}

func TestWindowHeadDoesNotWaitForTail(t *testing.T) {
	synctest.Test(t, testWindowHeadDoesNotWaitForTail)
}

func testWindowHeadDoesNotWaitForTail(t *testing.T) {
	for _, size := range []int64{5000, 10 * miB} {
		src := pattern(size)
		fault, release := blocked(func(r seek.Request) bool { return r.Offset < 0 })
		src.Fault = fault
		w := newWindow(t, src, 0)
		w.Prefetch(at(0, 64*kiB), last(64*kiB))
		n := min(size, 64*kiB)
		expect(t, w, []seek.Request{at(0, 64*kiB)}, rng(0, n)) // would hang
		release()
		expect(t, w, []seek.Request{last(100)}, rng(size-100, 100))
		synctest.Wait()
		if got := src.Ranges(); len(got) != 2 {
			t.Errorf("size %d: asked %v", size, got)
		}
	}
}

// A range into a tail that is on its way waits for it rather than ask again.
func TestWindowJoinsWhatIsOnItsWay(t *testing.T) { synctest.Test(t, testWindowJoinsWhatIsOnItsWay) }

func testWindowJoinsWhatIsOnItsWay(t *testing.T) {
	src := pattern(100 * kiB)
	fault, release := blocked(func(r seek.Request) bool { return r.Offset != 0 })
	src.Fault = fault
	w := newWindow(t, src, 0)
	w.Prefetch(at(0, 64*kiB), last(64*kiB))
	expect(t, w, []seek.Request{at(0, 10)}, rng(0, 10))
	done := make(chan struct{})
	go func() {
		defer close(done)
		expect(t, w, []seek.Request{at(0, 100*kiB), at(90*kiB, 10)}, rng(0, 100*kiB), rng(90*kiB, 10))
	}()
	synctest.Wait()
	release()
	<-done
	if diff := cmp.Diff([]string{"0-65535", "-65536"}, src.Ranges(), cmp.Transformer("sort", func(s []string) []string { return slices.Sorted(slices.Values(s)) })); diff != "" {
		t.Error(diff)
	}
}

func TestWindowFetchSurvivesItsFirstCaller(t *testing.T) {
	synctest.Test(t, testWindowFetchSurvivesItsFirstCaller)
}

func testWindowFetchSurvivesItsFirstCaller(t *testing.T) {
	src := pattern(miB)
	fault, release := blocked(func(seek.Request) bool { return true })
	src.Fault = fault
	w := newWindow(t, src, 0)
	ctx, cancel := context.WithCancelCause(t.Context())
	first := make(chan error)
	go func() {
		_, err := w.Read(ctx, at(0, 1000))
		first <- err
	}()
	synctest.Wait()
	second := make(chan struct{})
	go func() {
		defer close(second)
		expect(t, w, []seek.Request{at(10, 100)}, rng(10, 100))
	}()
	synctest.Wait()
	gone := errors.New("gone")
	cancel(gone)
	if err := <-first; err != gone {
		t.Errorf("cancelled caller: %v, want its own cause", err)
	}
	release()
	<-second
	if got := src.Ranges(); len(got) != 1 {
		t.Errorf("asked %v, want one request", got)
	}
}

// A Window outlives the context that it was made with, as far as values go.
func TestWindowOutlivesItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := seek.NewWindow(ctx, pattern(miB), 0)
	defer w.Close()
	cancel()
	expect(t, w, []seek.Request{at(0, 100)}, rng(0, 100))
}

func TestWindowFailures(t *testing.T) {
	broken := errors.New("broken")
	failing := func(fault seektest.Fault, hit func(n int, r seek.Request) bool) func(context.Context, int, seek.Request) seektest.Fault {
		return func(_ context.Context, n int, r seek.Request) seektest.Fault {
			if hit(n, r) {
				return fault
			}
			return seektest.Fault{}
		}
	}
	first := func(n int, _ seek.Request) bool { return n == 0 }
	suffix := func(_ int, r seek.Request) bool { return r.Offset < 0 }

	t.Run("of a prefetch is forgotten", func(t *testing.T) {
		src := pattern(miB)
		src.Fault = failing(seektest.Fault{Err: broken}, first)
		w := newWindow(t, src, 0)
		w.Prefetch(at(0, 100))
		expect(t, w, []seek.Request{at(0, 100)}, rng(0, 100))
	})
	t.Run("of one's own is told, and not remembered", func(t *testing.T) {
		src := pattern(miB)
		src.Fault = failing(seektest.Fault{Err: broken}, first)
		w := newWindow(t, src, 0)
		if _, err := w.Read(t.Context(), at(0, 100)); !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
		expect(t, w, []seek.Request{at(0, 100)}, rng(0, 100))
	})
	t.Run("of a suffix leaves the head alone and is made good by a closed range", func(t *testing.T) {
		src := pattern(miB)
		src.Fault = failing(seektest.Fault{Err: broken}, suffix)
		w := newWindow(t, src, 0)
		w.Prefetch(last(100))
		expect(t, w, []seek.Request{at(0, 100)}, rng(0, 100))
		expect(t, w, []seek.Request{last(100)}, rng(miB-100, 100))
		src.Reset()
		w = newWindow(t, src, 0)
		expect(t, w, []seek.Request{last(100), at(0, 100)}, rng(miB-100, 100), rng(0, 100))
	})
	t.Run("of a suffix alone, with no size to go by", func(t *testing.T) {
		src := pattern(miB)
		src.NoSuffix = true
		w := newWindow(t, src, 0)
		if _, err := w.Read(t.Context(), last(100)); !errors.Is(err, seek.ErrNoRanges) {
			t.Errorf("%v", err)
		}
	})
	t.Run("in a body says where", func(t *testing.T) {
		src := pattern(miB)
		src.Fault = failing(seektest.BreakAfter(40, broken), first)
		w := newWindow(t, src, 0)
		_, err := w.Read(t.Context(), at(1000, 100))
		var where *seek.ReadError
		if !errors.Is(err, broken) || !errors.As(err, &where) || where.Offset != 1040 || where.Name != "mem:resource" {
			t.Errorf("%v", err)
		}
	})
	t.Run("a body that is silently short", func(t *testing.T) {
		src := pattern(miB)
		src.Fault = failing(seektest.BreakAfter(40, nil), func(int, seek.Request) bool { return true })
		w := newWindow(t, src, 0)
		for _, r := range []seek.Request{at(1000, 100), last(100), at(1000, seek.ToEnd)} {
			if _, err := w.Read(t.Context(), r); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s: %v", r.Range, err)
			}
		}
	})
	t.Run("an answer from elsewhere", func(t *testing.T) {
		w := newWindow(t, shifted{pattern(miB)}, 0)
		if _, err := w.Read(t.Context(), at(1000, 100)); !errors.Is(err, seek.ErrUnavailable) {
			t.Errorf("%v", err)
		}
	})
}

// shifted answers one byte off.
type shifted struct{ seek.Source }

func (s shifted) Open(ctx context.Context, r seek.Request) (*seek.Body, error) {
	r.Offset++
	return s.Source.Open(ctx, r)
}

func TestWindowLimit(t *testing.T) {
	const limit = 100 * kiB
	t.Run("refused", func(t *testing.T) {
		for _, r := range [][]seek.Request{
			{at(0, limit+1)}, {at(0, 1<<62)}, {last(limit + 1)}, {at(0, limit/2), at(500*kiB, limit/2+1)}, {at(0, seek.ToEnd)},
		} {
			src := pattern(miB)
			w := newWindow(t, src, limit)
			if _, err := w.Read(t.Context(), r...); !errors.Is(err, seek.ErrLimit) {
				t.Errorf("%v: %v", r, err)
			}
			if got := src.Delivered(); got > limit+1 {
				t.Errorf("%v: %d bytes read", r, got)
			}
		}
	})
	t.Run("to an end that nobody told", func(t *testing.T) {
		src := pattern(miB)
		src.Unsized = true
		w := newWindow(t, src, limit)
		if _, err := w.Read(t.Context(), at(0, seek.ToEnd)); !errors.Is(err, seek.ErrLimit) {
			t.Errorf("%v", err)
		}
		if got := src.Delivered(); got > limit+1 {
			t.Errorf("%d bytes read", got)
		}
	})
	t.Run("all of it", func(t *testing.T) {
		w := newWindow(t, pattern(limit), limit)
		expect(t, w, []seek.Request{at(0, seek.ToEnd)}, rng(0, limit))
	})
	t.Run("what was not used for longest goes first", func(t *testing.T) {
		src := pattern(100 * miB)
		w := newWindow(t, src, limit)
		for i := range int64(5) {
			expect(t, w, []seek.Request{at(i*miB, 20*kiB)}, rng(i*miB, 20*kiB))
		}
		expect(t, w, []seek.Request{at(0, 10)}, rng(0, 10)) // used again
		expect(t, w, []seek.Request{at(9*miB, 20*kiB)}, rng(9*miB, 20*kiB))
		for i, want := range []bool{true, false, true, true, true} {
			if _, held := w.Held(rng(int64(i)*miB, 20*kiB)); held != want {
				t.Errorf("piece %d held: %v", i, held)
			}
		}
	})
	t.Run("a call keeps what it waits for", func(t *testing.T) {
		src := pattern(100 * miB)
		w := newWindow(t, src, limit)
		var wg sync.WaitGroup
		for i := range int64(8) { // more than the window keeps
			wg.Go(func() {
				expect(t, w, []seek.Request{at(i*miB, 45*kiB), at(i*miB+300*kiB, 45*kiB)}, rng(i*miB, 45*kiB), rng(i*miB+300*kiB, 45*kiB))
			})
		}
		wg.Wait()
		if got := len(src.Requests()); got != 16 {
			t.Errorf("%d requests for 16 ranges", got)
		}
	})
}

// What a call has found held stays with it, though the window drops it.
func TestWindowCallKeepsWhatWasHeld(t *testing.T) { synctest.Test(t, testWindowCallKeepsWhatWasHeld) }

func testWindowCallKeepsWhatWasHeld(t *testing.T) {
	src := pattern(100 * miB)
	w := newWindow(t, src, 100*kiB)
	expect(t, w, []seek.Request{at(0, 45*kiB)}, rng(0, 45*kiB))
	fault, release := blocked(func(r seek.Request) bool { return r.Offset == 45*kiB })
	src.Fault = fault
	done := make(chan struct{})
	go func() {
		defer close(done)
		expect(t, w, []seek.Request{at(0, 90*kiB)}, rng(0, 90*kiB))
	}()
	synctest.Wait()
	for i := range int64(3) {
		expect(t, w, []seek.Request{at((1+i)*miB, 45*kiB)}, rng((1+i)*miB, 45*kiB))
	}
	if _, held := w.Held(rng(0, 45*kiB)); held {
		t.Fatal("the test does not make the window drop it")
	}
	release()
	<-done
	if got := src.Ranges(); len(got) != 5 {
		t.Errorf("asked %v", got)
	}
}

func TestWindowHeld(t *testing.T) {
	w := newWindow(t, pattern(miB), 0)
	if _, ok := w.Held(rng(0, 10)); ok {
		t.Error("held before it was read")
	}
	expect(t, w, []seek.Request{at(0, 1000)}, rng(0, 1000))
	expect(t, w, []seek.Request{at(1000, 1000)}, rng(1000, 1000))
	if got, ok := w.Held(rng(500, 1000)); !ok || !bytes.Equal(got, seektest.PatternBytes(500, 1000)) {
		t.Errorf("over two reads: %d bytes, %v", len(got), ok)
	}
	if _, ok := w.Held(rng(1500, 501)); ok {
		t.Error("held beyond what was read")
	}
	if got, ok := w.Held(rng(2*miB, 5)); !ok || len(got) != 0 {
		t.Errorf("beyond the end: %d bytes, %v", len(got), ok)
	}
}

func TestWindowGrowing(t *testing.T) {
	src := pattern(1000)
	src.Growing = true
	w := newWindow(t, src, 0)
	expect(t, w, []seek.Request{at(0, 100)}, rng(0, 100))
	src.Change(2000, seektest.Fill(seektest.Pattern), `"2"`)
	expect(t, w, []seek.Request{at(900, 1000)}, rng(900, 100)) // the size that is known
	if got := w.Info().Size; got != 2000 {
		t.Errorf("size %d after an answer that tells 2000", got)
	}
	expect(t, w, []seek.Request{at(900, 1000), last(10)}, rng(900, 1000), rng(1990, 10))
	src.Change(3000, seektest.Fill(seektest.Pattern), `"3"`)
	if err := w.Refresh(t.Context()); err != nil || w.Info().Size != 3000 {
		t.Errorf("size %d (%v) after a request for it, want 3000", w.Info().Size, err)
	}
	src.NoSuffix = true
	src.Change(4000, seektest.Fill(seektest.Pattern), `"4"`)
	if err := w.Refresh(t.Context()); err != nil || w.Info().Size != 4000 {
		t.Errorf("size %d (%v) without ranges from the end, want 4000", w.Info().Size, err)
	}
}

func TestWindowClose(t *testing.T) { synctest.Test(t, testWindowClose) }

func testWindowClose(t *testing.T) {
	src := pattern(miB)
	src.Fault = func(ctx context.Context, _ int, _ seek.Request) seektest.Fault {
		<-ctx.Done()
		time.Sleep(20 * time.Millisecond) // a source that takes its time to end
		return seektest.Fault{}
	}
	w := seek.NewWindow(t.Context(), src, 0)
	failed := make(chan error)
	go func() {
		_, err := w.Read(context.Background(), at(0, 100))
		failed <- err
	}()
	synctest.Wait()
	w.Close()
	if got := src.Unfinished(); got != 0 {
		t.Errorf("%d requests under way after Close", got)
	}
	if err := <-failed; !errors.Is(err, seek.ErrClosed) {
		t.Errorf("a Read under way: %v", err)
	}
	if _, err := w.Read(t.Context(), at(0, 100)); !errors.Is(err, seek.ErrClosed) {
		t.Errorf("Read after Close: %v", err)
	}
	if _, err := w.Open(t.Context(), at(0, 100)); !errors.Is(err, seek.ErrClosed) {
		t.Errorf("Open after Close: %v", err)
	}
	w.Prefetch(at(5, 5))
	w.Close()
	if got := len(src.Requests()); got != 1 {
		t.Errorf("%d requests", got)
	}
}

func TestWindowOpen(t *testing.T) {
	const size = 10 * miB
	tests := []struct {
		name string
		ask  seek.Request
		want seek.Range
		asks []string
	}{
		{"nothing held", at(miB, 100*kiB), rng(miB, 100*kiB), []string{"1048576-1150975"}},
		{"beginning held", at(60*kiB, 100*kiB), rng(60*kiB, 100*kiB), []string{"65536-163839"}},
		{"end held", at(size-100*kiB, 100*kiB), rng(size-100*kiB, 100*kiB), []string{"10383360-10420223"}},
		{"both held", at(1, 4*miB), rng(1, 4*miB), []string{"65536-4194304"}},
		{"all held", at(5, 100), rng(5, 100), nil},
		{"all held, in two pieces", at(3*miB, 2000), rng(3*miB, 2000), nil},
		{"a hole in the middle is filled", at(3*miB-10, 2020), rng(3*miB-10, 2020), []string{"3145718-3147737"}},
		{"a long one in the middle is not asked for again", at(4*miB, miB), rng(4*miB, miB), []string{"4194304-4653055", "4718592-5242879"}},
		{"the two longest of the middle, all at once", at(4*miB, 5*miB), rng(4*miB, 5*miB), []string{"4194304-4653055", "4718592-7340031", "7415808-9437183"}},
		{"a suffix", last(100 * kiB), rng(size-100*kiB, 100*kiB), []string{"10383360-10420223"}},
		{"to the end", at(size-10, seek.ToEnd), rng(size-10, 10), nil},
		{"past the end", at(size+1, 10), rng(size, 0), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := pattern(size)
			w := newWindow(t, src, 0)
			expect(t, w, []seek.Request{at(0, 64*kiB), last(64 * kiB), at(3*miB, 1000)})
			expect(t, w, []seek.Request{at(3*miB+1000, 1000)})
			expect(t, w, []seek.Request{at(4*miB+448*kiB, 32*kiB), at(6*miB, 64*kiB), at(7*miB, 74*kiB)})
			expect(t, w, []seek.Request{at(4*miB+480*kiB, 32*kiB)})
			src.Reset()
			b, err := w.Open(t.Context(), tt.ask)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(b)
			b.Close()
			if err != nil || b.Offset != tt.want.Offset || b.Size != size || !bytes.Equal(got, seektest.PatternBytes(tt.want.Offset, tt.want.Length)) {
				t.Errorf("%d bytes from %d of %d, %v", len(got), b.Offset, b.Size, err)
			}
			asks := src.Ranges()
			slices.Sort(asks) // those of one call come in any order
			if diff := cmp.Diff(tt.asks, asks); diff != "" {
				t.Error(diff)
			}
			if n := src.Unfinished(); n != 0 {
				t.Errorf("%d bodies left open", n)
			}
		})
	}
}

func TestWindowOpenGivesHeldBytesBeforeTheSourceAnswers(t *testing.T) {
	src := pattern(miB)
	w := newWindow(t, src, 0)
	expect(t, w, []seek.Request{at(0, 1000)})
	fault, release := blocked(func(seek.Request) bool { return true })
	src.Fault = fault
	b, err := w.Open(t.Context(), at(0, 5000))
	if err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 1000)
	if _, err := io.ReadFull(b, head); err != nil || !bytes.Equal(head, seektest.PatternBytes(0, 1000)) {
		t.Errorf("held bytes: %v", err)
	}
	release()
	if rest, err := io.ReadAll(b); err != nil || !bytes.Equal(rest, seektest.PatternBytes(1000, 4000)) {
		t.Errorf("the rest: %d bytes, %v", len(rest), err)
	}
	b.Close()

	// Closed while the source has not answered.
	fault, _ = blocked(func(seek.Request) bool { return true })
	src.Fault = fault
	if b, err = w.Open(t.Context(), at(0, 5000)); err != nil {
		t.Fatal(err)
	}
	b.Close()
	if n := src.Unfinished(); n != 0 {
		t.Errorf("%d requests left under way", n)
	}
}

// TestWindowOpenAsksAtOnce: the requests around what is held do not wait for each
// other.
func TestWindowOpenAsksAtOnce(t *testing.T) {
	seektest.Counted(t, "one round trip", func(t *testing.T) {
		src := pattern(miB)
		src.Latency = 50 * time.Millisecond
		w := newWindow(t, src, 0)
		expect(t, w, []seek.Request{at(200*kiB, 70*kiB), at(500*kiB, 70*kiB)})
		asked := time.Now()
		b, err := w.Open(t.Context(), at(0, miB))
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		got, err := io.ReadAll(b)
		if err != nil || !bytes.Equal(got, seektest.PatternBytes(0, miB)) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if took := time.Since(asked); took != src.Latency {
			t.Errorf("took %v, want one round trip of %v", took, src.Latency)
		}
	})
}

func TestWindowOpenFailures(t *testing.T) {
	broken := errors.New("broken")
	for _, held := range []bool{true, false} {
		src := pattern(miB)
		w := newWindow(t, src, 0)
		expect(t, w, []seek.Request{last(1000)})
		if held {
			expect(t, w, []seek.Request{at(miB-5000, 100)})
		}
		src.Fault = func(context.Context, int, seek.Request) seektest.Fault { return seektest.BreakAfter(50, nil) }
		b, err := w.Open(t.Context(), at(miB-5000, 5000))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(b)
		b.Close()
		want := 50
		if held {
			want += 100
		}
		// The held end must not follow.
		if !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.Equal(got, seektest.PatternBytes(miB-5000, int64(want))) {
			t.Errorf("silently short: %d bytes, %v", len(got), err)
		}
		if !strings.Contains(err.Error(), "mem:resource at byte ") {
			t.Errorf("it does not say where: %v", err)
		}
		src.Fault = func(context.Context, int, seek.Request) seektest.Fault { return seektest.Fault{Err: broken} }
		b, err = w.Open(t.Context(), at(miB-5000, 5000))
		if held {
			_, err = io.ReadAll(b)
			b.Close()
		}
		if !errors.Is(err, broken) {
			t.Errorf("no answer: %v", err)
		}
	}
}

func TestWindowConcurrent(t *testing.T) {
	src := pattern(4 * miB)
	w := newWindow(t, src, 256*kiB)
	var wg sync.WaitGroup
	for g := range int64(8) {
		wg.Go(func() {
			for i := range int64(60) {
				off := (g*7919 + i*i*104729) % (4 * miB)
				n := min(20*kiB, 4*miB-off)
				expect(t, w, []seek.Request{at(off, n), last(10 + i)}, rng(off, n), rng(4*miB-10-i, 10+i))
			}
		})
	}
	wg.Wait()
}

func BenchmarkWindowReadHeld(b *testing.B) {
	w := seek.NewWindow(b.Context(), pattern(10*miB), 0)
	defer w.Close()
	if _, err := w.Read(b.Context(), at(0, miB), at(3*miB, miB)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := w.ReadRange(b.Context(), rng(int64(i%1000)*1000, 1000), seek.Index, ""); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWindowReadFetch(b *testing.B) {
	src := pattern(1 << 40)
	w := seek.NewWindow(b.Context(), src, 8*miB)
	defer w.Close()
	b.ReportAllocs()
	b.SetBytes(64 * kiB)
	for i := 0; b.Loop(); i++ {
		if _, err := w.ReadRange(b.Context(), rng(int64(i)*100*kiB, 64*kiB), seek.Index, ""); err != nil {
			b.Fatal(err)
		}
	}
}

// What is to come in one round trip does not wait for slots: no range is answered
// before all are asked for.
func TestWindowReadsAtOnce(t *testing.T) { synctest.Test(t, testWindowReadsAtOnce) }

func testWindowReadsAtOnce(t *testing.T) {
	const n = 64
	src := pattern(1 << 30)
	all := make(chan struct{})
	src.Fault = func(_ context.Context, i int, _ seek.Request) seektest.Fault {
		if i == n-1 {
			close(all)
		}
		select {
		case <-all:
			return seektest.Fault{}
		case <-time.After(10 * time.Second):
			return seektest.Fault{Err: errors.New("it waits for others")}
		}
	}
	w := newWindow(t, src, 0)
	var requests []seek.Request
	for i := range int64(n) {
		requests = append(requests, at(i*miB, 10))
	}
	got, err := w.ReadAtOnce(t.Context(), requests...)
	if err != nil {
		t.Fatal(err)
	}
	for i, data := range got {
		if want := seektest.PatternBytes(int64(i)*miB, 10); !bytes.Equal(data, want) {
			t.Fatalf("range %d: %x, want %x", i, data, want)
		}
	}
}
