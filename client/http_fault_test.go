package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/internal/faultserver"
	"github.com/mediafrag/mediafrag/seek"
)

// Answers that are no use for a range become errors that say what is wrong, and
// not one byte of them is delivered.
func TestUselessAnswers(t *testing.T) {
	const size = 3 << 20
	content := medium(size)
	middle := span(2<<20, 1000) // far enough in that skipping there is not cheap
	tests := []struct {
		name      string
		r         seek.Request
		fault     faultserver.Fault
		condition error
		says      string
	}{
		{"starts later", middle, faultserver.Fault{Give: &faultserver.Span{First: 2<<20 + 1, Last: 2<<20 + 999}}, seek.ErrNoRanges, "sends bytes 2097153-2098151"},
		{"starts at 0", middle, faultserver.Fault{Give: &faultserver.Span{First: 0, Last: 999}}, seek.ErrNoRanges, "sends bytes 0-999"},
		{"goes beyond", middle, faultserver.Fault{Give: &faultserver.Span{First: 2 << 20, Last: 2<<20 + 1000}}, seek.ErrNoRanges, "sends bytes"},
		{"no Content-Range", middle, faultserver.Fault{Header: map[string]string{"Content-Range": ""}}, seek.ErrNoRanges, "Content-Range"},
		{"Content-Range in other units", middle, faultserver.Fault{Header: map[string]string{"Content-Range": "seconds 1-2/3"}}, seek.ErrNoRanges, "Content-Range"},
		{"Content-Range backwards", middle, faultserver.Fault{Header: map[string]string{"Content-Range": "bytes 9-5/100"}}, seek.ErrNoRanges, "contradicts"},
		{"Content-Range beyond its total", middle, faultserver.Fault{Header: map[string]string{"Content-Range": "bytes 2097152-2098151/2098151"}}, seek.ErrNoRanges, "contradicts"},
		{"Content-Range without a range", middle, faultserver.Fault{Header: map[string]string{"Content-Range": "bytes */3145728"}}, seek.ErrNoRanges, "names no range"},
		{"Content-Range that overflows", middle, faultserver.Fault{Header: map[string]string{"Content-Range": "bytes 2097152-9223372036854775807/*"}}, seek.ErrNoRanges, "number"},
		{"longer than it says", middle, faultserver.Fault{Header: map[string]string{"Content-Range": "bytes 2097152-2097161/3145728"}}, seek.ErrNoRanges, "is 10 bytes and sends 1000"},
		{"multipart", middle, faultserver.Fault{Multipart: true}, seek.ErrNoRanges, "multipart/byteranges"},
		{"gzip of a range", middle, faultserver.Fault{Gzip: true}, seek.ErrUnavailable, `"gzip"`},
		{"gzip of the whole", span(0, seek.ToEnd), faultserver.Fault{Gzip: true}, seek.ErrUnavailable, `"gzip"`},
		{"whole instead of a far range", middle, faultserver.Fault{IgnoreRange: true}, seek.ErrNoRanges, "download all of it"},
		{"whole of unknown length instead of a far range", middle, faultserver.Fault{IgnoreRange: true, Chunked: true}, seek.ErrNoRanges, "download all of it"},
		{"whole instead of the last bytes", suffix(1000), faultserver.Fault{IgnoreRange: true}, seek.ErrNoRanges, "last bytes"},
		{"whole of unknown length instead of the last bytes", suffix(size + 1), faultserver.Fault{IgnoreRange: true, Chunked: true}, seek.ErrNoRanges, "last bytes"},
		{"first bytes instead of the last", suffix(1000), faultserver.Fault{Give: &faultserver.Span{First: 0, Last: 1000}}, seek.ErrNoRanges, "last bytes"},
		{"more than the last bytes", suffix(1000), faultserver.Fault{Give: &faultserver.Span{First: size - 2000, Last: size - 1}}, seek.ErrNoRanges, "last bytes"},
		{"more than the last bytes, without a total", suffix(1000), faultserver.Fault{
			Give:   &faultserver.Span{First: size - 2000, Last: size - 1},
			Header: map[string]string{"Content-Range": "bytes 3143728-3145727/*"},
		}, seek.ErrNoRanges, "last bytes"},
		{"416 within the resource", middle, faultserver.Fault{Status: 416, Header: map[string]string{"Content-Range": "bytes */3145728"}}, seek.ErrNoRanges, "416"},
		{"416 without a size", middle, faultserver.Fault{Status: 416}, seek.ErrNoRanges, "416"},
		{"416 to the last bytes", suffix(10), faultserver.Fault{Status: 416}, seek.ErrNoRanges, "416"},
		{"501 to the last bytes", suffix(10), faultserver.Fault{Status: 501}, seek.ErrNoRanges, "501"},
		{"501 to a range", middle, faultserver.Fault{Status: 501}, seek.ErrNoRanges, "501"},
		{"501 to the whole", span(0, seek.ToEnd), faultserver.Fault{Status: 501}, seek.ErrUnavailable, "501"},
		{"400 to the last bytes", suffix(10), faultserver.Fault{Status: 400}, seek.ErrNoRanges, "400"},
		{"401", middle, faultserver.Fault{Status: 401}, seek.ErrForbidden, "401"},
		{"403", middle, faultserver.Fault{Status: 403}, seek.ErrForbidden, "403"},
		{"403 to the last bytes", suffix(10), faultserver.Fault{Status: 403}, seek.ErrForbidden, "403"},
		{"404", middle, faultserver.Fault{Status: 404}, seek.ErrNotFound, "404"},
		{"410", middle, faultserver.Fault{Status: 410}, seek.ErrNotFound, "410"},
		{"418", middle, faultserver.Fault{Status: 418}, seek.ErrUnavailable, "418"},
		{"204", middle, faultserver.Fault{Status: 204}, seek.ErrUnavailable, "204"},
		{"304", middle, faultserver.Fault{Status: 304}, seek.ErrUnavailable, "304"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := serve(t, tagged(content, "1"))
			server.Fault(always(tt.fault))
			err := wantError(t, newSource(t, "http://me:secret1@"+server.URL[len("http://"):]+"/m.fake?key=secret2"), tt.r, tt.condition, nil)
			if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v does not say %q", err, tt.says)
			}
			if want := server.Log()[0].Status; err.Status != want {
				t.Errorf("status %d, want %d", err.Status, want)
			}
			if err.Range != tt.r.Range {
				t.Errorf("range %s, want %s", err.Range, tt.r.Range)
			}
			if strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "/m.fake?key=") {
				t.Errorf("%v tells secrets, or not the URL", err)
			}
			if n := server.Stats().Requests; n != 1 {
				t.Errorf("%d requests: what cannot get better is not tried again", n)
			}
		})
	}
}

