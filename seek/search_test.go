package seek_test

import (
	"testing"

	"github.com/mediafrag/mediafrag/seek"
)

func TestFindReturnsTheNeighbours(t *testing.T) {
	for _, s := range []*stream{steady(), music(), podcast(), video()} {
		rng := seeded(99)
		for range 50 {
			checkFind(t, s, s.open(t, s.source()), rng.Int64N(s.duration()))
		}
	}
}

func checkFind(tb testing.TB, s *stream, search *seek.Search, tick int64) {
	tb.Helper()
	for stream := range s.streams() {
		before, after, err := search.Find(tb.Context(), stream, tick)
		if err != nil {
			tb.Fatalf("%s: tick %d: %v", s.name, tick, err)
		}
		wantBefore, wantAfter := s.neighbours(stream, tick)
		if before.Offset != wantBefore.off || after.Offset != wantAfter.off {
			tb.Fatalf("%s: tick %d: between %d (%d) and %d (%d), want %d (%d) and %d (%d)", s.name, tick,
				before.Offset, before.Tick, after.Offset, after.Tick, wantBefore.off, wantBefore.tick, wantAfter.off, wantAfter.tick)
		}
	}
}
