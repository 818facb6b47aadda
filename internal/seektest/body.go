package seektest

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/mediafrag/mediafrag/seek"
)

// body is an answered request.
type body struct {
	s       *Source
	ctx     context.Context
	id      uint64 // among all Sources
	n       int    // among the Source's requests
	request seek.Request
	reused  bool // its connection
	fault   Fault
	content io.ReaderAt

	off, limit int64 // of the answer, in the resource
	at         int64 // what is read next
	ended      sync.Once
}

func (b *body) Read(p []byte) (int, error) {
	if err := context.Cause(b.ctx); err != nil {
		return 0, b.fail(err)
	}
	done := b.at - b.off
	left := b.limit - b.at
	if b.fault.Break != nil && *b.fault.Break < done+left {
		if left = *b.fault.Break - done; left <= 0 {
			if b.fault.BreakErr != nil {
				return 0, b.fail(b.fault.BreakErr)
			}
			return 0, io.EOF
		}
	}
	if b.fault.Stall != nil {
		if done >= b.fault.StallAt {
			select {
			case <-b.fault.Stall:
				b.fault.Stall = nil
			case <-b.ctx.Done():
				return 0, b.fail(context.Cause(b.ctx))
			}
		} else {
			left = min(left, b.fault.StallAt-done)
		}
	}
	if left == 0 {
		return 0, io.EOF
	}
	chunk := b.s.Chunk
	if chunk == 0 {
		chunk = 32 << 10
	}
	n, err := b.content.ReadAt(p[:min(int64(len(p)), left, int64(chunk))], b.at)
	b.at += int64(n)
	b.s.mu.Lock()
	b.s.requests[b.n].Delivered += int64(n)
	b.s.mu.Unlock()
	if n > 0 {
		err = nil // what ReadAt says of the end is not the end of the range
	}
	return n, err
}

func (b *body) fail(err error) error {
	b.s.mu.Lock()
	b.s.requests[b.n].Err = err
	b.s.mu.Unlock()
	return err
}

// Close ends the request.
func (b *body) Close() error {
	b.end(nil)
	return nil
}

// end notes that the request is over.
func (b *body) end(err error) {
	b.ended.Do(func() {
		b.s.mu.Lock()
		b.s.open--
		q := &b.s.requests[b.n]
		q.Closed = true
		if err != nil {
			q.Err = err
		}
		err = q.Err
		b.s.mu.Unlock()
		b.event(seek.Ended, err)
	})
}

func (b *body) event(kind seek.EventKind, err error) {
	if b.s.Observer == nil {
		return
	}
	info := b.s.info()
	e := seek.Event{
		Kind: kind, Time: time.Now(), ID: b.id, Name: info.Name, Request: b.request,
		Size: -1, Bytes: b.at - b.off, Err: err,
	}
	switch {
	case kind == seek.Connected:
		e.Reused = b.reused
	case kind == seek.Answered:
		e.Status = "206 Partial Content"
	}
	if kind >= seek.Answered {
		e.Size = info.Size
	}
	b.s.Observer.Observe(b.ctx, e)
}
