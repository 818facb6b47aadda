package mp4_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/mp4"
)

// TestAccepted has clips of every kind read by GStreamer's qtdemux, which
// shares no code with ffmpeg or with us: it finds all tracks, and gives their
// samples to the end. The intervals are longer than their lead-in: of a track
// whose edit begins later in its media than the track lasts, qtdemux 1.22 gives
// nothing, whoever wrote it.
func TestAccepted(t *testing.T) {
	t.Parallel()
	tools.Need(t, "ffmpeg", "ffprobe", "gst-launch-1.0")
	var all []made
	all = append(all, files...)
	for _, f := range fragmentedFiles {
		all = append(all, f.made)
	}
	all = append(all, fragmentedCodings...)
	for _, c := range codecs {
		if c.short || tools.Full() {
			all = append(all, c.made)
		}
	}
	for i, m := range all {
		if !tools.Full() && i%4 != 0 {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			o := mustOpen(t, m.path(t))
			layouts := []formats.Layout{""}
			if o.Info().Index != mp4.None { // else it is fragmented anyway
				layouts = append(layouts, mp4.Fragmented)
			}
			for _, layout := range layouts {
				sel := between(m.trait.a, m.trait.b)
				sel.Layout = layout
				plan, clip := o.cut(t, sel)
				accept(t, clip, len(plan.Tracks))
			}
		})
	}
}

// accept reads all tracks of a clip with qtdemux.
func accept(t *testing.T, clip string, tracks int) {
	t.Helper()
	args := []string{"-q", "filesrc", "location=" + clip, "!", "qtdemux", "name=d"}
	dir := t.TempDir()
	for n := range tracks {
		out := filepath.Join(dir, string(rune('a'+n)))
		args = append(args, "d.", "!", "queue", "max-size-buffers=0", "max-size-bytes=0", "max-size-time=0", "!", "filesink", "sync=false", "async=false", "location="+out)
	}
	if out := oracle.Run(t, "gst-launch-1.0", args...); regexp.MustCompile(`(?i)error|critical`).Match(out) {
		t.Errorf("qtdemux: %s", out)
	}
	var got, want int64
	for n := range tracks {
		if info, err := os.Stat(filepath.Join(dir, string(rune('a'+n)))); err == nil && info.Size() > 0 {
			got++
		}
		want++
	}
	if got != want {
		t.Errorf("qtdemux gives samples of %d tracks, want %d", got, want)
	}
}
