package seek_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

// xor is a Rewriter of the same length: it changes each byte by its place in
// the part. Like a rewriter of pages, it begins to read at a block's beginning
// and reads whole blocks.
type xor struct {
	Key   byte
	Block int64
}

func (xor) Name() string { return "xor" }

func (x xor) Rewrite(ctx context.Context, in seek.Input, off int64) (io.ReadCloser, error) {
	from := off / x.Block * x.Block
	body, err := in.Open(ctx, from, seek.ToEnd)
	if err != nil {
		return nil, err
	}
	return &xorReader{x: x, body: body, at: from, skip: off - from}, nil
}

type xorReader struct {
	x        xor
	body     io.ReadCloser
	at, skip int64
	left     []byte
}

func (r *xorReader) Close() error { return r.body.Close() }

func (r *xorReader) Read(p []byte) (int, error) {
	for len(r.left) == 0 {
		block := make([]byte, r.x.Block)
		n, err := io.ReadFull(r.body, block)
		if err == io.EOF || n == 0 && err == io.ErrUnexpectedEOF {
			return 0, io.EOF
		} else if err != nil && err != io.ErrUnexpectedEOF {
			return 0, err
		}
		r.left = r.x.apply(block[:n], r.at)
		r.at += int64(n)
		skip := min(r.skip, int64(n))
		r.left, r.skip = r.left[skip:], r.skip-skip
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

func (x xor) apply(b []byte, at int64) []byte {
	for i := range b {
		b[i] ^= x.Key + byte(at) + byte(i)
	}
	return b
}

// double is a Rewriter that writes each byte twice: its length is computed.
type double struct{}

func (double) Name() string { return "double" }

func (double) Rewrite(ctx context.Context, in seek.Input, off int64) (io.ReadCloser, error) {
	body, err := in.Open(ctx, off/2, seek.ToEnd)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(body)
	body.Close()
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(twice(b)[off%2:])), nil
}

func twice(b []byte) []byte {
	out := make([]byte, 0, 2*len(b))
	for _, c := range b {
		out = append(out, c, c)
	}
	return out
}

// opener is two resources of the same pattern.
func opener(size int64) seektest.Opener {
	o := seektest.Opener{}
	for _, name := range []string{"mem:a", "mem:b"} {
		o[name] = pattern(size)
		o[name].Info.Name = name
	}
	return o
}

func (p *plan) info(o seektest.Opener, name string) *seek.Info {
	i := o[name].Info
	return &i
}

// plan is parts and the bytes they are to give.
type plan struct {
	parts []seek.Part
	want  []byte
	sized bool
}

func (p *plan) literal(b []byte) {
	p.parts = append(p.parts, seek.Literal(b, "literal"))
	p.want = append(p.want, b...)
}

func (p *plan) bytes(i *seek.Info, off, n int64) {
	p.parts = append(p.parts, seek.Bytes(i, rng(off, n), "bytes"))
	p.want = append(p.want, seektest.PatternBytes(off, n)...)
}

func (p *plan) rewritten(i *seek.Info, off, n int64, rw seek.Rewriter, sized bool) {
	part := seek.Bytes(i, rng(off, n), "rewritten")
	part.Rewrite = rw
	b := seektest.PatternBytes(off, n)
	switch rw := rw.(type) {
	case xor:
		b = rw.apply(b, 0)
	case double:
		b = twice(b)
	}
	part.Size = int64(len(b))
	if !sized {
		part.Size = -1
		p.sized = false
	}
	p.parts = append(p.parts, part)
	p.want = append(p.want, b...)
}

// drawn returns a random number in [0, n).
func drawn(t *rapid.T, n int64) int64 { return rapid.Int64Range(0, n-1).Draw(t, "n") }

// randomPlan makes a plan that has all kinds of parts.
func randomPlan(t *rapid.T, o seektest.Opener, size int64) *plan {
	p := &plan{sized: true}
	unsized := drawn(t, 4) == 0
	at := drawn(t, size)
	for range drawn(t, 30) {
		name := []string{"mem:a", "mem:a", "mem:a", "mem:b"}[drawn(t, 4)]
		if drawn(t, 4) == 3 || at >= size {
			at = drawn(t, size)
		}
		n := drawn(t, min(size-at, []int64{2, 100, 5000, size}[drawn(t, 4)])+1)
		switch drawn(t, 10) {
		case 0, 1, 2:
			p.bytes(p.info(o, name), at, n)
		case 3:
			block := []int64{1 + drawn(t, 20), 4096 + drawn(t, 70000)}[min(1, n/1000)]
			p.rewritten(p.info(o, name), at, n, xor{byte(at), block}, !unsized)
		case 4:
			p.rewritten(p.info(o, name), at, n, double{}, !unsized)
		case 5:
			if unsized {
				part := seek.Bytes(p.info(o, name), rng(at, seek.ToEnd), "to the end")
				p.parts, p.sized = append(p.parts, part), false
				p.want = append(p.want, seektest.PatternBytes(at, size-at)...)
				n = size - at
			}
		case 6, 7, 8:
			p.literal(seektest.PatternBytes(drawn(t, 1000), drawn(t, 300)))
			continue
		default: // a gap
		}
		at += n + drawn(t, 2)*drawn(t, min(size, 9000))
	}
	return p
}

func newReader(t testing.TB, p *plan, o seek.Opener, parallel int) *seek.Reader {
	r := seek.NewReader(t.Context(), p.parts, o, parallel)
	t.Cleanup(func() { r.Close() })
	return r
}

// memory is an io.WriterAt.
type memory struct {
	mu sync.Mutex
	b  []byte
}

func (m *memory) WriteAt(p []byte, off int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if need := int(off) + len(p); need > len(m.b) {
		m.b = append(m.b, make([]byte, need-len(m.b))...)
	}
	return copy(m.b[off:], p), nil
}

// Whatever the plan, all ways to read give the concatenation of its parts.
func TestReaderGivesTheParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := []int64{300, 100 * kiB, 3 * miB}[drawn(t, 3)]
		o := opener(size)
		p := randomPlan(t, o, size)
		parallel := 1 + int(drawn(t, 5))
		r := seek.NewReader(t.Context(), p.parts, o, parallel)
		if want := int64(len(p.want)); p.sized && r.Size() != want || !p.sized && r.Size() != -1 {
			t.Fatalf("Size %d, want %d (sized: %v)", r.Size(), want, p.sized)
		}
		readThrough(t, r, p.want)
		for _, s := range o {
			if most := s.MaxConcurrent(); most > parallel {
				t.Errorf("%d ranges at a time, want at most %d", most, parallel)
			}
		}
		if p.sized {
			seekAround(t, r, p.want)
			readAround(t, r, p.want)
		}
		r.Close()
		for name, s := range o {
			if n := s.Unfinished(); n != 0 {
				t.Errorf("%d requests of %s left", n, name)
			}
		}
	})
}

