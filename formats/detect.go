package formats

import (
	"fmt"
	"strings"

	"github.com/mediafrag/mediafrag/seek"
)

// headShown is how many of the first bytes an [UnknownError] states.
const headShown = 16

// Detect returns the container of a resource that begins with head: the first
// of known that recognises the bytes by themselves, else the first that also
// goes by the media type and the name in i. Where there is none it fails with
// an [*UnknownError].
func Detect(head []byte, i seek.Info, known []Format) (Format, error) {
	unnamed := seek.Info{Validator: i.Validator, Size: i.Size}
	for _, info := range []seek.Info{unnamed, i} {
		for _, f := range known {
			if f.Detect(head, info) {
				return f, nil
			}
		}
	}
	e := &UnknownError{Head: head[:min(len(head), headShown)], MediaType: i.MediaType, Size: i.Size}
	for _, f := range known {
		e.Known = append(e.Known, f.Name())
	}
	return nil, e
}

// UnknownError is an [ErrUnknownFormat] that states what was seen.
type UnknownError struct {
	Head      []byte // the first bytes, 16 at most
	MediaType string // what the source says the resource is; may be ""
	Size      int64  // -1: not known
	Known     []string
}

// Error states what was seen, and what would have been recognised.
func (e *UnknownError) Error() string {
	var b strings.Builder
	if len(e.Head) == 0 {
		b.WriteString("it is empty (0 bytes)")
	} else {
		fmt.Fprintf(&b, "it begins with %q", e.Head)
	}
	if e.MediaType != "" {
		fmt.Fprintf(&b, ", is said to be %s", e.MediaType)
	}
	if e.Size > 0 {
		fmt.Fprintf(&b, ", has %d bytes", e.Size)
	}
	fmt.Fprintf(&b, " and is none of %s: %v", strings.Join(e.Known, ", "), ErrUnknownFormat)
	return b.String()
}

// Unwrap returns [ErrUnknownFormat].
func (e *UnknownError) Unwrap() error { return ErrUnknownFormat }
