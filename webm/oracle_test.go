package webm_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// steady is sound without the silence that jitter of its time stamps, which are
// of whole milliseconds, would put in.
func steady(s oracle.Sound) oracle.Sound {
	s.Samples = s.Steady
	return s
}

// complains reports whether a program of mkvtoolnix warns or fails.
func complains(out []byte) bool {
	for _, word := range []string{"Warning", "warning", "Error", "error", "nknown element"} {
		if bytes.Contains(out, []byte(word)) {
			return true
		}
	}
	return false
}

func (i interval) String() string {
	if i.b < 0 {
		return fmt.Sprintf("%g-", i.a)
	}
	return fmt.Sprintf("%g-%g", i.a, i.b)
}

func (i interval) selection() formats.Selection {
	if i.b < 0 {
		return formats.Selection{Interval: fragment.From(fragment.FromSeconds(i.a))}
	}
	return seconds(i.a, i.b)
}

// TestOracle decodes originals and clips with ffmpeg and compares them picture
// by picture and sample by sample.
func TestOracle(t *testing.T) {
	t.Parallel()
	pairs := 0
	for _, m := range files {
		if m.full && !tools.Full() {
			continue
		}
		want := []interval{m.trait}
		if tools.Full() {
			want = append(want, intervals...)
		}
		pairs += len(want)
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			path := m.path(t)
			for _, i := range want {
				t.Run(i.String(), func(t *testing.T) { m.compare(t, path, i) })
			}
		})
	}
	if tools.Full() && pairs < budget.PairsWebM {
		t.Errorf("%d pairs are compared, want at least %d", pairs, budget.PairsWebM)
	}
}

// compare cuts one interval and compares it.
func (m made) compare(t *testing.T, path string, i interval) {
	o := mustOpen(t, mustRead(t, path))
	plan, data := o.Clip(t, i.selection())
	clip := filepath.Join(t.TempDir(), "clip"+filepath.Ext(path))
	if err := os.WriteFile(clip, data, 0o644); err != nil {
		t.Fatal(err)
	}
	sameAfterRemux(t, path, clip, accepted(t, path, clip))
	start := o.Info().StartTime.Seconds()
	a, b := start+i.a, start+i.b
	if i.b < 0 {
		b = 1e6
	}
	original, got := oracle.Original(t, path), oracle.Decode(t, clip)
	if got.Errors != "" {
		t.Errorf("ffmpeg complains of the clip: %s", got.Errors)
	}
	if len(got.Video) != len(original.Video) || len(got.Audio) != len(original.Audio) {
		t.Fatalf("the clip has %d videos and %d sounds, want %d and %d", len(got.Video), len(got.Audio), len(original.Video), len(original.Audio))
	}
	shown := start + plan.Presented.Start.Seconds()
	for n, v := range original.Video {
		r := oracle.CompareVideo(oracle.Between(v, a, b), got.Video[n])
		lead := len(oracle.Between(v, shown, a))
		if r.Missing != 0 || r.Lead != lead || r.Tail > m.decodedAhead(t, path, b) {
			t.Errorf("video %d: %v, want %d to lead in", n, r, lead)
		}
		// One that others before the end need is stated, too.
		pictures := got.Video[n]
		if last := a - i.a + plan.Presented.Start.Seconds() + pictures[len(pictures)-1].Time - pictures[0].Time; i.b >= 0 && n == 0 && lead > 0 && last >= start+plan.Presented.End.Seconds() {
			t.Errorf("a picture is shown at %g s, presented ends at %v s", last, plan.Presented.End)
		}
	}
	if len(got.Video) > 0 {
		if first := got.Video[0][0].Time; math.Abs(first) > 1e-6 && math.Abs(shown-between(original.Video[0], shown)) < 1e-6 {
			t.Errorf("the clip's keyframe is at %v s, want 0", first)
		}
	}
	for n, want := range original.Audio {
		if float64(want.First) >= b*float64(want.Rate) {
			continue
		}
		m.judge(t, n, steady(want), steady(got.Audio[n]), a, b, shown)
	}
	for n := range original.Audio { // pictures and sound keep step
		if len(got.Video) == 0 || m.wholeFrames() {
			continue
		}
		was := between(original.Video[0], shown) - max(shown, float64(original.Audio[n].First)/float64(original.Audio[n].Rate))
		is := got.Video[0][0].Time - float64(got.Audio[n].First)/float64(got.Audio[n].Rate)
		if math.Abs(is-was) > 2*budget.TickWebM && (m.sound != jitter || math.Abs(is-was) > budget.JitterWebM) {
			t.Errorf("sound %d: pictures begin %.4f s behind the sound, %.4f s in the original", n, is, was)
		}
	}
}

