package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/mediafrag/mediafrag/seek"
)

// maxRedirects is how many redirects one request follows.
const maxRedirects = 20

// follow sends a request to the target, or to the origin where that is nil, and
// follows redirects. It returns the first answer that is none, whatever its
// status, and the URL that gave it. The request is sent again where the same
// answer may be better later.
func (s *httpSource) follow(ctx context.Context, target *url.URL, r seek.Range, ifRange string) (*http.Response, *url.URL, error) {
	at := s.origin
	if target != nil {
		at = target
	}
	var via []*http.Request
	for {
		req, err := s.request(ctx, at, r, ifRange)
		if err != nil {
			return nil, at, err
		}
		if err := s.mayFollow(req, via); err != nil {
			return nil, at, err
		}
		resp, err := s.web.send(req)
		if err != nil {
			return nil, at, err
		}
		if !redirects(resp) {
			return resp, at, nil
		}
		next, err := at.Parse(resp.Header.Get("Location"))
		discard(resp.Body, resp.ContentLength)
		if err != nil { // watch lets none such through
			return nil, at, bare(err)
		}
		if problem := s.barred(ctx, at, next); problem != "" {
			return nil, at, s.unfollowed(resp.StatusCode, at, r, problem)
		}
		if via = append(via, req); len(via) > maxRedirects {
			return nil, at, s.unfollowed(resp.StatusCode, at, r, fmt.Sprintf("more than %d redirects", maxRedirects))
		}
		next.Fragment, next.RawFragment = "", ""
		x := exchangeOf(ctx)
		x.because(errors.New(resp.Status))
		x.retried()
		at = next
	}
}

// request makes the HTTP request for a range.
func (s *httpSource) request(ctx context.Context, at *url.URL, r seek.Range, ifRange string) (*http.Request, error) {
	if r.Offset < 0 && s.web.suffixRefused(at.Host) {
		return nil, &StatusError{URL: redacted(at), Range: r, Err: seek.ErrNoRanges, Problem: "the server is known not to give the last bytes of a resource"}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, bare(err)
	}
	s.secrets.addTo(req)
	for _, ours := range []string{"Range", "If-Range"} {
		req.Header.Del(ours)
	}
	// Also where no range is asked for: else the transport would ask for gzip,
	// and the length would be lost.
	req.Header.Set("Accept-Encoding", "identity")
	if r != whole {
		req.Header.Set("Range", "bytes="+r.String())
	}
	if ifRange != "" {
		req.Header.Set("If-Range", ifRange)
	}
	return req, nil
}

// mayFollow asks the caller's own redirect policy, if there is one.
func (s *httpSource) mayFollow(req *http.Request, via []*http.Request) error {
	if len(via) == 0 || s.web.redirect == nil {
		return nil
	}
	return s.web.redirect(req, via)
}

// send sends a request, again while that may help, and returns the last answer.
func (w *web) send(req *http.Request) (*http.Response, error) {
	r, err := retryablehttp.FromRequest(req)
	if err != nil {
		return nil, err
	}
	resp, err := w.client.Do(r)
	if err != nil && resp != nil {
		resp.Body.Close()
	}
	return resp, err
}

// redirects reports whether a response sends the request elsewhere.
func redirects(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return resp.Header.Get("Location") != ""
	}
	return false
}

// barred says why a redirect is not followed, "" where it is.
func (s *httpSource) barred(ctx context.Context, from, to *url.URL) string {
	switch {
	case to.Scheme != "http" && to.Scheme != "https":
		return fmt.Sprintf("it redirects to a %q URI", to.Scheme)
	case to.Host == "":
		return "it redirects to no host"
	case from.Scheme == "https" && to.Scheme == "http" && s.secrets.inPlay(from):
		return "it redirects from https to http, which is not followed where credentials were given"
	case s.barPrivate && s.web.network.isPrivate(ctx, to.Hostname()):
		return "it redirects to a private network, to where a public address must not lead; open that by itself, or allow it (--allow-private)"
	}
	return ""
}

func (s *httpSource) unfollowed(status int, at *url.URL, r seek.Range, problem string) error {
	return &StatusError{Status: status, URL: redacted(at), Range: r, Err: seek.ErrUnavailable, Problem: problem}
}
