// Command seeks cuts many short intervals from one medium that it opens once:
// with the index in hand, each costs one round trip.
//
//	go run ./examples/seeks 'https://host/movie.mp4' 20
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: seeks URI COUNT")
	}
	count, err := strconv.Atoi(os.Args[2])
	if err != nil || count < 1 {
		log.Fatal("COUNT must be a number from 1 on")
	}
	if err := seeks(context.Background(), os.Args[1], int64(count)); err != nil {
		log.Fatal(err)
	}
}

// seeks reads one second at each of count places, evenly spread.
func seeks(ctx context.Context, uri string, count int64) error {
	var c client.Client
	defer c.CloseIdleConnections()
	medium, err := c.Open(ctx, uri)
	if err != nil {
		return err
	}
	defer medium.Close()

	info, err := medium.Inspect(ctx) // Info leaves out what it would cost requests to know
	if err != nil {
		return err
	}
	length := info.Duration.Floor(1000) // milliseconds
	for i := range count {
		start := fragment.Ticks(length*i/count, 1000)
		second := fragment.Between(start, start.Add(fragment.Seconds(1)))
		clip, err := medium.Select(ctx, formats.Selection{Interval: second})
		if err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, clip)
		if err != nil {
			return err
		}
		fmt.Printf("%v: %d bytes\n", clip.Plan.Presented, n)
		clip.Close()
	}
	return nil
}
