package hls_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/hls"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/seek"
)

const segmentSeconds = 4

// liveOrigin is a server with a live playlist of ten segments: one more every
// four seconds of its clock.
type liveOrigin struct {
	dir, init, ext string
	key            string // of encrypted segments
	keyFrom        int    // the first of those
	window         int    // segments in the playlist; 0: all that were
	early          int    // by how many segments sooner than usual they are taken away; apart: those of sound
	now            func() time.Time
	start          time.Time
	late           map[int]time.Duration // by how much a segment comes after its line
	gone           map[int]bool          // segments that never come
	down           map[string]time.Duration
	delta          bool   // playlists leave out what is known
	apart          bool   // pictures are at /v/, sound at /a/ by other numbers
	advert         [2]int // segments from the first to before the second have a clock of their own
	adInit         string // and this initialization
	uncounted      bool   // discontinuities that have left are not counted

	mu    sync.Mutex
	asked map[string]int
}

func (o *liveOrigin) age() time.Duration { return o.now().Sub(o.start) }

func (o *liveOrigin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	o.asked[r.URL.Path]++
	o.mu.Unlock()
	host := strings.SplitN(r.URL.Path, "/", 3)[1]
	if from, ok := o.down[host]; ok && o.age() >= from {
		http.NotFound(w, r)
		return
	}
	name := filepath.Base(r.URL.Path)
	published := min(10, int(o.age()/(segmentSeconds*time.Second)))
	var n int
	switch {
	case name == "master.m3u8" && o.apart:
		fmt.Fprint(w, "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"a\",DEFAULT=YES,URI=\"/a/live.m3u8\"\n#EXT-X-STREAM-INF:BANDWIDTH=1000,CODECS=\"avc1.64000b,mp4a.40.2\",AUDIO=\"a\"\n/v/live.m3u8\n")
		return
	case name == "master.m3u8":
		fmt.Fprint(w, "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000\n/one/live.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=1000\n/two/live.m3u8\n")
		return
	case name == "live.m3u8":
		fmt.Fprint(w, o.playlist(host, published))
		return
	}
	if _, err := fmt.Sscanf(name, "s%03d", &n); err == nil {
		first := 0
		if o.window > 0 {
			first = published - o.window - 1 // one longer than it is named
			if host != "v" {
				first += o.early
			}
		}
		if n >= published || n < first || o.gone[n] || o.age() < time.Duration(n+1)*segmentSeconds*time.Second+o.late[n] {
			http.NotFound(w, r)
			return
		}
	}
	if o.apart {
		name = filepath.Join(host, name)
	}
	http.ServeFile(w, r, filepath.Join(o.dir, name))
}

// sequence is the media sequence number of the first segment: that of encrypted ones
// is their initialization vector.
func (o *liveOrigin) sequence(host string) int {
	if host == "a" {
		return 1000
	}
	if o.key != "" {
		return 0
	}
	return 100
}

