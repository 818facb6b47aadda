package mp4_test

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/mp4"
)

// TestCompanions cuts a file with a track of every kind that goes along with
// pictures, in both layouts, and reads the clip back with mp4ff: texts, metadata
// and chapters that are under way at the beginning are there from then on;
// chapters come along with the pictures that name them; hint tracks, which tell
// how to send others, do not, nor tracks that are off, and references lead to
// what the clip has.
func TestCompanions(t *testing.T) {
	long := func(id uint32, handler string, entry []byte) *testTrack { // samples of 2.5 s
		return &testTrack{id: id, handler: handler, durations: repeat(uint32(2500), 4), sizes: []uint32{30, 31, 32, 33}, entry: entry, perChunk: 1}
	}
	simple := func(typ string) []byte {
		return mkbox(typ, make([]byte, 6), []byte{0, 1}, []byte("application/x\x00\x00\x00"))
	}
	video := pictures()
	video.more = mkbox("tref", mkbox("chap", u32(3)), mkbox("cdsc", u32(5, 99)), mkbox("sync", u32(98)))
	chapters, hint, off := long(3, "text", simple("text")), long(9, "hint", simple("rtp ")), long(10, "text", simple("tx3g"))
	chapters.flags, off.flags = 2, 2
	hint.more = mkbox("tref", mkbox("hint", u32(1)))
	tracks := []*testTrack{
		video, tone(), chapters, long(4, "text", mkbox("wvtt", make([]byte, 6), []byte{0, 1}, mkbox("vttC", []byte("WEBVTT")))), long(5, "meta", simple("mett")), long(6, "meta", simple("mebx")),
		long(7, "meta", simple("gpmd")), long(8, "subt", simple("stpp")), hint, off,
	}
	data := (&testFile{tracks: tracks}).build()
	o := openBuilt(t, data)
	for _, layout := range []formats.Layout{mp4.Progressive, mp4.Fragmented} {
		t.Run(string(layout), func(t *testing.T) {
			sel := between(3.05, 6.05)
			sel.Layout = layout
			plan, clip := clipOf(t, o, sel)
			var ids []uint32
			for _, c := range clip {
				ids = append(ids, c.id)
			}
			if !slices.Equal(ids, []uint32{1, 2, 3, 4, 5, 6, 7, 8}) || len(plan.Tracks) != 8 {
				t.Fatalf("the clip has the tracks %v", ids)
			}
			for n, c := range clip[2:] {
				want := expected(tracks[n+2], 0)[1:3] // 2.5 to 5 s, 5 to 7.5 s
				if len(c.samples) != 2 || c.samples[0].hash != want[0].hash || c.samples[1].hash != want[1].hash {
					t.Fatalf("track %d has %d samples, want the second and the third", c.id, len(c.samples))
				}
				if a, b := c.samples[0], c.samples[1]; a.time > 1e-3 || a.end < 1.949 || a.end > 1.951 || b.time < 1.949 || b.time > 1.951 {
					t.Errorf("track %d: samples at %.3f to %.3f s and at %.3f s, want one under way at 0, and the next at 1.95", c.id, a.time, a.end, b.time)
				}
			}
			_, path := o.cut(t, sel)
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want := mkbox("tref", mkbox("chap", u32(3)), mkbox("cdsc", u32(5)))[8:]
			if got := child(raw, "moov", "trak", "tref"); !bytes.Equal(got, want) {
				t.Errorf("the pictures refer to % x, want % x", got, want)
			}
		})
	}
	sel := between(3.05, 6.05)
	sel.Tracks = []string{"10"}
	if plan, _ := o.cut(t, sel); len(plan.Tracks) != 1 || plan.Tracks[0].ID != "10" {
		t.Errorf("asked for the track that is off, the clip has %v", plan.Tracks)
	}
}
