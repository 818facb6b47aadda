package webm_test

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// TestExact plays an ordered edition with mpv, which presents the interval and
// nothing before it.
func TestExact(t *testing.T) {
	tools.Need(t, "ffmpeg", "mkvmerge", "mkvinfo", "mpv")
	for _, m := range files {
		if m.name != "h264-pcm" {
			continue
		}
		path := m.path(t)
		o := mustOpen(t, mustRead(t, path))
		sel := seconds(5.25, 7.75)
		sel.Layout = formats.Exact
		plan, data := o.Clip(t, sel)
		if !plan.Presented.Start.Equal(plan.Requested.Start) || !plan.Presented.End.Equal(plan.Requested.End) {
			t.Errorf("presented %v, want %v", plan.Presented, plan.Requested)
		}
		clip, wav := filepath.Join(t.TempDir(), "clip.mkv"), filepath.Join(t.TempDir(), "out.wav")
		if err := os.WriteFile(clip, data, 0o600); err != nil {
			t.Fatal(err)
		}
		accepted(t, path, clip)
		oracle.Run(t, "mpv", "--no-config", "--really-quiet", "--vo=null", "--ao=pcm", "--ao-pcm-file="+wav, "--untimed", clip)
		heard := mustRead(t, wav)
		format := binary.LittleEndian.Uint16(heard[22:]) // channels
		samples := float64(len(heard)-44) / float64(format) / float64(binary.LittleEndian.Uint16(heard[34:])/8)
		if want := 2.5 * 48000; math.Abs(samples-want) > 48000/20 {
			t.Errorf("mpv plays %v samples, want %v", samples, want)
		}
	}
}