// readThrough reads all by Read, WriteTo and Download.
func readThrough(t *rapid.T, r *seek.Reader, want []byte) {
	check := func(how string, got []byte, err error) {
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v, want %d", how, len(got), err, len(want))
		}
	}
	got, err := io.ReadAll(struct{ io.Reader }{r})
	check("Read", got, err)

	var buf bytes.Buffer
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	_, err = r.WriteTo(&buf)
	check("WriteTo", buf.Bytes(), err)

	var m memory
	n, err := r.Download(t.Context(), &m)
	check("Download", m.b, err)
	if n != int64(len(want)) {
		t.Errorf("Download returned %d", n)
	}
}

// seekAround reads here and there by Seek and Read.
func seekAround(t *rapid.T, r *seek.Reader, want []byte) {
	size := int64(len(want))
	for range 5 {
		off := drawn(t, size+1)
		whence := int(drawn(t, 3))
		by := off
		switch whence {
		case io.SeekCurrent:
			now, err := r.Seek(0, io.SeekCurrent)
			if err != nil {
				t.Fatal(err)
			}
			by = off - now
		case io.SeekEnd:
			by = off - size
		}
		if now, err := r.Seek(by, whence); now != off || err != nil {
			t.Fatalf("Seek(%d, %d): %d, %v", by, whence, now, err)
		}
		got := make([]byte, min(size-off, 1+drawn(t, 200*kiB)))
		if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, want[off:off+int64(len(got))]) {
			t.Fatalf("Read of %d at %d: %v", len(got), off, err)
		}
	}
}

