package faultserver

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Fault is what goes wrong with one request. The zero Fault is nothing.
type Fault struct {
	// Status is answered instead of the file, with an empty body.
	Status int
	// Redirect is the Location of a redirect; Status is 302 unless it is set.
	Redirect string
	// Header is set in the answer; a field whose value is "" is removed.
	Header map[string]string

	// File is served instead of the one at the path.
	File *File
	// IgnoreRange answers a range by 200 and the whole file.
	IgnoreRange bool
	// IgnoreIfRange answers a range by 206 whatever If-Range says.
	IgnoreIfRange bool
	// Give answers by 206 and this range, whatever was asked. Last is included.
	Give *Span
	// AtMost answers by 206 and no more than so many bytes of the range.
	AtMost int64
	// Multipart wraps the range in multipart/byteranges.
	Multipart bool
	// Gzip sends the body compressed, whatever the request accepts.
	Gzip bool
	// Chunked sends no length.
	Chunked bool

	// Drop closes the connection without an answer.
	Drop bool
	// Silent never answers.
	Silent bool
	// Break closes the connection after After bytes of the body.
	Break bool
	// Stall sends nothing more after After bytes of the body.
	Stall bool
	After int64
	// Linger passes between the last byte of the body and its end.
	Linger time.Duration
}

// Span is a range of bytes; Last is included.
type Span struct{ First, Last int64 }

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	entry, fault := s.arrive(r)
	time.Sleep(s.config.RTT)
	switch {
	case fault.Drop:
		panic(http.ErrAbortHandler)
	case fault.Silent:
		s.stall(r)
		return
	}
	a := s.answer(r, fault)
	for name, value := range fault.Header {
		a.header[http.CanonicalHeaderKey(name)] = []string{value}
		if value == "" {
			a.header.Del(name)
		}
	}
	for name, values := range a.header {
		w.Header()[name] = values
	}
	if !fault.Chunked && w.Header().Get("Content-Length") == "" {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	s.answered(entry, a.status)
	w.WriteHeader(a.status)
	if r.Method == http.MethodHead {
		return
	}
	s.send(w, r, entry, a.body, fault)
}

// stall waits until the client or the test has given up.
func (s *Server) stall(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.ending.Done():
	}
}

// answer is a response before it is sent.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// answer makes the response to a request.
func (s *Server) answer(r *http.Request, fault Fault) answer {
	a := answer{status: fault.Status, header: http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}}
	switch {
	case fault.Redirect != "":
		if a.status == 0 {
			a.status = http.StatusFound
		}
		a.header.Set("Location", fault.Redirect)
		return a
	case a.status != 0:
		return a
	}
	f, ok := s.file(r.URL.Path)
	if fault.File != nil {
		f, ok = *fault.File, true
	}
	if !ok {
		a.status = http.StatusNotFound
		return a
	}
	a.status, a.body = http.StatusOK, f.Content
	a.header.Set("Accept-Ranges", "bytes")
	f.describe(a.header)
	a.cut(r, f, fault)
	if fault.Gzip {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write(a.body)
		z.Close()
		a.body = b.Bytes()
		a.header.Set("Content-Encoding", "gzip")
	}
	return a
}

// file finds what is served at a path.
func (s *Server) file(name string) (File, bool) {
	s.mu.Lock()
	f, ok := s.files[name]
	s.mu.Unlock()
	if ok || s.config.Dir == "" {
		return f, ok
	}
	full := filepath.Join(s.config.Dir, filepath.FromSlash(path.Clean("/"+name)))
	content, err := os.ReadFile(full)
	if err != nil {
		return File{}, false
	}
	info, err := os.Stat(full)
	if err != nil {
		return File{}, false
	}
	return File{Content: content, Modified: info.ModTime()}, true
}

// describe sets the header fields that tell of the file.
func (f File) describe(h http.Header) {
	if f.ETag != "" {
		h.Set("ETag", f.ETag)
	}
	if !f.Modified.IsZero() {
		h.Set("Last-Modified", f.Modified.UTC().Format(http.TimeFormat))
	}
	h["Content-Type"] = nil // no guess
	if f.Type != "" {
		h.Set("Content-Type", f.Type)
	}
}

// cut makes the answer a partial one where a range was asked for.
func (a *answer) cut(r *http.Request, f File, fault Fault) {
	asked := r.Header.Get("Range")
	size := int64(len(f.Content))
	first, last, ok := parseRange(asked, size)
	switch {
	case fault.Give != nil:
		first, last = fault.Give.First, fault.Give.Last
	case asked == "" || fault.IgnoreRange || !fault.IgnoreIfRange && !f.fits(r.Header.Get("If-Range")):
		return
	case !ok:
		a.status, a.body = http.StatusRequestedRangeNotSatisfiable, nil
		a.header.Set("Content-Range", fmt.Sprintf("bytes */%d", size))
		return
	}
	if fault.AtMost > 0 {
		last = min(last, first+fault.AtMost-1)
	}
	a.status, a.body = http.StatusPartialContent, f.Content[first:last+1]
	contentRange := fmt.Sprintf("bytes %d-%d/%d", first, last, size)
	if !fault.Multipart {
		a.header.Set("Content-Range", contentRange)
		return
	}
	a.header.Set("Content-Type", "multipart/byteranges; boundary=part")
	a.body = []byte("--part\r\nContent-Range: " + contentRange + "\r\n\r\n" + string(a.body) + "\r\n--part--\r\n")
}

// fits reports whether an If-Range field lets a range be sent.
func (f File) fits(field string) bool {
	switch {
	case field == "":
		return true
	case strings.HasPrefix(field, `"`):
		return field == f.ETag
	}
	date, err := http.ParseTime(field)
	return err == nil && !f.Modified.IsZero() && date.Equal(f.Modified.UTC().Truncate(time.Second))
}

// parseRange reads a Range field of one range. ok is false where nothing of it
// lies in the file.
func parseRange(field string, size int64) (first, last int64, ok bool) {
	from, to, _ := strings.Cut(strings.TrimPrefix(field, "bytes="), "-")
	if from == "" {
		n, err := strconv.ParseInt(to, 10, 64)
		return max(0, size-n), size - 1, err == nil && n > 0 && size > 0
	}
	first, err := strconv.ParseInt(from, 10, 64)
	last = size - 1
	if n, err := strconv.ParseInt(to, 10, 64); err == nil {
		last = min(last, n)
	}
	return first, last, err == nil && first <= last
}

// block is how much of a body is written at a time.
const block = 16 << 10

// send writes the body, as far as the fault lets it.
func (s *Server) send(w http.ResponseWriter, r *http.Request, entry *Request, body []byte, fault Fault) {
	rest := body
	if fault.Break || fault.Stall {
		rest = body[:min(fault.After, int64(len(body)))]
	}
	flush := http.NewResponseController(w)
	if fault.Chunked || fault.Break || fault.Stall {
		flush.Flush() // so that the header is seen, and no length is made up
	}
	for len(rest) > 0 {
		n, err := w.Write(rest[:min(block, len(rest))])
		s.wrote(entry, n)
		if err != nil {
			return
		}
		rest = rest[n:]
		if s.config.Bandwidth > 0 {
			flush.Flush()
			time.Sleep(time.Duration(n) * time.Second / time.Duration(s.config.Bandwidth))
		}
	}
	switch {
	case fault.Linger > 0:
		flush.Flush()
		time.Sleep(fault.Linger)
	case fault.Break:
		flush.Flush()
		panic(http.ErrAbortHandler)
	case fault.Stall:
		flush.Flush()
		s.stall(r)
		panic(http.ErrAbortHandler)
	}
}
