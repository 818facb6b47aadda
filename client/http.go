package client

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/mediafrag/mediafrag/seek"
)

// whole is the range that is asked for by a plain GET.
var whole = seek.Range{Offset: 0, Length: seek.ToEnd}

// httpSource reads one HTTP resource by byte range. The first answer pins its
// version; every later one is compared with it.
type httpSource struct {
	web     *web
	origin  *url.URL // as it was opened, without user information
	secrets secrets
	// barPrivate bars connections and redirects to private addresses.
	barPrivate bool

	mu       sync.Mutex
	target   *url.URL   // where redirects led, nil where there were none
	info     *seek.Info // nil before the first answer
	version  version    // of the first answer; the size may be learnt later
	ranged   bool       // a range was answered by a range
	noIfPart bool       // the server misreads If-Range: it is not sent
	peer     peer       // where the first answer came from
}

var _ seek.Source = (*httpSource)(nil)

// newHTTPSource returns the Source of uri. Its requests carry what s lets their
// hosts see, and the user information of uri. BarPrivate bars connections and
// redirects to private addresses.
func (w *web) newHTTPSource(uri string, s secrets, barPrivate bool) (*httpSource, error) {
	u, err := parseURL(uri)
	if err != nil { // its text repeats the URI
		return nil, &StatusError{URL: Redact(uri), Range: whole, Err: seek.ErrNotFound, Problem: "not a valid URI"}
	}
	if u.Host == "" {
		return nil, &StatusError{URL: Redact(uri), Range: whole, Err: seek.ErrNotFound, Problem: "the URI names no host"}
	}
	if u.User != nil {
		s = append(slices.Clip(s), secret{host: u, user: u.User})
	}
	origin := *u
	origin.User, origin.Fragment, origin.RawFragment = nil, "", ""
	return &httpSource{web: w, origin: &origin, secrets: s, barPrivate: barPrivate}, nil
}

// Open sends a request and returns when the server has answered it usefully.
func (s *httpSource) Open(ctx context.Context, r seek.Request) (*seek.Body, error) {
	if r.Offset >= 0 && r.Length >= 0 {
		r.Length = min(r.Length, math.MaxInt64-r.Offset)
	}
	known, info := s.known()
	switch {
	case r.Offset >= 0 && r.Length == 0:
		return &seek.Body{Info: info, Offset: r.Offset, ReadCloser: http.NoBody}, nil
	case r.Offset < 0 && known && info.Size >= 0 && !s.web.growing:
		r.Offset = max(0, info.Size+r.Offset)
		r.Length = info.Size - r.Offset
	}
	ctx, x := s.web.begin(ctx, redacted(s.origin), r)
	x.barred = s.barPrivate
	a, err := s.ask(ctx, x, r.Range)
	if err != nil {
		x.end(err)
		return nil, err
	}
	if known, info = s.known(); !known { // nothing but a 416
		info.Size = a.size
	}
	b := &httpBody{ctx: ctx, source: s, events: x, answer: a, at: a.off, end: a.want}
	return &seek.Body{Info: info, Offset: a.off, ReadCloser: b}, nil
}

// known returns what is known of the resource, and whether anything is.
func (s *httpSource) known() (bool, seek.Info) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.info == nil {
		return false, seek.Info{Name: s.origin.String(), Size: -1}
	}
	return true, *s.info
}

// ask sends one request for a range, again where that helps, until it has a
// useful answer or none is to be had.
func (s *httpSource) ask(ctx context.Context, x *exchange, r seek.Range) (*answer, error) {
	for returned := false; ; {
		cached, ifRange, had := s.plan(r)
		resp, at, err := s.follow(ctx, cached, r, ifRange)
		if cached != nil && !returned && ctx.Err() == nil && stale(resp, err) {
			// The target of an earlier redirect has ceased to work: back to
			// where it began, once.
			if resp != nil {
				discard(resp.Body, resp.ContentLength)
			}
			s.forget(cached)
			returned = true
			x.because(errors.New("the target of the redirect has ceased to work"))
			x.retried()
			continue
		}
		if err != nil {
			return nil, s.failed(ctx, at, r, err)
		}
		if ifRange != "" && resp.StatusCode == http.StatusOK && s.misread(resp) {
			resp.Body.Close()
			x.because(errors.New("the server took If-Range amiss"))
			x.retried()
			continue
		}
		a, err := s.judge(resp, at, r, had)
		if err != nil {
			x.answered(resp.Status, -1)
			resp.Body.Close()
			return nil, err
		}
		s.arrived(at, x)
		x.answered(resp.Status, a.size)
		return a, nil
	}
}

