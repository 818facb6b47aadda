package mp4_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/oracle"
)

// files are the kinds of progressive files. The trait of each is the pair that
// is compared in a short run.
var files = []made{
	{name: "b-frames", args: args(picture25, tone441, x264, aac), frame: 1024, trait: interval{5.013, 7.5}},
	{name: "faststart", args: args(picture25, tone48, x264, aac), mux: "movflags=+faststart", frame: 1024, trait: interval{4, 6}},
	{name: "no-b-frames", args: args(picture25, tone441, x264, s("-bf", "0"), aac, s("-ac", "2")), frame: 1024, trait: interval{3.99, 6.01}},
	{name: "ntsc", args: args(s("-f", "lavfi", "-i", "testsrc2=s=96x54:r=30000/1001:d=20"), tone48, x264, s("-bf", "2"), aac), frame: 1024, trait: interval{10.01, 12.345}},
	{name: "coarse-timescale", args: args(s("-f", "lavfi", "-i", "testsrc2=s=96x54:r=24:d=20"), tone48, x264, s("-bf", "2"), aac), mux: "video_track_timescale=24", frame: 1024, trait: interval{7.123, 9.02}},
	{name: "no-edit-list", args: args(picture25, tone441, x264, s("-bf", "0"), aac), mux: "use_editlist=0", frame: 1024, trait: interval{6.5, 7.5}},
	{name: "late-sound", args: args(picture25, s("-itsoffset", "1.5"), tone48, x264, aac), frame: 1024, trait: interval{1, 3}},
	{name: "late-picture", args: args(tone48, s("-itsoffset", "2.2"), picture25, x264, aac), frame: 1024, trait: interval{1, 3}},
	{name: "two-sounds", args: args(picture25, tone48, s("-f", "lavfi", "-i", "sine=f=880:b=5:r=32000:d=20"), s("-map", "0", "-map", "1", "-map", "2"), x264, aac), frame: 1024, trait: interval{8, 9}},
	{name: "aac-only", ext: "m4a", args: args(tone441, aac), frame: 1024, trait: interval{2.500016, 3.25}},
	{name: "aac-noise", ext: "m4a", args: args(s("-f", "lavfi", "-i", "aevalsrc=0.4*sin(880*PI*t)+0.02*random(0):s=44100:d=20"), s("-c:a", "aac", "-b:a", "64k")), noise: true, frame: 1024, trait: interval{2, 4}},
	{name: "opus", args: args(tone48, s("-c:a", "libopus", "-b:a", "64k")), frame: 960, trait: interval{4.2, 6}},
	{name: "flac", args: args(tone441, s("-c:a", "flac", "-strict", "-2")), frame: 4608, trait: interval{4.2, 6}},
	{name: "mp3", args: args(tone441, s("-c:a", "libmp3lame", "-b:a", "64k")), frame: 1152, trait: interval{4.2, 6}},
	{name: "alac", ext: "m4a", args: args(tone441, s("-c:a", "alac")), frame: 4096, trait: interval{4.2, 6}},
	{name: "ac3", args: args(tone48, s("-c:a", "ac3", "-b:a", "128k")), noise: true, frame: 1536, trait: interval{4.2, 6}},
	{name: "pcm", ext: "mov", args: args(picture25, tone48, s("-c:v", "mpeg4", "-g", "25", "-c:a", "pcm_s16le")), frame: 0, trait: interval{4.2, 6}},
	{name: "mpeg4-mp3", args: args(picture25, tone441, s("-c:v", "mpeg4", "-bf", "2", "-g", "25", "-c:a", "libmp3lame")), frame: 1152, trait: interval{5.5, 8}},
	{name: "all-sync", ext: "mov", args: args(picture25, tone48, s("-c:v", "mjpeg", "-q:v", "20", "-c:a", "pcm_s24le")), frame: 0, trait: interval{5.51, 6.03}},
}

// intervals are compared of every file in a full run: on, just before and just
// after a sync sample, in mid-picture, the first and the last second, the whole
// and an open end.
var intervals = []interval{
	{4, 6}, {3.99, 6}, {4.01, 5.5}, {5.013, 5.9}, {0, 1}, {19, 20}, {0, 20}, {7.3, -1}, {12.345, 12.5},
}

// TestOracle decodes originals and clips with ffmpeg and compares them picture
// by picture and sample by sample.
func TestOracle(t *testing.T) {
	t.Parallel()
	if pairs := len(files) * (1 + len(intervals)); pairs < budget.PairsMP4 {
		t.Errorf("the matrix has %d pairs, want at least %d", pairs, budget.PairsMP4)
	}
	for _, m := range files {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			path := m.path(t)
			o := mustOpen(t, path)
			for _, i := range m.compared() {
				t.Run(name(i.a, i.b), func(t *testing.T) { m.compare(t, o, path, i) })
			}
		})
	}
}