func (o *liveOrigin) playlist(host string, published int) string {
	first := 0
	if o.window > 0 {
		first = max(0, published-o.window)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#EXTM3U\n#EXT-X-VERSION:9\n#EXT-X-TARGETDURATION:%d\n#EXT-X-MEDIA-SEQUENCE:%d\n", segmentSeconds, o.sequence(host)+first)
	if o.delta && published-first > 2 && o.age() > 16*time.Second {
		fmt.Fprintf(&b, "#EXT-X-SKIP:SKIPPED-SEGMENTS=%d\n", published-first-2)
		first = published - 2
	}
	init, left := o.init, 0
	for _, at := range o.advert {
		if at > 0 && at < first && !o.uncounted {
			left++
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "#EXT-X-DISCONTINUITY-SEQUENCE:%d\n", left)
	}
	if o.advert[0] < first && first < o.advert[1] {
		init = o.adInit
	}
	if init != "" {
		fmt.Fprintf(&b, "#EXT-X-MAP:URI=\"%s\"\n", init)
	}
	for i := first; i < published; i++ {
		if o.key != "" && i == max(first, o.keyFrom) {
			fmt.Fprintf(&b, "#EXT-X-KEY:METHOD=AES-128,URI=\"%s\"\n", o.key)
		}
		if i > 0 && o.advert[1] > 0 && (i == o.advert[0] || i == o.advert[1]) {
			b.WriteString("#EXT-X-DISCONTINUITY\n")
			if init = o.init; i == o.advert[0] {
				init = o.adInit
			}
			if init != "" {
				fmt.Fprintf(&b, "#EXT-X-MAP:URI=\"%s\"\n", init)
			}
		}
		fmt.Fprintf(&b, "#EXTINF:%d,\ns%03d%s\n", segmentSeconds, i, o.ext)
	}
	if published == 10 {
		b.WriteString("#EXT-X-ENDLIST\n")
	}
	return b.String()
}

// live is a stream that was opened when three segments had been published.
type live struct {
	*liveOrigin
	url      string
	clock    *hls.TestClock
	resource *client.Resource
}

func openLive(t *testing.T, list string, o *liveOrigin) *live {
	t.Helper()
	tools.Need(t, "ffmpeg", "ffprobe")
	clock := &hls.TestClock{T: time.Unix(1_800_000_000, 0)}
	if o.dir == "" {
		o.dir, o.ext = hls.TSPresentation(t), ".ts"
	}
	o.now, o.start, o.asked = clock.Now, clock.T.Add(-12500*time.Millisecond), map[string]int{}
	server := httptest.NewServer(o)
	t.Cleanup(server.Close)
	c := &client.Client{}
	t.Cleanup(c.CloseIdleConnections)
	r, err := c.Open(t.Context(), server.URL+list)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	r.Media.(*hls.Medium).SetClock(clock)
	return &live{o, server.URL, clock, r}
}

// read follows [a, b) to its end.
func (l *live) read(t *testing.T, a, b float64) ([]byte, error) {
	t.Helper()
	q, err := l.resource.Follow(t.Context(), hls.BetweenTimes(a, b))
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	var out bytes.Buffer
	_, err = q.WriteTo(&out)
	return out.Bytes(), err
}

// checkSegments checks that a clip is the segments of the stream, in sequence.
func (l *live) checkSegments(t *testing.T, data []byte, first, last int) {
	t.Helper()
	for i := first; i <= last; i++ {
		want, err := os.ReadFile(filepath.Join(l.dir, fmt.Sprintf("s%03d%s", i, l.ext)))
		if err != nil {
			t.Fatal(err)
		}
		rest, ok := bytes.CutPrefix(data, want)
		if !ok {
			t.Fatalf("segment %d does not follow", i)
		}
		data = rest
	}
	if len(data) > 0 {
		t.Errorf("%d bytes too many", len(data))
	}
}

// TestLive follows a stream whose window slides, over a socket, on a clock that
// the test drives.
func TestLive(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, list string
		origin     *liveOrigin
		a, b       float64
	}{
		{"the window slides", "/one/live.m3u8", &liveOrigin{window: 4}, 2, 30},
		{"an event", "/one/live.m3u8", &liveOrigin{}, 2, 21},
		{"to the end", "/one/live.m3u8", &liveOrigin{window: 4}, 30, -1},
		{"a segment comes late", "/one/live.m3u8", &liveOrigin{window: 4, late: map[int]time.Duration{5: 3 * time.Second}}, 14, 30},
		{"delta updates", "/one/live.m3u8", &liveOrigin{window: 6, delta: true}, 9, 30},
		{"a host fails", "/one/master.m3u8", &liveOrigin{window: 4, down: map[string]time.Duration{"one": 20 * time.Second}}, 2, 30},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := openLive(t, test.list, test.origin)
			if i := l.resource.Info(); i.Timed {
				t.Error("the duration of a live stream is known")
			}
			begun := l.clock.T
			data, err := l.read(t, test.a, test.b)
			if err != nil {
				t.Fatal(err)
			}
			b := test.b
			if b < 0 {
				b = 40
			}
			if tools.Full() || test.origin.delta {
				hls.CheckPictures(t, hls.Write(t, "clip.ts", data), test.a, b)
			}
			l.checkSegments(t, data, int(test.a)/segmentSeconds, int(b-1e-9)/segmentSeconds)
			// The clip is complete as soon as its end has been published.
			took := l.clock.T.Sub(begun)
			if least, most := time.Duration(b-12.5)*time.Second, time.Duration(b-12.5+3*segmentSeconds)*time.Second; took > most || took < least-4*time.Second {
				t.Errorf("it took %v of the stream's time, want about %v", took, least)
			}
			loads := 0
			for path, n := range l.asked {
				if strings.HasSuffix(path, "live.m3u8") {
					loads += n
				} else if n > 4 {
					t.Errorf("%s was asked for %d times", path, n)
				}
			}
			if most := 2*int(took/(segmentSeconds*time.Second)) + 4; loads > most {
				t.Errorf("the playlist was loaded %d times in %v, want at most %d", loads, took, most)
			}
			if first := int(test.a) / segmentSeconds; first > 0 && l.asked[fmt.Sprintf("/one/s%03d.ts", first-1)] > 0 {
				t.Error("a segment before the interval was fetched")
			}
		})
	}
}

