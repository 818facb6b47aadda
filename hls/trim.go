package hls

import (
	"context"
	"fmt"
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
// origin's own segments; no media is fetched. Of a master playlist it keeps the
// chosen variant with its renditions, each in a playlist of its own beside it.
//
// EXT-X-START states the exact beginning; nothing in a playlist can state an end
// within a segment, so that players show the last one whole.
func (m *Medium) Trim(ctx context.Context, s formats.Selection, name string) ([]formats.File, error) {
	cuts, err := m.cutsToKeep(ctx, s)
	if err != nil {
		return nil, err
	}
	names := playlistNames(name, cuts)
	var files []formats.File
	for i, c := range cuts {
		start := segments.Duration(c.interval.Start) - c.list.segments[c.first].start
		text, err := c.write(start, c.atOrigin())
		if err != nil {
			return nil, err
		}
		files = append(files, c.file(names[i], text))
	}
	if m.master == nil {
		return files, nil
	}
	main := m.writeMaster(cuts, names)
	return append([]formats.File{{Name: name, Plan: textPlan(main, files[0].Plan)}}, files...), nil
}

// cutsToKeep are the cuts of the streams that a playlist keeps: those that are
// selected, or all of the chosen variant.
func (m *Medium) cutsToKeep(ctx context.Context, s formats.Selection) ([]*cut, error) {
	if len(s.Tracks) == 0 && m.master != nil {
		for _, x := range m.streams {
			if len(x.names) > 0 && x.kind != formats.Video {
				s.Tracks = append(s.Tracks, x.tracks[0].ID)
			}
		}
	}
	cuts, _, err := m.cuts(ctx, s)
	return cuts, err
}

// playlistNames are the names of the media playlists: the given one where there
// is no master playlist, else ones beside it.
func playlistNames(name string, cuts []*cut) []string {
	if len(cuts) == 1 && cuts[0].m.master == nil {
		return []string{name}
	}
	stem, ext := name, ""
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		stem, ext = name[:dot], name[dot:]
	}
	var out []string
	for _, c := range cuts {
		out = append(out, stem+"."+c.word()+ext)
	}
	return out
}

// word is a name for a stream that is safe in files.
func (c *cut) word() string {
	word := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}, c.s.id)
	if len(word) > 60 {
		word = word[:60]
	}
	for i, s := range c.m.streams { // unlike names may have become alike
		if s == c.s && i > 0 {
			word += "-" + strconv.Itoa(i)
		}
	}
	return word
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
	w.line("#EXT-X-VERSION:" + strconv.FormatInt(max(c.list.version, 3), 10))
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
	for _, r := range w.list.ranges {
		if r.start.IsZero() || !r.start.Before(to) || !r.end.IsZero() && r.end.Before(from) {
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

// writeMaster writes a master playlist of one variant and the renditions whose
// playlists have the given names.
func (m *Medium) writeMaster(cuts []*cut, names []string) string {
	var out strings.Builder
	out.WriteString(signature + "\n")
	if m.master.version > 0 {
		fmt.Fprintf(&out, "#EXT-X-VERSION:%d\n", m.master.version)
	}
	for _, line := range m.master.header {
		out.WriteString(line + "\n")
	}
	a := m.variant.attrs.without("PATHWAY-ID").without("VIDEO").without("NAME")
	has := map[formats.Kind]bool{}
	main := ""
	for i, c := range cuts {
		if c.s == m.main {
			main = names[i]
			continue
		}
		has[c.s.kind] = true
		out.WriteString("#EXT-X-MEDIA:" + c.s.rendition.attrs.with("URI", names[i], true).String() + "\n")
	}
	for _, s := range m.streams { // those that are in the variant itself
		if s.rendition != nil && len(s.names) == 0 && s.kind == formats.Audio {
			has[s.kind] = true
			out.WriteString("#EXT-X-MEDIA:" + s.rendition.attrs.String() + "\n")
		}
	}
	for name, kind := range map[string]formats.Kind{"AUDIO": formats.Audio, "SUBTITLES": formats.Subtitle} {
		if !has[kind] {
			a = a.without(name)
		}
	}
	if !strings.EqualFold(a.get("CLOSED-CAPTIONS"), "NONE") {
		a = a.without("CLOSED-CAPTIONS")
	}
	if main == "" { // renditions alone: the first is the variant
		main = names[0]
		a = a.without("AUDIO").without("SUBTITLES")
	}
	out.WriteString("#EXT-X-STREAM-INF:" + a.String() + "\n" + main + "\n")
	return out.String()
}
