package hls

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/segments"
	"github.com/mediafrag/mediafrag/seek"
)

// mainID is the track of a media playlist of which no master playlist tells more.
const mainID = "main"

// Medium is an opened presentation. Its timeline is that of the chosen variant:
// the sum of its segments' durations, from the first segment of the playlist as
// it was when it was opened.
type Medium struct {
	env    formats.Env
	name   string // of the playlist that was opened
	loader *loader
	clock  clock
	opened time.Time
	behind int64 // the most bytes that are held behind a live joint

	vars    variables
	master  *master
	base    *url.URL // of the master playlist
	variant variant  // the chosen one
	main    *stream  // the chosen variant's own
	streams []*stream

	mu            sync.Mutex
	playlistBytes int64
	steering      steering
}

// stream is one media playlist and what it carries.
type stream struct {
	id        string
	kind      formats.Kind
	names     []string // of its playlist, the redundant ones behind
	places    []place  // the same, with their pathways; none of a media playlist by itself
	rendition *rendition
	plays     bool                  // by default
	list      *playlist             // nil until it is loaded; set under the Medium's lock
	tracks    []formats.Track       // what is known to be in it
	named     history               // of list and those before, of those that were wanted
	elsewhere map[string]*elsewhere // the redundant playlists that were wanted, by their places
}

// language is the tag (RFC 5646) that the master playlist states, if any.
func (s *stream) language() string {
	if s.rendition == nil {
		return ""
	}
	return s.rendition.language
}

func newMedium(env formats.Env, name string) *Medium {
	m := &Medium{env: env, name: name, vars: variables{}, clock: systemClock{}, behind: maxHeld}
	m.opened = m.clock.Now()
	m.loader = &loader{open: env.Opener, limit: maxHeld, replicas: m}
	return m
}

// OpenSource opens what the medium's plans name.
func (m *Medium) OpenSource(_ context.Context, name string) (seek.Source, error) {
	return source{m.loader, name}, nil
}

// describe makes the streams of a master playlist.
func (m *Medium) describe(p *playlist) error {
	m.vars, m.master, m.base = p.vars, p.master, p.base
	chosen, err := m.master.choose(m.env.Variant)
	if err != nil {
		return err
	}
	m.variant = chosen[0]
	if uri := m.master.steering; uri != "" {
		if name, err := nameOf(p.base, uri); err == nil {
			m.steering.uri, m.steering.start = name, m.variant.pathway
		}
	}
	m.main = &stream{id: mainID, kind: formats.Other, plays: true}
	for _, v := range chosen {
		name, err := nameOf(p.base, v.uri)
		if err != nil {
			return err
		}
		m.main.names = append(m.main.names, name)
		m.main.places = append(m.main.places, place{name, v.pathway, v.attrs.get("STABLE-VARIANT-ID")})
	}
	m.streams = []*stream{m.main}
	for _, kind := range []formats.Kind{formats.Video, formats.Audio, formats.Subtitle} {
		group := m.master.group(m.variant, kind)
		plays := played(group, kind)
		for i, x := range group {
			s, err := m.alternative(p.base, x, chosen)
			if err != nil {
				return err
			}
			s.plays = i == plays && len(s.names) > 0
			m.streams = append(m.streams, s)
		}
	}
	m.trackMain()
	m.unique()
	return nil
}

// alternative is the stream of a rendition. Other hosts may have it under the
// same name.
func (m *Medium) alternative(base *url.URL, x rendition, chosen []variant) (*stream, error) {
	s := &stream{id: string(x.kind) + "/" + x.name, kind: x.kind, rendition: &x}
	seen := map[string]bool{}
	for _, v := range chosen {
		for _, y := range m.master.group(v, x.kind) {
			if y.name != x.name || y.language != x.language || y.uri == "" || seen[y.uri] {
				continue
			}
			seen[y.uri] = true
			name, err := nameOf(base, y.uri)
			if err != nil {
				return nil, err
			}
			s.names = append(s.names, name)
			s.places = append(s.places, place{name, v.pathway, y.attrs.get("STABLE-RENDITION-ID")})
		}
	}
	s.tracks = []formats.Track{{ID: s.id, Kind: x.kind, Name: x.name, Language: x.language, Channels: x.channels}}
	return s, nil
}

// trackMain says what is in the chosen variant's own playlist: what CODECS names
// and no rendition that plays, or of text, carries instead.
func (m *Medium) trackMain() {
	v := m.variant
	elsewhere := map[formats.Kind]bool{}
	for _, s := range m.streams[1:] {
		if len(s.names) > 0 {
			elsewhere[s.kind] = elsewhere[s.kind] || s.plays || s.kind == formats.Subtitle
		}
	}
	for _, codec := range codecs(v.codecs) {
		kind := codecKind(codec)
		if elsewhere[kind] && (kind != formats.Audio || m.hasVideo()) {
			for _, s := range m.streams[1:] {
				if s.kind == kind && s.tracks[0].Codec == "" {
					s.tracks[0].Codec = codec
				}
			}
			continue
		}
		t := formats.Track{ID: string(kind), Kind: kind, Codec: codec, Default: true}
		if kind == formats.Video {
			t.Width, t.Height = v.width, v.height
			if rate, ok := parseSeconds(v.frameRate); ok && rate > 0 {
				t.FrameRate = segments.Time(rate)
			}
		}
		m.main.tracks = append(m.main.tracks, t)
	}
	if len(m.main.tracks) == 0 {
		t := formats.Track{ID: mainID, Kind: formats.Other, Default: true}
		if t.Width, t.Height = v.width, v.height; t.Width > 0 {
			t.ID, t.Kind = string(formats.Video), formats.Video
		}
		m.main.tracks = []formats.Track{t}
	}
	for _, s := range m.streams[1:] {
		s.tracks[0].Default = s.plays
	}
}

