package segments

import (
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/fragment"
)

// TestOverlap: a segment is needed when it ends after a and begins before b.
func TestOverlap(t *testing.T) {
	ends := []time.Duration{4 * time.Second, 8 * time.Second, 8 * time.Second, 12 * time.Second} // the third is empty
	at := func(i int) (start, end time.Duration) {
		if i > 0 {
			start = ends[i-1]
		}
		return start, ends[i]
	}
	nano := fragment.Ticks(1, 2_000_000_000) // half of one
	for _, test := range []struct {
		interval    fragment.Interval
		first, last int
	}{
		{fragment.Between(fragment.Seconds(0), fragment.Seconds(4)), 0, 1},
		{fragment.Between(fragment.Seconds(4), fragment.Seconds(8)), 1, 2},
		{fragment.Between(fragment.Seconds(3), fragment.Seconds(9)), 0, 4},
		{fragment.Between(fragment.Seconds(4).Sub(nano), fragment.Seconds(8).Add(nano)), 0, 4},
		{fragment.Between(fragment.Seconds(8), fragment.Seconds(100)), 3, 4},
		{fragment.From(fragment.Seconds(9)), 3, 4},
		{fragment.From(fragment.Seconds(12)), 4, 4},
		{fragment.Between(fragment.Seconds(5), fragment.Seconds(5)), 1, 2},
	} {
		if first, last := Overlap(len(ends), at, test.interval); first != test.first || last != test.last {
			t.Errorf("%s: segments %d to %d, want %d to %d", test.interval, first, last, test.first, test.last)
		}
	}
	if first, last := Overlap(0, at, fragment.From(fragment.Time{})); first != 0 || last != 0 {
		t.Errorf("of none: %d to %d", first, last)
	}
}
