package webm_test

import (
	"slices"
	"testing"

	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

// long is a film of 10 Mbit/s, so that an interval is much more than its ends.
func long(f film) *written {
	f.seconds, f.bytes = 60, 50_000
	return f.write()
}

// TestCost asserts what it takes to read a long interval, for each kind of
// index: requests, dependent round trips, bytes. All that lies between the ends
// is asked for at once.
func TestCost(t *testing.T) {
	tests := []struct {
		name     string
		film     film
		trips    int
		requests int
		again    int // round trips of another interval
	}{
		{"cues in front", film{index: "front"}, budget.TripsWebM, 8, budget.TripsOpen},
		{"cues at the end", film{}, budget.TripsWebM, 8, budget.TripsOpen},
		{"cues far", film{end: fill(0x1254C367, 200<<10)}, budget.TripsWebMFar, 9, budget.TripsOpen},
		{"no cues", film{index: "none"}, budget.TripsWebMSearch, 24, budget.AgainSearched},
		{"unknown sizes", film{index: "none", segmentSize: 8, clusterSize: 8, noDuration: true}, budget.TripsWebMSearch, 24, budget.AgainSearched},
	}
	for _, tt := range tests {
		seektest.Counted(t, tt.name, func(t *testing.T) {
			w := long(tt.film)
			o := openSlow(t, w.data)
			plan, data := o.Clip(t, seconds(21.3, 41.37))
			w.compare(t, readBack(t, data), 21300, 41370)
			got := o.Totals.Transfer()
			if got.FirstMediaTrips > tt.trips || got.FirstMediaTrips == 0 {
				t.Errorf("%d round trips to the first media byte, want 1 to %d", got.FirstMediaTrips, tt.trips)
			}
			// Those that find the ends, and one wave of what lies between.
			if most := got.FirstMediaTrips + 2; got.RoundTrips > most {
				t.Errorf("%d round trips in all, want at most %d", got.RoundTrips, most)
			}
			if got.Requests > tt.requests {
				t.Errorf("%d requests, want at most %d: %v", got.Requests, tt.requests, o.Source.Ranges())
			}
			cluster := int64(0)
			if tt.film.index == "none" {
				cluster = int64(w.gop * w.bytes)
			}
			if most := budget.Bytes(plan.Needed) + probed(o) + cluster; got.Bytes > most {
				t.Errorf("%d bytes, want at most %d", got.Bytes, most)
			}
			if t.Failed() {
				for _, r := range o.Source.Requests() {
					t.Log(r.Range, r.Purpose, r.Note, r.Delivered)
				}
			}
			again(t, o, tt.again)
		})
	}
}

// again reads other intervals of the open medium.
func again(t *testing.T, o *opened, most int) {
	t.Helper()
	var trips []int
	for _, a := range []float64{3.3, 12.2, 27.9, 33.1, 48.7, 52.4, 57.02} {
		totals := &seek.Totals{}
		o.Source.Observer, o.Totals = totals, totals
		o.Clip(t, seconds(a, a+1.5))
		trips = append(trips, totals.Transfer().FirstMediaTrips)
	}
	slices.Sort(trips)
	if median := trips[len(trips)/2]; median > most {
		t.Errorf("%d round trips for another interval at the median, want at most %d: %v", median, most, trips)
	}
}

// TestDeterministic plans the same selection of two openings, of which one has
// answered others before: the plans are equal.
func TestDeterministic(t *testing.T) {
	for _, index := range []string{"end", "none"} {
		w := film{seconds: 60, index: index}.write()
		fresh, used := mustOpen(t, w.data), mustOpen(t, w.data)
		for _, a := range []float64{50, 3, 31, 28} {
			used.Clip(t, seconds(a, a+2))
		}
		_, one := fresh.Clip(t, seconds(29.3, 41.1))
		_, two := used.Clip(t, seconds(29.3, 41.1))
		if !slices.Equal(one, two) {
			t.Errorf("index %s: the clip of a medium that was used before is another", index)
		}
	}
}
