package hls

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/seek"
)

// fragmentedFile is the base as one fragmented file with an index.
func fragmentedFile(t testing.TB) string {
	return made(t, "frag", func(dir string) {
		oracle.FFmpeg(t, "-i", base(t), "-c", "copy", "-movflags", "+frag_keyframe+empty_moov+default_base_moof+global_sidx", filepath.Join(dir, "frag.mp4"))
	})
}

// TestPlaylistOfPlan writes the plan of a fragmented MP4 as a playlist, and cuts
// that again.
func TestPlaylistOfPlan(t *testing.T) {
	t.Parallel()
	dir := fragmentedFile(t)
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
	want := oracle.Between(oracle.Original(t, filepath.Join(dir, "frag.mp4")).Video[0], 10, 21)
	list, err := eyevinn(text)
	if err != nil || list.Count() != 1 {
		t.Fatalf("Eyevinn's parser: %v", err)
	}
	playOverHTTP(t, text, name, dir, want)
	o.put("https://host.test/list.m3u8", []byte(text))
	m := o.mustOpen(t, "https://host.test/list.m3u8", formats.Env{})
	at := s.Interval.Shift(fragment.Time{}.Sub(p.Covered.Start)) // the playlist begins where the fragments do
	again := mustPlan(t, m, formats.Selection{Interval: at})
	have := checkDecodes(t, write(t, "clip.mp4", clip(t, m, again)))
	if r := oracle.CompareVideo(want, have.Video[0]); r.Missing != 0 {
		t.Errorf("%s", r)
	}
}

// playOverHTTP has ffmpeg play the playlist from a server with byte ranges: all
// pictures of the interval are there, and nothing else of the file was fetched.
func playOverHTTP(t *testing.T, text, name, dir string, want []oracle.Picture) {
	t.Helper()
	var ranges []string
	var mu sync.Mutex
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/list.m3u8" {
			w.Header().Set("Content-Type", playlistType)
			fmt.Fprint(w, strings.ReplaceAll(text, name, "http://"+r.Host+"/frag.mp4"))
			return
		}
		mu.Lock()
		ranges = append(ranges, r.Header.Get("Range"))
		mu.Unlock()
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	have := checkDecodes(t, server.URL+"/list.m3u8")
	if r := oracle.CompareVideo(want, have.Video[0]); r.Missing != 0 {
		t.Errorf("ffmpeg over HTTP: %s", r)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, r := range ranges {
		if from, to, ok := strings.Cut(r, "-"); !ok || from == "" || to == "" {
			t.Errorf("ffmpeg asked for the range %q", r)
		}
	}
}
