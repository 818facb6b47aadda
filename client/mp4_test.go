package client_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/faultserver"
	"github.com/mediafrag/mediafrag/internal/samples"
)

// largeMoov returns a sample with a moov of 3 MB, at its end or in front. The
// former has so much media that what is behind it is taken for the moov.
func largeMoov(name string) []byte {
	i := slices.IndexFunc(samples.All(), func(s samples.Sample) bool { return s.Name == name })
	data := samples.All()[i].Data
	free := append(binary.BigEndian.AppendUint32(nil, 3<<20), "free"...)
	free = append(free, make([]byte, 3<<20-8)...)
	moov := bytes.Index(data, []byte("moov")) - 4
	end := moov + int(binary.BigEndian.Uint32(data[moov:]))
	data = slices.Concat(data[:end], free, data[end:])
	binary.BigEndian.PutUint32(data[moov:], uint32(end-moov+len(free)))
	if mdat := bytes.Index(data, []byte("mdat")) - 4; mdat < moov {
		data = slices.Concat(data[:moov], make([]byte, 60<<20), data[moov:])
		binary.BigEndian.PutUint32(data[mdat:], uint32(moov+60<<20-mdat))
	}
	return data
}

// The rest of a moov of some megabytes comes by two requests at once, over the
// connections that head and tail have warmed.
func TestLargeMoovOverTwoConnections(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"movie.mp4", "faststart.mp4"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits
			testLargeMoov(t, largeMoov(name))
		})
	}
}

func testLargeMoov(t *testing.T, data []byte) {
	server := faultserver.Start(t, faultserver.Config{RTT: 200 * time.Millisecond, Files: map[string]faultserver.File{"/m.mp4": {Content: data, ETag: `"1"`}}})
	c := &client.Client{}
	t.Cleanup(c.CloseIdleConnections)
	r, err := c.Open(context.Background(), server.URL+"/m.mp4")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	// Where the tail is answered a moment late its connection is not free yet, and
	// a third is set up, which is a round trip of its own.
	opened := server.Stats()
	if most := budget.TripsMP4Far - 1 + max(0, opened.Connections-2); opened.RoundTrips > most || opened.Connections > 3 {
		t.Errorf("%d round trips over %d connections to open, want at most %d and 3", opened.RoundTrips, opened.Connections, most)
	}
	var halves []int64
	for _, q := range server.Log() {
		if q.Bytes > 1<<20 {
			halves = append(halves, q.Bytes)
		}
	}
	if len(halves) != 2 || halves[0]*2 < halves[1] || halves[1]*2 < halves[0] {
		t.Errorf("the moov of 3 MB came by %v, want two halves", halves)
	}
	clip, err := r.Clip(context.Background(), fragmentOf("t=2,4"))
	if err != nil {
		t.Fatal(err)
	}
	defer clip.Close()
	if _, err := io.Copy(io.Discard, clip); err != nil {
		t.Fatal(err)
	}
	if got := server.Stats().RoundTrips; got > opened.RoundTrips+1 {
		t.Errorf("%d round trips in all, want at most %d", got, opened.RoundTrips+1)
	}
}
