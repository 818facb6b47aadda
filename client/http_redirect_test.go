package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/faultserver"
	"github.com/mediafrag/mediafrag/seek"
)

// twoHosts returns a server that redirects everything to another one, which
// serves "/m.fake". To the client they are two hosts.
func twoHosts(t *testing.T, f faultserver.File) (origin, target *faultserver.Server) {
	t.Helper()
	target = serve(t, f)
	origin = faultserver.Start(t, faultserver.Config{})
	origin.Fault(always(faultserver.Fault{Redirect: target.URL + "/m.fake?signature=1"}))
	return origin, target
}

// The target of a redirect is kept for the job.
func TestRedirectIsKept(t *testing.T) {
	content := medium(10_000)
	origin, target := twoHosts(t, tagged(content, "1"))
	s := newSource(t, origin.URL+"/x?y=z")
	body := wantBytes(t, s, span(0, 1000), content[:1000])
	if want := target.URL + "/m.fake"; body.Name != want {
		t.Errorf("name %q, want %q: where redirects led, without the query of a target that may expire", body.Name, want)
	}
	wantBytes(t, s, span(1000, 1000), content[1000:2000])
	wantBytes(t, s, span(2000, 1000), content[2000:3000])
	wantRequests(t, origin, "bytes=0-999")
	wantRequests(t, target, "bytes=0-999", "bytes=1000-1999", "bytes=2000-2999")
}

func TestRedirectStatuses(t *testing.T) {
	content := medium(1000)
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := serve(t, tagged(content, "1"))
		server.Fault(once(0, faultserver.Fault{Status: status, Redirect: "m.fake?relative#fragment"}))
		wantBytes(t, newSource(t, server.URL+"/m.fake"), span(10, 10), content[10:20])
		if n := server.Stats().Connections; n != 1 {
			t.Errorf("%d: %d connections, want 1", status, n)
		}
	}
}

// Where the target stops working, the origin is asked once for the new one.
func TestExpiredTarget(t *testing.T) {
	content := medium(10_000)
	for _, status := range []int{400, 401, 403, 404, 410, 503} {
		target := serve(t, tagged(content, "1"))
		origin := faultserver.Start(t, faultserver.Config{})
		var issued atomic.Int64 // signatures that hold for one request
		origin.Fault(func(int, *http.Request) faultserver.Fault {
			return faultserver.Fault{Redirect: target.URL + "/m.fake?" + strings.Repeat("x", int(issued.Add(1)))}
		})
		used := map[string]bool{}
		target.Fault(func(_ int, r *http.Request) faultserver.Fault {
			if used[r.URL.RawQuery] {
				return faultserver.Fault{Status: status}
			}
			used[r.URL.RawQuery] = true
			return faultserver.Fault{}
		})
		s := newSource(t, origin.URL+"/x")
		wantBytes(t, s, span(0, 1000), content[:1000])
		body := wantBytes(t, s, span(1000, 1000), content[1000:2000])
		wantRequests(t, origin, "bytes=0-999", "bytes=1000-1999")
		if want := target.URL + "/m.fake"; body.Name != want {
			t.Errorf("name %q, want %q as before", body.Name, want)
		}

		// A new target that does not work either is the end.
		origin.Reset()
		target.Fault(always(faultserver.Fault{Status: status}))
		_, _, err := read(s, span(2000, 1000))
		if err == nil {
			t.Fatalf("%d: no error", status)
		}
		wantRequests(t, origin, "bytes=2000-2999")
	}
}

// A request whose target has expired takes the new one that another request has
// found meanwhile; where that fails, too, it ends.
func TestTargetOfAnotherRequest(t *testing.T) {
	content := medium(10_000)
	for _, works := range []bool{true, false} {
		target := serve(t, tagged(content, "1"))
		origin := faultserver.Start(t, faultserver.Config{})
		origin.Fault(func(n int, _ *http.Request) faultserver.Fault {
			return faultserver.Fault{Redirect: fmt.Sprintf("%s/m.fake?%d", target.URL, n)}
		})
		s := newSource(t, origin.URL+"/x")
		wantBytes(t, s, span(0, 1000), content[:1000])
		target.Fault(func(n int, r *http.Request) faultserver.Fault {
			if n == 1 { // while the first request waits for its 403
				if _, _, err := read(s, span(2000, 10)); err != nil {
					t.Errorf("the other request: %v", err)
				}
			}
			first, other := r.URL.RawQuery == "0", r.Header.Get("Range") == "bytes=2000-2009"
			if first || !works && !other {
				return faultserver.Fault{Status: http.StatusForbidden}
			}
			return faultserver.Fault{}
		})
		if works {
			wantBytes(t, s, span(1000, 10), content[1000:1010])
		} else {
			wantError(t, s, span(1000, 10), seek.ErrForbidden, nil)
		}
		wantRequests(t, origin, "bytes=0-999", "bytes=2000-2009")
	}
}

