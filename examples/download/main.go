// Command download fetches the part of a recording that a media fragment URI
// names, and nothing else of it.
//
//	go run ./examples/download 'https://host/movie.mp4#t=60,100' clip.mp4
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/mediafrag/mediafrag/client"
)

// download writes the fragment that uri names to a file.
func download(ctx context.Context, uri, file string) (int64, error) {
	var c client.Client // ready to use
	clip, err := c.Clip(ctx, uri)
	if err != nil {
		return 0, err
	}
	defer clip.Close()
	out, err := os.Create(file)
	if err != nil {
		return 0, err
	}
	n, err := clip.Download(ctx, out) // in parallel; io.Copy(out, clip) does it in order
	return n, errors.Join(err, out.Close())
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: download 'URI#t=A,B' FILE")
	}
	n, err := download(context.Background(), os.Args[1], os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %d bytes\n", os.Args[2], n)
}
