package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/faultserver"
	"github.com/mediafrag/mediafrag/seek"
)

// TestInterrupt sends the real command the signal of ^C while media are on
// their way: it ends with 130 at once and leaves nothing behind.
func TestInterrupt(t *testing.T) {
	server := newTestServer(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "clip.mp4"), []byte("kept"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("mediafrag", "get", server.URL+"/stall/movie.mp4#t=8,10", "-o", "clip.mp4", "--force", "--json")
	cmd.Dir = dir
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-server.stalled:
	case <-time.After(20 * time.Second):
		t.Fatal("no media were asked for")
	}
	files := names(t, dir)
	for range 2000 { // what was asked for ahead may have stalled before
		if len(files) == 2 {
			break
		}
		time.Sleep(10 * time.Millisecond)
		files = names(t, dir)
	}
	if len(files) != 2 {
		t.Errorf("while it downloads there are %v, want the old file and a temporary one", files)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Errorf("it ended with %v, want exit status 130", err)
	}
	if files := names(t, dir); len(files) != 1 || files[0] != "clip.mp4" {
		t.Errorf("%v is left, want clip.mp4", files)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "clip.mp4")); string(b) != "kept" {
		t.Error("the file that was there is another")
	}
	if want := "mediafrag: interrupted\n"; stderr.String() != want {
		t.Errorf("standard error is %q, want %q", stderr.String(), want)
	}
	if !strings.Contains(stdout.String(), "interrupted") {
		t.Errorf("standard output is %q, want the error as JSON", stdout.String())
	}
}

