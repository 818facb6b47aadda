package client

import (
	"context"
	"fmt"
	"net/url"
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
func (c *Client) openSource(ctx context.Context, name string, s secrets, barPrivate bool) (seek.Source, error) {
	kind := scheme(name)
	if o := c.Openers[kind]; o != nil && kind != "" {
		return o.OpenSource(ctx, name)
	}
	switch {
	case isWeb(kind):
		return c.web().newHTTPSource(name, s, barPrivate)
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

// maxSources bounds how many sources a Resource remembers: a live stream names
// new ones for as long as it goes on.
const maxSources = 10_000

// sources opens, for one Resource, the sources that its parts and its manifest
// name: each once, so that all its bytes are of one version.
type sources struct {
	client  *Client
	origin  string // as the Resource was opened
	source  seek.Source
	secrets secrets
	window  *seek.Window // of the Resource itself

	mu      sync.Mutex
	open    map[string]seek.Source
	private map[string]bool // of hosts, as far as was found out
}

var _ seek.Opener = (*sources)(nil)

// OpenSource returns the Source of a name. The Resource's own name is its
// Window, which serves from memory what the index was read from.
func (s *sources) OpenSource(ctx context.Context, name string) (seek.Source, error) {
	again := func(ctx context.Context) (seek.Source, error) {
		return s.client.openSource(ctx, name, s.secrets, s.barPrivate(ctx))
	}
	if name == s.origin || name == s.window.Info().Name {
		return rereading{s.window, again}, nil
	}
	s.mu.Lock()
	source := s.open[name]
	s.mu.Unlock()
	if source != nil {
		return rereading{source, again}, nil
	}
	if err := s.mayName(ctx, name); err != nil {
		return nil, err
	}
	source, err := again(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.open[name]; first != nil { // opened by another goroutine meanwhile
		source = first
	}
	if len(s.open) >= maxSources {
		clear(s.open)
	}
	s.open[name] = source
	return rereading{source, again}, nil
}

// rereading is a Source of one version, but for playlists: those are there to be
// read again, and change.
type rereading struct {
	seek.Source
	again func(context.Context) (seek.Source, error)
}

// Open opens a range, of a playlist the one that is there now.
func (s rereading) Open(ctx context.Context, r seek.Request) (*seek.Body, error) {
	if r.Purpose != seek.Playlist {
		return s.Source.Open(ctx, r)
	}
	now, err := s.again(ctx)
	if err != nil {
		return nil, err
	}
	return now.Open(ctx, r)
}

// barPrivate reports whether the resource must not lead to private addresses:
// it has come from a public one, and the caller has not allowed it.
func (s *sources) barPrivate(ctx context.Context) bool {
	if s.client.AllowPrivate || !isWeb(s.kind(s.origin)) {
		return false
	}
	if h, ok := s.source.(*httpSource); ok { // what it resolves to now may be something else
		if at := h.reachedAt(); at != unknownPeer {
			return at == publicPeer
		}
	}
	return !s.isPrivate(ctx, s.origin) && !s.isPrivate(ctx, s.window.Info().Name)
}

// home reports whether a URI is on the host of the resource itself.
func (s *sources) home(name string) bool {
	u, err := parseURL(name)
	from, err2 := parseURL(s.origin)
	return err == nil && err2 == nil && sameHost(from, u)
}

// isPrivate reports whether a URI's host is on a private network.
func (s *sources) isPrivate(ctx context.Context, uri string) bool {
	u, err := parseURL(uri)
	if err != nil || u.Hostname() == "" {
		return false
	}
	s.mu.Lock()
	is, known := s.private[u.Hostname()]
	s.mu.Unlock()
	if known {
		return is
	}
	is = s.client.network.isPrivate(ctx, u.Hostname())
	if ctx.Err() != nil {
		return is
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.private == nil {
		s.private = map[string]bool{}
	}
	s.private[u.Hostname()] = is
	return is
}

// mayName fails where a resource must not lead to another one: what comes over
// the network never reaches local files, nor stores of another kind that the
// caller has opened to the client, nor from a public address a private one; a
// local manifest reaches local files only in its own directory and below.
func (s *sources) mayName(ctx context.Context, name string) error {
	from, to := s.kind(s.origin), s.kind(name)
	switch {
	case isWeb(to):
		if !s.home(name) && s.isPrivate(ctx, name) && s.barPrivate(ctx) {
			return fmt.Errorf("%w: %s must not lead to %s, which is on a private network; open that by itself, or allow it (--allow-private)", seek.ErrForbidden, Redact(s.origin), Redact(name))
		}
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

// parseURL is url.Parse for URIs as people have them: a '%' that encodes nothing
// stands for itself, as in browsers.
func parseURL(uri string) (*url.URL, error) {
	u, err := url.Parse(uri)
	if err == nil {
		return u, nil
	}
	host, rest, _ := strings.Cut(uri, "://")
	path := len(uri) // where it begins: a host has no such '%'
	if n := strings.IndexAny(rest, "/?#"); n >= 0 {
		path = len(host) + len("://") + n
	}
	var b strings.Builder
	for i := range len(uri) {
		b.WriteByte(uri[i])
		if i > path && uri[i] == '%' && !(i+2 < len(uri) && isHex(uri[i+1]) && isHex(uri[i+2])) {
			b.WriteString("25")
		}
	}
	return url.Parse(b.String())
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }
