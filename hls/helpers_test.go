package hls

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/seek"
)

var tempDir string

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run gives the tests one folder for the presentations that they make.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "hls-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	tempDir = dir
	return m.Run()
}

// owned are the presentations and playlists that belong to the project, corpus a
// larger collection of the same kinds that may stand beside it.
const (
	owned  = "../testdata/hls"
	corpus = "../../shared/corpus/hls"
)

// needCorpus skips where the larger collection is not there.
func needCorpus(t testing.TB) {
	t.Helper()
	if !hasCorpus() {
		t.Skip("the larger collection is not here")
	}
}

func hasCorpus() bool {
	_, err := os.Stat(corpus)
	return err == nil
}

// collection is the largest there is.
func collection() string {
	if hasCorpus() {
		return corpus
	}
	return owned
}

// origin is an HTTP server in memory: files by their URL, and what was asked.
type origin struct {
	mu      sync.Mutex
	sources map[string]*seektest.Source
	asked   []string // names, in the order of asking
	totals  *seek.Totals
	// fail, if set, is asked before each request.
	fail func(name string, r seek.Request) error
}

func newOrigin() *origin {
	return &origin{sources: map[string]*seektest.Source{}, totals: &seek.Totals{}}
}

// put publishes a file.
func (o *origin) put(url string, data []byte) {
	s := seektest.New(data)
	s.Info.Name = url
	s.Info.Validator = fmt.Sprintf(`"%x"`, len(data))
	s.Observer = o.totals
	s.Latency = 2 * time.Millisecond // so that what is asked for at once is
	s.Fault = func(_ context.Context, _ int, r seek.Request) seektest.Fault {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.asked = append(o.asked, url)
		if o.fail != nil {
			return seektest.Fault{Err: o.fail(url, r)}
		}
		return seektest.Fault{}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sources[url] = s
}

// putFolder publishes a folder.
func (o *origin) putFolder(t testing.TB, url, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		o.put(url+"/"+filepath.ToSlash(rel), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (o *origin) OpenSource(_ context.Context, name string) (seek.Source, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.sources[name]; s != nil {
		return s, nil
	}
	o.asked = append(o.asked, name)
	return nil, fmt.Errorf("opening %s: %w", name, seek.ErrNotFound)
}

// files returns the last elements of the names that were asked for, sorted.
func (o *origin) files() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []string
	for _, name := range o.asked {
		out = append(out, name[strings.LastIndexByte(name, '/')+1:])
	}
	slices.Sort(out)
	return out
}

// open opens a playlist of the origin as the client does.
func (o *origin) open(t testing.TB, url string, env formats.Env) (*Medium, error) {
	t.Helper()
	source, err := o.OpenSource(t.Context(), url)
	if err != nil {
		return nil, err
	}
	env.Opener = o
	w := seek.NewWindow(t.Context(), source, 0)
	t.Cleanup(func() { w.Close() })
	m, err := Format{}.Open(t.Context(), w, env)
	if err != nil {
		return nil, err
	}
	return m.(*Medium), nil
}

func (o *origin) mustOpen(t testing.TB, url string, env formats.Env) *Medium {
	t.Helper()
	m, err := o.open(t, url, env)
	if err != nil {
		t.Fatalf("opening %s: %v", url, err)
	}
	return m
}

// between is the selection of [a, b); b < 0 is open.
func between(a, b float64) formats.Selection {
	i := fragment.From(fragment.FromSeconds(a))
	if b >= 0 {
		i = fragment.Between(i.Start, fragment.FromSeconds(b))
	}
	return formats.Selection{Interval: i}
}

// clip reads a plan of a medium, and finds out whether its sizes hold.
func clip(t testing.TB, m *Medium, p *formats.Plan) []byte {
	t.Helper()
	r := seek.NewReader(t.Context(), p.Parts, m, 4)
	defer r.Close()
	var b bytes.Buffer
	if _, err := r.WriteTo(&b); err != nil {
		t.Fatalf("reading the clip: %v", err)
	}
	if p.Size >= 0 && int64(b.Len()) != p.Size {
		t.Errorf("the clip has %d bytes, the plan says %d", b.Len(), p.Size)
	}
	return b.Bytes()
}

// mustPlan plans [a, b).
func mustPlan(t testing.TB, m *Medium, s formats.Selection) *formats.Plan {
	t.Helper()
	p, err := m.Plan(t.Context(), s)
	if err != nil {
		t.Fatalf("planning %s: %v", s.Interval, err)
	}
	return p
}

// write puts bytes into a file of the test.
func write(t testing.TB, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// making makes presentations once for all tests.
var making sync.Map

// made returns a folder with a presentation that ffmpeg made: the first time by
// the given function.
func made(t testing.TB, name string, f func(dir string)) string {
	t.Helper()
	tools.Need(t, "ffmpeg", "ffprobe")
	once, _ := making.LoadOrStore(name, &sync.Once{})
	dir := filepath.Join(tempDir, name)
	once.(*sync.Once).Do(func() {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		f(dir)
	})
	return dir
}

// baseSeconds is how long the continuous original is.
const baseSeconds = 40

// base returns the continuous original: pictures that all differ, and a sound
// that never repeats.
func base(t testing.TB) string {
	dir := made(t, "base", func(dir string) {
		oracle.FFmpeg(t, "-f", "lavfi", "-i", fmt.Sprintf("testsrc2=s=192x108:r=25:d=%d", baseSeconds),
			"-f", "lavfi", "-i", fmt.Sprintf("aevalsrc='0.4*sin(2*PI*(200*t+8*t*t))':s=48000:d=%d", baseSeconds),
			"-c:v", "libx264", "-preset", "veryfast", "-g", "50", "-keyint_min", "50", "-sc_threshold", "0", "-bf", "2", "-b:v", "200k",
			"-c:a", "aac", "-b:a", "96k", filepath.Join(dir, "base.mp4"))
	})
	return filepath.Join(dir, "base.mp4")
}

// hlsOf makes a presentation of the base with ffmpeg's HLS writer.
func hlsOf(t testing.TB, name string, args ...string) string {
	return made(t, name, func(dir string) {
		all := append([]string{"-i", base(t), "-c", "copy", "-f", "hls", "-hls_time", "4", "-hls_list_size", "0", "-hls_playlist_type", "vod"}, args...)
		for i := range all {
			all[i] = strings.ReplaceAll(all[i], "DIR", dir)
		}
		oracle.FFmpeg(t, append(all, filepath.Join(dir, "media.m3u8"))...)
	})
}

// tsPresentation is the base in transport stream segments.
func tsPresentation(t testing.TB) string {
	return hlsOf(t, "ts", "-hls_segment_filename", "DIR/s%03d.ts")
}

// partsPresentation is the base in pieces of 2 s, of which two are a segment: of a
// transport stream, or with ext ".m4s" of fragmented MP4 behind init.mp4.
func partsPresentation(t testing.TB, ext string) string {
	args := []string{"-hls_time", "2", "-hls_segment_filename", "DIR/p%03d" + ext}
	if ext == ".m4s" {
		args = append(args, "-hls_segment_type", "fmp4", "-hls_fmp4_init_filename", "init.mp4")
	}
	return hlsOf(t, "parts"+ext, args...)
}

// rangePresentation is the base in ranges of one transport stream.
func rangePresentation(t testing.TB) string {
	return hlsOf(t, "range", "-hls_flags", "single_file", "-hls_segment_filename", "DIR/all.ts")
}

// encryptedPresentation is the base in encrypted segments of which each has the
// initialization vector that its media sequence number is.
func encryptedPresentation(t testing.TB) string {
	return made(t, "aes", func(dir string) {
		key := filepath.Join(dir, "key.bin")
		if err := os.WriteFile(key, []byte("0123456789abcdef"), 0o600); err != nil {
			t.Fatal(err)
		}
		info := filepath.Join(dir, "info")
		if err := os.WriteFile(info, []byte("key.bin\n"+key+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		oracle.FFmpeg(t, "-i", base(t), "-c", "copy", "-f", "hls", "-hls_time", "4", "-hls_list_size", "0", "-hls_playlist_type", "vod",
			"-hls_key_info_file", info, "-hls_segment_filename", filepath.Join(dir, "s%03d.ts"), filepath.Join(dir, "media.m3u8"))
	})
}

// joined returns a file that is files of a folder, one after the other.
func joined(t testing.TB, dir string, names ...string) string {
	t.Helper()
	out := made(t, "joined-"+filepath.Base(dir)+names[0], func(to string) {
		var all []byte
		for _, name := range names {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b...)
		}
		if err := os.WriteFile(filepath.Join(to, "joined"), all, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	return filepath.Join(out, "joined")
}

// numbered are the names s000.ts, s001.ts, ….
func numbered(format string, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(format, i))
	}
	return out
}

// checkPackets compares the coded frames of a clip with those of [a, b) of the
// original, whose time zero is given: all must be there, in sequence, with not a
// byte changed. A frame of which less than half lies in [a, b) may be missing.
func checkPackets(t testing.TB, original, clip string, zero, a, b float64) {
	t.Helper()
	want, have := map[int][]string{}, map[int][]string{}
	for _, p := range originalPackets(t, original) {
		from, to := p.Time-zero, p.End-zero
		length := to - from
		if inside := math.Min(b, to) - math.Max(a, from); inside >= length/2-1e-6 && inside > -1e-6 && from < b-1e-6 {
			want[p.Stream] = append(want[p.Stream], p.Hash)
		}
	}
	for _, p := range oracle.Packets(t, clip) {
		have[p.Stream] = append(have[p.Stream], p.Hash)
	}
	if len(want) == 0 {
		t.Fatalf("the original has nothing in [%g, %g)", a, b)
	}
	for s, w := range want {
		if n := inSequence(have[s], w); n < len(w) {
			t.Errorf("stream %d: of the %d coded frames of [%g, %g) only %d are among the clip's %d, in sequence", s, len(w), a, b, n, len(have[s]))
		}
	}
}

// packetCache keeps the packets of originals.
var packetCache sync.Map

func originalPackets(t testing.TB, path string) []oracle.Packet {
	once, _ := packetCache.LoadOrStore(path, sync.OnceValue(func() []oracle.Packet { return oracle.Packets(t, path) }))
	return once.(func() []oracle.Packet)()
}

// zeroOf is the time of the earliest picture.
func zeroOf(t testing.TB, path string) float64 {
	zero := math.Inf(1)
	for _, p := range originalPackets(t, path) {
		if p.Stream == 0 {
			zero = math.Min(zero, p.Time)
		}
	}
	return zero
}

// inSequence returns how many of part stand in all, in their order. Between them
// may stand what is decoded before it is shown.
func inSequence(all, part []string) int {
	n := 0
	for _, x := range all {
		if n < len(part) && x == part[n] {
			n++
		}
	}
	return n
}

// checkPictures decodes a clip and compares its pictures with those of [a, b) of
// the continuous original.
func checkPictures(t testing.TB, clip string, a, b float64) *oracle.Decoded {
	t.Helper()
	have := oracle.Decode(t, clip)
	if have.Errors != "" {
		t.Errorf("ffmpeg complains of the clip of [%g, %g): %s", a, b, have.Errors)
	}
	if len(have.Video) == 0 {
		t.Fatalf("the clip of [%g, %g) has no pictures", a, b)
	}
	want := oracle.Between(oracle.Original(t, base(t)).Video[0], a, b)
	if r := oracle.CompareVideo(want, have.Video[0]); r.Missing != 0 {
		t.Errorf("[%g, %g): %s", a, b, r)
	}
	return have
}

// playlistTruth reads what is recorded of a collection's playlists, by their
// paths in it.
func playlistTruth(t testing.TB) map[string]manifestTruth {
	t.Helper()
	path := owned + "/truth.json"
	if hasCorpus() {
		path = corpus + "/../truth.json"
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Manifests     map[string]manifestTruth
		Presentations map[string]struct{ Manifests map[string]manifestTruth }
	}
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	out := map[string]manifestTruth{}
	for name, m := range all.Manifests {
		if strings.HasPrefix(name, "hls/") {
			out[strings.TrimPrefix(name, "hls/")] = m
		}
	}
	for dir, p := range all.Presentations {
		if dir, ok := strings.CutPrefix(dir, "hls/"); ok {
			for name, m := range p.Manifests {
				out[dir+"/"+filepath.Base(name)] = m
			}
		}
	}
	return out
}

// manifestTruth is what other parsers say of a playlist.
type manifestTruth struct {
	M3U8 struct {
		Master    bool
		Playlists int
		Segments  int
		Duration  float64  `json:"total_duration"`
		Target    *float64 `json:"target_duration"`
		Sequence  *int64   `json:"media_sequence"`
		Ended     bool     `json:"endlist"`
		Starts    []int    `json:"discontinuity_starts"`
	} `json:"m3u8_parser"`
	Segments []struct {
		URI       string
		Duration  float64
		ByteRange *struct{ Offset, Length int64 } `json:"byterange"`
	}
	Intervals []struct {
		A, B     float64
		First    int     `json:"first_segment"`
		Last     int     `json:"last_segment"`
		StartsAt float64 `json:"starts_at"`
		EndsAt   float64 `json:"ends_at"`
	}
	Agree bool
}

// isError checks that an error is one of this package, of a condition.
func isError(t testing.TB, err, condition error) {
	t.Helper()
	if !errors.Is(err, condition) {
		t.Errorf("the error is %v, want one of %v", err, condition)
	}
}

func readFile(t testing.TB, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// checkDecodes decodes a clip, of which ffmpeg must not complain.
func checkDecodes(t testing.TB, path string) *oracle.Decoded {
	t.Helper()
	have := oracle.Decode(t, path)
	if have.Errors != "" {
		t.Errorf("ffmpeg complains: %s", have.Errors)
	}
	return have
}

// iframes lists the first picture of each segment as an I-frame playlist does:
// by its byte range, tables and all.
func iframes(t testing.TB, dir string) string {
	t.Helper()
	var out strings.Builder
	for i := range 10 {
		b := readFile(t, dir, fmt.Sprintf("s%03d.ts", i))
		video, n := -1, 0
		for at := 0; at+188 <= len(b); at += 188 { // up to the second picture
			pid := int(b[at+1]&0x1f)<<8 | int(b[at+2])
			if pid == 0x100 && b[at+1]&0x40 != 0 {
				if video = at; n == 1 {
					break
				}
				n++
			}
		}
		fmt.Fprintf(&out, "#EXTINF:4,\n#EXT-X-BYTERANGE:%d@0\ns%03d.ts\n", video, i)
	}
	return out.String()
}
