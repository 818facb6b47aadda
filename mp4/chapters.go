package mp4

import (
	"context"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// maxChapters bounds the chapters that are read of a track.
const maxChapters = 1000

// chapterTrack returns the track of texts that another names as its chapters
// (QuickTime File Format, chapter lists), nil where there is none.
func (m *movie) chapterTrack() *track {
	for _, t := range m.tracks {
		for _, id := range t.companions {
			if c := m.track(id); c != nil && c.kind == formats.Subtitle {
				return c
			}
		}
	}
	return nil
}

// textChapters reads the chapters of a chapter track: its samples are their
// titles.
func (f *file) textChapters(ctx context.Context) ([]chapterMark, error) {
	c := f.movie.chapterTrack()
	if c == nil || f.movie.fragmented {
		return nil, nil
	}
	v, err := f.view(ctx, fragment.From(fragment.Time{}), []*track{c})
	if err != nil {
		return nil, err
	}
	t := v.track(c.id)
	ranges, err := t.tables.rangesOf(min(t.tables.count, maxChapters), f.window.Info().Size)
	if err != nil {
		return nil, err
	}
	requests := make([]seek.Request, len(ranges))
	for i, r := range ranges {
		requests[i] = seek.Request{Range: r, Purpose: seek.Index, Note: "chapters"}
	}
	texts, err := f.window.Read(ctx, requests...)
	if err != nil {
		return nil, err
	}
	var out []chapterMark
	for i, text := range texts {
		if at, ok := v.presents(t, t.tables.compose(int64(i))); ok {
			out = append(out, chapterMark{at, sampleText(text)})
		}
	}
	slices.SortStableFunc(out, func(a, b chapterMark) int { return a.start.Cmp(b.start) })
	return out, nil
}

// rangesOf returns where the first n samples are in a file of a size.
func (s *sampleTables) rangesOf(n, size int64) ([]seek.Range, error) {
	chunks, err := s.chunksOf(0, n)
	if err != nil {
		return nil, err
	}
	var out []seek.Range
	for _, c := range chunks {
		at := c.offset
		for range c.samples {
			r := seek.Range{Offset: at, Length: min(s.size(int64(len(out))), maxText)}
			if size >= 0 && r.End() > size {
				return out, nil
			}
			out = append(out, r)
			at += s.size(int64(len(out) - 1))
		}
	}
	return out, nil
}

// maxText is the most bytes of a text sample that are read.
const maxText = 4096

// presents returns when the media at a composition time is presented first.
func (m *movie) presents(t *track, media int64) (fragment.Time, bool) {
	for _, s := range m.segments(t) {
		at := s.start.Add(fragment.Ticks(media-s.mediaTime, t.timescale))
		if media >= s.mediaTime && at.Less(s.end) {
			return at, true
		}
	}
	return fragment.Time{}, false
}

// sampleText returns the text of a sample: a length of 16 bits, then UTF-8, or
// UTF-16 with a byte order mark (3GPP TS 26.245 section 5.17).
func sampleText(sample []byte) string {
	if len(sample) < 2 {
		return ""
	}
	text := sample[2:]
	text = text[:min(len(text), int(be.Uint16(sample)))]
	if len(text) >= 2 && be.Uint16(text) == 0xfeff {
		var units []uint16
		for p := text[2:]; len(p) >= 2; p = p[2:] {
			units = append(units, be.Uint16(p))
		}
		return string(utf16.Decode(units))
	}
	return strings.ToValidUTF8(string(text), "�")
}