// compare cuts one interval and compares it.
func (m made) compare(t *testing.T, o *opened, path string, i interval) {
	sel := between(i.a, i.b)
	for _, track := range o.Info().Tracks { // all, also those that are off by default
		sel.Tracks = append(sel.Tracks, track.ID)
	}
	plan, clip := o.cut(t, sel)
	if !plan.Presented.Start.Equal(plan.Requested.Start) || !plan.Presented.End.Equal(plan.Requested.End) {
		t.Errorf("presented %v, want the requested %v", plan.Presented, plan.Requested)
	}
	if b := plan.Requested.End.Seconds(); i.b < 0 {
		i.b = b
	}
	original, got := oracle.Original(t, path), oracle.Decode(t, clip)
	m.complaints(t, got)
	original = original.Overlapping(i.a, i.b)
	if len(got.Video) != len(original.Video) || len(got.Audio) != len(original.Audio) {
		t.Fatalf("the clip has %d videos and %d sounds, want %d and %d", len(got.Video), len(got.Audio), len(original.Video), len(original.Audio))
	}
	m.check(t, original, got, i)
	if m.noise {
		if err := oracle.SamePackets(t, path, clip, i.a, i.b); err != nil {
			t.Error(err)
		}
	}
}

// check compares what a clip shows with what of its original lies in an
// interval. What the clip presents before 0 is not shown.
func (m made) check(t *testing.T, original, got *oracle.Decoded, i interval) {
	for n, v := range original.Video {
		shown := oracle.Between(got.Video[n], 0, 1e9)
		r := oracle.CompareVideo(oracle.Between(v, i.a, i.b), shown)
		if r.Missing != 0 || r.Lead != 0 || r.Tail != 0 {
			t.Errorf("video %d: %v", n, r)
		}
		if first := oracle.Between(v, i.a, i.b); len(first) > 0 && len(shown) > 0 {
			if off := shown[0].Time - (first[0].Time - i.a); off > 1e-3 || off < -1e-3 {
				t.Errorf("video %d: the first picture is %.6f s late", n, off)
			}
		}
	}
	for n, a := range original.Audio {
		want := a.Between(i.a, i.b)
		r := oracle.CompareAudio(want, got.Audio[n].Between(0, 1e9), a.Rate, a.Channels)
		m.judge(t, n, r)
		if n == 0 || !m.noise {
			m.starts(t, n, a, got.Audio[n], i)
		}
	}
}

// complaints reports what ffmpeg complains of.
func (m made) complaints(t *testing.T, got *oracle.Decoded) {
	t.Helper()
	for line := range strings.Lines(got.Errors) {
		if m.complaint == "" || !strings.Contains(line, m.complaint) {
			t.Errorf("ffmpeg complains of the clip: %s", line)
		}
	}
}

// judge holds one sound track to the rules.
func (m made) judge(t *testing.T, n int, r oracle.AudioReport) {
	if r.Want == 0 {
		return // the sound begins later
	}
	if r.Offset != 0 || r.Excess < 0 || r.Excess > m.frame {
		t.Errorf("sound %d: %v; want offset 0 and an excess of at most %d", n, r, m.frame)
	}
	switch {
	case m.noise:
		t.Logf("sound %d: residual %.1f dB", n, r.Residual)
		if r.Residual > budget.NoiseResidual {
			t.Errorf("sound %d: %v; want a residual of at most %d dB", n, r, budget.NoiseResidual)
		}
	case r.Residual != oracle.Exact:
		t.Errorf("sound %d: %v; want the same to the bit", n, r)
	}
}

// starts checks when a track's sound begins in the clip: at 0, or where the
// original's begins after a.
func (m made) starts(t *testing.T, n int, original, got oracle.Sound, i interval) {
	rate := float64(original.Rate)
	want := max(0, float64(original.First)-i.a*rate)
	if off := float64(got.First) - want; len(got.Samples) > 0 && (off > 1 || off < -1) && got.First > 0 {
		t.Errorf("sound %d begins at sample %d of the clip, want %s", n, got.First, fmt.Sprintf("%.1f", want))
	}
}

// TestPictureUnderWay cuts a file of sync samples in the middle of a picture:
// the one that is on screen then is in the clip, and demuxers give it out.
func TestPictureUnderWay(t *testing.T) {
	t.Parallel()
	m := made{name: "intra", ext: "mov", args: args(picture25, s("-c:v", "mjpeg", "-q:v", "20"))}
	path := m.path(t)
	_, clip := mustOpen(t, path).cut(t, between(5.51, 6.03))
	if err := oracle.SamePackets(t, path, clip, 5.51, 6.03); err != nil {
		t.Error(err)
	}
}

// anyComplaint is of pictures that are refreshed bit by bit: ffmpeg misses what
// was cut in many ways.
const anyComplaint = " "
