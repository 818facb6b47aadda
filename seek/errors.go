package seek

import (
	"errors"
	"fmt"
	"io"
)

// Conditions that a caller may want to tell apart with [errors.Is]. Sources
// wrap them with what they know: the name, the range, the status.
var (
	// ErrNotFound: there is no such resource.
	ErrNotFound = errors.New("resource not found")
	// ErrForbidden: the resource needs credentials that were not given or not
	// accepted.
	ErrForbidden = errors.New("access refused")
	// ErrUnavailable: the source did not answer, or not usefully, also after
	// retries.
	ErrUnavailable = errors.New("source unavailable")
	// ErrChanged: the resource is no longer the one that was opened.
	ErrChanged = errors.New("resource changed while it was read")
	// ErrNoRanges: the source cannot give a part of the resource (or not this
	// kind of range).
	ErrNoRanges = errors.New("source does not serve byte ranges")
	// ErrUnsized: the operation needs a length that is not known.
	ErrUnsized = errors.New("length not known")
	// ErrLimit: a limit set by the caller or by this module was reached.
	ErrLimit = errors.New("limit reached")
	// ErrDisorder: the times that the resource states contradict each other.
	ErrDisorder = errors.New("times do not ascend")
	// ErrClosed: the Reader, Window or resource was closed.
	ErrClosed = errors.New("already closed")
)

// ReadError is a body that failed: of which resource, and where.
type ReadError struct {
	Name   string // the resource
	Offset int64  // of the byte that did not come
	Err    error
}

// Error returns all of it on one line.
func (e *ReadError) Error() string {
	return fmt.Sprintf("reading %s at byte %d: %v", e.Name, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// broken is the error of a body that failed at an offset of its resource.
func broken(name string, at int64, err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if known := (*ReadError)(nil); errors.As(err, &known) {
		return err
	}
	return &ReadError{name, at, err}
}
