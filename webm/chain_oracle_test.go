package webm_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// joints are files that are put one behind the other: each one of those that are
// made, and another that the same programs made of other pictures and tones.
var joints = []struct {
	name string
	full bool
	end  float64 // of the interval: so many seconds of the second
}{
	{"vp8-vorbis", false, 1.513},
	{"vp9-opus", true, 1.513},
	{"vp9-opus-live", true, 1.513},
	{"h264-aac", false, 1.513},
	{"h264-aac-live", false, 1.513},
	{"h264-ntsc-mp3", true, 1.513},
	{"h265-flac", true, 1.513},
	{"h264-pcm", true, 1.513},
	{"h264-ac3", true, 1.513},
	{"merged-h264-aac", true, 1.513},
	{"merged-vp9-opus", true, 1.513},
	{"merged-groups", true, 1.513},
	{"opus-only", false, 1.513},
	{"vorbis-only", true, 0.7513},
	{"mp3-laced", true, 1.513},
	{"flac-only", true, 1.513},
}

// TestJoin cuts over the boundary of two files that were put one behind the
// other, and compares what ffmpeg decodes of the clip with what it decodes of
// both.
func TestJoin(t *testing.T) {
	t.Parallel()
	for _, j := range joints {
		if j.full && !tools.Full() {
			continue
		}
		t.Run(j.name, func(t *testing.T) {
			t.Parallel()
			m := madeNamed(t, j.name)
			first, second := m.path(t), m.other().path(t)
			both := slices.Concat(mustRead(t, first), mustRead(t, second))
			o := mustOpen(t, both)
			one, err := mustOpen(t, mustRead(t, first)).Inspect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			length := one.Duration.Seconds()
			a, b := length-1.3, length+j.end
			plan, data := o.Clip(t, seconds(a, b))
			clip := filepath.Join(t.TempDir(), "clip"+filepath.Ext(first))
			if err := os.WriteFile(clip, data, 0o644); err != nil {
				t.Fatal(err)
			}
			accepted(t, first, clip)
			shown := plan.Presented.Start.Seconds()
			if end := plan.Presented.End.Sub(plan.Requested.End).Seconds(); end < 0 || end > 0.2 || end > 1e-6 && m.decodedAhead(t, second, j.end) == 0 && m.sound != whole {
				t.Errorf("presented %v, requested %v", plan.Presented, plan.Requested)
			}
			was, next, got := oracle.Original(t, first), oracle.Original(t, second), oracle.Decode(t, clip)
			if got.Errors != "" {
				t.Errorf("ffmpeg complains of the clip: %s", got.Errors)
			}
			for n := range was.Video {
				lead := len(oracle.Between(was.Video[n], shown, a))
				want := append(oracle.Between(was.Video[n], a, length), oracle.Between(next.Video[n], 0, j.end)...)
				if r := oracle.CompareVideo(want, got.Video[n]); r.Missing != 0 || r.Lead != lead || r.Tail > m.decodedAhead(t, second, j.end) {
					t.Errorf("%v, want %d to lead in", r, lead)
				}
				at := oracle.Between(next.Video[n], 0, j.end)[0]
				i := len(oracle.Between(was.Video[n], shown, length))
				if d := got.Video[n][i].Time - (length - shown + at.Time); math.Abs(d) > budget.TickWebM {
					t.Errorf("the first picture of the second comes %.4f s late", d)
				}
			}
			for n := range was.Audio {
				m.judgeJoin(t, was.Audio[n], next.Audio[n], got.Audio[n], shown, length, j.end)
			}
		})
	}
}

// judgeJoin compares the sound of both sides, each at its time.
func (m made) judgeJoin(t *testing.T, was, next, got oracle.Sound, shown, length, end float64) {
	t.Helper()
	tick := int(math.Ceil(budget.TickWebM * float64(got.Rate)))
	was, next, got = steady(was), steady(next), steady(got)
	one, other := was.Between(shown, length), next.Between(0, end)
	if have, want := len(got.Samples), len(one)+len(other); m.sound != whole && abs(have-want) > tick*got.Channels {
		t.Errorf("%d samples, want %d", have/got.Channels, want/got.Channels)
	}
	// No decoder begins anew at the boundary: the first frames of the second are
	// right once what it remembers of the first has faded.
	fades := map[soundRule]int{exact: 2048, opus: 28800, whole: 2 * 1536}[m.sound]
	if strings.Contains(m.name, "vorbis") || strings.Contains(m.name, "flac") || strings.Contains(m.name, "pcm") {
		fades = 0
	}
	for _, side := range []struct {
		name string
		want []float32
		at   int // in the clip, in samples
	}{
		{"first", one[:len(one)-100*got.Channels], 0},
		{"second", other[fades*got.Channels : len(other)-100*got.Channels], len(one)/got.Channels + fades},
	} {
		from := max(0, side.at-4*tick) * got.Channels
		to := min(side.at*got.Channels+len(side.want)+4*tick*got.Channels, len(got.Samples))
		r := oracle.CompareAudio(side.want, got.Samples[from:to], got.Rate, got.Channels)
		late := r.Offset - (side.at - from/got.Channels)
		// Of whole frames: the one that holds the beginning, and the one that overlaps with it.
		if m.sound == whole && (late < -tick || late > 2*1536+tick) || m.sound != whole && abs(late) > tick {
			t.Errorf("%s: %v: %d samples late", side.name, r, late)
		}
		most := map[soundRule]float64{exact: oracle.Exact, opus: budget.CeltResidual, whole: budget.NoiseResidual}[m.sound]
		if r.Residual > most {
			t.Errorf("%s: %v, want at most %g dB", side.name, r, most)
		}
	}
}

func abs(n int) int { return max(n, -n) }
