package hls

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

// maxTrimmed is how many media playlists are read to trim a master playlist.
const maxTrimmed = 256

// trimMaster trims a master playlist and the media playlists that it names.
func (m *Medium) trimMaster(ctx context.Context, s formats.Selection, name string) ([]formats.File, error) {
	if m.env.Variant == "" && len(s.Tracks) == 0 {
		return m.trimAll(ctx, s, name)
	}
	if len(s.Tracks) == 0 { // all that belongs to the variant
		for _, x := range m.streams {
			if len(x.names) > 0 && x.kind != formats.Video {
				s.Tracks = append(s.Tracks, x.tracks[0].ID)
			}
		}
	}
	cuts, _, err := m.cuts(ctx, s)
	if err != nil {
		return nil, err
	}
	names := beside(name)
	var files []formats.File
	var list []string
	for _, c := range cuts {
		f, err := c.trimmed(names.of(c.s.id))
		if err != nil {
			return nil, err
		}
		files, list = append(files, f), append(list, f.Name)
	}
	main := formats.File{Name: name, Plan: textPlan(m.oneVariant(cuts, list).String(), files[0].Plan)}
	return append([]formats.File{main}, files...), nil
}

// trimAll trims all media playlists of a master playlist. Of those that cannot
// be read, or have nothing of the interval, a warning tells.
func (m *Medium) trimAll(ctx context.Context, s formats.Selection, name string) ([]formats.File, error) {
	t := &trimming{m: m, interval: s.Interval, byURI: map[string]*trimmedList{}}
	t.interval.Start = t.interval.Start.Max(fragment.Time{})
	for _, v := range append(m.master.variants, m.master.iframes...) {
		t.add(v.uri, &stream{id: v.label(), kind: formats.Video})
	}
	for i := range m.master.renditions {
		x := &m.master.renditions[i]
		t.add(x.uri, &stream{id: string(x.kind) + "/" + x.name, kind: x.kind, rendition: x})
	}
	if len(t.lists) > maxTrimmed {
		return nil, limited("EXT-X-STREAM-INF", -1, fmt.Sprintf("it names %d playlists, of which at most %d are trimmed; choose one with --variant", len(t.lists), maxTrimmed))
	}
	if err := t.read(ctx); err != nil {
		return nil, err
	}
	files, err := t.write(beside(name))
	if err != nil {
		return nil, err
	}
	w := &masterWriter{m: m, steered: m.master.steering != ""}
	for _, x := range m.master.renditions {
		if file := t.file(x.uri); file != "" || x.uri == "" {
			w.media = append(w.media, mediaLine{x, file})
		}
	}
	for _, v := range m.master.variants {
		file := t.file(v.uri)
		silent := v.audio != "" && !w.has(formats.Audio, v.audio) && m.master.group(v, formats.Audio) != nil
		switch {
		case file == "":
		case silent && v.uri != m.variant.uri:
			t.warn("the variant %s is left out: nothing is left of its sound", v.label())
		default:
			w.variants = append(w.variants, variantLine{v, file})
		}
	}
	for _, v := range m.master.iframes {
		if file := t.file(v.uri); file != "" {
			w.iframes = append(w.iframes, variantLine{v, file})
		}
	}
	main := textPlan(w.String(), t.main)
	main.Warnings = append(t.warnings, main.Warnings...)
	return append([]formats.File{{Name: name, Plan: main}}, files...), nil
}

// trimming is the trimming of several media playlists.
type trimming struct {
	m        *Medium
	interval fragment.Interval
	lists    []*trimmedList
	byURI    map[string]*trimmedList // as the master playlist writes it
	main     *formats.Plan           // of the chosen variant
	warnings []fragment.Warning
}

// trimmedList is one of them.
type trimmedList struct {
	s    *stream
	cut  *cut
	err  error
	file string // "" where it is left out
}

// add notes a playlist that the master playlist names, once.
func (t *trimming) add(uri string, s *stream) {
	if uri == "" || t.byURI[uri] != nil {
		return
	}
	l := &trimmedList{s: s}
	t.byURI[uri], t.lists = l, append(t.lists, l)
	var name string
	if name, l.err = nameOf(t.m.base, uri); l.err != nil {
		return
	}
	l.s.names = []string{name}
	for _, x := range t.m.streams { // those that have been read
		if len(x.names) > 0 && x.names[0] == name {
			l.s = x
		}
	}
}

