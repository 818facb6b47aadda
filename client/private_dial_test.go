package client

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/hls"
	"github.com/mediafrag/mediafrag/seek"
)

// Addresses of this machine: for these tests the one is on the public network and
// the other on a private one.
var (
	publicIP  = netip.MustParseAddr("127.0.0.2")
	privateIP = netip.MustParseAddr("127.0.0.1")
)

// names is a name server: of each name the addresses in turn, the last for ever.
type names struct {
	mu   sync.Mutex
	have map[string][]netip.Addr
}

// serve answers over UDP, and returns a resolver that asks it.
func (n *names) serve(t *testing.T) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			k, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			conn.WriteTo(n.answer(buf[:k]), from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// answer answers one query (RFC 1035 section 4), to which only addresses of
// version 4 are known.
func (n *names) answer(query []byte) []byte {
	var labels []string
	at := 12
	for query[at] != 0 {
		labels = append(labels, string(query[at+1:at+1+int(query[at])]))
		at += 1 + int(query[at])
	}
	question := query[12 : at+5]
	out := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
	if question[len(question)-3] != 1 { // not of type A
		return out
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	name := strings.Join(labels, ".")
	all := n.have[name]
	if len(all) == 0 {
		out[3] |= 3 // no such name
		return out
	}
	if len(all) > 1 {
		n.have[name] = all[1:]
	}
	out[7] = 1
	return append(append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4), all[0].AsSlice()...)
}

// listen starts a server at an address and a port, 0 for any, and counts its
// connections.
func listen(t *testing.T, ip netip.Addr, port uint16, h http.Handler) (uint16, *atomic.Int64) {
	t.Helper()
	connections := &atomic.Int64{}
	l, err := net.Listen("tcp", netip.AddrPortFrom(ip, port).String())
	if err != nil {
		t.Skipf("this machine has no %s: %v", ip, err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: h, ConnState: func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}}}
	server.Start()
	t.Cleanup(server.Close)
	return l.Addr().(*net.TCPAddr).AddrPort().Port(), connections
}

// TestRebinding: a name that resolves to a public address when it is looked at
// and to a private one when it is dialled leads nowhere, be it the name of another
// host, or that of the playlist itself once that has come, or the target of a
// redirect.
func TestRebinding(t *testing.T) {
	public, private := []netip.Addr{publicIP}, []netip.Addr{privateIP}
	then := func(a ...[]netip.Addr) (out []netip.Addr) {
		for _, x := range a {
			out = append(out, x...)
		}
		return out
	}
	for _, test := range []struct {
		name, segment string
		names         map[string][]netip.Addr
		allow         bool
		asked         int // of the private host
		want          error
	}{
		{"another host", "http://other.test:PORT/a.ts", map[string][]netip.Addr{"list.test": public, "other.test": then(public, private)}, false, 0, seek.ErrForbidden},
		{"the playlist's own host", "/a.ts", map[string][]netip.Addr{"list.test": then(public, private)}, false, 0, seek.ErrForbidden},
		{"a redirect", "/away", map[string][]netip.Addr{"list.test": public, "other.test": then(public, private)}, false, 0, seek.ErrForbidden},
		{"a key", "KEYhttp://other.test:PORT/a.ts", map[string][]netip.Addr{"list.test": public, "other.test": then(public, private)}, false, 0, seek.ErrForbidden},
		{"an initialization section", "MAPhttp://other.test:PORT/a.ts", map[string][]netip.Addr{"list.test": public, "other.test": then(public, private)}, false, 0, seek.ErrForbidden},
		{"allowed", "http://other.test:PORT/a.ts", map[string][]netip.Addr{"list.test": public, "other.test": then(public, private)}, true, 1, formats.ErrDamaged},
		{"a playlist from a private address", "http://other.test:PORT/a.ts", map[string][]netip.Addr{"list.test": private, "other.test": private}, false, 1, formats.ErrDamaged},
	} {
		t.Run(test.name, func(t *testing.T) {
			var mu sync.Mutex
			asked, port := 0, ""
			list := func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Connection", "close") // so that the next request dials
				if r.URL.Path == "/away" {
					http.Redirect(w, r, "http://other.test:"+port+"/a.ts", http.StatusFound)
					return
				}
				segment, before := strings.ReplaceAll(test.segment, "PORT", port), ""
				if uri, ok := strings.CutPrefix(segment, "KEY"); ok {
					segment, before = "/none.ts", "#EXT-X-KEY:METHOD=AES-128,URI=\""+uri+"\"\n"
				} else if uri, ok := strings.CutPrefix(segment, "MAP"); ok {
					segment, before = "/none.m4s", "#EXT-X-MAP:URI=\""+uri+"\"\n"
				}
				io.WriteString(w, "#EXTM3U\n#EXT-X-TARGETDURATION:4\n"+before+"#EXTINF:4,\n"+segment+"\n#EXT-X-ENDLIST\n")
			}
			n, _ := listen(t, publicIP, 0, http.HandlerFunc(list))
			_, connections := listen(t, privateIP, n, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, ".m3u8") {
					list(w, r)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				asked++
				io.WriteString(w, "secret")
			}))
			_, port, _ = net.SplitHostPort(netip.AddrPortFrom(publicIP, n).String())
			var retries atomic.Int64
			observer := seek.ObserverFunc(func(_ context.Context, e seek.Event) {
				if e.Kind == seek.Retried && test.name != "a redirect" { // to follow it counts as one
					retries.Add(1)
				}
			})
			c := &Client{Observer: observer, AllowPrivate: test.allow, Formats: []formats.Format{hls.Format{}}}
			c.network = network{
				resolver: (&names{have: test.names}).serve(t),
				private:  func(ip netip.Addr) bool { return ip.Unmap() == privateIP },
			}
			c.Hurry()
			defer c.CloseIdleConnections()
			clip, err := c.Clip(t.Context(), "http://list.test:"+port+"/list.m3u8#t=1,3")
			if err == nil {
				clip.Close()
			}
			if !errors.Is(err, test.want) {
				t.Errorf("the error is %v, want %v", err, test.want)
			}
			mu.Lock()
			defer mu.Unlock()
			if asked != test.asked {
				t.Errorf("the private host was asked %d times, want %d", asked, test.asked)
			}
			if test.asked == 0 && (connections.Load() > 0 || retries.Load() > 0) {
				t.Errorf("it was connected to %d times, after %d retries", connections.Load(), retries.Load())
			}
		})
	}
}

// TestBarredConnection: a connection that was made for somebody who may have it
// is not used on behalf of a resource that must not lead there.
func TestBarredConnection(t *testing.T) {
	port, _ := listen(t, privateIP, 0, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "secret") }))
	c := &Client{}
	defer c.CloseIdleConnections()
	uri := "http://" + netip.AddrPortFrom(privateIP, port).String() + "/x"
	for _, barred := range []bool{false, true} {
		source, err := c.openSource(t.Context(), uri, nil, barred)
		if err != nil {
			t.Fatal(err)
		}
		body, err := source.Open(t.Context(), seek.Request{Range: whole})
		if barred != errors.Is(err, seek.ErrForbidden) || barred == (err == nil) {
			t.Errorf("barred %v: %v", barred, err)
		}
		if err == nil {
			io.ReadAll(body)
			body.Close()
		}
	}
}
