package mediatest

import (
	"errors"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
)

// Refusal is how a hostile file has to end: as what, and where in it.
type Refusal struct {
	Err       error // nil: the file is read
	Container string
	Element   string // a part of the element's name
	Size      int64  // how far the error's offset may lie: to the end of the file, or of what it claims
}

// Check compares an error with the refusal. One that is wanted says which
// container, element and offset it is about, and what can be done.
func (r Refusal) Check(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, r.Err) {
		t.Fatalf("%v, want %v", err, r.Err)
	}
	if r.Err == nil {
		return
	}
	var at *formats.Error
	if !errors.As(err, &at) {
		t.Fatalf("%v is no *formats.Error", err)
	}
	if at.Container != r.Container || !strings.Contains(at.Element, r.Element) || at.Hint == "" || at.Offset < 0 || at.Offset > r.Size {
		t.Errorf("%+v; want the element %q of %s, its offset and a hint", at, r.Element, r.Container)
	}
}
