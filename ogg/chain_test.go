package ogg

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/seektest"
)

// steady returns so many seconds of Opus at about so many bytes a second.
func steady(seconds int, seed uint64, rate float64) []byte {
	return opusStream("", seconds, seed, func(_ int, r *rand.Rand) float64 { return rate * (0.9 + 0.2*r.Float64()) }).data
}

// A page that was seen in two halves was not seen: where the first page of the
// next link is one, the page behind it is not taken for the boundary.
func TestHalfSeen(t *testing.T) {
	first := steady(30, 1, 8000)
	data := append(bytes.Clone(first), steady(30, 2, 8000)...)
	m := over(t, seektest.New(data), formats.Env{}).Media.(*media)
	l := m.links().links[0]
	cut := int64(len(first) + 20)
	m.glimpses = nil
	m.remember(0, data[:cut], false)
	m.remember(cut, data[cut:], true)
	if b := m.boundary(l, chainTrust); b.at >= 0 {
		t.Errorf("the link ends at %d, it is said, and the page at %d was not seen", b.at, len(first))
	}
}