// The other version behind a new target is found out.
func TestExpiredTargetOfAnotherVersion(t *testing.T) {
	content := medium(10_000)
	origin, target := twoHosts(t, tagged(content, "1"))
	s := newSource(t, origin.URL+"/x")
	wantBytes(t, s, span(0, 1000), content[:1000])
	target.Fault(once(1, faultserver.Fault{Status: 403}))
	target.Set("/m.fake", tagged(otherMedium(10_000), "2"))
	wantError(t, s, span(1000, 1000), seek.ErrChanged, nil)
}

func TestRedirectsThatAreNotFollowed(t *testing.T) {
	server := serve(t, tagged(medium(100), "1"))
	for to, says := range map[string]string{
		"/m.fake":            "more than 20 redirects",
		"file:///etc/passwd": `"file"`,
		"ftp://host/x":       `"ftp"`,
		"http:///x":          "no host",
		"http://%zz/":        "no valid URI",
	} {
		server.Reset()
		server.Fault(always(faultserver.Fault{Redirect: to}))
		err := wantError(t, newSource(t, server.URL+"/m.fake?key=secret"), span(0, 10), seek.ErrUnavailable, nil)
		if !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") || err.Status != 302 {
			t.Errorf("%v does not say %q, or tells a secret", err, says)
		}
		if n := server.Stats().Requests; to == "/m.fake" && n != client.MaxRedirects+1 || to != "/m.fake" && n != 1 {
			t.Errorf("%s: %d requests", to, n)
		}
	}
	server.Fault(always(faultserver.Fault{Status: 302}))
	wantError(t, newSource(t, server.URL+"/m.fake"), span(0, 10), seek.ErrUnavailable, nil)
}

// The caller's own policy is asked, too.
func TestCheckRedirect(t *testing.T) {
	origin, target := twoHosts(t, tagged(medium(100), "1"))
	own := target.Client(t)
	stop := errors.New("not there")
	own.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if len(via) != 1 || req.URL.Path != "/m.fake" {
			t.Errorf("asked about %s after %d", req.URL, len(via))
		}
		return stop
	}
	s := sourceOf(t, hurried(t, &client.Client{HTTP: own}), origin.URL+"/x")
	if err := wantError(t, s, span(0, 10), seek.ErrUnavailable, nil); !errors.Is(err, stop) {
		t.Errorf("%v hides the caller's error", err)
	}
	wantRequests(t, target)
}

// What lets the caller in at the host of the URI is sent there, and nowhere
// else.
func TestSecretsStayAtHome(t *testing.T) {
	content := medium(100_000)
	origin, target := twoHosts(t, tagged(content, "1"))
	header := http.Header{"Cookie": {"a=1"}, "X-Api-Key": {"2"}, "Range": {"bytes=0-1"}, "Accept-Encoding": {"gzip"}}
	s := sourceOf(t, hurried(t, &client.Client{Header: header}), strings.Replace(origin.URL, "http://", "http://me:pass@", 1)+"/x")
	wantBytes(t, s, span(0, 1000), content[:1000])
	wantBytes(t, s, span(1000, 1000), content[1000:2000])

	home := origin.Log()[0]
	user, pass, _ := (&http.Request{Header: home.Header}).BasicAuth()
	if home.Header.Get("Cookie") != "a=1" || home.Header.Get("X-Api-Key") != "2" || user != "me" || pass != "pass" {
		t.Errorf("the host of the URI was sent %v", home.Header)
	}
	for i, r := range target.Log() {
		for _, name := range []string{"Cookie", "X-Api-Key", "Authorization", "Referer"} {
			if got := r.Header.Get(name); got != "" {
				t.Errorf("request %d to the other host: %s: %s", i, name, got)
			}
		}
	}
	wantRequests(t, origin, "bytes=0-999")
	wantRequests(t, target, "bytes=0-999", "bytes=1000-1999")
	if got := home.Header["Accept-Encoding"]; len(got) != 1 || got[0] != "identity" {
		t.Errorf("Accept-Encoding %q", got)
	}
	origin.Reset()
	wantBytes(t, sourceOf(t, hurried(t, &client.Client{Header: header}), origin.URL+"/x"), span(0, seek.ToEnd), content)
	wantRequests(t, origin, "")
}

