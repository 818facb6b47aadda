package mp4_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/mediafrag/mediafrag/internal/seektest"
)

// TestBeyond4GiB cuts a file whose media lie beyond 4 GiB, of which only what is
// needed is ever made: the clip is that of the same media in a small file.
func TestBeyond4GiB(t *testing.T) {
	small := &testFile{tracks: []*testTrack{reordered(), tone()}}
	_, want := cutBuilt(t, small.build(), 6.55, 8.03)
	f := &testFile{tracks: []*testTrack{reordered(), tone()}}
	f.each(func(t *testTrack) { t.tables.co64 = true })
	f.timescale = 600
	media, places := f.media()
	const start = int64(5) << 30
	head := mkbox("ftyp", []byte("isom"), u32(512), []byte("isom"))
	head = append(append(head, u32(1)...), "mdat"...)
	head = be.AppendUint64(head, uint64(start+int64(len(media))-20))
	moov := f.moov(places, start)
	end := start + int64(len(media))
	content := seektest.Sparse(seektest.Fill(seektest.Pattern), seektest.Piece{Data: head},
		seektest.Piece{Offset: start, Data: media}, seektest.Piece{Offset: end, Data: moov})
	o, err := open(t, seektest.Virtual(end+int64(len(moov)), content))
	if err != nil {
		t.Fatal(err)
	}
	_, path := o.cut(t, between(6.55, 8.03))
	clip, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(clip, want) {
		t.Errorf("the clip differs from that of the small file")
	}
}

// TestLongClips writes offsets of 64 bits where the clip's media end beyond
// 4 GiB, and no sooner; the header counts.
func TestLongClips(t *testing.T) {
	const sample = 1 << 20
	for _, tt := range []struct {
		name string
		last uint32 // bytes of the last sample
		wide bool
	}{
		{"short of it", sample / 2, false},
		{"the header passes it", sample - 512, true},
		{"the media pass it", sample, true},
	} {
		track := &testTrack{id: 1, durations: repeat(uint32(1000), 4096), sizes: repeat(uint32(sample), 4096), perChunk: 1}
		track.sizes[4095] = tt.last
		track.tables.co64 = true
		var places []int
		for i := range track.sizes {
			places = append(places, i*sample)
		}
		f := &testFile{tracks: []*testTrack{track}, timescale: 1000}
		head := mkbox("ftyp", []byte("isom"), u32(512), []byte("isom"))
		start := int64(len(head)+len(f.moov([][]int{places}, 0))) + 16
		head = append(head, f.moov([][]int{places}, start)...)
		size := start + 4095*sample + int64(tt.last)
		head = append(append(head, u32(1)...), "mdat"...)
		head = be.AppendUint64(head, uint64(size-start+16))
		o, err := open(t, seektest.Virtual(size, seektest.Sparse(seektest.Fill(seektest.Pattern), seektest.Piece{Data: head})))
		if err != nil {
			t.Fatal(err)
		}
		plan, err := o.Plan(t.Context(), between(0, -1))
		if err != nil {
			t.Fatal(err)
		}
		header := plan.Parts[0].Literal
		if wide := bytes.Contains(header, []byte("co64")); wide != tt.wide || !wide && !bytes.Contains(header, []byte("stco")) {
			t.Errorf("%s: offsets of 64 bits: %v, want %v", tt.name, wide, tt.wide)
		}
		if media := plan.Size - int64(len(header)); media != size-start {
			t.Errorf("%s: %d bytes of media, want %d", tt.name, media, size-start)
		}
		table := bytes.Index(header, []byte("co64")) + 12
		want := uint64(len(header)) + 4095*sample
		if at := be.Uint64(header[table+8*4095:]); tt.wide && at != want {
			t.Errorf("%s: the last chunk is at %d, want %d", tt.name, at, want)
		}
	}
}

// TestOddTimes reads files whose timescales and durations are at the ends of what
// the format allows.
func TestOddTimes(t *testing.T) {
	fast := func(f *testFile) {
		for _, t := range f.tracks {
			t.timescale = 10_000_000
			for i := range t.durations {
				t.durations[i] *= 10_000
			}
		}
	}
	for _, tt := range []struct {
		name  string
		make  func(f *testFile)
		patch func(data []byte) []byte
	}{
		{"a timescale of 10,000,000", fast, nil},
		{"a movie timescale of 10,000,000", func(f *testFile) { f.timescale = 10_000_000 }, nil},
		{"a movie timescale of 1", func(f *testFile) { f.timescale = 1 }, nil},
		{"durations of 0", func(*testFile) {}, nil},
		{"durations of all ones", func(*testFile) {}, func(data []byte) []byte {
			ones := []byte{255, 255, 255, 255}
			data = patch(patch(data, "mvhd", 0, 16, ones...), "mdhd", 0, 16, ones...)
			return patch(patch(data, "mdhd", 1, 16, ones...), "tkhd", 0, 20, ones...)
		}},
	} {
		f := &testFile{tracks: []*testTrack{pictures(), tone()}}
		tt.make(f)
		data := f.build()
		if tt.patch != nil {
			data = tt.patch(data)
		}
		o := openBuilt(t, data)
		if got := o.Info().Duration.String(); got != "10" {
			t.Errorf("%s: %s s, want 10", tt.name, got)
		}
		_, path := o.cut(t, between(6.5, 8))
		clip, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		checkTimeline(t, data, clip, 6.5, 8)
	}
}

// TestSearchForShiftedPictures looks for pictures that are presented almost a
// fragment later than they are decoded, by which they are looked for.
func TestSearchForShiftedPictures(t *testing.T) {
	f := manyFragments(100, noIndex)
	f.tracks[0].offsets = repeat(int32(900), 1000)
	o := openBuilt(t, f.build())
	for _, a := range []float64{20.55, 60.95, 61.05} {
		_, clip := clipOf(t, o, between(a, a+2.5))
		checkBuilt(t, f, clip, a, a+2.5)
	}
}
