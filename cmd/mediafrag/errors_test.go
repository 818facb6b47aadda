package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
