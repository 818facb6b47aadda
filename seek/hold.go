package seek

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Open returns a range: its beginning and its end from memory where the Window
// holds them, the rest from the Source beneath by one request. What passes
// through is not kept. Where the beginning is held, Open does not wait for the
// Source.
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
	head, tail := w.edges(c)
	source := w.beneath()
	w.mu.Unlock()

	b := &heldBody{head: head, tail: tail, name: info.Name, at: c.Offset}
	b.left = c.Length - int64(len(head)) - int64(len(tail))
	if b.left > 0 {
		rest := Request{Range{c.Offset + int64(len(head)), b.left}, r.Purpose, r.Note}
		b.begin(ctx, source, rest)
		if len(head) == 0 {
			if err := b.await(); err != nil {
				b.Close()
				return nil, err
			}
			info = b.body.Info
		}
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

// edges returns the held bytes at the beginning and at the end of a closed
// range. They do not overlap. The window's lock is held.
func (w *Window) edges(r Range) (head, tail []byte) {
	spans := w.held.use(r)
	head = assemble(r, spans)
	from := r.End() // of the tail
	for i := len(spans) - 1; i >= 0 && spans[i].end() >= from; i-- {
		from = spans[i].off
	}
	if from = max(from, r.Offset+int64(len(head))); from == r.End() {
		return head, nil
	}
	return head, assemble(Range{from, r.End() - from}, spans)
}

// heldBody is a body whose beginning and end are in memory.
type heldBody struct {
	head, tail []byte // what is left of them
	left       int64  // bytes between them that are yet to come
	at         int64  // in the resource
	name       string

	cancel context.CancelFunc
	opened chan struct{} // closed when body or err is there; nil: nothing between
	body   *Body
	err    error
}

// begin asks the source for what is not held.
func (b *heldBody) begin(ctx context.Context, s Source, r Request) {
	ctx, b.cancel = context.WithCancel(ctx)
	b.opened = make(chan struct{})
	go func() {
		defer close(b.opened)
		b.body, b.err = s.Open(ctx, r)
	}()
}

func (b *heldBody) await() error {
	<-b.opened
	return b.err
}

// Read gives the held beginning, then what the source sends, then the held end.
func (b *heldBody) Read(p []byte) (n int, err error) {
	switch {
	case len(b.head) > 0:
		n = copy(p, b.head)
		b.head = b.head[n:]
	case b.left > 0:
		if err := b.await(); err != nil {
			return 0, err
		}
		n, err = b.body.Read(p[:min(int64(len(p)), b.left)])
		b.left -= int64(n)
		switch {
		case err == io.EOF && b.left > 0:
			err = broken(b.name, b.at+int64(n), io.ErrUnexpectedEOF)
		case err == io.EOF:
			err = nil // the held end follows
		}
	case len(b.tail) > 0:
		n = copy(p, b.tail)
		b.tail = b.tail[n:]
	case len(p) > 0:
		err = io.EOF
	}
	b.at += int64(n)
	return n, err
}

// Close breaks off what is still on its way.
func (b *heldBody) Close() error {
	if b.opened == nil {
		return nil
	}
	b.cancel()
	<-b.opened
	if b.body != nil {
		return b.body.Close()
	}
	return nil
}
