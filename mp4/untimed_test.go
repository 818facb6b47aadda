package mp4_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

// TestUntimed cuts files whose fragments do not say when they begin.
func TestUntimed(t *testing.T) {
	for _, index := range []indexForm{flatIndex, treeIndex, seriesIndex, tailIndex, eachIndex, noIndex} {
		for _, apart := range []bool{false, true} {
			f := &fragmentedFile{tracks: []*testTrack{pictures(), tone()}, index: index, form: fragmentForm{untimed: true, apart: apart}}
			if index == noIndex || index == eachIndex {
				f.tracks[0] = reordered()
				f.tracks[0].edits = []testEdit{{duration: 0, mediaTime: 100}}
			}
			o := openBuilt(t, f.build())
			for _, i := range []interval{{4.55, 6.03}, {0, 1.2}, {7.2, 7.3}} {
				_, clip := clipOf(t, o, between(i.a, i.b))
				if checkBuilt(t, f, clip, i.a, i.b); t.Failed() {
					t.Fatalf("%s, one moof for each track: %v, %v", index, apart, i)
				}
			}
		}
	}
}

// TestUntimedCost adds up durations where neither an index nor the fragments
// tell times: within the rounds of a search, and never all of the file. What is
// too far away is an error that says so; it is never a wrong time.
func TestUntimedCost(t *testing.T) {
	small, large, varied := manyFragments(300, noIndex), manyFragments(300, noIndex), manyFragments(300, noIndex)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range small.tracks[0].sizes {
		small.tracks[0].sizes[i] /= 15
		large.tracks[0].sizes[i] *= 4
		varied.tracks[0].sizes[i] *= 1 + r.Uint32N(4)
	}
	for _, tt := range []struct {
		name   string
		file   *fragmentedFile
		near   float64 // is found
		far    float64 // is not
		rounds int
	}{
		{"small fragments", small, 40, 299, budget.RoundsFragments},
		{"as large as a probe", manyFragments(300, noIndex), 12, 200, budget.RoundsFragments},
		{"large fragments", large, 8, 200, budget.RoundsFragments},
		{"fragments of varying size", varied, 5, 200, budget.RoundsFragments},
	} {
		seektest.Counted(t, tt.name, func(t *testing.T) {
			tt.file.form.untimed = true
			source := seektest.New(tt.file.build())
			source.Latency = 20 * time.Millisecond
			o, err := open(t, source)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range []float64{tt.near, tt.far} {
				source.Reset()
				totals := &seek.Totals{}
				source.Observer = totals
				plan, err := o.Plan(t.Context(), between(at+0.55, at+1.5))
				got := totals.Transfer()
				t.Logf("%v: %d round trips, %d bytes of %d: %v", at, got.RoundTrips, got.Bytes, source.Info.Size, err)
				probes := int64(budget.RoundsFragments * seek.DefaultParallel * seek.DefaultProbe)
				if at == tt.far {
					var e *formats.Error
					if !errors.Is(err, seek.ErrLimit) || !errors.As(err, &e) || e.Element != "moof" || e.Hint == "" || e.Offset <= 0 {
						t.Errorf("%v, want the limit at a moof", err)
					}
				} else if err != nil {
					t.Error(err)
				} else {
					probes += budget.Bytes(plan.Needed)
					_, clip := clipOf(t, o, between(at+0.55, at+1.5))
					checkBuilt(t, tt.file, clip, at+0.55, at+1.5)
				}
				if got.RoundTrips > tt.rounds+1 || got.Bytes > probes {
					t.Errorf("%d round trips and %d bytes, want at most %d and %d", got.RoundTrips, got.Bytes, tt.rounds+1, probes)
				}
			}
			if _, err := o.Inspect(t.Context()); err != nil { // what is known is told
				t.Errorf("inspect: %v", err)
			}
		})
	}
}

// TestUnsizedFragments: without an index, and without a length by which the time
// could be looked for, the error says what would help; with an index it is cut.
func TestUnsizedFragments(t *testing.T) {
	for _, index := range []indexForm{noIndex, flatIndex} {
		f := manyFragments(100, index)
		source := seektest.New(f.build())
		source.Unsized, source.NoSuffix = true, true
		o, err := open(t, source)
		if index == flatIndex {
			if err != nil {
				t.Fatal(err)
			}
			_, clip := clipOf(t, o, between(20.55, 22.03))
			checkBuilt(t, f, clip, 20.55, 22.03)
			continue
		}
		var named *formats.Error
		if !errors.As(err, &named) || !errors.Is(err, formats.ErrUnsupported) || named.Element != "moof" || !strings.Contains(named.Hint, "states its length") {
			t.Errorf("%s: %v", index, err)
		}
	}
	source := seektest.New(manyFragments(100, noIndex).build())
	source.Unsized, source.NoSuffix, source.NoRanges = true, true, true
	if _, err := open(t, source); !errors.Is(err, seek.ErrNoRanges) {
		t.Errorf("without ranges: %v", err)
	}
}
