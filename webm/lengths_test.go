package webm_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
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
			plan, clip := mustOpen(t, data).Clip(t, seconds(float64(i.a)/1000, float64(i.b)/1000))
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
		_, clip := mustOpen(t, w.data).Clip(t, seconds(float64(i.a)/1000, float64(i.b)/1000))
		w.compare(t, readBack(t, clip), i.a, i.b)
	}
}

// TestLongBlocks cuts sound in blocks of a second, as mkvmerge writes FLAC: the
// interval ends amid one, and so far behind its beginning that only what is around
// both is read. No frame between is lost, and none is there that is not asked for.
func TestLongBlocks(t *testing.T) {
	w := film{seconds: 300, pictureless: true, laces: 50, cluster: 250}.write()
	data := bytes.Replace(w.data, []byte("A_OPUS"), []byte("A_TTA1"), 1) // nothing to lead in
	for _, i := range []struct{ a, b, first, last int }{{13_000, 253_500, 650, 12_674}, {15_100, 253_100, 755, 12_654}, {13_000, 299_500, 650, 14_974}} {
		for n, data := range [][]byte{w.data, data} {
			if n > 0 && i.b > 299_000 {
				continue // nothing tells how long the last frames last
			}
			plan, clip := mustOpen(t, data).Clip(t, seconds(float64(i.a)/1000, float64(i.b)/1000))
			got := readBack(t, clip).sound
			lead := max(0, len(got)-(i.last-i.first+1)) // Opus has some
			if lead > 50 || len(got) == 0 || !bytes.Equal(got[0].frame, w.sounds[i.first-lead].frame) || !bytes.Equal(got[len(got)-1].frame, w.sounds[i.last].frame) {
				t.Errorf("[%d, %d): %d frames, want %d to %d; presented %v", i.a, i.b, len(got), i.first, i.last, plan.Presented)
			}
			for _, s := range got {
				if s.at < 0 || s.at > 400_000 {
					t.Fatalf("[%d, %d): a frame at %d ms", i.a, i.b, s.at)
				}
			}
		}
	}
}

// TestLongBlocksBesidePictures cuts such sound out of large clusters of pictures,
// that are read from the middle on: the block that holds a may begin long before.
func TestLongBlocksBesidePictures(t *testing.T) {
	w := film{seconds: 40, laces: 50, bytes: 12_000, cluster: 250}.write()
	data := bytes.ReplaceAll(w.data, []byte("A_OPUS"), []byte("A_TTA1")) // nothing to lead in
	for a := int64(10_100); a < 20_000; a += 730 {
		sel := seconds(float64(a)/1000, float64(a+5000)/1000)
		sel.Tracks = []string{"2"}
		_, clip := mustOpen(t, data).Clip(t, sel)
		got := readBack(t, clip).sound
		want := w.sounds[a/20 : (a+4999)/20+1]
		if len(got) < len(want) || len(got) > len(want)+50 { // a last block of frames of unknown length stays whole
			t.Errorf("[%d, +5 s): %d frames, want %d", a, len(got), len(want))
			continue
		}
		for i := range want {
			if !bytes.Equal(got[i].frame, want[i].frame) {
				t.Fatalf("[%d, +5 s): frame %d is another", a, i)
			}
		}
	}
}

// TestLateFrames ends a clip amid a block whose last frames are more than 32767
// ticks behind their Cluster, where a block of their own cannot be.
func TestLateFrames(t *testing.T) {
	w := film{seconds: 10, pictureless: true, laced: true, scale: 61_100}.write()
	for _, i := range []struct{ a, b int64 }{{0, 2030}, {2500, 4030}, {3000, 6030}} {
		t.Run(fmt.Sprint(i.a), func(t *testing.T) {
			_, clip := mustOpen(t, w.data).Clip(t, seconds(float64(i.a)/1000, float64(i.b)/1000))
			w.compare(t, readBack(t, clip), i.a, i.b)
		})
	}
}

// TestVerbatimEnd: the Cluster whose first block holds the end is there.
func TestVerbatimEnd(t *testing.T) {
	w := film{seconds: 10, pictureless: true, segmentSize: 8}.write()
	sel := seconds(2.5, 4.05)
	sel.Form = formats.Verbatim
	_, clip := mustOpen(t, w.data).Clip(t, sel)
	got := readBack(t, clip).sound
	if last := got[len(got)-1].at; last < 4040 {
		t.Errorf("the last block is at %d ms, want one at 4040", last)
	}
}