// A given Authorization goes before user information in the URI.
func TestAuthorization(t *testing.T) {
	server := serve(t, tagged(medium(100), "1"))
	header := http.Header{"Authorization": {"Bearer x"}}
	s := sourceOf(t, hurried(t, &client.Client{Header: header}), strings.Replace(server.URL, "http://", "http://me:pass@", 1)+"/m.fake")
	body := wantBytes(t, s, span(0, 4), []byte("fake"))
	if got := server.Log()[0].Header.Get("Authorization"); got != "Bearer x" {
		t.Errorf("Authorization %q", got)
	}
	if strings.Contains(body.Name, "pass") {
		t.Errorf("name %q tells a secret", body.Name)
	}
}

// The segments of a playlist get its credentials at its own host alone.
func TestSecretsAndSegments(t *testing.T) {
	content := medium(10_000)
	home, other := serve(t, tagged(content, "1")), serve(t, tagged(content, "1"))
	home.Set("/p.list", faultserver.File{Content: []byte("fake\n" + home.URL + "/m.fake\n" + other.URL + "/m.fake\n")})
	withUser := strings.Replace(home.URL, "http://", "http://me:pass@", 1)
	for _, tt := range []struct {
		uri    string
		header http.Header
		want   string
	}{
		{home.URL, http.Header{"Authorization": {"Bearer x"}}, "Bearer x"},
		{withUser, nil, "Basic bWU6cGFzcw=="},
		{withUser, http.Header{"Authorization": {"Bearer x"}}, "Bearer x"},
	} {
		home.Reset()
		other.Reset()
		clip, err := hurried(t, &client.Client{Header: tt.header}).Clip(context.Background(), tt.uri+"/p.list#t=0,1")
		if err != nil {
			t.Fatal(err)
		}
		defer clip.Close()
		if _, err := io.Copy(io.Discard, clip); err != nil {
			t.Fatal(err)
		}
		for _, r := range home.Log() {
			if got := r.Header.Get("Authorization"); got != tt.want {
				t.Errorf("%s at home came with %q, want %q", r.Path, got, tt.want)
			}
		}
		for _, r := range other.Log() {
			if got := r.Header.Get("Authorization"); got != "" {
				t.Errorf("%s elsewhere came with %s", r.Path, got)
			}
		}
	}
}

// From https to http only where nothing is at stake.
func TestDowngrade(t *testing.T) {
	content := medium(100)
	plain := serve(t, tagged(content, "1"))
	safe := faultserver.Start(t, faultserver.Config{TLS: true})
	safe.Fault(always(faultserver.Fault{Redirect: plain.URL + "/m.fake"}))
	own := safe.Client(t)
	wantBytes(t, sourceOf(t, hurried(t, &client.Client{HTTP: own, Header: http.Header{"User-Agent": {"x"}}}), safe.URL+"/x"), span(0, 10), content[:10])
	plain.Reset()

	withHeader := hurried(t, &client.Client{HTTP: own, Header: http.Header{"X-Token": {"secret"}}})
	err := wantError(t, sourceOf(t, withHeader, safe.URL+"/x"), span(0, 10), seek.ErrUnavailable, nil)
	if !strings.Contains(err.Error(), "https to http") {
		t.Errorf("%v does not say why", err)
	}
	withUser := hurried(t, &client.Client{HTTP: own})
	wantError(t, sourceOf(t, withUser, strings.Replace(safe.URL, "https://", "https://me:pass@", 1)+"/x"), span(0, 10), seek.ErrUnavailable, nil)
	wantRequests(t, plain)
}

