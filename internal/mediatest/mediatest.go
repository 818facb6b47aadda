// Package mediatest opens media over counting sources in memory and cuts clips
// of them, for the tests of containers.
package mediatest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

// Ends is how much of a resource's two ends is read before a format opens it,
// as the client does.
const Ends = 64 << 10

// Medium is a medium over a counting source. It is the Opener of its own plans.
type Medium struct {
	formats.Media
	Source *seektest.Source
	Window *seek.Window
	Totals *seek.Totals
}

// Open opens a source as the client does: head and tail at once, then what the
// format asks for. It is closed with the test.
func Open(t testing.TB, f formats.Format, s *seektest.Source, env formats.Env) (*Medium, error) {
	t.Helper()
	m := &Medium{Source: s, Totals: &seek.Totals{}}
	s.Observer = m.Totals
	m.Window = seek.NewWindow(t.Context(), s, 0)
	t.Cleanup(func() { m.Window.Close() })
	m.Window.Prefetch(seek.Request{Range: seek.Suffix(Ends), Purpose: seek.Tail})
	if _, err := m.Window.ReadRange(t.Context(), seek.Range{Length: Ends}, seek.Head, ""); err != nil {
		return nil, err
	}
	var err error
	m.Media, err = f.Open(t.Context(), m.Window, env)
	return m, err
}

// MustOpen is Open of bytes that have to be readable.
func MustOpen(t testing.TB, f formats.Format, data []byte) *Medium {
	t.Helper()
	m, err := Open(t, f, seektest.New(data), formats.Env{})
	if err != nil {
		t.Fatalf("opening: %v", err)
	}
	return m
}

// ReadFile returns the bytes of a file that has to be there.
func ReadFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// OpenSource returns what the medium was read through.
func (m *Medium) OpenSource(context.Context, string) (seek.Source, error) { return m.Window, nil }

// Cut writes the clip of a selection to a file of the given extension, dot
// included, in a folder of the test's own.
func (m *Medium) Cut(t testing.TB, s formats.Selection, ext string) (*formats.Plan, string) {
	t.Helper()
	p, clip := m.Clip(t, s)
	path := filepath.Join(t.TempDir(), "clip"+ext)
	if err := os.WriteFile(path, clip, 0o666); err != nil {
		t.Fatal(err)
	}
	return p, path
}

// Clip plans a selection and reads it.
func (m *Medium) Clip(t testing.TB, s formats.Selection) (*formats.Plan, []byte) {
	t.Helper()
	p, err := m.Plan(t.Context(), s)
	if err != nil {
		t.Fatalf("planning %v: %v", s.Interval, err)
	}
	return p, m.Read(t, p)
}

// Read reads a plan's clip from its first byte to its last, and counts the
// round trips to its first media byte.
func (m *Medium) Read(t testing.TB, p *formats.Plan) []byte {
	t.Helper()
	r := seek.NewReader(t.Context(), p.Parts, m, 0)
	defer r.Close()
	var clip bytes.Buffer
	_, err := io.CopyN(&clip, r, p.MediaOffset()+1)
	m.Totals.FirstMediaByte()
	if err == nil {
		_, err = io.Copy(&clip, r)
	}
	if n := int64(clip.Len()); err != nil && err != io.EOF || p.Size >= 0 && n != p.Size {
		t.Fatalf("reading the clip: %d of %d bytes, %v", n, p.Size, err)
	}
	return clip.Bytes()
}

// Between returns the selection of [a, b) seconds; b < 0 is an open end.
func Between(a, b float64) formats.Selection {
	i := fragment.From(fragment.FromSeconds(a))
	if b >= 0 {
		i = fragment.Between(fragment.FromSeconds(a), fragment.FromSeconds(b))
	}
	return formats.Selection{Interval: i}
}

// IntervalName names an interval in a test.
func IntervalName(a, b float64) string {
	if b < 0 {
		return fmt.Sprintf("%g-", a)
	}
	return fmt.Sprintf("%g-%g", a, b)
}
