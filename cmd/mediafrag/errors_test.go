package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// TestDiagnose: what each condition is on the command line, for a resource over
// the network and for a local file.
func TestDiagnose(t *testing.T) {
	answer := func(status int, err error) error {
		return &client.StatusError{Status: status, URL: "http://host/x", Err: err}
	}
	tests := []struct {
		name         string
		err          error
		kind         string
		status, here int // over the network; for a local file
	}{
		{"changed", answer(200, seek.ErrChanged), "changed", exitServer, exitFailure},
		{"404", answer(404, seek.ErrNotFound), "status", exitServer, exitFailure},
		{"403", answer(403, seek.ErrForbidden), "status", exitServer, exitFailure},
		{"503", answer(503, seek.ErrUnavailable), "status", exitServer, exitFailure},
		{"no answer", answer(0, seek.ErrUnavailable), "io", exitServer, exitFailure},
		{"no ranges", answer(200, seek.ErrNoRanges), "range", exitServer, exitFailure},
		{"past the end", &formats.PastEndError{Duration: fragment.Seconds(9)}, "past-end", exitNothing, exitNothing},
		{"no fragment", formats.ErrNoFragment, "no-fragment", exitNothing, exitNothing},
		{"no track", &formats.TrackError{ID: "x"}, "no-fragment", exitNothing, exitNothing},
		{"limit", &formats.Error{Container: "mp4", Offset: -1, Err: seek.ErrLimit}, "limit", exitMedia, exitMedia},
		{"damaged", &formats.Error{Container: "mp4", Offset: 7, Err: formats.ErrDamaged}, "damaged", exitMedia, exitMedia},
		{"unsupported", formats.ErrUnsupported, "format", exitMedia, exitMedia},
		{"unknown", formats.ErrUnknownFormat, "format", exitMedia, exitMedia},
		{"file", fs.ErrPermission, "io", exitFailure, exitFailure},
		{"usage", usagef("no"), "usage", exitUsage, exitUsage},
		{"other", errors.New("other"), "io", exitFailure, exitFailure},
	}
	for _, test := range tests {
		err := fmt.Errorf("doing it: %w", test.err)
		far := diagnose(t.Context(), (&target{uri: "http://host/x#t=1"}).about(err))
		near := diagnose(t.Context(), (&target{uri: "what?.mp4"}).about(err))
		if far.Kind != test.kind || far.status != test.status {
			t.Errorf("%s: kind %s, status %d, want %s, %d", test.name, far.Kind, far.status, test.kind, test.status)
		}
		if near.status != test.here {
			t.Errorf("%s: status %d for a local file, want %d", test.name, near.status, test.here)
		}
		if *near.URL != "what?.mp4" {
			t.Errorf("%s: url %q", test.name, *near.URL)
		}
		if strings.ContainsAny(far.Message, "\n\r") || !strings.HasPrefix(test.name, "us") && !strings.Contains(far.Message, "http://host/x") {
			t.Errorf("%s: message %q", test.name, far.Message)
		}
	}
}

func TestInterruptedIsNoOtherFailure(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f := diagnose(ctx, seek.ErrUnavailable); f.status != exitInterrupted {
		t.Errorf("status %d, want 130", f.status)
	}
}

// TestTimeout: --timeout ends a wait for bytes that never come, and what was
// begun is removed.
func TestTimeout(t *testing.T) {
	t.Parallel() // it waits
	server := newTestServer(t)
	dir := t.TempDir()
	begun := time.Now()
	r := command(t, "get", server.URL+"/stall/movie.mp4#t=8,10", "--timeout", "50ms", "-o", filepath.Join(dir, "x.mp4"))
	if took := time.Since(begun); r.status != exitServer || took > client.DefaultIdleTimeout/2 {
		t.Errorf("status %d after %v, want 5 soon: %s", r.status, took, r.stderr)
	}
	if files := names(t, dir); len(files) > 0 {
		t.Errorf("%v was left behind", files)
	}
}