// file returns the name of a playlist's file, "" where it is left out.
func (t *trimming) file(uri string) string {
	if l := t.byURI[uri]; l != nil {
		return l.file
	}
	return ""
}

func (t *trimming) warn(format string, args ...any) {
	t.warnings = append(t.warnings, fragment.Warning{Reason: fmt.Sprintf(format, args...)})
}

// read reads all the playlists that have not been read, at once.
func (t *trimming) read(ctx context.Context) error {
	var g errgroup.Group
	g.SetLimit(maxAtOnce)
	for _, l := range t.lists {
		if l.err != nil {
			continue
		}
		g.Go(func() error {
			if l.err = t.m.load(ctx, l.s); l.err == nil {
				l.cut, l.err = t.m.newCut(l.s, t.interval)
			}
			return nil
		})
	}
	g.Wait()
	return context.Cause(ctx)
}

// write writes the playlists of what was read.
func (t *trimming) write(names fileNames) (files []formats.File, err error) {
	for _, l := range t.lists {
		var f formats.File
		if l.err == nil {
			f, l.err = l.cut.trimmed(names.of(l.s.id))
		}
		switch {
		case l.err != nil && l.s == t.m.main:
			return nil, l.err
		case l.err != nil:
			t.warn("the playlist of %s is left out: %v", l.s.id, l.err)
			continue
		case l.s == t.m.main:
			t.main = f.Plan
		}
		l.file = f.Name
		files = append(files, f)
	}
	return files, nil
}

// label is a name for a variant among others.
func (v variant) label() string {
	switch {
	case v.name != "":
		return v.name
	case v.height > 0:
		return strconv.Itoa(v.height) + "p"
	}
	return strconv.FormatInt(v.bandwidth, 10)
}

// fileNames gives the streams of a presentation names for their files.
type fileNames struct {
	before, behind string // what stands around
	used           []string
}

// beside gives names for files beside one of the given name.
func beside(name string) fileNames {
	ext := path.Ext(name)
	return fileNames{before: strings.TrimSuffix(name, ext) + ".", behind: ext}
}

// of returns the name for a stream, another one each time.
func (n *fileNames) of(id string) string {
	name := n.before + word(id) + n.behind
	for i := 2; n.has(name); i++ {
		name = n.before + word(id) + "-" + strconv.Itoa(i) + n.behind
	}
	n.used = append(n.used, name)
	return name
}

// has reports whether a name is taken. There are file systems that do not tell
// upper case from lower.
func (n *fileNames) has(name string) bool {
	for _, x := range n.used {
		if strings.EqualFold(x, name) {
			return true
		}
	}
	return false
}

// masterWriter is what a master playlist that is written says.
type masterWriter struct {
	m                 *Medium
	media             []mediaLine
	variants, iframes []variantLine
	plain             bool // nothing that it leads to is encrypted
	steered           bool // by the original's server
}

// mediaLine is an EXT-X-MEDIA, variantLine an EXT-X-STREAM-INF or
// EXT-X-I-FRAME-STREAM-INF. File is the playlist that it names, "" where the
// rendition is inside of others.
type (
	mediaLine struct {
		rendition
		file string
	}
	variantLine struct {
		variant
		file string
	}
)

// oneVariant is a master playlist of the chosen variant and the renditions of
// the cuts, whose playlists have the given names.
func (m *Medium) oneVariant(cuts []*cut, names []string) *masterWriter {
	w := &masterWriter{m: m}
	main := ""
	for i, c := range cuts {
		if c.s == m.main {
			main = names[i]
		} else {
			w.media = append(w.media, mediaLine{*c.s.rendition, names[i]})
		}
	}
	if main == "" { // renditions alone: the first is the variant
		w.media = nil
		v := m.variant
		if kind := cuts[0].s.kind; kind != formats.Video {
			v.attrs = v.attributesOf(kind)
		}
		w.variants = []variantLine{{v, names[0]}}
		return w
	}
	for _, x := range m.master.renditions { // those that are in the variant itself
		if x.uri == "" && (x.kind == formats.Audio && x.group == m.variant.audio || x.kind == captions) {
			w.media = append(w.media, mediaLine{rendition: x})
		}
	}
	w.variants = []variantLine{{m.variant, main}}
	return w
}

