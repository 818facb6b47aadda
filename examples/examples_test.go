// Package examples holds programs that show how to use the SDK. Its tests run
// each of them against a server on this machine.
package examples

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/internal/samples"
)

// rtt is how far away the server is: far enough for requests that are sent at
// the same time to be seen to be, on a busy machine, too.
const rtt = 250 * time.Millisecond

// example runs an example against the samples and returns what it printed.
func example(t *testing.T, name, path string, args ...string) string {
	t.Helper()
	files := samples.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(rtt)
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	cmd := exec.Command("go", append([]string{"run", "./" + name, server.URL + path}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, stderr.String())
	}
	return string(out)
}

func TestDownload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "clip.mp4")
	out := example(t, "download", "/movie.mp4#t=5,8", file)
	clip, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(clip) < 10_000 || !bytes.Equal(clip[4:8], []byte("ftyp")) {
		t.Errorf("the clip has %d bytes and begins with %q", len(clip), clip[:min(len(clip), 8)])
	}
	if !regexp.MustCompile(`clip\.mp4: \d+ bytes\n$`).MatchString(out) {
		t.Errorf("it printed %q", out)
	}
}

func TestSeeks(t *testing.T) {
	out := example(t, "seeks", "/movie.mp4", "5")
	for _, want := range []string{"[0, 1): ", "[4, 5): ", "[16, 17): "} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if lines := strings.Count(out, "\n"); lines != 5 {
		t.Errorf("%d lines, want 5:\n%s", lines, out)
	}
}

func TestRoundTrips(t *testing.T) {
	out := example(t, "roundtrips", "/movie.mp4", "8", "12.5")
	if !regexp.MustCompile(`(?m)^8 +3 +2 +2 `).MatchString(out) || !regexp.MustCompile(`(?m)^12.5 +3 +2 +2 `).MatchString(out) {
		t.Errorf("want 3 requests and 2 round trips for each:\n%s", out)
	}
}

// TestREADME makes sure that the README's code is code that runs.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("download/main.go")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(readme)
	if block == nil {
		t.Fatal("the README has no Go code")
	}
	if !bytes.Contains(code, block[1]) {
		t.Errorf("the README's code is not that of examples/download:\n%s", block[1])
	}
}

func TestPCM(t *testing.T) {
	medium, err := filepath.Abs("../ogg/testdata/vorbis.ogg")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "clip.f32")
	out, err := exec.Command("go", "run", "./pcm", medium+"#t=0.25,1.25", file).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "44100 samples at 44100 Hz") {
		t.Fatalf("%v: %s", err, out)
	}
	if pcm, err := os.ReadFile(file); err != nil || len(pcm) != 4*44100 {
		t.Errorf("%d bytes of sound, %v; want %d", len(pcm), err, 4*44100)
	}
}