// A server that ignores ranges is used where that is cheap.
func TestIgnoredRanges(t *testing.T) {
	big, small := medium(3<<20), medium(500_000)
	tests := []struct {
		name    string
		content []byte
		r       seek.Request
		chunked bool
	}{
		{"first bytes of a large resource", big, span(0, 65536), false},
		{"first bytes of a large resource of unknown length", big, span(0, 65536), true},
		{"as far in as is cheap", big, span(client.CheapSkip, 1000), false},
		{"anywhere in a small resource", small, span(499_000, 1000), false},
		{"to the end of a small resource", small, span(400_000, seek.ToEnd), false},
		{"beyond the end of a small resource", small, span(499_000, 5000), false},
		{"behind the end of a small resource", small, span(600_000, 1000), false},
		{"behind the end of a small resource, far", small, span(5<<20, 1000), false},
		{"last bytes that are all", small, suffix(500_000), false},
		{"the whole, of unknown length", small, span(0, seek.ToEnd), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := serve(t, tagged(tt.content, "1"))
			server.Fault(always(faultserver.Fault{IgnoreRange: true, Chunked: tt.chunked}))
			size := int64(len(tt.content))
			from, to := max(0, tt.r.Offset), size
			if tt.r.Offset >= 0 && tt.r.Length >= 0 {
				to = min(size, tt.r.End())
			}
			body := wantBytes(t, newSource(t, server.URL+"/m.fake"), tt.r, tt.content[min(from, size):max(to, min(from, size))])
			if tt.chunked {
				size = -1
			}
			if body.Size != size || body.Offset != from {
				t.Errorf("size %d, offset %d", body.Size, body.Offset)
			}
		})
	}
}

