package seek

import (
	"context"
	"io"
	"iter"
	"sync"
)

// Sequence delivers parts that become known one after the other, such as those
// of a live stream, as one stream. Each part is read as a [Reader] reads it. The
// methods must not be called at the same time, but for Close, which ends the
// others.
type Sequence struct {
	open     Opener
	parallel int
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	next     func() (Part, error, bool)
	stop     func()

	damage damageLog

	mu   sync.Mutex // of a call of Read or WriteTo, and of Close
	part *Reader    // in hand, nil between two
	err  error      // what Read returns from now on
}

var (
	_ io.ReadCloser = (*Sequence)(nil)
	_ io.WriterTo   = (*Sequence)(nil)
)

// NewSequence returns a Sequence of the parts that make yields. Make's context
// ends with ctx or with Close; nothing is asked of it before the first use. Open
// and parallel are as for [NewReader].
func NewSequence(ctx context.Context, make func(context.Context) iter.Seq2[Part, error], open Opener, parallel int) *Sequence {
	ctx, cancel := context.WithCancel(ctx)
	s := &Sequence{open: open, parallel: parallel, ctx: ctx, cancel: cancel}
	s.next, s.stop = iter.Pull2(make(ctx))
	return s
}

// Read reads the next bytes. It waits until there are some.
func (s *Sequence) Read(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil {
		if s.part == nil && !s.advance() {
			break
		}
		if n, err = s.part.Read(p); n > 0 || len(p) == 0 {
			return n, nil
		}
		s.ended(err)
	}
	return 0, s.err
}

// WriteTo writes all that comes to w.
func (s *Sequence) WriteTo(w io.Writer) (n int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil {
		if s.part == nil && !s.advance() {
			break
		}
		m, err := s.part.WriteTo(w)
		n += m
		if err == nil {
			err = io.EOF
		}
		s.ended(err)
	}
	if s.err != io.EOF {
		err = s.err
	}
	return n, err
}

// advance takes the next part in hand.
func (s *Sequence) advance() bool {
	part, err, ok := s.next()
	switch {
	case !ok:
		s.err = io.EOF
	case err != nil:
		s.err = err
	default:
		s.part = NewReader(s.ctx, []Part{part}, s.open, s.parallel)
		return true
	}
	return false
}

// ended lays the part in hand away.
func (s *Sequence) ended(err error) {
	s.part.Close()
	for _, d := range s.part.Damage() {
		s.damage.add(d)
	}
	s.part = nil
	if err != io.EOF {
		s.err = err
	}
}

// Damage is as for a [Reader], of the parts that were read to their ends.
func (s *Sequence) Damage() []Damage { return s.damage.list() }

// Close ends the sequence and waits for what it does.
func (s *Sequence) Close() error {
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.part != nil {
		s.ended(io.EOF)
	}
	s.stop()
	s.err = ErrClosed
	return nil
}
