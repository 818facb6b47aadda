package client_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/formats/formatstest"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/samples"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

// TestConformance runs the suite of containers over every built-in sample:
// each is recognised by what is built in, plans the same every time and
// delivers the same bytes however it is read.
func TestConformance(t *testing.T) {
	for _, s := range samples.All() {
		t.Run(s.Name, func(t *testing.T) {
			source := seektest.New(s.Data)
			source.Info.Name, source.Info.MediaType = "mem:"+s.Name, s.MediaType
			format, err := formats.Detect(s.Data[:min(len(s.Data), 64<<10)], source.Info, client.DefaultFormats())
			if err != nil {
				t.Fatal(err)
			}
			formatstest.Run(t, formatstest.Case{Format: format, Source: source, Selections: selections(20)})
		})
	}
}

// selections are intervals of a medium of so many seconds: the whole, the first
// and the last second, some between, on each timeline.
func selections(seconds int64) []formats.Selection {
	whole := formats.Selection{Interval: fragment.From(fragment.Time{})}
	original := formats.Selection{Interval: part(5, 8, 1), Timeline: formats.Original}
	return []formats.Selection{
		whole, original,
		{Interval: part(0, 1, 1)},
		{Interval: part(seconds-1, seconds, 1)},
		{Interval: part(5513, 7207, 1000)},
		{Interval: fragment.From(fragment.Seconds(seconds / 2))},
	}
}

func part(a, b, timescale int64) fragment.Interval {
	return fragment.Between(fragment.Ticks(a, timescale), fragment.Ticks(b, timescale))
}

// TestConformanceHLS does the same for a presentation of several resources.
func TestConformanceHLS(t *testing.T) {
	dir := filepath.Join("..", "testdata", "hls", "shaka-raw-aac")
	opener := seek.OpenerFunc(func(_ context.Context, name string) (seek.Source, error) {
		u, err := url.Parse(name)
		if err != nil {
			return nil, err
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.Base(u.Path)))
		if err != nil {
			return nil, err
		}
		source := seektest.New(data)
		source.Info.Name = name
		return source, nil
	})
	playlist, err := opener.OpenSource(t.Context(), "https://host/stream.m4a.m3u8")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "stream.m4a.m3u8"))
	if err != nil {
		t.Fatal(err)
	}
	format, err := formats.Detect(data, seek.Info{Name: "https://host/stream.m4a.m3u8"}, client.DefaultFormats())
	if err != nil {
		t.Fatal(err)
	}
	formatstest.Run(t, formatstest.Case{Format: format, Source: playlist, Opener: opener, Selections: selections(20)[4:]})
}
