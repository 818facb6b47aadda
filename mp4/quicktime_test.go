package mp4_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/mp4"
)

// TestTimeCode cuts QuickTime files with a time code track. The time code is one
// sample that counts from its beginning: in the clip it begins with the first
// picture, and with the number of that.
func TestTimeCode(t *testing.T) {
	t.Parallel()
	film := made{name: "timecode", ext: "mov", args: args(picture25, tone48, s("-c:v", "mpeg4", "-g", "25", "-c:a", "pcm_s16le", "-timecode", "01:00:00:00"))}
	drop := made{name: "timecode-drop", ext: "mov", args: args(s("-f", "lavfi", "-i", "testsrc2=s=96x54:r=30000/1001:d=20"), tone48, s("-c:v", "mpeg4", "-g", "25", "-c:a", "pcm_s16le", "-timecode", "01:00:55;00"))}
	fragments := made{name: "timecode-fragments", ext: "mov", args: film.args, mux: "movflags=+frag_keyframe+empty_moov+default_base_moof"}
	for _, c := range []struct {
		made
		interval
		code   string
		begin  float64 // of the sample, in the clip
		layout formats.Layout
	}{
		{film, interval{5, 7}, "01:00:05:00", 0, ""},
		{film, interval{5.01, 7}, "01:00:05:01", 0.03, ""},
		{fragments, interval{6, 8}, "01:00:06:00", 0, ""}, // its sample has no duration
		{film, interval{0, 3}, "01:00:00:00", 0, ""},
		{drop, interval{5.005, 7}, "01:01:00;02", 0, ""}, // there are no frames 0 and 1 in a minute
		{film, interval{5.2, 7}, "01:00:05:05", 0, mp4.Fragmented},
		{film, interval{5.01, 7}, "01:00:05:01", 0.03, mp4.Fragmented},
		{fragments, interval{6.2, 8}, "01:00:06:05", 0, mp4.Fragmented},
		{drop, interval{5.005, 7}, "01:01:00;02", 0, mp4.Fragmented},
	} {
		t.Run(c.code+string(c.layout), func(t *testing.T) {
			o := mustOpen(t, c.path(t))
			sel := between(c.a, c.b)
			sel.Layout = c.layout
			plan, path := o.cut(t, sel)
			if len(plan.Tracks) != 3 || plan.Tracks[2].Codec != "tmcd" {
				t.Fatalf("the clip has %v, want the time code as well", plan.Tracks)
			}
			if end := plan.Covered.End.Seconds(); end > c.b+0.1 || plan.Covered.Start.Seconds() < c.a-1.1 {
				t.Errorf("covers %v", plan.Covered)
			}
			clip, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if c.layout == "" {
				code := isoTracks(t, clip)[2]
				if len(code.samples) != 1 {
					t.Fatalf("%d time code samples, want one", len(code.samples))
				}
				if off := code.samples[0].time - c.begin; off > 1e-3 || off < -1e-3 || code.shown > c.b-c.a+1e-3 || code.shown < c.b-c.a-1e-3 {
					t.Errorf("the time code's sample begins at %.3f of the clip, want %.3f, and %.3f s are shown, want %.3f", code.samples[0].time, c.begin, code.shown, c.b-c.a)
				}
			}
			var doc struct {
				Streams []struct{ Tags map[string]string }
			}
			out := oracle.Run(t, "ffprobe", "-v", "error", "-show_streams", "-of", "json", path)
			if err := json.Unmarshal(out, &doc); err != nil {
				t.Fatal(err)
			}
			if got := doc.Streams[0].Tags["timecode"]; got != c.code {
				t.Errorf("the time code of the pictures is %q, want %q", got, c.code)
			}
		})
	}
}

// timeCode builds a time code track of so many samples of two seconds each, of 25
// frames a second.
func timeCode(samples, width int) *testTrack {
	typ := map[int]string{4: "tmcd", 8: "tc64"}[width]
	return &testTrack{
		id: 2, handler: "tmcd", timescale: 600, durations: repeat(uint32(1200), samples), sizes: repeat(uint32(width), samples), perChunk: 3,
		entry: mkbox(typ, make([]byte, 6), []byte{0, 1}, u32(0, 0, 600, 24), []byte{25, 0}),
	}
}

