package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"
)

// errIdle ends an exchange that brought nothing for the idle timeout.
var errIdle = errors.New("no byte within the idle timeout")

// What is read of a body that nobody wants any more, so that its connection
// stays of use: a new connection costs at least a round trip.
const (
	drainBytes = 32 << 10
	drainTime  = 100 * time.Millisecond
)

// newTransport returns the transport of a Client that was given none: as the
// standard one, with an idle connection kept for each range at a time, and with
// an eye on the addresses that it connects to.
func newTransport(parallel int, n network) *http.Transport {
	return &http.Transport{
		Proxy: func(req *http.Request) (*url.URL, error) {
			proxy, err := http.ProxyFromEnvironment(req)
			exchangeOf(req.Context()).routed(proxy == nil)
			return proxy, err
		},
		DialContext:           n.dialer().DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          100,
		MaxIdleConnsPerHost:   max(parallel, 4) + 2, // head and tail of the next medium, too
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,

		MaxResponseHeaderBytes: 256 << 10,
	}
}

// watch is a RoundTripper that ends an exchange when nothing has come for the
// idle timeout: no answer, or no next byte while somebody waits for one. A body
// that nobody reads is not idle. It counts body bytes for the exchange of the
// request's context.
//
// It hides CloseIdleConnections of the transport beneath on purpose: after
// every final failure the retrying client would close the idle connections of
// all hosts.
type watch struct {
	next http.RoundTripper
	idle time.Duration
}

var _ http.RoundTripper = (*watch)(nil)

func (w *watch) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(w.idle, func() { cancel(errIdle) })
	x := exchangeOf(ctx)
	x.stoppedBy(func() { cancel(errPrivate) })
	resp, err := w.next.RoundTrip(req.WithContext(ctx))
	timer.Stop()
	if err == nil && context.Cause(ctx) == errPrivate { // it was sent over a connection that was there already
		resp.Body.Close()
		err = errPrivate
	}
	if err != nil {
		if context.Cause(ctx) == errIdle {
			err = errIdle
		}
		cancel(nil)
		return nil, err
	}
	if _, err := req.URL.Parse(resp.Header.Get("Location")); err != nil {
		resp.Header.Del("Location") // else http.Client makes an error that quotes all of it
	}
	resp.Body = &watchedBody{body: resp.Body, ctx: ctx, cancel: cancel, timer: timer, idle: w.idle, counts: x}
	return resp, nil
}

// watchedBody is a body under watch. Its context is that of its exchange.
type watchedBody struct {
	body   io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration
	counts *exchange
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.timer.Reset(b.idle)
	n, err := b.body.Read(p)
	b.timer.Stop()
	b.counts.received(n)
	if err != nil && err != io.EOF && context.Cause(b.ctx) == errIdle {
		err = errIdle
	}
	return n, err
}

func (b *watchedBody) Close() error {
	b.timer.Stop()
	err := b.body.Close()
	b.cancel(nil)
	return err
}

// discard closes a body of which left bytes are still to come, -1 if that is
// not known. A small rest is read first.
func discard(body io.ReadCloser, left int64) {
	if w, ok := body.(*watchedBody); ok && left >= 0 && left <= drainBytes {
		stop := time.AfterFunc(drainTime, func() { w.cancel(nil) })
		io.CopyN(io.Discard, body, left+1) // one more, to see the end
		stop.Stop()
	}
	body.Close()
}
