package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/samples"
	"github.com/mediafrag/mediafrag/seek"
)

// object is a JSON object as other programs see it; numbers keep their text.
type object = map[string]any

// decode reads the one object that a command printed.
func decode(t *testing.T, r result) object {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(r.stdout))
	decoder.UseNumber()
	var o object
	if err := decoder.Decode(&o); err != nil {
		t.Fatalf("standard output is no JSON: %v\n%s%s", err, r.stdout, r.stderr)
	}
	if _, err := decoder.Token(); err != io.EOF {
		t.Fatalf("more than one object on standard output:\n%s", r.stdout)
	}
	return o
}

// at returns what stands at a path of keys and list positions.
func at(t *testing.T, o object, path ...any) any {
	t.Helper()
	var v any = map[string]any(o)
	for _, step := range path {
		ok := false
		switch step := step.(type) {
		case string:
			var m map[string]any
			if m, ok = v.(map[string]any); ok {
				v, ok = m[step]
			}
		case int:
			var list []any
			if list, ok = v.([]any); ok && step < len(list) {
				v = list[step]
			}
		}
		if !ok {
			t.Fatalf("nothing stands at %v of the path %v", step, path)
		}
	}
	return v
}

func wantKeys(t *testing.T, what string, v any, want ...string) {
	t.Helper()
	m, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("%s is %v, want an object", what, v)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(m))); diff != "" {
		t.Errorf("keys of %s (-want +got):\n%s", what, diff)
	}
}

// wantAt compares what stands at a path with JSON text.
func wantAt(t *testing.T, o object, want string, path ...any) {
	t.Helper()
	got, err := json.Marshal(at(t, o, path...))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%v is %s, want %s", path, got, want)
	}
}

