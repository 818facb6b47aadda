package mp4_test

import (
	"slices"
	"testing"

	"github.com/mediafrag/mediafrag/internal/oracle"
)

// heldBack have many pictures between those that others refer to.
var heldBack = []made{
	openGroups[0],
	{name: "open-adaptive", args: args(s("-f", "lavfi", "-i", "testsrc2=s=96x54:r=25:d=6"), s("-c:v", "libx264", "-preset", "veryfast", "-x264-params", "open-gop=1:keyint=50:min-keyint=50:scenecut=0:bframes=16:b-adapt=2", "-threads", "1"))},
	{name: "open-flat", args: args(s("-f", "lavfi", "-i", "testsrc2=s=96x54:r=25:d=6"), s("-c:v", "libx264", "-preset", "veryfast", "-x264-params", "open-gop=1:keyint=50:min-keyint=50:scenecut=0:bframes=7:b-adapt=0:b-pyramid=none", "-threads", "1"))},
}

// TestFewPictures cuts a few pictures, or part of one, close behind one at which
// decoding can begin and that is no IDR picture: decoders give all of them out at
// the end of the clip.
func TestFewPictures(t *testing.T) {
	t.Parallel()
	for n, m := range heldBack[:full(3, 2)] {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			path := m.path(t)
			o := mustOpen(t, path)
			original := oracle.Original(t, path).Video[0]
			key := []int{48, 50, 50}[n]
			cuts := []interval{{0, 1}, {1, 2}, {1, 1.5}, {3, 4}, {0.25, 0.5}}
			if full(1, 0) == 1 {
				for from := -2.; from < 9; from++ {
					for _, long := range []float64{1, 3, 0.5} {
						cuts = append(cuts, interval{from, from + long}, interval{from + 0.25, from + long + 0.25})
					}
				}
			}
			for _, i := range cuts { // in pictures from the one on
				i.a, i.b = (float64(key)+i.a)/25, (float64(key)+i.b)/25
				_, clip := o.cut(t, between(i.a, i.b))
				want := oracle.Between(original, i.a, i.b)
				if len(want) == 0 { // within one, which is on screen throughout
					want = oracle.Between(original, i.a-1./25, i.b)
				}
				var hashes []string
				for _, p := range want {
					hashes = append(hashes, p.Hash)
				}
				if got := pictureHashes(t, clip); !slices.Equal(got, hashes) {
					t.Errorf("[%.2f, %.2f): ffmpeg shows %d pictures, want %d", i.a, i.b, len(got), len(hashes))
				}
			}
		})
	}
}
