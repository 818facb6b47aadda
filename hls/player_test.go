package hls_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/hls"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/seek"
)

// hlsJS is the player that the browser gets, from the npm registry.
const hlsJS = "hls.js@1.7.4"

// playerPage plays the playlist of its query at four times the speed, and tells
// the given server what came of it.
const playerPage = `<!doctype html><video id="v" muted></video><script src="/hls.js"></script><script>
const q = new URLSearchParams(location.search), v = document.getElementById("v");
const result = {errors: []};
let told = false;
function tell() {
  if (told) return;
  told = true;
  result.start = v.played.length ? v.played.start(0) : -1;
  result.frames = v.getVideoPlaybackQuality().totalVideoFrames;
  result.end = v.currentTime;
  result.duration = v.duration;
  result.levels = hls.levels.length;
  fetch(q.get("tell"), {method: "POST", mode: "no-cors", body: JSON.stringify(result)});
}
const hls = new Hls();
hls.on(Hls.Events.ERROR, (_, d) => {
  // A stall is a busy machine's; a hole in the media is called one.
  if (d.fatal || d.details !== "bufferStalledError") result.errors.push(d.details + (d.fatal ? " (fatal)" : ""));
  if (d.fatal) tell();
});
v.addEventListener("playing", () => { v.playbackRate = 4; }, {once: true});
v.addEventListener("ended", tell);
hls.on(Hls.Events.MANIFEST_PARSED, () => v.play());
hls.loadSource(q.get("src"));
hls.attachMedia(v);
setTimeout(tell, 25000);
</script>`

// played is what the page tells.
type played struct {
	Start, End, Duration float64
	Frames, Levels       int
	Errors               []string
}

// TestPlayer has hls.js play trimmed playlists that point at their origin, and
// packages, in a browser.
func TestPlayer(t *testing.T) {
	if !tools.Full() {
		t.Skip("starts a browser; MEDIAFRAG_FULL=1 runs it")
	}
	tools.Need(t, "chromium", "nginx", "npm", "ffmpeg", "ffprobe")
	root := t.TempDir()
	script := installPlayer(t)
	for name, from := range map[string]string{"ts": hls.TSPresentation(t), "master": hls.MasterPresentation(t), "aes": hls.EncryptedPresentation(t), "frag": hls.FragmentedFile(t)} {
		if err := os.CopyFS(filepath.Join(root, name), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "page.html"), []byte(playerPage), 0o644); err != nil {
		t.Fatal(err)
	}
	copyFile(t, script, filepath.Join(root, "hls.js"))
	site := startNginx(t, root)
	browser := startBrowser(t, site)
	const a, b = 10, 21
	for _, test := range []struct {
		name, origin, playlist string
		levels                 int     // qualities to choose from
		begin, end             float64 // what of the origin the playlist lists, in s
	}{
		{"transport streams, trimmed", "ts/media.m3u8", "trim-ts/clip.m3u8", 1, 8, 24},
		{"sound and pictures apart, trimmed", "master/master.m3u8", "trim-master/clip.m3u8", 2, 8, 24},
		{"encrypted, trimmed", "aes/media.m3u8", "trim-aes/clip.m3u8", 1, 8, 24},
		{"the plan of a fragmented MP4", "frag/frag.mp4", "as-hls/clip.m3u8", 1, 8, 22},
		{"a package of transport streams", "ts/media.m3u8", "package-ts/index.m3u8", 1, 8, 24},
		{"a package of encrypted ones", "aes/media.m3u8", "package-aes/index.m3u8", 1, 8, 24},
		{"a package of sound and pictures apart", "master/master.m3u8", "package-master/index.m3u8", 1, 8, 24},
	} {
		t.Run(test.name, func(t *testing.T) {
			writeFragment(t, site+"/"+test.origin, filepath.Join(root, filepath.FromSlash(test.playlist)))
			got := browser.play(t, site+"/"+test.playlist)
			for _, e := range got.Errors {
				t.Errorf("hls.js: %s", e)
			}
			// 10 s of the origin's time is where to begin. It shows to the end of
			// its last segment.
			if at := a - test.begin; got.Start < at-0.3 || got.Start > at+0.5 {
				t.Errorf("it began at %g s of the playlist, want %g", got.Start, at)
			}
			if length := test.end - test.begin; got.End < b-test.begin || got.Duration < length-0.2 || got.Duration > length+0.3 {
				t.Errorf("it ended at %g of %g s, want %g", got.End, got.Duration, length)
			}
			if got.Levels != test.levels {
				t.Errorf("%d qualities, want %d", got.Levels, test.levels)
			}
			if least := 25 * (int(test.end) - a) / 2; got.Frames < least { // some are dropped at that speed
				t.Errorf("%d pictures were shown, want %d at least", got.Frames, least)
			}
		})
	}
}

