package hls_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/hls"
	"github.com/mediafrag/mediafrag/internal/tools"
)

const partSeconds = 2

// lowLatency is an origin of a live stream in segments of two parts. A request
// for what is not published yet it answers when it is: it moves the clock on to
// then.
type lowLatency struct {
	dir, ext string
	clock    *hls.TestClock
	start    time.Time
	window   int  // segments in the playlist
	hasty    bool // it says that it waits, and does not
	refuses  bool // it knows no directives
	forgets  bool // its delta updates leave out what it never named

	mu      sync.Mutex
	asked   map[string]int
	queries []string
}

func (o *lowLatency) age() time.Duration { return o.clock.Now().Sub(o.start) }

func (o *lowLatency) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := filepath.Base(r.URL.Path)
	o.mu.Lock()
	o.asked[name]++
	o.mu.Unlock()
	var n int
	switch {
	case name == "live.m3u8":
		o.mu.Lock()
		o.queries = append(o.queries, r.URL.RawQuery)
		o.mu.Unlock()
		o.list(w, r)
	case o.published(name, "s%03d", segmentSeconds, &n):
		var all []byte
		for i := range 2 {
			b, err := os.ReadFile(filepath.Join(o.dir, fmt.Sprintf("p%03d%s", 2*n+i, o.ext)))
			if err != nil {
				panic(err)
			}
			all = append(all, b...)
		}
		w.Write(all) // in chunks: its length is not known before its end
	case name == "init.mp4" || o.published(name, "p%03d", partSeconds, &n):
		http.ServeFile(w, r, filepath.Join(o.dir, name))
	default:
		http.NotFound(w, r)
	}
}

// published reports whether a name is that of something that is there.
func (o *lowLatency) published(name, format string, seconds int, n *int) bool {
	_, err := fmt.Sscanf(name, format, n)
	return err == nil && o.age() >= time.Duration((*n+1)*seconds)*time.Second
}

func (o *lowLatency) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if o.refuses && strings.Contains(r.URL.RawQuery, "_HLS_") {
		http.Error(w, "no directives", http.StatusBadRequest)
		return
	}
	if msn, err := strconv.Atoi(q.Get("_HLS_msn")); err == nil && !o.hasty {
		parts := 2 * (msn - 100 + 1)
		if part, err := strconv.Atoi(q.Get("_HLS_part")); err == nil {
			parts += part - 1
		}
		o.clock.Until(o.start.Add(time.Duration(parts*partSeconds) * time.Second))
	}
	segments := min(10, int(o.age()/(segmentSeconds*time.Second)))
	first := max(0, segments-o.window)
	fmt.Fprintf(w, "#EXTM3U\n#EXT-X-VERSION:10\n#EXT-X-TARGETDURATION:%d\n#EXT-X-PART-INF:PART-TARGET=%d\n"+
		"#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=%d,PART-HOLD-BACK=%d\n#EXT-X-MEDIA-SEQUENCE:%d\n",
		segmentSeconds, partSeconds, 6*segmentSeconds, 3*partSeconds, 100+first)
	from := first
	if q.Get("_HLS_skip") == "YES" && segments-first > 2 {
		skipped := segments - first - 2
		if o.forgets {
			skipped += 50
		}
		fmt.Fprintf(w, "#EXT-X-SKIP:SKIPPED-SEGMENTS=%d\n", skipped)
		from = segments - 2
	} else if o.ext == ".m4s" { // a delta update leaves out what stands before its segments, too
		fmt.Fprint(w, "#EXT-X-MAP:URI=\"init.mp4\"\n")
	}
	part := func(i int) {
		fmt.Fprintf(w, "#EXT-X-PART:DURATION=%d,INDEPENDENT=YES,URI=\"p%03d%s\"\n", partSeconds, i, o.ext)
	}
	for i := from; i < segments; i++ {
		if i >= segments-2 {
			part(2 * i)
			part(2*i + 1)
		}
		fmt.Fprintf(w, "#EXTINF:%d,\ns%03d%s\n", segmentSeconds, i, o.ext)
	}
	if segments == 10 {
		fmt.Fprint(w, "#EXT-X-ENDLIST\n")
		return
	}
	n := 2 * segments
	if o.age() >= time.Duration((n+1)*partSeconds)*time.Second {
		part(n)
		n++
	}
	fmt.Fprintf(w, "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"p%03d%s\"\n", n, o.ext)
}

