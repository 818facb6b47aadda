package ogg

import (
	"bytes"
	"context"
	"path"
	"strings"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// Name is the container's name in [formats.Info].
const Name = "ogg"

// Kinds of index that [formats.Info] reports.
const (
	Granules formats.Index = "granule positions"
	Skeleton formats.Index = "skeleton-4-index"
)

// Format recognises and opens Ogg files.
type Format struct{}

var _ formats.Format = Format{}

// Name returns "ogg".
func (Format) Name() string { return Name }

// Detect reports whether head begins with a page, or, behind an ID3 tag or
// where the type or the name says Ogg, holds one. Of a larger resource whose type
// or name says so, the first page may also be a little further on.
func (Format) Detect(head []byte, i seek.Info) bool {
	if bytes.HasPrefix(head, capture) {
		return true
	}
	switch at := tagLen(head); {
	case at >= int64(len(head)): // cover art may be larger than what is seen
		return namesOgg(i)
	case at > 0 && bytes.HasPrefix(head[at:], capture):
		return true
	}
	return namesOgg(i) && (int64(len(head)) >= headChunk || len(scanPages(head, 0, true).pages) > 0)
}

// namesOgg reports whether a resource's type or name says that it is Ogg.
func namesOgg(i seek.Info) bool {
	if _, sub, _ := strings.Cut(i.MediaType, "/"); sub == "ogg" || sub == "x-ogg" || sub == "opus" {
		return true
	}
	name, _, _ := strings.Cut(i.Name, "?")
	switch strings.ToLower(path.Ext(name)) {
	case ".ogg", ".oga", ".ogv", ".ogx", ".opus", ".spx", ".anx":
		return true
	}
	return false
}

// tagLen returns the length of the ID3v2 tag that some programs put in front of
// everything, 0 where there is none.
func tagLen(head []byte) int64 {
	if len(head) < 10 || !bytes.HasPrefix(head, []byte("ID3")) {
		return 0
	}
	n := int64(0)
	for _, b := range head[6:10] {
		if b > 127 {
			return 0
		}
		n = n<<7 | int64(b)
	}
	return n + 10
}

// Open reads the headers of the first link and the last pages.
func (Format) Open(ctx context.Context, w *seek.Window, env formats.Env) (formats.Media, error) {
	m := &media{window: w, limits: env.Limits.WithDefaults(), growing: env.Growing}
	if err := m.open(ctx); err != nil {
		return nil, err
	}
	return m, nil
}