// TestLiveFailures are ends that a live stream may come to before the interval's.
func TestLiveFailures(t *testing.T) {
	t.Run("a segment never comes", func(t *testing.T) {
		l := openLive(t, "/one/live.m3u8", &liveOrigin{gone: map[int]bool{5: true}})
		data, err := l.read(t, 14, 30)
		if !errors.Is(err, seek.ErrNotFound) || errors.Is(err, hls.ErrExpired) {
			t.Errorf("the error is %v", err)
		}
		if len(data) == 0 {
			t.Error("what came before is lost")
		}
		if n := l.asked["/one/s005.ts"]; n < 2 || n > 10 {
			t.Errorf("it was asked for %d times", n)
		}
	})
	t.Run("a segment leaves the window", func(t *testing.T) {
		l := openLive(t, "/one/live.m3u8", &liveOrigin{window: 3})
		l.clock.T = l.clock.T.Add(20 * time.Second)
		if _, err := l.read(t, 2, 30); !errors.Is(err, hls.ErrExpired) || !errors.Is(err, seek.ErrChanged) {
			t.Errorf("the error is %v, want %v", err, hls.ErrExpired)
		}
	})
	t.Run("a segment leaves while the playlist names it", func(t *testing.T) {
		l := openLive(t, "/one/live.m3u8", &liveOrigin{window: 3, early: 2})
		if _, err := l.read(t, 2, 30); !errors.Is(err, hls.ErrExpired) || !errors.Is(err, seek.ErrNotFound) {
			t.Errorf("the error is %v, want %v", err, hls.ErrExpired)
		}
	})
	t.Run("the stream stands still", func(t *testing.T) {
		o := &liveOrigin{}
		l := openLive(t, "/one/live.m3u8", o)
		stopped := l.clock.T
		o.now = func() time.Time { return stopped }
		if _, err := l.read(t, 2, 30); !errors.Is(err, seek.ErrUnavailable) {
			t.Errorf("the error is %v, want %v", err, seek.ErrUnavailable)
		}
		if n := l.asked["/one/live.m3u8"]; n > 25 {
			t.Errorf("the playlist was loaded %d times", n)
		}
		for i, d := range l.clock.Sleeps {
			if d < segmentSeconds*time.Second/2 {
				t.Errorf("wait %d was for %v: that is less than half the target duration", i, d)
			}
		}
	})
}

