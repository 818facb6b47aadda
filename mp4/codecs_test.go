package mp4_test

import (
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/mp4"
)

// codecs are kinds of coding whose pictures depend on one another in other ways
// than those of [files]. The short ones are compared in a short run, too.
var codecs = []struct {
	made
	short bool
}{
	{made{name: "h264-open-gop", args: args(picture25, tone48, s("-c:v", "libx264", "-preset", "veryfast", "-x264-params", "open-gop=1:keyint=50:min-keyint=50:scenecut=0:bframes=3:b-pyramid=normal", "-threads", "1"), aac), frame: 1024, trait: interval{4.02, 6}, complaint: "mmco: unref short failure"}, true},
	{made{name: "h264-refresh", args: args(picture25, tone48, s("-c:v", "libx264", "-preset", "veryfast", "-x264-params", "intra-refresh=1:keyint=50:bframes=2", "-threads", "1"), aac), frame: 1024, trait: interval{5.013, 12.5}, complaint: anyComplaint}, true},
	{made{name: "h264-refresh-forward", args: args(picture25, tone48, s("-c:v", "libx264", "-preset", "veryfast", "-x264-params", "intra-refresh=1:keyint=50:bframes=0", "-threads", "1"), aac), frame: 1024, trait: interval{12.3, 19}, complaint: anyComplaint}, false},
	{made{name: "h264-pyramid", args: args(picture25, tone48, x264, s("-bf", "7", "-x264-params", "b-pyramid=strict:ref=4"), aac), frame: 1024, trait: interval{5.013, 7.5}}, false},
	{made{name: "h265-closed-gop", args: args(picture25, tone48, s("-c:v", "libx265", "-preset", "ultrafast", "-tag:v", "hvc1", "-x265-params", "open-gop=0:keyint=50:min-keyint=50:scenecut=0:bframes=4:log-level=none:pools=none:frame-threads=1"), aac), frame: 1024, trait: interval{5.013, 7.5}}, false},
	{made{name: "h265-open-gop", args: args(picture25, tone48, s("-c:v", "libx265", "-preset", "ultrafast", "-tag:v", "hvc1", "-x265-params", "open-gop=1:keyint=50:min-keyint=50:scenecut=0:bframes=4:b-pyramid=1:log-level=none:pools=none:frame-threads=1"), aac), frame: 1024, trait: interval{4.1, 6}}, true},
	{made{name: "vp9", args: args(picture25, tone48, s("-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-g", "50", "-threads", "1", "-c:a", "libopus", "-b:a", "64k")), frame: 960, trait: interval{5.013, 7.5}}, false},
	{made{name: "av1", args: args(picture25, tone48, s("-c:v", "libaom-av1", "-cpu-used", "8", "-usage", "realtime", "-g", "50", "-threads", "1"), aac), frame: 1024, trait: interval{5.013, 7.5}}, false},
}

// TestCodecs compares clips of every kind of coding, from progressive and from
// fragmented files.
func TestCodecs(t *testing.T) {
	t.Parallel()
	for _, m := range codecs {
		if !m.short && !tools.Full() {
			continue
		}
		want := []interval{m.trait}
		if tools.Full() {
			want = append(want, intervals...)
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			path := m.path(t)
			o := mustOpen(t, path)
			for _, i := range want {
				t.Run(name(i.a, i.b), func(t *testing.T) { m.compare(t, o, path, i) })
			}
		})
		for kind := range fragmentOptions {
			f := m.in(kind)
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				path := f.path(t)
				o := mustOpen(t, path)
				for _, i := range want {
					for _, layout := range []formats.Layout{mp4.Progressive, mp4.Fragmented} {
						if layout == mp4.Progressive && kind == "bare" {
							continue
						}
						t.Run(name(i.a, i.b)+" "+string(layout), func(t *testing.T) { f.compareLayout(t, o, path, i, layout) })
					}
				}
			})
		}
	}
}
