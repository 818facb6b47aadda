package ogg_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// TestLastPacket: of the last packets of Vorbis, which the last granule position
// trims, and of the first, decoders yield what the plan says that is presented.
// Where a clip has one packet that sounds and begins within it, that is all of the
// packet, also what of it is behind the end of the file.
func TestLastPacket(t *testing.T) {
	tools.Need(t, "ffmpeg", "oggdec", "oggenc")
	behind := 0
	rates := []int{11025, 48000}
	if tools.Full() {
		rates = append(rates, 8000, 16000, 22050, 32000, 44100)
	}
	for _, rate := range rates {
		path := cached(name(float64(rate), 4)+".ogg", func(path string) { oggenc(sound(t, rate, 1, 4), "-q", "-1")(t, path) })
		whole := oggdec(t, untrimmed(t, path))
		o := mustOpen(t, path)
		length := o.Info().Duration.Seconds()
		var intervals []interval
		for _, d := range []float64{.001, .005, .02, .3} {
			intervals = append(intervals, interval{length - d, length})
		}
		intervals = append(intervals, interval{0, .0002}, interval{0, .01}, interval{length - .002, length - .001})
		for _, i := range intervals {
			for _, timeline := range []formats.Timeline{formats.Zero, formats.Original} {
				sel := between(i.a, i.b)
				sel.Timeline = timeline
				plan, clip := o.cut(t, sel)
				validate(t, clip)
				from, to := int(plan.Presented.Start.Round(int64(rate))), int(plan.Presented.End.Round(int64(rate)))
				if want := int(math.Round(i.a * float64(rate))); timeline == formats.Zero && from != want || from > want {
					t.Errorf("%d Hz, %v, %s: presented from sample %d on, want %d", rate, i, timeline, from, want)
				}
				if end := plan.Presented.End.Seconds(); end > length+1e-6 {
					behind++
				}
				if got := oggdec(t, clip); !bytes.Equal(got, whole[2*from:2*to]) {
					t.Errorf("%d Hz, %v, %s: oggdec yields %d samples that are not the %d presented", rate, i, timeline, len(got)/2, to-from)
				}
				got := oracle.Decode(t, clip)
				start := 0.0
				if timeline == formats.Original {
					start = plan.Presented.Start.Seconds()
				}
				if have := got.Audio[0].Between(start, start+10); got.Errors != "" || len(have) != to-from {
					t.Errorf("%d Hz, %v, %s: ffmpeg yields %d samples of the %d presented: %s", rate, i, timeline, len(have), to-from, got.Errors)
				}
			}
		}
	}
	if behind == 0 {
		t.Error("no interval is within a last packet that is trimmed")
	}
}

// TestLastPacketOfLink: where a clip of a chain begins within the last packet of a
// link, which the last granule position trims, and goes on in the next, decoders yield
// what the plan says that is presented, without what of the packet is behind the
// link's end. For that it begins with the packet.
func TestLastPacketOfLink(t *testing.T) {
	tools.Need(t, "oggdec", "oggenc")
	const longest = 2048 // samples that a packet yields, at most
	early := 0
	for _, rate := range []int{11025, 48000} {
		first, second := madeLink(t, rate, 4, 7), madeLink(t, rate, 4, 8)
		length := mustOpen(t, first).Info().Duration.Seconds()
		whole := slices.Concat(oggdec(t, first), oggdec(t, second))
		o := mustOpenBytes(t, slices.Concat(mustRead(t, first), mustRead(t, second)))
		for _, d := range []float64{.0002, .001, .005, .02, .3} {
			for _, timeline := range []formats.Timeline{formats.Zero, formats.Original} {
				sel := between(length-d, length+.5)
				sel.Timeline = timeline
				plan, clip := o.cut(t, sel)
				validate(t, clip)
				from, to := int(plan.Presented.Start.Round(int64(rate))), int(plan.Presented.End.Round(int64(rate)))
				want := int(math.Round((length - d) * float64(rate)))
				if from > want || from <= want-longest {
					t.Errorf("%d Hz, %g s before the end, %s: presented from sample %d on, want %d", rate, d, timeline, from, want)
				}
				if timeline == formats.Zero && from < want {
					early++
				}
				if got := oggdec(t, clip); !bytes.Equal(got, whole[2*from:2*to]) {
					t.Errorf("%d Hz, %g s before the end, %s: oggdec yields %d samples that are not the %d presented", rate, d, timeline, len(got)/2, to-from)
				}
			}
		}
	}
	if early == 0 {
		t.Error("no interval begins within a last packet that is trimmed")
	}
}

