package ogg

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// media is an opened Ogg file: links in a row, of which the first and perhaps
// others are known.
type media struct {
	window  *seek.Window
	limits  formats.Limits
	growing bool

	found atomic.Pointer[chain]

	looking  sync.Mutex // held while links are looked for; of what follows
	glimpses []glimpse
	end      int64 // what lies before it is taken for all of the resource
	final    bool  // and is all, as far as is known
}

var _ formats.Media = (*media)(nil)

// chain is what is known of the links. It is replaced, never changed.
type chain struct {
	links    []*link       // in order, without gaps from the first on
	closed   int           // so many, from the first on, are known to their ends
	length   fragment.Time // of those
	complete bool          // there are no more
	warnings []fragment.Warning
}

// links returns what is known by now.
func (m *media) links() *chain { return m.found.Load() }

func (c *chain) last() *link { return c.links[len(c.links)-1] }

// publish replaces the chain by a changed one.
func (m *media) publish(change func(*chain)) {
	next := *m.found.Load()
	change(&next)
	m.found.Store(&next)
}

// close notes that the last link is known to its end.
func (c *chain) close() {
	c.closed = len(c.links)
	c.length = c.length.Add(c.last().length())
}

// replace puts another in the place of the last link, which is not closed yet.
func (c *chain) replace(l *link) {
	if c.closed == len(c.links) {
		c.length = c.length.Sub(c.last().length())
		c.closed--
	}
	c.links = append(slices.Clone(c.links[:len(c.links)-1]), l)
	c.complete = false
}

// warn notes damage that is passed over.
func (c *chain) warn(off int64, what string) {
	c.warnings = append(slices.Clip(c.warnings), fragment.Warning{Reason: fmt.Sprintf("at byte %d: %s", off, what)})
}

// certain returns how much of the presentation is known for certain: where the
// last link goes on behind what was looked at, as much as all its streams have.
func (c *chain) certain() fragment.Time {
	if c.complete || c.closed < len(c.links) {
		return c.length
	}
	return c.length.Sub(c.last().length()).Add(c.last().shared())
}

// open reads the first link and, where the size is known, the end of the
// resource. Where the end is of the same link, that is all.
func (m *media) open(ctx context.Context) error {
	head, err := m.window.ReadRange(ctx, seek.Range{Length: headChunk}, seek.Head, "first pages")
	if err != nil {
		return err
	}
	m.end, m.final = m.window.Info().Size, true
	first, err := readLink(ctx, m.window, tagLen(head), m.limits)
	if err != nil {
		return err
	}
	if n := tagLen(head); n > 0 {
		first.damage = append([]damage{{0, n, "an ID3 tag"}}, first.damage...)
	}
	if m.end < 0 {
		m.end, m.final = max(int64(len(head)), first.data), false
	}
	from := max(first.off, m.end-tailChunk)
	tail, err := m.window.ReadRange(ctx, seek.Range{Offset: from, Length: m.end - from}, seek.Tail, "last pages")
	if err != nil {
		return err
	}
	m.remember(from, tail, true)
	m.adopt(first)
	m.found.Store(&chain{links: []*link{first}})
	if m.boundary(first, 1).away == nil { // one link, as far as can be told
		_, err = m.extend(ctx)
	}
	for err == nil && m.atHand() {
		_, err = m.extend(ctx)
	}
	return err
}

// atHand reports whether the next link can be read without a request. A longer
// chain is followed only as far as it is needed.
func (m *media) atHand() bool {
	c := m.links()
	l := c.last()
	if c.complete || c.closed == len(c.links) || l.end < 0 {
		return false
	}
	_, end := m.window.Held(seek.Range{Offset: max(l.off, l.end-tailChunk), Length: min(tailChunk, l.end-l.off)})
	_, next := m.window.Held(seek.Range{Offset: l.end, Length: min(headChunk, m.end-l.end)})
	return end && next
}

// reach finds links until enough is known: until enough, told how much of the
// presentation is known, says so, or there is no more.
func (m *media) reach(ctx context.Context, enough func(known fragment.Time) bool) error {
	m.looking.Lock()
	defer m.looking.Unlock()
	asked := !m.growing // whether there is more by now
	for !enough(m.links().certain()) {
		more, err := m.extend(ctx)
		if err != nil {
			return err
		}
		if more {
			continue
		}
		if asked {
			return nil
		}
		asked = true
		if grew, err := m.refresh(ctx); err != nil || !grew {
			return err
		}
	}
	return nil
}