func number(t *testing.T, o object, path ...any) float64 {
	t.Helper()
	n, ok := at(t, o, path...).(json.Number)
	if !ok {
		t.Fatalf("%v is %v, want a number", path, at(t, o, path...))
	}
	f, err := n.Float64()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var (
	clipKeys = []string{"uri", "media_type", "format", "requested", "presented", "covered", "duration", "tracks",
		"region", "parts", "output", "transfer", "warnings"}
	trackKeys    = []string{"id", "kind", "codec", "language", "name", "width", "height"}
	transferKeys = []string{"requests", "connections", "round_trips", "round_trips_to_first_media_byte", "bytes",
		"needed_bytes", "seconds", "first_media_byte_seconds"}
)

func TestGetJSON(t *testing.T) {
	server := newDistantServer(t)
	file := filepath.Join(t.TempDir(), "clip.mp4")
	uri := server.URL + "/movie.mp4?a=1#t=5.5,10&foo=bar"
	o := decode(t, command(t, "get", uri, "--json", "-o", file))

	wantKeys(t, "the object", o, clipKeys...)
	wantAt(t, o, `"video/mp4"`, "media_type")
	wantAt(t, o, `"mp4"`, "format")
	wantAt(t, o, `{"end":10,"start":5.5}`, "requested")
	wantAt(t, o, `{"end":10,"start":5.5}`, "presented")
	wantAt(t, o, `20`, "duration")
	wantAt(t, o, `null`, "region")
	wantAt(t, o, `["\"foo=bar\": not a media fragment dimension"]`, "warnings")
	if at(t, o, "uri") != uri {
		t.Errorf("uri is %v, want %s", at(t, o, "uri"), uri)
	}
	if number(t, o, "covered", "start") > 5.5 || number(t, o, "covered", "end") < 10 {
		t.Errorf("covered is %v, want at least [5.5, 10)", o["covered"])
	}

	wantKeys(t, "a track", at(t, o, "tracks", 0), trackKeys...)
	wantAt(t, o, `"video"`, "tracks", 0, "kind")
	wantAt(t, o, `320`, "tracks", 0, "width")
	wantAt(t, o, `"eng"`, "tracks", 1, "language")
	wantAt(t, o, `null`, "tracks", 1, "width")

	wantKeys(t, "output", o["output"], "file", "bytes")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if at(t, o, "output", "file") != file || number(t, o, "output", "bytes") != float64(info.Size()) {
		t.Errorf("output is %v, want %s with %d bytes", o["output"], file, info.Size())
	}
	checkParts(t, o, info.Size())

	wantKeys(t, "transfer", o["transfer"], transferKeys...)
	wantAt(t, o, `3`, "transfer", "requests")
	wantAt(t, o, `2`, "transfer", "round_trips")
	wantAt(t, o, `2`, "transfer", "round_trips_to_first_media_byte")
	if got := server.Stats().Requests; got != 3 {
		t.Errorf("the server saw %d requests, want 3", got)
	}
	if n := number(t, o, "transfer", "needed_bytes"); n <= 0 || n > number(t, o, "transfer", "bytes") {
		t.Errorf("needed_bytes is %v of %v bytes", n, at(t, o, "transfer", "bytes"))
	}
	if s := number(t, o, "transfer", "first_media_byte_seconds"); s <= 0 || s > number(t, o, "transfer", "seconds") {
		t.Errorf("first_media_byte_seconds is %v of %v seconds", s, at(t, o, "transfer", "seconds"))
	}
}

// TestFirstMediaByteInHand: media that came with the head or the tail are the
// first media byte, too, though no request asked for them.
func TestFirstMediaByteInHand(t *testing.T) {
	server := newDistantServer(t)
	o := decode(t, command(t, "get", server.URL+"/movie.mp4#t=1,2", "--json", "-o", filepath.Join(t.TempDir(), "x.mp4")))
	wantAt(t, o, `2`, "transfer", "requests")
	wantAt(t, o, `1`, "transfer", "round_trips_to_first_media_byte")
	if s := number(t, o, "transfer", "first_media_byte_seconds"); s <= 0 {
		t.Errorf("first_media_byte_seconds is %v", s)
	}
}

// checkParts checks the shape of each part, and that together they are size
// bytes.
func checkParts(t *testing.T, o object, size int64) {
	t.Helper()
	var sum int64
	for i, p := range at(t, o, "parts").([]any) {
		if _, literal := p.(map[string]any)["literal"]; literal {
			wantKeys(t, "a literal part", p, "literal", "why")
			sum += int64(number(t, o, "parts", i, "literal"))
			continue
		}
		wantKeys(t, "a range part", p, "url", "offset", "length", "why", "rewrite")
		sum += int64(number(t, o, "parts", i, "length"))
	}
	wantAt(t, o, `"header"`, "parts", 0, "why")
	wantAt(t, o, `null`, "parts", 1, "rewrite")
	if sum != size {
		t.Errorf("the parts have %d bytes, the clip %d", sum, size)
	}
}

// TestPlanCanBeReadElsewhere puts a clip together from nothing but what
// `plan --json --full` prints and plain range requests.
func TestPlanCanBeReadElsewhere(t *testing.T) {
	server := newTestServer(t)
	uri := server.URL + "/faststart.mp4#t=5.5,10"
	o := decode(t, command(t, "plan", uri, "--json", "--full"))
	wantKeys(t, "the object", o, clipKeys...)
	wantAt(t, o, `null`, "output", "file")

	var clip []byte
	for i, p := range at(t, o, "parts").([]any) {
		if data, literal := p.(map[string]any)["data"]; literal {
			b, err := base64.StdEncoding.DecodeString(data.(string))
			if err != nil {
				t.Fatal(err)
			}
			clip = append(clip, b...)
			continue
		}
		wantAt(t, o, `null`, "parts", i, "rewriter")
		wantAt(t, o, "179359", "parts", i, "size")
		clip = append(clip, fetch(t, at(t, o, "parts", i, "url").(string), int64(number(t, o, "parts", i, "offset")), int64(number(t, o, "parts", i, "length")))...)
	}
	file := filepath.Join(t.TempDir(), "clip.mp4")
	command(t, "get", uri, "-o", file)
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(clip) != string(want) {
		t.Errorf("the plan's parts are another clip than get's (%d and %d bytes)", len(clip), len(want))
	}
	if number(t, o, "output", "bytes") != float64(len(want)) {
		t.Errorf("output.bytes is %v, want %d", at(t, o, "output", "bytes"), len(want))
	}
}

func fetch(t *testing.T, url string, offset, length int64) []byte {
	t.Helper()
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Range", "bytes="+rangeText(offset, length))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPlanFetchesNoMedia(t *testing.T) {
	server := newTestServer(t)
	o := decode(t, command(t, "plan", server.URL+"/movie.mp4#t=8", "--json"))
	wantAt(t, o, `{"end":20,"start":8}`, "requested") // an open end is the duration
	wantAt(t, o, `null`, "transfer", "round_trips_to_first_media_byte")
	wantAt(t, o, `null`, "transfer", "first_media_byte_seconds")
	if got := server.Stats().Requests; got != 2 {
		t.Errorf("the server saw %d requests, want head and tail", got)
	}
}

func TestInfoJSON(t *testing.T) {
	server := newTestServer(t)
	o := decode(t, command(t, "info", server.URL+"/movie.mp4", "--json"))
	wantKeys(t, "the object", o, "uri", "format", "media_type", "duration", "start_time", "index", "seekable", "created", "tracks", "chapters", "tags", "attachments", "warnings")
	wantAt(t, o, `20`, "duration")
	wantAt(t, o, `0`, "start_time")
	wantAt(t, o, `"moov-tail"`, "index")
	wantAt(t, o, `true`, "seekable")
	wantAt(t, o, `[]`, "chapters")
	wantAt(t, o, `[]`, "attachments")
	wantAt(t, o, `[]`, "warnings")
	wantKeys(t, "a track", at(t, o, "tracks", 0), append([]string{"coded_width", "coded_height", "frame_rate", "channels", "sample_rate", "default", "group"}, trackKeys...)...)
	wantAt(t, o, `null`, "created")
	wantAt(t, o, `25`, "tracks", 0, "frame_rate")
	wantAt(t, o, `null`, "tracks", 0, "sample_rate")
	wantAt(t, o, `44100`, "tracks", 1, "sample_rate")
	wantAt(t, o, `true`, "tracks", 1, "default")
	wantAt(t, o, `1`, "tracks", 1, "group")
	wantAt(t, o, `null`, "tracks", 1, "coded_width")
}

// TestInfoDetails prints what few files say: when they were made, alternatives,
// tracks that are off, pictures shown in another size than they are coded in.
func TestInfoDetails(t *testing.T) {
	data := bytes.Clone(samples.All()[0].Data)
	put := func(typ string, nth, at int, value ...byte) {
		i := 0
		for range nth {
			i += bytes.Index(data[i:], []byte(typ)) + 4
		}
		copy(data[i+at:], value)
	}
	put("mvhd", 1, 4, 0xe5, 0x7c, 0xe6, 0x25) // 2026-01-02 in seconds from 1904 on
	put("tkhd", 1, 76, 0, 160, 0, 0, 0, 90)   // width and height of the pictures
	put("tkhd", 2, 3, 2)                      // the sound is not enabled
	put("tkhd", 2, 34, 0, 5)
	path := filepath.Join(t.TempDir(), "movie.mp4")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	o := decode(t, command(t, "info", path, "--json"))
	wantAt(t, o, `"2026-01-02T03:04:05Z"`, "created")
	wantAt(t, o, `160`, "tracks", 0, "width")
	wantAt(t, o, `320`, "tracks", 0, "coded_width")
	wantAt(t, o, `180`, "tracks", 0, "coded_height")
	wantAt(t, o, `5`, "tracks", 1, "group")
	wantAt(t, o, `false`, "tracks", 1, "default")
	text := command(t, "info", path).stdout
	for _, want := range []string{"created     2026-01-02T03:04:05Z\n", "160x90", "  coded 320x180\n", "  group 5  off by default\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("info does not say %q:\n%s", want, text)
		}
	}
}