// madeLink makes a file of Vorbis of so many seconds, with the serial number given.
func madeLink(t *testing.T, rate, length, serial int) string {
	t.Helper()
	return cached(fmt.Sprintf("link-%d-%d-%d.ogg", rate, length, serial), func(path string) {
		oracle.Run(t, "oggenc", "-Q", "-s", fmt.Sprint(serial), "-q", "-1", "-o", path, sound(t, rate, 1, length))
	})
}

// TestLastPacketVerbatim: of pages as they are, too, what is presented and covered of
// the last packet ends where its granule position trims it. The file has one page of
// sound, so that the clip is the file.
func TestLastPacketVerbatim(t *testing.T) {
	tools.Need(t, "oggdec", "oggenc")
	for _, rate := range []int{11025, 48000} {
		path := madeLink(t, rate, 1, 7)
		whole := oggdec(t, path)
		o := mustOpen(t, path)
		length := o.Info().Duration.Seconds()
		for _, d := range []float64{.0002, .001, .005, .02, .3} {
			sel := between(length-d, length)
			sel.Form = formats.Verbatim
			plan, clip := o.cut(t, sel)
			from, to := int(plan.Presented.Start.Round(int64(rate))), int(plan.Presented.End.Round(int64(rate)))
			if got := oggdec(t, clip); !plan.Covered.End.Equal(plan.Presented.End) || to != len(whole)/2 || !bytes.Equal(got, whole[2*from:2*to]) {
				t.Errorf("%d Hz, %g s before the end: oggdec yields %d samples, presented %v, covered %v of %d", rate, d, len(got)/2, plan.Presented, plan.Covered, len(whole)/2)
			}
		}
	}
}

// oggdec returns the samples of a file of one channel, 16 bits each.
func oggdec(t *testing.T, path string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "pcm")
	oracle.Run(t, "oggdec", "-Q", "-R", "-o", out, path)
	return mustRead(t, out)
}

// untrimmed returns a copy of a file whose last granule position trims nothing.
func untrimmed(t *testing.T, path string) string {
	t.Helper()
	pages := oggPages(t, mustRead(t, path))
	var data []byte
	for i, p := range pages {
		if i == len(pages)-1 {
			p.granule += 1 << 20
		}
		data = append(data, p.bytes()...)
	}
	out := filepath.Join(t.TempDir(), "whole.ogg")
	if err := os.WriteFile(out, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestOriginalOpus: with the original's times, too, the end of Opus is cut where all of
// a clip stands on one page of the original.
func TestOriginalOpus(t *testing.T) {
	tools.Need(t, "ffmpeg", "opusdec")
	o := mustOpen(t, madeNamed(t, "opus-long-pages").path(t))
	for _, i := range []interval{{2.4, 2.503}, {2.4, 2.4001}, {3.0003, 3.5}} {
		sel := between(i.a, i.b)
		sel.Timeline = formats.Original
		plan, clip := o.cut(t, sel)
		validate(t, clip)
		out := filepath.Join(t.TempDir(), "pcm")
		oracle.Run(t, "opusdec", "--quiet", "--rate", "48000", clip, out+".raw")
		want := int(plan.Presented.End.Round(48000) - plan.Presented.Start.Round(48000))
		if got := len(mustRead(t, out+".raw")) / 2; got != want || want < 48000 {
			t.Errorf("%v: opusdec yields %d samples of the %d presented", i, got, want)
		}
	}
}