// filmed is pictures with the time code.
func filmed() *testTrack {
	video := pictures()
	video.more = mkbox("tref", mkbox("tmcd", u32(2)))
	return video
}

// number is that of the sample's first frame.
func (t *testTrack) number(sample int) uint64 {
	if p := t.payload(sample); len(p) == 8 {
		return be.Uint64(p)
	}
	return uint64(be.Uint32(t.payload(sample)))
}

// TestTimeCodeSamples cuts time codes of several samples, of 4 and 8 bytes: at each
// sample's beginning, the clip has the number that the original has then.
func TestTimeCodeSamples(t *testing.T) {
	for _, width := range []int{4, 8} {
		code := timeCode(10, width)
		numbers := map[[32]byte]uint64{} // that samples may hold
		for i := range code.sizes {
			for n := range uint64(50) {
				raw := be.AppendUint64(nil, code.number(i)+n)[8-width:]
				numbers[sha256.Sum256(raw)] = code.number(i) + n
			}
		}
		progressive := &testFile{tracks: []*testTrack{filmed(), code}}
		fragmented := &fragmentedFile{tracks: []*testTrack{filmed(), timeCode(10, width)}, index: flatIndex}
		for form, data := range map[string][]byte{"progressive": progressive.build(), "fragmented": fragmented.build()} {
			for _, layout := range []formats.Layout{mp4.Progressive, mp4.Fragmented} {
				for _, iv := range []interval{{0, 3}, {2, 5}, {2.5, 2.9}, {4.5, 8.2}, {3.5, 8.2}, {5.96, 7}} {
					if form == "fragmented" && int(iv.a)%2 > 0 {
						continue // its sample is in a fragment before those of the interval
					}
					sel := between(iv.a, iv.b)
					sel.Layout = layout
					plan, path := openBuilt(t, data).cut(t, sel)
					if len(plan.Tracks) != 2 || len(plan.Warnings) > 0 {
						t.Fatalf("%d bytes, %s, %s, %v: tracks %v, warnings %v", width, form, layout, iv, plan.Tracks, plan.Warnings)
					}
					clip, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					read := isoTracks
					if layout == mp4.Fragmented {
						read = isoFragments
					}
					got := read(t, clip)[1].samples
					if want := int(math.Ceil(iv.b/2)) - int(iv.a/2); len(got) != want {
						t.Errorf("%d bytes, %s, %s, %v: %d samples, want %d", width, form, layout, iv, len(got), want)
						continue
					}
					for _, s := range got {
						at := iv.a + s.time + 1e-6
						i := int(at / 2)
						if want := code.number(i) + uint64((at-float64(2*i))*25); numbers[s.hash] != want || s.time < -1e-6 {
							t.Errorf("%d bytes, %s, %s, %v: at %.3f the number is %d, want %d", width, form, layout, iv, s.time, numbers[s.hash], want)
						}
					}
				}
			}
		}
	}
}

// TestTimeCodeEdits cuts a time code with several edits. The clip begins with the
// number of its first frame, unless a later edit shows earlier ones: then it keeps
// the sample, and its edits tell which frames of it are shown.
func TestTimeCodeEdits(t *testing.T) {
	for n, c := range []struct {
		edits []testEdit // in 1/600 s
		a, b  float64
		frame uint64 // number of the clip's first sample, from the original's on
	}{
		{[]testEdit{{duration: 1200}, {duration: 1200, mediaTime: 2400}}, 1, 3, 25},
		{[]testEdit{{duration: 1200, mediaTime: 1200}, {duration: 1200, mediaTime: 3000}}, 1, 3, 75},
		{[]testEdit{{duration: 1200, mediaTime: 2400}, {duration: 1200}}, 1, 3, 0},
		{[]testEdit{{duration: 1200}, {duration: 1200, mediaTime: 1200}}, 1, 3, 25}, // in another sample
	} {
		code := timeCode(1, 4)
		if code.durations[0] = 6000; n == 3 {
			code = timeCode(5, 4)
		}
		code.edits = c.edits
		data := (&testFile{tracks: []*testTrack{filmed(), code}}).build()
		for _, layout := range []formats.Layout{mp4.Progressive, mp4.Fragmented} {
			sel := between(c.a, c.b)
			sel.Layout = layout
			_, path := openBuilt(t, data).cut(t, sel)
			clip, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(clip, be.AppendUint32(nil, uint32(code.number(0)+c.frame))) {
				t.Errorf("%s, %v: the clip does not have the number of frame %d", layout, c.edits, c.frame)
			}
			list := clip[bytes.LastIndex(clip, []byte("elst")):]
			if n := be.Uint32(list[8:]); n != 2 {
				t.Fatalf("%s, %v: %d edits, want 2", layout, c.edits, n)
			}
			apart := int64(be.Uint32(list[28:])) - int64(be.Uint32(list[16:]))
			want := c.edits[1].mediaTime - c.edits[0].mediaTime - int64(c.a*600)
			if apart != want {
				t.Errorf("%s, %v: the edits are %d ticks apart, want %d", layout, c.edits, apart, want)
			}
		}
	}
}

