package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mediafrag/mediafrag/seek"
)

// fileSource reads a local file. Its first use pins the file's identity, time
// and size. It holds no file open between requests.
type fileSource struct {
	path    string
	name    string // as a file: URI
	growing bool

	mu     sync.Mutex
	first  os.FileInfo // nil before the first use
	pinned os.FileInfo // the same, or of a growing file the latest
}

var _ seek.Source = (*fileSource)(nil)

// newFileSource returns the Source of the file at path.
func newFileSource(path string, growing bool) (*fileSource, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	return &fileSource{path: path, name: fileURI(abs), growing: growing}, nil
}

// fileURI returns the file: URI of an absolute path.
func fileURI(abs string) string {
	p := filepath.ToSlash(abs)
	if !strings.HasPrefix(p, "/") { // a drive letter
		p = "/" + p
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}

// filePath returns the path that a file: URI names (RFC 8089).
func filePath(uri string) (string, error) {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %s is not a valid file URI", seek.ErrNotFound, Redact(uri))
	case u.Host != "" && u.Host != "localhost":
		return "", fmt.Errorf("%w: %s names a file on another host", seek.ErrNotFound, Redact(uri))
	}
	p := u.Path
	if u.Opaque != "" { // file:name, relative
		if p, err = url.PathUnescape(u.Opaque); err != nil {
			return "", fmt.Errorf("%w: %s is not a valid file URI", seek.ErrNotFound, Redact(uri))
		}
	}
	if len(p) > 2 && p[0] == '/' && p[2] == ':' && filepath.Separator == '\\' {
		p = p[1:]
	}
	return filepath.FromSlash(p), nil
}

// Open opens a range of the file.
func (s *fileSource) Open(ctx context.Context, r seek.Request) (*seek.Body, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	f, err := s.open()
	if err != nil {
		return nil, err
	}
	size, err := s.check(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	from, to := r.Offset, int64(math.MaxInt64)
	switch {
	case from < 0:
		from = max(0, size+from)
	case r.Length >= 0 && r.Length < to-from:
		to = from + r.Length
	}
	body := &fileBody{ctx: ctx, source: s, file: f, at: from, end: max(from, min(to, size))}
	info := seek.Info{Name: s.name, Validator: s.validator(), Size: size}
	return &seek.Body{Info: info, Offset: from, ReadCloser: body}, nil
}

// validator tells the file's version: that of a growing file stays the first.
func (s *fileSource) validator() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%d/%d", s.first.ModTime().UnixNano(), s.first.Size())
}

// open opens the file, if it is one: opening a pipe would wait for its writer.
func (s *fileSource) open() (*os.File, error) {
	now, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %w; the address of a server begins with http:// or https://", seek.ErrNotFound, err)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%w: %w", seek.ErrForbidden, err)
	case err != nil:
		return nil, err
	case now.IsDir():
		return nil, fmt.Errorf("%w: %s is a directory, not a media file", seek.ErrNoRanges, s.path)
	case !now.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s is no regular file; write it to one first", seek.ErrNoRanges, s.path)
	}
	f, err := os.Open(s.path)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w: %w", seek.ErrForbidden, err)
	}
	return f, err
}

// check compares the file with the one that was opened, or makes it that. It
// returns the file's size.
func (s *fileSource) check(f *os.File) (size int64, err error) {
	s.mu.Lock() // before looking: what is seen later never is the smaller size
	defer s.mu.Unlock()
	now, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if s.pinned == nil {
		s.first, s.pinned = now, now
	}
	before := s.pinned
	switch {
	case s.growing && now.Size() >= before.Size() && os.SameFile(before, now):
		s.pinned = now
	case now.Size() != before.Size():
		err = fmt.Errorf("reading %s: %w: it had %d bytes, now it has %d", s.path, seek.ErrChanged, before.Size(), now.Size())
	case !now.ModTime().Equal(before.ModTime()):
		err = fmt.Errorf("reading %s: %w: it was written to", s.path, seek.ErrChanged)
	case !os.SameFile(before, now):
		err = fmt.Errorf("reading %s: %w: it was replaced", s.path, seek.ErrChanged)
	}
	return now.Size(), err
}

// fileBody is a range of a file. It holds the context of its request until it
// is closed.
type fileBody struct {
	ctx     context.Context
	source  *fileSource
	file    *os.File
	at, end int64
}

// Read gives bytes only after the file was found unchanged since they were read.
func (b *fileBody) Read(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	if b.at >= b.end {
		return 0, io.EOF
	}
	n, err := b.file.ReadAt(p[:min(int64(len(p)), b.end-b.at)], b.at)
	_, changed := b.source.check(b.file)
	switch {
	case changed != nil:
		return 0, changed
	case n == 0 && err == io.EOF:
		return 0, fmt.Errorf("reading %s: %w: it ends at byte %d", b.source.path, seek.ErrChanged, b.at)
	case err == io.EOF:
		err = nil
	}
	b.at += int64(n)
	return n, err
}

func (b *fileBody) Close() error { return b.file.Close() }
