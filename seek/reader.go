package seek

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sort"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

const (
	// DefaultParallel is how many ranges a Reader fetches at a time unless told
	// otherwise.
	DefaultParallel = 4
	// settled is how many bytes are read after a Seek until it is taken for the
	// beginning of a long read, which is worth several ranges at a time.
	settled = 256 << 10
)

// Reader delivers the parts of a plan as one stream: it fetches ahead in
// parallel, delivers in order, and holds at most 1 MiB for each range beyond
// the one being read. Nothing is fetched before the first use.
//
// Read, WriteTo and Seek share one position and must not be called at the same
// time; ReadAt and Download have no position and may run beside them and each
// other. Close ends everything.
type Reader struct {
	open     Opener
	parallel int
	units    []unit
	size     int64 // -1: not known
	ctx      context.Context
	cancel   context.CancelCauseFunc
	damage   damageLog
	calls    sync.RWMutex // held for reading by ReadAt and Download, which Close waits for

	mu      sync.Mutex // of what follows: the one position
	pos     int64
	sought  int64     // where the last Seek went: units begin there, or at their beginning
	next    int       // the first unit that is not in streams
	streams []*stream // started units, the current one first
	err     error     // what ended the stream; io.EOF at the end
}

var (
	_ io.ReadSeekCloser = (*Reader)(nil)
	_ io.WriterTo       = (*Reader)(nil)
	_ io.ReaderAt       = (*Reader)(nil)
)

// NewReader returns a Reader of parts. Open finds the Source of each part's
// resource by its name; parallel is how many ranges are fetched at a time, 0
// for [DefaultParallel]. The Reader ends with ctx or with Close. Parts that
// contradict themselves are an error of its first use.
func NewReader(ctx context.Context, parts []Part, open Opener, parallel int) *Reader {
	if parallel <= 0 {
		parallel = DefaultParallel
	}
	units, size, err := schedule(parts, parallel)
	r := newReader(ctx, open, units, size, parallel)
	for i := range units {
		units[i].damage = &r.damage
	}
	if err != nil {
		r.cancel(err)
	}
	return r
}

func newReader(ctx context.Context, open Opener, units []unit, size int64, parallel int) *Reader {
	ctx, cancel := context.WithCancelCause(ctx)
	return &Reader{open: open, parallel: parallel, units: units, size: size, ctx: ctx, cancel: cancel}
}

// Size returns the length of the whole in bytes, or -1 where it is not known
// before everything was read.
func (r *Reader) Size() int64 { return r.size }

// Damage returns the damage that was met so far in what was read, in the order of
// its places; the first of it where there is much.
func (r *Reader) Damage() []Damage { return r.damage.list() }

// Close ends all fetches and waits for them.
func (r *Reader) Close() error {
	r.cancel(ErrClosed)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop()
	r.err = ErrClosed
	r.calls.Lock() // from now on they see the end of ctx
	defer r.calls.Unlock()
	return nil
}

// drop ends the streams that were started.
func (r *Reader) drop() {
	for _, s := range r.streams {
		s.cancel()
	}
	for _, s := range r.streams {
		s.close()
	}
	r.streams = nil
}

// Read reads the next bytes, in order.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	block, err := r.take(len(p))
	return copy(p, block), err
}

// WriteTo writes everything from the current position on to w.
func (r *Reader) WriteTo(w io.Writer) (n int64, err error) {
	for {
		block, err := r.take(blockSize)
		if err == io.EOF {
			return n, nil
		} else if err != nil {
			return n, err
		}
		m, err := w.Write(block)
		n += int64(m)
		if err != nil {
			return n, err
		}
	}
}

// take returns at most n of the next bytes, valid until the next call.
func (r *Reader) take(n int) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.err == nil {
		if r.ctx.Err() != nil {
			return nil, context.Cause(r.ctx)
		}
		r.ahead()
		if len(r.streams) == 0 {
			r.err = io.EOF
			break
		}
		block, err := r.streams[0].take(n)
		if len(block) > 0 {
			r.pos += int64(len(block))
			return block, nil
		}
		r.streams[0].close()
		r.streams = r.streams[1:]
		if err != io.EOF {
			r.drop()
			r.err = r.cause(err)
		}
	}
	return nil, r.err
}

// cause returns why the Reader has ended where it has, else err.
func (r *Reader) cause(err error) error {
	if err != nil && r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	return err
}

