package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/internal/faultserver"
	"github.com/mediafrag/mediafrag/internal/samples"
)

// testServer serves the samples, and the same with what can go wrong.
type testServer struct {
	*faultserver.Server
	stalled chan struct{} // gets a value for each request that is held up
}

// The server's paths. The samples are in each of these folders:
//
//	/           as they should be
//	/auth/      with 'Authorization: Bearer letmein' alone
//	/changing/  with another validator for each request
//	/growing/   longer for each request
//	/stall/     only their two ends ever come
//
// and there are
//
//	/status/404   a status
//	/norange.mp4  32 MiB without ranges, its index at the end
//	/cut.mp4      a file that ends within its index
//	/damaged.ogv  movie.ogv with zeros from byte 120,000 to 120,100
//	/page.html    no medium
//	/hls/         list.m3u8, four segments of sound, and master.m3u8;
//	              event.m3u8 is the same of which more is to come, and
//	              fragments.m3u8 fragmented MP4 of which more is to come
func newTestServer(t testing.TB) *testServer { return newServerAt(t, 0) }

// newDistantServer is one at a distance at which requests that are sent at the
// same time are seen to be, however busy the machine is: tests that count round
// trips need it.
func newDistantServer(t testing.TB) *testServer { return newServerAt(t, 100*time.Millisecond) }

func newServerAt(t testing.TB, rtt time.Duration) *testServer {
	t.Helper()
	files := map[string]faultserver.File{
		"/norange.mp4": {Content: indexAtEnd(32 << 20), ETag: `"norange"`, Type: "video/mp4"},
		"/page.html":   {Content: []byte("<!doctype html><title>no medium</title>"), ETag: `"page"`, Type: "text/html"},
	}
	for _, s := range samples.All() {
		for _, folder := range []string{"/", "/auth/", "/changing/", "/stall/"} {
			files[folder+s.Name] = faultserver.File{Content: s.Data, ETag: `"` + s.Name + `"`, Type: s.MediaType}
		}
		if s.Name == "faststart.mp4" {
			files["/growing/"+s.Name] = faultserver.File{Type: s.MediaType}
			files["/cut.mp4"] = faultserver.File{Content: s.Data[:2000], ETag: `"cut"`, Type: s.MediaType}
		}
	}
	damaged := bytes.Clone(files["/movie.ogv"].Content)
	clear(damaged[120_000:120_100])
	files["/damaged.ogv"] = faultserver.File{Content: damaged, ETag: `"damaged"`, Type: "video/ogg"}
	for name, as := range map[string]string{"stream.m4a.m3u8": "list.m3u8", "fileSequence0.aac": "", "fileSequence1.aac": "", "fileSequence2.aac": "", "fileSequence3.aac": ""} {
		b, err := os.ReadFile("../../testdata/hls/shaka-raw-aac/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if as == "" {
			as = name
		}
		files["/hls/"+as] = faultserver.File{Content: b, ETag: `"` + name + `"`}
	}
	files["/hls/master.m3u8"] = faultserver.File{Content: []byte("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=41457,CODECS=\"mp4a.40.2\"\nlist.m3u8\n")}
	list := bytes.ReplaceAll(files["/hls/list.m3u8"].Content, []byte("VOD"), []byte("EVENT"))
	files["/hls/event.m3u8"] = faultserver.File{Content: bytes.ReplaceAll(list, []byte("#EXT-X-ENDLIST"), nil)}
	for _, name := range []string{"main.m3u8", "init.mp4", "s1.mp4", "s2.mp4", "s3.mp4", "s4.mp4", "s5.mp4"} {
		b, err := os.ReadFile("../../testdata/hls/shaka-interstitial/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if name == "main.m3u8" {
			name = "fragments.m3u8"
			b = bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("VOD"), []byte("EVENT")), []byte("#EXT-X-ENDLIST"), nil)
		}
		files["/hls/"+name] = faultserver.File{Content: b, ETag: `"` + name + `"`}
	}
	s := &testServer{faultserver.Start(t, faultserver.Config{Files: files, RTT: rtt}), make(chan struct{}, 100)}
	s.Fault(s.fault)
	return s
}

// fault says what goes wrong with a request, by its path.
func (s *testServer) fault(n int, r *http.Request) (f faultserver.Fault) {
	folder, name := path.Split(r.URL.Path)
	switch folder {
	case "/auth/":
		if r.Header.Get("Authorization") != "Bearer letmein" {
			f.Status = http.StatusUnauthorized
		}
	case "/changing/":
		f.Header = map[string]string{"ETag": fmt.Sprintf(`"%d"`, n)}
	case "/growing/":
		for _, sample := range samples.All() {
			if sample.Name == name {
				more := bytes.Repeat([]byte("\x00\x00\x00\x08free"), n)
				s.Set(r.URL.Path, faultserver.File{Content: slices.Concat(sample.Data, more), Type: sample.MediaType})
			}
		}
	case "/stall/":
		if bytes := r.Header.Get("Range"); bytes != "bytes=0-65535" && !strings.HasPrefix(bytes, "bytes=-") {
			s.stalled <- struct{}{}
			f.Silent = true
		}
	case "/status/":
		fmt.Sscan(name, &f.Status)
	}
	f.IgnoreRange = name == "norange.mp4"
	return f
}

// indexAtEnd is an MP4 of size bytes whose media end shortly before its end.
func indexAtEnd(size int) []byte {
	b := make([]byte, size)
	ftyp := copy(b, "\x00\x00\x00\x10ftypisom\x00\x00\x00\x00")
	binary.BigEndian.PutUint32(b[ftyp:], uint32(size-ftyp-1000))
	copy(b[ftyp+4:], "mdat")
	return b
}
