package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/faultserver"
	"github.com/mediafrag/mediafrag/seek"
)

func TestClip(t *testing.T) {
	content := medium(300_000)
	dir := t.TempDir()
	path := filepath.Join(dir, "a b?c.fake")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	server := serve(t, tagged(content, "1"))
	store := seek.OpenerFunc(func(_ context.Context, name string) (seek.Source, error) {
		if name != "store:bucket/m" {
			t.Errorf("opening %q", name)
		}
		return memory{name, content}, nil
	})
	want := append([]byte("fake"), content[100_004:200_004]...)
	for _, uri := range []string{server.URL + "/m.fake?y", "file://" + dir + "/a%20b%3Fc.fake", path, "store:bucket/m"} {
		c := hurried(t, &client.Client{Openers: map[string]seek.Opener{"store": store}})
		clip, err := c.Clip(context.Background(), uri+"#t=100,200")
		if err != nil {
			t.Fatalf("%s: %v", uri, err)
		}
		got, err := io.ReadAll(clip)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v; want %d", uri, len(got), err, len(want))
		}
		if err := clip.Close(); err != nil {
			t.Error(err)
		}
		if _, err := clip.Read(make([]byte, 1)); !errors.Is(err, seek.ErrClosed) {
			t.Errorf("%s: reading a closed clip: %v", uri, err)
		}
	}
}

// memory is a Source of a store that has no suffix ranges.
type memory struct {
	name    string
	content []byte
}

func (m memory) Open(_ context.Context, r seek.Request) (*seek.Body, error) {
	size := int64(len(m.content))
	if r.Offset < 0 {
		return nil, seek.ErrNoRanges
	}
	end := size
	if r.Length >= 0 {
		end = min(size, r.End())
	}
	return &seek.Body{
		Info:       seek.Info{Name: m.name, Size: size},
		Offset:     r.Offset,
		ReadCloser: io.NopCloser(bytes.NewReader(m.content[min(r.Offset, size):end])),
	}, nil
}

