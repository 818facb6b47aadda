package seek

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
)

// DefaultWindowLimit is how many bytes a Window keeps unless told otherwise.
const DefaultWindowLimit = 64 << 20

// Window reads a Source in pieces and remembers them. All ranges of one call
// are asked for at once; what is known or already on its way is never asked for
// again. It is a Source too: what it holds comes from memory, the rest from the
// Source beneath. It may be used concurrently.
//
// A fetch belongs to the Window, not to the call that began it: it survives the
// cancellation of its first caller and serves whoever else waits for it.
type Window struct {
	source Source
	ctx    context.Context // of the fetches; ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	slots  chan struct{} // taken by each fetch that is queued

	mu      sync.Mutex
	info    Info
	bound   int64 // the size, or while that is not known the least it cannot exceed
	held    spanSet
	flights []*flight
	pace    pace
	tape    *tape // what is read instead of a source that gives neither ranges nor a size
}

// farAway is where ranges to an unknown end are taken to end.
const farAway = int64(1) << 62

// NewWindow returns a Window over s that keeps at most limit bytes; 0 means
// [DefaultWindowLimit]. Its fetches carry the values of ctx, not its
// cancellation: they end with Close.
func NewWindow(ctx context.Context, s Source, limit int64) *Window {
	if limit <= 0 {
		limit = DefaultWindowLimit
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	return &Window{
		source: s,
		ctx:    ctx,
		cancel: cancel,
		slots:  make(chan struct{}, maxFlights),
		info:   Info{Size: -1},
		bound:  farAway,
		held:   spanSet{limit: limit},
	}
}

// Close breaks off what is on its way and waits for it to end. Whatever is asked
// of the Window then fails with [ErrClosed].
func (w *Window) Close() error {
	w.mu.Lock() // no fetch begins after this
	w.cancel()
	w.mu.Unlock()
	w.wg.Wait()
	return nil
}

// Info returns what the source's answers have told of the resource. Before the
// first answer, Size is -1.
func (w *Window) Info() Info {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.info
}

// Read returns the bytes of all ranges, in their order: one slice each, which
// the caller must not change. A range that passes the end of the resource gives
// what there is, one beyond it nothing; whether that is an error the caller
// knows. Ranges to the end and suffixes are allowed; a suffix that the source
// does not serve is read as a closed range once the size is known.
//
// All that is missing is asked for at once, near neighbours by one request.
// More bytes than the Window may keep are [ErrLimit].
func (w *Window) Read(ctx context.Context, requests ...Request) ([][]byte, error) {
	return w.read(ctx, true, requests)
}

// ReadAtOnce is Read of so few and small ranges that none has to wait until
// others have been answered, however many are on their way: one round trip for
// all. The caller bounds their number.
func (w *Window) ReadAtOnce(ctx context.Context, requests ...Request) ([][]byte, error) {
	return w.read(ctx, false, requests)
}

func (w *Window) read(ctx context.Context, queued bool, requests []Request) ([][]byte, error) {
	needs, err := w.start(queued, requests)
	if err != nil {
		return nil, err
	}
	got := make([][]byte, len(needs))
	for i := range needs {
		if got[i], err = w.collect(ctx, &needs[i]); err != nil {
			return nil, err
		}
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

// Prefetch starts to fetch what Read would, and does not wait. What fails is
// asked for again by the Read that needs it.
func (w *Window) Prefetch(requests ...Request) {
	w.start(true, requests) // an error is one of Read's, too
}

// Held returns the bytes of a range if the Window holds all of them; as with
// Read, what lies beyond the end of the resource is left out.
func (w *Window) Held(r Range) ([]byte, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r = w.clip(r); r.Offset < 0 {
		return nil, false
	}
	data := assemble(r, w.held.use(r))
	return data, int64(len(data)) == r.Length
}

// Arrived is Held once all that is on its way has come, so that what it returns
// does not depend on which answer is the faster. It asks for nothing.
func (w *Window) Arrived(ctx context.Context, r Range) ([]byte, bool) {
	var n need
	w.mu.Lock()
	n.Range = r
	w.await(&n, len(w.flights))
	w.mu.Unlock()
	n.land(ctx) // what failed is not there
	return w.Held(r)
}

// need is one request of a call that waits for its answer.
type need struct {
	Request
	data []byte // the answer, where done
	done bool
	have []span    // bytes of it; the Window may drop them meanwhile
	wait []*flight // that bring the rest
	own  []*flight // those of them that began for it
}

// start begins the fetches that the requests need beyond what is held or on its
// way. Queued ones wait while as many as may be are on their way.
func (w *Window) start(queued bool, requests []Request) ([]need, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() != nil {
		return nil, fmt.Errorf("reading %s: %w", w.info.Name, ErrClosed)
	}
	if err := w.checkLimit(requests); err != nil {
		return nil, err
	}
	needs := make([]need, len(requests))
	var lacking []Request
	for i, r := range requests {
		needs[i].Request = r
		lacking = append(lacking, w.lacks(&needs[i])...)
	}
	began := len(w.flights)
	for _, r := range mergeNear(lacking, w.held.limit) {
		w.launch(r, queued)
	}
	for i := range needs {
		w.await(&needs[i], began)
	}
	return needs, nil
}

// lacks takes what is held of a need and returns what is to be asked for.
func (w *Window) lacks(n *need) []Request {
	r := w.clip(n.Range)
	if r.Offset < 0 { // a suffix of an unknown size is fetched as it is
		if slices.ContainsFunc(w.flights, func(f *flight) bool { return w.brings(f, r) }) {
			return nil
		}
		return []Request{n.Request}
	}
	if w.info.Size >= 0 {
		n.Range = r // stands, even where the resource grows meanwhile
	}
	have := w.held.use(r)
	n.data = assemble(r, have)
	if n.done = int64(len(n.data)) == r.Length; n.done {
		return nil
	}
	n.have = slices.Clone(have)
	var out []Request
	for _, m := range w.missing(r) {
		out = append(out, Request{m, n.Purpose, n.Note})
	}
	return out
}

// checkLimit refuses requests for more bytes than the window may keep.
func (w *Window) checkLimit(requests []Request) error {
	left := w.held.limit
	for _, r := range requests {
		c := w.clip(r.Range)
		n := c.Length
		switch {
		case c.Offset < 0:
			n = max(-c.Offset, 0)
		case r.Length < 0 && c.End() == farAway:
			n = 0 // to an unknown end: seen when it arrives
		}
		if n < 0 || n > left {
			return fmt.Errorf("reading %s (%s): %w of %d bytes to hold at a time", r.Range, r.Note, ErrLimit, w.held.limit)
		}
		left -= n
	}
	return nil
}

// await notes which flights a need waits for. Those from began on are the
// call's own.
func (w *Window) await(n *need, began int) {
	if n.done {
		return
	}
	r := w.clip(n.Range)
	for i, f := range w.flights {
		if !w.brings(f, r) {
			continue
		}
		n.wait = append(n.wait, f)
		if i >= began {
			n.own = append(n.own, f)
		}
	}
}

// clip makes a range closed and cuts it to the resource; a suffix stays one
// while the size is not known.
func (w *Window) clip(r Range) Range {
	switch {
	case r.Offset < 0 && w.info.Size < 0:
		return r
	case r.Offset < 0:
		r = Range{max(0, w.info.Size+r.Offset), ToEnd}
	}
	off := min(r.Offset, w.bound)
	if r.Length < 0 || r.Length > w.bound-off {
		return Range{off, w.bound - off}
	}
	return Range{off, r.Length}
}

// missing returns the parts of a closed range that are neither held nor on
// their way.
func (w *Window) missing(r Range) []Range {
	var covers []Range
	for _, s := range w.held.overlapping(r) {
		covers = append(covers, Range{s.off, int64(len(s.data))})
	}
	for _, f := range w.flights {
		if w.brings(f, r) {
			covers = append(covers, w.clip(f.Range))
		}
	}
	slices.SortFunc(covers, byStart)
	return uncovered(r, covers)
}

// collect waits until the bytes of a need are there and returns them. What
// somebody else's fetch did not bring it asks for itself, and a suffix that
// failed it asks for as a closed range; each once.
func (w *Window) collect(ctx context.Context, n *need) ([]byte, error) {
	for again := false; !n.done; again = true {
		own, others, err := n.land(ctx)
		if err != nil {
			return nil, err
		}
		if w.answer(n) {
			break
		}
		suffix := slices.ContainsFunc(n.own, func(f *flight) bool { return f.Offset < 0 })
		switch {
		case own != nil && (again || !suffix || !w.awaitSize(ctx)):
			return nil, own
		case again && others != nil:
			return nil, others
		case again:
			return nil, fmt.Errorf("reading %s (%s): %w", n.Range, n.Note, ErrChanged)
		}
		more, err := w.start(true, []Request{n.Request})
		if err != nil {
			return nil, err
		}
		more[0].have = append(more[0].have, n.have...)
		*n = more[0]
	}
	return n.data, nil
}

// land waits for all flights of a need and takes their bytes. It returns the
// first error of its own flights, that of others', and that of ctx.
func (n *need) land(ctx context.Context) (own, others, ended error) {
	for _, f := range n.wait {
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
		switch {
		case f.err == nil:
			n.have = append(n.have, span{off: f.off, data: f.data})
		case slices.Contains(n.own, f):
			own = cmp.Or(own, f.err)
		default:
			others = cmp.Or(others, f.err)
		}
	}
	n.wait = nil
	return own, others, nil
}

// answer puts a need's bytes together, and reports whether that is all of them.
func (w *Window) answer(n *need) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.clip(n.Range)
	if r.Offset < 0 {
		return false
	}
	pieces := append(n.have, w.held.use(r)...)
	slices.SortStableFunc(pieces, byOffset)
	n.data = assemble(r, pieces)
	n.done = int64(len(n.data)) == r.Length
	return n.done
}

// awaitSize waits for the answers that are on their way until one has told the
// size, and reports whether one did.
func (w *Window) awaitSize(ctx context.Context) bool {
	w.mu.Lock()
	size, flights := w.info.Size, slices.Clone(w.flights)
	w.mu.Unlock()
	for _, f := range flights {
		if size >= 0 {
			break
		}
		select {
		case <-f.done:
			size = w.Info().Size
		case <-ctx.Done():
			return false
		}
	}
	return size >= 0
}
