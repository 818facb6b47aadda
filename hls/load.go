package hls

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mediafrag/mediafrag/seek"
)

// maxHeld is the most bytes of segments and keys that a medium keeps. The most
// that is read of one segment to look into it is the same.
const maxHeld = 64 << 20

// maxKey is the most that is read of a key, in bytes: one has 16.
const maxKey = 1 << 10

// loader reads whole resources and keeps them for a while, so that what was read
// to make a plan is not asked for again when the plan is read. Two that want the
// same at a time share one request.
type loader struct {
	open     seek.Opener
	limit    int64
	replicas replicas // where else the same bytes are

	mu    sync.Mutex
	held  map[extent]*held
	order []extent // the least recently read first
	size  int64
	down  map[string]time.Time  // hosts that gave no answer, and since when
	given map[string][]*stretch // what was given out of resources that are redundant, by their names
	mixed bool                  // some of it came from another place than the resource's own
	ahead map[string][]*answer  // what was asked for ahead and waits to be read, by the names of resources
}

// extent is a range of a resource.
type extent struct {
	name string
	seek.Range
}

// held is what was, or is being, read of an extent.
type held struct {
	done chan struct{} // closed when info, data and err are final
	info seek.Info
	off  int64
	data []byte
	err  error
}

// read returns the bytes of an extent, and what is known of its resource.
func (l *loader) read(ctx context.Context, e extent, p seek.Purpose, note string) (*held, error) {
	for {
		l.mu.Lock()
		h, found := l.held[e]
		if !found {
			h = &held{done: make(chan struct{})}
			if l.held == nil {
				l.held = map[extent]*held{}
			}
			l.held[e] = h
		}
		l.mu.Unlock()
		if !found {
			h.err = l.fetch(ctx, e, p, note, h)
			l.keep(e, h)
			close(h.done)
			return h, h.err
		}
		select {
		case <-h.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if h.err == nil {
			return h, nil
		}
		// Whoever asked first has failed, perhaps for reasons of its own.
	}
}

// fetch reads an extent, from another place where its own fails.
func (l *loader) fetch(ctx context.Context, e extent, p seek.Purpose, note string, h *held) error {
	limit := l.limit
	if p == seek.Key {
		limit = maxKey
	}
	info, off, data, err := l.readWhole(ctx, e.name, seek.Request{Range: e.Range, Purpose: p, Note: note}, limit)
	if err != nil {
		return err
	}
	if int64(len(data)) > limit {
		return fmt.Errorf("reading %s: %w of %d bytes to hold of one resource", note, seek.ErrLimit, limit)
	}
	if e.Length >= 0 && e.Offset >= 0 && int64(len(data)) < e.Length && p != seek.Probe {
		return fmt.Errorf("reading %s: it has %d bytes, the playlist says %d: %w", note, len(data), e.Length, io.ErrUnexpectedEOF)
	}
	h.info, h.off, h.data = info, off, data
	if h.info.Size < 0 && e.Range == (seek.Range{Length: seek.ToEnd}) { // it came in chunks
		h.info.Size = int64(len(h.data))
	}
	return nil
}

// downTime is for how long a host counts as down that gave no answer while
// another one did.
const downTime = time.Minute

func (l *loader) isDown(host string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	since, known := l.down[host]
	return known && time.Since(since) < downTime
}

// hostOf returns the host of a URL.
func hostOf(name string) string {
	_, rest, _ := strings.Cut(name, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

func (l *loader) requestOne(ctx context.Context, name string, r seek.Request) (*seek.Body, error) {
	source, err := l.open.OpenSource(ctx, name)
	if err != nil {
		return nil, err
	}
	return source.Open(ctx, r)
}

// keep files what was read, and drops what was not used for longest where there
// is too much.
func (l *loader) keep(e extent, h *held) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.err != nil {
		delete(l.held, e)
		return
	}
	l.order = append(l.order, e)
	l.size += int64(len(h.data))
	for l.size > l.limit && len(l.order) > 1 {
		oldest := l.order[0]
		l.order = l.order[1:]
		l.size -= int64(len(l.held[oldest].data))
		delete(l.held, oldest)
	}
}

// holds reports whether an extent is held.
func (l *loader) holds(e extent) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.order, e)
}

