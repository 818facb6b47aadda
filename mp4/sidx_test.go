package mp4_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/mp4"
)

// counted serves a file and notes where each answer begins.
type counted struct {
	data []byte

	mu     sync.Mutex
	starts []int64
}

func (c *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var start int64
	_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &start)
	c.mu.Lock()
	c.starts = append(c.starts, start)
	c.mu.Unlock()
	http.ServeContent(w, r, "clip.mp4", time.Time{}, bytes.NewReader(c.data))
}

// longFiles have fragments that are too long to read on instead of seeking.
var longFiles = func() []made {
	film := made{name: "long-progressive", args: args(s("-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=100,noise=alls=20:allf=t:all_seed=1"), x264,
		s("-preset", "ultrafast", "-bf", "2", "-b:v", "700k"))}
	fragments := film
	fragments.name, fragments.mux = "long-fragments", fragmentOptions["indexed"]
	return []made{film, fragments}
}()

// TestSegmentIndex seeks in fragmented clips over HTTP with ffmpeg: the sidx in
// front leads it straight to the right fragment, and it shows the right picture.
func TestSegmentIndex(t *testing.T) {
	t.Parallel()
	tools.Need(t, "ffmpeg", "ffprobe")
	want := oracle.Between(oracle.Original(t, longFiles[0].path(t)).Video[0], 73.5, 73.53)[0].Hash
	for _, long := range longFiles {
		t.Run(long.name, func(t *testing.T) { checkSegmentIndex(t, long, want) })
	}
}

// checkSegmentIndex wants a picture at 70 s of a clip that begins at 3.5 s.
func checkSegmentIndex(t *testing.T, long made, want string) {
	o := mustOpen(t, long.path(t))
	sel := between(3.5, 97)
	sel.Layout = mp4.Fragmented
	_, clip := o.cut(t, sel)
	data, err := os.ReadFile(clip)
	if err != nil {
		t.Fatal(err)
	}
	c := &counted{data: data}
	server := httptest.NewServer(c)
	defer server.Close()
	out := oracle.Run(t, "ffmpeg", "-nostdin", "-v", "error", "-seek_timestamp", "1", "-ss", "70", "-i", server.URL, "-frames:v", "1", "-f", "framehash", "-hash", "md5", "-")
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	hash := strings.TrimSpace(lines[len(lines)-1][strings.LastIndex(lines[len(lines)-1], ",")+1:])
	if hash != want {
		t.Errorf("the picture at 70 s of the clip is not the original's at 73.5 s")
	}

	// The clip is one index, then fragments of 2 s: it begins at 2 s of the
	// original, so that 73.5 s is in the 36th.
	var moofs []int64
	for at := 0; at < len(data); at += int(be.Uint32(data[at:])) {
		if string(data[at+4:at+8]) == "moof" {
			moofs = append(moofs, int64(at))
		}
	}
	last := c.starts[len(c.starts)-1]
	t.Logf("%d fragments, requests from %v, the fragment is at %d", len(moofs), c.starts, moofs[35])
	if last != moofs[35] && last != moofs[34] || len(c.starts) > 3 { // it seeks by decode times, which are earlier
		t.Errorf("ffmpeg reads from %v on, want the last at %d and at most 3 requests", c.starts, moofs[35])
	}
}
