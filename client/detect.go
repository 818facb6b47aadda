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

// detect returns the container that recognises the resource.
func detect(known []formats.Format, head []byte, i seek.Info) (formats.Format, error) {
	f, err := formats.Detect(head, i, known)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Redact(i.Name), err)
	}
	return f, nil
}

// noFragment says why there is nothing to clip.
func noFragment(name string, f fragment.Fragment) error {
	for _, w := range f.Warnings {
		return fmt.Errorf("%s: %w: %s", Redact(name), formats.ErrNoFragment, w)
	}
	return fmt.Errorf("%s: %w; add one such as #t=10,20", Redact(name), formats.ErrNoFragment)
}
