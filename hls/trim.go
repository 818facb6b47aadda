package hls

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/segments"
	"github.com/mediafrag/mediafrag/seek"
)

// Trim returns a selection as a playlist under the given name that points at the
// origin's own segments; no media is fetched. A master playlist comes with a
// playlist for each that it names, beside it: of all variants and renditions, so
// that players go on choosing, or where a variant or tracks were asked for, of
// those. Content steering goes on choosing among all: it knows them by their
// pathways. Clones that it may name are of playlists that lie where these do.
//
// EXT-X-START states the exact beginning; nothing in a playlist can state an end
// within a segment, so that players show the last one whole.
func (m *Medium) Trim(ctx context.Context, s formats.Selection, name string) ([]formats.File, error) {
	if strings.EqualFold(path.Ext(name), ".mpd") {
		return nil, unsupported("", "an HLS playlist as "+name, "give -o a name that ends in .m3u8")
	}
	if m.master != nil {
		return m.trimMaster(ctx, s, name)
	}
	cuts, _, err := m.cuts(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := cuts[0].exists(); err != nil { // nothing to play
		return nil, err
	}
	f, err := cuts[0].trimmed(name)
	return []formats.File{f}, err
}

// trimmed is the cut as a playlist that points at the origin.
func (c *cut) trimmed(name string) (formats.File, error) {
	start := segments.Duration(c.interval.Start) - c.list.segments[c.first].start
	text, err := c.write(start, c.atOrigin())
	return c.file(name, text), err
}

// word is a name for a stream that is safe in files.
func word(id string) string {
	out := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}, id)
	return out[:min(len(out), 60)]
}

// file is a media playlist as a file, with what it shows.
func (c *cut) file(name, text string) formats.File {
	first, last := &c.list.segments[c.first], &c.list.segments[c.last]
	covered := fragment.Between(segments.Time(first.start), segments.Time(last.end()))
	p := textPlan(text, &formats.Plan{
		Requested: c.interval, Covered: covered, Presented: fragment.Between(c.interval.Start, covered.End),
		Tracks: c.s.tracks, Warnings: c.warnings,
	})
	return formats.File{Name: name, Plan: p}
}

// textPlan is the plan of a playlist that shows what another plan does.
func textPlan(text string, of *formats.Plan) *formats.Plan {
	p := *of
	p.MediaType = playlistType
	p.Parts = []seek.Part{mediaPart([]byte(text), "playlist")}
	p.Size = int64(len(text))
	return &p
}

// places says how a playlist names what it needs.
type places struct {
	segment func(i int) (uri string, r seek.Range, err error)
	section func(s *initSection) (uri string, r seek.Range, err error)
	key     func(k *key) (uri string, err error) // nil: nothing is encrypted
}

// atOrigin names everything by its absolute URL.
func (c *cut) atOrigin() places {
	return places{
		segment: func(i int) (string, seek.Range, error) {
			s := &c.list.segments[i]
			if s.gap {
				uri, err := resolve(c.base.base, s.uri)
				return uri, s.bytes, err
			}
			s, uri, err := c.segment(i)
			if err != nil {
				return "", seek.Range{}, err
			}
			return uri, s.bytes, nil
		},
		section: func(s *initSection) (string, seek.Range, error) {
			uri, err := nameOf(c.base.base, s.uri)
			return uri, s.bytes, err
		},
		key: func(k *key) (string, error) { return nameOf(c.base.base, k.uri) },
	}
}

// write writes the media playlist of a cut, which begins start into its first
// segment.
func (c *cut) write(start time.Duration, at places) (string, error) {
	w := playlistWriter{cut: c, at: at}
	first := &c.list.segments[c.first]
	w.line(signature)
	w.line("#EXT-X-VERSION:" + strconv.FormatInt(max(c.list.version, c.version()), 10))
	w.line("#EXT-X-TARGETDURATION:" + strconv.FormatInt(c.target(), 10))
	w.line("#EXT-X-MEDIA-SEQUENCE:" + strconv.FormatInt(first.sequence, 10))
	if first.discontinuity > 0 || c.list.segments[c.last].discontinuity > 0 {
		w.line("#EXT-X-DISCONTINUITY-SEQUENCE:" + strconv.FormatInt(first.discontinuity, 10))
	}
	w.line("#EXT-X-PLAYLIST-TYPE:VOD")
	if start > 0 {
		w.line("#EXT-X-START:TIME-OFFSET=" + decimal(start) + ",PRECISE=YES")
	}
	for _, line := range c.list.header {
		if !strings.HasPrefix(line, "#EXT-X-DATERANGE:") {
			w.line(line)
		}
	}
	w.dateRanges()
	for i := c.first; i <= c.last; i++ {
		if err := w.segment(i); err != nil {
			return "", err
		}
	}
	w.line("#EXT-X-ENDLIST")
	return w.String(), nil
}

// version is the protocol version that what is written needs (RFC 8216 section
// 7), whatever the original says: byte ranges are written with their offsets.
func (c *cut) version() int64 {
	v := int64(3) // for fractions of a second
	for i := c.first; i <= c.last; i++ {
		s := &c.list.segments[i]
		if s.bytes.Length >= 0 || c.list.iframes {
			v = max(v, 4)
		}
		for _, k := range s.keys {
			if k.attrs.has("KEYFORMAT") {
				v = max(v, 5)
			}
		}
		if s.init != nil {
			v = max(v, 6)
		}
	}
	return v
}

