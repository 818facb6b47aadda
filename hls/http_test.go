package hls_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/hls"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/faultserver"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/seek"
)

// distance is how far away servers are: far enough for requests that are sent at
// the same time to be seen to be, on a busy machine, too.
const distance = 100 * time.Millisecond

// TestOverHTTP counts at the server what clips cost: levels of playlists and one
// more round trip until the first media byte, each file once, and no file that
// the interval does not need.
func TestOverHTTP(t *testing.T) {
	tools.Need(t, "ffmpeg", "ffprobe")
	for _, test := range []struct {
		name, list string
		interval   string
		dir        string
		trips      int
		want       string // files, sorted by the test
	}{
		{"segments", "media.m3u8", "10,21", hls.TSPresentation(t), budget.TripsHLS(1), "media.m3u8 s002.ts s003.ts s004.ts s005.ts"},
		{"fragmented MP4", "media.m3u8", "10,21", hls.FMP4Presentation(t), budget.TripsHLS(1), "init.mp4 media.m3u8 s002.m4s s003.m4s s004.m4s s005.m4s"},
		{"a master playlist", "master.m3u8", "10,21", hls.MasterPresentation(t), budget.TripsHLS(2),
			"init0.mp4 init2.mp4 master.m3u8 media0.m3u8 media2.m3u8 v0_002.m4s v0_003.m4s v0_004.m4s v0_005.m4s v2_002.m4s v2_003.m4s v2_004.m4s v2_005.m4s"},
		// At the bounds of segments, with what a neighbour has of the sound.
		{"segments at their bounds", "media.m3u8", "12,20", hls.TSPresentation(t), budget.TripsHLS(1), "media.m3u8 s003.ts s004.ts s005.ts"},
		{"sound and pictures apart, at their bounds", "master.m3u8", "12,20", hls.MasterPresentation(t), budget.TripsHLS(2),
			"init0.mp4 init2.mp4 master.m3u8 media0.m3u8 media2.m3u8 v0_002.m4s v0_003.m4s v0_004.m4s v0_005.m4s v2_002.m4s v2_003.m4s v2_004.m4s v2_005.m4s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := faultserver.Start(t, faultserver.Config{Dir: test.dir, RTT: distance})
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			totals := &seek.Totals{}
			c := &client.Client{Observer: totals}
			defer c.CloseIdleConnections()
			clip, err := c.Clip(t.Context(), server.URL+"/"+test.list+"#t="+test.interval)
			if err != nil {
				t.Fatal(err)
			}
			first := make([]byte, 1)
			if _, err := io.ReadFull(clip, first); err != nil {
				t.Fatal(err)
			}
			totals.FirstMediaByte()
			if _, err := io.Copy(io.Discard, clip); err != nil {
				t.Fatal(err)
			}
			clip.Close()
			asked := map[string]int{}
			var size int64
			for _, r := range server.Log() {
				name := filepath.Base(r.Path)
				asked[name]++
				if info, err := os.Stat(filepath.Join(test.dir, name)); err == nil {
					size += info.Size()
				}
			}
			for name := range strings.FieldsSeq(test.want) {
				if asked[name] != 1 {
					t.Errorf("%s was asked for %d times", name, asked[name])
				}
				delete(asked, name)
			}
			for name, n := range asked {
				t.Errorf("%s was asked for %d times: the interval does not need it", name, n)
			}
			if got := totals.Transfer(); got.FirstMediaTrips > test.trips {
				t.Errorf("%d round trips to the first media byte, want %d", got.FirstMediaTrips, test.trips)
			}
			if stats := server.Stats(); stats.Bytes > budget.Bytes(size) {
				t.Errorf("%d bytes of files of %d", stats.Bytes, size)
			}
		})
	}
}

