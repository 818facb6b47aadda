package mp4_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/seek"
)

// cutCounted builds and opens a file whose source answers after a while, cuts
// [a, b) and checks the clip's samples. It returns what that cost.
func (f *fragmentedFile) cutCounted(t *testing.T, a, b float64) (*formats.Plan, *opened, seek.Transfer) {
	t.Helper()
	source := seektest.New(f.build())
	source.Latency = 15 * time.Millisecond
	o, err := open(t, source)
	if err != nil {
		t.Fatal(err)
	}
	plan, clip := clipOf(t, o, between(a, b))
	checkBuilt(t, f, clip, a, b)
	return plan, o, o.Totals.Transfer()
}

// fragmented reports whether a plan's clip has fragments.
func fragmented(p *formats.Plan) bool { return bytes.Contains(p.Parts[0].Literal, []byte("mvex")) }

// TestSeriesOfIndices cuts files with several sidx, one behind the other: they
// are followed where that takes few round trips, else the time is looked for.
func TestSeriesOfIndices(t *testing.T) {
	searched := budget.TripsFragmentsSmall + budget.RoundsFragments // one finds what stands behind the first
	for _, tt := range []struct {
		name     string
		index    indexForm
		limit    int
		later    int
		a, b     float64
		trips    int
		requests int
		indices  int // requests for them
		searched bool
	}{
		{"in the first", seriesIndex, 50, 0, 20.55, 26.03, budget.TripsFragments, 5, 1, false},
		{"in the second", seriesIndex, 50, 0, 60.55, 66.03, budget.TripsFragments, 5, 1, false},
		{"across two", seriesIndex, 50, 0, 47.55, 52.03, budget.TripsFragments, 5, 1, false},
		{"in the fourth", seriesIndex, 50, 0, 180.55, 186.03, budget.TripsFragments + 2, 7, 3, false},
		{"too far", seriesIndex, 50, 0, 280.55, 286.03, searched, 30, 1, true},
		{"far too far", seriesIndex, 4, 0, 280.55, 286.03, searched, 30, 1, true},
		{"the others shorter", seriesIndex, 50, 4, 180.55, 186.03, budget.TripsFragments + 1, 30, 2, true},
		{"to the end", seriesIndex, 80, 0, 290.55, 300, budget.TripsFragments + 2, 8, 3, false},
		{"for each track", pairsIndex, 50, 0, 60.55, 66.03, budget.TripsFragments, 5, 1, false},
		{"for each track, too far", pairsIndex, 20, 0, 280.55, 286.03, searched, 30, 1, true},
		{"all in front", frontSeries, 20, 0, 280.55, 286.03, budget.TripsFragments, 4, 0, false},
		{"one of each fragment", eachIndex, 0, 0, 280.55, 286.03, 1 + budget.RoundsFragments, 30, 0, true},
	} {
		seektest.Counted(t, tt.name, func(t *testing.T) {
			f := manyFragments(300, tt.index)
			f.limit, f.later = tt.limit, tt.later
			plan, o, got := f.cutCounted(t, tt.a, tt.b)
			if kind := o.Info().Index; (kind == mp4.None) != (tt.index == eachIndex) {
				t.Errorf("the index is %s", kind)
			}
			if fragmented(plan) != tt.searched {
				t.Errorf("the clip is fragmented: %v; the index tells the fragments' places: %v", fragmented(plan), !tt.searched)
			}
			f.checkCost(t, o, plan, got, tt.trips, tt.requests, tt.searched)
			if n := indexRequests(o); n > tt.indices {
				t.Errorf("%d requests for indices, want at most %d: %v", n, tt.indices, o.Source.Ranges())
			}
		})
	}
}

// indexRequests returns how many requests for segment indices there were.
func indexRequests(o *opened) int {
	n := 0
	for _, r := range o.Source.Requests() {
		if r.Note == "sidx" || r.Note == "box header" {
			n++
		}
	}
	return n
}

// checkCost holds what a cut has cost to the budget.
func (f *fragmentedFile) checkCost(t *testing.T, o *opened, plan *formats.Plan, got seek.Transfer, trips, requests int, searched bool) {
	t.Helper()
	t.Logf("%d bytes in %d requests, %d round trips to the first media byte", got.Bytes, got.Requests, got.FirstMediaTrips)
	most := budget.Bytes(plan.Needed)
	if searched {
		most += budget.RoundsFragments * 4 * 64 << 10
	}
	if got.FirstMediaTrips > trips || got.FirstMediaTrips == 0 || got.Requests > requests || got.Bytes > most {
		t.Errorf("%d round trips to the first media byte, %d requests and %d bytes; want at most %d, %d and %d: %v",
			got.FirstMediaTrips, got.Requests, got.Bytes, trips, requests, most, o.Source.Ranges())
	}
}

