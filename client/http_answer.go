package client

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/mediafrag/mediafrag/seek"
)

// cheapSkip is how many bytes in front of a range are read and dropped where
// the server sends the whole resource instead.
const cheapSkip = 1 << 20

// answer is what one useful HTTP response brings of a request.
type answer struct {
	body io.ReadCloser
	skip int64 // bytes to drop first
	off  int64 // where the first byte after them stands in the resource
	end  int64 // where the response ends, -1: not known
	want int64 // where the request ends, -1: at the end of the resource
	size int64 // of the resource, -1: not known
	left int64 // bytes of the body still to come, -1: not known
	at   int64 // where the next byte stands
}

// Read reads what the request wants of the response.
func (a *answer) Read(p []byte) (int, error) {
	if a.skip > 0 {
		n, err := io.CopyN(io.Discard, a.body, a.skip)
		a.skip -= n
		a.took(n)
		if err != nil {
			return 0, err
		}
	}
	if stop := a.stop(); stop >= 0 {
		if a.at >= stop {
			return 0, io.EOF
		}
		p = p[:min(int64(len(p)), stop-a.at)]
	}
	n, err := a.body.Read(p)
	a.at += int64(n)
	a.took(int64(n))
	return n, err
}

func (a *answer) took(n int64) {
	if a.left >= 0 {
		a.left = max(0, a.left-n)
	}
}

// stop is where reading ends: with the response or the request.
func (a *answer) stop() int64 {
	if a.want >= 0 && (a.end < 0 || a.want < a.end) {
		return a.want
	}
	return a.end
}

// ends reports whether the resource ends where the response ends of itself.
func (a *answer) ends() bool {
	return a.end < 0 || a.at == a.size
}

// Close gives the connection back where little is left of the body.
func (a *answer) Close() { discard(a.body, a.left) }

// contentRange is a parsed Content-Range field (RFC 9110 section 14.4).
type contentRange struct {
	first, last int64 // -1 in "bytes */N"
	total       int64 // -1 in "bytes a-b/*"
}

// parseContentRange reads a Content-Range field.
func parseContentRange(field string) (contentRange, error) {
	bad := contentRange{-1, -1, -1}
	unit, rest, ok := strings.Cut(strings.TrimSpace(field), " ")
	span, total, ok2 := strings.Cut(rest, "/")
	if !ok || !ok2 || !strings.EqualFold(unit, "bytes") {
		return bad, errors.New("no valid Content-Range")
	}
	c := bad
	var err error
	if total != "*" {
		if c.total, err = parseSize(total); err != nil {
			return bad, err
		}
	}
	if span == "*" {
		return c, nil
	}
	first, last, _ := strings.Cut(span, "-")
	if c.first, err = parseSize(first); err != nil {
		return bad, err
	}
	if c.last, err = parseSize(last); err != nil {
		return bad, err
	}
	if c.last < c.first || c.total >= 0 && c.last >= c.total {
		return bad, errors.New("Content-Range contradicts itself")
	}
	return c, nil
}

// parseSize reads a number of bytes. The largest int64 is refused, too, so that
// one more is no overflow.
func parseSize(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil || n+1 >= 1<<63 {
		return -1, errors.New("no valid number in Content-Range")
	}
	return int64(n), nil
}

// judge decides whether a response is of use for a request that was sent when
// the resource had had bytes at least, and pins or checks the version. It does not close the body.
func (s *httpSource) judge(resp *http.Response, at *url.URL, r seek.Range, had int64) (*answer, error) {
	j := judgement{source: s, resp: resp, at: at, r: r, had: had}
	switch resp.StatusCode {
	case http.StatusOK, http.StatusPartialContent:
		if coding := resp.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
			return nil, j.fault(seek.ErrUnavailable, "the server sends it encoded as "+strconv.Quote(coding)+
				" though it was asked not to, so that byte positions mean nothing; switch compression of media off at the server")
		}
		if resp.StatusCode == http.StatusOK {
			return j.whole()
		}
		return j.part()
	case http.StatusRequestedRangeNotSatisfiable:
		return j.unsatisfied()
	}
	if r.Offset < 0 && refusesRange(resp.StatusCode) {
		return nil, j.noSuffix()
	}
	return nil, j.status()
}

