package mp4_test

import (
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/mp4"
)

// openGroups have open groups of pictures: behind a picture at which decoding
// can begin come some that are presented before it and refer to the group
// before, and to one another.
var openGroups = []made{
	{name: "open-h264", args: args(picture25, s("-c:v", "libx264", "-preset", "veryfast", "-x264-params", "open-gop=1:keyint=48:min-keyint=48:scenecut=0:bframes=3:b-adapt=0:b-pyramid=normal", "-threads", "1"))},
	{name: "open-h265", args: args(picture25, s("-c:v", "libx265", "-preset", "ultrafast", "-tag:v", "hvc1", "-x265-params", "open-gop=1:keyint=50:min-keyint=50:scenecut=0:bframes=4:b-adapt=0:b-pyramid=1:log-level=none:pools=none:frame-threads=1"))},
}

// TestOpenGroups shows fragmented clips by players that honour edit lists, that
// do not, and that besides show whatever they can decode. None shows a broken
// picture, and all show every picture of the interval.
func TestOpenGroups(t *testing.T) {
	t.Parallel()
	tools.Need(t, "ffmpeg", "ffprobe")
	players := map[string][]string{
		"ffmpeg":       nil,
		"no edit list": {"-ignore_editlist", "1"},
		"shows all":    {"-ignore_editlist", "1", "-flags", "+output_corrupt", "-flags2", "+showall"},
	}
	for _, m := range openGroups {
		for _, m := range []made{m, m.in("indexed"), m.in("bare")}[:full(3, 2)] {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				path := m.path(t)
				o := mustOpen(t, path)
				original := oracle.Original(t, path).Video[0]
				whole := map[string]bool{}
				for _, p := range original {
					whole[p.Hash] = true
				}
				for _, i := range []interval{{4.1, 6}, {9.02, 11.5}}[:full(2, 1)] {
					sel := between(i.a, i.b)
					sel.Layout = mp4.Fragmented
					plan, clip := o.cut(t, sel)
					want := oracle.Between(original, i.a, i.b)
					for player, options := range players {
						shown := pictureHashes(t, clip, options...)
						for n, hash := range shown {
							if !whole[hash] {
								t.Errorf("%v, %s: picture %d of %d is broken", i, player, n, len(shown))
							}
						}
						all := strings.Join(shown, " ")
						for _, p := range want {
							if !strings.Contains(all, p.Hash) {
								t.Errorf("%v, %s: the picture at %.3f s is missing", i, player, p.Time)
							}
						}
					}
					if a, b := plan.Covered.Start.Seconds(), original[0].Time; a < b {
						t.Errorf("covers %v, but the original begins at %f", plan.Covered, b)
					}
				}
			})
		}
	}
}

// pictureHashes decodes a file with options of ffmpeg's.
func pictureHashes(t *testing.T, path string, options ...string) []string {
	t.Helper()
	args := append(append([]string{"-nostdin", "-v", "quiet", "-threads", "1"}, options...), "-i", path,
		"-map", "0:v", "-fps_mode", "passthrough", "-f", "framehash", "-hash", "md5", "-")
	var out []string
	for line := range strings.Lines(string(oracle.Run(t, "ffmpeg", args...))) {
		if line[0] != '#' {
			out = append(out, strings.TrimSpace(line[strings.LastIndex(line, ",")+1:]))
		}
	}
	return out
}

// TestLeadingDropped leaves leading pictures out of fragments and keeps the time
// of the others: the one before lasts until them.
func TestLeadingDropped(t *testing.T) {
	video := pictures()
	for i := range 100 { // the picture behind each sync sample leads it
		video.offsets = append(video.offsets, []int32{200, 0, 0, 0, 0, 0, 0, 0, 0, 0}[i%10])
	}
	for _, built := range [][]byte{
		(&testFile{tracks: []*testTrack{video}}).build(),
		(&fragmentedFile{tracks: []*testTrack{video}, index: flatIndex}).build(),
	} {
		o := openBuilt(t, built)
		sel := between(4.55, 7.05)
		sel.Layout = mp4.Fragmented
		plan, clip := clipOf(t, o, sel)
		want := expected(video, 0)
		samples := clip[0].samples
		checkSamples(t, 1, samples, want[46:70], 4.55)
		if samples[0].hash != want[40].hash || samples[1].hash != want[42].hash || samples[2].hash != want[43].hash {
			t.Errorf("the clip begins with other samples than 40, 42 and 43: 41 leads")
		}
		if a := plan.Covered.Start.Seconds(); a < 4.199 || a > 4.201 {
			t.Errorf("covers from %.3f s on, want 4.2: the first sync sample", a)
		}
		later := 0
		for _, s := range samples {
			if s.hash == want[51].hash || s.hash == want[61].hash {
				later++
			}
		}
		if later != 2 {
			t.Errorf("%d leading pictures of later groups, want 2: they can be decoded", later)
		}
	}
}