// TestChainOfIndices cuts files whose indices lead to one another: near the
// beginning they are followed; a time that is many of them away is looked for.
func TestChainOfIndices(t *testing.T) {
	for _, tt := range []struct {
		name     string
		limit    int
		later    int
		a, b     float64
		trips    int
		requests int
		searched bool
	}{
		{"in the first", 50, 0, 20.55, 26.03, budget.TripsFragments, 5, false},
		{"in the third", 50, 0, 120.55, 126.03, budget.TripsFragments + 1, 6, false},
		{"too far", 50, 0, 280.55, 286.03, 1 + budget.RoundsFragments, 30, true},
		{"far too far", 4, 0, 280.55, 286.03, 1 + budget.RoundsFragments, 30, true},
		{"the others shorter", 100, 10, 180.55, 186.03, budget.TripsFragments + 1, 30, true},
		{"a long interval", 4, 0, 2.55, 290.03, 1 + budget.RoundsFragments, 40, true},
	} {
		seektest.Counted(t, tt.name, func(t *testing.T) {
			f := manyFragments(300, chainIndex)
			f.limit, f.later = tt.limit, tt.later
			plan, o, got := f.cutCounted(t, tt.a, tt.b)
			f.checkCost(t, o, plan, got, tt.trips, tt.requests, tt.searched)
			if _, err := o.Plan(t.Context(), between(301, 302)); !errors.Is(err, formats.ErrPastEnd) {
				t.Errorf("past the end: %v", err)
			}
		})
	}
}

// TestTreeOfIndices descends only into the index that holds the time, and into
// its neighbour where what is needed lies there.
func TestTreeOfIndices(t *testing.T) {
	sparse := manyFragments(300, treeIndex) // a sync sample every 2 s: fragments of 1 s, indices of 5 s
	sparse.tracks[0].sync = nil
	for i := range 150 {
		sparse.tracks[0].sync = append(sparse.tracks[0].sync, uint32(20*i+1))
	}
	silent := *sparse // the same, of which the indices tell nothing
	silent.silent = true
	early := manyFragments(300, treeIndex) // pictures are decoded 0.2 s after the time that the index states
	early.tracks[0].offsets = repeat(int32(-200), 3000)
	for _, tt := range []struct {
		name     string
		file     *fragmentedFile
		limit    int
		a, b     float64
		trips    int
		requests int
		leaves   int // that are read
	}{
		{"one", manyFragments(300, treeIndex), 5, 202.55, 203.03, budget.TripsFragments, 5, 1},
		{"across two", manyFragments(300, treeIndex), 5, 202.55, 206.03, budget.TripsFragments, 6, 2},
		{"the sync sample lies in the one before", sparse, 5, 205.05, 206.03, budget.TripsFragments, 6, 2},
		{"the sync sample lies in the one before, the interval in one fragment", sparse, 5, 205.35, 205.63, budget.TripsFragments, 6, 2},
		{"the sync sample lies in the fragment before", sparse, 5, 207.35, 207.63, budget.TripsFragments, 6, 2},
		{"nothing said of sync samples", &silent, 5, 205.05, 206.03, budget.TripsFragments + 1, 7, 2},
		{"the last picture lies in the next", early, 5, 202.55, 204.95, budget.TripsFragments + 1, 8, 2},
		{"many", manyFragments(300, treeIndex), 2, 10.55, 290.03, budget.TripsFragments, 25, 16},
	} {
		seektest.Counted(t, tt.name, func(t *testing.T) {
			f := tt.file
			f.limit = tt.limit
			plan, o, got := f.cutCounted(t, tt.a, tt.b)
			f.checkCost(t, o, plan, got, tt.trips, tt.requests, false)
			if n := indexRequests(o); n > tt.leaves {
				t.Errorf("%d requests for indices, want at most %d: %v", n, tt.leaves, o.Source.Ranges())
			}
			if _, err := o.Plan(t.Context(), between(301, 302)); !errors.Is(err, formats.ErrPastEnd) {
				t.Errorf("past the end: %v", err)
			}
		})
	}
}

// TestAlignedInterval cuts where a fragment begins, as whole seconds often do:
// the sound's pre-roll is in the one before, which comes along at once.
func TestAlignedInterval(t *testing.T) {
	for _, tt := range []struct {
		index    indexForm
		b        float64
		trips    int
		requests int
	}{
		{flatIndex, 21.5, budget.TripsFragmentsSmall, 5},
		{flatIndex, 83.95, budget.TripsFragments, 72},
		{tailIndex, 21.5, budget.TripsFragmentsSmall, 5},
		{treeIndex, 21.5, budget.TripsFragmentsSmall, 5},
		{treeIndex, 28.5, budget.TripsFragmentsSmall, 8},
	} {
		seektest.Counted(t, fmt.Sprintf("%s, to %v s", tt.index, tt.b), func(t *testing.T) {
			f := manyFragments(100, tt.index)
			f.tracks[1].entry = audio("mp4a", esds(0x40, 0x12, 0x10))
			for i := range f.tracks[0].sizes {
				f.tracks[0].sizes[i] *= 4
			}
			plan, o, got := f.cutCounted(t, 20, tt.b)
			if fragmented(plan) {
				t.Error("the clip is fragmented")
			}
			f.checkCost(t, o, plan, got, tt.trips, tt.requests, false)
		})
	}
}

// TestLongIndices reads the indices of two tracks that no head holds in one
// round trip: the first tells how far away the fragments are.
func TestLongIndices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyFragments(5600, trackIndex)
		f.tracks[0].sync = nil
		for _, track := range f.tracks {
			track.timescale = 1
			track.durations, track.sizes = repeat(uint32(1), 5600), repeat(uint32(900), 5600)
		}
		plan, o, got := f.cutCounted(t, 5000, 5010)
		f.checkCost(t, o, plan, got, budget.TripsFragments, 5, false)
	})
}
