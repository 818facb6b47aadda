package seek

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// What is held in the middle of a range is used where it saves more than a
// request costs: the longest jumps stretches, of at least minJump bytes each.
const (
	jumps   = 2
	minJump = 64 << 10
)

// Open returns a range: from memory its beginning, its end and long stretches
// between, as far as the Window holds them, the rest from the Source beneath,
// all of it asked for at once. What passes through is not kept. Where the
// beginning is held, Open does not wait for the Source.
func (w *Window) Open(ctx context.Context, r Request) (*Body, error) {
	w.mu.Lock()
	if w.ctx.Err() != nil {
		w.mu.Unlock()
		return nil, fmt.Errorf("reading %s: %w", w.info.Name, ErrClosed)
	}
	info, c := w.info, w.clip(r.Range)
	if c.Offset < 0 || c.End() == farAway {
		source := w.beneath()
		w.mu.Unlock()
		return source.Open(ctx, r)
	}
	held := w.useful(c)
	source := w.beneath()
	w.mu.Unlock()

	b := &heldBody{name: info.Name, at: c.Offset}
	at := c.Offset
	lack := func(to int64) {
		if at < to {
			rest := Request{Range{at, to - at}, r.Purpose, r.Note}
			b.stretches = append(b.stretches, stretch{left: to - at, late: openLate(ctx, source, rest)})
		}
	}
	for _, h := range held {
		lack(h.off)
		b.stretches = append(b.stretches, stretch{data: h.data})
		at = h.end()
	}
	lack(c.End())
	if len(b.stretches) > 0 && b.stretches[0].late != nil {
		body, err := b.stretches[0].late.await()
		if err != nil {
			b.Close()
			return nil, err
		}
		info = body.Info
	}
	return &Body{Info: info, Offset: c.Offset, ReadCloser: b}, nil
}

// Refresh asks the source how large the resource is by now, with one request
// for its last byte, or where it has no ranges from the end for the first. It is
// for resources that grow: what the Window holds stays.
func (w *Window) Refresh(ctx context.Context) error {
	body, err := w.source.Open(ctx, Request{Suffix(1), Tail, "size"})
	if errors.Is(err, ErrNoRanges) {
		body, err = w.source.Open(ctx, Request{Range{Length: 1}, Tail, "size"})
	}
	if err != nil {
		return err
	}
	defer body.Close()
	info := body.Info
	if info.Size < 0 && body.Offset > 0 {
		info.Size = body.Offset + 1
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.learn(info)
	return nil
}

// useful returns the held bytes of a closed range that need not be asked for
// again: at its beginning, at its end, and what is worth it between. The
// window's lock is held.
func (w *Window) useful(r Range) (out []span) {
	spans := w.held.use(r)
	var runs, between []Range
	for _, s := range spans {
		off, end := max(s.off, r.Offset), min(s.end(), r.End())
		if n := len(runs); n > 0 && runs[n-1].End() == off {
			runs[n-1].Length = end - runs[n-1].Offset
		} else {
			runs = append(runs, Range{off, end - off})
		}
	}
	edge := func(run Range) bool { return run.Offset == r.Offset || run.End() == r.End() }
	for _, run := range runs {
		if !edge(run) && run.Length >= minJump {
			between = append(between, run)
		}
	}
	slices.SortStableFunc(between, func(a, b Range) int { return cmp.Compare(b.Length, a.Length) })
	between = between[:min(len(between), jumps)]
	for _, run := range runs {
		if edge(run) || slices.Contains(between, run) {
			out = append(out, span{off: run.Offset, data: assemble(run, spans)})
		}
	}
	return out
}

// heldBody is a body of which parts are in memory.
type heldBody struct {
	stretches []stretch // what is left
	at        int64     // in the resource
	name      string
}

// stretch is a part of a heldBody that is either in memory or on its way.
type stretch struct {
	data []byte // what is left of what is in memory
	late *lateBody
	left int64 // bytes that are yet to come of it
}

// lateBody is a body that is asked for in the background.
type lateBody struct {
	cancel context.CancelFunc
	opened chan struct{} // closed when body or err is there
	body   *Body
	err    error
}

func openLate(ctx context.Context, s Source, r Request) *lateBody {
	ctx, cancel := context.WithCancel(ctx)
	l := &lateBody{cancel: cancel, opened: make(chan struct{})}
	go func() {
		defer close(l.opened)
		l.body, l.err = s.Open(ctx, r)
	}()
	return l
}

func (l *lateBody) await() (*Body, error) {
	<-l.opened
	return l.body, l.err
}

// close breaks off what is still on its way.
func (l *lateBody) close() error {
	l.cancel()
	if body, _ := l.await(); body != nil {
		return body.Close()
	}
	return nil
}

// Read gives the stretches in their order.
func (b *heldBody) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(b.stretches) > 0 && n == 0 && err == nil {
		s := &b.stretches[0]
		if s.late == nil {
			n = copy(p, s.data)
			s.data = s.data[n:]
		} else {
			n, err = s.read(p)
		}
		b.at += int64(n)
		switch {
		case err == io.EOF && s.left > 0:
			return n, broken(b.name, b.at, io.ErrUnexpectedEOF)
		case err != nil && err != io.EOF:
			return n, err
		case s.late == nil && len(s.data) > 0, s.late != nil && s.left > 0:
			continue
		}
		err = nil // another may follow
		if s.late != nil {
			s.late.close() // all that was wanted of it has come
		}
		b.stretches = b.stretches[1:]
	}
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// read reads of what is on its way.
func (s *stretch) read(p []byte) (int, error) {
	body, err := s.late.await()
	if err != nil {
		return 0, err
	}
	n, err := body.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	return n, err
}

// Close breaks off what is still on its way.
func (b *heldBody) Close() (err error) {
	for _, s := range b.stretches {
		if s.late != nil {
			err = cmp.Or(s.late.close(), err)
		}
	}
	b.stretches = nil
	return err
}
