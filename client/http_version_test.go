package client_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/internal/faultserver"
	"github.com/mediafrag/mediafrag/seek"
)

// Two versions of a resource never mix, whatever the server has to tell them
// apart by.
func TestChange(t *testing.T) {
	old, changed := medium(50_000), otherMedium(50_000)
	later := longAgo.Add(time.Hour)
	tests := []struct {
		name          string
		before, after faultserver.File
		ifRange       string // that is sent with the second request
		fault         faultserver.Fault
	}{
		{"strong tag", tagged(old, "1"), tagged(changed, "2"), `"1"`, faultserver.Fault{}},
		{"strong tag, server without If-Range", tagged(old, "1"), tagged(changed, "2"), `"1"`, faultserver.Fault{IgnoreIfRange: true}},
		{"date", faultserver.File{Content: old, Modified: longAgo}, faultserver.File{Content: changed, Modified: later},
			longAgo.UTC().Format(http.TimeFormat), faultserver.Fault{}},
		{"date, server without If-Range", faultserver.File{Content: old, Modified: longAgo}, faultserver.File{Content: changed, Modified: later},
			longAgo.UTC().Format(http.TimeFormat), faultserver.Fault{IgnoreIfRange: true}},
		{"date beside a weak tag", faultserver.File{Content: old, ETag: `W/"1"`, Modified: longAgo}, faultserver.File{Content: changed, ETag: `W/"1"`, Modified: later},
			"", faultserver.Fault{}},
		{"weak tag alone", faultserver.File{Content: old, ETag: `W/"1"`}, faultserver.File{Content: changed, ETag: `W/"2"`}, "", faultserver.Fault{}},
		{"size alone", faultserver.File{Content: old}, faultserver.File{Content: changed[:49_000]}, "", faultserver.Fault{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := serve(t, tt.before)
			server.Fault(always(tt.fault))
			s := newSource(t, server.URL+"/m.fake")
			wantBytes(t, s, span(0, 1000), old[:1000])
			server.Set("/m.fake", tt.after)
			err := wantError(t, s, span(1000, 1000), seek.ErrChanged, nil)
			if got := server.Log()[1].Header.Get("If-Range"); got != tt.ifRange {
				t.Errorf("If-Range %q, want %q", got, tt.ifRange)
			}
			if !strings.Contains(err.Problem, "open it again") {
				t.Errorf("%v does not say what to do", err)
			}
		})
	}
}

// Of two first answers at the same time that are of two versions, one counts.
func TestChangeBetweenParallelFirstRanges(t *testing.T) {
	old, changed := medium(50_000), otherMedium(50_000)
	server := serve(t, tagged(old, "1"))
	both := make(chan struct{})
	server.Fault(func(n int, _ *http.Request) faultserver.Fault {
		if n == 1 {
			close(both)
			other := tagged(changed, "2")
			return faultserver.Fault{File: &other}
		}
		<-both // so that neither has answered when the other is asked
		return faultserver.Fault{}
	})
	s := newSource(t, server.URL+"/m.fake")
	type result struct {
		got []byte
		err error
	}
	results := make(chan result)
	for range 2 {
		go func() {
			got, _, err := read(s, span(100, 1000))
			results <- result{got, err}
		}()
	}
	a, b := <-results, <-results
	if a.err != nil {
		a, b = b, a
	}
	if a.err != nil || !errors.Is(b.err, seek.ErrChanged) || len(b.got) > 0 {
		t.Errorf("errors %v and %v, want one ErrChanged", a.err, b.err)
	}
	if !bytes.Equal(a.got, old[100:1100]) && !bytes.Equal(a.got, changed[100:1100]) {
		t.Error("the versions were mixed")
	}
}

// The same version, however it is told, is no change.
func TestNoChange(t *testing.T) {
	content := medium(50_000)
	tests := []struct {
		name          string
		before, after faultserver.File
		validator     string
	}{
		{"strong tag", tagged(content, "1"), tagged(content, "1"), `"1"`},
		{"weak tag of another machine beside the same date", faultserver.File{Content: content, ETag: `W/"1"`, Modified: longAgo},
			faultserver.File{Content: content, ETag: `W/"2"`, Modified: longAgo}, longAgo.UTC().Format(http.TimeFormat) + "/50000"},
		{"weak tag alone", faultserver.File{Content: content, ETag: `W/"1"`}, faultserver.File{Content: content, ETag: `W/"1"`}, `W/"1"/50000`},
		{"no validator", faultserver.File{Content: content}, faultserver.File{Content: content}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := serve(t, tt.before)
			s := newSource(t, server.URL+"/m.fake")
			body := wantBytes(t, s, span(0, 1000), content[:1000])
			if body.Validator != tt.validator {
				t.Errorf("validator %q, want %q", body.Validator, tt.validator)
			}
			server.Set("/m.fake", tt.after)
			wantBytes(t, s, span(1000, 1000), content[1000:2000])
			wantRequests(t, server, "bytes=0-999", "bytes=1000-1999")
		})
	}
}

