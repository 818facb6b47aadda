package formats

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mediafrag/mediafrag/fragment"
)

// Conditions that a caller may want to tell apart with [errors.Is].
var (
	// ErrUnknownFormat: no container was recognised.
	ErrUnknownFormat = errors.New("container not recognised")
	// ErrUnsupported: the container has a feature that is not supported, or
	// the selection asks for a form that it does not have.
	ErrUnsupported = errors.New("not supported")
	// ErrDamaged: the resource contradicts its own format.
	ErrDamaged = errors.New("damaged")
	// ErrPastEnd: the interval begins at or after the end of the medium.
	ErrPastEnd = errors.New("at or past the end")
	// ErrNoFragment: nothing valid is selected.
	ErrNoFragment = errors.New("no valid media fragment")
	// ErrNothing: the interval is valid and within the medium, but no selected
	// track has anything in it.
	ErrNothing = errors.New("nothing in the interval")
	// ErrNoTrack: a selected track does not exist.
	ErrNoTrack = errors.New("no such track")
)

// Error is something wrong with a resource, and where. It wraps [ErrDamaged],
// [ErrUnsupported] or [seek.ErrLimit].
type Error struct {
	Container string // "mp4"
	Element   string // the path of elements, such as "moov/trak/mdia"
	Offset    int64  // byte offset in the resource, -1 where there is none
	Problem   string // what is wrong
	Hint      string // what the user can do; may be ""
	Err       error
}

// Error returns all of it on one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Container)
	if e.Element != "" {
		fmt.Fprintf(&b, " %s", e.Element)
	}
	if e.Offset >= 0 {
		fmt.Fprintf(&b, " at byte %d", e.Offset)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Problem != "" {
		fmt.Fprintf(&b, ": %s", e.Problem)
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, "; %s", e.Hint)
	}
	return b.String()
}

// Unwrap returns the condition.
func (e *Error) Unwrap() error { return e.Err }

// PastEndError is an [ErrPastEnd] that states the duration.
type PastEndError struct {
	Start, Duration fragment.Time // in seconds
}

// Error states both times.
func (e *PastEndError) Error() string {
	return fmt.Sprintf("the interval begins at %s s, %v of the medium: it lasts %s s", e.Start, ErrPastEnd, e.Duration)
}

// Unwrap returns [ErrPastEnd].
func (e *PastEndError) Unwrap() error { return ErrPastEnd }