// TestInterruptWhileReadingStandardInput: what waits for the next line ends, too.
func TestInterruptWhileReadingStandardInput(t *testing.T) {
	t.Parallel() // it waits
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "mediafrag", "parse", "-")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(stdin, "a#t=1\n")
	if _, err := stdout.Read(make([]byte, 1)); err != nil { // it is at the second line now
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Errorf("it ended with %v, want exit status 130", err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// TestExistingFileIsFoundOutBeforeAnyRequest counts what the server saw.
func TestExistingFileIsFoundOutBeforeAnyRequest(t *testing.T) {
	server := newTestServer(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("movie.t1-2.mp4", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"get", server.URL + "/movie.mp4#t=1,2"},
		{"get", server.URL + "/movie.mp4#t=3,4", "-o", "movie.t1-2.mp4"},
		{"get", server.URL + "/movie.mp4#t=3,4", "-o", "movie.t1-2.mp4/"},
		{"get", server.URL + "/movie.mp4#t=3,4", "-o", "nowhere/movie.mp4"},
		{"get", server.URL + "/movie.mp4"},
		{"get", server.URL + "/movie.mp4", "--time", "2,1"},
	} {
		if r := command(t, args...); r.status == exitDone {
			t.Errorf("%v: it went through", args)
		}
	}
	if n := server.Stats().Requests; n != 0 {
		t.Errorf("the server saw %d requests, want none", n)
	}
}

func TestSuccessLine(t *testing.T) {
	server := newTestServer(t)
	file := filepath.Join(t.TempDir(), "x.mp4")
	r := command(t, "get", server.URL+"/movie.mp4#t=8,20", "-o", file)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := file + "  " + bytesText(info.Size()) + "  [8, 20) → [8, 20)  3 requests\n"; r.stderr != want {
		t.Errorf("standard error is %q, want %q", r.stderr, want)
	}
}

// folderFormat is a container whose clips are packages, for what no container
// can do yet. A file of it begins with "FOLDER".
type folderFormat struct{ failing bool }

func (folderFormat) Name() string { return "folder" }
func (folderFormat) Detect(head []byte, _ seek.Info) bool {
	return strings.HasPrefix(string(head), "FOLDER")
}
func (f folderFormat) Open(_ context.Context, w *seek.Window, _ formats.Env) (formats.Media, error) {
	return folderMedia{f, w.Info()}, nil
}

type folderMedia struct {
	folderFormat
	resource seek.Info
}

func (m folderMedia) Info() formats.Info {
	return formats.Info{Format: "folder", MediaType: "x/folder", Duration: fragment.Seconds(10), Timed: true}
}
func (m folderMedia) Inspect(context.Context) (formats.Info, error) { return m.Info(), nil }
func (m folderMedia) Plan(_ context.Context, s formats.Selection) (*formats.Plan, error) {
	return m.plan(s, m.resource.Size), nil
}

// plan is one of the medium's first n bytes.
func (m folderMedia) plan(s formats.Selection, n int64) *formats.Plan {
	return &formats.Plan{
		Requested: s.Interval, Presented: s.Interval, Covered: s.Interval,
		Parts: []seek.Part{seek.Literal([]byte("head"), "header"), seek.Bytes(&m.resource, seek.Range{Length: n}, "")},
		Size:  4 + n,
	}
}
func (m folderMedia) Package(_ context.Context, s formats.Selection) ([]formats.File, error) {
	index := m.plan(s, 3)
	index.Parts, index.Size = []seek.Part{seek.Literal([]byte("media/1.bin"), "")}, 11
	files := []formats.File{{Name: "index.m3u8", Plan: index}, {Name: "media/1.bin", Plan: m.plan(s, 6)}}
	if m.failing {
		files = append(files, formats.File{Name: "../out.bin", Plan: m.plan(s, 1)})
	}
	return files, nil
}

func folderApp(failing bool) *app {
	return &app{newClient: func() *client.Client {
		return &client.Client{Formats: []formats.Format{folderFormat{failing}}}
	}}
}

func TestPackage(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("medium", []byte("FOLDER"), 0o666); err != nil {
		t.Fatal(err)
	}
	o := decode(t, commandWith(t, folderApp(false), "get", "medium#t=1,2", "-o", "out/", "--json"))
	wantKeys(t, "the object", o, clipKeys...)
	wantAt(t, o, `{"bytes":21,"file":"out/"}`, "output")
	for name, want := range map[string]string{"out/index.m3u8": "media/1.bin", "out/media/1.bin": "headFOLDER"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s is %q (%v), want %q", name, got, err, want)
		}
	}

	// It is kept, unless --force and there is nothing else in it; and replaced whole.
	if r := commandWith(t, folderApp(false), "get", "medium#t=1,2", "-o", "out/"); r.status != exitFailure {
		t.Errorf("exit status %d over a folder that is there: %s", r.status, r.stderr)
	}
	for _, name := range []string{"out/mine", "out/media/mine"} {
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if r := commandWith(t, folderApp(false), "get", "medium#t=1,2", "-o", "out/", "--force"); r.status != exitUsage {
			t.Errorf("exit status %d with --force where %s is, too: %s", r.status, name, r.stderr)
		}
		if err := os.Remove(name); err != nil {
			t.Errorf("what belongs to no package: %v", err)
		}
	}
	if err := os.WriteFile("out/index.m3u8", []byte("media/1.bin old.bin"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("out/old.bin", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if r := commandWith(t, folderApp(false), "get", "medium#t=1,2", "-o", "out/", "--force"); r.status != exitDone {
		t.Errorf("exit status %d with --force: %s", r.status, r.stderr)
	}
	if _, err := os.Stat("out/old.bin"); err == nil {
		t.Error("--force left a file of the package that was there")
	}

	// A name that leaves the folder fails it all, and what was there stays.
	if r := commandWith(t, folderApp(true), "get", "medium#t=1,2", "-o", "out/", "--force"); r.status != exitFailure {
		t.Errorf("exit status %d for a name that leaves the folder: %s", r.status, r.stderr)
	}
	if files := names(t, "."); strings.Join(files, " ") != "medium out" {
		t.Errorf("there are %v, want medium and out", files)
	}
	if files := names(t, "out"); strings.Join(files, " ") != "index.m3u8 media" {
		t.Errorf("in the folder are %v", files)
	}
}

// TestBrokenStandardOutput: a reader that goes away ends the download.
func TestBrokenStandardOutput(t *testing.T) {
	server := newTestServer(t)
	a := &app{stdout: brokenWriter{}, stderr: io.Discard, newClient: func() *client.Client { return &client.Client{} }}
	if got := run(t.Context(), []string{"get", server.URL + "/movie.mp4#t=5,8", "-o", "-"}, a); got != exitFailure {
		t.Errorf("exit status %d, want 1", got)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestGetOtherContainer: nothing is written under a name that says another container,
// of a stream that is live either; the error names what to give -o instead.
func TestGetOtherContainer(t *testing.T) {
	server := newTestServer(t)
	t.Chdir(t.TempDir())
	for _, list := range []string{"list", "event"} {
		for name, want := range map[string]int{"c.ts": exitMedia, "c.MP4": exitMedia, "c.adts": exitDone, "c.bin": exitDone, "c": exitDone} {
			r := command(t, "get", server.URL+"/hls/"+list+".m3u8#t=1,2", "-o", name, "--quiet")
			if r.status != want {
				t.Errorf("%s to %s: exit status %d, %q", list, name, r.status, r.stderr)
			}
			if said := strings.Contains(r.stderr, "c.aac") && strings.Contains(r.stderr, "-o c/"); said != (want != exitDone) {
				t.Errorf("%s to %s: %q", list, name, r.stderr)
			}
			if warned := strings.Contains(r.stderr, ".aac is usual"); warned != (name == "c.bin") {
				t.Errorf("%s to %s: %q", list, name, r.stderr)
			}
			if have := names(t, "."); (len(have) == 1) != (want == exitDone) {
				t.Errorf("%s to %s: there are %v", list, name, have)
			}
			os.Remove(name)
		}
	}
}

// TestGetOtherContainerLive: of what is not published to its end the name is checked
// before anything is waited for or written, by the initialization section alone.
func TestGetOtherContainerLive(t *testing.T) {
	server := newTestServer(t)
	t.Chdir(t.TempDir())
	server.Fault(func(n int, _ *http.Request) (f faultserver.Fault) {
		if n > 1 {
			f.Status = http.StatusForbidden // else it is waited for
		}
		return f
	})
	for _, interval := range []string{"1,1000", "1", "500,1000"} {
		server.Reset()
		r := command(t, "get", server.URL+"/hls/fragments.m3u8#t="+interval, "-o", "c.ts", "--quiet")
		if r.status != exitMedia || !strings.Contains(r.stderr, "the selection is video/mp4, and no file .ts; name it c.mp4, or a folder with -o c/") {
			t.Errorf("%s: exit status %d, %q", interval, r.status, r.stderr)
		}
		if have := names(t, "."); len(have) != 0 {
			t.Errorf("%s: there are %v", interval, have)
		}
		asked := map[string]int{}
		for _, request := range server.Log() {
			asked[request.Path]++
		}
		if len(asked) != 2 || asked["/hls/fragments.m3u8"] != 1 || asked["/hls/init.mp4"] != 1 {
			t.Errorf("%s: there were requests for %v, want the playlist and init.mp4", interval, asked)
		}
	}
}
