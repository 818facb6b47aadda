package client

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/mediafrag/mediafrag/seek"
)

// StatusError is a request over HTTP that brought nothing useful: which one,
// what the server said, and what is wrong with it. It wraps one of the
// conditions of package seek, such as [seek.ErrForbidden], and where there is
// one the error beneath. It never holds credentials or values of a query.
type StatusError struct {
	Status  int        // 0 where there was no answer
	URL     string     // without user information and query values
	Range   seek.Range // what was asked for
	Problem string     // what is wrong, and what to try; may be ""
	Err     error      // the condition
	Cause   error      // the error beneath; may be nil
}

// Error returns all of it on one line.
func (e *StatusError) Error() string {
	var b strings.Builder
	b.WriteString("GET " + e.URL)
	if e.Range != whole {
		fmt.Fprintf(&b, " (bytes %s)", e.Range)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Status != 0 {
		b.WriteString(strings.TrimRight(fmt.Sprintf(": %d %s", e.Status, http.StatusText(e.Status)), " "))
	}
	if e.Problem != "" {
		b.WriteString(": " + e.Problem)
	}
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %v", e.Cause)
	}
	return b.String()
}

// Unwrap returns the condition and the error beneath.
func (e *StatusError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Cause}
}

// Redact returns a URI for people: without user information, fragment and the
// values of its query. A path is returned as it is.
func Redact(uri string) string {
	if scheme(uri) == "" {
		return uri
	}
	uri, _, _ = strings.Cut(uri, "#")
	uri, query, asks := strings.Cut(uri, "?")
	if scheme, rest, ok := strings.Cut(uri, "://"); ok {
		authority, path, slash := strings.Cut(rest, "/")
		authority = authority[strings.LastIndexByte(authority, '@')+1:]
		uri = scheme + "://" + authority
		if slash {
			uri += "/" + path
		}
	}
	if !asks {
		return uri
	}
	var names []string
	for pair := range strings.SplitSeq(query, "&") {
		if name, _, ok := strings.Cut(pair, "="); ok {
			names = append(names, name+"=")
		}
	}
	return uri + "?" + strings.Join(names, "&")
}

// redacted is [Redact] of a parsed URL.
func redacted(u *url.URL) string { return Redact(u.String()) }
