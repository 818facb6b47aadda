package seek

import (
	"context"
	"io"
)

// What a stream holds, in bytes: blocks×blockSize is the 1 MiB that a range
// beyond the current one may keep.
const (
	blockSize = 64 << 10
	blocks    = 15 // and one in hand
)

// stream runs one unit in the background and hands its bytes over in blocks. A
// stream that nobody reads stops at its full buffer and waits.
type stream struct {
	fetches bool
	cancel  context.CancelFunc
	filled  chan []byte
	done    chan struct{} // closed when the goroutine has ended; err is final then
	err     error
	block   []byte // what is left of the block in hand
}

// startStream begins to fetch a unit, from skip bytes into it.
func startStream(ctx context.Context, open Opener, u unit, skip int64) *stream {
	ctx, cancel := context.WithCancel(ctx)
	s := &stream{fetches: u.fetches(), cancel: cancel, filled: make(chan []byte, blocks), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		defer close(s.filled)
		w := &blockWriter{ctx: ctx, filled: s.filled}
		_, err := u.copyTo(ctx, open, w, skip, -1)
		if err == nil {
			err = w.flush()
		}
		s.err = err
	}()
	return s
}

// take returns at most n of the next bytes, valid until the next call; io.EOF
// at the end of the unit.
func (s *stream) take(n int) ([]byte, error) {
	if len(s.block) == 0 {
		block, ok := <-s.filled
		if !ok {
			<-s.done
			if s.err != nil {
				return nil, s.err
			}
			return nil, io.EOF
		}
		s.block = block
	}
	n = min(n, len(s.block))
	out := s.block[:n]
	s.block = s.block[n:]
	return out, nil
}

// close ends the stream and waits for its goroutine.
func (s *stream) close() {
	s.cancel()
	<-s.done
}

// blockWriter gathers what is written into blocks and hands them over.
type blockWriter struct {
	ctx    context.Context
	filled chan<- []byte
	block  []byte
}

func (w *blockWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if w.block == nil {
			w.block = make([]byte, 0, blockSize)
		}
		m := min(len(p), blockSize-len(w.block))
		w.block = append(w.block, p[:m]...)
		p, n = p[m:], n+m
		if len(w.block) == blockSize {
			if err := w.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// ReadFrom fills blocks straight from r, and hands over what has arrived rather
// than wait for a full block, so that the first byte is not held back.
func (w *blockWriter) ReadFrom(r io.Reader) (n int64, err error) {
	for {
		if w.block == nil {
			w.block = make([]byte, 0, blockSize)
		}
		m, err := r.Read(w.block[len(w.block):blockSize])
		w.block = w.block[:len(w.block)+m]
		n += int64(m)
		if len(w.block) > 0 && (len(w.filled) == 0 || len(w.block) == blockSize) {
			if err := w.flush(); err != nil {
				return n, err
			}
		}
		if err == io.EOF {
			return n, nil
		} else if err != nil {
			return n, err
		}
	}
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
