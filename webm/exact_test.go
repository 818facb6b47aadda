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

// TestExact plays ordered editions with mpv, which presents the interval and
// nothing before it.
func TestExact(t *testing.T) {
	t.Parallel()
	tools.Need(t, "ffmpeg", "mkvmerge", "mkvinfo", "mpv")
	names := []string{"h264-pcm", "h264-ntsc-mp3", "h265-flac"}
	if !tools.Full() {
		names = names[:1]
	}
	for _, name := range names {
		path := madeNamed(t, name).path(t)
		o := mustOpen(t, mustRead(t, path))
		sel := seconds(5.25, 7.75)
		sel.Layout = formats.Exact
		plan, data := o.Clip(t, sel)
		if !plan.Presented.Start.Equal(plan.Requested.Start) || !plan.Presented.End.Equal(plan.Requested.End) {
			t.Errorf("%s: presented %v, want %v", name, plan.Presented, plan.Requested)
		}
		clip := filepath.Join(t.TempDir(), "clip.mkv")
		if err := os.WriteFile(clip, data, 0o600); err != nil {
			t.Fatal(err)
		}
		accepted(t, path, clip)
		if got := heard(t, clip); math.Abs(got-2.5) > 0.05 {
			t.Errorf("%s: mpv plays %v s of sound, want 2.5", name, got)
		}
	}
}

// TestLeadInHeard plays a clip whose sound is decoded from before its beginning
// on with mpv, which takes a negative DiscardPadding for a very large one: it must
// not stand on whole frames.
func TestLeadInHeard(t *testing.T) {
	t.Parallel()
	tools.Need(t, "ffmpeg", "mpv")
	o := mustOpen(t, mustRead(t, madeNamed(t, "h264-aac").path(t)))
	plan, data := o.Clip(t, seconds(5.013, 7.5))
	clip := filepath.Join(t.TempDir(), "clip.mkv")
	if err := os.WriteFile(clip, data, 0o600); err != nil {
		t.Fatal(err)
	}
	// Pictures may be shown behind the interval's end; sound is not.
	if got, want := heard(t, clip), plan.Requested.End.Sub(plan.Presented.Start).Seconds(); math.Abs(got-want) > 0.05 {
		t.Errorf("mpv plays %v s of sound, want %v", got, want)
	}
}

// heard returns how many seconds of sound mpv plays of a file.
func heard(t *testing.T, path string) float64 {
	t.Helper()
	wav := filepath.Join(t.TempDir(), "out.wav")
	oracle.Run(t, "mpv", "--no-config", "--really-quiet", "--vo=null", "--ao=pcm", "--ao-pcm-file="+wav, "--untimed", path)
	b := mustRead(t, wav)
	channels, rate, depth := binary.LittleEndian.Uint16(b[22:]), binary.LittleEndian.Uint32(b[24:]), binary.LittleEndian.Uint16(b[34:])
	return float64(len(b)-44) / float64(channels) / float64(depth/8) / float64(rate)
}
