package seek_test

import (
	"testing"

	"github.com/mediafrag/mediafrag/internal/budget"
)

// Near ends sooner than Find, at a mark at or before the tick from which the
// tick is thought to be at most so far, which it nearly always is.
func TestNear(t *testing.T) {
	const reach = 256 << 10
	for _, size := range []float64{30e3, 500e3, 2e6} {
		s := fragments("cluster", size, 0.3, false, false)
		s.stated = true
		var near, found, far int
		rng := seeded(7)
		for range 20 {
			tick := s.somewhere(rng)
			a, b := open(t, s, s.source()), open(t, s, s.source())
			p, err := a.Near(t.Context(), 0, tick, reach)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := b.Find(t.Context(), 0, tick); err != nil {
				t.Fatal(err)
			}
			checkOrder(t, tick, p.Before, p.After)
			if p.At < p.Before.Offset || p.At > p.After.Offset {
				t.Errorf("%.0f: tick %d at %d, which is not between %d and %d", size, tick, p.At, p.Before.Offset, p.After.Offset)
			}
			near, found = near+a.Stats().Rounds, found+b.Stats().Rounds
			if want, _ := s.neighbours(0, tick); want.off > max(p.Before.End, p.Before.Offset+2*reach) {
				far++
			}
		}
		t.Logf("%.0f: %d rounds, %d by Find, %d times far off", size, near, found, far)
		if near >= found || float64(near) > 20*budget.SearchVaried {
			t.Errorf("%.0f: %d rounds, %d by Find", size, near, found)
		}
		if far > 2 {
			t.Errorf("%.0f: %d times far off", size, far)
		}
	}
}
