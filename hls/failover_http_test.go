package hls_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/hls"
	"github.com/mediafrag/mediafrag/internal/faultserver"
)

// TestFailsOver: over real connections, a segment that a host does not give, or
// breaks off, comes from the host of a redundant variant, where it has another
// name. That host is sent nothing that was given for the first.
func TestFailsOver(t *testing.T) {
	t.Parallel()
	dir := hls.TSPresentation(t)
	list, err := os.ReadFile(filepath.Join(dir, "media.m3u8"))
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]faultserver.File{"/list.m3u8": {Content: []byte(strings.ReplaceAll(string(list), "\ns0", "\n/b/s0"))}}
	var want []byte
	for _, name := range []string{"s002.ts", "s003.ts", "s004.ts", "s005.ts"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		there["/b/"+name] = faultserver.File{Content: b}
		want = append(want, b...)
	}
	for _, test := range []struct {
		name, files string // that fail
		how         faultserver.Fault
	}{
		{"one not found", "s003.ts", faultserver.Fault{Status: http.StatusNotFound}},
		{"none found", "s002.ts s003.ts s004.ts s005.ts", faultserver.Fault{Status: http.StatusNotFound}},
		{"one that breaks off and then is gone", "s003.ts", faultserver.Fault{Break: true, After: 30_000}},
		{"one unavailable", "s004.ts", faultserver.Fault{Status: http.StatusServiceUnavailable}},
	} {
		t.Run(test.name, func(t *testing.T) {
			other := faultserver.Start(t, faultserver.Config{Files: there})
			other.Fault(func(_ int, r *http.Request) (f faultserver.Fault) {
				if r.Header.Get("Authorization") != "" {
					t.Errorf("%s was sent %q", r.URL, r.Header.Get("Authorization"))
				}
				return f
			})
			home := faultserver.Start(t, faultserver.Config{Dir: dir, Files: map[string]faultserver.File{"/master.m3u8": {Content: []byte(
				"#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000\nmedia.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=1000\n" + other.URL + "/list.m3u8\n")}}})
			var broke atomic.Bool
			home.Fault(func(_ int, r *http.Request) (f faultserver.Fault) {
				name := filepath.Base(r.URL.Path)
				if !strings.Contains(test.files, name) {
					return f
				}
				if test.how.Break && broke.Swap(true) {
					return faultserver.Fault{Status: http.StatusNotFound}
				}
				return test.how
			})
			c := &client.Client{Header: http.Header{"Authorization": {"Bearer secret"}}}
			defer c.CloseIdleConnections()
			clip, err := c.Clip(t.Context(), home.URL+"/master.m3u8#t=9,21")
			if err != nil {
				t.Fatal(err)
			}
			defer clip.Close()
			if got, err := io.ReadAll(clip); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes, want %d: %v", len(got), len(want), err)
			}
			from := 0
			for _, r := range other.Log() {
				if strings.HasPrefix(r.Path, "/b/") {
					from++
				}
			}
			if n := len(strings.Fields(test.files)); from != n && test.how.Status != http.StatusServiceUnavailable { // then the host is down
				t.Errorf("%d segments came from the other host, want %d", from, n)
			}
		})
	}
}
