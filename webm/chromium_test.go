package webm_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// needBrowser skips a test for which there is no browser, or no time.
func needBrowser(t *testing.T) {
	t.Helper()
	tools.Need(t, "chromium", "ffmpeg", "ffprobe")
	if !tools.Full() {
		t.Skip("a browser takes long: MEDIAFRAG_FULL=1 runs it")
	}
}

// browse opens a page in a headless Chromium and returns what the page posts to
// /result. Files are served under /files/.
func browse(t *testing.T, page string, files map[string][]byte) string {
	t.Helper()
	result := make(chan string, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, page)
	})
	mux.HandleFunc("/files/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "video/webm")
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(files[r.PathValue("name")])))
	})
	mux.HandleFunc("POST /result", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(io.LimitReader(r.Body, 64<<20))
		select {
		case result <- string(b):
		default:
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	said := tools.Browse(t, server.URL)
	select {
	case got := <-result:
		return got
	case <-time.After(90 * time.Second):
		t.Fatalf("the page gave no result\n%s", said())
	}
	return ""
}

// recordPage records a canvas and a tone for some seconds, as web applications do.
const recordPage = `<!doctype html><canvas id=c width=160 height=120></canvas><script>
const x = c.getContext("2d"); let n = 0;
setInterval(() => { n++; x.fillStyle = "hsl(" + n * 7 % 360 + ",80%,50%)"; x.fillRect(0, 0, 160, 120); x.fillStyle = "#000"; x.fillText(n, 10 + n % 100, 60); }, 40);
const a = new AudioContext(), o = a.createOscillator(), d = a.createMediaStreamDestination();
o.frequency.value = 440; o.connect(d); o.start(); o.frequency.linearRampToValueAtTime(2000, a.currentTime + 8);
const s = c.captureStream(25); s.addTrack(d.stream.getAudioTracks()[0]);
const r = new MediaRecorder(s, {mimeType: "TYPE", videoBitsPerSecond: 300000}), parts = [];
r.ondataavailable = e => parts.push(e.data);
r.onstop = () => fetch("/result", {method: "POST", body: new Blob(parts)});
r.start(500); setTimeout(() => r.stop(), 7000);
</script>`

// record has a browser record to a file. The times of a recording are those at
// which frames arrived: where a busy machine held them up by more than what the
// comparison allows for, it is made again.
func record(t *testing.T, kind, path string) {
	t.Helper()
	const tries = 4
	var jitter float64
	for range tries {
		data := []byte(browse(t, strings.Replace(recordPage, "TYPE", kind, 1), nil))
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if jitter = captureJitter(oracle.Packets(t, path)); jitter <= budget.JitterWebM {
			return
		}
	}
	t.Fatalf("this machine is too busy to record: sound %g s late after %d tries", jitter, tries)
}

// captureJitter is how far the times of a recording's sound, the second stream,
// are from those of frames that follow each other, in seconds.
func captureJitter(packets []oracle.Packet) float64 {
	var next, least, most float64
	first := true
	for _, p := range packets {
		if p.Stream != 1 {
			continue
		}
		if first {
			next, first = p.Time, false
		}
		least, most = min(least, p.Time-next), max(most, p.Time-next)
		next += p.End - p.Time
	}
	return most - least
}

// TestMediaRecorder cuts what a browser records: unknown sizes, no Cues, no
// Duration.
func TestMediaRecorder(t *testing.T) {
	needBrowser(t)
	kinds := []string{"video/webm;codecs=vp8,opus", "video/webm;codecs=vp9,opus"}
	for i, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			path := filepath.Join(tempDir, fmt.Sprintf("recorded-%d.webm", i))
			record(t, kind, path)
			data := mustRead(t, path)
			o, err := open(t, seektest.New(data), formats.Env{})
			if err != nil {
				t.Fatal(err)
			}
			if info := o.Info(); info.Timed || info.Index != "none" {
				t.Errorf("a recording with a duration of %v and the index %q", info.Duration, info.Index)
			}
			info, err := o.Inspect(t.Context())
			if err != nil || info.Duration.Seconds() < 5 || info.Duration.Seconds() > 9 {
				t.Errorf("a duration of %v, %v; want about 7 s", info.Duration, err)
			}
			m := made{name: "recorded", sound: jitter}
			for _, i := range []interval{{2.013, 4.5}, {0, 1}, {3, -1}} {
				t.Run(i.String(), func(t *testing.T) { m.compare(t, path, i) })
			}
		})
	}
}

// playPage plays a file to its end and tells what happened.
const playPage = `<!doctype html><video id=v muted></video><script>
const say = t => fetch("/result", {method: "POST", body: t});
v.onerror = () => say("error " + v.error.code + " " + v.error.message);
v.onended = () => say("ended at " + v.currentTime + " of " + v.duration + " size " + v.videoWidth + "x" + v.videoHeight);
v.playbackRate = 4; v.src = "/files/clip.webm"; v.play();
</script>`

// TestChromiumPlays plays clips to their end: of all tracks, and of one, whose
// Segment and Clusters state no size.
func TestChromiumPlays(t *testing.T) {
	needBrowser(t)
	for _, tt := range []struct{ name, track string }{
		{"vp8-vorbis", ""}, {"vp9-opus", ""}, {"vp9-opus", "1"}, {"vp9-opus", "2"}, {"vp9-opus-live", ""}, {"av1-opus", ""}, {"opus-only", ""},
	} {
		t.Run(tt.name+tt.track, func(t *testing.T) {
			o := mustOpen(t, mustRead(t, madeNamed(t, tt.name).path(t)))
			sel := seconds(4.02, 6.5) // just behind a keyframe: all of the lead-in is before it
			if tt.track != "" {
				sel.Tracks = []string{tt.track}
			}
			plan, clip := o.Clip(t, sel)
			got := browse(t, playPage, map[string][]byte{"clip.webm": clip})
			var at, of float64
			if n, _ := fmt.Sscanf(got, "ended at %g of %g", &at, &of); n != 2 {
				t.Fatalf("the browser says: %s", got)
			}
			want, _ := plan.Presented.Length()
			// Chromium counts into the duration what Opus is decoded before the clip.
			lead := plan.Presented.Start.Sub(plan.Covered.Start).Seconds()
			if d := of - want.Seconds(); d < -0.05 || d > lead+0.06 || at < of-0.1 {
				t.Errorf("%s; the clip presents %v s", got, want)
			}
		})
	}
}
