package hls

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/mp4"
)

// advert is 8 s of other pictures and another sound, coded as the base is, by
// another run of the encoder: its initialization and its clock are its own, and
// sound is its first track.
func advert(t testing.TB) string {
	return made(t, "advert", func(dir string) {
		oracle.FFmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=192x108:r=25:d=8,hue=h=90", "-f", "lavfi", "-i", "aevalsrc='0.4*sin(2*PI*(900*t+30*t*t))':s=48000:d=8",
			"-c:v", "libx264", "-preset", "veryfast", "-g", "50", "-keyint_min", "50", "-sc_threshold", "0", "-bf", "2", "-b:v", "150k",
			"-c:a", "aac", "-b:a", "96k", filepath.Join(dir, "whole.mp4"))
		oracle.FFmpeg(t, "-i", filepath.Join(dir, "whole.mp4"), "-map", "0:a", "-map", "0:v", "-c", "copy", "-f", "hls", "-hls_time", "4", "-hls_playlist_type", "vod",
			"-hls_segment_type", "fmp4", "-hls_fmp4_init_filename", "init.mp4", "-hls_segment_filename", filepath.Join(dir, "s%03d.m4s"), filepath.Join(dir, "media.m3u8"))
	})
}

// part is what of an original a clip shows between two points of its timeline.
type part struct {
	path string
	from float64 // in the original
	a, b float64 // in the clip
}

// checkParts compares a clip with the stretches of originals that it is made of:
// their pictures, each at its time, and their sound.
func checkParts(t *testing.T, path string, parts []part) {
	t.Helper()
	have := checkDecodes(t, path)
	if len(have.Video) != 1 || len(have.Audio) != 1 {
		t.Fatalf("%d videos, %d sounds", len(have.Video), len(have.Audio))
	}
	var want, got []oracle.Picture
	for _, x := range parts {
		original := oracle.Original(t, x.path)
		x.from += original.Video[0][0].Time
		for _, p := range oracle.Between(original.Video[0], x.from, x.from+x.b-x.a) {
			p.Time += x.a - x.from
			want = append(want, p)
		}
		// A decoder begins each anew: its first frames of sound may differ. The last
		// ones lie in the segment behind, which is not part of this.
		const first, last = 0.05, 0.1
		sound := original.Audio[0].Between(x.from+first, x.from+x.b-x.a-last)
		if r := oracle.CompareAudio(sound, have.Audio[0].Between(x.a+first, x.b-last), have.Audio[0].Rate, have.Audio[0].Channels); r.Offset != 0 || r.Residual > -60 {
			t.Errorf("the sound of [%g, %g): %s", x.a, x.b, r)
		}
	}
	got = oracle.Between(have.Video[0], 0, parts[len(parts)-1].b)
	if len(got) != len(want) {
		t.Fatalf("%d pictures, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i].Hash != want[i].Hash || got[i].Time-want[i].Time > 0.002 || want[i].Time-got[i].Time > 0.002 {
			t.Fatalf("picture %d comes at %.4f s, want %.4f s; the same: %v", i, got[i].Time, want[i].Time, got[i].Hash == want[i].Hash)
		}
	}
}

