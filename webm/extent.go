package webm

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// A recording that is streamed says neither how long it is nor how many bytes it
// has, and a server may not say it either. As much of such a resource as was
// looked at is taken for all, and where an interval needs more, more is looked
// at; the end is sought where it is asked for alone.

const (
	extentChunk  = 64 << 10 // the least bytes of a look at how far a resource goes
	extentLarge  = 256 << 10
	extentProbes = 4        // looks of a round
	liveStep     = 16 << 10 // the same, where bytes may come as slowly as they are played
	extentMost   = 1 << 44  // where it is given up to look for the end
)

// extent is how much of a resource of unknown length was looked at. Whoever holds
// its turn may change it.
type extent struct {
	turn    chan struct{}
	next    int64 // where clusters were not looked for yet, of what is read in order
	reached int64 // the latest time of a Cluster that was seen, in ticks

	end    int64        // what lies before is taken for all; changed with the media's lock held
	looked []seek.Range // what was read of it; likewise
}

// newExtent is the extent of a resource of whose beginning the head was read.
func newExtent() extent {
	return extent{turn: make(chan struct{}, 1), reached: math.MinInt64}
}

// bounded reports whether it is known how far a search may look: the length is,
// or that of a Segment of which any part can be read.
func (m *media) bounded() bool {
	return m.sizeOr(-1) >= 0 || m.segment.size != unknownSize && !m.endless()
}

// endless reports whether the resource can only be read from its beginning, and
// may go on for ever.
func (m *media) endless() bool {
	i := m.w.Info()
	return i.Sequential && i.Size < 0 && m.measured.Load() == 0
}

// reach looks so far that a Cluster behind a time is seen, or the end.
func (m *media) reach(ctx context.Context, ticks int64) error {
	if m.bounded() {
		return nil
	}
	x := &m.extent
	select {
	case x.turn <- struct{}{}:
		defer func() { <-x.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for x.reached <= ticks && !m.bounded() {
		if err := m.stretch(ctx); err != nil {
			if errors.Is(err, seek.ErrLimit) {
				err = &formats.Error{Container: "webm", Element: "Segment", Offset: x.end, Err: seek.ErrLimit,
					Problem: err.Error(), Hint: "name an end of the interval that is nearer, or record it to a file first"}
			}
			return err
		}
	}
	return nil
}

// measure finds the end of a resource of unknown length.
func (m *media) measure(ctx context.Context) error { return m.reach(ctx, math.MaxInt64) }

// errEndless is a resource that has bytes wherever one looks.
var errEndless = fmt.Errorf("a resource of unknown length that does not end: %w", seek.ErrLimit)

// stretch looks further: twice as far, or where the resource can only be read
// from its beginning a small step.
func (m *media) stretch(ctx context.Context) error {
	x := &m.extent
	if x.end == 0 {
		m.take(m.first.offset, nil)
		x.next = m.first.offset
	}
	if m.endless() {
		return m.readOn(ctx)
	}
	if x.end > extentMost {
		return errEndless
	}
	var requests []seek.Request
	end := max(x.end, extentChunk)
	for range extentProbes {
		end *= 2
		n := max(extentChunk, min(end/8, m.clusterGuess, extentLarge))
		requests = append(requests, seek.Request{Range: seek.Range{Offset: end - n, Length: n}, Purpose: seek.Tail, Note: "how far it goes"})
	}
	got, err := m.w.Read(ctx, requests...)
	if err != nil {
		return err
	}
	for i, r := range requests {
		if n := int64(len(got[i])); n < r.Length {
			end, err := m.w.Measure(ctx, max(x.end, r.Offset*min(n, 1)), r.Offset+n)
			m.measured.Store(end)
			return err
		}
		m.see(r.Offset, got[i])
		m.take(r.End(), append(x.looked, r.Range))
	}
	return nil
}

// readOn reads the next step of a resource in order.
func (m *media) readOn(ctx context.Context) error {
	x := &m.extent
	from := min(x.next, x.end)
	end := min(x.end+max(liveStep, x.end/16), m.segment.end())
	data, err := m.w.ReadRange(ctx, seek.Range{Offset: from, Length: end - from}, seek.Media, "on from the beginning")
	if err != nil {
		return err
	}
	if from+int64(len(data)) < end || end == m.segment.end() {
		m.measured.Store(from + int64(len(data)))
		return nil
	}
	if x.next < end {
		x.next = m.see(x.next, data[x.next-from:])
	}
	m.take(end, []seek.Range{{Offset: m.first.offset, Length: end - m.first.offset}})
	return nil
}

// take takes more for all.
func (m *media) take(end int64, looked []seek.Range) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.extent.end, m.extent.looked = end, looked
}

// see notes the latest Cluster in bytes that were read, and returns how far that
// is known to be all.
func (m *media) see(off int64, data []byte) int64 {
	marks, next := m.recognize(off, data)
	for _, mark := range marks {
		m.extent.reached = max(m.extent.reached, mark.Tick)
	}
	return next
}
