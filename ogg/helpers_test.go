package ogg_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/ogg"
	"github.com/mediafrag/mediafrag/seek"
)

var tempDir string

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run gives the tests one folder for the files that they make.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ogg-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	tempDir = dir
	return m.Run()
}

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
func open(t testing.TB, s *seektest.Source, env formats.Env) (*opened, error) {
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
	o.Media, err = ogg.Format{}.Open(ctx, o.window, env)
	return o, err
}

// mustOpen is open of a file that has to be readable.
func mustOpen(t testing.TB, path string) *opened {
	t.Helper()
	return mustOpenBytes(t, mustRead(t, path))
}

func mustOpenBytes(t testing.TB, data []byte) *opened {
	t.Helper()
	o, err := open(t, seektest.New(data), formats.Env{})
	if err != nil {
		t.Fatalf("opening: %v", err)
	}
	return o
}

func mustRead(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
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
	path := filepath.Join(t.TempDir(), "clip.ogg")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r := seek.NewReader(t.Context(), p.Parts, o, 0)
	defer r.Close()
	n, err := r.Download(t.Context(), out)
	if err != nil || p.Size >= 0 && n != p.Size {
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

var makeOnce sync.Map

// cached makes a file, once in a test run, and returns its path.
func cached(file string, do func(path string)) string {
	path := filepath.Join(tempDir, file)
	once, _ := makeOnce.LoadOrStore(path, sync.OnceFunc(func() { do(path) }))
	once.(func())()
	return path
}

// sound makes a WAV file with music-like sound of the given rate, channels and
// length in seconds.
func sound(t testing.TB, rate, channels, seconds int) string {
	t.Helper()
	return cached(fmt.Sprintf("music-%d-%d-%d.wav", rate, channels, seconds), func(path string) {
		tone := func(base int) string {
			return fmt.Sprintf("0.25*sin(2*PI*(%d+20*t)*t)+0.15*sin(2*PI*%d*t)*gt(mod(t\\,0.7)\\,0.35)+0.04*random(%d)", base, 3*base, base)
		}
		exprs := tone(220)
		for c := 1; c < channels; c++ {
			exprs += "|" + tone(220+110*c)
		}
		oracle.FFmpeg(t, "-f", "lavfi", "-i", fmt.Sprintf("aevalsrc=%s:s=%d:d=%d", exprs, rate, seconds), "-bitexact", path)
	})
}

// speech makes a WAV file of a synthetic voice.
func speech(t testing.TB, rate int) string {
	t.Helper()
	return cached(fmt.Sprintf("speech-%d.wav", rate), func(path string) {
		words := strings.Repeat("the interval begins at the named second and ends before the other. ", 8)
		oracle.FFmpeg(t, "-f", "lavfi", "-i", "flite=text='"+words+"'", "-ar", fmt.Sprint(rate), "-t", "14", "-bitexact", path)
	})
}
