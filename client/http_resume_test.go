package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/internal/faultserver"
	"github.com/mediafrag/mediafrag/seek"
)

// A body that breaks off goes on from the byte where it broke.
func TestResume(t *testing.T) {
	content := medium(400_000)
	breaks := faultserver.Fault{Break: true, After: 100_000}
	tests := []struct {
		name  string
		r     seek.Request
		want  []byte
		asked []string
	}{
		{"closed", span(1000, 250_000), content[1000:251_000], []string{"bytes=1000-250999", "bytes=101000-250999", "bytes=201000-250999"}},
		{"to the end", span(150_000, seek.ToEnd), content[150_000:], []string{"bytes=150000-", "bytes=250000-399999", "bytes=350000-399999"}},
		{"suffix", suffix(250_000), content[150_000:], []string{"bytes=-250000", "bytes=250000-399999", "bytes=350000-399999"}},
		{"whole", span(0, seek.ToEnd), content, []string{"", "bytes=100000-399999", "bytes=200000-399999", "bytes=300000-399999"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := serve(t, tagged(content, "1"))
			server.Fault(func(n int, _ *http.Request) faultserver.Fault {
				if n == len(tt.asked)-1 {
					return faultserver.Fault{}
				}
				return breaks
			})
			wantBytes(t, newSource(t, server.URL+"/m.fake"), tt.r, tt.want)
			wantRequests(t, server, tt.asked...)
			for i, r := range server.Log()[1:] {
				if r.Header.Get("If-Range") != `"1"` {
					t.Errorf("request %d goes on without If-Range", i+1)
				}
			}
		})
	}
}

// A whole resource of unknown length that breaks off goes on, too.
func TestResumeUnknownLength(t *testing.T) {
	content := medium(200_000)
	server := serve(t, tagged(content, "1"))
	server.Fault(once(0, faultserver.Fault{Chunked: true, Break: true, After: 70_000}))
	wantBytes(t, newSource(t, server.URL+"/m.fake"), span(0, seek.ToEnd), content)
	wantRequests(t, server, "", "bytes=70000-")
}

// A server without ranges is asked again for all where what was read before is
// little; else the body ends with the error.
func TestResumeWithoutRanges(t *testing.T) {
	content := medium(3 << 20)
	server := serve(t, tagged(content, "1"))
	server.Fault(func(n int, _ *http.Request) faultserver.Fault {
		return faultserver.Fault{IgnoreRange: true, Break: n == 0, After: 200_000}
	})
	wantBytes(t, newSource(t, server.URL+"/m.fake"), span(0, seek.ToEnd), content)
	wantRequests(t, server, "", "bytes=200000-3145727")

	server.Reset()
	server.Fault(func(n int, _ *http.Request) faultserver.Fault {
		return faultserver.Fault{IgnoreRange: true, Break: n == 0, After: 2 << 20}
	})
	wantError(t, newSource(t, server.URL+"/m.fake"), span(0, seek.ToEnd), seek.ErrNoRanges, content)
}

// A 206 that brings less than was asked for is continued.
func TestShortAnswers(t *testing.T) {
	content := medium(400_000)
	server := serve(t, tagged(content, "1"))
	server.Fault(always(faultserver.Fault{AtMost: 100_000}))
	wantBytes(t, newSource(t, server.URL+"/m.fake"), span(50_000, 250_000), content[50_000:300_000])
	wantRequests(t, server, "bytes=50000-299999", "bytes=150000-299999", "bytes=250000-299999")
	if n := server.Stats().Connections; n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	server.Reset()
	wantBytes(t, newSource(t, server.URL+"/m.fake"), suffix(65_536), content[400_000-65_536:])
	wantRequests(t, server, "bytes=-65536")
}

// Answers that bring next to nothing, for ever, are given up.
func TestProgressIsBounded(t *testing.T) {
	content := medium(400_000)
	for name, f := range map[string]faultserver.Fault{
		"short":  {AtMost: 1},
		"breaks": {Break: true, After: 1},
		"none":   {Break: true, After: 0},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, tagged(content, "1"))
			server.Fault(always(f))
			wantError(t, newSource(t, server.URL+"/m.fake"), span(0, 300_000), seek.ErrUnavailable, content)
			if n := server.Stats().Requests; n != client.BreaksFree+1 {
				t.Errorf("%d requests, want %d", n, client.BreaksFree+1)
			}
		})
	}
	// And those that bring a little are not: one more for every 64 KiB.
	server := serve(t, tagged(content, "1"))
	server.Fault(always(faultserver.Fault{Break: true, After: 30_000}))
	wantBytes(t, newSource(t, server.URL+"/m.fake"), span(0, 290_000), content[:290_000])
}

// A body that stalls is cut after the idle timeout and goes on elsewhere.
func TestStall(t *testing.T) {
	t.Parallel() // it waits
	content := medium(400_000)
	server := serve(t, tagged(content, "1"))
	server.Fault(once(0, faultserver.Fault{Stall: true, After: 100_000}))
	c := hurried(t, &client.Client{IdleTimeout: stalled})
	wantBytes(t, sourceOf(t, c, server.URL+"/m.fake"), span(0, 300_000), content[:300_000])
	wantRequests(t, server, "bytes=0-299999", "bytes=100000-299999")
}

// A reader that pauses for longer than the idle timeout does not stall: the
// body goes on where it was, without another request.
func TestPausedReader(t *testing.T) {
	t.Parallel()               // it waits
	content := medium(8 << 20) // more than the sockets between hold
	server := serve(t, tagged(content, "1"))
	passed := make(chan struct{})
	pass := sync.OnceFunc(func() { close(passed) })
	server.Fault(func(int, *http.Request) faultserver.Fault {
		time.AfterFunc(stalled*3/2, pass)
		return faultserver.Fault{}
	})
	c := hurried(t, &client.Client{IdleTimeout: stalled})
	body, err := sourceOf(t, c, server.URL+"/m.fake").Open(context.Background(), span(0, 8<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	got := make([]byte, 8<<20)
	if _, err := io.ReadFull(body, got[:1000]); err != nil {
		t.Fatal(err)
	}
	<-passed
	if _, err := io.ReadFull(body, got[1000:]); err != nil {
		t.Fatal(err)
	}
	if string(got) != string(content) {
		t.Error("wrong bytes")
	}
	if n := server.Stats().Requests; n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// Whole clips come through any one fault of any of their requests.
func TestClipThroughFaults(t *testing.T) {
	t.Parallel()
	content := medium(300_000)
	want := string(content[60_004:250_004])
	for name, f := range map[string]faultserver.Fault{
		"break":        {Break: true, After: 1000},
		"stall":        {Stall: true, After: 1000},
		"short":        {AtMost: 20_000},
		"503":          {Status: 503},
		"429":          {Status: 429, Header: map[string]string{"Retry-After": "1000000"}},
		"dropped":      {Drop: true},
		"redirect":     {Redirect: "/m.fake?elsewhere"},
		"ignores":      {IgnoreRange: true},
		"without size": {Chunked: true},
	} {
		for n := range 3 {
			t.Run(fmt.Sprintf("%s of request %d", name, n), func(t *testing.T) {
				t.Parallel() // some wait
				server := serve(t, tagged(content, "1"))
				server.Fault(once(n, f))
				c := hurried(t, &client.Client{IdleTimeout: stalled})
				clip, err := c.Clip(context.Background(), server.URL+"/m.fake#t=60,250")
				if err != nil {
					t.Fatal(err)
				}
				defer clip.Close()
				got, err := io.ReadAll(clip)
				if err != nil || string(got) != "fake"+want {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			})
		}
	}
}