// An unknown certificate is not tried again.
func TestUntrustedCertificate(t *testing.T) {
	server := faultserver.Start(t, faultserver.Config{TLS: true})
	err := wantError(t, newSource(t, server.URL+"/x"), span(0, 10), seek.ErrUnavailable, nil)
	if !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%v does not name the reason", err)
	}
	if n := server.Stats().Connections; n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// The caller's cookie jar is used, under its own rules.
func TestCookieJar(t *testing.T) {
	server := serve(t, tagged(medium(100), "1"))
	server.Fault(once(0, faultserver.Fault{Redirect: "/m.fake?in", Header: map[string]string{"Set-Cookie": "let=in; Path=/"}}))
	own := server.Client(t)
	own.Jar, _ = cookiejar.New(nil)
	wantBytes(t, sourceOf(t, hurried(t, &client.Client{HTTP: own}), server.URL+"/m.fake"), span(0, 4), []byte("fake"))
	if got := server.Log()[1].Header.Get("Cookie"); got != "let=in" {
		t.Errorf("Cookie %q", got)
	}
}

// What came over the network leads to no local file and to no other store; a
// local playlist leads to files beside it and below, and to the network.
func TestWhereResourcesLead(t *testing.T) {
	dir := t.TempDir()
	write := func(path string, content []byte) string {
		t.Helper()
		return writeFile(t, dir, path, content)
	}
	outside := write("outside.fake", medium(2000))
	inside := write("in/a.fake", medium(2000))
	server := serve(t, tagged(medium(2000), "1"))
	store := seek.OpenerFunc(func(_ context.Context, name string) (seek.Source, error) {
		return memory{name, medium(2000)}, nil
	})
	tests := []struct {
		from, to string // from: "http", "file" or "store"
		allowed  bool
	}{
		{"http", server.URL + "/m.fake", true},
		{"http", "file://" + inside, false},
		{"http", inside, false},
		{"http", "FILE://" + inside, false},
		{"http", "store:m", false},
		{"file", inside, true},
		{"file", "file://" + inside, true},
		{"file", outside, false},
		{"file", "file://" + dir + "/in/../outside.fake", false},
		{"file", "file://" + dir + "/in/%2e%2e/outside.fake", false},
		{"file", server.URL + "/m.fake", true},
		{"file", "store:m", false},
		{"store", "store:m", true},
		{"store", "file://" + inside, false},
		{"store", server.URL + "/m.fake", true},
	}
	for _, tt := range tests {
		list := []byte("fake\n" + tt.to + "\n")
		server.Set("/p.list", faultserver.File{Content: list})
		playlist := map[string]string{"http": server.URL + "/p.list", "file": write("in/p.list", list), "store": "playlist:p.list"}[tt.from]
		c := hurried(t, &client.Client{Openers: map[string]seek.Opener{"store": store}})
		if tt.from == "store" {
			playlist = "store:p.list"
			c.Openers["store"] = seek.OpenerFunc(func(_ context.Context, name string) (seek.Source, error) {
				if name == playlist {
					return memory{name, list}, nil
				}
				return memory{name, medium(2000)}, nil
			})
		}
		clip, err := c.Clip(context.Background(), playlist+"#t=0,1")
		if tt.allowed {
			if err != nil {
				t.Errorf("%s to %s: %v", tt.from, tt.to, err)
				continue
			}
			if n, err := io.Copy(io.Discard, clip); n != 1000 || err != nil {
				t.Errorf("%s to %s: %d bytes, %v", tt.from, tt.to, n, err)
			}
			clip.Close()
		} else if !errors.Is(err, seek.ErrForbidden) {
			t.Errorf("%s to %s: %v, want ErrForbidden", tt.from, tt.to, err)
		}
	}
}

// A plan from elsewhere leads nowhere that the resource could not.
func TestForeignPlan(t *testing.T) {
	server := serve(t, tagged(medium(2000), "1"))
	r, err := hurried(t, &client.Client{}).Open(context.Background(), server.URL+"/m.fake")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	passwd := seek.Info{Name: "file:///etc/passwd", Size: -1}
	clip := r.Deliver(context.Background(), &formats.Plan{Parts: []seek.Part{seek.Bytes(&passwd, seek.Range{Length: 10}, "")}})
	defer clip.Close()
	if n, err := io.Copy(io.Discard, clip); n != 0 || !errors.Is(err, seek.ErrForbidden) {
		t.Errorf("%d bytes, %v", n, err)
	}
}