// TestLiveMP4 follows fragmented MP4, together and apart, through windows that are
// shorter than the interval: segments come as they appear, and the clip is cut to the
// sample at both ends. Its bytes are those of a clip of all segments, but for the
// header and the numbers of fragments.
func TestLiveMP4(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, list string
		origin     *liveOrigin
		a, b       float64
	}{
		{"all within the window", "/one/live.m3u8", &liveOrigin{dir: hls.FMP4Presentation(t), init: "init.mp4", ext: ".m4s", window: 6}, 9, 22},
		{"the window slides", "/one/live.m3u8", &liveOrigin{dir: hls.FMP4Presentation(t), init: "init.mp4", ext: ".m4s", window: 3}, 2.3, 33.1},
		{"to the end of the stream", "/one/live.m3u8", &liveOrigin{dir: hls.FMP4Presentation(t), init: "init.mp4", ext: ".m4s", window: 3}, 9.7, 60},
		{"a segment comes late", "/one/live.m3u8", &liveOrigin{dir: hls.FMP4Presentation(t), init: "init.mp4", ext: ".m4s", window: 4, late: map[int]time.Duration{5: 3 * time.Second}}, 9.7, 33.1},
		{"encrypted", "/one/live.m3u8", &liveOrigin{dir: hls.EncryptedMP4(t), init: "init.mp4", key: "key", ext: ".m4s", window: 3}, 9.7, 33.1},
		{"a host fails", "/one/master.m3u8", &liveOrigin{dir: hls.FMP4Presentation(t), init: "init.mp4", ext: ".m4s", window: 4, down: map[string]time.Duration{"one": 20 * time.Second}}, 2.3, 33.1},
		{"apart", "/master.m3u8", &liveOrigin{dir: hls.ApartPresentation(t), init: "init.mp4", ext: ".m4s", window: 3, apart: true}, 2.3, 33.1},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := openLive(t, test.list, test.origin)
			l.resource.Media.(*hls.Medium).SetHeld(200_000) // no more than a segment: what has left does not come back
			data, err := l.read(t, test.a, test.b)
			if err != nil {
				t.Fatal(err)
			}
			b := min(test.b, 40)
			hls.CheckClip(t, hls.Write(t, "clip.mp4", data), test.a, b)
			for path, n := range l.asked {
				if strings.HasSuffix(path, ".m4s") && n > 1 && !strings.HasSuffix(path, "s005.m4s") {
					t.Errorf("%s was asked for %d times", path, n)
				}
			}
		})
	}
	t.Run("it comes as it appears", func(t *testing.T) {
		l := openLive(t, "/one/live.m3u8", &liveOrigin{dir: hls.FMP4Presentation(t), init: "init.mp4", ext: ".m4s", window: 3})
		q, err := l.resource.Follow(t.Context(), hls.BetweenTimes(2.3, 33.1))
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		if _, err := io.CopyN(io.Discard, q, 300_000); err != nil {
			t.Fatal(err)
		}
		if age := l.age(); age > 20*time.Second {
			t.Errorf("300 kB have come after %v", age)
		}
	})
	t.Run("segments are missed", func(t *testing.T) {
		l := openLive(t, "/one/live.m3u8", &liveOrigin{dir: hls.FMP4Presentation(t), init: "init.mp4", ext: ".m4s", window: 3})
		q, err := l.resource.Follow(t.Context(), hls.BetweenTimes(2.3, 39))
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		if _, err := io.CopyN(io.Discard, q, 350_000); err != nil {
			t.Fatal(err)
		}
		l.clock.Until(l.clock.Now().Add(20 * time.Second))
		if _, err := io.Copy(io.Discard, q); !errors.Is(err, hls.ErrExpired) {
			t.Errorf("the error is %v, want %v", err, hls.ErrExpired)
		}
	})
	for _, test := range []struct {
		name, list string
		origin     *liveOrigin
	}{
		{"a window that is too short", "/one/live.m3u8", &liveOrigin{dir: hls.FMP4Presentation(t), init: "init.mp4", ext: ".m4s", window: 3, early: 2}},
		{"a window of sound that is too short", "/master.m3u8", &liveOrigin{dir: hls.ApartPresentation(t), init: "init.mp4", ext: ".m4s", window: 3, early: 2, apart: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := openLive(t, test.list, test.origin).read(t, 2, 33.1); !errors.Is(err, hls.ErrExpired) {
				t.Errorf("the error is %v, want %v", err, hls.ErrExpired)
			}
		})
	}
}

