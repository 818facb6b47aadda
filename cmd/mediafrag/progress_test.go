package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/seek"
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

// TestWaits: a long wait that a server has asked for is told of, unless --quiet.
func TestWaits(t *testing.T) {
	for _, test := range []struct {
		wait  time.Duration
		quiet bool
		want  string
	}{
		{30 * time.Second, false, "waiting for 30s: http://host/x answers 503 Service Unavailable\n"},
		{time.Second / 2, false, ""},
		{30 * time.Second, true, ""},
	} {
		var stderr bytes.Buffer
		a := &app{stderr: &stderr, quiet: test.quiet}
		seek.Observers(a.waits()).Observe(t.Context(), seek.Event{
			Kind: seek.Waiting, Name: "http://host/x", Wait: test.wait, Err: errors.New("503 Service Unavailable"),
		})
		if stderr.String() != test.want {
			t.Errorf("%v, quiet %v: %q, want %q", test.wait, test.quiet, stderr.String(), test.want)
		}
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
