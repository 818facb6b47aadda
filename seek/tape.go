package seek

import (
	"context"
	"fmt"
	"io"
	"sync"
)

// tape reads a resource that can be read from its beginning alone, such as a
// radio station: by one request, as far as somebody wants it, and remembers the
// bytes. Another request would bring other bytes, or the same ones again.
type tape struct {
	info  Info
	limit int64 // the most bytes that are remembered

	mu   sync.Mutex
	data []byte
	want int64         // how far it is to be read
	err  error         // why data does not grow any more; io.EOF: it is all
	wake chan struct{} // has room for one word that want has risen
	news chan struct{} // closed, and replaced, when data or err have changed
}

// tapeStep is how many bytes are read of the body at a time, at most.
const tapeStep = 32 << 10

// rewind begins the tape of the window's resource. The window's lock is held.
func (w *Window) rewind(info Info) *tape {
	t := &tape{info: info, limit: w.held.limit, wake: make(chan struct{}, 1), news: make(chan struct{})}
	w.wg.Go(func() { t.run(w.ctx, w.source) })
	return t
}

// run reads on whenever more is wanted, until ctx ends.
func (t *tape) run(ctx context.Context, s Source) {
	body, err := s.Open(ctx, Request{Range{0, ToEnd}, Media, "from the beginning"})
	if err != nil {
		t.add(nil, err)
		return
	}
	defer body.Close()
	buf := make([]byte, tapeStep)
	for err == nil {
		if !t.hungry() {
			select {
			case <-t.wake:
				continue
			case <-ctx.Done():
				err = ErrClosed
			}
		}
		var n int
		if err == nil {
			n, err = body.Read(buf)
		}
		t.add(buf[:n], err)
	}
}

// hungry reports whether more is wanted than there is.
func (t *tape) hungry() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int64(len(t.data)) < t.want
}

// add appends bytes, or ends the tape.
func (t *tape) add(b []byte, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, b...) // what was given out of it stays as it is
	switch {
	case err != nil && err != io.EOF:
		t.err = broken(t.info.Name, int64(len(t.data)), err)
	case err != nil:
		t.err = err
	case int64(len(t.data)) > t.limit:
		t.err = fmt.Errorf("reading %s from its beginning, since the source gives no ranges: %w of %d bytes to hold", t.info.Name, ErrLimit, t.limit)
	}
	close(t.news)
	t.news = make(chan struct{})
}

// have returns the bytes from off on, and what to wait for where there are none
// yet. It asks for those up to end.
func (t *tape) have(off, end int64) (b []byte, news <-chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if off < int64(len(t.data)) {
		return t.data[off:min(end, int64(len(t.data)))], nil, nil
	}
	if t.err != nil {
		return nil, nil, t.err
	}
	t.want = max(t.want, end)
	select {
	case t.wake <- struct{}{}:
	default:
	}
	return nil, t.news, nil
}

// Open returns a range. Suffixes are [ErrNoRanges].
func (t *tape) Open(ctx context.Context, r Request) (*Body, error) {
	if r.Offset < 0 {
		return nil, fmt.Errorf("reading %s of %s: %w", r.Range, t.info.Name, ErrNoRanges)
	}
	b := &tapeBody{ctx: ctx, tape: t, at: r.Offset, end: farAway}
	if r.Length >= 0 {
		b.end = min(r.End(), farAway)
	}
	return &Body{Info: t.info, Offset: r.Offset, ReadCloser: b}, nil
}

// tapeBody is a range of a tape.
type tapeBody struct {
	ctx     context.Context
	tape    *tape
	at, end int64
}

func (b *tapeBody) Read(p []byte) (int, error) {
	for b.at < b.end && len(p) > 0 {
		data, news, err := b.tape.have(b.at, min(b.end, b.at+max(int64(len(p)), tapeStep)))
		if err != nil {
			return 0, err
		}
		if len(data) > 0 {
			n := copy(p, data)
			b.at += int64(n)
			return n, nil
		}
		select {
		case <-news:
		case <-b.ctx.Done():
			return 0, context.Cause(b.ctx)
		}
	}
	if len(p) == 0 {
		return 0, nil
	}
	return 0, io.EOF
}

func (b *tapeBody) Close() error { return nil }
