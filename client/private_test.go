package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// byName sends requests for public.test and other.test to handlers here, and all
// others on.
type byName map[string]http.Handler

func (b byName) RoundTrip(req *http.Request) (*http.Response, error) {
	h := b[req.URL.Host]
	if h == nil {
		return http.DefaultTransport.RoundTrip(req)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	resp := w.Result()
	resp.Request = req
	return resp, nil
}

// TestPrivateAddresses checks to what a manifest from the network may lead.
func TestPrivateAddresses(t *testing.T) {
	asked := 0
	secret := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		io.WriteString(w, "fake and some more bytes")
	}))
	defer secret.Close()
	list := func(names ...string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, ".list"):
				io.WriteString(w, "fake\n"+strings.Join(names, "\n"))
			case r.URL.Path == "/away":
				http.Redirect(w, r, secret.URL+"/x", http.StatusFound)
			}
		})
	}
	port := secret.URL[strings.LastIndexByte(secret.URL, ':'):]
	for _, test := range []struct {
		name  string
		names []string
		allow bool
		want  error
	}{
		{"an address of this machine", []string{secret.URL + "/x"}, false, seek.ErrForbidden},
		{"its name", []string{"http://localhost" + port + "/x"}, false, seek.ErrForbidden},
		{"its IPv6 form", []string{"http://[::ffff:127.0.0.1]" + port + "/x"}, false, seek.ErrForbidden},
		{"a redirect to it", []string{"http://public.test/away"}, false, seek.ErrUnavailable},
		{"a file", []string{"file:///etc/passwd"}, false, seek.ErrForbidden},
		{"allowed", []string{secret.URL + "/x"}, true, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			asked = 0
			c := client.Client{
				HTTP: &http.Client{Transport: byName{"public.test": list(test.names...)}}, AllowPrivate: test.allow,
				Formats: []formats.Format{fake{}},
			}
			r, err := c.Open(context.Background(), "http://public.test/m.list")
			if err == nil {
				r.Close()
			}
			if !errors.Is(err, test.want) {
				t.Errorf("the error is %v, want %v", err, test.want)
			}
			if test.want != nil && asked > 0 {
				t.Errorf("the private host was asked %d times", asked)
			}
		})
	}
	// A manifest that itself comes from a private address may name them.
	home := httptest.NewServer(list(secret.URL + "/x"))
	defer home.Close()
	c := client.Client{Formats: []formats.Format{fake{}}}
	defer c.CloseIdleConnections()
	r, err := c.Open(context.Background(), home.URL+"/m.list")
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
}
