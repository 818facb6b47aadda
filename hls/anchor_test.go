package hls

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/mpegts"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/mp4"
)

// TestOneInstant: a time means the same instant of the sound with and without the
// pictures, whose clock does not begin at the same time. It takes the
// initialization and the beginning of one of their segments to know that, in the
// same round trip.
func TestOneInstant(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"master", "master-aes"} {
		seektest.Counted(t, name, func(t *testing.T) {
			dir := masterPresentation(t)
			if name == "master-aes" {
				encryptedMaster(t)
			}
			o := newOrigin()
			o.putFolder(t, "https://host.test/m", filepath.Join(tempDir, name))
			const a, b = 9.5, 13.2
			m := o.mustOpen(t, "https://host.test/m/master.m3u8", formats.Env{})
			s := between(a, b)
			for _, x := range m.Info().Tracks {
				if x.Kind == formats.Audio {
					s.Tracks = []string{x.ID}
				}
			}
			s.Layout = mp4.Progressive
			have := checkDecodes(t, write(t, "clip.m4a", clip(t, m, mustPlan(t, m, s))))
			if len(have.Video) > 0 || len(have.Audio) != 1 {
				t.Fatalf("%d videos, %d sounds", len(have.Video), len(have.Audio))
			}
			zero := oracle.Original(t, wholeOf(t, dir, "0")).Video[0][0].Time
			sound := oracle.Original(t, wholeOf(t, dir, "2")).Audio[0]
			if begins := float64(sound.First) / float64(sound.Rate); zero-begins < 0.01 {
				t.Fatalf("the pictures begin at %g s, the sound at %g s: this tells nothing", zero, begins)
			}
			want := sound.Between(a+zero, b+zero)
			if r := oracle.CompareAudio(want, have.Audio[0].Between(0, b-a), have.Audio[0].Rate, have.Audio[0].Channels); r.Offset != 0 || r.Residual > -60 || r.Excess < 0 {
				t.Errorf("%s", r)
			}

			files := o.files()
			asked := strings.Join(files, " ")
			// Three playlists, an initialization and two segments of sound. Of encrypted
			// ones, which have a key, only the last block tells where they end.
			most := 3 + 1 + 2 + 2
			if name == "master-aes" {
				most += 2
			} else if trips := o.totals.Transfer().FirstMediaTrips; trips > 3 {
				t.Errorf("%d round trips", trips)
			}
			if len(files) > most || strings.Contains(asked, "v0_003") {
				t.Errorf("asked for %s", asked)
			}
		})
	}
}

// TestInStep: where the durations of the sound are wrong, and those of the
// pictures right, both are cut by one clock.
func TestInStep(t *testing.T) {
	t.Parallel()
	dir := masterPresentation(t)
	o := newOrigin()
	o.putFolder(t, "https://host.test/m", dir)
	text := head + "#EXT-X-MAP:URI=\"init2.mp4\"\n"
	for i := range 10 {
		text += fmt.Sprintf("#EXTINF:3.2,\nv2_%03d.m4s\n", i)
	}
	o.put("https://host.test/m/media2.m3u8", []byte(text+"#EXT-X-ENDLIST\n"))
	m := o.mustOpen(t, "https://host.test/m/master.m3u8", formats.Env{})
	s := between(13.1, 17.9)
	s.Layout = mp4.Progressive
	p := mustPlan(t, m, s)
	checkClip(t, dir, write(t, "clip.mp4", clip(t, m, p)), 13.1, 17.9)
	if !mentions(p.Warnings, "durations in the playlist are wrong") {
		t.Errorf("no warning: %v", p.Warnings)
	}
	if asked := strings.Join(o.files(), " "); strings.Contains(asked, "v2_000") {
		t.Errorf("asked for the beginning, though the clock was known: %s", asked)
	}
}

