package hls

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// TestPresentations cuts every presentation of a collection and compares the coded
// frames with those of its segments joined.
func TestPresentations(t *testing.T) {
	tools.Need(t, "ffmpeg", "ffprobe")
	for _, test := range []struct {
		list  string
		files []string
		zero  float64 // of the joined files, -1: their first picture
		cuts  [][2]float64
	}{
		{"shaka-gap/playlist.m3u8", []string{"2.ts", "3.ts", "4.ts"}, 0.1, [][2]float64{{4.5, 7.5}, {6.5, 9.5}, {8.1, 15.9}}},
		{"shaka-gap/playlist.m3u8", []string{"6.ts", "7.ts", "8.ts"}, 0.1, [][2]float64{{22.5, 25.5}, {21, 32}}},
		{"shaka-raw-aac/manifest.m3u8", []string{"fileSequence0.aac", "fileSequence1.aac", "fileSequence2.aac", "fileSequence3.aac"}, 0, [][2]float64{{7.997, 17.993}, {14.8, 16}, {24, 38}}},
		{"shaka-interstitial/main.m3u8", []string{"init.mp4", "s1.mp4", "s2.mp4", "s3.mp4", "s4.mp4", "s5.mp4"}, -1, [][2]float64{{4, 9}, {7.4, 9.4}, {12, 19}}},
		{"shaka-interstitial/ad.m3u8", []string{"ad-init.mp4", "ad-s1.mp4"}, -1, [][2]float64{{0.8, 1.8}, {2.4, 3.8}}},
		{"tmh-byterange/stream.240p.video.vp9.mp4.m3u8", []string{"stream.240p.video.vp9.mp4"}, -1, [][2]float64{{9.489, 21.351}, {17.5, 18.5}, {28.5, 45}}},
		{"tmh-byterange/stream.stereo.audio.mp3.m3u8", []string{"stream.stereo.audio.mp3"}, 0, [][2]float64{{9.49, 21.352}, {17.5, 18.5}, {28.5, 45}}},
		{"tmh-byterange/stream.stereo.audio.opus.mp4.m3u8", []string{"stream.stereo.audio.opus.mp4"}, 0, [][2]float64{{9.484, 21.339}, {17.5, 18.5}, {28.5, 45}}},
	} {
		dir, name := filepath.Split(test.list)
		t.Run(test.list+test.files[0], func(t *testing.T) {
			from := filepath.Join(collection(), dir)
			if _, err := os.Stat(from); err != nil {
				t.Skip("it belongs to the larger collection")
			}
			original := joined(t, from, test.files...)
			zero := test.zero
			if zero < 0 {
				zero = zeroOf(t, original)
			}
			for i, x := range test.cuts {
				if i > 0 && !tools.Full() {
					break
				}
				o := newOrigin()
				o.putFolder(t, "https://host.test/c", from)
				m := o.mustOpen(t, "https://host.test/c/"+name, formats.Env{})
				p := mustPlan(t, m, between(x[0], x[1]))
				path := write(t, "clip"+filepath.Ext(test.files[len(test.files)-1]), clip(t, m, p))
				checkPackets(t, original, path, zero, x[0], x[1])
				if !tools.Full() {
					continue
				}
				if got := oracle.Decode(t, path); got.Errors != "" && len(got.Video) > 0 {
					t.Errorf("%v: ffmpeg complains: %s", x, got.Errors)
				}
			}
		})
	}
}
