package hls

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/mpegts"
)

// tsCodecs are the codecs of stream types, as far as those tell them.
var tsCodecs = map[byte]string{
	0x01: "mp1v", 0x02: "mp2v", 0x10: "mp4v", 0x1b: "avc1", 0x24: "hvc1", 0x03: "mp4a.6b", 0x04: "mp4a.6b", 0x0f: "mp4a.40.2", 0x11: "mp4a.40.2",
	0x81: "ac-3", 0x87: "ec-3",
}

// tracksOf are the tracks of a transport stream.
func tracksOf(s *mpegts.Segment) []formats.Track {
	kinds := map[mpegts.Kind]formats.Kind{mpegts.Video: formats.Video, mpegts.Audio: formats.Audio}
	var out []formats.Track
	for _, x := range s.Streams {
		if kind, ok := kinds[x.Kind]; ok && x.Packets > 0 {
			out = append(out, formats.Track{ID: string(kind), Kind: kind, Codec: tsCodecs[x.Type], Default: true})
		}
	}
	return out
}

// known reports whether the playlists say what is in a stream.
func (s *stream) known() bool {
	return len(s.tracks) > 0 && (len(s.tracks) > 1 || s.tracks[0].Codec != "")
}

// Inspect is Info with what the first segment tells where the playlists do not
// say what is in it.
func (m *Medium) Inspect(ctx context.Context) (formats.Info, error) {
	info := m.Info()
	list := m.media(m.main)
	if m.main.known() || len(list.segments) == 0 {
		return info, nil
	}
	c, err := m.newCut(m.main, fragment.From(fragment.Time{}))
	if err != nil {
		return info, err
	}
	c.last = c.first
	if err := c.skipGaps(); err != nil {
		return info, nil // there is no first segment: the playlists are all there is
	}
	if err := c.readEnds(ctx); err != nil {
		return info, err
	}
	tracks, err := c.tracks(ctx)
	if err != nil || len(tracks) == 0 {
		return info, err
	}
	n := max(1, len(m.main.tracks))
	info.Tracks = append(enrich(info.Tracks[:n:n], tracks), info.Tracks[n:]...)
	return info, nil
}

// enrich adds to tracks what was found in the media. Their IDs stay.
func enrich(tracks, found []formats.Track) []formats.Track {
	out := slices.Clone(tracks)
	found = slices.Clone(found)
	slices.SortStableFunc(found, func(a, b formats.Track) int { return order(a) - order(b) })
	if len(out) == 1 && out[0].ID == mainID { // it stands for all that is multiplexed
		var all []string
		for _, x := range found {
			if out[0].Kind == formats.Other {
				out[0].Kind = x.Kind
			}
			out[0] = fill(out[0], x)
			all = append(all, x.Codec)
		}
		out[0].Codec = strings.Join(all, ",")
		return out
	}
	for i := range out {
		for k, x := range found {
			if x.Kind == out[i].Kind {
				out[i] = fill(out[i], x)
				found = slices.Delete(found, k, k+1)
				break
			}
		}
	}
	return out
}

// order puts pictures first.
func order(t formats.Track) int {
	if t.Kind == formats.Video {
		return 0
	}
	return 1
}

// fill sets what a track does not say by what another one does.
func fill(t, x formats.Track) formats.Track {
	t.Codec = cmp.Or(t.Codec, x.Codec)
	t.Language = cmp.Or(t.Language, x.Language)
	t.Width, t.Height = cmp.Or(t.Width, x.Width), cmp.Or(t.Height, x.Height)
	t.CodedWidth, t.CodedHeight = cmp.Or(t.CodedWidth, x.CodedWidth), cmp.Or(t.CodedHeight, x.CodedHeight)
	if t.FrameRate.Sign() == 0 {
		t.FrameRate = x.FrameRate
	}
	t.Channels, t.SampleRate = cmp.Or(t.Channels, x.Channels), cmp.Or(t.SampleRate, x.SampleRate)
	return t
}

// tracks are those in the first selected segment.
func (c *cut) tracks(ctx context.Context) ([]formats.Track, error) {
	switch containerOf(c.pieces[c.first].data) {
	case transportStream:
		p, err := newTSCut(c).scan(ctx, c.first)
		if err != nil {
			return nil, err
		}
		return tracksOf(p.ts), nil
	case fragmentedMP4:
		t, err := c.openMP4(ctx, false)
		if err != nil {
			return nil, err
		}
		defer t.rendition.Close()
		return t.rendition.Tracks(), nil
	case packedAudio:
		p, err := newPackedCut(c).frames(ctx, c.first)
		return []formats.Track{{ID: string(formats.Audio), Kind: formats.Audio, Codec: p.codec, SampleRate: p.rate, Default: true}}, err
	}
	return nil, nil
}
