package mp4_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/mp4"
)

// retimed counts the one track of a file without edits in another timescale, in
// which its frames begin at the nearest ticks. The moov has to stand at the end.
func retimed(t *testing.T, data []byte, timescale uint32) []byte {
	t.Helper()
	out := bytes.Clone(data)
	mdhd, stts := bytes.LastIndex(out, []byte("mdhd")), bytes.LastIndex(out, []byte("stts"))
	if mdhd < 0 || stts < 0 || out[mdhd+4] != 0 || bytes.Contains(out, []byte("elst")) {
		t.Fatal("not a file to be counted otherwise")
	}
	old := be.Uint32(out[mdhd+16:])
	in := func(at uint64) uint32 {
		return uint32(math.Round(float64(at) * float64(timescale) / float64(old)))
	}
	be.PutUint32(out[mdhd+16:], timescale)
	be.PutUint32(out[mdhd+20:], in(uint64(be.Uint32(out[mdhd+20:]))))
	var table []byte
	entries, at := uint32(0), uint64(0)
	for i := range be.Uint32(out[stts+8:]) {
		count, delta := be.Uint32(out[stts+12+8*int(i):]), uint64(be.Uint32(out[stts+16+8*int(i):]))
		for range count {
			table = append(table, u32(1, in(at+delta)-in(at))...)
			entries, at = entries+1, at+delta
		}
	}
	end := stts - 4 + int(be.Uint32(out[stts-4:]))
	longer := 16 + len(table) - int(be.Uint32(out[stts-4:]))
	for _, typ := range []string{"moov", "trak", "mdia", "minf", "stbl"} {
		i := bytes.LastIndex(out, []byte(typ)) - 4
		be.PutUint32(out[i:], be.Uint32(out[i:])+uint32(longer))
	}
	box := mkbox("stts", u32(0, entries), table)
	return append(append(out[:stts-4:stts-4], box...), out[end:]...)
}

// decodedSound decodes the sound of a clip, read by ffmpeg's demuxer and by
// GStreamer's.
func decodedSound(t *testing.T, clip string) (ffmpeg, gstreamer []byte) {
	t.Helper()
	ffmpeg = oracle.Run(t, "ffmpeg", "-nostdin", "-v", "error", "-i", clip, "-map", "0:a", "-f", "f32le", "-")
	out := filepath.Join(t.TempDir(), "sound")
	oracle.Run(t, "gst-launch-1.0", "-q", "filesrc", "location="+clip, "!", "qtdemux", "!", "aacparse", "!", "avdec_aac", "!", "filesink", "location="+out)
	gstreamer, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return ffmpeg, gstreamer
}

// TestSoundUnits: sound is cut at the same sample whatever its ticks are, for
// ffmpeg, which takes those of an edit for samples, and for GStreamer.
func TestSoundUnits(t *testing.T) {
	t.Parallel()
	tools.Need(t, "ffmpeg", "ffprobe", "gst-launch-1.0")
	m := made{name: "units", ext: "m4a", args: args(s("-f", "lavfi", "-i", "anoisesrc=r=48000:d=8:a=0.3:s=7"), aac), mux: "use_editlist=0"}
	plain, err := os.ReadFile(m.path(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []interval{{3.0137, 4.5}, {3, 5}}[:full(2, 1)] {
		_, clip := openBuilt(t, plain).cut(t, between(i.a, i.b))
		want, wantGst := decodedSound(t, clip)
		for _, timescale := range []uint32{600, 1000, 24_000, 90_000, 10_000_000} {
			t.Run(fmt.Sprintf("%d, %v", timescale, i), func(t *testing.T) {
				_, clip := openBuilt(t, retimed(t, plain, timescale)).cut(t, between(i.a, i.b))
				got, gotGst := decodedSound(t, clip)
				if len(want) < 4*48000 || !bytes.Equal(got, want) {
					t.Errorf("ffmpeg decodes %d bytes of sound, not the %d that it does with samples as ticks", len(got), len(want))
				}
				if !bytes.Equal(gotGst, wantGst) {
					t.Errorf("GStreamer decodes %d bytes of sound, not the %d that it does with samples as ticks", len(gotGst), len(wantGst))
				}
			})
		}
	}
}

// TestDoubledSound: of HE-AAC that is counted at the rate before it is doubled,
// intervals begin at the nearest of its ticks, in both layouts: ffmpeg takes ticks
// for pairs of samples.
func TestDoubledSound(t *testing.T) {
	t.Parallel()
	tools.Need(t, "ffmpeg", "ffprobe")
	dir, _ := oracle.Corpus(t)
	path := filepath.Join(dir, "mp4", "taglib-zero-length-mdat.m4a")
	sound := func(path string) []byte {
		return oracle.Run(t, "ffmpeg", "-nostdin", "-v", "error", "-i", path, "-map", "0:a", "-f", "f32le", "-")
	}
	original := sound(path)
	const rate, frame = 44_100, 4 // bytes of a sample: there is one channel
	for _, i := range []interval{{0.6, 0.8}, {0.61, 0.8}, {0.75, 0.9}, {0.62, 0.83}} {
		_, clip := mustOpen(t, path).cut(t, between(i.a, i.b))
		got, n := sound(clip), int((i.b-i.a)*rate)*frame
		at := int(math.Round(i.a*rate/2)) * 2 * frame
		if len(got) < n || !bytes.Equal(got[:n/2], original[at:at+n/2]) {
			t.Errorf("%v: %d bytes of sound, want %d that begin as the original does at %d", i, len(got), n, at)
		}
		sel := between(i.a, i.b)
		sel.Layout = mp4.Fragmented
		plan, err := mustOpen(t, path).Plan(t.Context(), sel)
		if err != nil {
			t.Fatal(err)
		}
		if mdhd := bytes.Index(plan.Parts[0].Literal, []byte("mdhd")); be.Uint32(plan.Parts[0].Literal[mdhd+16:]) != rate/2 {
			t.Errorf("%v: the fragmented clip counts %d ticks a second", i, be.Uint32(plan.Parts[0].Literal[mdhd+16:]))
		}
	}
}
