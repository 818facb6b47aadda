package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/internal/samples"
)

// testServer serves the samples, and the same with what can go wrong.
type testServer struct {
	*httptest.Server
	requests atomic.Int64
	versions atomic.Int64  // of what keeps changing
	stalled  chan struct{} // gets a value for each request that is held up
}

// The server's paths. Each takes the name of a sample behind it.
//
//	/movie.mp4          as it should be
//	/auth/movie.mp4     with 'Authorization: Bearer letmein' alone
//	/changing/movie.mp4 with another validator for each request
//	/stall/movie.mp4    media never come
//	/status/404         that status
//	/norange.mp4        1 GiB without ranges, its index at the end
//	/cut.mp4            a file that ends within its index
//	/page.html          no medium
func newTestServer(t testing.TB) *testServer {
	s := &testServer{stalled: make(chan struct{}, 100)}
	media := samples.Handler()
	mux := http.NewServeMux()
	mux.Handle("/", media)
	mux.Handle("/auth/", http.StripPrefix("/auth", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer letmein" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		media.ServeHTTP(w, r)
	})))
	mux.Handle("/changing/", http.StripPrefix("/changing", http.HandlerFunc(s.changing)))
	mux.Handle("/stall/", http.StripPrefix("/stall", s.stall(media)))
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		var code int
		fmt.Sscan(r.PathValue("code"), &code)
		w.WriteHeader(code)
	})
	mux.HandleFunc("/norange.mp4", noRange)
	mux.HandleFunc("/cut.mp4", func(w http.ResponseWriter, r *http.Request) {
		data := sample("faststart.mp4")
		http.ServeContent(w, r, "cut.mp4", time.Time{}, bytes.NewReader(data[:2000]))
	})
	mux.HandleFunc("/page.html", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "page.html", time.Time{}, strings.NewReader("<!doctype html><title>no medium</title>"))
	})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func sample(name string) []byte {
	for _, s := range samples.All() {
		if s.Name == name {
			return s.Data
		}
	}
	panic("no sample " + name)
}

// changing serves a sample that is another one with every request.
func (s *testServer) changing(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", fmt.Sprintf(`"%d"`, s.versions.Add(1)))
	http.ServeContent(w, r, r.URL.Path, time.Time{}, bytes.NewReader(sample(strings.TrimPrefix(r.URL.Path, "/"))))
}

// stall answers requests for the ends of a resource, and leaves the others
// without a body until the client goes away.
func (s *testServer) stall(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if bytes := r.Header.Get("Range"); bytes == "bytes=0-65535" || strings.HasPrefix(bytes, "bytes=-") {
			next.ServeHTTP(w, r)
			return
		}
		s.stalled <- struct{}{}
		<-r.Context().Done()
	})
}

// noRange serves an MP4 of 1 GiB, all of it, whatever is asked.
func noRange(w http.ResponseWriter, r *http.Request) {
	const size, index = 1 << 30, 1000
	head := sample("movie.mp4")[:32] // its ftyp
	w.Header().Set("Content-Type", "video/mp4")
	w.Header().Set("Content-Length", fmt.Sprint(size))
	w.Write(head)
	n := uint32(size - index - len(head))
	w.Write([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n), 'm', 'd', 'a', 't'})
	io.Copy(w, io.LimitReader(zeros{}, size-int64(len(head))-8))
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