// TestLiveJoints follows fragmented MP4 of which the clock begins anew: in a window
// that is shorter than what is behind that, and by a server that does not count
// discontinuities which have left it. What one file cannot hold is an error as soon as
// it comes.
func TestLiveJoints(t *testing.T) {
	dir := hls.AdvertisedPresentation(t)
	main, ad := hls.Whole(t), hls.Advert(t)
	for _, test := range []struct {
		name   string
		origin *liveOrigin
		a, b   float64
		parts  []hls.Part
	}{
		{"midway", &liveOrigin{window: 3, adInit: "ad.mp4", advert: [2]int{4, 6}}, 2.3, 37.1, []hls.Part{{main, 2.3, 0, 13.7}, {ad, 0, 13.7, 21.7}, {main, 16, 21.7, 34.8}}},
		{"not counted", &liveOrigin{window: 3, adInit: "ad.mp4", advert: [2]int{4, 6}, uncounted: true}, 2.3, 37.1, []hls.Part{{main, 2.3, 0, 13.7}, {ad, 0, 13.7, 21.7}, {main, 16, 21.7, 34.8}}},
		{"all is held by the playlist", &liveOrigin{adInit: "ad.mp4", advert: [2]int{4, 6}}, 2.3, 30, []hls.Part{{main, 2.3, 0, 13.7}, {ad, 0, 13.7, 21.7}, {main, 16, 21.7, 27.7}}},
		{"at the second segment", &liveOrigin{window: 3, adInit: "ad.mp4", advert: [2]int{4, 6}}, 13.5, 37.1, []hls.Part{{main, 13.5, 0, 2.5}, {ad, 0, 2.5, 10.5}, {main, 16, 10.5, 23.6}}},
		{"at the last", &liveOrigin{window: 3, adInit: "ad.mp4", advert: [2]int{4, 6}}, 2.3, 18, []hls.Part{{main, 2.3, 0, 13.7}, {ad, 0, 13.7, 15.7}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.origin.dir, test.origin.init, test.origin.ext = dir, "init.mp4", ".m4s"
			l := openLive(t, "/one/live.m3u8", test.origin)
			l.resource.Media.(*hls.Medium).SetHeld(200_000) // no more than a segment: what has left does not come back
			data, err := l.read(t, test.a, test.b)
			if err != nil {
				t.Fatal(err)
			}
			hls.CheckParts(t, hls.Write(t, "clip.mp4", data), test.parts)
			for path, n := range l.asked {
				if strings.HasSuffix(path, ".m4s") && n > 1 {
					t.Errorf("%s was asked for %d times", path, n)
				}
			}
		})
	}
	// Behind the joint at 16 s the first segment is held; the others are asked for
	// when 40 s have been published.
	for _, test := range []struct {
		name   string
		window int
		fails  bool
	}{{"too much to hold", 0, false}, {"too much to hold, and it has left", 3, true}} {
		t.Run(test.name, func(t *testing.T) {
			l := openLive(t, "/one/live.m3u8", &liveOrigin{dir: dir, init: "init.mp4", ext: ".m4s", window: test.window, adInit: "ad.mp4", advert: [2]int{4, 6}})
			l.resource.Media.(*hls.Medium).SetHeld(200_000)
			l.resource.Media.(*hls.Medium).SetBehind(1)
			first := map[string]time.Duration{}
			l.clock.Tick = func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				for path := range l.asked {
					if _, known := first[path]; !known {
						first[path] = l.age()
					}
				}
			}
			data, err := l.read(t, 2.3, 37.1)
			for i := 5; i < 9; i++ {
				if at, asked := first[fmt.Sprintf("/one/s%03d.m4s", i)]; asked {
					t.Errorf("segment %d was asked for at %v", i, at)
				}
			}
			if first["/one/s004.m4s"] == 0 {
				t.Error("nothing was held")
			}
			switch {
			case test.fails && !errors.Is(err, hls.ErrExpired):
				t.Errorf("the error is %v, want %v", err, hls.ErrExpired)
			case test.fails:
			case err != nil:
				t.Error(err)
			default:
				hls.CheckParts(t, hls.Write(t, "clip.mp4", data), []hls.Part{{main, 2.3, 0, 13.7}, {ad, 0, 13.7, 21.7}, {main, 16, 21.7, 34.8}})
			}
		})
	}
	t.Run("coded otherwise", func(t *testing.T) {
		l := openLive(t, "/one/live.m3u8", &liveOrigin{dir: dir, init: "init.mp4", ext: ".m4s", window: 3, adInit: "small.mp4", advert: [2]int{4, 6}})
		data, err := l.read(t, 2.3, 37.1)
		if !errors.Is(err, formats.ErrUnsupported) || !strings.Contains(err.Error(), "at 16 s") || !strings.Contains(err.Error(), "FOLDER/") {
			t.Errorf("the error is %v", err)
		}
		if age := l.age(); len(data) == 0 || age > 28*time.Second {
			t.Errorf("it came after %v, behind %d bytes", age, len(data))
		}
	})
}

