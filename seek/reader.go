package seek

import (
	"context"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"
)

// DefaultParallel is how many ranges a Reader fetches at a time unless told
// otherwise.
const DefaultParallel = 4

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
	cancel   context.CancelFunc

	mu      sync.Mutex // of what follows: the one position
	pos     int64
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
// for [DefaultParallel]. The Reader ends with ctx or with Close.
func NewReader(ctx context.Context, parts []Part, open Opener, parallel int) *Reader {
	if parallel <= 0 {
		parallel = DefaultParallel
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &Reader{open: open, parallel: parallel, ctx: ctx, cancel: cancel}
	r.units, r.size = schedule(parts, parallel)
	return r
}

// Size returns the length of the whole in bytes, or -1 where it is not known
// before everything was read.
func (r *Reader) Size() int64 { return r.size }

// Close ends all fetches and waits for them.
func (r *Reader) Close() error {
	r.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop()
	r.err = ErrClosed
	return nil
}

// drop ends the streams that were started.
func (r *Reader) drop() {
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
			r.err = err
			r.drop()
		}
	}
	return nil, r.err
}

// ahead starts units until as many ranges as allowed are on their way.
func (r *Reader) ahead() {
	running := 0
	for _, s := range r.streams {
		if s.fetches {
			running++
		}
	}
	for r.next < len(r.units) && running < r.parallel {
		u := r.units[r.next]
		skip := int64(0)
		if u.off < r.pos && len(r.streams) == 0 { // after a Seek into the middle
			skip = r.pos - u.off
		}
		r.streams = append(r.streams, startStream(r.ctx, r.open, u, skip))
		if u.fetches() {
			running++
		}
		r.next++
	}
}

// Seek sets the position of the next Read, without fetching anything. From the
// end it needs a known size, else it fails with [ErrUnsized]; so does a
// position behind a part of unknown size.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch whence {
	case io.SeekCurrent:
		offset += r.pos
	case io.SeekEnd:
		if r.size < 0 {
			return 0, fmt.Errorf("seeking from the end: %w", ErrUnsized)
		}
		offset += r.size
	}
	if offset < 0 {
		return 0, fmt.Errorf("seeking to %d: before the beginning", offset)
	}
	if r.ctx.Err() != nil {
		return 0, r.stopped()
	}
	next := len(r.units)
	for i, u := range r.units {
		if u.size < 0 && offset > u.off {
			return 0, fmt.Errorf("seeking to %d, behind a part of unknown size: %w", offset, ErrUnsized)
		}
		if u.size < 0 || offset < u.off+u.size {
			next = i
			break
		}
	}
	if offset == r.pos && r.err == nil {
		return offset, nil
	}
	r.drop()
	r.pos, r.next, r.err = offset, next, nil
	return offset, nil
}

func (r *Reader) stopped() error {
	if r.err == ErrClosed {
		return ErrClosed
	}
	return context.Cause(r.ctx)
}

// ReadAt reads len(p) bytes from off on, all it needs in parallel. It needs a
// known size, else it fails with [ErrUnsized].
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	switch {
	case r.size < 0:
		return 0, fmt.Errorf("reading at %d: %w", off, ErrUnsized)
	case off < 0:
		return 0, fmt.Errorf("reading at %d: before the beginning", off)
	case off >= r.size:
		return 0, io.EOF
	}
	n := min(int64(len(p)), r.size-off)
	w := &sliceWriter{p[:n], off}
	if err := r.copyRange(r.ctx, w, off, off+n); err != nil {
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
	if r.size < 0 {
		in := NewReader(ctx, nil, r.open, r.parallel)
		in.units, in.size = r.units, r.size
		defer context.AfterFunc(r.ctx, in.cancel)()
		defer in.Close()
		return in.WriteTo(io.NewOffsetWriter(w, 0))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	if err := r.copyRange(ctx, w, 0, r.size); err != nil {
		return 0, err
	}
	return r.size, nil
}

// copyRange writes the bytes [from, to) of the whole to their places in w.
func (r *Reader) copyRange(ctx context.Context, w io.WriterAt, from, to int64) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.parallel)
	for _, u := range r.units {
		if u.off >= to || u.off+u.size <= from {
			continue
		}
		skip := max(0, from-u.off)
		n := min(u.size, to-u.off) - skip
		at := io.NewOffsetWriter(w, u.off+skip)
		if !u.fetches() {
			if _, err := u.copyTo(ctx, r.open, at, skip, n); err != nil {
				return err
			}
			continue
		}
		g.Go(func() error {
			_, err := u.copyTo(ctx, r.open, at, skip, n)
			return err
		})
	}
	return g.Wait()
}