// writeFragment writes a trimmed playlist or, for an index, a package.
func writeFragment(t *testing.T, uri, to string) {
	t.Helper()
	var c client.Client
	defer c.CloseIdleConnections()
	r, err := c.Open(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var files []formats.File
	if s := hls.BetweenTimes(10, 21); filepath.Ext(uri) == ".mp4" {
		s.Form = formats.Verbatim
		p, err := r.Plan(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		text, err := hls.Playlist(p)
		if err != nil {
			t.Fatal(err)
		}
		files = []formats.File{{Name: filepath.Base(to), Plan: &formats.Plan{Parts: []seek.Part{seek.Literal([]byte(text), "playlist")}}}}
	} else if filepath.Base(to) == "index.m3u8" {
		files, err = r.Media.(formats.Packager).Package(t.Context(), hls.BetweenTimes(10, 21))
	} else {
		files, err = r.Media.(formats.Trimmer).Trim(t.Context(), hls.BetweenTimes(10, 21), filepath.Base(to))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		path := filepath.Join(filepath.Dir(to), filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		clip := r.Deliver(t.Context(), f.Plan)
		if _, err := clip.WriteTo(out); err != nil {
			t.Fatal(err)
		}
		clip.Close()
		out.Close()
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// installPlayer gets hls.js, and returns its file.
func installPlayer(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts", hlsJS)
	if out, err := cmd.CombinedOutput(); err != nil {
		if os.Getenv("MEDIAFRAG_REQUIRE_TOOLS") == "1" {
			t.Fatalf("%s: %v\n%s", hlsJS, err, out)
		}
		t.Skipf("%s is not to be had: %v", hlsJS, err)
	}
	return filepath.Join(dir, "node_modules", "hls.js", "dist", "hls.min.js")
}

// startNginx serves a folder and returns its URL.
func startNginx(t *testing.T, root string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	dir := t.TempDir()
	config := fmt.Sprintf(`daemon off; pid %[1]s/pid; error_log %[1]s/error.log; worker_processes 1;
events { worker_connections 64; }
http {
	types { text/html html; text/javascript js; application/vnd.apple.mpegurl m3u8; video/mp2t ts; video/mp4 mp4 m4s; }
	access_log off;
	client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
	server { listen %[2]s; root %[3]s; }
}`, dir, address, root)
	if err := os.WriteFile(filepath.Join(dir, "conf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	// Where this runs as root, nginx would give up rights that it needs here.
	cmd := exec.Command("nginx", "-p", dir, "-c", filepath.Join(dir, "conf"), "-g", "user "+userName()+";")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	})
	for range 100 {
		if resp, err := http.Get("http://" + address + "/page.html"); err == nil {
			resp.Body.Close()
			return "http://" + address
		}
		time.Sleep(50 * time.Millisecond)
	}
	log, _ := os.ReadFile(filepath.Join(dir, "error.log"))
	t.Fatalf("nginx does not answer: %s", log)
	return ""
}

func userName() string {
	if os.Getuid() == 0 {
		return "root"
	}
	return "nobody"
}

// browser plays pages of a site, one after the other.
type browser struct {
	site string
	tell string
	came chan played
}

func startBrowser(t *testing.T, site string) *browser {
	b := &browser{site: site, came: make(chan played, 1)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var p played
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
			p.Errors = []string{err.Error()}
		}
		b.came <- p
	}))
	t.Cleanup(server.Close)
	b.tell = server.URL
	return b
}

// play has a browser of its own play a playlist to its end.
func (b *browser) play(t *testing.T, playlist string) played {
	t.Helper()
	said := tools.Browse(t, b.site+"/page.html?src="+playlist+"&tell="+b.tell)
	select {
	case p := <-b.came:
		return p
	case <-time.After(time.Minute):
		t.Fatalf("the browser told nothing\n%s", said())
		return played{}
	}
}