// TestVerbatimShown: whole Clusters present from their first keyframe or the sound
// before it to their last sample, and that is what is stated.
func TestVerbatimShown(t *testing.T) {
	for _, f := range []film{{seconds: 20, segmentSize: 8}, {seconds: 20, segmentSize: 8, midKey: true}, {seconds: 20, segmentSize: 8, pictureless: true}} {
		w := f.write()
		sel := seconds(5.25, 8.5)
		sel.Form = formats.Verbatim
		plan, clip := mustOpen(t, w.data).Clip(t, sel)
		got := readBack(t, clip)
		from, to := int64(1<<40), int64(0)
		for _, p := range got.pictures {
			if p.key {
				from = min(from, p.at)
			}
			to = max(to, p.at+40)
		}
		for _, p := range got.sound {
			from = min(from, p.at)
			to = max(to, p.at+20)
		}
		if start, end := plan.Presented.Start.Seconds()*1000, plan.Presented.End.Seconds()*1000; math.Abs(start-float64(from)) > 1 || math.Abs(end-float64(to)) > 41 {
			t.Errorf("presented %v, the clip has %d to %d ms", plan.Presented, from, to)
		}
	}
}

// TestTimestampWidth: where times are kept, those of Opus move with the pre-skip;
// a Timestamp of two bytes that this would make three keeps its two, and the
// blocks move instead.
func TestTimestampWidth(t *testing.T) {
	w := film{seconds: 10, pictureless: true, start: 59_500}.write()
	sel := seconds(3.1, 9.5) // clusters at 63.5 and 65.5 s: 65535 lies behind the latter
	sel.Timeline = formats.Original
	_, clip := mustOpen(t, w.data).Clip(t, sel)
	got := readBack(t, clip)
	want := slices.DeleteFunc(slices.Clone(w.sounds), func(s shot) bool {
		return s.at+20 <= w.start+3100-got.delay/1e6 || s.at >= w.start+9500
	})
	sameShots(t, "sound", want, got.sound, -got.delay/1e6)
}

// TestCutOff: a file that ends before the duration that it states gives what is
// there, says so, and has nothing behind that.
func TestCutOff(t *testing.T) {
	for _, index := range []string{"front", "end"} {
		w := film{seconds: 20, index: index}.write()
		data := w.data[:w.clusters[6]+20_000] // some pictures after 12 s
		plan, clip := mustOpen(t, data).Clip(t, seconds(9.1, 17))
		got := readBack(t, clip)
		end := plan.Presented.End.Seconds()
		if end < 12 || end > 13 || !plan.Covered.End.Equal(plan.Presented.End) || len(got.pictures) == 0 {
			t.Errorf("index %s: presented %v, covered %v, %d pictures", index, plan.Presented, plan.Covered, len(got.pictures))
		}
		if !slices.ContainsFunc(plan.Warnings, func(w fragment.Warning) bool { return strings.Contains(w.String(), "cut off") }) {
			t.Errorf("index %s: no warning says so: %v", index, plan.Warnings)
		}
		if _, err := mustOpen(t, data).Plan(t.Context(), seconds(15, 17)); !errors.Is(err, formats.ErrPastEnd) {
			t.Errorf("index %s: %v, want %v", index, err, formats.ErrPastEnd)
		}
		if got := fmt.Sprint(mustOpen(t, data).Info().Warnings); !strings.Contains(got, fmt.Sprint("the file ends at ", len(data))) {
			t.Errorf("index %s: info does not say so: %s", index, got)
		}
		if plan, _ := mustOpen(t, data).Clip(t, seconds(5, 8)); len(plan.Warnings) > 0 || plan.Presented.End.Seconds() != 8 {
			t.Errorf("index %s: what is there: presented %v, %v", index, plan.Presented, plan.Warnings)
		}
	}
}

// TestBrokenOff: a live recording that breaks off before the first block of its
// last cluster ends with the cluster before.
func TestBrokenOff(t *testing.T) {
	w := film{seconds: 10, index: "none", heads: "none", segmentSize: 8, clusterSize: 8, noDuration: true}.write()
	data := w.data[:w.clusters[4]+40]
	info, err := mustOpen(t, data).Inspect(t.Context())
	if err != nil || info.Duration.Seconds() < 7.9 || info.Duration.Seconds() > 8.1 {
		t.Errorf("%v, %v; want 8 s", info.Duration, err)
	}
}