// TestLiveVerbatim follows streams for the original's bytes alone: across a
// discontinuity, and not where segments are encrypted, which is an error before
// anything of those was given out or waited for.
func TestLiveVerbatim(t *testing.T) {
	verbatim := func(t *testing.T, l *live, a, b float64) ([]byte, error) {
		s := hls.BetweenTimes(a, b)
		s.Form = formats.Verbatim
		q, err := l.resource.Follow(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		var out bytes.Buffer
		_, err = q.WriteTo(&out)
		return out.Bytes(), err
	}
	t.Run("a discontinuity", func(t *testing.T) {
		dir := t.TempDir()
		for i := range 10 { // the clock goes back at 16 s
			n := i
			if i >= 4 {
				n = i - 4
			}
			b, err := os.ReadFile(filepath.Join(hls.TSPresentation(t), fmt.Sprintf("s%03d.ts", n)))
			if err != nil {
				t.Fatal(err)
			}
			hls.WriteFile(t, filepath.Join(dir, fmt.Sprintf("s%03d.ts", i)), b)
		}
		l := openLive(t, "/one/live.m3u8", &liveOrigin{dir: dir, ext: ".ts", advert: [2]int{4, 100}})
		data, err := verbatim(t, l, 9, 23)
		if err != nil {
			t.Fatal(err)
		}
		l.checkSegments(t, data, 2, 5)
		again, err := l.read(t, 9, 23)
		if err != nil || bytes.Equal(again, data) {
			t.Errorf("the clocks of the standalone clip do not go on; %v", err)
		}
	})
	for _, test := range []struct {
		name   string
		origin *liveOrigin
		plain  int // segments before those that are encrypted
	}{
		{"encrypted", &liveOrigin{dir: hls.EncryptedPresentation(t), key: "key.bin", ext: ".ts"}, 0},
		{"encrypted later", &liveOrigin{dir: hls.EncryptedPresentation(t), key: "key.bin", keyFrom: 4, ext: ".ts"}, 2},
		{"encrypted fragments", &liveOrigin{dir: hls.EncryptedMP4(t), init: "init.mp4", key: "key", ext: ".m4s"}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := openLive(t, "/one/live.m3u8", test.origin)
			begun := l.clock.T
			if test.plain > 0 { // what is not encrypted has to be media
				l.dir = t.TempDir()
				for i := range 10 {
					from := hls.TSPresentation(t)
					if i >= 4 {
						from = hls.EncryptedPresentation(t)
					}
					b, err := os.ReadFile(filepath.Join(from, fmt.Sprintf("s%03d.ts", i)))
					if err != nil {
						t.Fatal(err)
					}
					hls.WriteFile(t, filepath.Join(l.dir, fmt.Sprintf("s%03d.ts", i)), b)
				}
				hls.WriteFile(t, filepath.Join(l.dir, "key.bin"), []byte("0123456789abcdef"))
			}
			data, err := verbatim(t, l, 9, 30)
			if !errors.Is(err, formats.ErrUnsupported) || !strings.Contains(err.Error(), "encrypted") || !strings.Contains(err.Error(), "standalone") {
				t.Errorf("the error is %v", err)
			}
			l.checkSegments(t, data, 2, 1+test.plain)
			if took := l.clock.T.Sub(begun); test.plain == 0 && took > 0 {
				t.Errorf("it came after %v", took)
			}
			if l.ext != ".ts" || test.plain > 0 && !tools.Full() {
				return
			}
			if data, err = l.read(t, 9, 30); err != nil {
				t.Fatal(err)
			}
			hls.CheckPictures(t, hls.Write(t, "clip.ts", data), 9, 30)
		})
	}
}

