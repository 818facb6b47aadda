package main

import (
	"strings"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/seek"
)

// TestMedian: of each number on its own, the lower of two in the middle.
func TestMedian(t *testing.T) {
	run := func(requests int, bytes int64, first time.Duration) cost {
		return cost{seek.Transfer{Requests: requests, Bytes: bytes, FirstMedia: first}, 7}
	}
	got := median([]cost{run(5, 10, 3), run(3, 30, 1), run(9, 20, 2), run(4, 40, 4)})
	if want := run(4, 20, 2); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestBenchTable(t *testing.T) {
	server := newTestServer(t)
	r := command(t, "bench", server.URL+"/movie.mp4#t=5,8&foo=bar", "--count", "2")
	if want := "warning: \"foo=bar\": not a media fragment dimension\n"; r.stderr != want {
		t.Errorf("standard error is %q, want %q", r.stderr, want)
	}
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if len(lines) != 4 || !strings.Contains(lines[0], "to first media byte") || !strings.HasPrefix(strings.TrimSpace(lines[3]), "median") {
		t.Errorf("%s", r.stdout)
	}
}
