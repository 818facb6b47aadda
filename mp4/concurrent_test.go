package mp4_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/mp4"
)

// TestConcurrentPlans plans many intervals of one open medium at a time, of
// every kind: each plan is the one that is made alone.
func TestConcurrentPlans(t *testing.T) {
	long, _ := longFilm{seconds: 60}.build()
	sources := map[string]*seektest.Source{"parts": long}
	for _, index := range []indexForm{treeIndex, tailIndex, noIndex} {
		sources[string(index)] = seektest.New(manyFragments(60, index).build())
	}
	for name, source := range sources {
		t.Run(name, func(t *testing.T) {
			shared, err := openBare(t.Context(), t, source, formats.Limits{Whole: 1})
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for i := range 8 {
				s := between(float64(7*i), float64(7*i)+2.5)
				if i%2 == 1 && name != "parts" {
					s.Layout = mp4.Fragmented
				}
				wg.Go(func() {
					got, err := shared.Plan(t.Context(), s)
					if err != nil {
						t.Error(err)
						return
					}
					alone, err := openBare(t.Context(), t, source, formats.Limits{Whole: 1})
					if err != nil {
						t.Error(err)
						return
					}
					want, err := alone.Plan(t.Context(), s)
					if diff := cmp.Diff(want, got, timesEqual, bytesEqual); err != nil || diff != "" {
						t.Errorf("from %d on: %v, plans (-alone +shared):\n%s", 7*i, err, diff)
					}
				})
			}
			wg.Wait()
		})
	}
}

// TestTotalsDisagree reads a moov whole whose tables contradict one another
// where it is read, and makes the same plan of it. (A contradiction among
// entries that no slice holds cannot be seen.)
func TestTotalsDisagree(t *testing.T) {
	source, _ := longFilm{seconds: 60}.build()
	data := make([]byte, source.Info.Size)
	if _, err := source.Content.ReadAt(data, 0); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{
		"more durations than sizes": patch(data, "stts", 0, 11, 255),
		"fewer sizes":               patch(data, "stsz", 0, 11, 1),
		"a chunk of no samples":     patch(data, "stsc", 0, 8+4, 0, 0, 0, 0),
	} {
		t.Run(name, func(t *testing.T) {
			for _, at := range []float64{3, 20} {
				whole, wholeErr := openBare(t.Context(), t, seektest.New(bad), formats.Limits{Whole: 1 << 40})
				parts, partsErr := openBare(t.Context(), t, seektest.New(bad), formats.Limits{Whole: 1})
				if wholeErr != nil || partsErr != nil {
					if partsErr == nil { // what is wrong shows when it is planned
						_, partsErr = parts.Plan(t.Context(), between(at, at+2))
					}
					if wholeErr == nil || partsErr == nil {
						t.Fatalf("whole: %v, in parts: %v", wholeErr, partsErr)
					}
					continue
				}
				want, wantErr := whole.Plan(t.Context(), between(at, at+2))
				got, gotErr := parts.Plan(t.Context(), between(at, at+2))
				if (wantErr == nil) != (gotErr == nil) {
					t.Fatalf("whole: %v, in parts: %v", wantErr, gotErr)
				}
				if diff := cmp.Diff(want, got, timesEqual, bytesEqual); diff != "" {
					t.Errorf("at %g: plans (-whole +parts):\n%.2000s", at, diff)
				}
			}
		})
	}
}
