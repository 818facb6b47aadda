package client

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/mediafrag/mediafrag/seek"
)

// maxRetries is how often a request is sent again before it counts as failed.
const maxRetries = 4

// pace is how long to wait before another attempt.
type pace struct {
	first, most time.Duration // grows from first to most
	retryAfter  time.Duration // the most that a server's Retry-After can ask for
}

var defaultPace = pace{first: 250 * time.Millisecond, most: 8 * time.Second, retryAfter: 30 * time.Second}

// wait returns how long to wait before attempt n (from 0), resp being the
// answer to the one before, nil where there was none. It is jittered, so that
// parallel requests do not come back together.
func (p pace) wait(n int, resp *http.Response) time.Duration {
	if resp != nil {
		if d, ok := retryAfter(resp.Header.Get("Retry-After"), time.Now()); ok {
			d = min(d, p.retryAfter)
			return d + rand.N(d/10+1)
		}
	}
	d := p.most
	if n < 16 {
		d = min(p.first<<n, p.most)
	}
	return d/2 + rand.N(d/2+1)
}

// pause waits, or fails with the context.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// retryAfter reads a Retry-After field: seconds or a date (RFC 9110 section
// 10.2.3).
func retryAfter(field string, now time.Time) (time.Duration, bool) {
	field = strings.TrimSpace(field)
	if seconds, err := strconv.ParseUint(field, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		const most = 1 << 30 // more would overflow a Duration
		return time.Duration(min(seconds, most)) * time.Second, true
	}
	date, err := http.ParseTime(field)
	if err != nil {
		return 0, false
	}
	return max(0, date.Sub(now)), true
}

// web is what all HTTP resources of a Client share.
type web struct {
	client   *retryablehttp.Client
	redirect func(*http.Request, []*http.Request) error // the caller's; may be nil
	pace     pace
	observer seek.Observer
	growing  bool
	network  network
	ids      atomic.Uint64

	mu       sync.Mutex
	noSuffix map[string]bool // hosts that do not give the last bytes of a resource
}

// newWeb returns a web over a copy of c.
func newWeb(c http.Client, idle time.Duration, p pace, o seek.Observer, growing bool, n network) *web {
	w := &web{redirect: c.CheckRedirect, pace: p, observer: o, growing: growing, network: n, noSuffix: make(map[string]bool)}
	next := c.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	c.Transport = &watch{next: next, idle: idle}
	// Redirects are followed here: the target is kept, and what is a secret
	// for one host is not sent to another.
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	w.client = &retryablehttp.Client{
		HTTPClient: &c,
		RetryMax:   maxRetries,
		CheckRetry: w.checkRetry,
		Backoff: func(_, _ time.Duration, n int, resp *http.Response) time.Duration {
			d := p.wait(n, resp)
			if resp != nil && resp.Header.Get("Retry-After") != "" {
				exchangeOf(resp.Request.Context()).waiting(d)
			}
			return d
		},
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
		PrepareRetry: func(req *http.Request) error {
			exchangeOf(req.Context()).retried()
			return nil
		},
	}
	return w
}

// checkRetry says whether an attempt is worth repeating, and notes why.
func (w *web) checkRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil:
		exchangeOf(ctx).because(bare(err))
		return passing(err), nil
	case !overloaded(resp.StatusCode):
		return false, nil
	}
	exchangeOf(ctx).because(errors.New(resp.Status))
	return true, nil
}

// overloaded reports whether the same request may succeed later.
func overloaded(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return status >= 500
}

// passing reports whether a failure to get an answer may go away by itself.
func passing(err error) bool {
	var cert *tls.CertificateVerificationError
	var dns *net.DNSError
	switch {
	case errors.As(err, &cert), errors.Is(err, errPrivate), errors.Is(err, http.ErrSchemeMismatch):
		return false
	case errors.As(err, &dns):
		return !dns.IsNotFound
	}
	return true
}

// suffixRefused reports whether the host is known not to give the last bytes.
func (w *web) suffixRefused(host string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.noSuffix[host]
}

// maxHosts bounds what is remembered of hosts.
const maxHosts = 1000

func (w *web) refuseSuffix(host string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.noSuffix) >= maxHosts {
		clear(w.noSuffix)
	}
	w.noSuffix[host] = true
}