// TestOneLine: names and servers cannot forge lines or move the cursor.
func TestOneLine(t *testing.T) {
	a := &app{}
	var b strings.Builder
	a.stderr = &b
	a.note("%s", "a\nb\x1b[31mc\u0085d")
	if got := b.String(); got != "a b [31mc d\n" {
		t.Errorf("%q", got)
	}
}

// TestNoteHidesSecrets: whatever leads a URL to standard error, and however odd
// it is.
func TestNoteHidesSecrets(t *testing.T) {
	var b strings.Builder
	a := &app{stderr: &b, args: []string{"get", "http://al ice:s3cret@host/x?y=s3 cret#t=1"}}
	a.note("warning: %s and http://bob:s3cret@other/y?sig=s3cret&key=s3cret.", "http://al ice:s3cret@host/x?y=s3 cret")
	if got, want := b.String(), "warning: http://host/x?y= and http://other/y?sig=&key=\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestUnreachable: where a host gave no answer the failure says what to look at;
// to try again later helps only where there was one.
func TestUnreachable(t *testing.T) {
	refused := httptest.NewServer(http.NotFoundHandler())
	refused.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	dns := &net.DNSError{Err: "no such host", Name: "host.invalid", IsNotFound: true}
	for _, test := range []struct {
		name, host string
		err        error // instead of asking
		want       string
	}{
		{"nothing listens", refused.URL, nil, "host's name and port"},
		{"no such name", "", dns, "host's name, and"},
		{"a certificate that nobody knows", secure.URL, nil, "certificate"},
		{"no TLS", strings.Replace(plain.URL, "http:", "https:", 1), nil, "http:// or https://"},
		{"no byte for long", "", errors.New("no byte within the idle timeout"), "later"},
	} {
		err := test.err
		if err == nil {
			_, err = http.Get(test.host)
		}
		answer := &client.StatusError{URL: "http://host/x", Err: seek.ErrUnavailable, Cause: err}
		f := diagnose(t.Context(), (&target{uri: "http://host/x"}).about(answer))
		if f.status != exitServer || !strings.Contains(f.Message, test.want) {
			t.Errorf("%s: exit status %d, %q; want %q", test.name, f.status, f.Message, test.want)
		}
		if test.want != "later" && strings.Contains(f.Message, "later") {
			t.Errorf("%s: %q sends one away", test.name, f.Message)
		}
	}
	f := diagnose(t.Context(), (&target{uri: "http://host/x"}).about(&client.StatusError{Status: 503, Err: seek.ErrUnavailable, Cause: dns}))
	if !strings.Contains(f.Message, "later") {
		t.Errorf("an answer: %q", f.Message)
	}
}

// TestAllowPrivate: a playlist from the public network leads to this machine only
// where that is allowed.
func TestAllowPrivate(t *testing.T) {
	server := newTestServer(t)
	list := "#EXTM3U\n#EXT-X-TARGETDURATION:11\n#EXTINF:9.98458,\n" + server.URL + "/hls/fileSequence0.aac\n#EXT-X-ENDLIST\n"
	public := func() *client.Client { return &client.Client{HTTP: &http.Client{Transport: publicHost(list)}} }
	args := []string{"get", "http://public.test/list.m3u8#t=1,2", "-o", filepath.Join(t.TempDir(), "x.aac")}
	r := commandWith(t, &app{newClient: public}, args...)
	if r.status != exitServer || !strings.Contains(r.stderr, "--allow-private") {
		t.Errorf("exit status %d, %q", r.status, r.stderr)
	}
	if r := commandWith(t, &app{newClient: public}, append(args, "--allow-private")...); r.status != exitDone {
		t.Errorf("allowed: exit status %d, %q", r.status, r.stderr)
	}
}

// publicHost is the playlist of public.test; all other hosts are as they are.
type publicHost string

func (p publicHost) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != "public.test" {
		return http.DefaultTransport.RoundTrip(req)
	}
	w := httptest.NewRecorder()
	io.WriteString(w, string(p))
	return w.Result(), nil
}