// judgement is one response in question.
type judgement struct {
	source *httpSource
	resp   *http.Response
	at     *url.URL
	r      seek.Range
	had    int64 // bytes that the resource had at least when it was asked for
}

// fault returns an error about the response.
func (j judgement) fault(err error, problem string) error {
	return &StatusError{Status: j.resp.StatusCode, URL: redacted(j.at), Range: j.r, Err: err, Problem: problem}
}

// refusesRange reports whether a status says that the kind of range is not
// known, rather than something about the resource.
func refusesRange(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusRequestedRangeNotSatisfiable:
		return true
	}
	return false
}

// noSuffix remembers that the host does not give the last bytes.
func (j judgement) noSuffix() error {
	j.source.web.refuseSuffix(j.at.Host)
	return j.fault(seek.ErrNoRanges, "the server does not give the last bytes of a resource")
}

// pin compares or sets the version.
func (j judgement) pin(size int64) error {
	if diff := j.source.pin(j.resp, j.at, size, j.had); diff != "" {
		return j.fault(seek.ErrChanged, diff)
	}
	return nil
}

// whole judges a 200: all of the resource.
func (j judgement) whole() (*answer, error) {
	size := j.resp.ContentLength
	if err := j.pin(size); err != nil {
		return nil, err
	}
	if j.r.Offset < 0 && (size < 0 || size > -j.r.Offset) {
		return nil, j.noSuffix()
	}
	if j.r != whole {
		j.source.servesNoRanges()
	}
	a := &answer{body: j.resp.Body, end: size, want: -1, size: size, left: size}
	switch {
	case j.r.Offset < 0:
	case size >= 0 && j.r.Offset >= size:
		a.off, a.at, a.end = j.r.Offset, j.r.Offset, j.r.Offset
	case j.r.Offset > cheapSkip:
		return nil, j.fault(seek.ErrNoRanges, "it sends the whole resource"+sized(size)+
			" instead; download all of it and cut the file, or try a mirror that serves ranges")
	default:
		a.skip, a.off, a.at = j.r.Offset, j.r.Offset, j.r.Offset
		if j.r.Length >= 0 {
			a.want = j.r.End()
		}
	}
	return a.clamped(), nil
}

func sized(n int64) string {
	if n < 0 {
		return ""
	}
	return fmt.Sprintf(" (%d bytes)", n)
}

// clamped ends the request where the resource does.
func (a *answer) clamped() *answer {
	if a.size >= 0 && (a.want < 0 || a.want > a.size) {
		a.want = max(a.size, a.off)
	}
	return a
}

// part judges a 206: one range.
func (j judgement) part() (*answer, error) {
	if kind := mediaType(j.resp.Header); kind == "multipart/byteranges" {
		return nil, j.fault(seek.ErrNoRanges, "one range was asked for and the answer is "+kind)
	}
	c, err := parseContentRange(j.resp.Header.Get("Content-Range"))
	if err == nil && c.first < 0 {
		err = errors.New("Content-Range names no range")
	}
	if err != nil {
		return nil, j.fault(seek.ErrNoRanges, err.Error())
	}
	if problem := c.misses(j.r); problem != "" {
		if j.r.Offset < 0 {
			return nil, j.noSuffix()
		}
		return nil, j.fault(seek.ErrNoRanges, problem)
	}
	if n := j.resp.ContentLength; n > c.last-c.first+1 {
		return nil, j.fault(seek.ErrNoRanges, fmt.Sprintf("the answer says that it is %d bytes and sends %d", c.last-c.first+1, n))
	}
	if err := j.pin(c.total); err != nil {
		return nil, err
	}
	j.source.servesRanges()
	a := &answer{body: j.resp.Body, off: c.first, at: c.first, end: c.last + 1, want: -1, size: c.total, left: c.last - c.first + 1}
	switch {
	case j.r.Offset < 0:
		a.want = a.end // a suffix ends where the resource does
		if c.total >= 0 {
			a.want = c.total
		}
	case j.r.Length >= 0:
		a.want = j.r.End()
	}
	return a.clamped(), nil
}

