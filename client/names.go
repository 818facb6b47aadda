package client

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// Split cuts a URI or path into the resource and the fragment. A path that
// exists as a file is taken whole; all else is cut at the first '#'. A '?' is
// part of a path.
func Split(uri string) (resource string, f fragment.Fragment) {
	if scheme(uri) == "" {
		if _, err := os.Stat(uri); err == nil {
			return uri, fragment.Fragment{}
		}
	}
	return fragment.Split(uri)
}

// scheme returns the scheme of a URI in lower case, "" for what is none. A
// single letter is a drive, not a scheme.
func scheme(uri string) string {
	before, _, ok := strings.Cut(uri, ":")
	if !ok || len(before) < 2 || !letter(before[0]) {
		return ""
	}
	for i := range len(before) {
		if c := before[i]; !letter(c) && (c < '0' || c > '9') && c != '+' && c != '-' && c != '.' {
			return ""
		}
	}
	return strings.ToLower(before)
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// isWeb reports whether a scheme is that of HTTP.
func isWeb(scheme string) bool { return scheme == "http" || scheme == "https" }

// openSource opens a resource by its name, without fragment. Over HTTP, s is sent
// to the hosts that may see it.
func (c *Client) openSource(ctx context.Context, name string, s secrets) (seek.Source, error) {
	kind := scheme(name)
	if o := c.Openers[kind]; o != nil && kind != "" {
		return o.OpenSource(ctx, name)
	}
	switch {
	case isWeb(kind):
		return c.web().newHTTPSource(name, s)
	case kind == "file":
		path, err := filePath(name)
		if err != nil {
			return nil, err
		}
		return newFileSource(path, c.Growing)
	case strings.Contains(name, "://"):
		return nil, fmt.Errorf("opening %s: %w: the scheme %q; http, https and file are built in, others take an Opener", Redact(name), formats.ErrUnsupported, kind)
	}
	return newFileSource(name, c.Growing)
}

// sources opens, for one Resource, the sources that its parts and its manifest
// name: each once, so that all its bytes are of one version.
type sources struct {
	client  *Client
	origin  string // as the Resource was opened
	secrets secrets
	window  *seek.Window // of the Resource itself

	mu   sync.Mutex
	open map[string]seek.Source
}

var _ seek.Opener = (*sources)(nil)

// OpenSource returns the Source of a name. The Resource's own name is its
// Window, which serves from memory what the index was read from.
func (s *sources) OpenSource(ctx context.Context, name string) (seek.Source, error) {
	if name == s.origin || name == s.window.Info().Name {
		return s.window, nil
	}
	s.mu.Lock()
	source := s.open[name]
	s.mu.Unlock()
	if source != nil {
		return source, nil
	}
	if err := s.mayName(name); err != nil {
		return nil, err
	}
	source, err := s.client.openSource(ctx, name, s.secrets)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.open[name]; first != nil { // opened by another goroutine meanwhile
		return first, nil
	}
	s.open[name] = source
	return source, nil
}

// mayName fails where a resource must not lead to another one: what comes over
// the network never reaches local files, nor stores of another kind that the
// caller has opened to the client; a local manifest reaches local files only in
// its own directory and below.
func (s *sources) mayName(name string) error {
	from, to := s.kind(s.origin), s.kind(name)
	switch {
	case isWeb(to):
		return nil
	case to != from:
		return fmt.Errorf("%w: %s must not lead to %s; open that by itself", seek.ErrForbidden, Redact(s.origin), Redact(name))
	case to != "file":
		return nil
	}
	base, err := localPath(s.origin)
	if err != nil {
		return err
	}
	path, err := localPath(name)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(filepath.Dir(base), path); err != nil || !filepath.IsLocal(rel) {
		return fmt.Errorf("%w: %s lies outside the directory of %s, which names it; open that by itself", seek.ErrForbidden, name, s.origin)
	}
	return nil
}

// kind is the scheme by which a name is opened.
func (s *sources) kind(name string) string {
	kind := scheme(name)
	if kind == "" || s.client.Openers[kind] == nil && !isWeb(kind) {
		return "file"
	}
	return kind
}

// localPath returns the absolute path of a file: URI or path.
func localPath(name string) (string, error) {
	if scheme(name) == "file" {
		path, err := filePath(name)
		if err != nil {
			return "", err
		}
		name = path
	}
	return filepath.Abs(name)
}