// open opens the stream when three segments and no part of the fourth have been
// published.
func (o *lowLatency) open(t *testing.T) *client.Resource {
	t.Helper()
	o.clock = &hls.TestClock{T: time.Unix(1_800_000_000, 0)}
	o.dir, o.start, o.asked = hls.PartsPresentation(t, o.ext), o.clock.T.Add(-12500*time.Millisecond), map[string]int{}
	server := httptest.NewServer(o)
	t.Cleanup(server.Close)
	c := &client.Client{}
	t.Cleanup(c.CloseIdleConnections)
	r, err := c.Open(t.Context(), server.URL+"/live.m3u8?token=x")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	r.Media.(*hls.Medium).SetClock(o.clock)
	return r
}

// TestFollowLowLatency follows a stream of which parts are published before their
// segments, over a socket, on a clock that the test drives: the clip is complete
// with the part that holds its end, reloads wait at the server, and playlists
// come as delta updates.
func TestFollowLowLatency(t *testing.T) {
	t.Parallel()
	for i, test := range []struct {
		name   string
		origin *lowLatency
		a, b   float64
		parts  string // that are asked for; segments are whole otherwise
		at     float64
		sleeps bool
	}{
		{"the end in the first part of a segment", &lowLatency{ext: ".ts", window: 6}, 9, 21.5, "p010.ts", 22, false},
		{"the end in the last part of a segment", &lowLatency{ext: ".ts", window: 6}, 9, 23.5, "", 24, false},
		{"the end at a segment's", &lowLatency{ext: ".ts", window: 6}, 9, 20, "", 20, false},
		{"the beginning and the end in a part", &lowLatency{ext: ".ts", window: 6}, 12.5, 13.5, "p006.ts", 14, false},
		{"fragmented MP4", &lowLatency{ext: ".m4s", window: 6}, 9, 21.5, "p010.m4s", 22, false},
		{"to the end", &lowLatency{ext: ".ts", window: 6}, 30, -1, "", 40, false},
		{"a server that does not wait", &lowLatency{ext: ".ts", window: 6, hasty: true}, 9, 21.5, "p010.ts", 22, true},
		{"a server without directives", &lowLatency{ext: ".ts", window: 6, refuses: true}, 9, 21.5, "p010.ts", 22, true},
		{"a delta update that leaves out too much", &lowLatency{ext: ".ts", window: 6, forgets: true}, 9, 21.5, "p010.ts", 22, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			tools.Need(t, "ffmpeg", "ffprobe")
			o := test.origin
			r := o.open(t)
			q, err := r.Follow(t.Context(), hls.BetweenTimes(test.a, test.b))
			if err != nil {
				t.Fatal(err)
			}
			defer q.Close()
			var out bytes.Buffer
			if _, err := q.WriteTo(&out); err != nil {
				t.Fatal(err)
			}
			b := test.b
			if b < 0 {
				b = 40
			}
			if tools.Full() || i == 0 || o.ext == ".m4s" {
				hls.CheckPictures(t, hls.Write(t, "clip"+o.ext, out.Bytes()), test.a, b)
			}
			var parts []string
			for name, n := range o.asked {
				if strings.HasPrefix(name, "p") {
					parts = append(parts, name)
				}
				if n > 1 && name != "live.m3u8" {
					t.Errorf("%s was asked for %d times", name, n)
				}
			}
			if got := strings.Join(parts, " "); got != test.parts {
				t.Errorf("the parts %q were asked for, want %q", got, test.parts)
			}
			late := o.age().Seconds() - test.at
			if most := 0.0; !test.sleeps && late > most || late > segmentSeconds {
				t.Errorf("the clip was complete %g s after its end was published", late)
			}
			if test.sleeps {
				if n, most := len(o.queries), 4+4*int(o.age().Seconds()-12)/segmentSeconds; n > 2*most {
					t.Errorf("the playlist was loaded %d times: %q", n, o.queries)
				}
				return
			}
			if n := len(o.clock.Sleeps); n > 0 {
				t.Errorf("it waited %d times by itself", n)
			}
			for i, query := range o.queries {
				if i > 0 && !test.origin.forgets && (!strings.HasPrefix(query, "token=x&_HLS_msn=") || !strings.HasSuffix(query, "&_HLS_skip=YES")) {
					t.Errorf("load %d of the playlist asked for %q", i, query)
				}
				if wantsPart := strings.Contains(query, "_HLS_part="); i > 0 && i < len(o.queries)-1 && wantsPart && test.b > 16 && i < 2 {
					t.Errorf("load %d asked for a part that the interval does not need: %q", i, query)
				}
			}
			if n, most := len(o.queries), 2+int(o.age().Seconds()-12)/partSeconds; n > most && !test.origin.forgets {
				t.Errorf("the playlist was loaded %d times, want at most %d: %q", n, most, o.queries)
			}
		})
	}
}
