package webm_test

import (
	"math/rand/v2"
	"testing"

	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// live makes of a film what a recorder writes: no sizes, no duration.
func live(f film) film {
	f.segmentSize, f.clusterSize, f.noDuration = 8, 8, true
	return f
}

// TestNoCues cuts films without an index, of usual rates, with clusters that are
// larger than all probes, and with keyframes further apart than clusters: an
// interval anywhere keeps to the budget.
func TestNoCues(t *testing.T) {
	films := []struct {
		name string
		film film
		full bool
	}{
		{"10 Mbit/s, clusters of 2.6 MB", film{seconds: 30, bytes: 50_000}, false},
		{"10 Mbit/s, live, clusters of 2.6 MB", live(film{seconds: 30, bytes: 50_000}), false},
		{"10 Mbit/s, clusters of 12 MB", film{seconds: 60, bytes: 50_000, gop: 250}, true},
		{"10 Mbit/s, a keyframe in 10 clusters", film{seconds: 60, bytes: 50_000, gop: 250, cluster: 25}, true},
		{"10 Mbit/s, a keyframe in 2 clusters", film{seconds: 60, bytes: 50_000, gop: 250, cluster: 125}, true},
		{"3 Mbit/s, a keyframe in 10 clusters", film{seconds: 60, bytes: 15_000, gop: 250, cluster: 25}, false},
		{"3 Mbit/s, live, a keyframe in 10 clusters", live(film{seconds: 60, bytes: 15_000, gop: 250, cluster: 25}), false},
		{"3 Mbit/s, live, clusters of 10 s", live(film{seconds: 120, bytes: 15_000, gop: 250}), true},
		{"3 Mbit/s", film{seconds: 120, bytes: 15_000}, true},
		{"1 Mbit/s", film{seconds: 240, bytes: 5_000}, true},
		{"1 Mbit/s, a keyframe in 2 clusters", film{seconds: 240, bytes: 5_000, gop: 250, cluster: 125}, true},
		{"1 Mbit/s, live, a keyframe in 2 clusters", live(film{seconds: 120, bytes: 5_000, gop: 250, cluster: 125}), true},
		{"1 Mbit/s, live, clusters of 25 KB", live(film{seconds: 60, bytes: 5_000, gop: 50, cluster: 5}), false},
		{"1 Mbit/s, keyframes inside clusters", film{seconds: 120, bytes: 5_000, midKey: true}, true},
	}
	for _, tt := range films {
		n := 3
		if tools.Full() {
			n = 12
		} else if tt.full {
			continue
		}
		seektest.Counted(t, tt.name, func(t *testing.T) {
			tt.film.index = "none"
			w := tt.film.write()
			r := rand.New(rand.NewPCG(1, 2))
			for range n {
				from := 2000 + r.Int64N(int64(tt.film.seconds-14)*1000)
				to := from + 1000 + r.Int64N(9000)
				a, b := float64(from)/1000, float64(to)/1000
				o := openSlow(t, w.data)
				plan, data := o.Clip(t, seconds(a, b))
				w.compare(t, readBack(t, data), from, to)
				got := o.Totals.Transfer()
				if got.FirstMediaTrips > budget.TripsWebMSearch {
					t.Errorf("[%.3f, %.3f): %d round trips to the first media byte, want at most %d", a, b, got.FirstMediaTrips, budget.TripsWebMSearch)
				}
				if most := budget.Bytes(plan.Needed) + probed(o) + int64(w.cluster*(w.bytes+400)+3*w.bytes); got.Bytes > most {
					t.Errorf("[%.3f, %.3f): %d bytes, want at most %d", a, b, got.Bytes, most)
				}
				if t.Failed() {
					for _, r := range o.Source.Requests() {
						t.Log(r.Range, r.Purpose, r.Note, r.Delivered)
					}
					return
				}
			}
		})
	}
}

// TestSoundSearched cuts recordings of sound alone, without an index or sizes,
// anywhere: a Cluster's time is not taken for that of another behind it.
func TestSoundSearched(t *testing.T) {
	for _, laces := range []int{0, 40} {
		w := live(film{seconds: 60, index: "none", heads: "none", pictureless: true, laces: laces}).write()
		for from := int64(2000); from < 57_000; from += 1250 {
			_, data := mustOpen(t, w.data).Clip(t, seconds(float64(from)/1000, float64(from)/1000+1.5))
			w.compare(t, readBack(t, data), from, from+1500)
		}
	}
}

// TestDurationHelps: without an index a stated duration makes searches cheaper, for it
// tells where the last Cluster ends.
func TestDurationHelps(t *testing.T) {
	bytes := map[bool]int64{}
	for _, untold := range []bool{false, true} {
		w := film{seconds: 30, bytes: 50_000, index: "none", noDuration: untold}.write()
		for _, a := range []float64{5, 9.3, 14.1, 19, 23.3} {
			o := mustOpen(t, w.data)
			o.Clip(t, seconds(a, a+1.9))
			bytes[untold] += o.Totals.Transfer().Bytes
		}
	}
	if bytes[false] > bytes[true]*4/5 {
		t.Errorf("%d bytes where the duration is stated, %d where it is not", bytes[false], bytes[true])
	}
}

// TestLargeClustersUnsized: in a resource of unknown length the looks at how far it goes
// are large enough to show Clusters of some hundred KB, so that it is not read whole.
func TestLargeClustersUnsized(t *testing.T) {
	w := live(film{seconds: 60, bytes: 15_000, index: "none", heads: "none"}).write()
	intervals := []float64{5, 9.3, 14.1, 19, 23.3, 40, 55}
	var bytes int64
	for _, a := range intervals {
		o := openUnsized(t, seektest.New(w.data))
		o.Clip(t, seconds(a, a+1.9))
		bytes += o.Totals.Transfer().Bytes
	}
	if size := int64(len(w.data)); bytes > size*int64(len(intervals))/2 {
		t.Errorf("%d bytes for %d clips of a file of %d", bytes, len(intervals), size)
	}
}
