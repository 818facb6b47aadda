// Package seektest serves resources from memory to tests, and counts.
//
//	src := seektest.New(data)
//	w := seek.NewWindow(ctx, src, 0)
//	…
//	src.Requests()   // what was asked, in order
//	src.Delivered()  // how many bytes were read of the bodies
//
// A [Source] behaves as a [seek.Source] promises to, as far as its fields and
// its [Fault] hook do not tell it otherwise. With a [seek.Totals] as Observer
// it counts dependent round trips as well.
package seektest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mediafrag/mediafrag/seek"
)

// Source is one resource in memory. Its fields must not be changed while it is
// in use. It is the [seek.Opener] of itself, whatever the name.
type Source struct {
	// Info is what answers tell. Name, MediaType and Validator are optional;
	// a changed Validator is a changed resource, see [Source.Change].
	Info seek.Info
	// Content is the bytes, as many as Info.Size.
	Content io.ReaderAt
	// Unsized leaves the size out of all answers.
	Unsized bool
	// NoSuffix refuses suffix ranges with [seek.ErrNoRanges].
	NoSuffix bool
	// NoRanges refuses all but the whole resource with [seek.ErrNoRanges].
	NoRanges bool
	// Growing allows the version to change between answers, which tell the first.
	Growing bool
	// Chunk is the most bytes that one Read of a body gives. 0 means 32 KiB.
	Chunk int
	// Latency passes before each answer.
	Latency time.Duration
	// Fault, if set, is called for each request before it is answered, n
	// counting from 0 in the order of asking. It may block.
	Fault func(ctx context.Context, n int, r seek.Request) Fault
	// Observer is told of every request. It may be nil.
	Observer seek.Observer

	mu          sync.Mutex
	pinned      *string // the validator that answers must have
	first       *string // that of the first answer
	requests    []Request
	open        int // bodies
	mostOpen    int
	connections int
}

// Fault is what goes wrong with a request. The zero Fault is nothing.
type Fault struct {
	// Err is returned instead of an answer.
	Err error
	// Break, where it is set, ends the body after so many bytes: with BreakErr,
	// or where that is nil with io.EOF, which hides that bytes are missing.
	Break    *int64
	BreakErr error
	// Stall holds the body back after StallAt bytes until it is closed or the
	// context ends.
	Stall   <-chan struct{}
	StallAt int64
}

// BreakAfter is a Fault that ends the body with err after n bytes.
func BreakAfter(n int64, err error) Fault { return Fault{Break: &n, BreakErr: err} }

// Request is what was asked of a Source, and what came of it.
type Request struct {
	seek.Request
	Offset    int64 // where the answer began; -1 where there was none
	Delivered int64 // bytes that were read of the body
	Answered  bool
	Closed    bool // the body was closed
	Err       error
}

// New returns a Source of data.
func New(data []byte) *Source {
	return Virtual(int64(len(data)), bytes.NewReader(data))
}

// Virtual returns a Source of the first size bytes of content, such as a
// [Fill] or a [Sparse].
func Virtual(size int64, content io.ReaderAt) *Source {
	return &Source{Info: seek.Info{Name: "mem:resource", Validator: `"1"`, Size: size}, Content: content}
}

// Change replaces the content. Where the validator differs from that of earlier
// answers, requests fail with [seek.ErrChanged] unless Growing is set.
func (s *Source) Change(size int64, content io.ReaderAt, validator string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Info.Size, s.Content, s.Info.Validator = size, content, validator
}

// OpenSource returns s.
func (s *Source) OpenSource(context.Context, string) (seek.Source, error) { return s, nil }

// Opener opens several resources by their names. Others are not found.
type Opener map[string]*Source

// OpenSource returns the Source of the name.
func (o Opener) OpenSource(_ context.Context, name string) (seek.Source, error) {
	if s := o[name]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("opening %s: %w", name, seek.ErrNotFound)
}