// whole returns what is held of a resource if that is all of r.
func (l *loader) whole(name string, r seek.Range) *held {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.order {
		if h := l.held[e]; e.name == name && r.Offset >= 0 && r.Length < 0 && e.Offset == 0 && e.Length < 0 && r.Offset <= int64(len(h.data)) {
			return h
		}
	}
	return nil
}

// edges returns the held bytes at the beginning and at the end of a closed
// range, and where one was held what is known of the resource. They do not
// overlap.
func (l *loader) edges(name string, r seek.Range) (head, tail []byte, info *seek.Info) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, end := r.Offset, r.End()
	for again := true; again; {
		again = false
		for _, e := range l.order {
			h := l.held[e]
			if from, to := h.off, h.off+int64(len(h.data)); e.name == name && at < end {
				switch {
				case from <= at && to > at:
					head = append(head, h.data[at-from:min(to, end)-from]...)
					at, again, info = min(to, end), true, &h.info
				case from < end && to >= end && from > at:
					tail = append(append([]byte(nil), h.data[:end-from]...), tail...)
					end, again, info = from, true, &h.info
				}
			}
		}
	}
	return head, tail, info
}

// source reads one resource of a medium: from memory what is held, from a place
// that is redundant where its own fails.
type source struct {
	loader *loader
	name   string
}

var _ seek.Source = source{}

// Open opens a range.
func (s source) Open(ctx context.Context, r seek.Request) (*seek.Body, error) {
	if r.Purpose == seek.Key { // fetched once, however many segments want it
		h, err := s.loader.read(ctx, extent{s.name, r.Range}, r.Purpose, r.Note)
		if err != nil {
			return nil, err
		}
		return h.body(r.Range), nil
	}
	if !r.Closed() {
		if h := s.loader.whole(s.name, r.Range); h != nil {
			return h.body(r.Range), nil
		}
		return s.loader.request(ctx, s.name, r)
	}
	head, tail, info := s.loader.edges(s.name, r.Range)
	if info == nil {
		return s.loader.request(ctx, s.name, r)
	}
	rest := seek.Request{Range: seek.Range{Offset: r.Offset + int64(len(head)), Length: r.Length - int64(len(head)+len(tail))}, Purpose: r.Purpose, Note: r.Note}
	body := &seek.Body{Info: *info, Offset: r.Offset}
	if rest.Length == 0 {
		body.ReadCloser = io.NopCloser(bytes.NewReader(append(head, tail...)))
		return body, nil
	}
	if len(head) == 0 {
		between, err := s.loader.request(ctx, s.name, rest)
		if err != nil {
			return nil, err
		}
		body.ReadCloser = readCloser{io.MultiReader(between, bytes.NewReader(tail)), between}
		return body, nil
	}
	between := &late{open: func() (*seek.Body, error) { return s.loader.request(ctx, s.name, rest) }}
	body.ReadCloser = readCloser{io.MultiReader(bytes.NewReader(head), between, bytes.NewReader(tail)), between}
	return body, nil
}

// late is a body that is asked for when it is first read: what is held before it
// need not wait for its answer.
type late struct {
	open func() (*seek.Body, error)
	body *seek.Body
	err  error
}

func (l *late) Read(p []byte) (int, error) {
	if l.body == nil && l.err == nil {
		l.body, l.err = l.open()
	}
	if l.err != nil {
		return 0, l.err
	}
	return l.body.Read(p)
}

// Close closes the body, if it was opened.
func (l *late) Close() error {
	if l.body == nil {
		l.err = seek.ErrClosed
		return nil
	}
	return l.body.Close()
}

// body returns a range of what is held.
func (h *held) body(r seek.Range) *seek.Body {
	data := h.data[r.Offset-h.off:]
	if r.Length >= 0 {
		data = data[:min(r.Length, int64(len(data)))]
	}
	return &seek.Body{Info: h.info, Offset: r.Offset, ReadCloser: io.NopCloser(bytes.NewReader(data))}
}
