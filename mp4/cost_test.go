package mp4_test

import (
	"fmt"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/seek"
)

// film is a file of 10 s with pictures of 30 kB, so that an interval is much
// less than the whole and much more than a head.
func film() *testFile {
	video, sound := pictures(), tone()
	sound.perChunk = 8 // as long as a chunk of pictures
	for i := range video.sizes {
		video.sizes[i] = uint32(25_000 + 97*i)
	}
	for i := range sound.sizes {
		sound.sizes[i] = 400
	}
	return &testFile{tracks: []*testTrack{video, sound}}
}

// openSlow opens a file whose source answers after a while, so that what is
// asked at once can be told from what waits.
func openSlow(t *testing.T, f *testFile) *opened {
	t.Helper()
	source := seektest.New(f.build())
	source.Latency = 15 * time.Millisecond
	o, err := open(t, source)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestCost asserts what it takes to read an interval, for each place where an
// index may be: requests, dependent round trips, bytes.
func TestCost(t *testing.T) {
	big := mkbox("free", make([]byte, 200<<10)) // makes a moov that no head holds
	tests := []struct {
		name     string
		make     func(f *testFile)
		trips    int
		requests int
	}{
		{"moov in the head", func(f *testFile) { f.moovFirst = true }, budget.TripsMP4, 4},
		{"moov in the tail", func(f *testFile) {}, budget.TripsMP4, 4},
		{"large moov in front", func(f *testFile) { f.moovFirst = true; f.udta = big }, budget.TripsMP4Far, 5},
		{"large moov at the end", func(f *testFile) { f.udta = big }, budget.TripsMP4Far, 5},
		{"moov behind 300 kB of other boxes", func(f *testFile) { f.moovFirst = true; f.before = mkbox("free", make([]byte, 300<<10)) }, budget.TripsMP4Far, 5},
	}
	for _, tt := range tests {
		seektest.Counted(t, tt.name, func(t *testing.T) {
			f := film()
			tt.make(f)
			o := openSlow(t, f)
			plan, _ := o.cut(t, between(4.55, 6.03))
			got := o.Totals.Transfer()
			if got.FirstMediaTrips > tt.trips || got.FirstMediaTrips == 0 {
				t.Errorf("%d round trips to the first media byte, want 1 to %d", got.FirstMediaTrips, tt.trips)
			}
			if got.Requests > tt.requests {
				t.Errorf("%d requests, want at most %d: %v", got.Requests, tt.requests, o.Source.Ranges())
			}
			if most := budget.Bytes(plan.Needed); got.Bytes > most {
				t.Errorf("%d bytes, want at most %d", got.Bytes, most)
			}
			again(t, o)
		})
	}
}

// again reads another interval of the open medium: the index is in hand.
func again(t *testing.T, o *opened) {
	t.Helper()
	totals := &seek.Totals{}
	o.Source.Observer = totals
	plan, _ := o.cut(t, between(7.05, 8.5))
	got := totals.Transfer()
	if got.RoundTrips != budget.TripsOpen || got.Requests > 2 {
		t.Errorf("another interval: %d round trips and %d requests, want %d and at most 2", got.RoundTrips, got.Requests, budget.TripsOpen)
	}
	if most := budget.Bytes(plan.Size); got.Bytes > most {
		t.Errorf("another interval: %d bytes, want at most %d", got.Bytes, most)
	}
}

// TestSoundAlone takes only the sound out of an interleaved file: few requests,
// not one for each chunk.
func TestSoundAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := film()
		f.moovFirst = true
		o := openSlow(t, f)
		s := between(2, 8)
		s.Tracks = []string{"2"}
		o.cut(t, s)
		if got := o.Totals.Transfer(); got.Requests > budget.Handful {
			t.Errorf("%d requests for the sound of an interleaved file, want at most %d", got.Requests, budget.Handful)
		}
	})
}

// TestBadInterleaving reads an interval of a file whose sound stands behind all
// pictures: one range of each. As fragments it comes by a handful of requests as
// well, and all of them at once: the fragments are as long as that takes.
func TestBadInterleaving(t *testing.T) {
	for _, tt := range []struct {
		name     string
		layout   formats.Layout
		a, b     float64
		requests int
	}{
		{"progressive", "", 4.55, 6.03, 4},
		{"fragments", mp4.Fragmented, 4.55, 6.03, 4},
		{"longer fragments", mp4.Fragmented, 1.55, 9.03, budget.Handful},
	} {
		seektest.Counted(t, tt.name, func(t *testing.T) {
			f := film()
			f.apart = true
			data := f.build()
			o := openSlow(t, f)
			sel := between(tt.a, tt.b)
			sel.Layout = tt.layout
			plan, path := o.cut(t, sel)
			got := o.Totals.Transfer()
			if got.Requests > tt.requests || got.RoundTrips > budget.TripsMP4 || got.Bytes > budget.Bytes(plan.Size) {
				t.Errorf("%d requests in %d round trips for %d bytes, want at most %d, %d and %d: %v",
					got.Requests, got.RoundTrips, got.Bytes, tt.requests, budget.TripsMP4, budget.Bytes(plan.Size), o.Source.Ranges())
			}
			clip, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if tt.layout == mp4.Fragmented {
				checkDivided(t, data, clip, tt.a, tt.b, 1, 2)
			}
		})
	}
}

