package seek

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Sizes of a Window, in bytes.
const (
	// DefaultWindowLimit is how much a Window keeps unless told otherwise.
	DefaultWindowLimit = 64 << 20
	// mergeGap is the largest gap between two ranges of one Read that is read
	// too, so that both come by one request.
	mergeGap = 16 << 10
)

// Window reads a Source in pieces and remembers them. All ranges of one call
// are asked for at once; what is known or already on its way is never asked for
// again. It is a Source too: what it holds comes from memory, the rest from the
// Source beneath.
//
// A fetch belongs to the Window, not to the call that began it: it survives the
// cancellation of its first caller and serves whoever else waits for it.
type Window struct {
	source Source
	limit  int64
	ctx    context.Context // of the fetches; ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	info    *Info // nil until the source has answered
	spans   []span
	held    int64
	clock   int64
	flights []*flight
}

// span is a stretch of bytes that the window holds. Spans are sorted and do not
// overlap. Their bytes are never written to again.
type span struct {
	off  int64
	data []byte
	used int64 // the window's clock when it was last read
}

func (s span) end() int64 { return s.off + int64(len(s.data)) }

// flight is a fetch on its way. When done is closed, data and err are final.
type flight struct {
	Range // a suffix keeps its negative offset until it has landed
	done  chan struct{}
	off   int64
	data  []byte
	err   error
}

