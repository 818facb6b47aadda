package mp4_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
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
		code  string
		begin float64 // of the sample, in the clip
	}{
		{film, interval{5, 7}, "01:00:05:00", 0},
		{film, interval{5.01, 7}, "01:00:05:01", 0.03},
		{fragments, interval{6, 8}, "01:00:06:00", 0}, // its sample has no duration
		{film, interval{0, 3}, "01:00:00:00", 0},
		{drop, interval{5.005, 7}, "01:01:00;02", 0}, // there are no frames 0 and 1 in a minute
	} {
		t.Run(c.code, func(t *testing.T) {
			o := mustOpen(t, c.path(t))
			plan, path := o.cut(t, between(c.a, c.b))
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
			code := isoTracks(t, clip)[2]
			if len(code.samples) != 1 {
				t.Fatalf("%d time code samples, want one", len(code.samples))
			}
			if off := code.samples[0].time - c.begin; off > 1e-3 || off < -1e-3 || code.shown > c.b-c.a+1e-3 || code.shown < c.b-c.a-1e-3 {
				t.Errorf("the time code's sample begins at %.3f of the clip, want %.3f, and %.3f s are shown, want %.3f", code.samples[0].time, c.begin, code.shown, c.b-c.a)
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
