package mp4_test

import (
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/mediatest"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/mp4"
)

// opened is a medium opened over a counting source in memory.
type opened struct{ *mediatest.Medium }

// open opens a source as the client does.
func open(t testing.TB, s *seektest.Source) (*opened, error) {
	t.Helper()
	return openLimited(t, s, formats.Limits{})
}

// openLimited is open with limits.
func openLimited(t testing.TB, s *seektest.Source, limits formats.Limits) (*opened, error) {
	t.Helper()
	m, err := mediatest.Open(t, mp4.Format{}, s, formats.Env{Limits: limits})
	return &opened{m}, err
}

// mustOpen is open of a file that has to be readable.
func mustOpen(t testing.TB, path string) *opened {
	t.Helper()
	return openBuilt(t, mediatest.ReadFile(t, path))
}

// openBuilt is open of bytes that have to be readable.
func openBuilt(t testing.TB, data []byte) *opened {
	t.Helper()
	return &opened{mediatest.MustOpen(t, mp4.Format{}, data)}
}

// cut writes the clip of a selection to a file in a folder of the test's own.
func (o *opened) cut(t testing.TB, s formats.Selection) (*formats.Plan, string) {
	t.Helper()
	return o.Cut(t, s, ".mp4")
}

var (
	between = mediatest.Between
	name    = mediatest.IntervalName
)