// A date that is as young as the answer may hide a second change: it is
// compared, but must not be sent.
func TestYoungDateIsNoIfRange(t *testing.T) {
	content := medium(5000)
	server := serve(t, faultserver.File{Content: content, Modified: time.Now().Add(time.Minute)})
	s := newSource(t, server.URL+"/m.fake")
	wantBytes(t, s, span(0, 10), content[:10])
	wantBytes(t, s, span(10, 10), content[10:20])
	if got := server.Log()[1].Header.Get("If-Range"); got != "" {
		t.Errorf("If-Range %q", got)
	}
}

// A server that answers If-Range with all of the same version is asked without.
func TestIfRangeMisread(t *testing.T) {
	content := medium(3 << 20)
	server := serve(t, tagged(content, "1"))
	server.Fault(func(_ int, r *http.Request) faultserver.Fault {
		return faultserver.Fault{IgnoreRange: r.Header.Get("If-Range") != ""}
	})
	s := newSource(t, server.URL+"/m.fake")
	wantBytes(t, s, span(0, 10), content[:10])
	wantBytes(t, s, span(2<<20, 10), content[2<<20:2<<20+10])
	wantBytes(t, s, span(2<<20+10, 10), content[2<<20+10:2<<20+20])
	if n := server.Stats().Requests; n != 4 {
		t.Errorf("%d requests, want 4: the second once more without If-Range, the third without at once", n)
	}
}

func TestGrowing(t *testing.T) {
	content := medium(50_000)
	server := serve(t, tagged(content[:20_000], "1"))
	s := sourceOf(t, hurried(t, &client.Client{Growing: true}), server.URL+"/m.fake")
	wantBytes(t, s, suffix(1000), content[19_000:20_000])
	server.Set("/m.fake", tagged(content, "2"))
	body := wantBytes(t, s, span(20_000, 1000), content[20_000:21_000])
	if body.Size != 50_000 {
		t.Errorf("size %d, want 50000", body.Size)
	}
	body = wantBytes(t, s, suffix(1000), content[49_000:])
	if body.Offset != 49_000 {
		t.Errorf("the suffix begins at %d, want 49000", body.Offset)
	}
	for i, r := range server.Log() {
		if got := r.Header.Get("If-Range"); got != "" {
			t.Errorf("request %d: If-Range %q would make an answer of the whole", i, got)
		}
	}
	server.Set("/m.fake", tagged(content[:10_000], "3"))
	wantError(t, s, span(0, 10), seek.ErrChanged, nil)
}

// An answer that tells of fewer bytes than one that came before it, but was asked
// for earlier, tells of no change.
func TestGrowingOutOfOrder(t *testing.T) {
	content := medium(50_000)
	asked, grown := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := content
		if r.Header.Get("Range") == "bytes=0-999" {
			now = content[:20_000] // what there was when it came
			close(asked)
			<-grown
		}
		http.ServeContent(w, r, "m.fake", time.Time{}, bytes.NewReader(now))
	}))
	t.Cleanup(server.Close)
	s := sourceOf(t, hurried(t, &client.Client{Growing: true}), server.URL+"/m.fake")
	early := make(chan error)
	go func() {
		got, _, err := read(s, span(0, 1000))
		if err == nil && !bytes.Equal(got, content[:1000]) {
			err = errors.New("wrong bytes")
		}
		early <- err
	}()
	<-asked
	wantBytes(t, s, suffix(1000), content[49_000:])
	close(grown)
	if err := <-early; err != nil {
		t.Errorf("the answer to what was asked for first: %v", err)
	}
}

// Without Growing, a larger size is a change.
func TestGrowth(t *testing.T) {
	content := medium(50_000)
	server := serve(t, faultserver.File{Content: content[:20_000]})
	s := newSource(t, server.URL+"/m.fake")
	wantBytes(t, s, span(0, 10), content[:10])
	server.Set("/m.fake", faultserver.File{Content: content})
	wantError(t, s, span(0, 10), seek.ErrChanged, nil)
}

// A change between the two parts of a body that broke off is found, too.
func TestChangeAfterBreak(t *testing.T) {
	old, changed := medium(300_000), otherMedium(300_000)
	for _, r := range []seek.Request{span(1000, 200_000), span(0, seek.ToEnd), span(5, seek.ToEnd)} {
		for _, ignore := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, If-Range ignored %v", r.Range, ignore), func(t *testing.T) {
				server := serve(t, tagged(old, "1"))
				server.Fault(func(n int, _ *http.Request) faultserver.Fault {
					if n == 0 {
						return faultserver.Fault{Break: true, After: 100_000}
					}
					server.Set("/m.fake", tagged(changed, "2"))
					return faultserver.Fault{IgnoreIfRange: ignore}
				})
				wantError(t, newSource(t, server.URL+"/m.fake"), r, seek.ErrChanged, old[r.Offset:])
				if n := server.Stats().Requests; n != 2 {
					t.Errorf("%d requests, want 2", n)
				}
			})
		}
	}
}
