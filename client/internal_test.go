package client

import (
	"crypto/tls"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/seek"
)

func TestParseContentRange(t *testing.T) {
	tests := []struct {
		field string
		want  contentRange
		ok    bool
	}{
		{"bytes 0-9/10", contentRange{0, 9, 10}, true},
		{"bytes 5-5/*", contentRange{5, 5, -1}, true},
		{" Bytes 5-9/100 ", contentRange{5, 9, 100}, true},
		{"bytes */10", contentRange{-1, -1, 10}, true},
		{"bytes */*", contentRange{-1, -1, -1}, true},
		{"bytes 0-9223372036854775805/9223372036854775806", contentRange{0, math.MaxInt64 - 2, math.MaxInt64 - 1}, true},
		{"", contentRange{}, false},
		{"bytes", contentRange{}, false},
		{"bytes 0-9", contentRange{}, false},
		{"bytes=0-9/10", contentRange{}, false},
		{"items 0-9/10", contentRange{}, false},
		{"bytes 0-10/10", contentRange{}, false},
		{"bytes 9-8/10", contentRange{}, false},
		{"bytes -9/10", contentRange{}, false},
		{"bytes 0-/10", contentRange{}, false},
		{"bytes +0-9/10", contentRange{}, false},
		{"bytes 0-9/-1", contentRange{}, false},
		{"bytes 0-9223372036854775807/*", contentRange{}, false},
		{"bytes 0-9/9223372036854775808", contentRange{}, false},
		{"bytes 0-9/10, bytes 20-29/30", contentRange{}, false},
	}
	for _, tt := range tests {
		got, err := parseContentRange(tt.field)
		if (err == nil) != tt.ok || tt.ok && got != tt.want {
			t.Errorf("%q: %+v, %v", tt.field, got, err)
		}
	}
}

