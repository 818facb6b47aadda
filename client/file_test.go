package client_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// writeFile writes a file below dir and returns its path.
func writeFile(t *testing.T, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFileRanges(t *testing.T) {
	content := medium(1000)
	s := newSource(t, writeFile(t, t.TempDir(), "m.fake", content))
	for _, tt := range []struct {
		r    seek.Range
		want []byte
		at   int64
	}{
		{seek.Range{Offset: 0, Length: seek.ToEnd}, content, 0},
		{seek.Range{Offset: 10, Length: 20}, content[10:30], 10},
		{seek.Range{Offset: 990, Length: 20}, content[990:], 990},
		{seek.Range{Offset: 1000, Length: 20}, nil, 1000},
		{seek.Range{Offset: 5000, Length: seek.ToEnd}, nil, 5000},
		{seek.Range{Offset: 10, Length: 1<<63 - 1}, content[10:], 10},
		{seek.Suffix(30), content[970:], 970},
		{seek.Suffix(3000), content, 0},
	} {
		body := wantBytes(t, s, seek.Request{Range: tt.r}, tt.want)
		if body.Offset != tt.at || body.Size != 1000 || !strings.HasPrefix(body.Name, "file:///") {
			t.Errorf("%s: offset %d, info %+v", tt.r, body.Offset, body.Info)
		}
	}
}

func TestFileChanges(t *testing.T) {
	content := medium(1000)
	changes := map[string]func(t *testing.T, path string){
		"truncated": func(t *testing.T, path string) {
			info, err := os.Stat(path)
			check(t, err)
			check(t, os.Truncate(path, 500))
			check(t, os.Chtimes(path, time.Time{}, info.ModTime()))
		},
		"longer": func(t *testing.T, path string) { check(t, os.WriteFile(path, medium(1001), 0o600)) },
		"written to": func(t *testing.T, path string) {
			check(t, os.WriteFile(path, otherMedium(1000), 0o600))
			check(t, os.Chtimes(path, time.Time{}, longAgo))
		},
		"gone": func(t *testing.T, path string) { check(t, os.Remove(path)) },
		"replaced": func(t *testing.T, path string) {
			info, err := os.Stat(path)
			check(t, err)
			other := writeFile(t, filepath.Dir(path), "other", otherMedium(1000))
			check(t, os.Chtimes(other, time.Time{}, info.ModTime()))
			check(t, os.Rename(other, path))
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			want := seek.ErrChanged
			if name == "gone" {
				want = seek.ErrNotFound
			}
			path := writeFile(t, t.TempDir(), "m.fake", content)
			s := newSource(t, path)
			wantBytes(t, s, span(0, 10), content[:10])
			body, err := s.Open(context.Background(), span(10, 900))
			check(t, err)
			defer body.Close()
			_, err = io.CopyN(io.Discard, body, 100)
			check(t, err)
			change(t, path)
			if _, _, err := read(s, span(0, 10)); !errors.Is(err, want) {
				t.Errorf("the next range: %v, want %v", err, want)
			}
			if name == "gone" || name == "replaced" {
				return // the file that is open is the old one still
			}
			if n, err := body.Read(make([]byte, 900)); n != 0 || !errors.Is(err, want) {
				t.Errorf("the range that is open: %d bytes, %v, want %v", n, err, want)
			}
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestGrowingFile(t *testing.T) {
	content := medium(1000)
	path := writeFile(t, t.TempDir(), "m.fake", content[:500])
	s := sourceOf(t, hurried(t, &client.Client{Growing: true}), path)
	first := wantBytes(t, s, suffix(10), content[490:500])
	check(t, os.WriteFile(path, content, 0o600))
	if body := wantBytes(t, s, suffix(10), content[990:]); body.Size != 1000 || body.Validator != first.Validator {
		t.Errorf("size %d, version %s; want 1000 of %s", body.Size, body.Validator, first.Validator)
	}
	check(t, os.Truncate(path, 700))
	if _, _, err := read(s, suffix(10)); !errors.Is(err, seek.ErrChanged) {
		t.Errorf("a file that shrank: %v", err)
	}
}

func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	for uri, want := range map[string]error{
		dir:                                    seek.ErrNoRanges,
		os.DevNull:                             seek.ErrNoRanges,
		filepath.Join(dir, "x.mp4"):            seek.ErrNotFound,
		"file://" + dir + "/x.mp4":             seek.ErrNotFound,
		"file://elsewhere/x.mp4":               seek.ErrNotFound,
		"file:///%zz":                          seek.ErrNotFound,
		"ftp://host/x.mp4":                     formats.ErrUnsupported,
		"rtsp://me:secret@host/x.mp4?k=secret": formats.ErrUnsupported,
	} {
		_, err := hurried(t, &client.Client{}).Open(context.Background(), uri)
		if !errors.Is(err, want) || strings.Contains(err.Error(), "secret") || uri == dir && !strings.Contains(err.Error(), "directory") {
			t.Errorf("%s: %v, want %v", uri, err, want)
		}
	}
}

func TestCancelledFile(t *testing.T) {
	s := newSource(t, writeFile(t, t.TempDir(), "m.fake", medium(1000)))
	ctx, cancel := context.WithCancel(context.Background())
	body, err := s.Open(ctx, span(0, 10))
	check(t, err)
	defer body.Close()
	cancel()
	if _, err := body.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("reading: %v", err)
	}
	if _, err := s.Open(ctx, span(0, 10)); !errors.Is(err, context.Canceled) {
		t.Errorf("opening: %v", err)
	}
}

func TestSplit(t *testing.T) {
	dir := t.TempDir()
	odd := writeFile(t, dir, "a?b#t=1,2", nil)
	tests := []struct {
		uri, resource string
		timed         bool
	}{
		{"http://h/x.mp4?a=b#t=1,2", "http://h/x.mp4?a=b", true},
		{"http://h/x.mp4#a#t=1", "http://h/x.mp4", false},
		{"x.mp4#t=1,2", "x.mp4", true},
		{"dir/a?b.mp4#t=1", "dir/a?b.mp4", true},
		{odd, odd, false},
		{odd + "#t=1", filepath.Join(dir, "a?b"), false}, // cut at the first '#'
		{"file:///a%23b.mp4#t=1", "file:///a%23b.mp4", true},
		{"x.mp4", "x.mp4", false},
	}
	for _, tt := range tests {
		resource, f := client.Split(tt.uri)
		if resource != tt.resource || (f.Time != nil) != tt.timed {
			t.Errorf("Split(%q) = %q, %+v", tt.uri, resource, f.Time)
		}
	}
}

func TestRedact(t *testing.T) {
	for uri, want := range map[string]string{
		"https://me:pass@host:1/a/b?x=1&token&y=&z=2=3#t=1": "https://host:1/a/b?x=&y=&z=",
		"https://host":             "https://host",
		"https://me:p@ss@host?x=1": "https://host?x=",
		"http://%zz:secret@h/":     "http://h/",
		"store:bucket/key?sig=1":   "store:bucket/key?sig=",
		"/tmp/a?b=c#d":             "/tmp/a?b=c#d",
		"https://h/a@b?secret":     "https://h/a@b?",
	} {
		if got := client.Redact(uri); got != want {
			t.Errorf("Redact(%q) = %q, want %q", uri, got, want)
		}
	}
}
