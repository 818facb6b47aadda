package mp4

import (
	"context"
	"strings"

	"github.com/mediafrag/mediafrag/formats"
)

// Info says what the moov tells.
func (f *file) Info() formats.Info {
	return formats.Info{
		Format:    Name,
		MediaType: f.mediaType(),
		Duration:  f.movie.length(),
		Timed:     true,
		Index:     f.index,
		Seekable:  true,
		Tracks:    f.movie.infos(),
		Chapters:  f.movie.chapters,
	}
}

// Inspect says the same as Info: the moov tells everything.
func (f *file) Inspect(context.Context) (formats.Info, error) { return f.Info(), nil }

// infos returns what is said of the tracks that can be delivered.
func (m *movie) infos() []formats.Track {
	var out []formats.Track
	for _, t := range m.playable() {
		out = append(out, t.info)
	}
	return out
}

// mediaType returns the file's media type: by its brand and by whether it has
// pictures (RFC 4337, RFC 3839).
func (f *file) mediaType() string {
	kind := "audio"
	for _, t := range f.movie.playable() {
		if t.kind == formats.Video {
			kind = "video"
		}
	}
	switch {
	case f.ftyp == nil, f.brand == "qt  ":
		return "video/quicktime"
	case strings.HasPrefix(f.brand, "3gp"):
		return kind + "/3gpp"
	case strings.HasPrefix(f.brand, "3g2"):
		return kind + "/3gpp2"
	}
	return kind + "/mp4"
}
