package hls

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mediafrag/mediafrag/seek"
)

// reload loads the playlists again: when it is time, or at once where the server
// answers when there is something new.
func (f *follower) reload(ctx context.Context, streams []*stream) error {
	list := f.m.media(f.stream)
	// A server that says it waits and does not is not asked without a pause.
	if !list.control.blocking || f.stale > 0 {
		wait := f.loaded.Add(f.pace(list)).Sub(f.m.clock.Now())
		if err := f.m.clock.Sleep(ctx, max(0, wait)); err != nil {
			return err
		}
	}
	age := f.m.clock.Now().Sub(f.loaded)
	f.loaded = f.m.clock.Now()
	news := make([]bool, len(streams))
	stop := f.m.steerAside(ctx)
	defer stop()
	g, gctx := errgroup.WithContext(ctx)
	for i, s := range streams {
		g.Go(func() (err error) {
			news[i], err = f.m.reload(gctx, s, f.m.media(s).directives(f.selection.Interval, age))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	f.stale++
	for _, fresh := range news {
		if fresh {
			f.stale = 0
		}
	}
	if f.stale > mostStale {
		return fmt.Errorf("%w: the live playlist has brought nothing new for %d reloads, and the interval %s has not been published", seek.ErrUnavailable, f.stale, f.selection.Interval)
	}
	return nil
}

// reload loads the playlist of a stream again, from another host where the first
// fails, and keeps its segments' places on the timeline. What the directives ask
// for and does not come as it should is asked for without them. Fresh reports
// whether there is anything new.
func (m *Medium) reload(ctx context.Context, s *stream, d directives) (fresh bool, err error) {
	p, err := m.loadAgain(ctx, s, d)
	if err != nil && ctx.Err() == nil && (d.wait || d.skip) {
		var again error
		if p, again = m.loadAgain(ctx, s, directives{}); again == nil {
			err = nil
		}
	}
	if err != nil {
		return false, err
	}
	redundant := m.redundant()
	m.mu.Lock()
	defer m.mu.Unlock()
	if redundant && s.named.now == nil { // what it names may have left when it is wanted
		s.named.add(s.list)
	}
	if redundant {
		s.named.add(p)
	}
	fresh = p.media.newer(s.list.media)
	s.list = p
	return fresh, nil
}

// loadAgain loads the playlist of a stream from the first of its hosts that has
// it, and places its segments.
func (m *Medium) loadAgain(ctx context.Context, s *stream, d directives) (*playlist, error) {
	known := m.media(s)
	p, err := m.fromPlaces(ctx, s, func(name string) (*playlist, error) { return m.fetchPlaylist(ctx, d.on(name), s.id, known) })
	if err != nil {
		return nil, err
	}
	return p, p.media.follow(known)
}

// newer reports whether a playlist has something that the one before has not.
func (m *media) newer(old *media) bool {
	if m.ended != old.ended {
		return true
	}
	a, b := m.next(), old.next()
	return a > b || a == b && len(m.parts) > len(old.parts)
}

// next is the media sequence number of the segment that is to come.
func (m *media) next() int64 {
	if len(m.segments) == 0 {
		return 0
	}
	return m.segments[len(m.segments)-1].sequence + 1
}

// follow places the segments of a playlist on the timeline of the one that it
// replaces.
func (m *media) follow(old *media) error {
	if m.skipped > 0 {
		return damaged("EXT-X-SKIP", -1, "a delta update leaves out segments that were never named")
	}
	if len(old.segments) == 0 || len(m.segments) == 0 {
		return nil
	}
	first, last := m.segments[0].sequence, old.segments[len(old.segments)-1]
	switch {
	case first > last.sequence: // segments were missed: each is taken for as long as the longest
		m.string(last.end() + time.Duration(min(first-last.sequence-1, 1<<20))*max(m.target, shortestTarget))
	case first >= old.segments[0].sequence:
		known := &old.segments[first-old.segments[0].sequence]
		m.string(known.start)
		m.renumber(known.discontinuity - m.segments[0].discontinuity)
	default:
		return damaged("EXT-X-MEDIA-SEQUENCE", -1, "the live playlist has gone back: it has been started anew")
	}
	return nil
}

// renumber adds to the discontinuity sequence numbers of all segments: they are the
// same in each playlist, but servers forget EXT-X-DISCONTINUITY-SEQUENCE (RFC 8216
// section 6.2.2), so that numbers fall when a discontinuity leaves the window.
func (m *media) renumber(by int64) {
	for _, all := range [][]segment{m.segments, m.tail} {
		for i := range all {
			all[i].discontinuity += by
		}
	}
}

// string puts the segments one after the other, from a time on.
func (m *media) string(start time.Duration) {
	for _, all := range [][]segment{m.segments, m.tail} {
		for i := range all {
			all[i].start = start
			start = all[i].end()
		}
	}
}
