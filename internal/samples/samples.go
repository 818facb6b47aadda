// Package samples holds small media that are built into programs, and serves
// them with byte ranges: for the demo, for examples and for tests. All of them
// were generated, see make.sh.
package samples

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Sample is one built-in medium.
type Sample struct {
	Name      string // such as "movie.mp4"
	MediaType string
	About     string // what is special about it, for people
	Data      []byte
}

//go:embed media/movie.mp4
var movie []byte

//go:embed media/faststart.mp4
var faststart []byte

//go:embed media/movie.ogv
var ogv []byte

//go:embed media/movie.webm
var webm []byte

// All returns the samples. Each is a picture with a running clock and a tone,
// 20 s long.
func All() []Sample {
	return []Sample{
		{"movie.mp4", "video/mp4", "MP4, the index (moov) at the end", movie},
		{"faststart.mp4", "video/mp4", "MP4, the index (moov) in front", faststart},
		{"movie.ogv", "video/ogg", "Ogg, no index; clips with pictures begin at a key frame", ogv},
		{"movie.webm", "video/webm", "WebM, the index (Cues) at the end; clips with pictures begin at a key frame", webm},
	}
}

// Handler serves the samples under their names, with byte ranges and strong
// validators.
func Handler() http.Handler {
	byPath := map[string]Sample{}
	for _, s := range All() {
		byPath[s.Name] = s
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, ok := byPath[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", s.MediaType)
		w.Header().Set("ETag", fmt.Sprintf(`"%.8x"`, sha256.Sum256(s.Data)))
		http.ServeContent(w, r, s.Name, time.Time{}, bytes.NewReader(s.Data))
	})
}