// TestTimestampMap: X-TIMESTAMP-MAP ties cues to the clock of the media, whatever
// either counts from. Without one they count from where that shows 0, unless that
// puts them outside of their segments.
func TestTimestampMap(t *testing.T) {
	ts := tsPresentation(t)
	for _, test := range []struct {
		name, media string
		moved       int64 // of the media's clock, in ticks
		// A map for each segment, and what its cues count from, in ms.
		header func(i int, zero int64) (string, int)
	}{
		{"a local time of its own", "ts", 0, func(_ int, zero int64) (string, int) {
			return fmt.Sprintf("LOCAL:00:01:40.000,MPEGTS:%d", zero), 100_000
		}},
		{"another for each segment", "ts", 0, func(i int, zero int64) (string, int) {
			return fmt.Sprintf("MPEGTS:%d,LOCAL:00:00:%02d.000", zero+int64(i)*4*mpegts.Clock, i*2), -2000 * i
		}},
		{"the clock of the media", "ts", 0, func(_ int, zero int64) (string, int) {
			return "LOCAL:00:00:00.000,MPEGTS:0", int(zero / 90)
		}},
		{"before the clock begins anew", "ts", mpegts.Wrap - 5*mpegts.Clock, func(_ int, zero int64) (string, int) {
			return fmt.Sprintf("MPEGTS:%d,LOCAL:00:01:40.000", zero%mpegts.Wrap), 100_000
		}},
		{"fragmented MP4", "mp4", 0, func(_ int, zero int64) (string, int) {
			return "LOCAL:00:00:00.000,MPEGTS:0", int(zero / 90)
		}},
		{"no map", "ts", 0, func(_ int, zero int64) (string, int) { return "", int(zero / 90) }},
		{"no map, and what the clock shows is a day from the cues", "ts", 86400 * mpegts.Clock, func(int, int64) (string, int) { return "", 0 }},
		{"no map, from the playlist's beginning", "ts", 0, func(int, int64) (string, int) { return "", 0 }},
		{"no map, from each segment's beginning", "ts", 0, func(i int, _ int64) (string, int) { return "", -4000 * i }},
	} {
		seektest.Counted(t, test.name, func(t *testing.T) {
			o := newOrigin()
			o.putFolder(t, "https://host.test/mp4", fmp4Presentation(t))
			for i := range 10 {
				name := fmt.Sprintf("s%03d.ts", i)
				b, err := io.ReadAll(mpegts.Shift(bytes.NewReader(readFile(t, ts, name)), test.moved))
				if err != nil {
					t.Fatal(err)
				}
				o.put("https://host.test/ts/"+name, b)
			}
			o.put("https://host.test/ts/media.m3u8", readFile(t, ts, "media.m3u8"))
			original, extra := joined(t, ts, numbered("s%03d.ts", 10)...), 1
			if test.media == "mp4" {
				original, extra = wholeOf(t, fmp4Presentation(t), "0"), 2
			}
			zero := int64(zeroOf(t, original)*mpegts.Clock+0.5) + test.moved
			list := head
			stamp := func(ms int) string { return fmt.Sprintf("00:%02d:%02d.%03d", ms/60_000, ms/1000%60, ms%1000) }
			for i := range 10 {
				header, from := test.header(i, zero)
				text := "WEBVTT\n"
				if header != "" {
					text += "X-TIMESTAMP-MAP=" + header + "\n"
				}
				for at := i * 4000; at < (i+1)*4000; at += 1500 {
					text += fmt.Sprintf("\n%s --> %s\ncue of %d\n", stamp(at+from), stamp(at+from+1000), at)
				}
				name := fmt.Sprintf("t%d.vtt", i)
				o.put("https://host.test/"+name, []byte(text))
				list += "#EXTINF:4,\n" + name + "\n"
			}
			o.put("https://host.test/subs.m3u8", []byte(list+"#EXT-X-ENDLIST\n"))
			o.put("https://host.test/master.m3u8", []byte(`#EXTM3U
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="Subs",URI="subs.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS="avc1.64001f,mp4a.40.2",SUBTITLES="s"
`+test.media+"/media.m3u8\n"))
			m := o.mustOpen(t, "https://host.test/master.m3u8", formats.Env{})
			s := between(9.3, 14.1)
			s.Tracks = []string{"subtitle/Subs"}
			got := string(clip(t, m, mustPlan(t, m, s)))
			want := "WEBVTT\n"
			for _, x := range []struct {
				from, to string
				cue      int
			}{{"00.200", "01.200", 9500}, {"01.700", "02.700", 11000}, {"02.700", "03.700", 12000}, {"04.200", "04.800", 13500}} {
				want += fmt.Sprintf("\n00:00:%s --> 00:00:%s\ncue of %d\n", x.from, x.to, x.cue)
			}
			if got != want {
				t.Errorf("got %s\nwant %s", got, want)
			}
			if files := o.files(); len(files) != 3+2+extra || o.totals.Transfer().FirstMediaTrips > budget.TripsHLS(3) {
				t.Errorf("%d round trips for %v", o.totals.Transfer().FirstMediaTrips, files)
			}
		})
	}
}

// TestNoTimestampMap: where all of several readings put the cues in their segments,
// they go by the clock of the media.
func TestNoTimestampMap(t *testing.T) {
	s := segment{duration: time.Minute}
	c := &cut{list: &media{segments: []segment{s}}, clocks: map[int64]time.Duration{0: 1400 * time.Millisecond}}
	v := readVTT([]byte("WEBVTT\n\n00:10.000 --> 00:11.000\nx\n"))
	if got := c.unmapped(map[int]vtt{0: v})(v, &s); got != -1400*time.Millisecond {
		t.Errorf("cues are moved by %v, want by that of the clock", got)
	}
}