// sameAfterRemux checks that mkvmerge, which wrote a clip again, wrote the same
// packets of all streams of which it does so for the original: HEVC and AC-3 it
// changes.
func sameAfterRemux(t *testing.T, original, clip, again string) {
	t.Helper()
	stable, _ := stableStreams.LoadOrStore(original, sync.OnceValue(func() map[int]bool {
		return sameStreams(oracle.OriginalPackets(t, original), oracle.Packets(t, originalAgain(t, original).path))
	}))
	same := sameStreams(oracle.Packets(t, clip), oracle.Packets(t, again))
	for s, ok := range stable.(func() map[int]bool)() {
		if ok && !same[s] {
			t.Errorf("mkvmerge writes other packets of stream %d of the clip", s)
		}
	}
}

var stableStreams sync.Map

// sameStreams tells of each stream whether two files have the same packets.
func sameStreams(one, other []oracle.Packet) map[int]bool {
	hashes := func(packets []oracle.Packet) map[int][]string {
		out := map[int][]string{}
		for _, p := range packets {
			out[p.Stream] = append(out[p.Stream], p.Hash)
		}
		return out
	}
	want, got, same := hashes(one), hashes(other), map[int]bool{}
	for s := range want {
		same[s] = slices.Equal(want[s], got[s])
	}
	return same
}

// between is when the first picture at or after a time is shown.
func between(v []oracle.Picture, a float64) float64 {
	for _, p := range v {
		if p.Time >= a-1e-7 {
			return p.Time
		}
	}
	return 0
}

// decodedAhead is how many pictures at or after b come before the last one
// before b in the file, so that decoders need them.
func (m made) decodedAhead(t *testing.T, path string, b float64) int {
	n, ahead := 0, 0
	for _, p := range oracle.OriginalPackets(t, path) {
		if p.Stream != 0 {
			continue
		}
		if p.Time >= b-1e-7 {
			ahead++
		} else {
			n = ahead
		}
	}
	return n
}

// wholeFrames reports whether sound cannot be cut inside a frame.
func (m made) wholeFrames() bool { return m.sound == whole || m.sound == frames }

// judge holds one sound track to the rules.
func (m made) judge(t *testing.T, n int, original, got oracle.Sound, a, b, shown float64) {
	rate := float64(original.Rate)
	tick := int(math.Ceil(budget.TickWebM * rate))
	if m.sound == jitter {
		tick = int(budget.JitterWebM * rate)
	}
	begins := max(shown, float64(original.First)/rate)
	r := oracle.CompareAudio(original.Between(a, b), got.Samples, original.Rate, original.Channels)
	if r.Want == 0 {
		return
	}
	lead := int(math.Round((max(a, begins) - begins) * rate))
	frame := 1
	if m.wholeFrames() { // the one that holds the beginning, and the one that overlaps with it
		frame = 2 * 1536
	}
	if off := r.Offset - lead; off < -tick || off > tick+frame || r.Excess < -tick || r.Excess > tick+frame {
		t.Errorf("sound %d: %v, want offset %d", n, r, lead)
	}
	end := min(b, float64(original.First)/rate+float64(len(original.Samples)/original.Channels)/rate)
	if count := int(math.Round((end - begins) * rate)); !m.wholeFrames() && (r.Have < count-tick || r.Have > count+tick) {
		t.Errorf("sound %d has %d samples, want %d", n, r.Have, count)
	}
	most := float64(oracle.Exact)
	switch m.sound {
	case opus:
		most = budget.CeltResidual
	case speech, jitter:
		most = budget.OpusResidual
	case frames, rounded:
		most = budget.RoundingResidual
	case whole:
		most = budget.NoiseResidual
	}
	if r.Residual > most {
		t.Errorf("sound %d: %v, want at most %g dB", n, r, most)
	}
}
