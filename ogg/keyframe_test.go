package ogg

import (
	"testing"

	"github.com/mediafrag/mediafrag/seek"
)

// What is read back to a keyframe ends at the nearest page behind it that the search
// has seen, and begins at the nearest before it; pages that count from another
// keyframe bound nothing.
func TestSurroundings(t *testing.T) {
	codec := &theora{shift: 6, base: 1}
	s := &stream{mapping: &mapping{codec: codec, rate: clock{25, 1}}}
	mark := func(off, key, end int64) seek.Mark {
		return seek.Mark{Offset: off, Value: pageMark{granule: codec.granule(position{end: end, key: key})}}
	}
	a := &surroundings{s: s, want: 130, named: func(error) {}}
	for _, m := range []seek.Mark{mark(1000, 0, 40), mark(2000, 50, 90), mark(3000, 50, 100), mark(5000, 100, 120), mark(4000, 100, 110), mark(9000, 100, 150), mark(8000, 100, 140), mark(9900, 150, 160)} {
		a.see(m)
	}
	key, behind, ok := a.keyframe()
	if !ok || key != 100 || behind.Offset != 8000 {
		t.Fatalf("keyframe %d is named at %d, want 100 at 8000", key, behind.Offset)
	}
	before, nearest := a.between(key, behind)
	if before.Offset != 3000 || nearest.Offset != 4000 {
		t.Errorf("read between %d and %d, want 3000 and 4000", before.Offset, nearest.Offset)
	}
}
