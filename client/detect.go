package client

import (
	"fmt"
	"strings"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// namesManifest reports whether a resource's name says that it is a playlist.
func namesManifest(known []formats.Format, name string) bool {
	if isWeb(scheme(name)) {
		name, _, _ = strings.Cut(name, "?")
	}
	for _, f := range known {
		if m, ok := f.(formats.Manifest); ok && m.Named(name) {
			return true
		}
	}
	return false
}

// detect returns the first container that recognises the resource.
func detect(known []formats.Format, head []byte, i seek.Info) (formats.Format, error) {
	for _, f := range known {
		if f.Detect(head, i) {
			return f, nil
		}
	}
	return nil, fmt.Errorf("%s (%d bytes, type %q): %w", Redact(i.Name), i.Size, i.MediaType, formats.ErrUnknownFormat)
}

// noFragment says why there is nothing to clip.
func noFragment(name string, f fragment.Fragment) error {
	for _, w := range f.Warnings {
		return fmt.Errorf("%s: %w: %s", Redact(name), formats.ErrNoFragment, w)
	}
	return fmt.Errorf("%s: %w; add one such as #t=10,20", Redact(name), formats.ErrNoFragment)
}