// A resource that the server gives no total of is read all the same.
func TestUnknownTotal(t *testing.T) {
	content := medium(10_000)
	unknown := func(n int, r *http.Request) faultserver.Fault {
		var first, last int
		if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last); n == 0 || first >= len(content) {
			return faultserver.Fault{Header: map[string]string{"Content-Range": ""}}
		}
		if first < 0 {
			first += len(content)
			last = len(content)
		}
		if last == 0 || last >= len(content) {
			last = len(content) - 1
		}
		return faultserver.Fault{Header: map[string]string{"Content-Range": fmt.Sprintf("bytes %d-%d/*", first, last)}, Chunked: true}
	}
	for _, r := range []seek.Request{span(100, 900), span(9000, 5000), span(9000, seek.ToEnd), suffix(500)} {
		server := serve(t, tagged(content, "1"))
		server.Fault(unknown)
		from, to := r.Offset, int64(len(content))
		if from < 0 {
			from += to
		} else if r.Length >= 0 {
			to = min(to, r.End())
		}
		body := wantBytes(t, newSource(t, server.URL+"/m.fake"), r, content[from:to])
		if body.Size != -1 || body.Offset != from {
			t.Errorf("%s: size %d, offset %d", r.Range, body.Size, body.Offset)
		}
	}
}

// 416 tells the size of an empty resource, and that one has shrunk.
func TestUnsatisfiable(t *testing.T) {
	server := serve(t, tagged(nil, "1"))
	s := newSource(t, server.URL+"/m.fake")
	if body := wantBytes(t, s, span(0, 10), nil); body.Size != 0 {
		t.Errorf("size %d, want 0", body.Size)
	}
	if body := wantBytes(t, s, suffix(10), nil); body.Size != 0 {
		t.Errorf("size %d, want 0", body.Size)
	}
	content := medium(1000)
	server.Set("/m.fake", faultserver.File{Content: content})
	s = newSource(t, server.URL+"/m.fake")
	wantBytes(t, s, suffix(10), content[990:]) // the host was not taken for one without suffixes
	server.Set("/m.fake", faultserver.File{Content: content[:500]})
	wantError(t, s, span(600, 10), seek.ErrChanged, nil)
}

// That a host does not give the last bytes is remembered for all resources on
// it, and the Window asks for them as a closed range.
func TestHostWithoutSuffix(t *testing.T) {
	content := medium(300_000)
	for _, f := range []faultserver.Fault{{IgnoreRange: true}, {Status: 416}, {Status: 501}} {
		server := serve(t, tagged(content, "1"))
		server.Set("/other.fake", tagged(content, "2"))
		server.Fault(func(_ int, r *http.Request) faultserver.Fault {
			if strings.HasPrefix(r.Header.Get("Range"), "bytes=-") {
				return f
			}
			return faultserver.Fault{}
		})
		var totals seek.Totals
		c := hurried(t, &client.Client{Observer: &totals})
		s := sourceOf(t, c, server.URL+"/m.fake")
		wantError(t, s, suffix(1000), seek.ErrNoRanges, nil)
		if n := totals.Transfer().Bytes; n != 0 {
			t.Errorf("%d bytes of an answer that is of no use were taken", n)
		}
		server.Reset()
		w := seek.NewWindow(context.Background(), sourceOf(t, c, server.URL+"/other.fake"), 0)
		got, err := w.Read(context.Background(), span(0, 100), suffix(100))
		if err != nil || string(got[1]) != string(content[299_900:]) {
			t.Errorf("the Window read %d bytes, %v", len(got), err)
		}
		w.Close()
		wantRequests(t, server, "bytes=0-99", "bytes=299900-299999")
	}
}

func TestRetries(t *testing.T) {
	content := medium(5000)
	faults := map[string]faultserver.Fault{
		"408":                {Status: 408},
		"425":                {Status: 425},
		"429, Retry-After":   {Status: 429, Header: map[string]string{"Retry-After": "0"}},
		"429, huge":          {Status: 429, Header: map[string]string{"Retry-After": "99999999999999999999"}},
		"503, a far date":    {Status: 503, Header: map[string]string{"Retry-After": "Fri, 31 Dec 2999 23:59:59 GMT"}},
		"500":                {Status: 500},
		"502":                {Status: 502},
		"503":                {Status: 503},
		"504":                {Status: 504},
		"no answer":          {Drop: true},
		"breaks in the head": {Break: true, After: 0},
	}
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			server := serve(t, tagged(content, "1"))
			server.Fault(func(n int, _ *http.Request) faultserver.Fault {
				if n < 3 {
					return f
				}
				return faultserver.Fault{}
			})
			wantBytes(t, newSource(t, server.URL+"/m.fake"), span(10, 1000), content[10:1010])
			if n := server.Stats().Requests; n != 4 {
				t.Errorf("%d requests, want 4", n)
			}
			server.Reset()
			server.Fault(always(f))
			err := wantError(t, newSource(t, server.URL+"/m.fake?key=secret"), span(10, 1000), seek.ErrUnavailable, nil)
			if err.Status != f.Status {
				t.Errorf("status %d, want %d", err.Status, f.Status)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("%v tells a secret", err)
			}
			want := client.MaxRetries + 1
			if f.Break {
				want = client.BreaksFree + 1
			}
			if n := server.Stats().Requests; n != want {
				t.Errorf("%d requests, want %d", n, want)
			}
		})
	}
}