// target is the target duration: as it was, and no less than the longest
// segment.
func (c *cut) target() int64 {
	longest := c.list.target
	for i := c.first; i <= c.last; i++ {
		longest = max(longest, c.list.segments[i].duration.Round(time.Second))
	}
	return int64((longest + time.Second - 1) / time.Second)
}

// decimal writes a time in seconds.
func decimal(d time.Duration) string { return segments.Time(d).String() }

// playlistWriter writes the segments of a cut. It keeps what the last one that
// was written has told of those behind it.
type playlistWriter struct {
	strings.Builder
	*cut
	at      places
	keys    []*key
	section *initSection
}

func (w *playlistWriter) line(s string) { w.WriteString(s + "\n") }

// dateRanges writes the date ranges that lie in the cut, if it tells dates.
func (w *playlistWriter) dateRanges() {
	from, ok := w.list.at(w.list.segments[w.first].start)
	to, ok2 := w.list.at(w.list.segments[w.last].end())
	if !ok || !ok2 {
		return
	}
	inside := w.list.rangesIn(from, to)
	for _, r := range w.list.ranges {
		if !inside[r.id] {
			continue
		}
		a := r.attrs
		for _, name := range []string{"X-ASSET-URI", "X-ASSET-LIST"} {
			if uri, err := resolve(w.base.base, a.get(name)); err == nil && a.has(name) {
				a = a.with(name, uri, true)
			}
		}
		w.line("#EXT-X-DATERANGE:" + a.String())
	}
}

// rangesIn returns the IDs of the date ranges that lie in a time, in part or
// whole. Tags of one ID are one range (RFC 8216 section 4.3.2.7.1), so that a
// later one may tell its end, and so may the next of its class.
func (m *media) rangesIn(from, to time.Time) map[string]bool {
	start, end := map[string]time.Time{}, map[string]time.Time{}
	for _, r := range m.ranges {
		if !r.start.IsZero() {
			start[r.id] = r.start
		}
		if !r.end.IsZero() {
			end[r.id] = r.end
		}
	}
	next := map[string]time.Time{} // of each class, what comes behind
	byStart := slices.SortedFunc(slices.Values(m.ranges), func(a, b dateRange) int { return start[b.id].Compare(start[a.id]) })
	for _, r := range byStart {
		if behind := next[r.class]; behind.After(start[r.id]) && r.attrs.yes("END-ON-NEXT") && end[r.id].IsZero() {
			end[r.id] = behind
		}
		next[r.class] = start[r.id]
	}
	in := map[string]bool{}
	for id, at := range start {
		in[id] = at.Before(to) && (end[id].IsZero() || end[id].After(from) || at.Equal(from))
	}
	return in
}

func (w *playlistWriter) segment(i int) error {
	s := &w.list.segments[i]
	if i > w.first && w.list.segments[i-1].discontinuity != s.discontinuity {
		w.line("#EXT-X-DISCONTINUITY")
	}
	if err := w.state(s); err != nil {
		return err
	}
	timed := false
	dated := false
	for _, line := range s.lines {
		name, _, _ := strings.Cut(line, ":")
		switch name {
		case "#EXT-X-DISCONTINUITY", "#EXT-X-KEY", "#EXT-X-MAP", "#EXT-X-BYTERANGE", "#EXT-X-BITRATE":
			continue
		case "#EXT-X-PROGRAM-DATE-TIME":
			dated = true
		case "#EXTINF":
			timed = true
			line = "#EXTINF:" + decimal(s.duration) + "," + title(line)
		}
		w.line(line)
	}
	if date, ok := w.list.at(s.start); ok && i == w.first && !dated {
		w.line("#EXT-X-PROGRAM-DATE-TIME:" + date.Format("2006-01-02T15:04:05.000Z07:00"))
	}
	if !timed {
		w.line("#EXTINF:" + decimal(s.duration) + ",")
	}
	uri, r, err := w.at.segment(i)
	if err != nil {
		return err
	}
	if r.Closed() && r.Length >= 0 {
		w.line(fmt.Sprintf("#EXT-X-BYTERANGE:%d@%d", r.Length, r.Offset))
	}
	w.line(uri)
	return nil
}

// title returns what stands behind a duration.
func title(line string) string {
	_, title, _ := strings.Cut(line, ",")
	return title
}

// state writes the keys and the initialization section of a segment where they
// are not those of the one before.
func (w *playlistWriter) state(s *segment) error {
	section := s.init
	sectionKeys := []*key(nil)
	if section != nil && !section.same(w.section) {
		sectionKeys = section.keys
		if err := w.writeKeys(sectionKeys); err != nil {
			return err
		}
		uri, r, err := w.at.section(section)
		if err != nil {
			return err
		}
		a := section.attrs.with("URI", uri, true).without("BYTERANGE")
		if r.Closed() {
			a = a.with("BYTERANGE", fmt.Sprintf("%d@%d", r.Length, r.Offset), true)
		}
		w.line("#EXT-X-MAP:" + a.String())
		w.section = section
	}
	return w.writeKeys(s.keys)
}

func (w *playlistWriter) writeKeys(keys []*key) error {
	if w.at.key == nil || slices.Equal(keys, w.keys) {
		return nil
	}
	if len(w.keys) > 0 { // those of other formats would stay
		w.line("#EXT-X-KEY:METHOD=NONE")
	}
	for _, k := range keys {
		a := k.attrs
		if k.uri != "" {
			uri, err := w.at.key(k)
			if err != nil {
				return err
			}
			a = a.with("URI", uri, true)
		}
		w.line("#EXT-X-KEY:" + a.String())
	}
	w.keys = keys
	return nil
}
