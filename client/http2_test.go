package client_test

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/internal/faultserver"
	"github.com/mediafrag/mediafrag/seek"
)

// Over HTTP/2 all goes over one connection, also through faults.
func TestHTTP2(t *testing.T) {
	t.Parallel() // it waits
	content := medium(300_000)
	server := faultserver.Start(t, faultserver.Config{TLS: true, Files: map[string]faultserver.File{"/m.fake": tagged(content, "1")}})
	server.Fault(func(n int, r *http.Request) faultserver.Fault {
		if r.ProtoMajor != 2 {
			t.Errorf("request %d over %s", n, r.Proto)
		}
		return []faultserver.Fault{
			{}, {},
			{Break: true, After: 20_000},
			{Stall: true, After: 20_000},
			{Status: 503},
			{AtMost: 50_000},
			{IgnoreRange: true},
		}[min(n, 6)]
	})
	var mu sync.Mutex
	trips := 0
	observer := seek.ObserverFunc(func(_ context.Context, e seek.Event) {
		mu.Lock()
		defer mu.Unlock()
		trips += e.NewTrips
	})
	c := hurried(t, &client.Client{HTTP: server.Client(t), IdleTimeout: stalled, Observer: observer})
	clip, err := c.Clip(context.Background(), server.URL+"/m.fake#t=60,250")
	check(t, err)
	defer clip.Close()
	got, err := io.ReadAll(clip)
	if err != nil || string(got) != "fake"+string(content[60_004:250_004]) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	// Head and tail may each have dialled before either knew of HTTP/2.
	if n := server.Stats().Connections; n > 2 {
		t.Errorf("%d connections, want 1", n)
	}
	mu.Lock()
	defer mu.Unlock()
	if trips < 2 {
		t.Errorf("connecting took %d round trips, want 2: TCP and TLS 1.3", trips)
	}
}
