package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/faultserver"
	"github.com/mediafrag/mediafrag/seek"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// longAgo is a date that is a strong validator.
var longAgo = time.Unix(1_000_000_000, 0)

// medium returns a fake of n bytes, no two stretches of which are alike.
func medium(n int) []byte { return filled(n, 1) }

// otherMedium is medium of another version: it differs in nearly every byte.
func otherMedium(n int) []byte { return filled(n, 2) }

func filled(n int, seed uint32) []byte {
	b := make([]byte, n)
	x := seed
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	copy(b, "fake")
	return b
}

// tagged is a file with a strong entity tag.
func tagged(content []byte, etag string) faultserver.File {
	return faultserver.File{Content: content, ETag: `"` + etag + `"`, Modified: longAgo, Type: "Video/Fake; charset=x"}
}

// serve starts a server with one file at "/m.fake".
func serve(t *testing.T, f faultserver.File) *faultserver.Server {
	t.Helper()
	return faultserver.Start(t, faultserver.Config{Files: map[string]faultserver.File{"/m.fake": f}})
}

// stalled is an idle timeout that nothing but a stall reaches: a busy machine does
// not hold up a test for as long.
const stalled = 2 * time.Second

// hurried makes a Client ready for a test: no waiting, connections closed at
// its end.
func hurried(t *testing.T, c *client.Client) *client.Client {
	t.Helper()
	c.Hurry()
	c.Formats = []formats.Format{fake{}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// newSource opens a resource with a new Client.
func newSource(t *testing.T, uri string) seek.Source {
	t.Helper()
	return sourceOf(t, hurried(t, &client.Client{}), uri)
}

func sourceOf(t *testing.T, c *client.Client, uri string) seek.Source {
	t.Helper()
	s, err := c.OpenSource(context.Background(), uri)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// span is a request for a range of media.
func span(offset, length int64) seek.Request {
	return seek.Request{Range: seek.Range{Offset: offset, Length: length}, Purpose: seek.Media}
}

// suffix is a request for the last n bytes.
func suffix(n int64) seek.Request {
	return seek.Request{Range: seek.Suffix(n), Purpose: seek.Tail}
}

// read opens a range and reads all of it.
func read(s seek.Source, r seek.Request) ([]byte, *seek.Body, error) {
	body, err := s.Open(context.Background(), r)
	if err != nil {
		return nil, nil, err
	}
	defer body.Close()
	got, err := io.ReadAll(body)
	return got, body, err
}

// wantBytes fails unless the range is read without error and is want.
func wantBytes(t *testing.T, s seek.Source, r seek.Request, want []byte) *seek.Body {
	t.Helper()
	got, body, err := read(s, r)
	if err != nil {
		t.Fatalf("reading %s: %v", r.Range, err)
	}
	if string(got) != string(want) {
		t.Fatalf("reading %s: %d bytes, not the %d expected", r.Range, len(got), len(want))
	}
	return body
}

// wantError fails unless reading the range fails with the condition, and with
// no byte that is not the beginning of want.
func wantError(t *testing.T, s seek.Source, r seek.Request, condition error, want []byte) *client.StatusError {
	t.Helper()
	got, _, err := read(s, r)
	if !errors.Is(err, condition) {
		t.Fatalf("reading %s: error %v, want %v", r.Range, err, condition)
	}
	if len(got) > len(want) || string(got) != string(want[:len(got)]) {
		t.Fatalf("reading %s: %d bytes came before the error, and they are not of the version that was opened", r.Range, len(got))
	}
	var status *client.StatusError
	if !errors.As(err, &status) {
		t.Fatalf("reading %s: %v is no StatusError", r.Range, err)
	}
	return status
}

// wantRequests fails unless the server was asked for exactly these ranges; ""
// is a request without one.
func wantRequests(t *testing.T, s *faultserver.Server, ranges ...string) {
	t.Helper()
	var got []string
	for _, r := range s.Log() {
		got = append(got, r.Header.Get("Range"))
	}
	if len(got) != len(ranges) {
		t.Fatalf("the server was asked for %q, want %q", got, ranges)
	}
	for i := range got {
		if got[i] != ranges[i] {
			t.Fatalf("the server was asked for %q, want %q", got, ranges)
		}
	}
}

// once is a fault of request n alone.
func once(n int, f faultserver.Fault) func(int, *http.Request) faultserver.Fault {
	return func(i int, _ *http.Request) faultserver.Fault {
		if i == n {
			return f
		}
		return faultserver.Fault{}
	}
}

// always is a fault of all requests.
func always(f faultserver.Fault) func(int, *http.Request) faultserver.Fault {
	return func(int, *http.Request) faultserver.Fault { return f }
}
