package ogg

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// A link is taken for one if it has about as many pages as its bytes suggest,
// first to last. A short link before a long one with the same serial numbers is
// too little to tell then. Serial numbers are to be random (RFC 3533, section 4):
// two links have the same where some program counts them from a small number, and
// such links are looked at again, beside the search that needs them.

const (
	// smallSerial is what random serial numbers are hardly ever below.
	smallSerial = 1 << 16
	// reviewTrust is how many pages must lie between two places of a review, of
	// those that are there on the average: places are so near each other that a
	// link between leaves nearly none.
	reviewTrust = 0.4
	reviewLeast = 4 // pages to be expected, to tell
)

// counted reports whether all serial numbers of the link are small.
func (l *link) counted() bool {
	return !slices.ContainsFunc(l.streams, func(s *stream) bool { return s.serial >= smallSerial })
}

// rungs are where a link is looked at again: at twice the distance from its
// beginning each time, so that page numbers go back where another begins between.
func (m *media) rungs(l *link) (out []seek.Request) {
	var page int64 // the largest that was seen; others may be twice as large
	m.looking.Lock()
	for _, g := range m.glimpses {
		for _, p := range g.pages {
			page = max(page, p.end-p.off)
		}
	}
	m.looking.Unlock()
	size := min(max(4*page, chainProbe/8), chainProbe)
	for at := max(l.off+headChunk, l.data); at+size < l.end-tailChunk; at += max(at-l.off, headChunk) {
		out = append(out, seek.Request{Range: seek.Range{Offset: at, Length: size}, Purpose: seek.Probe, Note: "whether it is one link"})
	}
	return out
}

// review is a look at links, beside something else.
type review struct {
	m     *media
	group *errgroup.Group
	looks []*look
}

// look is what is read of a link.
type look struct {
	link  *link
	reads []seek.Request
	data  [][]byte
}

// review begins to look again at the links that are known to their ends, each of
// them once.
func (m *media) review(ctx context.Context, c *chain) *review {
	r := &review{m: m}
	r.group, ctx = errgroup.WithContext(ctx)
	for _, l := range c.links[:c.closed] {
		if l.reviewed.Load() || !l.counted() {
			continue
		}
		at := &look{link: l, reads: m.rungs(l)}
		r.looks = append(r.looks, at)
		r.group.Go(func() (err error) {
			at.data, err = m.window.Read(ctx, at.reads...)
			return err
		})
	}
	return r
}

// wait ends the review, and reports whether a link was found to be more than one.
// Then the links are known to its beginning only.
func (r *review) wait(ctx context.Context) (revised bool, err error) {
	if err := r.group.Wait(); err != nil {
		return false, fmt.Errorf("looking whether a link is one: %w", err)
	}
	m := r.m
	m.looking.Lock()
	defer m.looking.Unlock()
	for _, at := range r.looks {
		l := at.link
		if !slices.Contains(m.links().links, l) { // another selection was faster
			return true, nil
		}
		if l.reviewed.Swap(true) {
			continue
		}
		for i, read := range at.reads {
			m.remember(read.Offset, at.data[i], true)
		}
		if m.boundary(l, reviewTrust).hi < l.end || m.sparse(l) {
			return true, m.reconsider(ctx, l)
		}
	}
	return false, nil
}

// sparse reports whether there are far fewer pages somewhere in a link than on the
// average.
func (m *media) sparse(l *link) bool {
	seen := map[uint32][]pageHead{}
	for _, g := range m.glimpses {
		for _, p := range g.pages {
			if s := l.stream(p.serial); s != nil && !s.text() && p.off >= s.data && p.off < l.end {
				seen[p.serial] = append(seen[p.serial], p)
			}
		}
	}
	for _, pages := range seen {
		first, last := pages[0], pages[len(pages)-1]
		rate := float64(last.seq-first.seq) / float64(last.off-first.off) // pages a byte
		for i, p := range pages[1:] {
			before := pages[i]
			expected := rate * float64(p.off-before.off)
			if expected >= reviewLeast && float64(int32(p.seq-before.seq)) < reviewTrust*expected {
				return true
			}
		}
	}
	return false
}

// reconsider forgets where a link ends, and those behind it. M.looking is held.
func (m *media) reconsider(ctx context.Context, l *link) error {
	again, err := readLink(ctx, m.window, l.off, m.limits)
	if err != nil {
		return err
	}
	again.reviewed.Store(true)
	m.publish(func(c *chain) {
		c.closed = slices.Index(c.links, l)
		c.links = append(slices.Clone(c.links[:c.closed]), again)
		c.length, c.complete = fragment.Time{}, false
		for _, k := range c.links[:c.closed] {
			c.length = c.length.Add(k.length())
		}
	})
	return nil
}
