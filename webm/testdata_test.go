package webm_test

import (
	"path/filepath"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/seektest"
)

// TestKept opens the files that are kept with the project, cuts them, and opens
// and cuts the clips again.
func TestKept(t *testing.T) {
	tests := []struct {
		name     string
		index    formats.Index
		tracks   int
		duration float64
	}{
		{"media3-full_blocks.mkv", "cues-end", 1, 8.901},
		{"media3-sample_with_opus_audio.mkv", "cues-end", 1, 0.058},
		{"libwebm-cues_before_clusters.webm", "cues-front", 1, 0.006},
		{"wpt-400x300-red-resize-200x150-green.webm", "none", 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := mustOpen(t, mustRead(t, filepath.Join("..", "testdata", "matroska", tt.name)))
			i := o.Info()
			if i.Index != tt.index || len(i.Tracks) != tt.tracks || i.Duration.Seconds() < tt.duration-1e-6 || i.Duration.Seconds() > tt.duration+1e-6 || i.Timed != (tt.duration > 0) {
				t.Errorf("index %s, %d tracks, %v s (%v)", i.Index, len(i.Tracks), i.Duration, i.Timed)
			}
			_, clip := o.Clip(t, seconds(0, 0.05))
			again := mustOpen(t, clip)
			if got := again.Info().Tracks; len(got) != tt.tracks || got[0].Codec != i.Tracks[0].Codec {
				t.Errorf("the clip has %+v, want %+v", got, i.Tracks)
			}
			again.Clip(t, seconds(0, 0.02))
		})
	}
	data := mustRead(t, filepath.Join("..", "testdata", "matroska", "libwebm-blockgroup_block_ends_beyond_blockgroup.mkv"))
	o, err := open(t, seektest.New(data), formats.Env{})
	checkDamaged(t, o, err)
}