// TestLivePlan compares what a clip of a live stream says of itself with the plan
// of the same segments when all are published.
func TestLivePlan(t *testing.T) {
	for _, test := range []struct {
		name   string
		origin *liveOrigin
		a, b   float64
		want   string // covered
	}{
		{"all is published", &liveOrigin{}, 1, 3, "[0, 4)"},
		{"followed", &liveOrigin{window: 4}, 9, 22, "[8, 24)"},
		{"followed to its end", &liveOrigin{window: 4}, 30, 50, "[28, 40)"},
		{"fragmented MP4, all is published", &liveOrigin{dir: hls.FMP4Presentation(t), init: "init.mp4", ext: ".m4s"}, 5, 7, ""},
		{"fragmented MP4, followed", &liveOrigin{dir: hls.FMP4Presentation(t), init: "init.mp4", ext: ".m4s", window: 6}, 9, 22, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := openLive(t, "/one/live.m3u8", test.origin)
			q, err := l.resource.Follow(t.Context(), hls.BetweenTimes(test.a, test.b))
			if err != nil {
				t.Fatal(err)
			}
			defer q.Close()
			n, err := q.WriteTo(io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			l.clock.Until(l.start.Add(time.Minute))
			l.window = 0
			c := &client.Client{}
			t.Cleanup(c.CloseIdleConnections)
			r, err := c.Open(t.Context(), l.url+"/one/live.m3u8")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			want, err := r.Plan(t.Context(), hls.BetweenTimes(test.a, test.b))
			if err != nil {
				t.Fatal(err)
			}
			got := q.Plan
			if test.want != "" && got.Covered.String() != test.want {
				t.Errorf("covered %s, want %s", got.Covered, test.want)
			}
			for _, i := range []struct {
				name      string
				got, want fragment.Interval
			}{{"requested", got.Requested, want.Requested}, {"presented", got.Presented, want.Presented}, {"covered", got.Covered, want.Covered}} {
				if i.got.String() != i.want.String() {
					t.Errorf("%s %s, want %s", i.name, i.got, i.want)
				}
			}
			if got.MediaType != want.MediaType || len(got.Tracks) == 0 || fmt.Sprint(got.Tracks) != fmt.Sprint(want.Tracks) {
				t.Errorf("%s with %v, want %s with %v", got.MediaType, got.Tracks, want.MediaType, want.Tracks)
			}
			if len(got.Parts) == 0 || got.Size >= 0 && got.Size != n || len(got.Warnings) != 0 {
				t.Errorf("%d parts of %d bytes, %d were delivered; %v", len(got.Parts), got.Size, n, got.Warnings)
			}
		})
	}
}

