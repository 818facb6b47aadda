package ogg

import (
	"context"
	"errors"
	"fmt"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// A resource may be of unknown length, or grow. At any moment as much of it as
// was looked at is taken for all; where a selection needs more, more is taken
// into account and the last link is read again.

const (
	extentChunk = 64 << 10 // bytes of a look at how far a resource goes
	liveStep    = 16 << 10 // the same, where bytes may come as slowly as they are played
	extentMost  = 1 << 44  // where it is given up to look for the end
)

// further takes more of the resource into account. Where there is no more, the
// links are complete.
func (m *media) further(ctx context.Context) error {
	before := m.end
	if err := m.stretch(ctx); err != nil {
		return err
	}
	if m.end == before {
		m.publish(func(c *chain) { c.complete = true })
		return nil
	}
	return m.reopen(ctx)
}

// stretch finds how far to look instead of m.end: to the end, where that is
// known, else twice as far. Whoever can only be read from the beginning, and may
// be live, is read on in small steps.
func (m *media) stretch(ctx context.Context) error {
	switch info := m.window.Info(); {
	case info.Size >= 0:
		m.end, m.final = info.Size, true
		return nil
	case info.Sequential:
		data, err := m.look(ctx, seek.Range{Offset: m.end, Length: max(liveStep, m.end/16)})
		if err != nil {
			return err
		}
		m.end += int64(len(data[0]))
		m.final = len(data[0]) == 0
		return nil
	case m.end > extentMost:
		return &formats.Error{Container: Name, Element: "pages", Offset: m.end, Err: seek.ErrLimit,
			Problem: "a resource of unknown length that does not end", Hint: "name an end of the interval that is nearer"}
	}
	next := seek.Range{Offset: 2*m.end - extentChunk, Length: extentChunk}
	data, held := m.window.Held(next)
	if !held {
		var steps []seek.Range
		for i := range chainProbes {
			steps = append(steps, seek.Range{Offset: m.end<<(i+1) - extentChunk, Length: extentChunk})
		}
		all, err := m.look(ctx, steps...)
		if err != nil {
			return err
		}
		data = all[0]
	}
	if int64(len(data)) == extentChunk {
		m.end *= 2
		return nil
	}
	return m.measure(ctx, next.Offset+int64(len(data)))
}

// look reads ranges of what may lie behind the end.
func (m *media) look(ctx context.Context, ranges ...seek.Range) ([][]byte, error) {
	var reads []seek.Request
	for _, r := range ranges {
		reads = append(reads, seek.Request{Range: r, Purpose: seek.Tail, Note: "how far it goes"})
	}
	data, err := m.window.Read(ctx, reads...)
	return data, m.tooFar(err)
}

// tooFar says of an error that the end is further than it is looked for.
func (m *media) tooFar(err error) error {
	if !errors.Is(err, seek.ErrLimit) {
		return err
	}
	return &formats.Error{Container: Name, Element: "pages", Offset: m.end, Err: seek.ErrLimit,
		Problem: err.Error(), Hint: "name an end of the interval that is nearer, or record it to a file first"}
}

// measure finds the end of the resource between m.end and hi.
func (m *media) measure(ctx context.Context, hi int64) error {
	end, err := m.window.Measure(ctx, m.end, hi)
	if err != nil {
		return m.tooFar(err)
	}
	m.end, m.final = end, true
	return nil
}

// refresh asks whether a growing resource has grown, and takes what is new into
// account.
func (m *media) refresh(ctx context.Context) (grew bool, err error) {
	if err := m.window.Refresh(ctx); errors.Is(err, seek.ErrNoRanges) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	size := m.window.Info().Size
	if size <= m.end {
		return false, nil
	}
	m.end, m.final = size, true
	return true, m.reopen(ctx)
}

// reopen reads the last link anew, of which there is more now.
func (m *media) reopen(ctx context.Context) error {
	last := m.links().last()
	l, err := readLink(ctx, m.window, last.off, m.limits)
	if err != nil {
		return fmt.Errorf("reading on: %w", err)
	}
	from := max(l.off, m.end-tailChunk)
	tail, err := m.window.ReadRange(ctx, seek.Range{Offset: from, Length: m.end - from}, seek.Tail, "last pages")
	if err != nil {
		return err
	}
	m.remember(from, tail, true)
	m.adopt(l)
	m.publish(func(c *chain) { c.replace(l) })
	return nil
}
