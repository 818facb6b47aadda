package mp4_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// TestTextChapters reads the titles of a chapter track where no list has them.
func TestTextChapters(t *testing.T) {
	t.Parallel()
	tools.Need(t, "ffmpeg", "ffprobe")
	dir := t.TempDir()
	list, path := filepath.Join(dir, "chapters.txt"), filepath.Join(dir, "c.mp4")
	text := ";FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=2500\ntitle=One\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=2500\nEND=6000\ntitle=Zwei äöü\n"
	if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	oracle.FFmpeg(t, append(append(args(picture25), "-i", list, "-map_chapters", "1", "-t", "6"), args(x264, s(path))...)...)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	o := openBuilt(t, bytes.Replace(data, []byte("chpl"), []byte("xxxx"), 1))
	if len(o.Info().Chapters) != 0 {
		t.Errorf("chapters without a look at the media: %v", o.Info().Chapters)
	}
	info, err := o.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range info.Chapters {
		got = append(got, fmt.Sprintf("%s %v", c.Title, c.Interval))
	}
	if diff := cmp.Diff([]string{"One [0, 2.5)", "Zwei äöü [2.5, 6)"}, got); diff != "" {
		t.Errorf("chapters (-want +got):\n%s", diff)
	}
}

// TestInfoFields checks what info says that no clip shows: the time of making,
// the group of alternatives, and the picture's size where only the coding tells
// it.
func TestInfoFields(t *testing.T) {
	video := pictures()
	video.entry = mkbox("avc1", make([]byte, 6), []byte{0, 1}, make([]byte, 16), []byte{0, 160, 0, 90}, make([]byte, 50),
		mkbox("pasp", u32(4, 3)), mkbox("clap", u32(150, 1, 80, 1, 0, 1, 0, 1)))
	data := (&testFile{tracks: []*testTrack{video}}).build()
	made := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	data = patch(data, "mvhd", 0, 4, u32(uint32(made.Unix()+2_082_844_800))...)
	data = patch(data, "tkhd", 0, 34, 0, 7)
	data = patch(data, "tkhd", 0, 76, make([]byte, 8)...)
	info := openBuilt(t, data).Info()
	if !info.Created.Equal(made) {
		t.Errorf("made at %v, want %v", info.Created, made)
	}
	if v := info.Tracks[0]; v.Group != 7 || v.Width != 200 || v.Height != 80 || v.CodedWidth != 160 || v.CodedHeight != 90 {
		t.Errorf("%+v; want group 7, 200×80 shown, 160×90 coded", v)
	}
}

// TestInspectFragments finds the end of fragmented files that do not tell it.
func TestInspectFragments(t *testing.T) {
	for _, index := range []indexForm{flatIndex, tailIndex, noIndex, eachIndex} {
		o := openBuilt(t, manyFragments(120, index).build())
		info, err := o.Inspect(t.Context())
		if err != nil || !info.Timed || info.Duration.Seconds() != 120 {
			t.Errorf("%s: %v s, %v, %v; want 120", index, info.Duration, info.Timed, err)
		}
		if rate := o.Info().Tracks[0].FrameRate; rate.Seconds() != 10 {
			t.Errorf("%s: %v pictures a second, want 10", index, rate)
		}
	}
}

// TestOpenEnd goes to the end of the media where the index says that they end
// earlier: writers do not count the last sample, or index the shorter track.
func TestOpenEnd(t *testing.T) {
	data := patch(fragmentsOf(flatIndex, fragmentForm{}), "sidx", 0, 24+12*9+4, u32(500)...)
	o := openBuilt(t, data)
	info := o.Info()
	if !info.Estimated || info.Duration.Seconds() >= 10 {
		t.Fatalf("%v s, estimated: %v; want an estimate below 10", info.Duration, info.Estimated)
	}
	sel, _, err := formats.Select(fragment.Parse("t=9"), info)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := o.Plan(t.Context(), sel)
	if err != nil || plan.Requested.End.Seconds() != 10 {
		t.Errorf("%v, %v; want an end at 10", plan, err)
	}
}

// TestAccessGroups begins at a random access point that only a sample group
// names, such as a CRA picture, and cuts the group along.
func TestAccessGroups(t *testing.T) {
	groups := append(mkbox("sgpd", u32(1<<24), []byte("rap "), u32(1, 1), []byte{0}),
		mkbox("sbgp", u32(0), []byte("rap "), u32(3, 25, 0, 1, 1, 74, 0))...)
	data := withTables((&testFile{tracks: []*testTrack{pictures()}}).build(), groups)
	o := openBuilt(t, data)
	_, path := o.cut(t, between(2.75, 3.5))
	clip, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	samples := isoTracks(t, clip)[0].samples
	want := expected(pictures(), 0)[25]
	if len(samples) != 10 || samples[0].hash != want.hash {
		t.Errorf("the clip has %d samples from %.3f on, want 10 from sample 25 on", len(samples), samples[0].time)
	}
	i := bytes.Index(clip, []byte("sbgp"))
	if i < 0 || !bytes.Equal(clip[i+12:i+12+20], u32(2, 1, 1, 9, 0)) {
		t.Errorf("the group of the clip is % x", clip[max(i, 0):i+40])
	}
}

// TestInfoCorpus compares what info says of the files that others made with what
// ffprobe says. ffprobe decodes some of the media: it alone knows HE-AAC that the
// file does not signal.
func TestInfoCorpus(t *testing.T) {
	t.Parallel()
	tools.Need(t, "ffprobe")
	dir, files := oracle.Corpus(t)
	compared, n := 0, 0
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasPrefix(path, "mp4/") && !strings.HasPrefix(path, "fmp4/") {
			continue
		}
		if n++; n%full(1, 3) != 0 { // of so many, each in a full run
			continue
		}
		byID := map[string]formats.Track{}
		for _, track := range mustOpen(t, filepath.Join(dir, path)).Info().Tracks {
			byID[track.ID] = track
		}
		for _, s := range oracle.OriginalStreams(t, filepath.Join(dir, path)) {
			id, _ := strconv.ParseInt(s.ID, 0, 64)
			track := byID[fmt.Sprint(id)]
			switch {
			case s.CodecType == "video" && s.Width > 0:
				compared++
				if track.CodedWidth != s.Width || track.CodedHeight != s.Height {
					t.Errorf("%s track %d: coded %dx%d, ffprobe says %dx%d", path, id, track.CodedWidth, track.CodedHeight, s.Width, s.Height)
				}
			case s.CodecType == "audio" && s.Channels > 0 && !strings.HasPrefix(s.Profile, "HE"):
				compared++
				if track.Channels != s.Channels || fmt.Sprint(track.SampleRate) != s.SampleRate {
					t.Errorf("%s track %d: %d channels at %d Hz, ffprobe says %d at %s", path, id, track.Channels, track.SampleRate, s.Channels, s.SampleRate)
				}
			}
		}
	}
	if compared < full(40, 12) {
		t.Errorf("%d tracks were compared", compared)
	}
}