// TestSoundDescriptions cuts QuickTime sound whose description is of version 1
// and 2, sample by sample.
func TestSoundDescriptions(t *testing.T) {
	t.Parallel()
	tools.Need(t, "ffmpeg", "ffprobe")
	for _, m := range []made{
		{name: "version-0", ext: "mov", args: args(tone48, s("-c:a", "pcm_s16be")), trait: interval{2.0001, 3.4567}},
		{name: "version-1", ext: "mov", args: args(tone48, s("-c:a", "pcm_s24le")), trait: interval{2.0001, 3.4567}},
		{name: "version-2", ext: "mov", args: args(tone48, s("-c:a", "pcm_f64le", "-ar", "96000", "-ac", "2")), trait: interval{2.0001, 3.4567}},
		{name: "compressed", ext: "mov", args: args(tone48, aac), frame: 1024, trait: interval{2.0001, 3.4567}},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			o := mustOpen(t, m.path(t))
			info := o.Info().Tracks[0]
			if rate := map[string]int{"version-2": 96000}[m.name]; rate != 0 && (info.SampleRate != rate || info.Channels != 2) {
				t.Errorf("info says %d Hz and %d channels", info.SampleRate, info.Channels)
			}
			m.compare(t, o, m.path(t), m.trait)
		})
	}
}

// TestSubtitles cuts subtitles along with the pictures: the one on screen at
// the beginning is kept, from there on.
func TestSubtitles(t *testing.T) {
	t.Parallel()
	tools.Need(t, "ffmpeg", "ffprobe")
	dir := t.TempDir()
	list, path := filepath.Join(dir, "s.srt"), filepath.Join(dir, "s.mp4")
	text := "1\n00:00:01,000 --> 00:00:04,000\nOne\n\n2\n00:00:04,500 --> 00:00:06,000\nTwo\n\n3\n00:00:08,000 --> 00:00:09,000\nThree\n"
	if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	oracle.FFmpeg(t, append(append(args(picture25), "-i", list, "-t", "10"), args(x264, s("-c:s", "mov_text", path))...)...)
	o := mustOpen(t, path)
	sel := between(3, 5.5)
	for _, track := range o.Info().Tracks {
		sel.Tracks = append(sel.Tracks, track.ID)
	}
	_, clip := o.cut(t, sel)
	out := oracle.Run(t, "ffmpeg", "-v", "error", "-i", clip, "-map", "0:s", "-f", "srt", "-")
	want := "1\n00:00:00,000 --> 00:00:01,000\nOne\n\n2\n00:00:01,500 --> 00:00:02,500\nTwo\n\n"
	if string(out) != want {
		t.Errorf("the clip's subtitles are\n%s\nwant\n%s", out, want)
	}
}

// TestPCMChunks takes sound of millions of samples by whole chunks: few parts,
// and a small moov.
func TestPCMChunks(t *testing.T) {
	source, _ := longFilm{seconds: 600, pcm: true}.build()
	o, err := openLimited(t, source, formats.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	sel := between(100, 200)
	sel.Tracks = []string{"2"}
	plan, err := o.Plan(t.Context(), sel)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(plan.Parts[0].Literal); n > 100<<10 {
		t.Errorf("a header of %d bytes for sound of one size", n)
	}
	if media := plan.Size - int64(len(plan.Parts[0].Literal)); media != 4*48000*100 {
		t.Errorf("%d bytes of sound, want %d", media, 4*48000*100)
	}
}
