package client

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mediafrag/mediafrag/seek"
)

// exchange is one request of a Source as an observer sees it: redirects,
// retries and resumptions included. It travels in the context of its HTTP
// requests. A nil exchange counts nothing.
type exchange struct {
	ctx      context.Context // the caller's, for its observer
	observer seek.Observer
	id       uint64
	name     string
	request  seek.Request
	bytes    atomic.Int64

	mu    sync.Mutex
	size  int64
	why   error // why the next attempt is made
	ended bool
}

type exchangeKey struct{}

// begin starts an exchange and returns the context for its HTTP requests.
func (w *web) begin(ctx context.Context, name string, r seek.Request) (context.Context, *exchange) {
	x := &exchange{ctx: ctx, observer: w.observer, id: w.ids.Add(1), name: name, request: r, size: -1}
	x.emit(seek.Event{Kind: seek.Started})
	ctx = context.WithValue(ctx, exchangeKey{}, x)
	if x.observer != nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: x.connected})
	}
	return ctx, x
}

// exchangeOf returns the exchange that an HTTP request belongs to.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// emit tells the observer, with what is the same in all events filled in.
func (x *exchange) emit(e seek.Event) {
	if x.observer == nil {
		return
	}
	x.mu.Lock()
	e.Size = x.size
	x.mu.Unlock()
	e.Time, e.ID, e.Name, e.Request, e.Bytes = time.Now(), x.id, x.name, x.request, x.bytes.Load()
	x.observer.Observe(x.ctx, e)
}

func (x *exchange) received(n int) {
	if x != nil {
		x.bytes.Add(int64(n))
	}
}

func (x *exchange) connected(info httptrace.GotConnInfo) {
	e := seek.Event{Kind: seek.Connected, Reused: info.Reused}
	if !info.Reused {
		e.NewTrips = 1 // TCP
		if c, ok := info.Conn.(interface{ ConnectionState() tls.ConnectionState }); ok {
			e.NewTrips += handshakeTrips(c.ConnectionState())
		}
	}
	x.emit(e)
}

// handshakeTrips is how many round trips a TLS handshake took.
func handshakeTrips(s tls.ConnectionState) int {
	if s.Version >= tls.VersionTLS13 || s.DidResume {
		return 1
	}
	return 2
}

// answered says that the body begins.
func (x *exchange) answered(status string, size int64) {
	x.mu.Lock()
	x.size = size
	x.mu.Unlock()
	x.emit(seek.Event{Kind: seek.Answered, Status: status})
}

// because notes why the next attempt will be made.
func (x *exchange) because(err error) {
	if x != nil {
		x.mu.Lock()
		x.why = err
		x.mu.Unlock()
	}
}

// retried says that another HTTP request is about to be sent.
func (x *exchange) retried() {
	if x != nil {
		x.mu.Lock()
		why := x.why
		x.mu.Unlock()
		x.emit(seek.Event{Kind: seek.Retried, Err: why})
	}
}

// end says once that all is over.
func (x *exchange) end(err error) {
	x.mu.Lock()
	ended := x.ended
	x.ended = true
	x.mu.Unlock()
	if !ended {
		x.emit(seek.Event{Kind: seek.Ended, Err: err})
	}
}
