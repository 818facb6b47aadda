package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"sync"
	"testing"
)

// TestTrackOfOwnPlaylist: what --track names is asked for instead of what plays by
// default, not after it.
func TestTrackOfOwnPlaylist(t *testing.T) {
	var asked sync.Map
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(path.Base(r.URL.Path), true)
		switch path.Base(r.URL.Path) {
		case "master.m3u8":
			io.WriteString(w, "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"en\",DEFAULT=YES,URI=\"en.m3u8\"\n"+
				"#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"fr\",URI=\"fr.m3u8\"\n#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO=\"a\"\nmain.m3u8\n")
		case "x.aac":
			http.NotFound(w, r)
		default:
			io.WriteString(w, "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\nx.aac\n#EXT-X-ENDLIST\n")
		}
	}))
	defer server.Close()
	command(t, "plan", server.URL+"/master.m3u8#t=0,2", "--track", "fr") // fails for want of the segment
	for name, want := range map[string]bool{"main.m3u8": true, "fr.m3u8": true, "x.aac": true, "en.m3u8": false} {
		if _, got := asked.Load(name); got != want {
			t.Errorf("asked for %s: %v, want %v", name, got, want)
		}
	}
}
