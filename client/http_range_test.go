package client_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/internal/faultserver"
	"github.com/mediafrag/mediafrag/seek"
)

func TestRanges(t *testing.T) {
	content := medium(100_000)
	tests := []struct {
		name  string
		r     seek.Range
		want  []byte
		asked string
	}{
		{"closed", seek.Range{Offset: 100, Length: 900}, content[100:1000], "bytes=100-999"},
		{"first bytes", seek.Range{Offset: 0, Length: 64}, content[:64], "bytes=0-63"},
		{"to the end", seek.Range{Offset: 99_000, Length: seek.ToEnd}, content[99_000:], "bytes=99000-"},
		{"suffix", seek.Suffix(500), content[99_500:], "bytes=-500"},
		{"suffix of more than all", seek.Suffix(1 << 20), content, "bytes=-1048576"},
		{"beyond the end", seek.Range{Offset: 99_990, Length: 1000}, content[99_990:], "bytes=99990-100989"},
		{"at the end", seek.Range{Offset: 100_000, Length: 10}, nil, "bytes=100000-100009"},
		{"whole", seek.Range{Offset: 0, Length: seek.ToEnd}, content, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := serve(t, tagged(content, "1"))
			body := wantBytes(t, newSource(t, server.URL+"/m.fake?a=b"), seek.Request{Range: tt.r}, tt.want)
			if want := int64(len(content)); body.Size != want {
				t.Errorf("size %d, want %d", body.Size, want)
			}
			if len(tt.want) > 0 && (body.MediaType != "video/fake" || body.Validator != `"1"` || body.Name != server.URL+"/m.fake?a=b") {
				t.Errorf("info %+v", body.Info)
			}
			if want := int64(len(content) - len(tt.want)); tt.r.Offset < 0 && body.Offset != want {
				t.Errorf("the suffix begins at %d, want %d", body.Offset, want)
			}
			wantRequests(t, server, tt.asked)
			sent := server.Log()[0]
			if sent.Method != http.MethodGet || sent.Header.Get("Accept-Encoding") != "identity" || sent.Query != "a=b" {
				t.Errorf("sent %s with %q and query %q", sent.Method, sent.Header, sent.Query)
			}
		})
	}
}

func TestNothingIsAskedForNothing(t *testing.T) {
	server := serve(t, tagged(medium(1000), "1"))
	wantBytes(t, newSource(t, server.URL+"/m.fake"), span(10, 0), nil)
	wantRequests(t, server)
}

// A suffix of a resource whose size is known is an ordinary range, which every
// server has.
func TestSuffixOfKnownSize(t *testing.T) {
	content := medium(1000)
	server := serve(t, tagged(content, "1"))
	s := newSource(t, server.URL+"/m.fake")
	wantBytes(t, s, span(0, 10), content[:10])
	wantBytes(t, s, suffix(10), content[990:])
	wantRequests(t, server, "bytes=0-9", "bytes=990-999")
}

// Ranges that were read to their end, and those that were given up with little
// left, leave their connection to the next.
func TestConnectionsAreUsedAgain(t *testing.T) {
	content := medium(200_000)
	server := serve(t, tagged(content, "1"))
	s := newSource(t, server.URL+"/m.fake")
	for i := range int64(5) {
		wantBytes(t, s, span(i*1000, 1000), content[i*1000:i*1000+1000])
	}
	body, err := s.Open(context.Background(), span(0, 20_000))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, body, 100); err != nil {
		t.Fatal(err)
	}
	body.Close()
	wantBytes(t, s, span(7, 1), content[7:8])
	if n := server.Stats().Connections; n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// What fails for good at one host costs the others no connection.
