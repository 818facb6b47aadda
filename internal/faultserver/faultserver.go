// Package faultserver is an HTTP server for tests that counts, delays and
// misbehaves, over real sockets.
//
//	s := faultserver.Start(t, faultserver.Config{Files: files})
//	s.Fault(func(n int, r *http.Request) faultserver.Fault {
//		if n == 2 {
//			return faultserver.Fault{Break: true, After: 1000}
//		}
//		return faultserver.Fault{}
//	})
//	… // use s.URL
//	s.Stats() // what it cost
//	s.Log()   // request by request
//
// Without a Fault it does what RFC 9110 asks of a server of files: closed, open
// and suffix ranges, If-Range, entity tags, dates.
package faultserver

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Config says what a Server serves and how far away it is.
type Config struct {
	// Files are served by their path, such as "/movie.mp4".
	Files map[string]File
	// Dir, if set, is a directory whose files are served beside them.
	Dir string
	// RTT passes before each answer, and once more on each new connection.
	RTT time.Duration
	// Bandwidth is what each body gets, in bytes a second; 0 is no limit.
	Bandwidth int64
	// TLS makes it an https server, with HTTP/2; [Server.Client] trusts it.
	TLS bool
}

// File is one version of a resource.
type File struct {
	Content  []byte
	ETag     string    // with its quotes; "" sends none
	Modified time.Time // the zero time sends none
	Type     string    // the media type; "" sends none
}

// Server is a running server. It ends with the test.
type Server struct {
	URL string

	config Config
	http   *httptest.Server
	ending context.Context // ends when the server stops, and frees what stalls

	mu          sync.Mutex
	files       map[string]File
	fault       func(n int, r *http.Request) Fault
	log         []*Request
	trips       int
	connections int
}

// Stats is what a Server was asked to do.
type Stats struct {
	Requests    int
	Connections int
	// RoundTrips is the longest chain of requests of which each arrived after
	// the one before had been answered.
	RoundTrips int
	Bytes      int64 // of bodies, as written
}

// Request is one request as it arrived, and what came of it.
type Request struct {
	Method     string
	Path       string
	Query      string
	Header     http.Header
	Connection int // numbered from 1
	Status     int // 0: no answer was sent
	Bytes      int64
	depth      int
}

type connectionKey struct{}

// Start starts a server that ends with the test.
func Start(t testing.TB, c Config) *Server {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{config: c, ending: ctx, files: make(map[string]File)}
	for path, f := range c.Files {
		s.files[path] = f
	}
	s.http = httptest.NewUnstartedServer(s)
	s.http.Listener = &listener{s.http.Listener, c.RTT}
	s.http.Config.ErrorLog = log.New(io.Discard, "", 0) // what goes wrong is the test's to say
	s.http.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.connections++
		return context.WithValue(ctx, connectionKey{}, s.connections)
	}
	if c.TLS {
		s.http.EnableHTTP2 = true
		s.http.StartTLS()
	} else {
		s.http.Start()
	}
	s.URL = s.http.URL
	t.Cleanup(func() {
		cancel()
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// Client returns a new HTTP client that trusts the server. Its idle connections
// are closed with the server.
func (s *Server) Client(t testing.TB) *http.Client {
	transport := s.http.Client().Transport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// Fault sets what goes wrong from now on: f is called for each request, n
// counting from 0. It may block, and may be nil.
func (s *Server) Fault(f func(n int, r *http.Request) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Set makes f what is served at a path from now on.
func (s *Server) Set(path string, f File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = f
}

// Stats returns what the server did so far.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := Stats{Requests: len(s.log), Connections: s.connections, RoundTrips: s.trips}
	for _, r := range s.log {
		stats.Bytes += r.Bytes
	}
	return stats
}

// Log returns the requests in the order of their arrival.
func (s *Server) Log() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.log))
	for i, r := range s.log {
		out[i] = *r
	}
	return out
}

// Reset forgets what was counted; requests are numbered from 0 again.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log, s.trips, s.connections = nil, 0, 0
}

// arrive notes a request and says what goes wrong with it.
func (s *Server) arrive(r *http.Request) (*Request, Fault) {
	s.mu.Lock()
	n := len(s.log)
	entry := &Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header, depth: s.trips + 1}
	entry.Connection, _ = r.Context().Value(connectionKey{}).(int)
	s.log = append(s.log, entry)
	fault := s.fault
	s.mu.Unlock()
	if fault == nil {
		return entry, Fault{}
	}
	return entry, fault(n, r)
}

// answered notes the status of an answer that is about to be sent.
func (s *Server) answered(entry *Request, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry.Status = status
	s.trips = max(s.trips, entry.depth)
}

// wrote counts body bytes.
func (s *Server) wrote(entry *Request, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry.Bytes += int64(n)
}

// listener delays the first byte of each connection, as a handshake does.
type listener struct {
	net.Listener
	rtt time.Duration
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil || l.rtt == 0 {
		return c, err
	}
	return &conn{Conn: c, rtt: l.rtt}, nil
}

type conn struct {
	net.Conn
	rtt  time.Duration
	once sync.Once
}

func (c *conn) Read(p []byte) (int, error) {
	c.once.Do(func() { time.Sleep(c.rtt) })
	return c.Conn.Read(p)
}
