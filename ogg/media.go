package ogg

import (
	"context"
	"fmt"
	"sync"

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

	mu    sync.Mutex
	links []*link // known ones, in order, without gaps from the first on
}

var _ formats.Media = (*media)(nil)

// open reads the first link and the end of the resource.
func (m *media) open(ctx context.Context) error {
	head, err := m.window.ReadRange(ctx, seek.Range{Length: headChunk}, seek.Head, "first pages")
	if err != nil {
		return err
	}
	first, err := readLink(ctx, m.window, tagLen(head), m.limits)
	if err != nil {
		return err
	}
	m.links = []*link{first}
	if first.end < 0 {
		first.end = m.window.Info().Size
	}
	if err := first.readEnd(ctx, m.window); err != nil {
		return err
	}
	first.startSearch(m.window, m.limits)
	return nil
}

// tail sizes: how many bytes are read at a time, from the end backwards, in
// search of the last granule positions, and how many in all.
const (
	tailChunk = 64 << 10
	tailMost  = 4 << 20
)

// readEnd reads the last granule positions of the link, whose end is known.
func (l *link) readEnd(ctx context.Context, w *seek.Window) error {
	for to, chunk := l.end, int64(tailChunk); to > l.data && l.end-to < tailMost; chunk *= 2 {
		from := max(l.data, to-chunk)
		data, err := w.ReadRange(ctx, seek.Range{Offset: from, Length: l.end - from}, seek.Tail, "last pages")
		if err != nil {
			return err
		}
		found := scanPages(data, from, from == l.data)
		for i := range found.pages {
			l.ends(&found.pages[i])
		}
		if l.ended {
			break
		}
		to = from
	}
	return nil
}

// ends takes a page near the link's end.
func (l *link) ends(p *page) {
	s := l.stream(p.serial)
	if s == nil || s.text() || !p.completes() {
		return
	}
	pos, ok := s.position(p.granule)
	if !ok {
		return
	}
	s.finish, s.ended = pos.end, true
	if t := s.time(pos.end); !l.ended || l.finish.Less(t) {
		l.finish, l.ended = t, true
	}
}

// startSearch prepares the search of the link.
func (l *link) startSearch(w *seek.Window, limits formats.Limits) {
	l.search = &seek.Search{Window: w, Recognize: l.recognize, Start: l.data, End: l.end, MaxRounds: limits.Rounds}
	for _, r := range []seek.Range{{Offset: l.data, Length: headChunk}, {Offset: max(l.data, l.end-tailChunk), Length: tailChunk}} {
		r.Length = min(r.Length, l.end-r.Offset)
		if data, ok := w.Held(r); ok {
			l.search.Scan(r.Offset, data)
		}
	}
}

// Info says what the first link and the last pages tell.
func (m *media) Info() formats.Info {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.links[0]
	info := formats.Info{
		Format: Name, MediaType: l.mediaType(), StartTime: l.begin, Index: Granules, Seekable: true,
		Duration: l.length(), Timed: l.ended,
	}
	for _, s := range l.streams {
		info.Tracks = append(info.Tracks, s.track)
	}
	for _, o := range l.others {
		info.Warnings = append(info.Warnings, fragment.Warning{Reason: fmt.Sprintf("stream %d at byte %d is passed over: %s", o.serial, o.off, o.name)})
	}
	return info
}

// Inspect is Info.
func (m *media) Inspect(ctx context.Context) (formats.Info, error) { return m.Info(), nil }

// mediaType is the type of a file with the link's streams (RFC 5334).
func (l *link) mediaType() string {
	kind := "application/ogg"
	for _, s := range l.streams {
		switch {
		case s.video():
			return "video/ogg"
		case s.audio():
			kind = "audio/ogg"
		}
	}
	return kind
}

// Plan resolves a selection.
func (m *media) Plan(ctx context.Context, s formats.Selection) (*formats.Plan, error) {
	info := m.Info()
	tracks, err := formats.Chosen(info.Tracks, s)
	if err != nil {
		return nil, err
	}
	l := m.links[0]
	interval := s.Interval
	if info.Timed {
		if !interval.Start.Less(info.Duration) {
			return nil, &formats.PastEndError{Start: interval.Start, Duration: info.Duration}
		}
		interval = interval.Clamp(info.Duration)
	}
	c := &cutting{w: m.window, l: l, a: interval.Start.Add(l.begin), b: interval.End.Add(l.begin), original: s.Timeline == formats.Original}
	for _, t := range tracks {
		for _, st := range l.streams {
			if st.track.ID == t.ID {
				c.streams = append(c.streams, st)
			}
		}
	}
	if err := c.resolve(ctx); err != nil {
		return nil, err
	}
	resource := m.window.Info()
	part := c.assemble(&resource)
	zero := l.begin
	return &formats.Plan{
		MediaType: info.MediaType, Requested: interval,
		Presented: shifted(part.presented, zero), Covered: shifted(part.covered, zero),
		Tracks: tracks, Parts: part.parts, Size: part.size, Needed: part.needed, Warnings: part.warnings,
	}, nil
}

// shifted returns an interval of the file's own clock on that of the
// presentation, which begins at zero.
func shifted(i fragment.Interval, zero fragment.Time) fragment.Interval {
	return fragment.Between(i.Start.Sub(zero), i.End.Sub(zero))
}