// TestTracksAtOnce: the playlist of a track that the client is for is asked for with
// the variant's own, and that of the default is not.
func TestTracksAtOnce(t *testing.T) {
	var asked sync.Map
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(path.Base(r.URL.Path), true)
		text := "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\nx.ts\n#EXT-X-ENDLIST\n"
		if path.Base(r.URL.Path) == "master.m3u8" {
			text = "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"en\",DEFAULT=YES,URI=\"en.m3u8\"\n" +
				"#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"fr\",URI=\"fr.m3u8\"\n#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO=\"a\"\nmain.m3u8\n"
		}
		io.WriteString(w, text)
	}))
	defer server.Close()
	c := &client.Client{Tracks: []string{"fr"}}
	defer c.CloseIdleConnections()
	r, err := c.Open(t.Context(), server.URL+"/master.m3u8")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for name, want := range map[string]bool{"main.m3u8": true, "fr.m3u8": true, "en.m3u8": false} {
		if _, got := asked.Load(name); got != want {
			t.Errorf("asked for %s: %v, want %v", name, got, want)
		}
	}
}

// TestHeldFirst: the first media byte of ranges that lie behind one another, and
// come as one stretch, waits for nothing but the first of them.
func TestHeldFirst(t *testing.T) {
	server := faultserver.Start(t, faultserver.Config{Dir: hls.RangePresentation(t), RTT: distance})
	totals := &seek.Totals{}
	c := &client.Client{Observer: totals}
	defer c.CloseIdleConnections()
	clip, err := c.Clip(t.Context(), server.URL+"/media.m3u8#t=10,31")
	if err != nil {
		t.Fatal(err)
	}
	defer clip.Close()
	if _, err := io.ReadFull(clip, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	totals.FirstMediaByte()
	if n := totals.Transfer().FirstMediaTrips; n > budget.TripsHLS(1) {
		t.Errorf("%d round trips, want %d", n, budget.TripsHLS(1))
	}
	if _, err := io.Copy(io.Discard, clip); err != nil {
		t.Fatal(err)
	}
	if b, size := server.Stats().Bytes, clip.Plan.Size; b > budget.Bytes(size) {
		t.Errorf("%d bytes for a clip of %d", b, size)
	}
}

// TestSecrets: what the client was given goes to the host that was opened and no
// other; tokens in the playlist's own query do not go along with its segments;
// what a redirect of the playlist led to is the base of its URIs.
func TestSecrets(t *testing.T) {
	dir := hls.TSPresentation(t)
	segment, err := os.ReadFile(filepath.Join(dir, "s000.ts"))
	if err != nil {
		t.Fatal(err)
	}
	other := faultserver.Start(t, faultserver.Config{Files: map[string]faultserver.File{"/there/b.ts": {Content: segment}}})
	list := "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\na.ts?own=1\n#EXTINF:4,\n" + other.URL + "/there/b.ts\n#EXT-X-ENDLIST\n"
	home := faultserver.Start(t, faultserver.Config{Files: map[string]faultserver.File{
		"/real/list.m3u8": {Content: []byte(list)}, "/real/a.ts": {Content: segment},
	}})
	home.Fault(func(_ int, r *http.Request) (f faultserver.Fault) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			f.Status = http.StatusUnauthorized
		} else if r.URL.Path == "/list.m3u8" {
			f.Redirect = "/real/list.m3u8?moved=1"
		}
		return f
	})
	other.Fault(func(_ int, r *http.Request) (f faultserver.Fault) {
		if r.Header.Get("Authorization") != "" || r.URL.RawQuery != "" {
			t.Errorf("another host was sent %q, %q", r.Header.Get("Authorization"), r.URL.RawQuery)
		}
		return f
	})
	c := &client.Client{Header: http.Header{"Authorization": {"Bearer secret"}}}
	defer c.CloseIdleConnections()
	r, err := c.Open(t.Context(), home.URL+"/list.m3u8?token=playlist")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	clip, err := r.Clip(t.Context(), fragment.Parse("t=0,8"))
	if err != nil {
		t.Fatal(err)
	}
	defer clip.Close()
	if b, err := io.ReadAll(clip); err != nil || !bytes.Equal(b, append(bytes.Clone(segment), segment...)) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	last := home.Log()[len(home.Log())-1]
	if last.Path != "/real/a.ts" && last.Path != "/real/a.ts?own=1" {
		t.Errorf("the segment was asked for as %s", last.Path)
	}
	if plan := fmt.Sprintf("%+v", clip.Plan); strings.Contains(plan, "secret") || strings.Contains(plan, "token=playlist") {
		t.Error("the plan holds what was a secret")
	}
}

