package mp4_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/seek"
)

// ends is how much of a resource's two ends is read before a format opens it,
// as the client does.
const ends = 64 << 10

// opened is a medium opened over a counting source in memory.
type opened struct {
	formats.Media
	source *seektest.Source
	window *seek.Window
	totals *seek.Totals
}

// open opens a source as the client does: head and tail at once, then the index.
func open(t testing.TB, s *seektest.Source) (*opened, error) {
	t.Helper()
	o := &opened{source: s, totals: &seek.Totals{}}
	s.Observer = o.totals
	ctx := t.Context()
	o.window = seek.NewWindow(ctx, s, 0)
	t.Cleanup(func() { o.window.Close() })
	o.window.Prefetch(seek.Request{Range: seek.Suffix(ends), Purpose: seek.Tail})
	if _, err := o.window.ReadRange(ctx, seek.Range{Length: ends}, seek.Head, ""); err != nil {
		return nil, err
	}
	var err error
	o.Media, err = mp4.Format{}.Open(ctx, o.window, formats.Env{})
	return o, err
}

// mustOpen is open of a file that has to be readable.
func mustOpen(t testing.TB, path string) *opened {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	o, err := open(t, seektest.New(data))
	if err != nil {
		t.Fatalf("opening %s: %v", path, err)
	}
	return o
}

// OpenSource makes the medium the Opener of its own plans.
func (o *opened) OpenSource(context.Context, string) (seek.Source, error) { return o.window, nil }

// between returns the selection of [a, b) seconds; b < 0 is an open end.
func between(a, b float64) formats.Selection {
	i := fragment.From(fragment.FromSeconds(a))
	if b >= 0 {
		i = fragment.Between(fragment.FromSeconds(a), fragment.FromSeconds(b))
	}
	return formats.Selection{Interval: i}
}

// cut writes the clip of a selection to a file in a folder of the test's own.
func (o *opened) cut(t testing.TB, s formats.Selection) (*formats.Plan, string) {
	t.Helper()
	p, err := o.Plan(t.Context(), s)
	if err != nil {
		t.Fatalf("planning %v: %v", s.Interval, err)
	}
	path := filepath.Join(t.TempDir(), "clip.mp4")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r := seek.NewReader(t.Context(), p.Parts, o, 0)
	defer r.Close()
	n, err := r.Download(t.Context(), out)
	if err != nil || n != p.Size {
		t.Fatalf("reading the clip: %d of %d bytes, %v", n, p.Size, err)
	}
	return p, path
}

// name names an interval in a test.
func name(a, b float64) string {
	if b < 0 {
		return fmt.Sprintf("%g-", a)
	}
	return fmt.Sprintf("%g-%g", a, b)
}