// A server that never answers is given up after the idle timeout, each time.
func TestNoAnswerInTime(t *testing.T) {
	t.Parallel() // it waits
	content := medium(5000)
	server := serve(t, tagged(content, "1"))
	server.Fault(once(0, faultserver.Fault{Silent: true}))
	c := hurried(t, &client.Client{IdleTimeout: stalled})
	wantBytes(t, sourceOf(t, c, server.URL+"/m.fake"), span(0, 10), content[:10])
	c = hurried(t, &client.Client{IdleTimeout: 50 * time.Millisecond}) // there is nothing to be late
	server.Fault(always(faultserver.Fault{Silent: true}))
	err := wantError(t, sourceOf(t, c, server.URL+"/m.fake"), span(0, 10), seek.ErrUnavailable, nil)
	if !strings.Contains(err.Error(), "idle timeout") {
		t.Errorf("%v does not name the reason", err)
	}
}

func TestNobodyThere(t *testing.T) {
	server := serve(t, tagged(medium(10), "1"))
	server.Fault(always(faultserver.Fault{Drop: true}))
	for _, uri := range []string{server.URL + "/x?key=secret", "http://127.0.0.1:1/x?key=secret"} {
		err := wantError(t, newSource(t, uri), span(0, 10), seek.ErrUnavailable, nil)
		if err.Cause == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v tells a secret, or not the cause", err)
		}
	}
	for _, uri := range []string{"http:///x", "http://%zz/", "http://a b/"} {
		if _, err := (&client.Client{}).OpenSource(context.Background(), uri); !errors.Is(err, seek.ErrNotFound) {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

func TestCancelledWhileRetrying(t *testing.T) {
	server := serve(t, tagged(medium(10), "1"))
	ctx, cancel := context.WithCancel(context.Background())
	server.Fault(func(n int, _ *http.Request) faultserver.Fault {
		if n == 1 {
			cancel()
		}
		return faultserver.Fault{Status: 503}
	})
	_, err := newSource(t, server.URL+"/m.fake").Open(ctx, span(0, 10))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	if n := server.Stats().Requests; n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

func TestCancelledWhileReading(t *testing.T) {
	server := serve(t, tagged(medium(100_000), "1"))
	server.Fault(always(faultserver.Fault{Stall: true, After: 1000}))
	ctx, cancel := context.WithCancel(context.Background())
	body, err := newSource(t, server.URL+"/m.fake").Open(ctx, span(0, 50_000))
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if _, err := io.CopyN(io.Discard, body, 1000); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := body.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	if n := server.Stats().Requests; n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// TestWaitingIsTold: an observer is told how long an answer puts the next attempt
// off, and by what.
func TestWaitingIsTold(t *testing.T) {
	server := serve(t, tagged(medium(100), "1"))
	server.Fault(func(n int, _ *http.Request) (f faultserver.Fault) {
		if n == 0 {
			f = faultserver.Fault{Status: 503, Header: map[string]string{"Retry-After": "30"}}
		}
		return f
	})
	var mu sync.Mutex
	var told []seek.Event
	c := &client.Client{Observer: seek.ObserverFunc(func(_ context.Context, e seek.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind == seek.Waiting || e.Kind == seek.Retried {
			told = append(told, e)
		}
	})}
	c.Hurry() // to wait for 5 ms at most
	defer c.CloseIdleConnections()
	wantBytes(t, sourceOf(t, c, server.URL+"/m.fake"), span(0, 100), medium(100))
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 2 || told[0].Kind != seek.Waiting || told[0].Wait < 5*time.Millisecond || told[0].Err == nil || told[1].Kind != seek.Retried {
		t.Errorf("told of %+v", told)
	}
}
