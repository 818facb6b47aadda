package mp4_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// TestMetadata compares what ffprobe says of a file and of its clip: all that a
// user sees is kept.
func TestMetadata(t *testing.T) {
	tools.Need(t, "ffmpeg", "ffprobe")
	dir := t.TempDir()
	plain, path := filepath.Join(dir, "plain.mp4"), filepath.Join(dir, "tagged.mp4")
	oracle.FFmpeg(t, append(args(picture25, tone48, x264, aac), "-t", "8",
		"-color_primaries", "bt709", "-color_trc", "bt709", "-colorspace", "bt709", "-color_range", "tv", plain)...)
	oracle.FFmpeg(t, "-i", plain, "-c", "copy",
		"-metadata", "title=A title", "-metadata", "artist=Somebody", "-metadata", "date=2026-01-02", "-metadata", "comment=äöü 日本",
		"-metadata", "creation_time=2026-01-02T03:04:05Z",
		"-metadata:s:v:0", "rotate=90", "-metadata:s:v:0", "language=fra", "-metadata:s:v:0", "handler_name=Camera one",
		"-metadata:s:a:0", "language=deu", "-metadata:s:a:0", "handler_name=Ton", path)
	o := mustOpen(t, path)
	info := o.Info()
	if v, a := info.Tracks[0], info.Tracks[1]; v.Language != "fra" || v.Name != "Camera one" || a.Language != "deu" || a.Name != "Ton" ||
		v.Width != 54 || v.Height != 96 || v.CodedWidth != 96 || v.CodedHeight != 54 || v.FrameRate.String() != "25" || a.SampleRate != 48000 || a.Channels != 1 {
		t.Errorf("info says %+v and %+v", v, a)
	}
	_, clip := o.cut(t, between(3.1, 5))
	if diff := cmp.Diff(shown(t, path), shown(t, clip)); diff != "" {
		t.Errorf("ffprobe sees another clip (-original +clip):\n%s", diff)
	}
}

// shown returns what ffprobe says of a file, apart from what a cut changes.
func shown(t *testing.T, path string) map[string]any {
	t.Helper()
	var doc map[string]any
	out := oracle.Run(t, "ffprobe", "-v", "error", "-show_format", "-show_streams", "-of", "json", path)
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	drop := func(m any) {
		for _, key := range []string{"duration", "duration_ts", "bit_rate", "nb_frames", "filename", "size", "start_time", "start_pts", "avg_frame_rate", "time_base", "probe_score"} {
			delete(m.(map[string]any), key)
		}
	}
	drop(doc["format"])
	for _, s := range doc["streams"].([]any) {
		drop(s)
	}
	return doc
}

// TestChapters cuts a file with chapters of both kinds, a text track and a list
// in its user data, and asks ffprobe which the clip has.
func TestChapters(t *testing.T) {
	tools.Need(t, "ffmpeg", "ffprobe")
	dir := t.TempDir()
	list, path := filepath.Join(dir, "chapters.txt"), filepath.Join(dir, "c.mp4")
	text := ";FFMETADATA1\n"
	for i, title := range []string{"One", "Two", "Three", "Four"} {
		text += fmt.Sprintf("[CHAPTER]\nTIMEBASE=1/1000\nSTART=%d\nEND=%d\ntitle=%s\n", i*2000, i*2000+2000, title)
	}
	if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	oracle.FFmpeg(t, append(append(args(picture25, tone48), "-i", list, "-map_chapters", "2", "-t", "8"), args(x264, aac, s(path))...)...)
	o := mustOpen(t, path)
	var titles []string
	for _, c := range o.Info().Chapters {
		titles = append(titles, fmt.Sprintf("%s %v", c.Title, c.Interval))
	}
	if diff := cmp.Diff([]string{"One [0, 2)", "Two [2, 4)", "Three [4, 6)", "Four [6, 8)"}, titles); diff != "" {
		t.Errorf("info's chapters (-want +got):\n%s", diff)
	}
	_, clip := o.cut(t, between(3, 5.5))
	if diff := cmp.Diff([]string{"0.000000 Two", "1.000000 Three"}, probedChapters(t, clip)); diff != "" {
		t.Errorf("the clip's chapters (-want +got):\n%s", diff)
	}
}

