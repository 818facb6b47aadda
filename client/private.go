package client

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"time"
)

// lookupTime is how long finding out a host's address may take.
const lookupTime = 2 * time.Second

// sharedSpace is the address space between carriers and their customers (RFC 6598).
var sharedSpace = netip.MustParsePrefix("100.64.0.0/10")

// private reports whether a host is, or resolves to, an address that is not on
// the public network. A host that does not resolve is left to the request.
func private(ctx context.Context, host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return privateAddress(ip)
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return false
	}
	for _, ip := range all {
		if privateAddress(ip) {
			return true
		}
	}
	return false
}

func privateAddress(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() || sharedSpace.Contains(ip)
}