// TestLiveType: what a live clip is of is known before it is waited for, by the
// initialization section, which is asked for once; and to who reads it from its first
// byte on.
func TestLiveType(t *testing.T) {
	for _, test := range []struct {
		name, list string
		origin     *liveOrigin
		b          float64
		tracks     []string
		want       string // before it is waited for
		then       string // with its first byte
	}{
		{"fragmented MP4", "/one/live.m3u8", &liveOrigin{dir: hls.FMP4Presentation(t), init: "init.mp4", ext: ".m4s"}, 22, nil, "video/mp4", "video/mp4"},
		{"all of it is published", "/one/live.m3u8", &liveOrigin{dir: hls.FMP4Presentation(t), init: "init.mp4", ext: ".m4s"}, 11, nil, "", "video/mp4"},
		{"apart", "/master.m3u8", &liveOrigin{dir: hls.ApartPresentation(t), init: "init.mp4", ext: ".m4s", apart: true}, 22, nil, "video/mp4", "video/mp4"},
		{"sound alone", "/master.m3u8", &liveOrigin{dir: hls.ApartPresentation(t), init: "init.mp4", ext: ".m4s", apart: true}, 22, []string{"audio/a"}, "audio/mp4", "audio/mp4"},
		{"transport streams", "/one/live.m3u8", &liveOrigin{}, 22, nil, "", "video/mp2t"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := openLive(t, test.list, test.origin)
			s := hls.BetweenTimes(2.3, test.b)
			s.Tracks = test.tracks
			if got := l.resource.Media.(formats.Live).MediaType(t.Context(), s); got != test.want {
				t.Errorf("before: %q, want %q", got, test.want)
			}
			for path := range l.asked {
				if strings.HasSuffix(path, l.ext) {
					t.Errorf("%s was asked for", path)
				}
			}
			q, err := l.resource.Follow(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			defer q.Close()
			if _, err := q.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if got := q.Plan.MediaType; got != test.then {
				t.Errorf("with the first byte: %q, want %q", got, test.then)
			}
			for path, n := range l.asked {
				if strings.HasSuffix(path, "init.mp4") && n > 1 {
					t.Errorf("%s was asked for %d times", path, n)
				}
			}
		})
	}
}

// TestRealTime follows a stream by the machine's clock.
func TestRealTime(t *testing.T) {
	if !tools.Full() {
		t.Skip("takes 20 s; MEDIAFRAG_FULL=1 runs it")
	}
	tools.Need(t, "ffmpeg", "ffprobe")
	o := &liveOrigin{dir: hls.TSPresentation(t), ext: ".ts", window: 4, now: time.Now, start: time.Now().Add(-12 * time.Second), asked: map[string]int{}}
	server := httptest.NewServer(o)
	defer server.Close()
	c := &client.Client{}
	defer c.CloseIdleConnections()
	r, err := c.Open(t.Context(), server.URL+"/one/live.m3u8")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	q, err := r.Follow(t.Context(), hls.BetweenTimes(6, 24))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := q.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	hls.CheckPictures(t, hls.Write(t, "clip.ts", out.Bytes()), 6, 24)
}

// TestDates maps wall-clock times and named date ranges of a playlist.
func TestDates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dated.m3u8")
	text := "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-PROGRAM-DATE-TIME:2026-05-01T10:00:00Z\n#EXTINF:4,\na.ts\n#EXTINF:4,\nb.ts\n" +
		"#EXT-X-DATERANGE:ID=\"ch1\",START-DATE=\"2026-05-01T10:00:02Z\",DURATION=3\n#EXT-X-ENDLIST\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var c client.Client
	r, err := c.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m := r.Media.(*hls.Medium)
	at := time.Date(2026, 5, 1, 10, 0, 5, 5e8, time.UTC)
	if got, ok := m.TimeOf(at); !ok || !got.Equal(fragment.FromSeconds(5.5)) {
		t.Errorf("the date is at %s, %v", got, ok)
	}
	if got, ok := m.Date(fragment.FromSeconds(5.5)); !ok || !got.Equal(at) {
		t.Errorf("5.5 s is %v, %v", got, ok)
	}
	if got := m.Before(fragment.Seconds(3)); got.String() != "[5, 8)" {
		t.Errorf("the last 3 s are %s", got)
	}
	chapters := r.Info().Chapters
	if len(chapters) != 1 || chapters[0].ID != "ch1" || chapters[0].Interval.String() != "[2, 5)" {
		t.Errorf("chapters: %+v", chapters)
	}
	_ = formats.Live(m)
}
