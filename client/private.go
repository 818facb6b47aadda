package client

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// errPrivate ends a request on behalf of a public resource that has come to an
// address that is not public.
var errPrivate = errors.New("its address is on a private network, to where a public one must not lead; open it by itself, or allow it (--allow-private)")

// lookupTime is how long finding out a host's address may take.
const lookupTime = 2 * time.Second

// sharedSpace is the address space between carriers and their customers (RFC 6598).
var sharedSpace = netip.MustParsePrefix("100.64.0.0/10")

// network is how hosts are found and which of them are private. The zero value is
// the machine's.
type network struct {
	resolver *net.Resolver
	private  func(netip.Addr) bool // nil: privateAddress
}

// isPrivate reports whether a host is, or resolves to, an address that is not on
// the public network. A host that does not resolve is left to the request; what
// a name resolves to by then is looked at when it is dialled.
func (n network) isPrivate(ctx context.Context, host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return n.privateAddress(ip)
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	all, err := n.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return false
	}
	for _, ip := range all {
		if n.privateAddress(ip) {
			return true
		}
	}
	return false
}

func (n network) privateAddress(ip netip.Addr) bool {
	if n.private != nil {
		return n.private(ip)
	}
	return privateAddress(ip)
}

// dialer returns the dialer of a Client's own connections. It knows the address
// that a name has led to this time, whatever it resolved to before, and does not
// connect to a private one on behalf of a resource that must not lead there.
func (n network) dialer() *net.Dialer {
	return &net.Dialer{
		Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Resolver: n.resolver,
		ControlContext: func(ctx context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			if exchangeOf(ctx).mayReach(n.privateAddress(at.Addr())) {
				return nil
			}
			return errPrivate
		},
	}
}

func privateAddress(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() || sharedSpace.Contains(ip)
}
