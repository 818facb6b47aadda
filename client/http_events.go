package client

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"net/netip"
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

	mu     sync.Mutex
	size   int64
	why    error // why the next attempt is made
	ended  bool
	barred bool // it must not reach private addresses
	direct bool // the connection in use leads to the host itself, as far as is known
	peer   peer
	stop   func() // ends the HTTP request in hand
}

// peer is what kind of address a host was reached at.
type peer int

const (
	unknownPeer peer = iota
	publicPeer
	privatePeer
)

type exchangeKey struct{}

// begin starts an exchange and returns the context for its HTTP requests.
func (w *web) begin(ctx context.Context, name string, r seek.Request) (context.Context, *exchange) {
	x := &exchange{ctx: ctx, observer: w.observer, id: w.ids.Add(1), name: name, request: r, size: -1}
	x.emit(seek.Event{Kind: seek.Started})
	ctx = context.WithValue(ctx, exchangeKey{}, x)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		x.reached(info.Conn.RemoteAddr(), w.network)
		x.connected(info)
	}}), x
}

// routed notes whether the next connection leads to the host itself or to a
// proxy, of which the address says nothing.
func (x *exchange) routed(direct bool) {
	if x != nil {
		x.mu.Lock()
		x.direct = direct
		x.mu.Unlock()
	}
}

// stoppedBy notes what ends the HTTP request in hand.
func (x *exchange) stoppedBy(stop func()) {
	if x != nil {
		x.mu.Lock()
		x.stop = stop
		x.mu.Unlock()
	}
}

// mayReach reports whether an address may be connected to.
func (x *exchange) mayReach(private bool) bool {
	if x == nil {
		return true
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return !private || !x.barred || !x.direct
}

// reached notes where a connection leads, and ends the request where it must not
// lead there: one that is used again may have been made for somebody who may.
func (x *exchange) reached(address net.Addr, n network) {
	at, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return
	}
	private := n.privateAddress(at.Addr())
	if !x.mayReach(private) {
		x.mu.Lock()
		stop := x.stop
		x.mu.Unlock()
		stop()
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch x.peer = unknownPeer; {
	case x.direct && private:
		x.peer = privatePeer
	case x.direct:
		x.peer = publicPeer
	}
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

// waiting says that the next attempt is put off, as the answer has asked for.
func (x *exchange) waiting(d time.Duration) {
	if x != nil {
		x.mu.Lock()
		why := x.why
		x.mu.Unlock()
		x.emit(seek.Event{Kind: seek.Waiting, Wait: d, Err: why})
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
