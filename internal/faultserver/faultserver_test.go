package faultserver_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mediafrag/mediafrag/internal/faultserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var file = faultserver.File{Content: []byte("0123456789"), ETag: `"1"`, Modified: time.Unix(1e9, 0), Type: "text/plain"}

// get sends a request and returns the status, one field and the body.
func get(t *testing.T, c *http.Client, url string, header ...string) (*http.Response, string, error) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "identity")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

func TestGoodAnswers(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), []byte("from disk"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := faultserver.Start(t, faultserver.Config{Files: map[string]faultserver.File{"/f": file, "/empty": {}}, Dir: dir})
	date := file.Modified.UTC().Format(http.TimeFormat)
	tests := []struct {
		path, asked, ifRange string
		status               int
		contentRange, body   string
	}{
		{"/f", "", "", 200, "", "0123456789"},
		{"/f", "bytes=2-4", "", 206, "bytes 2-4/10", "234"},
		{"/f", "bytes=8-99", "", 206, "bytes 8-9/10", "89"},
		{"/f", "bytes=7-", "", 206, "bytes 7-9/10", "789"},
		{"/f", "bytes=-3", "", 206, "bytes 7-9/10", "789"},
		{"/f", "bytes=-99", "", 206, "bytes 0-9/10", "0123456789"},
		{"/f", "bytes=10-", "", 416, "bytes */10", ""},
		{"/empty", "bytes=-5", "", 416, "bytes */0", ""},
		{"/f", "bytes=2-4", `"1"`, 206, "bytes 2-4/10", "234"},
		{"/f", "bytes=2-4", `"2"`, 200, "", "0123456789"},
		{"/f", "bytes=2-4", date, 206, "bytes 2-4/10", "234"},
		{"/f", "bytes=2-4", "Sun, 09 Sep 2001 01:46:41 GMT", 200, "", "0123456789"},
		{"/none", "", "", 404, "", ""},
		{"/x", "bytes=5-", "", 206, "bytes 5-8/9", "disk"},
		{"/../x", "", "", 200, "", "from disk"},
	}
	for _, tt := range tests {
		var header []string
		if tt.asked != "" {
			header = append(header, "Range", tt.asked)
		}
		if tt.ifRange != "" {
			header = append(header, "If-Range", tt.ifRange)
		}
		resp, body, err := get(t, s.Client(t), s.URL+tt.path, header...)
		if err != nil || resp.StatusCode != tt.status || resp.Header.Get("Content-Range") != tt.contentRange || body != tt.body {
			t.Errorf("%+v: %v %q %q", tt, err, resp.Header, body)
		}
		if resp.ContentLength != int64(len(tt.body)) {
			t.Errorf("%+v: length %d", tt, resp.ContentLength)
		}
	}
}