// ahead starts units until as many ranges as allowed are on their way. Soon
// after a Seek that is one: most who seek read little.
func (r *Reader) ahead() {
	allowed := r.parallel
	if r.sought > 0 && r.pos-r.sought < settled {
		allowed = 1
	}
	running := 0
	for _, s := range r.streams {
		running += s.ranges
	}
	for r.next < len(r.units) {
		u := &r.units[r.next]
		ranges := min(u.ranges, allowed)
		if running+ranges > allowed {
			return
		}
		r.streams = append(r.streams, startStream(r.ctx, r.open, u, max(r.sought, u.lo), ranges))
		running += ranges
		r.next++
	}
}

// Seek sets the position of the next Read, without fetching anything. From the
// end it needs a known size, else it fails with [ErrUnsized]; so does a
// position behind a part of unknown size. It also clears an error of Read.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += r.pos
	case io.SeekEnd:
		if r.size < 0 {
			return 0, fmt.Errorf("seeking from the end: %w", ErrUnsized)
		}
		offset += r.size
	default:
		return 0, fmt.Errorf("seeking: whence %d", whence)
	}
	switch {
	case offset < 0:
		return 0, fmt.Errorf("seeking to %d: before the beginning", offset)
	case offset == r.pos && r.err == nil:
		return offset, nil
	}
	next := r.unitAt(offset)
	if next < len(r.units) && !r.units[next].sized() && offset > r.units[next].lo {
		return 0, fmt.Errorf("seeking to %d, behind a part of unknown size: %w", offset, ErrUnsized)
	}
	r.drop()
	r.pos, r.sought, r.next, r.err = offset, offset, next, nil
	return offset, nil
}

// unitAt returns the unit that has the byte at off, or the one of unknown size
// before it.
func (r *Reader) unitAt(off int64) int {
	return sort.Search(len(r.units), func(i int) bool {
		u := &r.units[i]
		return u.hi > off || !u.sized()
	})
}

// ReadAt reads len(p) bytes from off on, all it needs in parallel. It needs a
// known size, else it fails with [ErrUnsized].
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	switch {
	case r.ctx.Err() != nil:
		return 0, context.Cause(r.ctx)
	case r.size < 0:
		return 0, fmt.Errorf("reading at %d: %w", off, ErrUnsized)
	case off < 0:
		return 0, fmt.Errorf("reading at %d: before the beginning", off)
	case off >= r.size:
		return 0, io.EOF
	}
	n := min(int64(len(p)), r.size-off)
	if err := r.copyRange(r.ctx, &sliceWriter{p[:n], off}, off, off+n); err != nil {
		return 0, err
	}
	if int(n) < len(p) {
		return int(n), io.EOF
	}
	return int(n), nil
}

type sliceWriter struct {
	p   []byte
	off int64
}

func (w *sliceWriter) WriteAt(b []byte, off int64) (int, error) {
	return copy(w.p[off-w.off:], b), nil
}

// Download writes the whole to w, each range to its place as it arrives, with
// no buffer between. It returns the number of bytes. Where the size is not
// known it writes in order.
func (r *Reader) Download(ctx context.Context, w io.WriterAt) (int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })()
	if r.size < 0 {
		in := newReader(ctx, r.open, r.units, r.size, r.parallel)
		defer in.Close()
		r.calls.RLock()
		defer r.calls.RUnlock()
		return in.WriteTo(io.NewOffsetWriter(w, 0))
	}
	if err := r.copyRange(ctx, w, 0, r.size); err != nil {
		return 0, err
	}
	return r.size, nil
}

// copyRange writes the bytes [from, to) of the whole to their places in w.
func (r *Reader) copyRange(ctx context.Context, w io.WriterAt, from, to int64) error {
	r.calls.RLock()
	defer r.calls.RUnlock()
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	g, ctx := errgroup.WithContext(ctx)
	slots := semaphore.NewWeighted(int64(r.parallel))
	var late error
	for i := r.unitAt(from); i < len(r.units) && r.units[i].lo < to; i++ {
		u := &r.units[i]
		if late = slots.Acquire(ctx, int64(u.ranges)); late != nil {
			break
		}
		g.Go(func() error {
			defer slots.Release(int64(u.ranges))
			at := io.NewOffsetWriter(w, max(from, u.lo))
			_, err := u.copyTo(ctx, r.open, at, from, min(to, u.hi), u.ranges)
			return err
		})
	}
	return r.cause(cmp.Or(g.Wait(), late))
}
