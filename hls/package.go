package hls

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/audioframe"
	"github.com/mediafrag/mediafrag/internal/segments"
	"github.com/mediafrag/mediafrag/seek"
)

// indexName is the name of a package's playlist.
const indexName = "index.m3u8"

// Package returns a selection as a playlist and its segments, playable where
// they are put: decrypted, each in a file of its own. Of a master playlist it
// has the chosen variant and what plays along with it.
func (m *Medium) Package(ctx context.Context, s formats.Selection) ([]formats.File, error) {
	cuts, _, err := m.cuts(ctx, s)
	if err != nil {
		return nil, err
	}
	starts := make([]time.Duration, len(cuts))
	missing := make([]error, len(cuts))
	g, gctx := errgroup.WithContext(ctx)
	for i, c := range cuts {
		g.Go(func() (err error) {
			starts[i], err = c.correct(gctx)
			if c.s.dispensable(s) {
				missing[i], err = err, nil
			}
			return err
		})
	}
	if err := cmp.Or(g.Wait(), context.Cause(ctx)); err != nil {
		return nil, err
	}
	var files, media []formats.File
	var names []string
	var kept []*cut
	var tracks []formats.Track
	folders := fileNames{behind: "/"}
	for i, c := range cuts {
		if missing[i] != nil {
			cuts[0].warn("%s is left out: %v", c.s.id, missing[i])
			continue
		}
		kept, tracks = append(kept, c), append(tracks, c.s.tracks...)
		folder := ""
		if m.master != nil {
			folder = folders.of(c.s.id)
		}
		p := &packer{cut: c, folder: folder, sections: map[*initSection]string{}}
		text, err := c.write(starts[i], p.places())
		if err != nil {
			return nil, err
		}
		index := c.file(folder+indexName, text)
		files = append(files, index)
		names = append(names, folder+indexName)
		media = append(media, p.files...)
	}
	if m.master != nil {
		w := m.oneVariant(kept, names)
		w.plain = true
		main := formats.File{Name: indexName, Plan: textPlan(w.String(), files[0].Plan)}
		main.Plan.Tracks, main.Plan.Warnings = tracks, cuts[0].warnings
		files = append([]formats.File{main}, files...)
	}
	return append(files, media...), nil
}

// correct reads the first and the last segments and moves the selection to where
// their timestamps say that the interval lies. It returns how far into the first
// segment that begins.
func (c *cut) correct(ctx context.Context) (time.Duration, error) {
	if err := c.skipGaps(); err != nil {
		return 0, err
	}
	if err := c.readEnds(ctx); err != nil {
		return 0, err
	}
	a := segments.Duration(c.interval.Start)
	var l *locator
	widen := func(context.Context) error { return nil }
	switch container := containerOf(c.pieces[c.first].data); container {
	case "":
		return 0, notWhatItShould("segment of HLS", c.pieces[c.first].data)
	case transportStream:
		t := newTSCut(c)
		l, widen = t.locator, t.widen
	case packedAudio:
		l = newPackedCut(c).locator
	case fragmentedMP4:
		if c.oneClock(c.list.segments[c.first].init) != nil || c.ownMoovs() {
			return a - c.list.segments[c.first].start, nil
		}
		t, err := c.openMP4(ctx, false)
		if err != nil {
			return 0, err
		}
		defer t.rendition.Close()
		l = t.locator
	default: // the playlist is believed
		return a - c.list.segments[c.first].start, nil
	}
	if err := l.locate(ctx); err != nil {
		return 0, err
	}
	if err := widen(ctx); err != nil {
		return 0, err
	}
	x, err := l.times(ctx, l.first)
	return a - x.start, err
}

// packer gives the files of a package their names.
type packer struct {
	*cut
	folder   string
	files    []formats.File
	sections map[*initSection]string
}

// places names each segment by its number in the package.
func (p *packer) places() places {
	return places{
		segment: func(i int) (string, seek.Range, error) {
			s := &p.list.segments[i]
			name := fmt.Sprintf("segment-%05d%s", i-p.first, p.extension(s.uri))
			if s.gap {
				return name, seek.Range{Length: seek.ToEnd}, nil
			}
			return name, seek.Range{Length: seek.ToEnd}, p.add(name, i)
		},
		section: func(s *initSection) (string, seek.Range, error) {
			name, known := p.sections[s]
			if !known {
				name = fmt.Sprintf("init-%d%s", len(p.sections), extension(s.uri, ".mp4"))
				p.sections[s] = name
				piece := p.plans[s]
				if piece == nil { // of no segment that is fetched
					return name, seek.Range{Length: seek.ToEnd}, nil
				}
				part := seek.Literal(piece.data, "initialization")
				p.files = append(p.files, formats.File{Name: p.folder + name, Plan: &formats.Plan{Parts: []seek.Part{part}, Size: part.Size}})
			}
			return name, seek.Range{Length: seek.ToEnd}, nil
		},
	}
}

// add adds a segment to the package.
func (p *packer) add(name string, i int) error {
	part, err := p.part(i, Rewriter{Container: containerOf(p.pieces[p.first].data)})
	if err != nil {
		return err
	}
	s := &p.list.segments[i]
	covered := fragment.Between(segments.Time(s.start), segments.Time(s.end()))
	plan := &formats.Plan{
		MediaType: mediaTypes[containerOf(p.pieces[p.first].data)], Requested: covered, Presented: covered, Covered: covered,
		Parts: []seek.Part{part}, Size: part.Size,
	}
	p.files = append(p.files, formats.File{Name: p.folder + name, Plan: plan})
	return nil
}

// extensions are those that players accept for segments of a container; the first
// is what they are called that have none of them.
var extensions = map[string][]string{
	transportStream: {".ts", ".m2ts", ".mts", ".mpegts", ".tsv", ".tsa"}, fragmentedMP4: {".m4s", ".mp4", ".m4v", ".m4a", ".cmfv", ".cmfa", ".cmft"},
	webMedia: {".webm"}, webVTT: {".vtt", ".webvtt"},
	audioframe.AAC: {".aac"}, audioframe.MPEGAudio: {".mp3"}, audioframe.AC3: {".ac3"}, audioframe.EAC3: {".eac3", ".ec3"},
}

// extension returns the extension that a segment is given: its own, if it is one
// of what it is.
func (p *packer) extension(uri string) string {
	kind := containerOf(p.pieces[p.first].data)
	if kind == packedAudio {
		if frames, ok := readPacked(p.pieces[p.first].data); ok {
			kind = frames.codec
		}
	}
	own, all := extension(uri, ""), extensions[kind]
	if len(all) == 0 {
		return cmp.Or(own, ".bin")
	}
	if slices.Contains(all, own) {
		return own
	}
	return all[0]
}

// extension returns the extension of a URI, if it is an ordinary one.
func extension(uri, otherwise string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return otherwise
	}
	ext := strings.ToLower(path.Ext(u.Path))
	if len(ext) < 2 || len(ext) > 6 || strings.Trim(ext[1:], "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return otherwise
	}
	return ext
}