// TestJoints makes one file of fragmented MP4 whose clock begins anew: by
// segments of one presentation in another order, and by an advertisement with an
// initialization of its own.
func TestJoints(t *testing.T) {
	t.Parallel()
	dir, ad := fmp4Presentation(t), advert(t)
	main := wholeOf(t, dir, "0")
	other := joined(t, ad, "init.mp4", "s000.m4s", "s001.m4s")
	for _, test := range []struct {
		name   string
		length string // of each segment, in the playlist
		lines  []string
		a, b   float64
		parts  []part
	}{
		{"another order", "4", []string{"m/s005", "m/s006", "", "m/s001", "m/s002", "", "m/s008"}, 5, 17,
			[]part{{main, 25, 0, 3}, {main, 4, 3, 11}, {main, 32, 11, 12}}},
		{"an advertisement", "4", []string{"m/s000", "m/s001", "", "ad/s000", "ad/s001", "", "m/s002", "m/s003"}, 6, 19.5,
			[]part{{main, 6, 0, 2}, {other, 0, 2, 10}, {main, 8, 10, 13.5}}},
		{"from an advertisement on", "4", []string{"ad/s000", "ad/s001", "", "m/s002", "m/s003"}, 6.5, 10,
			[]part{{other, 6.5, 0, 1.5}, {main, 8, 1.5, 3.5}}},
		// The first segment of the clip is at 4.01 s, where the playlist says.
		{"rounded durations", "4.01", []string{"m/s000", "m/s001", "", "ad/s000", "ad/s001", "", "m/s002", "m/s003"}, 6, 19.5,
			[]part{{main, 5.99, 0, 2.01}, {other, 0, 2.01, 10.01}, {main, 8, 10.01, 13.5}}},
		// What is behind a segment that lasts longer than the playlist says is found
		// where the playlist says, and shown behind all of that segment.
		{"too short", "4", []string{"m/s000", "m/s001 3", "", "ad/s000", "ad/s001", "", "m/s002", "m/s003"}, 6, 18.5,
			[]part{{main, 6, 0, 2}, {other, 0, 2, 10}, {main, 8, 10, 13.5}}},
		{"too short twice", "4", []string{"m/s000", "m/s001 3", "", "ad/s000", "ad/s001 3.5", "", "m/s002", "m/s003"}, 6, 18,
			[]part{{main, 6, 0, 2}, {other, 0, 2, 10}, {main, 8, 10, 13.5}}},
		{"too short, then a gap", "4", []string{"m/s000", "m/s001 3", "", "ad/s000", "ad/s001 5", "", "m/s002", "m/s003"}, 6, 19.5,
			[]part{{main, 6, 0, 2}, {other, 0, 2, 10}, {main, 8, 10, 13.5}}},
	} {
		for _, layout := range []formats.Layout{"", mp4.Progressive} {
			if layout != "" && !tools.Full() && test.name != "an advertisement" {
				continue
			}
			t.Run(test.name+" "+string(layout), func(t *testing.T) {
				o := newOrigin()
				o.putFolder(t, "https://host.test/m", dir)
				o.putFolder(t, "https://host.test/ad", ad)
				text, init := head, ""
				for _, line := range test.lines {
					if line == "" {
						text += "#EXT-X-DISCONTINUITY\n"
						continue
					}
					line, length, ok := strings.Cut(line, " ")
					if !ok {
						length = test.length
					}
					if folder := filepath.Dir(line); folder != init {
						init = folder
						text += fmt.Sprintf("#EXT-X-MAP:URI=\"%s/init.mp4\"\n", folder)
					}
					text += fmt.Sprintf("#EXTINF:%s,\n%s.m4s\n", length, line)
				}
				o.put("https://host.test/list.m3u8", []byte(text+"#EXT-X-ENDLIST\n"))
				m := o.mustOpen(t, "https://host.test/list.m3u8", formats.Env{})
				s := between(test.a, test.b)
				s.Layout = layout
				p := mustPlan(t, m, s)
				path := write(t, "clip.mp4", clip(t, m, p))
				checkParts(t, path, test.parts)
				if want := between(test.a, test.a+test.parts[len(test.parts)-1].b).Interval; layout == mp4.Progressive && p.Presented.String() != want.String() {
					t.Errorf("presented is %s, want %s", p.Presented, want)
				}
				once := o.files()
				if n := len(slices.Compact(slices.Clone(once))); len(once) > 2*n {
					t.Errorf("%d requests for %d files: %v", len(once), n, once)
				}
			})
		}
	}
}

