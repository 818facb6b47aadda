package seek

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

const (
	// maxFlights is how many fetches of a Window are on their way at a time, but
	// for those that ReadAtOnce adds.
	maxFlights = 16
	// mergeGap is the largest gap between two ranges of one call, in bytes, that
	// is read too so that both come by one request.
	mergeGap = 16 << 10
	// provenSize is how many bytes of a range must have arrived before memory is
	// set aside for the rest.
	provenSize = 1 << 20
)

// flight is a fetch on its way. When done is closed, the rest is final.
type flight struct {
	Range       // what was asked for: a suffix keeps its negative offset
	from  *tape // nil: the window's source
	done  chan struct{}
	off   int64
	data  []byte
	err   error
}

// brings reports whether a flight brings bytes of r, which is clipped. The
// window's lock is held.
func (w *Window) brings(f *flight, r Range) bool {
	of := w.clip(f.Range)
	switch {
	case r.Offset < 0 && of.Offset < 0:
		return of.Offset <= r.Offset
	case r.Offset < 0:
		return of.Offset == 0 && f.Length < 0 // the whole
	case of.Offset < 0:
		return false // no one knows yet where it lands
	}
	return of.Offset < r.End() && r.Offset < of.End()
}

func byStart(a, b Range) int { return cmp.Compare(a.Offset, b.Offset) }

// mergeNear joins ranges that lie close together into requests of at most limit
// bytes. Suffixes begin with the longest, which has the others.
func mergeNear(rs []Request, limit int64) []Request {
	slices.SortStableFunc(rs, func(a, b Request) int { return byStart(a.Range, b.Range) })
	var out []Request
	for _, r := range rs {
		if len(out) == 0 {
			out = append(out, r)
			continue
		}
		last := &out[len(out)-1]
		end := max(last.End(), r.End())
		switch {
		case r.Offset < 0: // in the suffix before it
		case last.Offset < 0 || r.Offset-last.End() > mergeGap || end-last.Offset > limit && end != farAway:
			out = append(out, r)
		default:
			last.Length = end - last.Offset
		}
	}
	return out
}

// launch begins one fetch, which where it is queued waits for a slot. The
// window's lock is held, and it is not closed.
func (w *Window) launch(r Request, queued bool) {
	if r.Offset < 0 || r.End() == farAway {
		r.Length = ToEnd
	}
	f := &flight{Range: r.Range, from: w.tape, done: make(chan struct{})}
	source := w.beneath()
	w.flights = append(w.flights, f)
	w.wg.Go(func() {
		var info Info
		slots := w.slots
		if !queued {
			slots = make(chan struct{}, 1)
		}
		select {
		case slots <- struct{}{}:
			info, f.off, f.data, f.err = w.fetch(w.ctx, source, r)
			<-slots
		case <-w.ctx.Done():
			f.err = w.ctx.Err()
		}
		if f.err != nil && w.ctx.Err() != nil {
			f.err = fmt.Errorf("reading %s (%s): %w", r.Range, r.Note, ErrClosed)
		}
		w.land(f, info)
		close(f.done)
	})
}

// land keeps what a flight has brought.
func (w *Window) land(f *flight, info Info) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flights = slices.DeleteFunc(w.flights, func(g *flight) bool { return g == f })
	if f.err != nil {
		return
	}
	w.learn(info)
	if w.info.Sequential && w.info.Size < 0 && f.from == nil { // nothing goes on from what this request has brought
		if w.tape == nil && w.ctx.Err() == nil {
			w.tape = w.rewind(w.info)
		}
		return
	}
	if w.info.Size < 0 && len(f.data) == 0 {
		w.bound = min(w.bound, f.off) // it ends here or before
	}
	w.held.keep(f.off, f.data)
}

// learn adds what an answer tells of the resource. A size may be told late, or
// grow.
func (w *Window) learn(info Info) {
	size := max(w.info.Size, info.Size)
	if w.info.Size < 0 {
		w.info = info
	}
	if w.info.Size = size; size >= 0 {
		w.bound = size
	}
}

// beneath is what the window reads. Its lock is held.
func (w *Window) beneath() Source {
	if w.tape != nil {
		return w.tape
	}
	return w.source
}

// fetch reads one range whole, and checks that it is whole.
func (w *Window) fetch(ctx context.Context, s Source, r Request) (info Info, off int64, data []byte, err error) {
	asked := time.Now()
	body, err := s.Open(ctx, r)
	if err != nil {
		return info, 0, nil, err
	}
	defer body.Close()
	answered := time.Now()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.pace.note(asked, answered, time.Now(), len(data))
	}()
	info, off = body.Info, body.Offset

	want := r.Length // -1: not known
	if info.Size >= 0 {
		left := max(0, info.Size-off)
		if want < 0 || want > left {
			want = left
		}
	}
	if r.Offset >= 0 && off != r.Offset {
		return info, 0, nil, fmt.Errorf("reading %s of %s: answer begins at %d: %w", r.Range, info.Name, off, ErrUnavailable)
	}
	if want > w.held.limit {
		return info, 0, nil, w.tooLong(r)
	}
	data, err = readBody(body, want, w.held.limit)
	switch {
	case err != nil:
		return info, 0, nil, broken(info.Name, off+int64(len(data)), err)
	case int64(len(data)) > w.held.limit:
		return info, 0, nil, w.tooLong(r)
	case info.Size >= 0 && int64(len(data)) < want:
		return info, 0, nil, broken(info.Name, off+int64(len(data)), io.ErrUnexpectedEOF)
	case info.Size < 0 && (want < 0 || int64(len(data)) < want) && (len(data) > 0 || off == 0):
		info.Size = off + int64(len(data)) // a body is short only at the end
	}
	return info, off, data, nil
}

// readBody reads a body of want bytes, or where want is -1 at most one more than
// limit. What it has is returned with an error too.
func readBody(body io.Reader, want, limit int64) ([]byte, error) {
	if want < 0 {
		var buf bytes.Buffer
		_, err := buf.ReadFrom(io.LimitReader(body, limit+1))
		return buf.Bytes(), err
	}
	data := make([]byte, min(want, provenSize))
	n, err := io.ReadFull(body, data)
	if err == nil && want > provenSize {
		rest := make([]byte, want)
		copy(rest, data)
		data = rest
		var m int
		m, err = io.ReadFull(body, data[n:])
		n += m
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil // whether it is too short the caller knows
	}
	return data[:n], err
}

// tooLong is the error of a range with more bytes than the window may keep.
func (w *Window) tooLong(r Request) error {
	return fmt.Errorf("reading %s (%s): %w of %d bytes to hold at a time", r.Range, r.Note, ErrLimit, w.held.limit)
}