// misses says what is wrong with a range as an answer to r, "" if nothing is.
func (c contentRange) misses(r seek.Range) string {
	switch {
	case r.Offset < 0 && c.total >= 0:
		if first := max(0, c.total+r.Offset); c.first != first {
			return fmt.Sprintf("the last bytes begin at %d and it sends them from %d", first, c.first)
		}
	case r.Offset < 0:
		if c.last-c.first+1 > -r.Offset {
			return fmt.Sprintf("it sends bytes %d-%d", c.first, c.last)
		}
	case c.first != r.Offset, r.Length >= 0 && c.last >= r.End():
		return fmt.Sprintf("it sends bytes %d-%d", c.first, c.last)
	}
	return ""
}

// servesRanges notes that the server answers a range by a range.
func (s *httpSource) servesRanges() {
	s.mu.Lock()
	s.ranged = true
	s.mu.Unlock()
}

// servesNoRanges notes that the server answered a range by the whole.
func (s *httpSource) servesNoRanges() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info.Sequential = !s.ranged
}

// unsatisfied judges a 416: nothing of the range lies in the resource. That is
// an empty answer where it can be believed.
func (j judgement) unsatisfied() (*answer, error) {
	c, _ := parseContentRange(j.resp.Header.Get("Content-Range"))
	known, info := j.source.known()
	switch {
	case c.total >= 0 && info.Size >= 0 && c.total != info.Size && !(j.source.web.growing && c.total >= j.had):
		return nil, j.fault(seek.ErrChanged, resized(info.Size, c.total))
	case c.total == 0, c.total > 0 && j.r.Offset >= c.total:
	case c.total < 0 && known && info.Size < 0 && j.r.Offset > 0: // the end of a resource that never stated its size
	case j.r.Offset < 0:
		return nil, j.noSuffix()
	default:
		return nil, j.fault(seek.ErrNoRanges, "it refuses this range")
	}
	at := max(0, j.r.Offset)
	discard(j.resp.Body, j.resp.ContentLength)
	return &answer{body: http.NoBody, off: at, at: at, end: at, want: at, size: c.total}, nil
}

// status judges what is neither the resource nor a part of it.
func (j judgement) status() error {
	discard(j.resp.Body, j.resp.ContentLength)
	switch status := j.resp.StatusCode; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired,
		status == http.StatusUnavailableForLegalReasons:
		return j.fault(seek.ErrForbidden, "")
	case status == http.StatusNotFound, status == http.StatusGone:
		return j.fault(seek.ErrNotFound, "")
	case j.r != whole && refusesRange(status):
		return j.fault(seek.ErrNoRanges, "it refuses ranges; download all of it and cut the file")
	case status >= 300 && status < 400 && status != http.StatusNotModified:
		return j.fault(seek.ErrUnavailable, "it redirects to no valid URI")
	case overloaded(status):
		return j.fault(seek.ErrUnavailable, fmt.Sprintf("so it said %d times; try later", maxRetries+1))
	}
	return j.fault(seek.ErrUnavailable, "")
}

// mediaType returns the Content-Type of an answer in lower case, without
// parameters.
func mediaType(h http.Header) string {
	field := h.Get("Content-Type")
	kind, _, err := mime.ParseMediaType(field)
	if err != nil {
		kind, _, _ = strings.Cut(field, ";")
	}
	return strings.ToLower(strings.TrimSpace(kind))
}
