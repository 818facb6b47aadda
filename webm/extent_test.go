package webm_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
	"github.com/mediafrag/mediafrag/webm"
)

// openUnsized opens a resource whose length is not told.
func openUnsized(t *testing.T, src *seektest.Source) *opened {
	t.Helper()
	src.Unsized, src.NoSuffix = true, true
	o, err := open(t, src, formats.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// forever is data, and then the last of it again and again.
func forever(data []byte) io.ReaderAt {
	last := data[len(data)-1<<20:]
	return seektest.Sparse(seektest.Fill(func(p []byte, off int64) {
		for i := range p {
			p[i] = last[(off+int64(i))%int64(len(last))]
		}
	}), seektest.Piece{Data: data})
}

// Whatever is told of the length, the same clips come of a resource.
func TestUnknownLength(t *testing.T) {
	w := live(film{seconds: 60, bytes: 4000, index: "none", heads: "none"}).write()
	sized := mustOpen(t, w.data)
	want, err := sized.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		source  func() *seektest.Source
		endless bool
	}{
		{"ranges", func() *seektest.Source { return seektest.New(w.data) }, false},
		{"ranges for ever", func() *seektest.Source { return seektest.Virtual(1<<60, forever(w.data)) }, true},
		{"in order", func() *seektest.Source {
			src := seektest.New(w.data)
			src.Info.Sequential = true
			return src
		}, false},
		{"in order for ever", func() *seektest.Source {
			src := seektest.Virtual(1<<60, forever(w.data))
			src.Info.Sequential = true
			return src
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, s := range []formats.Selection{seconds(7.123, 12.5), seconds(0, 1), seconds(41.5, 44)} {
				o := openUnsized(t, tt.source())
				_, wanted := sized.Clip(t, s)
				if _, got := o.Clip(t, s); !bytes.Equal(got, wanted) {
					t.Errorf("%v: %d bytes, not the %d of a resource whose length is told", s.Interval, len(got), len(wanted))
				}
				behind := w.clusters[min(int(s.Interval.End.Seconds()/2)+1, len(w.clusters)-1)]
				if n, most := o.Source.Delivered(), behind+1<<20; o.Window.Info().Sequential && n > most {
					t.Errorf("%v: %d bytes read, want no more than %d", s.Interval, n, most)
				}
			}
			open := formats.Selection{Interval: fragment.From(fragment.FromSeconds(50.5))}
			o := openUnsized(t, tt.source())
			i, err := o.Inspect(t.Context())
			if err != nil || len(i.Tracks) != len(want.Tracks) {
				t.Fatalf("%+v, %v", i, err)
			}
			if tt.endless {
				var e *formats.Error
				if _, err := o.Plan(t.Context(), open); !errors.Is(err, seek.ErrLimit) || !errors.As(err, &e) || e.Hint == "" {
					t.Errorf("to the end: %v, want a limit and a hint", err)
				}
				if i.Timed {
					t.Errorf("a duration of %v s", i.Duration)
				}
				return
			}
			_, wanted := sized.Clip(t, open)
			if _, got := o.Clip(t, open); !bytes.Equal(got, wanted) {
				t.Errorf("to the end: %d bytes, want %d", len(got), len(wanted))
			}
			if _, err := openUnsized(t, tt.source()).Plan(t.Context(), seconds(100, 110)); !errors.Is(err, formats.ErrPastEnd) {
				t.Errorf("%v behind the end", err)
			}
			if i.Timed == o.Window.Info().Sequential || i.Timed && !i.Duration.Equal(want.Duration) {
				t.Errorf("a duration of %v s (known: %v), want %v", i.Duration, i.Timed, want.Duration)
			}
		})
	}
}

// TestIndexBehind: of a resource that can only be read in order, whose index and tags
// stand behind the Clusters, no more is read than up to the end of the interval.
func TestIndexBehind(t *testing.T) {
	w := film{seconds: 60, bytes: 4000, end: fill(0x1254C367, 100), tell: 0x1254C367}.write()
	for _, i := range []interval{{7.123, 12.5}, {0, 1}, {41.5, 44}, {50, -1}} {
		src := seektest.New(w.data)
		src.Info.Sequential = true
		o := openUnsized(t, src)
		if _, err := o.Inspect(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, clip := o.Clip(t, i.selection())
		end := i.b
		if i.b < 0 {
			end = 60
		}
		w.compare(t, readBack(t, clip), int64(i.a*1000), int64(end*1000))
		if n, most := o.Source.Delivered(), w.clusters[min(int(end/2)+1, len(w.clusters)-1)]+1<<20; n > most {
			t.Errorf("%v: %d bytes read, want no more than %d", i, n, most)
		}
	}
}

// TestUnreadTold: what stands behind the Clusters of a resource that can only be read
// in order, and is not read, is told of: in what is said of the medium, and of a clip
// that would have it.
func TestUnreadTold(t *testing.T) {
	const idChapters = 0x1043A770
	sizes := []int{70, 90, 200}
	ids := []uint32{idChapters, idTags, idAttachments}
	f := film{seconds: 60, bytes: 4000, end: func(*written) (b []byte) {
		for i, id := range ids {
			b = append(b, el(id, void(sizes[i]))...)
		}
		return b
	}, front: func(w *written) []byte {
		var entries []byte
		at := w.placed["end"]
		for i, id := range ids {
			entries = append(entries, seekTo(id, at)...)
			at += int64(len(el(id, void(sizes[i]))))
		}
		return el(0x114D9B74, entries)
	}}
	w := f.write()
	places := map[string]string{}
	for name, id := range map[string][]byte{"Cues": {0x1C, 0x53, 0xBB, 0x6B}, "Chapters": {0x10, 0x43, 0xA7, 0x70}, "Tags": {0x12, 0x54, 0xC3, 0x67}, "Attachments": {0x19, 0x41, 0xA4, 0x69}} {
		places[name] = fmt.Sprintf("%s at byte %d", name, bytes.LastIndex(w.data, id))
	}
	check := func(of string, warnings []fragment.Warning, names ...string) {
		t.Helper()
		all := fmt.Sprint(warnings)
		for name, place := range places {
			if strings.Contains(all, place) != slices.Contains(names, name) {
				t.Errorf("%s: warnings %s, want only of %v", of, all, names)
			}
		}
	}
	src := seektest.New(w.data)
	src.Info.Sequential = true
	o := openUnsized(t, src)
	i, err := o.Inspect(t.Context())
	if err != nil || i.Index != webm.CuesEnd {
		t.Errorf("index %s, want %s; %v", i.Index, webm.CuesEnd, err)
	}
	check("info", i.Warnings, "Cues", "Chapters", "Tags", "Attachments")
	sel := seconds(7.123, 12.5)
	plan, _ := o.Clip(t, sel)
	check("a clip", plan.Warnings, "Chapters", "Tags")
	sel.Attachments = true
	plan, _ = o.Clip(t, sel)
	check("a clip with attachments", plan.Warnings, "Chapters", "Tags", "Attachments")
	if len(plan.Warnings) != 1 {
		t.Errorf("warnings %v, want one", plan.Warnings)
	}
	sel = seconds(7.123, 12.5)
	sel.Form = formats.Verbatim
	plan, _ = o.Clip(t, sel)
	check("a verbatim clip", plan.Warnings)

	o = mustOpen(t, w.data) // by ranges
	plan, _ = o.Clip(t, seconds(7.123, 12.5))
	check("by ranges", slices.Concat(o.Info().Warnings, plan.Warnings))
}