// TestSteeringSecrets: a steering server on another host is sent nothing that the
// client was given for the first, and one that the client may not reach is not
// asked.
func TestSteeringSecrets(t *testing.T) {
	list := []byte("#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\na.ts\n#EXT-X-ENDLIST\n")
	other := faultserver.Start(t, faultserver.Config{Files: map[string]faultserver.File{"/steer": {Content: []byte(`{"VERSION":1}`)}}})
	other.Fault(func(_ int, r *http.Request) (f faultserver.Fault) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" {
			t.Errorf("the steering server was sent %v", r.Header)
		}
		return f
	})
	for uri, asked := range map[string]bool{other.URL + "/steer": true, "file:///etc/hostname": false, "mem:x": false} {
		other.Reset()
		home := faultserver.Start(t, faultserver.Config{Files: map[string]faultserver.File{
			"/master.m3u8": {Content: []byte("#EXTM3U\n#EXT-X-CONTENT-STEERING:SERVER-URI=\"" + uri + "\"\n#EXT-X-STREAM-INF:BANDWIDTH=1\nnone.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlist.m3u8\n")},
			"/list.m3u8":   {Content: list},
		}})
		opened := false
		c := &client.Client{
			Header:  http.Header{"Authorization": {"Bearer secret"}, "Cookie": {"a=b"}},
			Openers: map[string]seek.Opener{"mem": openerFunc(func(string) (seek.Source, error) { opened = true; return nil, seek.ErrNotFound })},
		}
		r, err := c.Open(t.Context(), home.URL+"/master.m3u8")
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		c.CloseIdleConnections()
		if n := other.Stats().Requests; (n > 0) != asked || opened {
			t.Errorf("%s: %d requests, opened %v", uri, n, opened)
		}
	}
}

type openerFunc func(name string) (seek.Source, error)

func (f openerFunc) OpenSource(_ context.Context, name string) (seek.Source, error) { return f(name) }

// TestReachesNothingElse: a playlist from the network names no files, and no
// playlist leads to itself.
func TestReachesNothingElse(t *testing.T) {
	passwd := "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n"
	server := faultserver.Start(t, faultserver.Config{Files: map[string]faultserver.File{
		"/file.m3u8":   {Content: []byte(passwd)},
		"/cycle.m3u8":  {Content: []byte("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\ncycle.m3u8\n")},
		"/nested.m3u8": {Content: []byte("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\ncycle.m3u8\n")},
		"/key.m3u8":    {Content: []byte("#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-KEY:METHOD=AES-128,URI=\"file:///etc/hostname\"\n#EXTINF:4,\nx.ts\n#EXT-X-ENDLIST\n")},
		"/map.m3u8":    {Content: []byte("#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-MAP:URI=\"file:///etc/hostname\"\n#EXTINF:4,\nx.ts\n#EXT-X-ENDLIST\n")},
	}})
	c := &client.Client{}
	defer c.CloseIdleConnections()
	for _, name := range []string{"file", "cycle", "nested", "key", "map"} {
		server.Reset()
		clip, err := c.Clip(t.Context(), server.URL+"/"+name+".m3u8#t=0,4")
		if err == nil {
			clip.Close()
			t.Errorf("%s.m3u8 was clipped", name)
		}
		if n := server.Stats().Requests; n > 3 {
			t.Errorf("%s.m3u8: %d requests", name, n)
		}
	}
}
