package hls

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mediafrag/mediafrag/seek"
)

// headBytes is how much is read of a segment of fragmented MP4 for its first
// timestamp: as much as package mp4 takes at first.
const headBytes = 16 << 10

// anchor finds what clocks show at time 0 of the timeline, for a stream that is
// selected without the variant's own: by that one's segments, so that a time is
// the same instant whichever tracks are chosen. The clocks of all streams are one
// (RFC 8216 section 6.2.4). Where they cannot be read, each stream's times count
// from its own beginning.
func (c *cut) anchor(ctx context.Context) error {
	own := c.m.main
	c.m.mu.Lock()
	loaded := own.list != nil && len(own.list.media.segments) > 0
	c.m.mu.Unlock()
	if !loaded {
		return nil
	}
	of, err := c.m.newCut(own, c.interval)
	if err != nil || of.list.iframes || of.skipGaps() != nil {
		return nil
	}
	l := of.headLocator()
	if l == nil {
		return nil
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(maxAtOnce)
	run := of.list.segments[of.first].discontinuity - 1
	for i := of.first; i <= of.last; i++ {
		s := &of.list.segments[i]
		if s.gap || s.discontinuity == run {
			continue
		}
		run = s.discontinuity
		g.Go(func() error {
			start, ok, err := l.readHead(gctx, i)
			if err != nil || !ok {
				return context.Cause(gctx)
			}
			of.mu.Lock()
			defer of.mu.Unlock()
			l.zero[s.discontinuity] = start - s.start
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if l.odd() {
		if err := l.beginning(ctx, false); err != nil {
			return err
		}
	}
	c.clocks, c.warnings = l.zero, append(c.warnings, of.warnings...)
	return nil
}

// headLocator returns a locator that reads when segments begin by a little of
// them, nil where their container does not tell.
func (c *cut) headLocator() *locator {
	s := &c.list.segments[c.first]
	switch {
	case s.init != nil && s.init.uri != "":
		t := &mp4Cut{}
		t.locator = newLocator(c, t.clock, t.head)
		return t.locator
	case audioOnly(s.uri):
		return nil
	}
	return newTSCut(c).locator
}

// readHead returns the clock at the beginning of a segment. What that takes is
// asked for at once.
func (l *locator) readHead(ctx context.Context, i int) (start time.Duration, ok bool, err error) {
	s, name, err := l.segment(i)
	if err != nil {
		return 0, false, err
	}
	if s.init == nil || s.init.uri == "" {
		return l.head(ctx, i)
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { _, err := l.readInit(gctx, s.init); return err })
	if len(s.keys) == 0 {
		g.Go(func() error {
			// Where it fails, whoever needs it meets the error.
			l.m.loader.read(gctx, extent{name, edgeRange(s.bytes, headBytes)}, seek.Probe, "beginning of "+l.note(s))
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return 0, false, err
	}
	return l.head(ctx, i)
}
