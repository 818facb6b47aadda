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

	mu       sync.Mutex // of what follows; held while links are looked for
	links    []*link    // known ones, in order, without gaps from the first on
	complete bool       // there are no more
	glimpses []glimpse
	warnings []fragment.Warning
}

var _ formats.Media = (*media)(nil)

func (m *media) size() int64 { return m.window.Info().Size }

// warn notes damage that is passed over.
func (m *media) warn(off int64, what string) {
	m.warnings = append(m.warnings, fragment.Warning{Reason: fmt.Sprintf("at byte %d: %s", off, what)})
}

// open reads the first link and the end of the resource. Where the end is of
// the same link, that is all.
func (m *media) open(ctx context.Context) error {
	head, err := m.window.ReadRange(ctx, seek.Range{Length: headChunk}, seek.Head, "first pages")
	if err != nil {
		return err
	}
	if err := m.measure(ctx); err != nil {
		return err
	}
	first, err := readLink(ctx, m.window, tagLen(head), m.limits)
	if err != nil {
		return err
	}
	end := max(first.off, m.size()-tailChunk)
	tail, err := m.window.ReadRange(ctx, seek.Range{Offset: end, Length: tailChunk}, seek.Tail, "last pages")
	if err != nil {
		return err
	}
	m.remember(end, tail, true)
	m.adopt(first)
	if m.boundary(first, chainTrust).away == nil { // one link, as far as can be told
		_, err = m.extend(ctx)
	}
	for err == nil && !m.complete && m.atHand() {
		_, err = m.extend(ctx)
	}
	return err
}

// atHand reports whether the next link can be read without a request. A longer
// chain is followed only as far as it is needed.
func (m *media) atHand() bool {
	l := m.links[len(m.links)-1]
	if l.end < 0 {
		return false
	}
	_, end := m.window.Held(seek.Range{Offset: max(l.off, l.end-tailChunk), Length: min(tailChunk, l.end-l.off)})
	_, next := m.window.Held(seek.Range{Offset: l.end, Length: min(headChunk, m.size()-l.end)})
	return end && next
}

// tail sizes: how many bytes are read at a time, from the end backwards, in
// search of the last granule positions, and how many in all.
const (
	tailChunk = 64 << 10
	tailMost  = 4 << 20
)

// close reads the end of a link whose end is known, and prepares its search.
func (l *link) close(ctx context.Context, w *seek.Window, limits formats.Limits) error {
	if l.search != nil {
		return nil
	}
	if err := l.readEnd(ctx, w); err != nil {
		return err
	}
	l.startSearch(w, limits)
	return nil
}

// readEnd reads the last granule positions of the link, whose end is known.
func (l *link) readEnd(ctx context.Context, w *seek.Window) error {
	for to, chunk := l.end, int64(tailChunk); to > l.data && l.end-to < tailMost; chunk *= 2 {
		from := max(l.data, to-chunk)
		data, err := w.ReadRange(ctx, seek.Range{Offset: from, Length: l.end - from}, seek.Tail, "last pages")
		if err != nil {
			return err
		}
		found := scanPages(data, from, from == l.data)
		l.pageBytes = int64(len(data)) / int64(max(1, len(found.pages)))
		for i := range found.pages {
			l.ends(&found.pages[i])
		}
		if l.ended {
			break
		}
		to = from
	}
	if !l.ended && l.end-l.data <= tailMost { // there is no data
		l.finish, l.ended = l.begin, true
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

// probe returns the most bytes of a probe: half of the usual for sound of less
// than 256 kbit/s, unless its pages are so large that it would show none; and
// twice for pictures, whose search is followed by that for a keyframe.
func (l *link) probe() int64 {
	const slow = 256_000 / 8 // bytes a second
	if l.ended && l.mediaType() == "audio/ogg" && l.length().Seconds()*slow > float64(l.end-l.data) {
		return min(max(4*l.pageBytes, seek.DefaultProbe/2), seek.DefaultProbe)
	}
	return 2 * seek.DefaultProbe
}

// startSearch prepares the search of the link.
func (l *link) startSearch(w *seek.Window, limits formats.Limits) {
	l.search = &seek.Search{Window: w, Recognize: l.recognize, Start: l.data, End: l.end, Probe: l.probe(), MaxRounds: limits.Rounds}
	for _, from := range []int64{l.off, max(l.off, l.end-tailChunk)} {
		if data, ok := w.Held(seek.Range{Offset: from, Length: min(tailChunk, l.end-from)}); ok {
			skip := max(0, l.data-from)
			if skip < int64(len(data)) {
				l.search.Scan(from+skip, data[skip:])
			}
		}
	}
}

// measure finds the size of a resource that does not tell: reads past its end
// bring nothing.
func (m *media) measure(ctx context.Context) error {
	if m.size() >= 0 {
		return nil
	}
	return &formats.Error{Container: Name, Element: "pages", Offset: -1, Err: formats.ErrUnsupported,
		Problem: "a resource of unknown length", Hint: "record it to a file first"}
}
