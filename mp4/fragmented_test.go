package mp4_test

import (
	"errors"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/mp4"
)

// fragmentedFiles are the kinds of fragmented files that ffmpeg writes. Of those
// that it writes together, the durations in fragments of one frame are wrong.
var fragmentedFiles = []struct {
	made
	index formats.Index
}{
	{made{name: "sidx", args: args(picture25, tone48, x264, aac), mux: "movflags=+frag_keyframe+empty_moov+default_base_moof+dash+global_sidx", frame: 1024, trait: interval{5.013, 7.5}}, mp4.Sidx},
	{made{name: "sidx-edits", args: args(picture25, tone48, x264, aac), mux: "movflags=+frag_keyframe+delay_moov+default_base_moof+dash+global_sidx", frame: 1024, trait: interval{5.013, 7.5}}, mp4.Sidx},
	{made{name: "mfra", args: args(picture25, tone441, x264, aac), mux: "movflags=+frag_keyframe+empty_moov+default_base_moof", frame: 1024, trait: interval{5.013, 7.5}}, mp4.Mfra},
	{made{name: "mfra-edits", args: args(picture25, tone441, x264, aac), mux: "movflags=+frag_keyframe+delay_moov", frame: 1024, trait: interval{5.013, 7.5}}, mp4.Mfra},
	{made{name: "mfra-short-fragments", args: args(picture25, tone441, x264, aac), mux: "frag_duration=300000:movflags=+frag_keyframe+delay_moov", frame: 1024, trait: interval{5.013, 7.5}}, mp4.Mfra},
	{made{name: "mfra-every-frame", args: args(picture25, tone441, x264, aac, s("-movflags", "+frag_every_frame+delay_moov")), frame: 1024, trait: interval{12.345, 12.5}}, mp4.None},
	{made{name: "hybrid", args: args(picture25, tone441, x264, aac), mux: "movflags=+frag_keyframe+default_base_moof", frame: 1024, trait: interval{1.013, 3.5}}, mp4.Mfra},
	{made{name: "hybrid-bare", args: args(picture25, tone441, x264, aac), mux: "frag_duration=300000:movflags=+default_base_moof+skip_trailer", frame: 1024, trait: interval{1.413, 1.9}}, mp4.None},
	{made{name: "one-track-each", args: args(picture25, tone441, x264, aac), mux: "movflags=+frag_keyframe+delay_moov+default_base_moof+separate_moof", frame: 1024, trait: interval{5.013, 7.5}}, mp4.Mfra},
	{made{name: "sidx-each", args: args(picture25, tone48, x264, aac), mux: "movflags=+frag_keyframe+delay_moov+default_base_moof+dash+skip_trailer", frame: 1024, trait: interval{5.013, 7.5}}, mp4.None},
	{made{name: "bare", args: args(picture25, tone48, x264, aac), mux: "movflags=+frag_keyframe+delay_moov+default_base_moof+skip_trailer", frame: 1024, trait: interval{5.013, 9.5}}, mp4.None},
	{made{name: "bare-absolute", args: args(picture25, tone48, x264, aac), mux: "movflags=+frag_keyframe+delay_moov+skip_trailer", frame: 1024, trait: interval{5.013, 11.5}}, mp4.None},
	{made{name: "bare-short-fragments", args: args(picture25, tone48, x264, aac), mux: "frag_duration=300000:movflags=+delay_moov+default_base_moof+skip_trailer", frame: 1024, trait: interval{5.013, 7.5}}, mp4.None},
	{made{name: "bare-one-track-each", args: args(picture25, tone441, x264, aac), mux: "movflags=+frag_keyframe+delay_moov+default_base_moof+separate_moof+skip_trailer", frame: 1024, trait: interval{5.013, 11.5}}, mp4.None},
	{made{name: "refresh-fragments", args: args(picture25, tone48, s("-c:v", "libx264", "-preset", "veryfast", "-x264-params", "intra-refresh=1:keyint=50:bframes=2", "-threads", "1"), aac), mux: "movflags=+frag_keyframe+delay_moov+default_base_moof+dash+global_sidx", frame: 1024, trait: interval{5.013, 12.5}, complaint: anyComplaint}, mp4.Sidx},
	{made{name: "opus-fragments", args: args(tone48, s("-c:a", "libopus", "-b:a", "64k")), mux: "frag_duration=500000:movflags=+delay_moov+default_base_moof+dash+global_sidx", frame: 960, trait: interval{4.2, 6}}, mp4.Sidx},
}