// plan returns where to send a request for r to, nil for the origin, the
// If-Range field to send with it, and how many bytes the resource has at least
// when it is sent.
func (s *httpSource) plan(r seek.Range) (target *url.URL, ifRange string, had int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.info != nil {
		had = max(0, s.version.size)
	}
	if s.info != nil && r != whole && !s.noIfPart && !s.web.growing {
		ifRange = s.version.ifRange()
	}
	return s.target, ifRange, had
}

// stale reports whether the answer of a remembered target suggests that it is
// no longer the right one.
func stale(resp *http.Response, err error) bool {
	if err != nil {
		return !errors.Is(err, seek.ErrNoRanges)
	}
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		return true
	}
	return resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented
}

// forget drops a remembered target, unless another request has replaced it.
func (s *httpSource) forget(target *url.URL) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.target == target {
		s.target = nil
	}
}

// arrived remembers where a useful answer came from.
func (s *httpSource) arrived(at *url.URL, x *exchange) {
	x.mu.Lock()
	from := x.peer
	x.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.peer == unknownPeer {
		s.peer = from
	}
	switch {
	case *at == *s.origin:
		s.target = nil
	case s.target == nil || *s.target != *at:
		s.target = at
	}
}

// reachedAt returns what kind of address the first answer came from.
func (s *httpSource) reachedAt() peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peer
}

// misread reports, once, whether a server that does serve ranges sent the whole
// of the same version: it then took the If-Range field amiss.
func (s *httpSource) misread(resp *http.Response) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ranged || s.noIfPart || s.version.differs(versionOf(resp.Header, resp.ContentLength)) != "" {
		return false
	}
	s.noIfPart = true
	return true
}

// failed wraps what kept a request from being answered.
func (s *httpSource) failed(ctx context.Context, at *url.URL, r seek.Range, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, ok := err.(*StatusError); ok {
		return err
	}
	if errors.Is(err, errPrivate) {
		return &StatusError{URL: redacted(at), Range: r, Err: seek.ErrForbidden, Cause: errPrivate}
	}
	return &StatusError{URL: redacted(at), Range: r, Err: seek.ErrUnavailable, Cause: bare(err)}
}

// pin compares the version of an answer with the one that was opened, or makes
// it that. It returns what has changed, "" if nothing. A resource that grows had
// had bytes when it was asked for: an answer to an earlier request may tell of
// fewer than a later one that came before it.
func (s *httpSource) pin(resp *http.Response, at *url.URL, size, had int64) string {
	v := versionOf(resp.Header, size)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.info == nil {
		s.version = v
		s.info = &seek.Info{Name: s.name(at), MediaType: mediaType(resp.Header), Validator: v.String(), Size: size}
		return ""
	}
	if s.web.growing {
		if size >= 0 && size < had {
			return resized(had, size)
		}
		s.version.size = max(s.version.size, size)
	} else {
		if diff := s.version.differs(v); diff != "" {
			return diff
		}
		if s.version.size < 0 {
			s.version.size = size
		}
	}
	s.info.Size = s.version.size
	return ""
}

// name returns the resource's name: where redirects led. The query of a target
// that is only temporary is left out, since it often is a signature that lets
// anyone in for a while.
func (s *httpSource) name(at *url.URL) string {
	u := *at
	u.User = nil
	if at != s.origin && at.RawQuery != s.origin.RawQuery {
		u.RawQuery = ""
	}
	return u.String()
}

// bare returns the error beneath a *url.Error, whose text holds the whole URL.
func bare(err error) error {
	if e, ok := err.(*url.Error); ok {
		return e.Err
	}
	return err
}