func TestFaults(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{Files: map[string]faultserver.File{"/f": file}})
	c := s.Client(t)
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	tests := []struct {
		fault  faultserver.Fault
		status int
		body   string
		broken bool
		field  string // "Name: value"
	}{
		{faultserver.Fault{Status: 503, Header: map[string]string{"Retry-After": "9"}}, 503, "", false, "Retry-After: 9"},
		{faultserver.Fault{Redirect: "/g"}, 302, "", false, "Location: /g"},
		{faultserver.Fault{File: &faultserver.File{Content: []byte("other"), ETag: `W/"2"`}}, 206, "ther", false, `Etag: W/"2"`},
		{faultserver.Fault{IgnoreRange: true}, 200, "0123456789", false, "Content-Range: "},
		{faultserver.Fault{Give: &faultserver.Span{First: 3, Last: 5}}, 206, "345", false, "Content-Range: bytes 3-5/10"},
		{faultserver.Fault{AtMost: 2}, 206, "12", false, "Content-Range: bytes 1-2/10"},
		{faultserver.Fault{Multipart: true}, 206, "--part\r\nContent-Range: bytes 1-8/10\r\n\r\n12345678\r\n--part--\r\n", false, "Content-Range: "},
		{faultserver.Fault{Chunked: true}, 206, "12345678", false, "Content-Length: "},
		{faultserver.Fault{Header: map[string]string{"Etag": ""}}, 206, "12345678", false, "Etag: "},
		{faultserver.Fault{Break: true, After: 3}, 206, "123", true, "Content-Length: 8"},
		{faultserver.Fault{Break: true}, 206, "", true, "Content-Length: 8"},
	}
	for _, tt := range tests {
		s.Fault(func(int, *http.Request) faultserver.Fault { return tt.fault })
		resp, body, err := get(t, c, s.URL+"/f", "Range", "bytes=1-8")
		if resp == nil {
			t.Errorf("%+v: %v", tt.fault, err)
			continue
		}
		if resp.StatusCode != tt.status || body != tt.body || errors.Is(err, io.ErrUnexpectedEOF) != tt.broken {
			t.Errorf("%+v: %d %q %v", tt.fault, resp.StatusCode, body, err)
		}
		var name, value string
		fmt.Sscanf(tt.field, "%s", &name)
		name, value = name[:len(name)-1], tt.field[len(name)+1:]
		if got := resp.Header.Get(name); got != value {
			t.Errorf("%+v: %s %q, want %q", tt.fault, name, got, value)
		}
	}
	s.Fault(func(int, *http.Request) faultserver.Fault { return faultserver.Fault{Drop: true} })
	if _, _, err := get(t, c, s.URL+"/f"); err == nil {
		t.Error("a dropped request was answered")
	}
	s.Fault(func(int, *http.Request) faultserver.Fault { return faultserver.Fault{Gzip: true} })
	if resp, body, _ := get(t, c, s.URL+"/f"); resp.Header.Get("Content-Encoding") != "gzip" || body == "0123456789" {
		t.Errorf("gzip: %q", body)
	}
}

// What stalls or is silent is freed when the client gives up and, by the
// clean-up of this test, when the server ends.
func TestStalls(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{Files: map[string]faultserver.File{"/f": file}})
	c := s.Client(t)
	for _, f := range []faultserver.Fault{{Silent: true}, {Stall: true, After: 4}} {
		s.Fault(func(int, *http.Request) faultserver.Fault { return f })
		c.Timeout = 2 * time.Second // what comes at all is there by then
		if f.Silent {
			c.Timeout = 50 * time.Millisecond
		}
		if _, body, err := get(t, c, s.URL+"/f"); err == nil || f.Stall && body != "0123" {
			t.Errorf("%+v: %q, %v", f, body, err)
		}
	}
	arrived := make(chan struct{})
	arrive := sync.OnceFunc(func() { close(arrived) })
	s.Fault(func(int, *http.Request) faultserver.Fault {
		arrive()
		return faultserver.Fault{Silent: true}
	})
	patient := http.Client{Transport: c.Transport}
	go func() {
		if resp, err := patient.Get(s.URL + "/f"); err == nil {
			resp.Body.Close()
		}
	}()
	<-arrived
}

// The chain of requests is counted as they arrive: parallel ones count once.
func TestCounts(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{Files: map[string]faultserver.File{"/f": file}, RTT: 100 * time.Millisecond, Bandwidth: 10_000})
	c := s.Client(t)
	began := time.Now()
	for range 2 {
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				req, _ := http.NewRequest(http.MethodGet, s.URL+"/f?q", nil)
				req.Header.Set("Range", "bytes=0-4")
				resp, err := c.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			})
		}
		wg.Wait()
	}
	if got := s.Stats(); got.Requests != 4 || got.RoundTrips != 2 || got.Connections != 2 || got.Bytes != 20 {
		t.Errorf("%+v", got)
	}
	if d := time.Since(began); d < 300*time.Millisecond {
		t.Errorf("took %v: three times 100 ms must have passed", d)
	}
	for _, r := range s.Log() {
		if r.Method != "GET" || r.Path != "/f" || r.Query != "q" || r.Header.Get("Range") != "bytes=0-4" || r.Status != 206 || r.Bytes != 5 || r.Connection < 1 {
			t.Errorf("%+v", r)
		}
	}
	s.Reset()
	if got := s.Stats(); got != (faultserver.Stats{}) {
		t.Errorf("after Reset: %+v", got)
	}
}
