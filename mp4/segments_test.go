package mp4_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/seek"
)

// segmented is a rendition in a folder: an initialization segment, segments of
// 2 s, and all of them in one file for the oracle.
type segmented struct {
	init     []byte
	segments []mp4.Segment
	opener   seektest.Opener
	whole    string
	data     [][]byte // of each segment
}

// segment makes a rendition with ffmpeg.
func segment(t *testing.T, name string, args ...string) segmented {
	t.Helper()
	tools.Need(t, "ffmpeg", "ffprobe")
	dir := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	oracle.FFmpeg(t, append(args, "-f", "hls", "-hls_time", "2", "-hls_playlist_type", "vod", "-hls_segment_type", "fmp4",
		"-hls_fmp4_init_filename", "init.mp4", "-hls_segment_filename", filepath.Join(dir, "%03d.m4s"), filepath.Join(dir, "list.m3u8"))...)
	s := segmented{opener: seektest.Opener{}}
	var err error
	if s.init, err = os.ReadFile(filepath.Join(dir, "init.mp4")); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.m4s"))
	sort.Strings(files)
	all := append([]byte(nil), s.init...)
	for i, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data...)
		s.data = append(s.data, data)
		seg := mp4.Segment{
			Resource: seek.Info{Name: f, Size: -1}, Range: seek.Range{Length: seek.ToEnd}, Start: fragment.Seconds(int64(2 * i)),
		}
		source := seektest.New(data)
		source.Info.Name = f
		s.opener[f] = source
		s.segments = append(s.segments, seg)
	}
	s.whole = filepath.Join(dir, "whole.mp4")
	if err := os.WriteFile(s.whole, all, 0o644); err != nil {
		t.Fatal(err)
	}
	return s
}

// inMemory gives the segments their bytes.
func (s segmented) inMemory() {
	for i := range s.segments {
		s.segments[i].Data = s.data[i]
	}
}

// TestRenditions joins a rendition of pictures and one of sound into one clip.
func TestRenditions(t *testing.T) {
	t.Parallel()
	video := segment(t, "video", args(picture25, x264, s("-bf", "2"))...)
	audio := segment(t, "audio", args(tone48, aac)...)
	for _, inMemory := range []bool{false, true} {
		if inMemory {
			video.inMemory()
			audio.inMemory()
		}
		for _, i := range []interval{{5.013, 13.5}, {4.5, 5.5}, {0, 20}, {8, 10}, {6.001, 7.9}}[:full(5, 2)] {
			t.Run(name(i.a, i.b), func(t *testing.T) { joinRenditions(t, video, audio, i) })
		}
	}
}

func joinRenditions(t *testing.T, video, audio segmented, i interval) {
	ctx := t.Context()
	want := fragment.Between(fragment.FromSeconds(i.a), fragment.FromSeconds(i.b))
	var cuts []mp4.RenditionCut
	opener := seektest.Opener{}
	for _, s := range []segmented{video, audio} {
		for n, source := range s.opener {
			source.Reset()
			opener[n] = source
		}
		r, err := mp4.OpenRendition(s.init, s.segments, formats.Env{Opener: s.opener})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		times, err := r.Times(ctx, int(i.a/2))
		if err != nil || times.Start.Seconds() > i.a+0.1 || times.End.Seconds() < i.a-0.1 {
			t.Errorf("segment %d lies at %v, %v; want it to hold %g", int(i.a/2), times, err, i.a)
		}
		cuts = append(cuts, mp4.RenditionCut{Rendition: r, Interval: want, First: int(i.a / 2), Last: min(int(i.b/2), len(s.segments)-1)})
	}
	plan, err := mp4.PlanRenditions(ctx, cuts, formats.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	clip := filepath.Join(t.TempDir(), "clip.mp4")
	out, err := os.Create(clip)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	reader := seek.NewReader(ctx, plan.Parts, opener, 0)
	defer reader.Close()
	if _, err := reader.WriteTo(out); err != nil {
		t.Fatal(err)
	}
	got := oracle.Decode(t, clip)
	if got.Errors != "" {
		t.Errorf("ffmpeg complains of the clip: %s", got.Errors)
	}
	original := &oracle.Decoded{Video: oracle.Original(t, video.whole).Video, Audio: oracle.Original(t, audio.whole).Audio}
	if len(got.Video) != 1 || len(got.Audio) != 1 {
		t.Fatalf("the clip has %d videos and %d sounds", len(got.Video), len(got.Audio))
	}
	if plan.Tracks[0].ID == plan.Tracks[1].ID {
		t.Errorf("two tracks have the ID %s", plan.Tracks[0].ID)
	}
	got.Video[0] = oracle.Between(got.Video[0], 0, i.b-i.a)
	made{frame: 1024}.check(t, original, got, i)
}

// TestOpenRendition: a clip whose end is yet to come has no index, which would say that
// it ends with what is known; the segments behind the first are passed on.
func TestOpenRendition(t *testing.T) {
	t.Parallel()
	video := segment(t, "video", args(picture25, x264, s("-bf", "2"))...)
	for i := range video.segments {
		video.segments[i].Range.Length = int64(len(video.data[i])) // as an index states
	}
	r, err := mp4.OpenRendition(video.init, video.segments, formats.Env{Opener: video.opener})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, open := range []bool{true, false} {
		p, err := mp4.PlanRenditions(t.Context(), []mp4.RenditionCut{{Rendition: r, Interval: fragment.Between(fragment.Seconds(1), fragment.Seconds(7)), First: 0, Last: 3, Open: open}}, formats.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		passed := 0
		for _, part := range p.Parts {
			if part.Rewrite != nil {
				passed++
			}
		}
		want := map[bool]int{true: 3, false: 2}[open]
		if index := bytes.Contains(p.Parts[0].Literal, []byte("sidx")); index == open || passed != want {
			t.Errorf("open %v: an index %v, %d segments are passed on, want %d", open, index, passed, want)
		}
	}
}
