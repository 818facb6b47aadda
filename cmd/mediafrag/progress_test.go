package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestProgress: a bar on a terminal, nothing of it elsewhere.
func TestProgress(t *testing.T) {
	server := newTestServer(t)
	uri := server.URL + "/movie.mp4#t=5,8"
	tests := []struct {
		name     string
		terminal bool
		args     []string
		want     bool
	}{
		{"terminal", true, nil, true},
		{"no terminal", false, nil, false},
		{"quiet", true, []string{"--quiet"}, false},
		{"verbose", true, []string{"--verbose"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			args := append([]string{"get", uri, "-o", filepath.Join(t.TempDir(), "x.mp4")}, test.args...)
			r := commandWith(t, &app{terminal: test.terminal}, args...)
			if r.status != exitDone {
				t.Fatalf("exit status %d: %s", r.status, r.stderr)
			}
			if got := strings.ContainsAny(r.stderr, "\r%"); got != test.want {
				t.Errorf("a bar was drawn: %v, want %v: %q", got, test.want, r.stderr)
			}
		})
	}
}

// TestProgressOfUnknownSize: bytes alone.
func TestProgressOfUnknownSize(t *testing.T) {
	var stderr bytes.Buffer
	a := &app{terminal: true, stderr: &stderr}
	bytes, done := a.bar(-1, false)
	for range 2 {
		bytes(100_000)
		time.Sleep(barInterval)
	}
	bytes(100_000)
	done()
	if out := stderr.String(); !strings.Contains(out, "kB") || strings.Contains(out, "%") {
		t.Errorf("it drew %q, want bytes and no percentage", out)
	}
}