// readAround reads here and there by ReadAt, from 8 goroutines.
func readAround(t *rapid.T, r *seek.Reader, want []byte) {
	size := int64(len(want))
	var wg sync.WaitGroup
	for range 8 {
		off, got := drawn(t, size+1), make([]byte, drawn(t, 100*kiB))
		wg.Go(func() {
			n, err := r.ReadAt(got, off)
			end := min(size, off+int64(len(got)))
			if !bytes.Equal(got[:n], want[off:end]) || (err != nil) != (n < len(got) || off == size) || err != nil && err != io.EOF {
				t.Errorf("ReadAt of %d at %d: %d, %v", len(got), off, n, err)
			}
		})
	}
	wg.Wait()
}

// ranges are the requests of a plan of plain ranges of mem:a, in order.
func ranges(t *testing.T, parallel int, parts func(*plan, *seek.Info)) []string {
	t.Helper()
	o := opener(1 << 40)
	p := &plan{}
	parts(p, p.info(o, "mem:a"))
	r := newReader(t, p, o, parallel)
	var m discardAt
	if _, err := r.Download(t.Context(), &m); err != nil {
		t.Fatal(err)
	}
	var all []seek.Range
	for _, q := range o["mem:a"].Requests() {
		all = append(all, q.Range)
	}
	slices.SortFunc(all, func(a, b seek.Range) int { return int(a.Offset - b.Offset) })
	var out []string
	for _, r := range all {
		out = append(out, r.String())
	}
	return out
}

type discardAt struct{}

func (*discardAt) WriteAt(p []byte, off int64) (int, error) { return len(p), nil }

// add is a plan's range of which nobody wants the bytes.
func (p *plan) add(i *seek.Info, off, n int64) {
	p.parts = append(p.parts, seek.Bytes(i, rng(off, n), "bytes"))
}

