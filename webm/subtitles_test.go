package webm_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// lines is a subtitle file: a line each 2.3 s, for 1.8 s.
func lines() string {
	var b strings.Builder
	clock := func(s float64) string {
		return fmt.Sprintf("00:%02d:%02d,%03d", int(s)/60, int(s)%60, int(math.Round(s*1000))%1000)
	}
	for i := range 5 {
		at := 0.5 + 2.3*float64(i)
		fmt.Fprintf(&b, "%d\n%s --> %s\nline %d\n\n", i+1, clock(at), clock(at+1.8), i+1)
	}
	return b.String()
}

// TestSubtitles cuts files with subtitles: one that began before the clip and is
// still shown then comes along, for what is left of it.
func TestSubtitles(t *testing.T) {
	t.Parallel()
	tools.Need(t, "ffmpeg", "ffprobe", "mkvmerge")
	srt := filepath.Join(tempDir, "lines.srt")
	if err := os.WriteFile(srt, []byte(lines()), 0o600); err != nil {
		t.Fatal(err)
	}
	with := func(codec string, rest ...[]string) []string {
		return args(append([][]string{picture25, tone48, s("-i", srt, "-map", "0", "-map", "1", "-map", "2", "-c:s", codec)}, rest...)...)
	}
	for _, m := range []made{
		{name: "srt", ext: "mkv", args: with("srt", x264, aac)},
		{name: "ass", ext: "mkv", args: with("ass", x264, aac)},
		{name: "webvtt", args: with("webvtt", vp8, opusCodec)},
		{name: "merged-srt", ext: "mkv", merge: s(), args: with("srt", x264, aac)},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			path := m.path(t)
			o := mustOpen(t, mustRead(t, path))
			plan, data := o.Clip(t, seconds(6.4, 8.5))
			clip := filepath.Join(t.TempDir(), "clip"+filepath.Ext(path))
			if err := os.WriteFile(clip, data, 0o600); err != nil {
				t.Fatal(err)
			}
			accepted(t, path, clip)
			zero := o.Info().StartTime.Add(plan.Presented.Start).Seconds()
			first := math.Inf(1) // of the clip's pictures
			var have, want []oracle.Packet
			for _, p := range oracle.Packets(t, clip) {
				if p.Stream == 0 {
					first = min(first, p.Time)
				}
				if p.Stream == 2 {
					have = append(have, p)
				}
			}
			for _, p := range oracle.Packets(t, path) {
				if p.Stream == 2 && p.End > zero && p.Time < zero+2.5 {
					p.Time, p.End = max(p.Time, zero)-zero+first, p.End-zero+first
					want = append(want, p)
				}
			}
			if len(want) != 2 || len(have) != len(want) {
				t.Fatalf("%d subtitles, want %d, of which one began before", len(have), len(want))
			}
			for i := range want {
				if h, w := have[i], want[i]; h.Hash != w.Hash || math.Abs(h.Time-w.Time) > 0.0021 || math.Abs(h.End-w.End) > 0.0021 {
					t.Errorf("subtitle %d: %+v, want %+v", i, h, w)
				}
			}
		})
	}
}

// TestBitmapSubtitles cuts a film with VobSub, whose blocks are no text.
func TestBitmapSubtitles(t *testing.T) {
	picture := content('s', 1, 3000)
	f := film{seconds: 20, bitmap: picture}
	w := f.write()
	o := mustOpen(t, w.data)
	_, data := o.Clip(t, seconds(9.013, 13.513))
	got := readBack(t, data)
	if len(got.others) != 1 || got.others[0].at != 0 || string(got.others[0].frame) != string(picture) || got.lasting != 1000 {
		t.Errorf("%d subtitles, for %d ms; want the one that began 2 s before and lasts 3 s", len(got.others), got.lasting)
	}
}

// TestSubtitleAlone: without pictures, too, a subtitle that is shown already when
// the clip begins begins with it, and not before.
func TestSubtitleAlone(t *testing.T) {
	w := film{seconds: 20, bitmap: []byte("a picture")}.write()
	for _, tracks := range [][]string{{"3"}, {"2", "3"}} {
		sel := seconds(7.25, 10)
		sel.Tracks = tracks
		_, clip := mustOpen(t, w.data).Clip(t, sel)
		got := readBack(t, clip)
		if len(got.others) != 1 || string(got.others[0].frame) != "a picture" || got.others[0].at < 0 || got.lasting != 1750 || got.before > 0 {
			t.Errorf("tracks %v: %+v, the last for %d ms", tracks, got.others, got.lasting)
		}
		if len(tracks) == 1 && len(got.others) == 1 && got.others[0].at != 0 {
			t.Errorf("it begins at %d ms", got.others[0].at)
		}
	}
}