// Opening takes one round trip: head and tail at once. A clip takes one more,
// and nothing is asked for twice.
func TestOpeningAsksForBothEndsAtOnce(t *testing.T) {
	content := medium(300_000)
	server := serve(t, tagged(content, "1"))
	both := make(chan struct{})
	server.Fault(func(n int, r *http.Request) faultserver.Fault {
		switch n {
		case 0: // not answered before the other is asked
			select {
			case <-both:
			case <-time.After(10 * time.Second):
				t.Error("one end waits for the other")
			}
		case 1:
			close(both)
		}
		return faultserver.Fault{}
	})
	ended := make(chan struct{}, 10)
	c := hurried(t, &client.Client{Observer: seek.ObserverFunc(func(_ context.Context, e seek.Event) {
		if e.Kind == seek.Ended {
			ended <- struct{}{}
		}
	})})
	r, err := c.Open(context.Background(), server.URL+"/m.fake")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	<-ended
	<-ended // the tail, too: else the clip might dial once more
	clip, err := r.Clip(context.Background(), fragmentOf("t=50,150"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(clip)
	if want := append([]byte("fake"), content[50_004:150_004]...); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, %v; want %d", len(got), err, len(want))
	}
	seen := server.Stats()
	if seen.Requests != 3 || seen.RoundTrips != 2 || seen.Connections != 2 {
		t.Errorf("%+v, want 3 requests in 2 round trips over 2 connections", seen)
	}
	asked := map[string]bool{}
	for _, q := range server.Log() {
		asked[q.Header.Get("Range")] = true
	}
	for _, want := range []string{"bytes=0-65535", "bytes=-65536", "bytes=65536-150003"} {
		if !asked[want] {
			t.Errorf("%s was not asked for, but %v", want, asked)
		}
	}
}

// Detection does not wait for the tail, which here never comes.
func TestDetectionDoesNotWaitForTheTail(t *testing.T) {
	server := serve(t, tagged(medium(300_000), "1"))
	server.Fault(func(_ int, r *http.Request) faultserver.Fault {
		return faultserver.Fault{Silent: strings.HasPrefix(r.Header.Get("Range"), "bytes=-")}
	})
	r, err := hurried(t, &client.Client{}).Open(context.Background(), server.URL+"/m.fake")
	if err != nil {
		t.Fatal(err)
	}
	if got := r.SourceInfo().Size; got != 300_000 {
		t.Errorf("size %d", got)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// A playlist is small and is fetched whole, by a request that every server
// answers well; what it names is opened once each.
func TestPlaylist(t *testing.T) {
	content := medium(10_000)
	// The second has no validator: only whoever remembers its size sees a change.
	files := map[string]faultserver.File{"/a.fake": tagged(content, "a"), "/b.fake": {Content: content}}
	server := faultserver.Start(t, faultserver.Config{Files: files})
	server.Set("/p.list", faultserver.File{Content: []byte("fake\n" + server.URL + "/a.fake\n" + server.URL + "/b.fake\n")})
	c := hurried(t, &client.Client{})
	r, err := c.Open(context.Background(), server.URL+"/p.list?token=1")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	log := server.Log()
	if log[0].Path != "/p.list" || log[0].Header.Get("Range") != "" || len(log) != 3 {
		t.Errorf("asked for %+v", log)
	}
	server.Set("/b.fake", faultserver.File{Content: otherMedium(9000)})
	clip, err := r.Clip(context.Background(), fragmentOf("t=0,1"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(clip)
	if !errors.Is(err, seek.ErrChanged) || !bytes.Equal(got, content[4:1004]) {
		t.Errorf("%d bytes, %v; want those of the first segment, and ErrChanged", len(got), err)
	}
}

// However often its parts are read, another resource is opened once.
func TestOtherResourcesAreOpenedOnce(t *testing.T) {
	var mu sync.Mutex
	opened := map[string]int{}
	store := seek.OpenerFunc(func(_ context.Context, name string) (seek.Source, error) {
		mu.Lock()
		defer mu.Unlock()
		opened[name]++
		if name == "store:p.list" {
			return memory{name, []byte("fake\nstore:m\n")}, nil
		}
		return memory{name, medium(2000)}, nil
	})
	r, err := hurried(t, &client.Client{Openers: map[string]seek.Opener{"store": store}}).Open(context.Background(), "store:p.list")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 3 {
		clip, err := r.Clip(context.Background(), fragmentOf("t=0,1"))
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, clip); n != 1000 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		clip.Close()
	}
	if opened["store:p.list"] != 1 || opened["store:m"] != 1 {
		t.Errorf("opened %v, want each once", opened)
	}
}

func TestNoFragment(t *testing.T) {
	server := serve(t, tagged(medium(1000), "1"))
	c := hurried(t, &client.Client{})
	for _, fragment := range []string{"", "#", "#t=20,10", "#x=y"} {
		clip, err := c.Clip(context.Background(), server.URL+"/m.fake?secret=1"+fragment)
		if !errors.Is(err, formats.ErrNoFragment) || clip != nil || strings.Contains(err.Error(), "secret=1") {
			t.Errorf("%q: %v", fragment, err)
		}
	}
	wantRequests(t, server)
}

func TestUnknownFormat(t *testing.T) {
	server := serve(t, faultserver.File{Content: []byte("<html>log in</html>"), Type: "text/html"})
	_, err := hurried(t, &client.Client{}).Open(context.Background(), server.URL+"/m.fake?secret=1")
	if !errors.Is(err, formats.ErrUnknownFormat) || !strings.Contains(err.Error(), "text/html") || strings.Contains(err.Error(), "secret=1") {
		t.Errorf("%v, want ErrUnknownFormat that names the type", err)
	}
}

func TestEmptyResource(t *testing.T) {
	for _, f := range []faultserver.Fault{{}, {IgnoreRange: true}} {
		server := serve(t, tagged(nil, "1"))
		server.Fault(always(f))
		_, err := hurried(t, &client.Client{}).Open(context.Background(), server.URL+"/m.fake")
		if !errors.Is(err, formats.ErrUnknownFormat) || !strings.Contains(err.Error(), "0 bytes") {
			t.Errorf("%+v: %v, want ErrUnknownFormat that states the size", f, err)
		}
	}
}

// Closing a resource ends its clips, also one that waits for bytes.
func TestCloseEndsClips(t *testing.T) {
	server := serve(t, tagged(medium(300_000), "1"))
	server.Set("/p.list", faultserver.File{Content: []byte("fake\n" + server.URL + "/m.fake\n")})
	stalled := make(chan struct{})
	server.Fault(func(n int, r *http.Request) faultserver.Fault {
		if r.Header.Get("Range") == "bytes=4-1003" {
			close(stalled)
			return faultserver.Fault{Silent: true}
		}
		return faultserver.Fault{}
	})
	r, err := hurried(t, &client.Client{}).Open(context.Background(), server.URL+"/p.list")
	if err != nil {
		t.Fatal(err)
	}
	clip, err := r.Clip(context.Background(), fragmentOf("t=0,1"))
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan error)
	go func() {
		_, err := io.Copy(io.Discard, clip)
		read <- err
	}()
	<-stalled
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-read:
		if err == nil {
			t.Error("the clip was read to its end")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the clip still waits for bytes")
	}
	if _, err := r.Clip(context.Background(), fragmentOf("t=1,2")); !errors.Is(err, seek.ErrClosed) {
		t.Errorf("a clip of a closed resource: %v", err)
	}
	if _, err := r.Deliver(context.Background(), clip.Plan).Read(make([]byte, 1)); !errors.Is(err, seek.ErrClosed) {
		t.Errorf("reading a plan of a closed resource: %v", err)
	}
	if err := clip.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

// The context of a clip ends its reading, and that of Open does not.
func TestContexts(t *testing.T) {
	content := medium(300_000)
	server := serve(t, tagged(content, "1"))
	ctx, cancel := context.WithCancel(context.Background())
	r, err := hurried(t, &client.Client{}).Open(ctx, server.URL+"/m.fake")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cancel()
	clip, err := r.Clip(context.Background(), fragmentOf("t=50,150"))
	if err != nil {
		t.Fatal(err)
	}
	defer clip.Close()
	if n, err := io.Copy(io.Discard, clip); n != 100_004 || err != nil {
		t.Errorf("after the context of Open had ended: %d bytes, %v", n, err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	second, err := r.Clip(ctx, fragmentOf("t=50,150"))
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	cancel()
	if _, err := io.Copy(io.Discard, second); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context of the clip had ended: %v", err)
	}
}

func TestWarnings(t *testing.T) {
	server := serve(t, tagged(medium(3000), "1"))
	clip, err := hurried(t, &client.Client{}).Clip(context.Background(), server.URL+"/m.fake#t=1,2&what=ever")
	if err != nil {
		t.Fatal(err)
	}
	defer clip.Close()
	if len(clip.Plan.Warnings) != 1 || clip.Plan.Warnings[0].Pair != "what=ever" {
		t.Errorf("warnings %v", clip.Plan.Warnings)
	}
}
