// Command roundtrips measures what it costs to find a place in a medium: for
// each of some times it opens the medium anew, reads to the first media byte,
// and counts requests, dependent round trips and bytes.
//
//	go run ./examples/roundtrips 'https://host/movie.mp4' 0 60 600
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"text/tabwriter"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: roundtrips URI SECONDS...")
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "seconds\trequests\tround trips\tto first media byte\tbytes\ttime")
	for _, arg := range os.Args[2:] {
		start, err := fragment.ParseTime(arg)
		if err != nil {
			log.Fatal(err)
		}
		t, err := measure(context.Background(), os.Args[1], start)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%v\n", start, t.Requests, t.RoundTrips, t.FirstMediaTrips, t.Bytes, t.FirstMedia)
	}
	w.Flush()
}

// measure opens a medium with nothing in hand and reads a second from start on.
// The client tells its Observer about every request; Totals adds them up.
func measure(ctx context.Context, uri string, start fragment.Time) (seek.Transfer, error) {
	var totals seek.Totals
	c := client.Client{Observer: &totals}
	defer c.CloseIdleConnections()
	medium, err := c.Open(ctx, uri)
	if err != nil {
		return seek.Transfer{}, err
	}
	defer medium.Close()
	second := fragment.Between(start, start.Add(fragment.Seconds(1)))
	clip, err := medium.Select(ctx, formats.Selection{Interval: second})
	if err != nil {
		return seek.Transfer{}, err
	}
	defer clip.Close()
	if _, err := io.ReadFull(clip, make([]byte, clip.Plan.MediaOffset()+1)); err != nil {
		return seek.Transfer{}, err
	}
	totals.FirstMediaByte() // it may have come from memory: only its reader knows
	_, err = io.Copy(io.Discard, clip)
	return totals.Transfer(), err
}