func TestConnectionsOutliveFailuresElsewhere(t *testing.T) {
	good, bad := serve(t, tagged(medium(1000), "1")), serve(t, tagged(medium(1000), "1"))
	bad.Fault(always(faultserver.Fault{Status: http.StatusServiceUnavailable}))
	c := hurried(t, &client.Client{})
	for range 3 {
		wantBytes(t, sourceOf(t, c, good.URL+"/m.fake"), span(0, 4), []byte("fake"))
		wantError(t, sourceOf(t, c, bad.URL+"/m.fake"), span(0, 4), seek.ErrUnavailable, nil)
	}
	if n := good.Stats().Connections; n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// Ranges that are sent in chunks, whose end is seen only by reading on, leave
// their connection, too.
func TestConnectionsAreUsedAgainAfterChunks(t *testing.T) {
	content := medium(200_000)
	server := serve(t, tagged(content, "1"))
	server.Fault(always(faultserver.Fault{Chunked: true, Linger: 5 * time.Millisecond}))
	s := newSource(t, server.URL+"/m.fake")
	const ranges = 20
	for i := range int64(ranges) {
		body, err := s.Open(context.Background(), span(i*1000, 1000))
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 1000)
		if _, err := io.ReadFull(body, got); err != nil || !bytes.Equal(got, content[i*1000:i*1000+1000]) {
			t.Fatalf("range %d: %v", i, err)
		}
		body.Close()
	}
	// The end of a body is waited for a short time only: on a busy machine it may
	// come too late now and then.
	if n := server.Stats().Connections; n > ranges/4 {
		t.Errorf("%d connections for %d ranges, want 1", n, ranges)
	}
}

func TestParallelRangesOfOneSource(t *testing.T) {
	content := medium(400_000)
	server := serve(t, tagged(content, "1"))
	s := newSource(t, server.URL+"/m.fake")
	var wg sync.WaitGroup
	for i := range int64(8) {
		wg.Go(func() {
			got, _, err := read(s, span(i*50_000, 50_000))
			if err != nil || !bytes.Equal(got, content[i*50_000:(i+1)*50_000]) {
				t.Errorf("range %d: %d bytes, %v", i, len(got), err)
			}
		})
	}
	wg.Wait()
}

func TestEvents(t *testing.T) {
	content := medium(10_000)
	server := serve(t, tagged(content, "1"))
	server.Fault(func(n int, _ *http.Request) faultserver.Fault {
		switch n {
		case 0:
			return faultserver.Fault{Status: http.StatusServiceUnavailable}
		case 1:
			return faultserver.Fault{Redirect: "/m.fake?to=there"}
		case 2:
			return faultserver.Fault{Break: true, After: 600}
		}
		return faultserver.Fault{}
	})
	var mu sync.Mutex
	var kinds []seek.EventKind
	var last seek.Event
	var totals seek.Totals
	observer := seek.Observers(&totals, seek.ObserverFunc(func(_ context.Context, e seek.Event) {
		mu.Lock()
		defer mu.Unlock()
		kinds, last = append(kinds, e.Kind), e
	}))
	s := sourceOf(t, hurried(t, &client.Client{Observer: observer}), server.URL+"/m.fake?key=value")
	wantBytes(t, s, span(0, 1000), content[:1000])

	want := []seek.EventKind{
		seek.Started, seek.Connected, // 503
		seek.Retried, seek.Connected, // 302
		seek.Retried, seek.Connected, seek.Answered, // breaks off
		seek.Retried, seek.Connected, seek.Answered, seek.Ended,
	}
	if len(kinds) != len(want) {
		t.Fatalf("events %v, want %v", kinds, want)
	}
	for i := range want {
		if kinds[i] != want[i] {
			t.Fatalf("events %v, want %v", kinds, want)
		}
	}
	if last.Bytes != 1000 || last.Err != nil || last.Size != 10_000 || last.Request.Range != span(0, 1000).Range {
		t.Errorf("last event %+v", last)
	}
	if want := server.URL + "/m.fake?key="; last.Name != want {
		t.Errorf("name %q, want %q", last.Name, want)
	}
	got, seen := totals.Transfer(), server.Stats()
	if got.Requests != seen.Requests || got.Connections != seen.Connections || got.RoundTrips != seen.RoundTrips || got.Bytes != seen.Bytes {
		t.Errorf("totals %+v, the server saw %+v", got, seen)
	}
}