// TestJointsApart joins where sound and pictures are apart: both change their
// clock at the same point, and stay in step.
func TestJointsApart(t *testing.T) {
	t.Parallel()
	dir := masterPresentation(t)
	o := newOrigin()
	o.putFolder(t, "https://host.test/m", dir)
	for _, stream := range []string{"0", "2"} {
		text := head + fmt.Sprintf("#EXT-X-MAP:URI=\"init%s.mp4\"\n", stream)
		for _, n := range []int{5, 6, -1, 1, 2} {
			if n < 0 {
				text += "#EXT-X-DISCONTINUITY\n"
				continue
			}
			text += fmt.Sprintf("#EXTINF:4.0,\nv%s_%03d.m4s\n", stream, n)
		}
		o.put("https://host.test/m/media"+stream+".m3u8", []byte(text+"#EXT-X-ENDLIST\n"))
	}
	m := o.mustOpen(t, "https://host.test/m/master.m3u8", formats.Env{})
	path := write(t, "clip.mp4", clip(t, m, mustPlan(t, m, between(5, 13))))
	both := filepath.Join(made(t, "both", func(to string) {
		oracle.FFmpeg(t, "-i", wholeOf(t, dir, "0"), "-i", wholeOf(t, dir, "2"), "-map", "0:v", "-map", "1:a", "-c", "copy", "-copyts", filepath.Join(to, "both.mp4"))
	}), "both.mp4")
	checkParts(t, path, []part{{both, 25, 0, 3}, {both, 4, 3, 8}})
}

// smallPresentation is 4 s of pictures of another size than the base's.
func smallPresentation(t testing.TB) string {
	return made(t, "small", func(dir string) {
		oracle.FFmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=96x54:r=25:d=4", "-c:v", "libx264", "-g", "50", "-f", "hls", "-hls_time", "4", "-hls_playlist_type", "vod",
			"-hls_segment_type", "fmp4", "-hls_fmp4_init_filename", "init.mp4", "-hls_segment_filename", filepath.Join(dir, "s%03d.m4s"), filepath.Join(dir, "media.m3u8"))
	})
}

// TestJointsRefused: what one file cannot hold is an error that names the
// folder; initializations under two names that are the same are one.
func TestJointsRefused(t *testing.T) {
	t.Parallel()
	dir := fmp4Presentation(t)
	small := smallPresentation(t)
	o := newOrigin()
	o.putFolder(t, "https://host.test/m", dir)
	o.putFolder(t, "https://host.test/small", small)
	init, err := os.ReadFile(filepath.Join(dir, "init.mp4"))
	if err != nil {
		t.Fatal(err)
	}
	o.put("https://host.test/m/copy.mp4", init)
	const list = head + "#EXT-X-MAP:URI=\"m/init.mp4\"\n#EXTINF:4,\nm/s000.m4s\n%s#EXT-X-MAP:URI=\"%s\"\n#EXTINF:4,\n%s.m4s\n#EXT-X-ENDLIST\n"
	o.put("https://host.test/small.m3u8", []byte(fmt.Sprintf(list, "#EXT-X-DISCONTINUITY\n", "small/init.mp4", "small/s000")))
	o.put("https://host.test/copy.m3u8", []byte(fmt.Sprintf(list, "", "m/copy.mp4", "m/s001")))
	_, err = o.mustOpen(t, "https://host.test/small.m3u8", formats.Env{}).Plan(t.Context(), between(2, 6))
	isError(t, err, formats.ErrUnsupported)
	if err == nil || !strings.Contains(err.Error(), "FOLDER/") || !strings.Contains(err.Error(), "sample descriptions") || !strings.Contains(err.Error(), "at 4 s") {
		t.Errorf("%v does not say what to do, or why", err)
	}
	m := o.mustOpen(t, "https://host.test/copy.m3u8", formats.Env{})
	path := write(t, "clip.mp4", clip(t, m, mustPlan(t, m, between(2, 6))))
	checkParts(t, path, []part{{wholeOf(t, dir, "0"), 2, 0, 4}})
}