// attributesOf are a variant's attributes where only its sound or its text is
// left, by kind: without what they say of pictures. BANDWIDTH, which has to be
// there and has to be enough, stays.
func (v variant) attributesOf(kind formats.Kind) attributes {
	a := v.attrs
	for _, name := range []string{"RESOLUTION", "FRAME-RATE", "HDCP-LEVEL", "VIDEO-RANGE", "VIDEO", "REQ-VIDEO-LAYOUT", "SUPPLEMENTAL-CODECS"} {
		a = a.without(name)
	}
	if !a.has("CODECS") {
		return a
	}
	left := slices.DeleteFunc(codecs(v.codecs), func(c string) bool { return codecKind(c) != kind })
	if len(left) == 0 {
		return a.without("CODECS")
	}
	return a.with("CODECS", strings.Join(left, ","), true)
}

// String writes the playlist.
func (w *masterWriter) String() string {
	lines := []string{signature}
	if v := w.m.master.version; v > 0 {
		lines = append(lines, "#EXT-X-VERSION:"+strconv.FormatInt(v, 10))
	}
	for _, line := range w.m.master.header {
		if line = w.header(line); line != "" {
			lines = append(lines, line)
		}
	}
	if w.steered {
		lines = append(lines, w.steering())
	}
	for _, x := range w.media {
		a := x.attrs
		if x.file != "" {
			a = a.with("URI", x.file, true)
		}
		lines = append(lines, "#EXT-X-MEDIA:"+a.String())
	}
	for _, v := range w.variants {
		lines = append(lines, "#EXT-X-STREAM-INF:"+w.attrs(v).String(), v.file)
	}
	for _, v := range w.iframes {
		lines = append(lines, "#EXT-X-I-FRAME-STREAM-INF:"+w.attrs(v).with("URI", v.file, true).String())
	}
	return strings.Join(lines, "\n") + "\n"
}

// steering is the line about content steering, which begins with a pathway of which
// something is left.
func (w *masterWriter) steering() string {
	a := w.m.master.steered
	if uri, err := resolve(w.m.base, w.m.master.steering); err == nil {
		a = a.with("SERVER-URI", uri, true)
	}
	if !slices.ContainsFunc(w.variants, func(v variantLine) bool { return v.pathway == w.m.master.pathway }) {
		a = a.without("PATHWAY-ID")
	}
	return "#EXT-X-CONTENT-STEERING:" + a.String()
}

// header returns a line of the original's head with absolute URIs, "" where it
// is left out.
func (w *masterWriter) header(line string) string {
	name, list, _ := strings.Cut(line, ":")
	if w.plain && name == "#EXT-X-SESSION-KEY" {
		return ""
	}
	a := parseAttributes(list)
	if !a.has("URI") {
		return line
	}
	uri, err := resolve(w.m.base, a.get("URI"))
	if err != nil {
		return ""
	}
	return name + ":" + a.with("URI", uri, true).String()
}

// attrs are a variant's attributes, without groups that nothing is left of, and
// without the pathway of a content steering that is left out.
func (w *masterWriter) attrs(v variantLine) attributes {
	a := v.attrs
	if !w.steered {
		a = a.without("PATHWAY-ID")
	}
	for name, kind := range map[string]formats.Kind{"AUDIO": formats.Audio, "VIDEO": formats.Video, "SUBTITLES": formats.Subtitle, "CLOSED-CAPTIONS": captions} {
		if none := kind == captions && a.get(name) == "NONE"; !none && !w.has(kind, a.get(name)) {
			a = a.without(name)
		}
	}
	return a
}

// has reports whether something is left of a group of renditions.
func (w *masterWriter) has(kind formats.Kind, group string) bool {
	return slices.ContainsFunc(w.media, func(x mediaLine) bool { return x.kind == kind && x.group == group })
}
