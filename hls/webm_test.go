package hls

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// webmChunks is 12 s of pictures in segments of WebM of 2 s, as ffmpeg's writer of
// such makes them.
func webmChunks(t testing.TB) string {
	return made(t, "webm", func(dir string) {
		oracle.FFmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=96x54:r=25:d=12", "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "-8", "-g", "50", "-keyint_min", "50", "-map", "0:v",
			"-f", "webm_chunk", "-header", dir+"/head.webm", "-chunk_start_index", "0", dir+"/%d.webm")
	})
}

// webmTogether is 12 s of pictures and Opus in segments of a Cluster each.
func webmTogether(t testing.TB) string {
	return made(t, "webm-both", func(dir string) {
		oracle.FFmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=96x54:r=25:d=12", "-f", "lavfi", "-i", "aevalsrc='0.4*sin(2*PI*(200*t+20*t*t))':s=48000:d=12",
			"-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "-8", "-g", "50", "-keyint_min", "50", "-c:a", "libopus", "-b:a", "64k",
			"-f", "webm", "-live", "1", "-cluster_time_limit", "5000", "-cluster_size_limit", "5M", dir+"/whole.webm")
		parts := bytes.Split(readFile(t, dir, "whole.webm"), []byte("\x1f\x43\xb6\x75"))
		if len(parts) != 7 {
			t.Fatalf("%d clusters, want 6", len(parts)-1)
		}
		for i, p := range parts {
			name := "head.webm"
			if i > 0 {
				name, p = fmt.Sprintf("%d.webm", i-1), append([]byte("\x1f\x43\xb6\x75"), p...)
			}
			if err := os.WriteFile(filepath.Join(dir, name), p, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestWebM cuts segments of WebM by the rules of package webm: from the keyframe
// on and exact at the end, the sound in step. No segment is asked for twice, and
// none that the interval does not need.
func TestWebM(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		dir       func(testing.TB) string
		encrypted bool
	}{{"pictures", webmChunks, false}, {"with sound", webmTogether, false}, {"encrypted", webmTogether, true}} {
		dir := test.dir(t)
		whole := joined(t, dir, "head.webm", "0.webm", "1.webm", "2.webm", "3.webm", "4.webm", "5.webm")
		original := oracle.Original(t, whole)
		zero := original.Video[0][0].Time // ffmpeg delays pictures by the priming of Opus
		key := []byte("0123456789abcdef")
		for _, x := range []struct {
			a, b  float64
			from  float64 // the keyframe
			files string
		}{{3, 9.3, 2, "1 2 3 4"}, {4, 9.5, 4, "1 2 3 4"}, {2.5, 3.5, 2, "1"}, {0, 1, 0, "0"}, {7.98, 12, 6, "3 4 5"}} {
			if !tools.Full() && x.a != 3 && (x.a != 4 || test.name != "with sound") {
				continue
			}
			seektest.Counted(t, fmt.Sprintf("%s %g", test.name, x.a), func(t *testing.T) {
				o := newOrigin()
				o.putFolder(t, "https://host.test/w", dir)
				text := head + "#EXT-X-MAP:URI=\"head.webm\"\n"
				if test.encrypted {
					o.put("https://host.test/w/key", key)
					text += "#EXT-X-KEY:METHOD=AES-128,URI=\"key\"\n"
				}
				for i := range 6 {
					text += fmt.Sprintf("#EXTINF:2,\n%d.webm\n", i)
					if name := fmt.Sprintf("%d.webm", i); test.encrypted {
						o.put("https://host.test/w/"+name, encrypt(t, key, int64(i), readFile(t, dir, name)))
					}
				}
				o.put("https://host.test/w/l.m3u8", []byte(text+"#EXT-X-ENDLIST\n"))
				m := o.mustOpen(t, "https://host.test/w/l.m3u8", formats.Env{})
				p := mustPlan(t, m, between(x.a, x.b))
				path := write(t, "clip.webm", clip(t, m, p))
				have := checkDecodes(t, path)
				last := math.Inf(-1)
				for _, q := range oracle.Packets(t, path) { // of Opus, all of 20 ms
					if step := q.Time - last; q.Stream == 1 && !math.IsInf(step, 1) && math.Abs(step-0.02) > 0.0015 {
						t.Fatalf("a packet of sound begins at %g s, the one before at %g s", q.Time, last)
					}
					if q.Stream == 1 {
						last = q.Time
					}
				}
				if start, end := p.Presented.Start.Seconds(), p.Presented.End.Seconds(); p.MediaType != "video/webm" || start < x.from-0.01 || start > x.from+0.001 || end < x.b-0.001 || end > x.b+0.05 {
					t.Errorf("presented is %s of %s", p.Presented, p.MediaType)
				}
				want := oracle.Between(original.Video[0], x.from+zero, x.b+zero)
				if r := oracle.CompareVideo(want, have.Video[0]); r.Missing != 0 || r.Lead != 0 || r.Tail != 0 {
					t.Errorf("%s", r)
				}
				for i, picture := range have.Video[0] {
					if at := want[min(i, len(want)-1)].Time - want[0].Time; math.Abs(picture.Time-have.Video[0][0].Time-at) > 0.0015 {
						t.Fatalf("picture %d comes %.4f s behind the first, want %.4f s", i, picture.Time-have.Video[0][0].Time, at)
					}
				}
				if len(original.Audio) > 0 {
					sound := original.Audio[0]
					// In step with the pictures to half a millisecond, in which WebM
					// counts; what decoders of Opus take to settle lies before a.
					const half = 24
					begin := have.Video[0][0].Time + x.a - x.from
					if r := oracle.CompareAudio(sound.Between(x.a+zero, x.b+zero), have.Audio[0].Between(begin, begin+x.b-x.a), sound.Rate, sound.Channels); r.Offset > half || r.Offset < -half || r.Residual > -40 {
						t.Errorf("%s", r)
					}
				}
				asked := slices.DeleteFunc(o.files(), func(name string) bool { return !strings.HasSuffix(name, ".webm") || name == "head.webm" })
				if diff := cmp.Diff(strings.Fields(strings.ReplaceAll(x.files, " ", ".webm ")+".webm"), asked); diff != "" {
					t.Error(diff)
				}
				if trips := o.totals.Transfer().FirstMediaTrips; trips > 2 {
					t.Errorf("%d round trips", trips)
				}
			})
		}
	}
}