// TestInfoTags: tags and attached files, as JSON and for people.
func TestInfoTags(t *testing.T) {
	o := decode(t, command(t, "info", "../../testdata/matroska/media3-full_blocks.mkv", "--json"))
	wantKeys(t, "a tag", at(t, o, "tags", 0), "name", "value", "language", "track", "chapter")
	wantAt(t, o, `"BPS"`, "tags", 0, "name")
	wantAt(t, o, `"105"`, "tags", 0, "value")
	wantAt(t, o, `"1"`, "tags", 0, "track")
	wantAt(t, o, `null`, "tags", 0, "chapter")
	if r := command(t, "info", "../../testdata/matroska/media3-full_blocks.mkv"); !strings.Contains(r.stdout, "tag         track 1: BPS: 105 (eng)\n") {
		t.Errorf("no tag in\n%s", r.stdout)
	}
	info := formats.Info{Attachments: []formats.Attachment{{Name: "a.ttf", MediaType: "font/ttf", Size: 7}}}
	got, err := json.Marshal(newInfoJSON("x", info, nil).Attached)
	if want := `[{"name":"a.ttf","media_type":"font/ttf","description":null,"bytes":7}]`; err != nil || string(got) != want {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
}

func TestBenchJSON(t *testing.T) {
	server := newDistantServer(t)
	o := decode(t, command(t, "bench", server.URL+"/movie.mp4#t=5,8", "--json", "--count", "3"))
	wantKeys(t, "the object", o, "uri", "runs", "median")
	if runs := at(t, o, "runs").([]any); len(runs) != 3 {
		t.Fatalf("%d runs, want 3", len(runs))
	}
	for i := range 3 {
		wantKeys(t, "a run", at(t, o, "runs", i), "transfer")
		wantKeys(t, "a run's transfer", at(t, o, "runs", i, "transfer"), transferKeys...)
		wantAt(t, o, `3`, "runs", i, "transfer", "requests")
		if n := number(t, o, "runs", i, "transfer", "connections"); n < 1 {
			t.Errorf("run %d opened %v connections, want some of its own", i, n)
		}
	}
	wantKeys(t, "median", o["median"], transferKeys...)
	wantAt(t, o, `3`, "median", "requests")
	wantAt(t, o, `2`, "median", "round_trips_to_first_media_byte")
}

func TestDemoJSON(t *testing.T) {
	o := decode(t, command(t, "demo", "--json", "-o", t.TempDir()))
	for i, c := range at(t, o, "clips").([]any) {
		wantKeys(t, "a clip", c, clipKeys...)
		wantAt(t, o, `{"end":10,"start":5.5}`, "clips", i, "requested")
		if _, err := os.Stat(at(t, o, "clips", i, "output", "file").(string)); err != nil {
			t.Error(err)
		}
	}
}

// TestJSONSeconds: decimals with up to nine digits, never an exponent.
func TestJSONSeconds(t *testing.T) {
	server := newTestServer(t)
	uri := server.URL + "/movie.mp4#t=5.123456789123,8"
	r := command(t, "get", uri, "--json", "-o", filepath.Join(t.TempDir(), "x.mp4"))
	wantAt(t, decode(t, r), `5.123456789`, "requested", "start")
	if bad := regexp.MustCompile(`\d\.\d{10,}|\d[eE][+-]?\d`).FindString(strings.ReplaceAll(r.stdout, uri, "")); bad != "" {
		t.Errorf("%q stands in the output", bad)
	}
}

func TestErrorJSON(t *testing.T) {
	server := newTestServer(t)
	tests := []struct {
		name, path, kind string
		args             []string
	}{
		{"changed", "/changing/movie.mp4#t=1,2", "changed", nil},
		{"status", "/status/404#t=1,2", "status", nil},
		{"credentials", "/auth/movie.mp4#t=1,2", "status", nil},
		{"range", "/norange.mp4#t=1,2", "range", nil},
		{"format", "/page.html#t=1,2", "format", nil},
		{"no package", "/movie.mp4#t=1,2", "format", []string{"-o", "folder/"}},
		{"damaged", "/cut.mp4#t=1,2", "damaged", nil},
		{"past the end", "/movie.mp4#t=30", "past-end", nil},
		{"no fragment", "/movie.mp4", "no-fragment", nil},
		{"no place", "/movie.mp4#t=1,2", "io", []string{"-o", "nowhere/x.mp4"}},
		{"usage", "/movie.mp4#t=1,2", "usage", []string{"--form", "x"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			r := command(t, append([]string{"get", server.URL + test.path, "--json"}, test.args...)...)
			o := decode(t, r)
			wantKeys(t, "the object", o, "error")
			wantKeys(t, "error", o["error"], "kind", "message", "url", "offset")
			if got := at(t, o, "error", "kind"); got != test.kind {
				t.Errorf("kind is %v, want %s: %s", got, test.kind, r.stderr)
			}
			if want := "mediafrag: " + at(t, o, "error", "message").(string) + "\n"; r.stderr != want {
				t.Errorf("standard error is %q, want the message on one line: %q", r.stderr, want)
			}
			if url := at(t, o, "error", "url"); test.kind != "usage" && test.kind != "io" && url != server.URL+test.path {
				t.Errorf("url is %v, want %s", url, server.URL+test.path)
			}
			if entries, _ := os.ReadDir("."); len(entries) > 0 {
				t.Errorf("%s was left behind", entries[0].Name())
			}
		})
	}
	wantOffset := decode(t, command(t, "info", server.URL+"/cut.mp4", "--json"))
	if number(t, wantOffset, "error", "offset") <= 0 {
		t.Errorf("a damaged file's offset is %v", at(t, wantOffset, "error", "offset"))
	}
}

func rangeText(offset, length int64) string {
	return seek.Range{Offset: offset, Length: length}.String()
}

// TestOpenEndIsTheDuration: of whatever a container leaves open; null where the
// duration is not known.
func TestOpenEndIsTheDuration(t *testing.T) {
	info := formats.Info{Duration: fragment.Seconds(9), Timed: true, Chapters: []formats.Chapter{{Interval: fragment.From(fragment.Seconds(5))}}}
	if got := newInfoJSON("x", info, nil).Chapters[0].End; got == nil || !got.Equal(fragment.Seconds(9)) {
		t.Errorf("the last chapter ends at %v, want 9", got)
	}
	info.Timed = false
	if got := newInfoJSON("x", info, nil).Chapters[0].End; got != nil {
		t.Errorf("the last chapter ends at %v, want null", got)
	}
}
