package hls

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/seek"
)

// TestPlaylistOfPlan writes the plan of a fragmented MP4 as a playlist, and cuts
// that again.
func TestPlaylistOfPlan(t *testing.T) {
	dir := made(t, "frag", func(dir string) {
		oracle.FFmpeg(t, "-i", base(t), "-c", "copy", "-movflags", "+frag_keyframe+empty_moov+default_base_moof+global_sidx", filepath.Join(dir, "frag.mp4"))
	})
	const name = "https://host.test/f/frag.mp4"
	o := newOrigin()
	o.putFolder(t, "https://host.test/f", dir)
	w := seek.NewWindow(t.Context(), o.sources[name], 0)
	defer w.Close()
	file, err := mp4.Format{}.Open(t.Context(), w, formats.Env{Opener: o})
	if err != nil {
		t.Fatal(err)
	}
	s := between(10, 21)
	p, err := file.Plan(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Playlist(p)
	isError(t, err, formats.ErrUnsupported)
	s.Form = formats.Verbatim
	if p, err = file.Plan(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	text, err := Playlist(p)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text, name); n != 2 {
		t.Errorf("the origin is named %d times:\n%s", n, text)
	}
	list, err := eyevinn(text)
	if err != nil || list.Count() != 1 {
		t.Fatalf("Eyevinn's parser: %v", err)
	}
	o.put("https://host.test/list.m3u8", []byte(text))
	m := o.mustOpen(t, "https://host.test/list.m3u8", formats.Env{})
	at := s.Interval.Shift(fragment.Time{}.Sub(p.Covered.Start)) // the playlist begins where the fragments do
	again := mustPlan(t, m, formats.Selection{Interval: at})
	have := checkDecodes(t, write(t, "clip.mp4", clip(t, m, again)))
	want := oracle.Between(oracle.Original(t, filepath.Join(dir, "frag.mp4")).Video[0], 10, 21)
	if r := oracle.CompareVideo(want, have.Video[0]); r.Missing != 0 {
		t.Errorf("%s", r)
	}
}