// Requests returns what was asked so far, in order.
func (s *Source) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Ranges returns the ranges that were asked for so far, in order, as text.
func (s *Source) Ranges() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, r := range s.requests {
		out = append(out, r.Range.String())
	}
	return out
}

// Delivered returns how many bytes were read of all bodies.
func (s *Source) Delivered() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var n int64
	for _, r := range s.requests {
		n += r.Delivered
	}
	return n
}

// MaxConcurrent returns how many requests were on their way at one time at most.
func (s *Source) MaxConcurrent() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mostOpen
}

// Unfinished returns how many requests have neither failed nor had their body
// closed.
func (s *Source) Unfinished() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// Reset forgets the requests so far. None may be on its way.
func (s *Source) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.mostOpen = nil, 0
}

// Open answers a request.
func (s *Source) Open(ctx context.Context, r seek.Request) (*seek.Body, error) {
	b := s.begin(ctx, r)
	if err := s.answer(b); err != nil {
		b.end(err)
		return nil, err
	}
	b.event(seek.Answered, nil)
	info := s.info()
	return &seek.Body{Info: info, Offset: b.off, ReadCloser: b}, nil
}

func (s *Source) info() seek.Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	info := s.Info
	if s.Growing && s.first != nil {
		info.Validator = *s.first
	}
	if s.Unsized {
		info.Size = -1
	}
	return info
}

// lastID makes request IDs differ between Sources that share an Observer.
var lastID atomic.Uint64

// begin notes a request.
func (s *Source) begin(ctx context.Context, r seek.Request) *body {
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, Request{Request: r, Offset: -1})
	s.open++
	s.mostOpen = max(s.mostOpen, s.open)
	reused := s.open <= s.connections
	s.connections = max(s.connections, s.open)
	s.mu.Unlock()

	b := &body{s: s, ctx: ctx, id: lastID.Add(1), n: n, request: r, reused: reused}
	b.event(seek.Started, nil)
	b.event(seek.Connected, nil)
	return b
}

// answer finds the bytes of a body, or why there are none.
func (s *Source) answer(b *body) error {
	if s.Latency > 0 {
		select {
		case <-time.After(s.Latency):
		case <-b.ctx.Done():
		}
	}
	if s.Fault != nil {
		b.fault = s.Fault(b.ctx, b.n, b.request)
	}
	if err := context.Cause(b.ctx); err != nil {
		return err
	}
	if b.fault.Err != nil {
		return b.fault.Err
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.pin(); err != nil {
		return err
	}
	if err := s.refuse(b.request.Range); err != nil {
		return err
	}
	b.content = s.Content
	b.off, b.limit = resolve(b.request.Range, s.Info.Size)
	b.at = b.off
	s.requests[b.n].Offset = b.off
	s.requests[b.n].Answered = true
	return nil
}

// pin holds a Source to the version of its first answer.
func (s *Source) pin() error {
	if s.pinned == nil || s.Growing {
		v := s.Info.Validator
		s.pinned = &v
		if s.first == nil {
			s.first = &v
		}
	}
	if *s.pinned != s.Info.Validator {
		return fmt.Errorf("reading %s: %w", s.Info.Name, seek.ErrChanged)
	}
	return nil
}

func (s *Source) refuse(r seek.Range) error {
	whole := r.Offset == 0 && (r.Length < 0 || r.Length >= s.Info.Size)
	switch {
	case s.NoRanges && !whole:
		return fmt.Errorf("reading %s of %s: %w", r, s.Info.Name, seek.ErrNoRanges)
	case s.NoSuffix && r.Offset < 0:
		return fmt.Errorf("reading the last %d bytes of %s: %w", -r.Offset, s.Info.Name, seek.ErrNoRanges)
	}
	return nil
}

// resolve returns the first byte of a range and the one after its last.
func resolve(r seek.Range, size int64) (off, end int64) {
	switch {
	case r.Offset < 0:
		return max(0, size+r.Offset), size
	case r.Length < 0 || r.Length > size-r.Offset:
		return r.Offset, max(r.Offset, size)
	}
	return r.Offset, r.End()
}