// TestLongFragments plans fragments of films of 50 s whose sound stands behind
// their pictures: they are as long as it takes for two of them, but no larger than
// players hold. Of a film that is interleaved they are as long as ever.
func TestLongFragments(t *testing.T) {
	for _, tt := range []struct {
		name      string
		apart     bool
		picture   uint32 // bytes of each of 500
		fragments int
	}{
		{"two are enough", true, 100_000, 2}, // of 32 s, 32 MB
		{"no larger", true, 500_000, 13},     // of 4 s, 20 MB
		{"large as they are", true, 2e6, 25}, // of 2 s, 40 MB
		{"interleaved", false, 100_000, 25},  // of 2 s
		{"somewhat apart", true, 100, 25},    // by 50 kB in all
	} {
		video := &testTrack{id: 1, handler: "vide", durations: repeat(uint32(100), 500), sizes: repeat(tt.picture, 500), perChunk: 1}
		sound := &testTrack{id: 2, durations: repeat(uint32(50), 1000), sizes: repeat(uint32(100), 1000), perChunk: 1}
		for i := uint32(1); i <= 500; i += 10 {
			video.sync = append(video.sync, i)
		}
		picture, pair := int(tt.picture), int(tt.picture)+200 // and two sounds
		places := make([][]int, 2)
		for i := range 500 {
			if tt.apart {
				places[0] = append(places[0], i*picture)
				places[1] = append(places[1], 500*picture+200*i, 500*picture+200*i+100)
			} else {
				places[0] = append(places[0], i*pair)
				places[1] = append(places[1], i*pair+picture, i*pair+picture+100)
			}
		}
		f := &testFile{tracks: []*testTrack{video, sound}, timescale: 1000}
		f.each(func(t *testTrack) { t.tables.co64 = true })
		head := mkbox("ftyp", []byte("isom"), u32(512), []byte("isom"))
		start := int64(len(head)+len(f.moov(places, 0))) + 16
		size := int64(500 * pair)
		head = append(append(head, f.moov(places, start)...), u32(1)...)
		head = be.AppendUint64(append(head, "mdat"...), uint64(size+16))
		o, err := open(t, seektest.Virtual(start+size, seektest.Sparse(seektest.Fill(seektest.Pattern), seektest.Piece{Data: head})))
		if err != nil {
			t.Fatal(err)
		}
		sel := between(0, -1)
		sel.Layout = mp4.Fragmented
		plan, err := o.Plan(t.Context(), sel)
		if err != nil {
			t.Fatal(err)
		}
		fragments := 0
		for _, p := range plan.Parts {
			if p.Note == "moof" {
				fragments++
			}
		}
		if fragments != tt.fragments {
			t.Errorf("%s: %d fragments, want %d", tt.name, fragments, tt.fragments)
		}
	}
}

// TestLooseInterleaving reads an interval whose sound lies some way behind its
// pictures, in many small ranges: they come by a handful of requests, all at
// once.
func TestLooseInterleaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := film()
		f.tracks[1].perChunk = 5
		o := openSlow(t, f)
		plan, _ := o.cut(t, between(4.55, 6.03))
		got := o.Totals.Transfer()
		if got.Requests > budget.Handful || got.RoundTrips > budget.TripsMP4 || got.Bytes > budget.Bytes(plan.Needed) {
			t.Errorf("%d requests in %d round trips for %d bytes, want at most %d, %d and %d",
				got.Requests, got.RoundTrips, got.Bytes, budget.Handful, budget.TripsMP4, budget.Bytes(plan.Needed))
		}
	})
}

// BenchmarkOpen opens and plans files with indexes of several sizes.
func BenchmarkOpen(b *testing.B) {
	for _, minutes := range []int{2, 20, 120} {
		data := longFile(minutes)
		b.Run(fmt.Sprintf("%dmin", minutes), func(b *testing.B) {
			b.ReportAllocs()
			var got seek.Transfer
			for b.Loop() {
				o, err := open(b, seektest.New(data))
				if err != nil {
					b.Fatal(err)
				}
				plan, err := o.Plan(b.Context(), between(float64(minutes)*30, float64(minutes)*30+10))
				if err != nil {
					b.Fatal(err)
				}
				r := seek.NewReader(b.Context(), plan.Parts, o, 0)
				if _, err := r.WriteTo(io.Discard); err != nil {
					b.Fatal(err)
				}
				r.Close()
				o.Window.Close()
				got = o.Totals.Transfer()
			}
			b.ReportMetric(float64(got.Requests), "requests/op")
			b.ReportMetric(float64(got.RoundTrips), "trips/op")
			b.ReportMetric(float64(got.Bytes), "fetched-B/op")
			b.ReportMetric(float64(len(moovOf(b, data))), "moov-B")
		})
	}
}

// longFile is a film of so many minutes: 30 pictures and 47 frames of sound a
// second, with B-frames, tiny samples and a real film's tables.
func longFile(minutes int) []byte {
	n := minutes * 60 * 30
	video := &testTrack{id: 1, handler: "vide", timescale: 30, durations: repeat(uint32(1), n), perChunk: 1}
	sound := &testTrack{id: 2, timescale: 48000, durations: repeat(uint32(1024), n*47/30), perChunk: 2}
	for i := range n {
		video.sizes = append(video.sizes, uint32(40+i%7))
		video.offsets = append(video.offsets, []int32{1, 2, 0}[i%3])
		if i%120 == 0 {
			video.sync = append(video.sync, uint32(i+1))
		}
	}
	for i := range sound.durations {
		sound.sizes = append(sound.sizes, uint32(20+i%5))
	}
	return (&testFile{tracks: []*testTrack{video, sound}}).build()
}