// probedChapters returns the chapters that ffprobe sees.
func probedChapters(t *testing.T, clip string) []string {
	t.Helper()
	var doc struct {
		Chapters []struct {
			Start string `json:"start_time"`
			Tags  struct{ Title string }
		}
	}
	out := oracle.Run(t, "ffprobe", "-v", "error", "-show_chapters", "-of", "json", clip)
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range doc.Chapters {
		got = append(got, c.Start+" "+c.Tags.Title)
	}
	return got
}

// TestChapterList cuts the chapter list in the user data of a file that has no
// chapter track.
func TestChapterList(t *testing.T) {
	tools.Need(t, "ffprobe")
	chapter := func(seconds uint32, title string) []byte {
		at := be.AppendUint64(nil, uint64(seconds)*10_000_000)
		return append(append(at, byte(len(title))), title...)
	}
	chpl := mkbox("chpl", u32(1<<24, 0), []byte{3}, chapter(0, "One"), chapter(4, "Two"), chapter(7, "Three"))
	o := openBuilt(t, (&testFile{tracks: []*testTrack{pictures()}, udta: chpl}).build())
	_, clip := o.cut(t, between(5, 9))
	if diff := cmp.Diff([]string{"0.000000 Two", "2.000000 Three"}, probedChapters(t, clip)); diff != "" {
		t.Errorf("the clip's chapters (-want +got):\n%s", diff)
	}
}

// TestPrimingStatement drops iTunSMPB, which states the original's priming, and
// keeps the items beside it.
func TestPrimingStatement(t *testing.T) {
	item := func(name, value string) []byte {
		return mkbox("----", mkbox("mean", u32(0), []byte("com.apple.iTunes")), mkbox("name", u32(0), []byte(name)), mkbox("data", u32(1, 0), []byte(value)))
	}
	ilst := mkbox("ilst", item("iTunSMPB", " 00000000 00000840 000001CA"), item("iTunNORM", " 0000"), mkbox("\xa9nam", mkbox("data", u32(1, 0), []byte("Name"))))
	meta := mkbox("meta", u32(0), mkbox("hdlr", u32(0, 0), []byte("mdir"), make([]byte, 13)), ilst)
	o := openBuilt(t, (&testFile{tracks: []*testTrack{tone()}, udta: append(meta, 0, 0, 0, 0)}).build())
	_, path := o.cut(t, between(3, 4))
	clip, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(clip, []byte("iTunSMPB")) {
		t.Error("the clip states the original's priming")
	}
	for _, kept := range []string{"iTunNORM", "\xa9nam", "Name", "mdir"} {
		if !bytes.Contains(clip, []byte(kept)) {
			t.Errorf("the clip has lost %q", kept)
		}
	}
	if again := openBuilt(t, clip); len(again.Info().Tracks) != 1 {
		t.Error("the clip cannot be read again")
	}
}

// TestTags lists what a file says of itself, as ffmpeg writes it by both ways.
func TestTags(t *testing.T) {
	tools.Need(t, "ffmpeg")
	said := s("-metadata", "title=Ein Stück", "-metadata", "artist=Nobody", "-metadata", "track=3/7", "-metadata", "comment=twice")
	short := s("-f", "lavfi", "-i", "sine=d=1")
	for _, tt := range []struct {
		name, ext string
		args      []string
		want      map[string]string
	}{
		{"ilst", "m4a", args(short, aac, said), map[string]string{"©nam": "Ein Stück", "©ART": "Nobody", "trkn": "3/7", "©cmt": "twice"}},
		{"udta", "mov", args(short, aac, said), map[string]string{"©nam": "Ein Stück", "©ART": "Nobody", "©cmt": "twice"}},
		{"keys", "mov", args(short, aac, said, s("-movflags", "use_metadata_tags")), map[string]string{"title": "Ein Stück", "artist": "Nobody", "track": "3/7"}},
	} {
		path := filepath.Join(t.TempDir(), "tags."+tt.ext)
		oracle.FFmpeg(t, append(append([]string{}, tt.args...), path)...)
		got := map[string]string{}
		for _, tag := range mustOpen(t, path).Info().Tags {
			got[tag.Name] = tag.Value
		}
		for name, value := range tt.want {
			if got[name] != value {
				t.Errorf("%s: %s is %q, want %q (%v)", tt.name, name, got[name], value, got)
			}
		}
	}
}
