package hls

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// Name is the container's name.
const Name = "hls"

// playlistType is the media type of playlists (RFC 8216 section 10).
const playlistType = "application/vnd.apple.mpegurl"

// Format is HTTP Live Streaming.
type Format struct{}

var _ formats.Manifest = Format{}

// Name returns "hls".
func (Format) Name() string { return Name }

// Named reports whether a name is that of a playlist: ".m3u8" or ".m3u".
func (Format) Named(name string) bool {
	if u, err := url.Parse(name); err == nil && u.Scheme != "" {
		name = u.Path
	}
	ext := strings.ToLower(path.Ext(name))
	return ext == ".m3u8" || ext == ".m3u"
}

// Detect reports whether the resource is a playlist.
func (f Format) Detect(head []byte, i seek.Info) bool {
	text := bytes.TrimPrefix(head, []byte("\ufeff"))
	for len(text) > 0 { // some writers put comments first
		var line []byte
		line, text, _ = bytes.Cut(text, []byte("\n"))
		line = bytes.TrimSpace(line)
		if bytes.HasPrefix(line, []byte(signature)) {
			return true
		}
		if len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return len(head) == 0 && f.Named(i.Name)
}

// Open reads the playlist, and where it is a master playlist those of the chosen
// variant and of what plays along with it or will be selected, all at once.
func (Format) Open(ctx context.Context, w *seek.Window, env formats.Env) (formats.Media, error) {
	text, err := w.ReadRange(ctx, seek.Range{Length: seek.ToEnd}, seek.Playlist, "playlist")
	if err != nil {
		return nil, err
	}
	p, err := parse(string(text), w.Info().Name, nil, env.Limits)
	if err != nil {
		return nil, err
	}
	m := newMedium(env, w.Info().Name)
	m.playlistBytes = int64(len(text))
	if p.master == nil {
		m.main = &stream{id: mainID, kind: formats.Other, names: []string{w.Info().Name}, list: p}
		m.streams = []*stream{m.main}
		return m, m.main.check()
	}
	if err := m.describe(p); err != nil {
		return nil, err
	}
	stop := m.steerAside(ctx)
	defer stop()
	g, gctx := errgroup.WithContext(ctx)
	for _, s := range m.needed(env.Tracks) {
		g.Go(func() error { return m.load(gctx, s) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return m, nil
}

// needed are the streams whose playlists are read while the medium is opened: the
// variant's own, whose segments are the timeline, and those of the tracks that will be
// selected, or that play by default where that is not known.
func (m *Medium) needed(tracks []string) []*stream {
	wanted, _, err := m.selected(formats.Selection{Tracks: tracks})
	if len(tracks) == 0 || err != nil { // whoever selects them meets the error
		return slices.DeleteFunc(slices.Clone(m.streams), func(s *stream) bool {
			return !s.plays || s.kind == formats.Subtitle // which most clips have no place for
		})
	}
	if !slices.Contains(wanted, m.main) {
		wanted = append(wanted, m.main)
	}
	return wanted
}

// load reads the media playlist of a stream, if it has not been read. Where its
// host fails the redundant ones are tried.
func (m *Medium) load(ctx context.Context, s *stream) error {
	m.mu.Lock()
	known := s.list != nil
	m.mu.Unlock()
	if known {
		return nil
	}
	p, err := m.fromPlaces(ctx, s, func(name string) (*playlist, error) { return m.fetchPlaylist(ctx, name, s.id, nil) })
	if err != nil {
		return err
	}
	m.mu.Lock()
	s.list = p
	m.mu.Unlock()
	return s.check()
}

// fromPlaces fetches the playlist of a stream from the first of its places that
// has it. The error is that of the one which was tried first.
func (m *Medium) fromPlaces(ctx context.Context, s *stream, fetch func(name string) (*playlist, error)) (*playlist, error) {
	var first error
	tried := map[string]bool{}
	for {
		var next string
		for _, name := range m.order(s) { // which a failure may have changed
			if !tried[name] {
				next = name
				break
			}
		}
		if next == "" || first != nil && ctx.Err() != nil {
			return nil, first
		}
		tried[next] = true
		p, err := fetch(next)
		if err == nil {
			p.place = next
			return p, nil
		}
		if first == nil {
			first = err
			m.steerNow(ctx)
		}
	}
}

// fetchPlaylist reads a media playlist. Known is what it may be a delta update
// of; it may be nil.
func (m *Medium) fetchPlaylist(ctx context.Context, name, note string, known *media) (*playlist, error) {
	source, err := m.env.Opener.OpenSource(ctx, name)
	if err != nil {
		return nil, err
	}
	body, err := source.Open(ctx, seek.Request{Range: seek.Range{Length: seek.ToEnd}, Purpose: seek.Playlist, Note: "playlist of " + note})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxPlaylist+1))
	if err != nil {
		return nil, err
	}
	base := body.Info.Name
	if base == "" {
		base = name
	}
	p, err := parseUpdate(string(text), base, m.vars, m.env.Limits, known)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", note, err)
	}
	if p.master != nil {
		return nil, damaged("EXT-X-STREAM-INF", -1, "the master playlist names another master playlist where that of "+note+" should be")
	}
	m.mu.Lock()
	m.playlistBytes += int64(len(text))
	m.mu.Unlock()
	return p, nil
}