func FuzzContentRange(f *testing.F) {
	for _, seed := range []string{"bytes 0-9/10", "bytes 5-5/*", "bytes */10", "bytes 0-9223372036854775806/9223372036854775807"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, field string) {
		c, err := parseContentRange(field)
		if err != nil {
			return
		}
		if c.first >= 0 && (c.last < c.first || c.last == math.MaxInt64) || c.total >= 0 && c.last >= c.total || c.first < -1 || c.total < -1 {
			t.Errorf("%q: %+v", field, c)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		field string
		want  time.Duration
		ok    bool
	}{
		{"0", 0, true},
		{" 7 ", 7 * time.Second, true},
		{"99999999999", 1 << 30 * time.Second, true},
		{"99999999999999999999999999", 1 << 30 * time.Second, true},
		{"Fri, 02 Jan 2026 03:04:15 GMT", 10 * time.Second, true},
		{"Fri, 02 Jan 2026 03:04:00 GMT", 0, true},
		{"", 0, false},
		{"-1", 0, false},
		{"soon", 0, false},
	}
	for _, tt := range tests {
		if got, ok := retryAfter(tt.field, now); got != tt.want || ok != tt.ok {
			t.Errorf("%q: %v, %v", tt.field, got, ok)
		}
	}
}

func TestPace(t *testing.T) {
	p := pace{first: 100 * time.Millisecond, most: time.Second, retryAfter: 10 * time.Second}
	answer := func(after string) *http.Response { return &http.Response{Header: http.Header{"Retry-After": {after}}} }
	tests := []struct {
		n           int
		resp        *http.Response
		least, most time.Duration
	}{
		{0, nil, 50 * time.Millisecond, 100 * time.Millisecond},
		{2, nil, 200 * time.Millisecond, 400 * time.Millisecond},
		{10, nil, 500 * time.Millisecond, time.Second},
		{1000, nil, 500 * time.Millisecond, time.Second},
		{0, &http.Response{}, 50 * time.Millisecond, 100 * time.Millisecond},
		{0, answer("2"), 2 * time.Second, 2200 * time.Millisecond},
		{0, answer("0"), 0, 1},
		{0, answer("3600"), 10 * time.Second, 11 * time.Second},
		{0, answer("99999999999999999999"), 10 * time.Second, 11 * time.Second},
		{0, answer("Fri, 31 Dec 2999 23:59:59 GMT"), 10 * time.Second, 11 * time.Second},
	}
	for _, tt := range tests {
		seen := map[time.Duration]bool{}
		for range 50 {
			got := p.wait(tt.n, tt.resp)
			if got < tt.least || got > tt.most {
				t.Errorf("attempt %d: waits %v, want %v to %v", tt.n, got, tt.least, tt.most)
			}
			seen[got] = true
		}
		if len(seen) < 2 && tt.most > 1 {
			t.Errorf("attempt %d: waits %v always, without jitter", tt.n, seen)
		}
	}
}

func TestSameHost(t *testing.T) {
	tests := []struct {
		from, to string
		want     bool
	}{
		{"http://h/a", "http://H:80/b", true},
		{"https://h/a", "https://h:443/b", true},
		{"http://h/", "https://h/", true},
		{"http://h:80/", "https://h:443/", true},
		{"http://h:8080/", "https://h:8080/", false},
		{"http://h:8080/", "https://h/", false},
		{"https://h/", "http://h/", false},
		{"https://h/", "http://h:443/", false},
		{"http://h/", "http://h:81/", false},
		{"http://h/", "http://sub.h/", false},
		{"http://sub.h/", "http://h/", false},
		{"http://h/", "http://h./", false},
	}
	for _, tt := range tests {
		from, _ := url.Parse(tt.from)
		to, _ := url.Parse(tt.to)
		if got := sameHost(from, to); got != tt.want {
			t.Errorf("from %s to %s: %v", tt.from, tt.to, got)
		}
	}
}

func TestHandshakeTrips(t *testing.T) {
	for _, tt := range []struct {
		state tls.ConnectionState
		want  int
	}{
		{tls.ConnectionState{Version: tls.VersionTLS13}, 1},
		{tls.ConnectionState{Version: tls.VersionTLS12}, 2},
		{tls.ConnectionState{Version: tls.VersionTLS12, DidResume: true}, 1},
	} {
		if got := handshakeTrips(tt.state); got != tt.want {
			t.Errorf("%x: %d", tt.state.Version, got)
		}
	}
}

// What is remembered of hosts is bounded.
func TestManyHosts(t *testing.T) {
	w := newWeb(http.Client{}, time.Second, defaultPace, nil, false, network{})
	for i := range 3 * maxHosts {
		host := strings.Repeat("h", i)
		w.refuseSuffix(host)
		if !w.suffixRefused(host) || len(w.noSuffix) > maxHosts {
			t.Fatalf("host %d: %d are remembered", i, len(w.noSuffix))
		}
	}
}

// A server of a Client of its own keeps a connection for each range at a time.
func TestTransport(t *testing.T) {
	for _, tt := range []struct{ parallel, least int }{{0, 4}, {2, 4}, {16, 16}} {
		tr := newTransport(tt.parallel, network{})
		if tr.MaxIdleConnsPerHost < tt.least || !tr.ForceAttemptHTTP2 {
			t.Errorf("parallel %d: %d idle connections for each host", tt.parallel, tr.MaxIdleConnsPerHost)
		}
	}
}

// TestManySources: what a Resource remembers of the names that it is given is
// bounded.
func TestManySources(t *testing.T) {
	c := &Client{}
	source, err := c.openSource(t.Context(), "http://127.0.0.1/live.m3u8", nil, false)
	if err != nil {
		t.Fatal(err)
	}
	w := seek.NewWindow(t.Context(), source, 0)
	defer w.Close()
	s := &sources{client: c, origin: "http://127.0.0.1/live.m3u8", source: source, window: w, open: map[string]seek.Source{}}
	for i := range maxSources + 10 {
		if _, err := s.OpenSource(t.Context(), "http://127.0.0.1/live.m3u8?_HLS_msn="+strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.open); n == 0 || n > maxSources {
		t.Errorf("%d sources are remembered, want %d at most", n, maxSources)
	}
}
