package webm_test

import (
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/mediatest"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/webm"
)

// opened is a medium opened over a counting source in memory.
type opened struct{ *mediatest.Medium }

// open opens a source as the client does.
func open(t testing.TB, src *seektest.Source, env formats.Env) (*opened, error) {
	t.Helper()
	m, err := mediatest.Open(t, webm.Format{}, src, env)
	return &opened{m}, err
}

// mustOpen is open of bytes that have to be readable.
func mustOpen(t testing.TB, data []byte) *opened {
	t.Helper()
	return &opened{mediatest.MustOpen(t, webm.Format{}, data)}
}

var (
	mustRead = mediatest.ReadFile
	seconds  = mediatest.Between
)