// NewWindow returns a Window over s that keeps at most limit bytes; 0 means
// [DefaultWindowLimit]. Its fetches carry the values of ctx, not its
// cancellation: they end with Close.
func NewWindow(ctx context.Context, s Source, limit int64) *Window {
	if limit <= 0 {
		limit = DefaultWindowLimit
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	return &Window{source: s, limit: limit, ctx: ctx, cancel: cancel}
}

// Close breaks off what is on its way and waits for it to end.
func (w *Window) Close() error {
	w.cancel()
	w.wg.Wait()
	return nil
}

// Info returns what the source's answers have told of the resource. Before the
// first answer, Size is -1.
func (w *Window) Info() Info {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.info == nil {
		return Info{Size: -1}
	}
	return *w.info
}

// Read returns the bytes of all ranges, in their order: one slice each, which
// the caller must not change. A range that passes the end of the resource gives
// what there is, one beyond it nothing; whether that is an error the caller
// knows. Ranges to the end and suffixes are allowed.
//
// All that is missing is asked for at once, near neighbours by one request.
func (w *Window) Read(ctx context.Context, requests ...Request) ([][]byte, error) {
	var asked int64
	for _, r := range requests {
		switch {
		case r.Offset < 0:
			asked -= r.Offset
		case r.Length > 0:
			asked += r.Length
		}
		if asked < 0 || asked > w.limit {
			return nil, fmt.Errorf("reading %s (%s): %w of %d bytes to hold at a time", r.Range, r.Note, ErrLimit, w.limit)
		}
	}
	pending := w.start(requests)
	got := make([][]byte, len(requests))
	for i, r := range requests {
		data, err := w.collect(ctx, r, pending)
		if err != nil {
			return nil, err
		}
		got[i] = data
	}
	return got, nil
}

// ReadRange is Read of one range.
func (w *Window) ReadRange(ctx context.Context, r Range, p Purpose, note string) ([]byte, error) {
	got, err := w.Read(ctx, Request{Range: r, Purpose: p, Note: note})
	if err != nil {
		return nil, err
	}
	return got[0], nil
}

// Prefetch starts to fetch what Read would, and does not wait.
func (w *Window) Prefetch(requests ...Request) { w.start(requests) }

// Held returns the bytes of a closed range if the window holds all of them.
func (w *Window) Held(r Range) ([]byte, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r = w.clip(r)
	if !r.Closed() || len(w.missing(r)) > 0 {
		return nil, false
	}
	data, ok := w.assemble(r, nil)
	return data, ok
}

// start begins the fetches that the requests need beyond what is held or on its
// way, and returns those that the requests have to wait for.
func (w *Window) start(requests []Request) []*flight {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lacking []Request
	for _, r := range requests {
		if r.Offset >= 0 || w.sized() {
			r.Range = w.clip(r.Range)
		}
		if r.Offset < 0 { // a suffix of an unknown size is fetched as it is
			if !slices.ContainsFunc(w.flights, func(f *flight) bool { return f.Offset <= r.Offset && f.Offset < 0 }) {
				lacking = append(lacking, r)
			}
			continue
		}
		for _, m := range w.missing(r.Range) {
			lacking = append(lacking, Request{m, r.Purpose, r.Note})
		}
	}
	for _, r := range mergeNear(lacking) {
		w.launch(r)
	}
	return slices.Clone(w.flights)
}

// sized reports whether the resource's size is known.
func (w *Window) sized() bool { return w.info != nil && w.info.Size >= 0 }

// clip makes a range closed and inside the resource as far as its size is known.
func (w *Window) clip(r Range) Range {
	if !w.sized() {
		return r
	}
	size := w.info.Size
	switch {
	case r.Offset < 0:
		r.Offset = max(0, size+r.Offset)
		r.Length = size - r.Offset
	case r.Offset >= size:
		r.Length = 0
	case r.Length < 0 || r.Length > size-r.Offset:
		r.Length = size - r.Offset
	}
	return r
}

// missing returns the parts of r that are neither held nor on their way.
// r does not begin with a negative offset; it may run to the end.
func (w *Window) missing(r Range) []Range {
	const far = int64(1) << 62
	end := far
	if r.Length >= 0 {
		end = r.End()
	}
	type cover struct{ off, end int64 }
	covers := make([]cover, 0, len(w.spans)+len(w.flights))
	for _, s := range w.spans {
		covers = append(covers, cover{s.off, s.end()})
	}
	for _, f := range w.flights {
		switch {
		case f.Offset < 0 && w.sized():
			covers = append(covers, cover{max(0, w.info.Size+f.Offset), w.info.Size})
		case f.Offset >= 0 && f.Length < 0:
			covers = append(covers, cover{f.Offset, far})
		case f.Offset >= 0:
			covers = append(covers, cover{f.Offset, f.End()})
		}
	}
	slices.SortFunc(covers, func(a, b cover) int { return cmpInt(a.off, b.off) })
	var out []Range
	at := r.Offset
	for _, c := range covers {
		if c.end <= at {
			continue
		}
		if c.off >= end {
			break
		}
		if c.off > at {
			out = append(out, Range{at, c.off - at})
		}
		at = c.end
	}
	if at < end {
		last := Range{at, end - at}
		if end == far {
			last.Length = ToEnd
		}
		out = append(out, last)
	}
	return out
}

func cmpInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// mergeNear joins closed ranges that lie close together into one request.
func mergeNear(rs []Request) []Request {
	slices.SortStableFunc(rs, func(a, b Request) int { return cmpInt(a.Offset, b.Offset) })
	var out []Request
	for _, r := range rs {
		if n := len(out) - 1; n >= 0 && out[n].Closed() && r.Offset >= 0 && r.Offset-out[n].End() <= mergeGap {
			if r.Length < 0 {
				out[n].Length = ToEnd
			} else {
				out[n].Length = max(out[n].End(), r.End()) - out[n].Offset
			}
			continue
		}
		out = append(out, r)
	}
	return out
}

// launch begins one fetch. The window's lock is held.
func (w *Window) launch(r Request) {
	f := &flight{Range: r.Range, done: make(chan struct{})}
	w.flights = append(w.flights, f)
	w.wg.Go(func() {
		info, off, data, err := w.fetch(r)
		w.mu.Lock()
		f.off, f.data, f.err = off, data, err
		if info != nil && w.info == nil {
			w.info = info
		} else if info != nil && info.Size >= 0 {
			w.info.Size = max(w.info.Size, info.Size) // learnt late, or growing
		}
		if err == nil {
			w.keep(off, data)
		}
		w.flights = slices.DeleteFunc(w.flights, func(g *flight) bool { return g == f })
		w.mu.Unlock()
		close(f.done)
	})
}

// fetch reads one range whole.
func (w *Window) fetch(r Request) (*Info, int64, []byte, error) {
	body, err := w.source.Open(w.ctx, r)
	if err != nil {
		return nil, 0, nil, err
	}
	defer body.Close()
	var from io.Reader = body
	var buf bytes.Buffer
	if r.Length < 0 { // as much as the window may hold, and one byte to notice more
		from = io.LimitReader(body, w.limit+1)
	} else {
		buf.Grow(int(min(r.Length, w.limit) + bytes.MinRead))
	}
	_, err = buf.ReadFrom(from)
	switch {
	case err != nil:
		return nil, 0, nil, err
	case int64(buf.Len()) > w.limit:
		return nil, 0, nil, fmt.Errorf("reading %s (%s): %w of %d bytes to hold at a time", r.Range, r.Note, ErrLimit, w.limit)
	}
	return &body.Info, body.Offset, buf.Bytes(), nil
}

// keep adds bytes that have arrived and drops those that were not used for
// longest where there are too many. The window's lock is held.
func (w *Window) keep(off int64, data []byte) {
	w.clock++
	end := off + int64(len(data))
	for _, gap := range gaps(w.spans, off, end) {
		w.spans = append(w.spans, span{gap.Offset, data[gap.Offset-off : gap.End()-off], w.clock})
		w.held += gap.Length
	}
	for w.held > w.limit {
		oldest := 0
		for i, s := range w.spans {
			if s.used < w.spans[oldest].used {
				oldest = i
			}
		}
		w.held -= int64(len(w.spans[oldest].data))
		w.spans = slices.Delete(w.spans, oldest, oldest+1)
	}
	slices.SortFunc(w.spans, func(a, b span) int { return cmpInt(a.off, b.off) })
}

// gaps returns what of [off, end) no span covers.
func gaps(spans []span, off, end int64) []Range {
	var out []Range
	for _, s := range spans {
		if s.end() <= off || s.off >= end {
			continue
		}
		if s.off > off {
			out = append(out, Range{off, s.off - off})
		}
		off = s.end()
	}
	if off < end {
		out = append(out, Range{off, end - off})
	}
	return out
}

// collect waits until r is there and returns its bytes.
func (w *Window) collect(ctx context.Context, r Request, pending []*flight) ([]byte, error) {
	var landed []span // keeps what this call waited for even if the window drops it
	for _, f := range pending {
		if !w.wanted(r.Range, f) {
			continue
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if f.err != nil {
			if r.Offset < 0 && errors.Is(f.err, ErrNoRanges) {
				return w.tailWithoutSuffix(ctx, r, pending)
			}
			if f.Offset < 0 && r.Offset >= 0 {
				continue // somebody's suffix failed; what is missing is asked for below
			}
			return nil, f.err
		}
		landed = append(landed, span{off: f.off, data: f.data})
	}
	w.mu.Lock()
	clipped := w.clip(r.Range)
	if clipped.Offset < 0 { // the size is still unknown: the suffix is what its flight brought
		w.mu.Unlock()
		for _, s := range landed {
			return s.data, nil
		}
		return nil, fmt.Errorf("reading %s (%s): %w", r.Range, r.Note, ErrUnsized)
	}
	data, ok := w.assemble(clipped, landed)
	w.mu.Unlock()
	if ok {
		return data, nil
	}
	if err := w.ctx.Err(); err != nil {
		return nil, ErrClosed
	}
	// A piece was dropped between start and now, or a suffix did not bring it:
	// ask for what is still missing, once.
	again := w.start([]Request{{clipped, r.Purpose, r.Note}})
	for _, f := range again {
		if !w.wanted(clipped, f) {
			continue
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if f.err != nil {
			return nil, f.err
		}
		landed = append(landed, span{off: f.off, data: f.data})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if data, ok = w.assemble(w.clip(clipped), landed); ok {
		return data, nil
	}
	return nil, fmt.Errorf("reading %s (%s): source gave less than asked: %w", r.Range, r.Note, io.ErrUnexpectedEOF)
}

// tailWithoutSuffix reads the last bytes from a source that has no suffix
// ranges, as soon as another answer has told the size.
func (w *Window) tailWithoutSuffix(ctx context.Context, r Request, pending []*flight) ([]byte, error) {
	for _, f := range pending {
		if f.Offset < 0 {
			continue
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if w.Info().Size < 0 {
		return nil, fmt.Errorf("reading %s (%s): %w", r.Range, r.Note, ErrUnsized)
	}
	return w.collect(ctx, r, w.start([]Request{r}))
}

// wanted reports whether a flight brings bytes of r.
func (w *Window) wanted(r Range, f *flight) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	r = w.clip(r)
	of := f.Range
	if of.Offset < 0 {
		if r.Offset < 0 {
			return of.Offset <= r.Offset
		}
		if of = w.clip(of); of.Offset < 0 {
			return false
		}
	} else if r.Offset < 0 {
		return false
	}
	return (of.Length < 0 || of.End() > r.Offset) && (r.Length < 0 || r.End() > of.Offset)
}

// assemble returns the bytes of r from the spans and from others; ok is false
// where some are missing. A range that runs to an unknown end gives what is
// there. The window's lock is held.
func (w *Window) assemble(r Range, others []span) (data []byte, ok bool) {
	w.clock++
	if r.Length == 0 {
		return nil, true
	}
	all := make([]span, 0, len(w.spans)+len(others))
	for i := range w.spans {
		if s := &w.spans[i]; s.end() > r.Offset && (r.Length < 0 || s.off < r.End()) {
			s.used = w.clock
			all = append(all, *s)
		}
	}
	all = append(all, others...)
	slices.SortStableFunc(all, func(a, b span) int { return cmpInt(a.off, b.off) })
	at := r.Offset
	var out []byte
	for _, s := range all {
		if s.end() <= at {
			continue
		}
		if s.off > at {
			break
		}
		piece := s.data[at-s.off:]
		if r.Length >= 0 && s.end() > r.End() {
			piece = s.data[at-s.off : r.End()-s.off]
		}
		if out == nil {
			out = piece[:len(piece):len(piece)] // an append copies
		} else {
			out = append(out, piece...)
		}
		if at += int64(len(piece)); r.Length >= 0 && at == r.End() {
			return out, true
		}
	}
	// Short. That is right only where the resource ends here.
	if w.sized() {
		return nil, false
	}
	return out, w.endsAt(at, others)
}

// endsAt reports whether a fetch that asked for more than it got ended at off,
// so that an unsized resource is known to end there.
func (w *Window) endsAt(off int64, landed []span) bool {
	for _, s := range landed {
		if s.end() == off {
			return true
		}
	}
	return false
}

// Open returns a range: from memory where the window holds its beginning or its
// end, from the source between. What passes through is not kept.
func (w *Window) Open(ctx context.Context, r Request) (*Body, error) {
	w.mu.Lock()
	c := w.clip(r.Range)
	if !c.Closed() || w.info == nil {
		w.mu.Unlock()
		return w.source.Open(ctx, r)
	}
	info := *w.info
	head, tail := w.edges(c)
	w.mu.Unlock()

	rest := Request{Range{c.Offset + int64(len(head)), c.Length - int64(len(head)) - int64(len(tail))}, r.Purpose, r.Note}
	if rest.Length == 0 {
		held := io.MultiReader(bytes.NewReader(head), bytes.NewReader(tail))
		return &Body{Info: info, Offset: c.Offset, ReadCloser: io.NopCloser(held)}, nil
	}
	body, err := w.source.Open(ctx, rest)
	if err != nil {
		return nil, err
	}
	joined := struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), body, bytes.NewReader(tail)), body}
	return &Body{Info: body.Info, Offset: c.Offset, ReadCloser: joined}, nil
}

// edges returns the held bytes at the beginning and at the end of r. They do
// not overlap. The window's lock is held.
func (w *Window) edges(r Range) (head, tail []byte) {
	miss := gaps(w.spans, r.Offset, r.End())
	if len(miss) == 0 {
		head, _ = w.assemble(r, nil)
		return head, nil
	}
	head, _ = w.assemble(Range{r.Offset, miss[0].Offset - r.Offset}, nil)
	last := miss[len(miss)-1].End()
	tail, _ = w.assemble(Range{last, r.End() - last}, nil)
	return head, tail
}