func TestReaderJoinsAndCuts(t *testing.T) {
	tests := []struct {
		name     string
		parallel int
		parts    func(*plan, *seek.Info)
		want     []string
	}{
		{"a short range by one request", 4, func(p *plan, i *seek.Info) { p.add(i, 1000, 1000*kiB) }, []string{"1000-1024999"}},
		{"a longer one by several", 4, func(p *plan, i *seek.Info) { p.add(i, 0, 2*miB) }, []string{"0-1048575", "1048576-2097151"}},
		{"32 MiB by four", 4, func(p *plan, i *seek.Info) { p.add(i, 0, 32*miB) }, []string{"0-8388607", "8388608-16777215", "16777216-25165823", "25165824-33554431"}},
		{"one at a time: no need to cut", 1, func(p *plan, i *seek.Info) { p.add(i, 0, 8*miB) }, []string{"0-8388607"}},
		{"two far ranges by four", 4, func(p *plan, i *seek.Info) { p.add(i, 0, 20*miB); p.add(i, 100*miB, 10*miB) },
			[]string{"0-6990505", "6990506-13981011", "13981012-20971519", "104857600-115343359"}},
		{"neighbours and near ones by one", 4, func(p *plan, i *seek.Info) {
			p.add(i, 0, 1000)
			p.literal([]byte("between"))
			p.add(i, 1000, 1000)
			p.add(i, 2000+47*kiB, 1000)
			p.literal([]byte("after"))
		}, []string{"0-51127"}},
		{"the smallest gaps first, as far as the budget goes", 4, func(p *plan, i *seek.Info) {
			p.add(i, 0, 1000)
			p.add(i, 1000+40*kiB, 1000)
			p.add(i, 2000+70*kiB, 1000)
		}, []string{"0-999", "41960-74679"}},
		{"backwards and overlapping stay apart", 4, func(p *plan, i *seek.Info) {
			p.add(i, 5000, 1000)
			p.add(i, 4000, 1000)
			p.add(i, 4500, 1000)
		}, []string{"4000-4999", "4500-5499", "5000-5999"}},
		{"a gap that takes longer than a round trip is left out", 4, func(p *plan, i *seek.Info) {
			p.add(i, 0, 9*miB)
			p.add(i, 9*miB+257*kiB, 21*miB)
		}, []string{"0-9437183", "9700352-17040383", "17040384-24380415", "24380416-31720447"}},
		{"other purposes stay apart", 4, func(p *plan, i *seek.Info) {
			p.add(i, 0, 1000)
			p.add(i, 1000, 1000)
			p.parts[1].Purpose = seek.Index
		}, []string{"0-999", "1000-1999"}},
		{"empty parts ask nothing", 4, func(p *plan, i *seek.Info) {
			p.add(i, 0, 1000)
			p.add(i, 900*kiB, 0)
			p.literal(nil)
			p.add(i, 1000, 1000)
		}, []string{"0-1999"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, ranges(t, tt.parallel, tt.parts)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The gaps of a plan stay within its budget: 1.05 × needed + 192 KiB, of which
// head and tail have 128 KiB; needed is all from the first to the last range.
// Near ranges, however many, come by no more requests than run at a time.
func TestReaderKeepsTheByteBudget(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		o := opener(1 << 40)
		p := &plan{}
		i := p.info(o, "mem:a")
		var needed, off int64
		for range 300 {
			n := 1 + rnd.Int64N(1<<rnd.IntN(17))
			p.add(i, off, n)
			needed = off + n
			off = needed + rnd.Int64N(1<<rnd.IntN(17))
		}
		var m discardAt
		if _, err := newReader(t, p, o, 4).Download(t.Context(), &m); err != nil {
			t.Fatal(err)
		}
		if got, most := o["mem:a"].Delivered(), budget.Bytes(needed)-2*64*kiB; got > most {
			t.Errorf("%d bytes for %d, want at most %d", got, needed, most)
		}
		if got := len(o["mem:a"].Requests()); got > 4 {
			t.Errorf("%d requests, want at most 4", got)
		}
	}
}

// All requests of a clip of up to 32 MiB are on their way before the first is
// answered, and a literal in front does not wait for them.
func TestReaderAsksForAllAtOnce(t *testing.T) {
	tests := []struct {
		name  string
		parts func(*plan, *seek.Info)
		want  int
	}{
		{"one range", func(p *plan, i *seek.Info) { p.add(i, 0, budget.OneWave) }, 4},
		{"two uneven ranges", func(p *plan, i *seek.Info) { p.add(i, 0, budget.OneWave-5*miB); p.add(i, 90*miB, 5*miB) }, 4},
		{"interleaved with literals", func(p *plan, i *seek.Info) {
			for k := range int64(32) {
				p.add(i, k*miB, miB)
				p.literal([]byte("header"))
			}
		}, 4},
		{"a rewritten range", func(p *plan, i *seek.Info) {
			p.add(i, 0, budget.OneWave)
			p.parts[1].Rewrite = xor{1, 4 * kiB}
		}, 4},
	}
	for _, tt := range tests {
		seektest.Counted(t, tt.name, func(t *testing.T) {
			o := opener(1 << 40)
			p := &plan{}
			p.literal([]byte("header"))
			tt.parts(p, p.info(o, "mem:a"))
			fault, release := blocked(func(seek.Request) bool { return true })
			src := o["mem:a"]
			src.Fault = fault
			r := newReader(t, p, o, 4)
			synctest.Wait()
			if n := len(src.Requests()); n != 0 {
				t.Errorf("%d requests before the first Read", n)
			}
			head := make([]byte, 6)
			if _, err := io.ReadFull(r, head); err != nil || string(head) != "header" {
				t.Fatalf("%q, %v", head, err)
			}
			synctest.Wait()
			if n := len(src.Requests()); n != tt.want {
				t.Errorf("%d requests before the first answer, want %d", n, tt.want)
			}
			release()
			if n, err := io.Copy(io.Discard, r); err != nil || n != r.Size()-6 {
				t.Errorf("%d bytes, %v", n, err)
			}
			if n := len(src.Requests()); n != tt.want {
				t.Errorf("%d requests, want %d", n, tt.want)
			}
		})
	}
}

// A Reader that is not read holds 1 MiB for each range, and no more.
func TestReaderMemory(t *testing.T) { synctest.Test(t, testReaderMemory) }

func testReaderMemory(t *testing.T) {
	for _, rewrite := range []seek.Rewriter{nil, xor{1, 4 * kiB}} {
		o := opener(1 << 40)
		p := &plan{}
		p.add(p.info(o, "mem:a"), 0, 256*miB)
		p.parts[0].Rewrite = rewrite
		src := o["mem:a"]
		r := newReader(t, p, o, 4)
		var read int64
		one := make([]byte, 100*kiB)
		for range 5 {
			n, err := io.ReadFull(r, one)
			if read += int64(n); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			for _, q := range src.Requests() {
				if q.Offset > read && q.Delivered > budget.ReadAhead {
					t.Errorf("%s, read at %d: holds %d bytes", q.Range, read, q.Delivered)
				}
			}
			// The current one holds as much and what is in hand; a rewritten one
			// that twice, before and after.
			const current = budget.ReadAhead + 64*kiB
			most := int64(3*budget.ReadAhead + current)
			if rewrite != nil {
				most += current + 4*kiB
			}
			if held := src.Delivered() - read; held > most {
				t.Errorf("holds %d bytes, want at most %d", held, most)
			}
			if got := src.MaxConcurrent(); got != 4 {
				t.Errorf("%d ranges at a time, want 4", got)
			}
		}
	}
}

// The first byte does not wait for a block to be full.
func TestReaderGivesTheFirstByteAtOnce(t *testing.T) {
	for _, rewrite := range []seek.Rewriter{nil, xor{0, 10}} {
		o := opener(10 * miB)
		p := &plan{}
		p.add(p.info(o, "mem:a"), 0, 10*miB)
		p.parts[0].Rewrite = rewrite
		stall := make(chan struct{})
		o["mem:a"].Fault = func(context.Context, int, seek.Request) seektest.Fault {
			return seektest.Fault{Stall: stall, StallAt: 10}
		}
		r := newReader(t, p, o, 4)
		if n, err := r.Read(make([]byte, 100)); n != 10 || err != nil { // would hang
			t.Errorf("%d bytes, %v", n, err)
		}
		close(stall)
	}
}

func TestReaderClose(t *testing.T) {
	o := opener(1 << 40)
	p := &plan{}
	p.add(p.info(o, "mem:a"), 0, 100*miB)
	uses := map[string]func(r *seek.Reader) error{
		"Read":     func(r *seek.Reader) error { _, err := r.Read(make([]byte, 10)); return err },
		"WriteTo":  func(r *seek.Reader) error { _, err := r.WriteTo(io.Discard); return err },
		"ReadAt":   func(r *seek.Reader) error { _, err := r.ReadAt(make([]byte, 10), 5); return err },
		"Download": func(r *seek.Reader) error { _, err := r.Download(context.Background(), &discardAt{}); return err },
		"Seek":     func(r *seek.Reader) error { _, err := r.Seek(5, io.SeekStart); return err },
	}
	for name, use := range uses {
		seektest.Counted(t, name, func(t *testing.T) {
			src := o["mem:a"]
			src.Reset()
			src.Fault, _ = blocked(func(r seek.Request) bool { return true })
			r := seek.NewReader(context.Background(), p.parts, o, 4)
			failed := make(chan error, 1)
			if name != "Seek" {
				go func() { failed <- use(r) }()
				synctest.Wait()
				if len(src.Requests()) == 0 {
					t.Error("nothing is under way")
				}
			} else {
				failed <- seek.ErrClosed
			}
			r.Close()
			if n := src.Unfinished(); n != 0 {
				t.Errorf("%d requests after Close", n)
			}
			if err := <-failed; !errors.Is(err, seek.ErrClosed) {
				t.Errorf("under way: %v", err)
			}
			if err := use(r); !errors.Is(err, seek.ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
			r.Close()
		})
	}
}

func TestReaderEndsWithItsContext(t *testing.T) {
	o := opener(1 << 40)
	p := &plan{}
	p.add(p.info(o, "mem:a"), 0, 100*miB)
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	r := seek.NewReader(ctx, p.parts, o, 4)
	defer r.Close()
	if _, err := r.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	cancel(gone)
	if _, err := io.Copy(io.Discard, r); err != gone {
		t.Errorf("%v", err)
	}
}

func TestReaderFailures(t *testing.T) {
	broken := errors.New("broken")
	ways := map[string]func(r *seek.Reader) error{
		"Read":     func(r *seek.Reader) error { _, err := io.ReadAll(r); return err },
		"Download": func(r *seek.Reader) error { _, err := r.Download(context.Background(), &discardAt{}); return err },
		"ReadAt":   func(r *seek.Reader) error { _, err := r.ReadAt(make([]byte, 900), 50); return err },
	}
	tests := []struct {
		name   string
		fault  seektest.Fault
		change func(*seek.Info) // what the plan says of the resource
		want   error
		offset int64 // where; -1: no ReadError
	}{
		{"no answer", seektest.Fault{Err: broken}, nil, broken, -1},
		{"broken body", seektest.BreakAfter(300, broken), nil, broken, 1300},
		{"short body", seektest.BreakAfter(300, nil), nil, io.ErrUnexpectedEOF, 1300},
		{"other version", seektest.Fault{}, func(i *seek.Info) { i.Validator = `"0"` }, seek.ErrChanged, 1000},
		{"shorter than planned", seektest.Fault{}, func(i *seek.Info) { i.Size++ }, seek.ErrChanged, 1000},
		{"unknown resource", seektest.Fault{}, func(i *seek.Info) { i.Name = "mem:c" }, seek.ErrNotFound, -1},
	}
	for _, tt := range tests {
		for way, use := range ways {
			for _, rewrite := range []seek.Rewriter{nil, xor{1, 1}} {
				t.Run(fmt.Sprint(tt.name, way, rewrite != nil), func(t *testing.T) {
					o := opener(1 << 40)
					p := &plan{}
					i := p.info(o, "mem:a")
					if tt.change != nil {
						tt.change(i)
					}
					p.add(i, 1000, 1000)
					p.parts[0].Rewrite = rewrite
					o["mem:a"].Fault = func(context.Context, int, seek.Request) seektest.Fault { return tt.fault }
					err := use(newReader(t, p, o, 4))
					if !errors.Is(err, tt.want) {
						t.Fatalf("%v, want %v", err, tt.want)
					}
					offset := tt.offset
					if way == "ReadAt" && offset >= 0 {
						offset += 50 // it begins there
					}
					var where *seek.ReadError
					if got := errors.As(err, &where); got != (offset >= 0) || got && (where.Offset != offset || where.Name != i.Name) {
						t.Errorf("%v: it does not say where (%d)", err, offset)
					}
					if n := o["mem:a"].Unfinished(); n != 0 {
						t.Errorf("%d requests left", n)
					}
				})
			}
		}
	}
}

// What came before an error is delivered, and a Seek tries again.
func TestReaderAfterAnError(t *testing.T) {
	broken := errors.New("broken")
	o := opener(1 << 40)
	p := &plan{}
	p.bytes(p.info(o, "mem:a"), 0, 5000)
	fault := seektest.BreakAfter(3000, broken)
	o["mem:a"].Fault = func(context.Context, int, seek.Request) seektest.Fault { return fault }
	r := newReader(t, p, o, 4)
	for range 2 {
		got, err := io.ReadAll(r)
		if !bytes.Equal(got, p.want[:3000]) || !errors.Is(err, broken) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if _, err := r.Read(make([]byte, 1)); !errors.Is(err, broken) {
			t.Errorf("again: %v", err)
		}
		if _, err := r.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
	}
	fault = seektest.Fault{}
	r.Seek(2000, io.SeekStart)
	if got, err := io.ReadAll(r); !bytes.Equal(got, p.want[2000:]) || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestReaderUnsized(t *testing.T) {
	o := opener(10000)
	p := &plan{}
	i := p.info(o, "mem:a")
	p.literal([]byte("header"))
	p.bytes(i, 100, 50)
	p.rewritten(i, 200, 300, xor{7, 10}, false)
	p.literal([]byte("trailer"))
	r := newReader(t, p, o, 2)
	if _, err := r.ReadAt(make([]byte, 1), 0); !errors.Is(err, seek.ErrUnsized) {
		t.Errorf("ReadAt: %v", err)
	}
	if _, err := r.Seek(0, io.SeekEnd); !errors.Is(err, seek.ErrUnsized) {
		t.Errorf("Seek from the end: %v", err)
	}
	if _, err := r.Seek(57, io.SeekStart); !errors.Is(err, seek.ErrUnsized) {
		t.Errorf("Seek behind the unsized part: %v", err)
	}
	for _, off := range []int64{56, 30, 3, 0} {
		if _, err := r.Seek(off, io.SeekStart); err != nil {
			t.Errorf("Seek to %d: %v", off, err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, p.want[off:]) {
			t.Errorf("from %d: %d bytes, %v", off, len(got), err)
		}
	}
}

func TestReaderSeek(t *testing.T) { synctest.Test(t, testReaderSeek) }

func testReaderSeek(t *testing.T) {
	o := opener(1 << 40)
	p := &plan{}
	p.bytes(p.info(o, "mem:a"), 0, 4*miB)
	src := o["mem:a"]
	src.Latency = time.Millisecond
	r := newReader(t, p, o, 4)
	for _, bad := range []struct {
		off    int64
		whence int
	}{{-1, io.SeekStart}, {-5, io.SeekCurrent}, {0, 3}, {-4*miB - 1, io.SeekEnd}} {
		if _, err := r.Seek(bad.off, bad.whence); err == nil {
			t.Errorf("Seek(%d, %d) succeeds", bad.off, bad.whence)
		}
	}
	if now, err := r.Seek(5*miB, io.SeekStart); now != 5*miB || err != nil {
		t.Errorf("behind the end: %d, %v", now, err)
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("Read behind the end: %d, %v", n, err)
	}
	if n := len(src.Requests()); n != 0 {
		t.Errorf("%d requests without a byte read", n)
	}
	// A short read after a Seek costs one request, a long one is shared again.
	r.Seek(100*kiB, io.SeekStart)
	io.ReadFull(r, make([]byte, 50*kiB))
	if got := src.Ranges(); len(got) != 1 {
		t.Errorf("a short read asks %v", got)
	}
	src.Fault = func(context.Context, int, seek.Request) seektest.Fault { return seektest.Fault{} }
	if n, err := io.Copy(io.Discard, r); n != 4*miB-150*kiB || err != nil {
		t.Errorf("the rest: %d bytes, %v", n, err)
	}
	if got := src.MaxConcurrent(); got < 2 {
		t.Errorf("a long read: %d ranges at a time", got)
	}
	src.Reset()
	r.Seek(miB, io.SeekStart)
	r.Seek(0, io.SeekStart)
	r.Read(make([]byte, 1))
	synctest.Wait()
	if got := src.Ranges(); len(got) != 4 {
		t.Errorf("from the beginning again: asks %v, want 4 ranges", got)
	}
}

// ReadAt asks for the bytes it gives; of a rewritten part, for little more.
func TestReaderReadAtAsks(t *testing.T) {
	o := opener(1 << 40)
	p := &plan{}
	p.add(p.info(o, "mem:a"), 0, 100*miB)
	p.add(p.info(o, "mem:b"), 0, 100*miB)
	p.parts[1].Rewrite = xor{1, 64 * kiB}
	r := newReader(t, p, o, 4)
	for off := range int64(20) {
		off *= 4 * miB
		for _, off := range []int64{off, 100*miB + off} {
			if _, err := r.ReadAt(make([]byte, 1000), off); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := o["mem:a"].Delivered(); got != 20*1000 {
		t.Errorf("plain: %d bytes for 20000", got)
	}
	for _, q := range o["mem:b"].Requests() {
		if q.Length > 320*kiB {
			t.Errorf("rewritten: asks for %s", q.Range)
		}
	}
	if got := len(o["mem:b"].Requests()); got != 20 {
		t.Errorf("rewritten: %d requests, want 20", got)
	}
}

// A Rewriter that reads further than expected gets what it reads.
func TestReaderRewriterReadsOn(t *testing.T) {
	o := opener(10 * miB)
	p := &plan{}
	p.rewritten(p.info(o, "mem:a"), 0, 8*miB, xor{3, 5 * miB}, true)
	got := make([]byte, 10)
	if _, err := newReader(t, p, o, 4).ReadAt(got, 5*miB-5); err != nil || !bytes.Equal(got, p.want[5*miB-5:5*miB+5]) {
		t.Errorf("%x, %v", got, err)
	}
}

func TestReaderShortRewriter(t *testing.T) {
	o := opener(10 * miB)
	p := &plan{}
	p.add(p.info(o, "mem:a"), 0, 1000)
	p.parts[0].Rewrite, p.parts[0].Size = xor{3, 10}, 1001
	if _, err := io.ReadAll(newReader(t, p, o, 4)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
}

// A Reader over a Window asks for nothing that the Window holds: head and tail,
// then the rest, are two round trips and each byte once. What is held does not
// wait for the second.
func TestReaderOverWindow(t *testing.T) { synctest.Test(t, testReaderOverWindow) }

func testReaderOverWindow(t *testing.T) {
	const size = 10 * miB
	var totals seek.Totals
	src := pattern(size)
	src.Observer = &totals
	src.Latency = time.Millisecond
	fault, release := blocked(func(r seek.Request) bool { return r.Purpose == seek.Media })
	src.Fault = fault
	w := newWindow(t, src, 0)
	expect(t, w, []seek.Request{at(0, 64*kiB), last(64 * kiB)})
	info := w.Info()
	p := &plan{}
	p.literal([]byte("header"))
	p.bytes(&info, 1000, size-1000)
	r := newReader(t, p, seek.OpenerFunc(func(context.Context, string) (seek.Source, error) { return w, nil }), 4)
	if _, err := r.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	totals.FirstMediaByte()
	synctest.Wait()
	release()
	rest, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(rest, p.want[7:]) {
		t.Errorf("%d bytes, %v", len(rest), err)
	}
	got := totals.Transfer()
	if got.Bytes != size || got.Requests != 6 || got.RoundTrips != 2 || got.FirstMediaTrips != 1 {
		t.Errorf("%+v", got)
	}
}

// Plans come from elsewhere, too.
func TestReaderRefusesImpossibleParts(t *testing.T) {
	info := &seek.Info{Name: "mem:a", Size: -1}
	tests := []seek.Part{
		{Resource: info, Request: at(-5, 5), Size: 5},
		{Resource: info, Request: at(0, -2), Size: -2},
		{Resource: info, Request: at(0, 10), Size: 9},
		{Resource: info, Request: at(0, seek.ToEnd), Size: 9},
		{Resource: info, Request: at(1<<63-5, 10), Size: 10},
		{Resource: info, Request: at(0, 10), Rewrite: xor{}, Size: -2},
		{Rewrite: xor{}},
		{Literal: []byte("abc"), Size: 4},
	}
	for i, part := range tests {
		r := seek.NewReader(t.Context(), []seek.Part{part}, opener(100), 0)
		if _, err := r.Read(make([]byte, 1)); err == nil || err == io.EOF {
			t.Errorf("%d: Read: %v", i, err)
		}
		if _, err := r.ReadAt(make([]byte, 1), 0); err == nil || err == io.EOF {
			t.Errorf("%d: ReadAt: %v", i, err)
		}
		r.Close()
	}
	huge := seek.Bytes(info, rng(0, 1<<61), "")
	r := seek.NewReader(t.Context(), []seek.Part{huge, huge, huge}, opener(100), 0)
	if _, err := r.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Errorf("too long: %v", err)
	}
	r.Close()
}

// What a plan claims costs neither time nor memory.
func TestReaderOfHugePlans(t *testing.T) {
	info := &seek.Info{Name: "mem:a", Size: -1}
	start := time.Now()
	seek.NewReader(t.Context(), []seek.Part{seek.Bytes(info, rng(0, 1<<61), "")}, opener(100), 0).Close()
	var many []seek.Part
	for i := range int64(200_000) {
		many = append(many, seek.Bytes(info, rng(i*1000, 900), ""), seek.Literal([]byte("between"), ""))
	}
	r := seek.NewReader(t.Context(), many, opener(1<<40), 0)
	defer r.Close()
	for i := range int64(1000) {
		if _, err := r.ReadAt(make([]byte, 10), i*100_000); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("%v", took)
	}
}

func BenchmarkReaderRead(b *testing.B)    { benchmarkReader(b, nil, false) }
func BenchmarkReaderWriteTo(b *testing.B) { benchmarkReader(b, nil, true) }
func BenchmarkReaderRewritten(b *testing.B) {
	benchmarkReader(b, xor{1, 4 * kiB}, true)
}

func benchmarkReader(b *testing.B, rewrite seek.Rewriter, writeTo bool) {
	const size = 32 * miB
	block := seektest.PatternBytes(0, miB)
	fill := seektest.Fill(func(p []byte, off int64) { copy(p, block[off%(miB/2):]) })
	src := seektest.Virtual(size, fill)
	info := src.Info
	part := seek.Bytes(&info, rng(0, size), "")
	part.Rewrite = rewrite
	b.ReportAllocs()
	b.SetBytes(size)
	for b.Loop() {
		r := seek.NewReader(b.Context(), []seek.Part{part}, src, 0)
		var from io.Reader = r
		if !writeTo {
			from = struct{ io.Reader }{r}
		}
		if n, err := io.Copy(io.Discard, from); n != size || err != nil {
			b.Fatal(n, err)
		}
		r.Close()
	}
	b.ReportMetric(float64(len(src.Requests()))/float64(b.N), "requests/op")
}

func BenchmarkSchedule(b *testing.B) {
	info := &seek.Info{Name: "mem:a", Size: -1}
	var parts []seek.Part
	for i := range int64(100_000) {
		parts = append(parts, seek.Bytes(info, rng(i*3000, 900), ""))
	}
	b.ReportAllocs()
	for b.Loop() {
		seek.NewReader(b.Context(), parts, nil, 0).Close()
	}
}