// fragmentedCodings are the codings of [files] in fragments. A full run has all
// of them, a short one the first.
var fragmentedCodings = func() []made {
	var out []made
	for _, m := range files {
		switch m.name {
		case "mpeg4-mp3", "flac", "mp3", "alac", "ac3", "pcm", "all-sync", "aac-noise":
			m.name, m.mux = m.name+"-fragments", "frag_duration=1500000:movflags=+delay_moov+default_base_moof"
			out = append(out, m)
		}
	}
	return out
}()

// TestFragmentedCodings cuts fragments of every coding in both layouts.
func TestFragmentedCodings(t *testing.T) {
	t.Parallel()
	for n, m := range fragmentedCodings {
		if n > 0 && !tools.Full() {
			break
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			path := m.path(t)
			o := mustOpen(t, path)
			for _, i := range m.compared() {
				for _, layout := range []formats.Layout{mp4.Progressive, mp4.Fragmented} {
					m := m
					if layout == mp4.Fragmented {
						m.frame = max(m.frame, 1024) // ffmpeg's fragments have PCM in samples of that many
					}
					t.Run(name(i.a, i.b)+" "+string(layout), func(t *testing.T) { m.compareLayout(t, o, path, i, layout) })
				}
			}
		})
	}
}

// TestFragmented cuts fragmented files in both layouts and compares the clips
// as those of progressive files.
func TestFragmented(t *testing.T) {
	t.Parallel()
	if pairs := (2*len(files) + len(fragmentedFiles) + len(fragmentedCodings) + 2*len(codecs)) * (1 + len(intervals)); pairs < budget.PairsMP4Full {
		t.Errorf("the matrices have %d pairs, want at least %d", pairs, budget.PairsMP4Full)
	}
	for _, m := range fragmentedFiles {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			path := m.path(t)
			o := mustOpen(t, path)
			if got := o.Info().Index; got != m.index {
				t.Errorf("the index is %s, want %s", got, m.index)
			}
			for _, i := range m.compared() {
				for _, layout := range []formats.Layout{mp4.Progressive, mp4.Fragmented} {
					if layout == mp4.Progressive && m.index == mp4.None {
						continue
					}
					t.Run(name(i.a, i.b)+" "+string(layout), func(t *testing.T) { m.compareLayout(t, o, path, i, layout) })
				}
			}
		})
	}
}

// compareLayout cuts one interval in a layout and compares it.
func (m made) compareLayout(t *testing.T, o *opened, path string, i interval, layout formats.Layout) {
	sel := between(i.a, i.b)
	sel.Layout = layout
	for _, track := range o.Info().Tracks { // all, also those that are off by default
		sel.Tracks = append(sel.Tracks, track.ID)
	}
	if _, err := o.Plan(t.Context(), sel); errors.Is(err, formats.ErrUnsupported) && layout == mp4.Progressive && i.b-i.a > 10 {
		sel.Layout = "" // more fragments than are looked at
	}
	plan, clip := o.cut(t, sel)
	if b := plan.Requested.End.Seconds(); i.b < 0 || i.b > b {
		i.b = b
	}
	original, got := oracle.Original(t, path), oracle.Decode(t, clip)
	m.complaints(t, got)
	original = original.Overlapping(i.a, i.b)
	if len(got.Video) != len(original.Video) || len(got.Audio) != len(original.Audio) {
		t.Fatalf("the clip has %d videos and %d sounds, want %d and %d", len(got.Video), len(got.Audio), len(original.Video), len(original.Audio))
	}
	if layout == mp4.Fragmented || sel.Layout == "" {
		// ffmpeg shows of fragments also what has to be decoded before and after,
		// outside the clip's presentation; the plan says so.
		for n, v := range got.Video {
			if shown := plan.Presented; len(v) > 0 && (v[0].Time+i.a < shown.Start.Seconds()-1e-3 || v[len(v)-1].Time+i.a > shown.End.Seconds()+1e-3) {
				t.Errorf("video %d: shown from %f to %f of the clip, presented is %v", n, v[0].Time, v[len(v)-1].Time, shown)
			}
			got.Video[n] = oracle.Between(v, 0, i.b-i.a)
		}
	}
	m.check(t, original, got, i)
}
