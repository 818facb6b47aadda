package client_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// exampleServer serves a medium of 300 s for the examples.
func exampleServer() *httptest.Server {
	content := medium(300_004)
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
}

// Download a fragment, and nothing else, to a file.
func ExampleClient_Clip() {
	server := exampleServer()
	defer server.Close()
	ctx := context.Background()

	c := client.Client{Formats: []formats.Format{fake{}}} // leave Formats out for what is built in
	defer c.CloseIdleConnections()
	clip, err := c.Clip(ctx, server.URL+"/talk.fake#t=60,100")
	if err != nil {
		log.Fatal(err)
	}
	defer clip.Close()
	path := filepath.Join(os.TempDir(), "mediafrag-example.fake")
	file, err := os.Create(path)
	if err != nil {
		log.Fatal(err)
	}
	defer os.Remove(path)
	n, err := clip.Download(ctx, file)
	if err != nil {
		log.Fatal(err)
	}
	if err := file.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, "bytes of", clip.Plan.MediaType)
	// Output: 40004 bytes of video/fake
}

// Many intervals of one medium: its index is read once.
func ExampleResource_Clip() {
	server := exampleServer()
	defer server.Close()
	ctx := context.Background()

	c := client.Client{Formats: []formats.Format{fake{}}}
	defer c.CloseIdleConnections()
	talk, err := c.Open(ctx, server.URL+"/talk.fake")
	if err != nil {
		log.Fatal(err)
	}
	defer talk.Close()
	for _, text := range []string{"t=0,10", "t=100,101.5", "t=299"} {
		clip, err := talk.Clip(ctx, fragment.Parse(text))
		if err != nil {
			log.Fatal(err)
		}
		n, err := io.Copy(io.Discard, clip)
		if err != nil {
			log.Fatal(err)
		}
		clip.Close()
		fmt.Println(text, n)
	}
	// Output:
	// t=0,10 10004
	// t=100,101.5 1504
	// t=299 1004
}

// Measure what a clip costs.
func ExampleClient_observer() {
	server := exampleServer()
	defer server.Close()

	var totals seek.Totals
	c := client.Client{Formats: []formats.Format{fake{}}, Observer: &totals}
	defer c.CloseIdleConnections()
	clip, err := c.Clip(context.Background(), server.URL+"/talk.fake#t=100,150")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, clip); err != nil {
		log.Fatal(err)
	}
	clip.Close()
	cost := totals.Transfer()
	fmt.Println(cost.Requests, "requests")
	// Output: 3 requests
}

// A store that is not an HTTP server is a Source of a few lines.
func ExampleClient_openers() {
	store := seek.OpenerFunc(func(_ context.Context, name string) (seek.Source, error) {
		return memory{name, medium(300_004)}, nil
	})
	c := client.Client{
		Formats: []formats.Format{fake{}},
		Openers: map[string]seek.Opener{"store": store},
	}
	clip, err := c.Clip(context.Background(), "store:bucket/talk.fake#t=1,2")
	if err != nil {
		log.Fatal(err)
	}
	defer clip.Close()
	n, err := io.Copy(io.Discard, clip)
	fmt.Println(n, err)
	// Output: 1004 <nil>
}
