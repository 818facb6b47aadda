package client

import (
	"context"
	"fmt"
	"io"

	"github.com/mediafrag/mediafrag/seek"
)

// httpBody is the body of a request that goes on when the connection breaks. It
// holds the context of its request until it is closed.
type httpBody struct {
	ctx    context.Context
	source *httpSource
	events *exchange
	answer *answer // nil between two
	at     int64   // where the next byte stands in the resource
	end    int64   // where the request ends, -1: where the resource does

	gained int64 // bytes since the beginning
	breaks int   // how often the answer ended early
	futile int   // how often in a row without a byte
	cause  error // of the last break
	err    error // what Read returns from now on
}

var _ io.ReadCloser = (*httpBody)(nil)

func (b *httpBody) Read(p []byte) (int, error) {
	for b.err == nil {
		if b.answer == nil {
			if err := b.resume(); err != nil {
				b.finish(err)
				break
			}
		}
		n, err := b.answer.Read(p)
		if n > 0 || len(p) == 0 {
			b.at += int64(n)
			b.gained += int64(n)
			b.futile = 0
			return n, nil
		}
		if err == nil {
			continue
		}
		switch done := b.answer.ends(); {
		case b.ctx.Err() != nil:
			b.finish(context.Cause(b.ctx))
		case b.at == b.end || err == io.EOF && done:
			b.finish(io.EOF)
		case err == io.EOF:
			b.interrupt(fmt.Errorf("the answer ended at byte %d: %w", b.at, io.ErrUnexpectedEOF))
		default:
			b.interrupt(err)
		}
	}
	return 0, b.err
}

// interrupt notes that the answer has ended before the request.
func (b *httpBody) interrupt(cause error) {
	b.answer.Close()
	b.answer, b.cause = nil, cause
}

// How often a body may break off: a few times, and once more for what it brings.
const (
	breaksFree  = 5
	bytesPerOne = 4 << 10
)

// resume asks for what is missing, from the byte where the last answer ended.
func (b *httpBody) resume() error {
	b.breaks++
	r := seek.Range{Offset: b.at, Length: seek.ToEnd}
	if b.end >= 0 {
		r.Length = b.end - b.at
	}
	if int64(b.breaks) > breaksFree+b.gained/bytesPerOne || b.futile > breaksFree {
		return &StatusError{
			URL: redacted(b.source.origin), Range: r, Err: seek.ErrUnavailable,
			Problem: fmt.Sprintf("the body broke off %d times", b.breaks), Cause: b.cause,
		}
	}
	if b.futile > 0 {
		if err := pause(b.ctx, b.source.web.pace.wait(b.futile-1, nil)); err != nil {
			return err
		}
	}
	b.futile++
	b.events.because(b.cause)
	b.events.retried()
	a, err := b.source.ask(b.ctx, b.events, r)
	if err != nil {
		return err
	}
	if a.want >= 0 {
		b.end = a.want
	}
	b.answer = a
	return nil
}

// finish ends the body: its error is err from now on.
func (b *httpBody) finish(err error) {
	if b.answer != nil {
		b.answer.Close()
		b.answer = nil
	}
	b.err = err
	if err == io.EOF || err == seek.ErrClosed {
		err = nil
	}
	b.events.end(err)
}

// Close ends the body.
func (b *httpBody) Close() error {
	if b.err == nil {
		b.finish(seek.ErrClosed)
	}
	return nil
}
