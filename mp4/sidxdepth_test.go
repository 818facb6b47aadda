package mp4

import (
	"errors"
	"testing"

	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

// TestDepthOfIndices follows indices that lead to one index each as far as the
// round trips go that are allowed for it, and no farther.
func TestDepthOfIndices(t *testing.T) {
	const apart, levels = 200 << 10, maxHops + 2
	file := make([]byte, levels*apart)
	for i := range levels {
		b := be.AppendUint32(nil, 44)
		b = append(b, "sidx"...)
		leads := uint32(1 << 31)
		if i == levels-1 {
			leads = 0
		}
		for _, n := range []uint32{0, 1, 1000, 0, apart - 44, 1, leads | 44, 5000, 0} {
			b = be.AppendUint32(b, n)
		}
		copy(file[i*apart:], b)
	}
	for _, tt := range []struct {
		from, hops int
		want       error
	}{
		{0, maxHops, errFar},
		{1, maxHops, nil},
		{2, maxHops, nil},
		{0, maxHops + 1, nil},
		{levels - 1, 0, nil},
	} {
		w := seek.NewWindow(t.Context(), seektest.New(file), 0)
		root, err := readSidx(box{typ: "sidx", off: int64(tt.from * apart), header: 8, raw: file[tt.from*apart:][:44], path: "sidx"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := root.expand(t.Context(), w, fragment.Seconds(1), fragment.Seconds(2), tt.hops)
		if !errors.Is(err, tt.want) {
			t.Errorf("from level %d with %d round trips: %v, want %v", tt.from, tt.hops, err, tt.want)
		}
		if err == nil && (len(got.references) != 1 || got.references[0].index) {
			t.Errorf("from level %d: %+v, want the last level's", tt.from, got.references)
		}
		w.Close()
	}
}
