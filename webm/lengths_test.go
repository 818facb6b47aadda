package webm_test

import (
	"bytes"
	"testing"
)

// TestUnknownLengths cuts sound of which nothing says how long a frame lasts:
// neither the codec, nor a DefaultDuration, nor BlockDurations. So are encrypted
// tracks, and codecs that are not read. The frames that sound within the
// interval are in the clip, and none before or behind: blocks that hold others
// too are written anew.
func TestUnknownLengths(t *testing.T) {
	for _, laced := range []bool{false, true} {
		f := film{seconds: 10, pictureless: true, laced: laced}
		w := f.write()
		data := bytes.Replace(w.data, []byte("A_OPUS"), []byte("A_TTA1"), 1)
		for _, i := range []struct{ a, b, first, last int }{{0, 1000, 0, 49}, {3110, 4250, 155, 212}, {9000, 10000, 450, 499}} {
			plan, clip := mustOpen(t, data).clip(t, seconds(float64(i.a)/1000, float64(i.b)/1000))
			got := readBack(t, clip).sound
			if len(got) != i.last-i.first+1 || !bytes.Equal(got[0].frame, w.sounds[i.first].frame) || !bytes.Equal(got[len(got)-1].frame, w.sounds[i.last].frame) {
				t.Errorf("laced %v [%d, %d): %d frames, want %d to %d; presented %v", laced, i.a, i.b, len(got), i.first, i.last, plan.Presented)
			}
		}
	}
}

// TestLacedAlone cuts Opus alone in blocks of several frames, where the lead-in
// begins amid a block.
func TestLacedAlone(t *testing.T) {
	w := film{seconds: 10, pictureless: true, laced: true}.write()
	for _, i := range []struct{ a, b int64 }{{3110, 4250}, {3125, 4250}, {5000, 5010}} {
		_, clip := mustOpen(t, w.data).clip(t, seconds(float64(i.a)/1000, float64(i.b)/1000))
		w.compare(t, readBack(t, clip), i.a, i.b)
	}
}
