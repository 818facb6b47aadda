package client

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// secret is what one host alone may see.
type secret struct {
	host   *url.URL // scheme, name and port count
	header http.Header
	user   *url.Userinfo // may be nil
}

// secrets are those of one resource: of the URI that was opened and of its own.
type secrets []secret

// secretsOf returns what may be sent to the host of a URI that is opened: the
// header, and the URI's user information.
func secretsOf(uri string, header http.Header) secrets {
	u, err := parseURL(uri)
	if err != nil || !isWeb(scheme(uri)) {
		return nil
	}
	return secrets{{host: u, header: header, user: u.User}}
}

// addTo adds to a request what its host may see.
func (s secrets) addTo(req *http.Request) {
	for _, one := range s {
		if !sameHost(one.host, req.URL) {
			continue
		}
		for name, values := range one.header {
			req.Header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
		}
		if one.user != nil && req.Header.Get("Authorization") == "" {
			password, _ := one.user.Password()
			req.SetBasicAuth(one.user.Username(), password)
		}
	}
}

// harmless are header fields that let nobody in.
var harmless = []string{"Accept", "Accept-Language", "Referer", "User-Agent"}

// inPlay reports whether a request to the host of u carries what must stay
// between the two.
func (s secrets) inPlay(u *url.URL) bool {
	for _, one := range s {
		if !sameHost(one.host, u) {
			continue
		}
		for name := range one.header {
			if !slices.Contains(harmless, http.CanonicalHeaderKey(name)) {
				return true
			}
		}
		if one.user != nil {
			return true
		}
	}
	return false
}

// sameHost reports whether to is a host that a secret for from may be sent to:
// the same name and port, over the same protocol or over https now.
func sameHost(from, to *url.URL) bool {
	if !strings.EqualFold(from.Hostname(), to.Hostname()) {
		return false
	}
	upgraded := strings.EqualFold(from.Scheme, "http") && to.Scheme == "https" && port(from) == "80" && port(to) == "443"
	return upgraded || strings.EqualFold(from.Scheme, to.Scheme) && port(from) == port(to)
}

func port(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	default:
		return "80"
	}
}
