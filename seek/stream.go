package seek

import (
	"context"
	"io"
)

// What a stream holds, in bytes: blocks×blockSize and one block in hand are the
// 1 MiB that a range beyond the current one may keep.
const (
	blockSize = 64 << 10
	blocks    = 15
)

// stream runs one unit in the background and hands its bytes over in blocks. A
// stream that nobody reads stops at its full buffer and waits.
type stream struct {
	ranges int // being fetched
	cancel context.CancelFunc
	filled chan []byte
	spare  chan []byte   // blocks that were read, to be filled again
	done   chan struct{} // closed when the goroutine has ended; err is final then
	err    error
	block  []byte // in hand
	left   []byte // what of it was not taken
}

// startStream begins to fetch a unit, from an offset in the output on.
func startStream(ctx context.Context, open Opener, u *unit, from int64, ranges int) *stream {
	ctx, cancel := context.WithCancel(ctx)
	s := &stream{ranges: ranges, cancel: cancel, done: make(chan struct{})}
	if u.ranges == 0 {
		s.literals(u.in(from, u.hi))
		return s
	}
	s.filled = make(chan []byte, blocks)
	s.spare = make(chan []byte, blocks)
	go func() {
		defer close(s.done)
		defer close(s.filled)
		w := &blockWriter{ctx: ctx, filled: s.filled, spare: s.spare}
		_, err := u.copyTo(ctx, open, w, from, u.hi, ranges)
		if flushed := w.flush(); err == nil {
			err = flushed
		}
		s.err = err
	}()
	return s
}

// literals hands over bytes that are there.
func (s *stream) literals(pieces []piece) {
	s.filled = make(chan []byte, len(pieces))
	for _, p := range pieces {
		s.filled <- p.literal
	}
	close(s.filled)
	close(s.done)
}

// take returns at most n of the next bytes, valid until the next call; io.EOF
// at the end of the unit.
func (s *stream) take(n int) ([]byte, error) {
	if len(s.left) == 0 {
		select {
		case s.spare <- s.block:
		default:
		}
		block, ok := <-s.filled
		if !ok {
			<-s.done
			if s.err != nil {
				return nil, s.err
			}
			return nil, io.EOF
		}
		s.block, s.left = block, block
	}
	n = min(n, len(s.left))
	out := s.left[:n]
	s.left = s.left[n:]
	return out, nil
}

// close ends the stream and waits for its goroutine.
func (s *stream) close() {
	s.cancel()
	<-s.done
}

// blockWriter gathers what is written into blocks and hands them over: full
// ones, and whatever there is when the other side has nothing to read.
type blockWriter struct {
	ctx    context.Context
	filled chan<- []byte
	spare  <-chan []byte
	block  []byte
}

func (w *blockWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		w.ready()
		m := min(len(p), blockSize-len(w.block))
		w.block = append(w.block, p[:m]...)
		p, n = p[m:], n+m
		if err := w.hand(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// ReadFrom fills blocks straight from r.
func (w *blockWriter) ReadFrom(r io.Reader) (n int64, err error) {
	for {
		w.ready()
		m, err := r.Read(w.block[len(w.block):blockSize])
		w.block = w.block[:len(w.block)+m]
		n += int64(m)
		if err := w.hand(); err != nil {
			return n, err
		}
		if err == io.EOF {
			return n, nil
		} else if err != nil {
			return n, err
		}
	}
}

// ready makes room in a block.
func (w *blockWriter) ready() {
	if w.block != nil {
		return
	}
	select {
	case w.block = <-w.spare:
		w.block = w.block[:0]
	default:
	}
	if cap(w.block) < blockSize {
		w.block = make([]byte, 0, blockSize)
	}
}

// hand gives the block over if it is full or waited for.
func (w *blockWriter) hand() error {
	if len(w.block) == blockSize || len(w.filled) == 0 {
		return w.flush()
	}
	return nil
}

func (w *blockWriter) flush() error {
	if len(w.block) == 0 {
		return nil
	}
	select {
	case w.filled <- w.block:
		w.block = nil
		return nil
	case <-w.ctx.Done():
		return context.Cause(w.ctx)
	}
}
