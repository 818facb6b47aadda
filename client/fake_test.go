package client_test

import (
	"bytes"
	"context"
	"strings"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// fake is a container as simple as can be: the word "fake", then media at 1000
// bytes a second. A clip of it is the word and the bytes of the interval. A
// fake named ".list" is a playlist: the names of fakes, one a line, of which
// the first second each is the clip.
type fake struct{}

func (fake) Name() string { return "fake" }

func (fake) Detect(head []byte, _ seek.Info) bool { return bytes.HasPrefix(head, []byte("fake")) }

func (fake) Named(name string) bool { return strings.HasSuffix(name, ".list") }

func (fake) Open(ctx context.Context, w *seek.Window, env formats.Env) (formats.Media, error) {
	m := fakeMedia{w: w, info: w.Info()}
	name, _, _ := strings.Cut(m.info.Name, "?")
	if !strings.HasSuffix(name, ".list") {
		return m, nil
	}
	text, err := w.ReadRange(ctx, seek.Range{Length: seek.ToEnd}, seek.Playlist, "playlist")
	if err != nil {
		return nil, err
	}
	for _, name := range strings.Fields(string(text))[1:] {
		source, err := env.Opener.OpenSource(ctx, name)
		if err != nil {
			return nil, err
		}
		body, err := source.Open(ctx, seek.Request{Range: seek.Range{Length: 4}, Purpose: seek.Index})
		if err != nil {
			return nil, err
		}
		body.Close()
		m.parts = append(m.parts, seek.Bytes(&body.Info, seek.Range{Offset: 4, Length: 1000}, "media"))
	}
	return m, nil
}

type fakeMedia struct {
	w     *seek.Window
	info  seek.Info
	parts []seek.Part
}

func (m fakeMedia) Info() formats.Info { return formats.Info{Format: "fake"} }

func (m fakeMedia) Inspect(context.Context) (formats.Info, error) { return m.Info(), nil }

func (m fakeMedia) Plan(_ context.Context, s formats.Selection) (*formats.Plan, error) {
	parts := m.parts
	if parts == nil {
		info := m.w.Info()
		at := func(t fragment.Time) int64 { return min(info.Size, 4+t.Floor(1000)) }
		end := info.Size
		if !s.Interval.Open {
			end = at(s.Interval.End)
		}
		start := at(s.Interval.Start)
		parts = []seek.Part{seek.Literal([]byte("fake"), "header"), seek.Bytes(&info, seek.Range{Offset: start, Length: end - start}, "media")}
	}
	p := &formats.Plan{MediaType: "video/fake", Requested: s.Interval, Parts: parts}
	for _, part := range parts {
		p.Size += part.Size
	}
	return p, nil
}

// fragmentOf parses what stands behind a '#'.
func fragmentOf(text string) fragment.Fragment { return fragment.Parse(text) }