// hasVideo reports whether the chosen variant names a codec of video.
func (m *Medium) hasVideo() bool {
	for _, codec := range codecs(m.variant.codecs) {
		if codecKind(codec) == formats.Video {
			return true
		}
	}
	return m.variant.height > 0
}

// unique gives tracks of the same name different IDs.
func (m *Medium) unique() {
	seen := map[string]int{}
	for _, s := range m.streams {
		for i := range s.tracks {
			id := s.tracks[i].ID
			if seen[id]++; seen[id] > 1 {
				s.tracks[i].ID = id + "-" + strconv.Itoa(seen[id])
			}
		}
		if s != m.main {
			s.id = s.tracks[0].ID
		}
	}
}

// check finds out what keeps a stream's playlist from being used at all.
func (s *stream) check() error {
	if m := s.list.media; len(m.segments) > 0 || m.growing() && m.told {
		return nil
	}
	return &formats.Error{Container: Name, Offset: -1, Err: formats.ErrDamaged,
		Problem: "the playlist of " + s.id + " has no segments", Hint: "check that all of it came, and that its URI is the right one"}
}

// nameOf returns the resource that a URI in a playlist names, without user
// information: a plan must not hold that.
func nameOf(base *url.URL, uri string) (string, error) {
	if uri == "" || undefined(uri) {
		return "", damaged("", -1, "a URI is empty or names a variable that is not defined: "+strconv.Quote(shorten(uri)))
	}
	name, err := resolve(base, uri)
	if err != nil {
		return "", damaged("", -1, "not a valid URI: "+strconv.Quote(shorten(uri)))
	}
	if u, err := url.Parse(name); err == nil && u.User != nil {
		u.User = nil
		name = u.String()
	}
	name, _, _ = strings.Cut(name, "#")
	return name, nil
}

// media returns a stream's playlist as it is now.
func (m *Medium) media(s *stream) *media {
	m.mu.Lock()
	defer m.mu.Unlock()
	return s.list.media
}

// Info says what the playlists tell.
func (m *Medium) Info() formats.Info {
	list := m.media(m.main)
	i := formats.Info{Format: Name, MediaType: playlistType, Index: "playlist", Seekable: true, Chapters: list.chapters()}
	if !list.growing() {
		i.Duration, i.Timed = segments.Time(list.duration()), true
	}
	i.Tracks = m.allTracks()
	m.mu.Lock()
	i.Warnings = append(i.Warnings, m.main.list.warnings...)
	m.mu.Unlock()
	return i
}

// allTracks are those of all streams.
func (m *Medium) allTracks() []formats.Track {
	var out []formats.Track
	for _, s := range m.streams {
		out = append(out, s.tracks...)
	}
	if len(out) == 0 {
		return []formats.Track{{ID: mainID, Kind: formats.Other, Default: true}}
	}
	return out
}

// chapters are the date ranges whose place on the timeline is known. Tags of one
// ID are one range.
func (m *media) chapters() []formats.Chapter {
	var out []formats.Chapter
	index := map[string]int{}
	for _, r := range m.ranges {
		start, ok := m.timeOf(r.start)
		if r.start.IsZero() || !ok {
			start = -1
		}
		i, known := index[r.id]
		if !known {
			if start < 0 && r.end.IsZero() {
				continue
			}
			i = len(out)
			index[r.id] = i
			out = append(out, formats.Chapter{ID: r.id, Title: r.class, Interval: fragment.From(segments.Time(max(0, start)))})
		}
		if end, ok := m.timeOf(r.end); ok && !r.end.IsZero() && end > 0 {
			out[i].End, out[i].Open = segments.Time(end), false
		}
	}
	return out
}

// Date returns the wall-clock time at a time on the timeline, and TimeOf the
// other way round; ok is false where the playlist tells no dates.
func (m *Medium) Date(t fragment.Time) (date time.Time, ok bool) {
	return m.media(m.main).at(segments.Duration(t))
}

// TimeOf returns the time on the timeline of a wall-clock time. It may lie
// before the first segment or behind the last. Ok is false where the playlist
// tells no dates.
func (m *Medium) TimeOf(date time.Time) (t fragment.Time, ok bool) {
	d, ok := m.media(m.main).timeOf(date)
	return segments.Time(d), ok
}

// Published returns the end of what is published so far, in seconds on the
// timeline: the duration, where nothing will follow. Partial segments count.
func (m *Medium) Published() fragment.Time { return segments.Time(m.media(m.main).edge()) }
