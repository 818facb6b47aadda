package mp4_test

import (
	"bytes"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	ffmp4 "github.com/Eyevinn/mp4ff/mp4"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/seek"
)

// TestSignedOffsets makes fragmented clips of files whose composition offsets are
// negative. ffmpeg adds the lowest of them to the times of all samples of a
// fragmented file: clips have none. By the written rule, too, every picture is where
// it was, and the index begins with the earliest.
func TestSignedOffsets(t *testing.T) {
	tools.Need(t, "ffmpeg", "ffprobe")
	for name, flags := range map[string]string{
		"progressive": "+negative_cts_offsets",
		"indexed":     "+frag_keyframe+empty_moov+negative_cts_offsets+default_base_moof",
		"searched":    "+frag_keyframe+empty_moov+negative_cts_offsets+default_base_moof+skip_trailer",
	} {
		m := made{name: "negative-" + name, args: args(picture25, x264), mux: "movflags=" + flags}
		original, err := os.ReadFile(m.path(t))
		if err != nil {
			t.Fatal(err)
		}
		read := isoFragments
		if name == "progressive" {
			read = isoTracks
		}
		times := map[[32]byte]float64{}
		for _, s := range read(t, original)[0].samples {
			times[s.hash] = s.time
		}
		o := mustOpen(t, m.path(t))
		for _, timeline := range []formats.Timeline{formats.Zero, formats.Original} {
			sel := between(5.01, 7)
			sel.Layout, sel.Timeline = mp4.Fragmented, timeline
			_, path := o.cut(t, sel)
			from, begins := -1e-3, 5.01
			if timeline == formats.Original {
				from, begins = 5.01, 0
			}
			first, earliest := math.Inf(1), math.Inf(1)
			for line := range strings.Lines(string(oracle.Run(t, "ffprobe", "-v", "error", "-show_entries", "packet=pts_time", "-of", "csv=p=0", path))) {
				at, err := strconv.ParseFloat(strings.Trim(line, ",\n"), 64)
				if err != nil {
					t.Fatal(err)
				}
				if earliest = min(earliest, at); at >= from {
					first = min(first, at)
				}
			}
			if want := 5.04 - begins; math.Abs(first-want) > 1e-3 {
				t.Errorf("%s, %s: for ffmpeg, the first picture of the interval is at %.3f s, want %.3f", name, timeline, first, want)
			}
			clip, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			samples := isoFragments(t, clip)[0].samples
			least, shown := math.Inf(1), 0
			for i, s := range samples {
				at, ok := times[s.hash]
				if !ok || math.Abs(s.time-(at-begins)) > 1e-3 {
					t.Fatalf("%s, %s: sample %d is at %.3f s, want %.3f", name, timeline, i, s.time, at-begins)
				}
				if least = min(least, s.time); s.time >= from {
					shown++
				}
			}
			if shown < 49 { // those from 5.04 to 6.96 s
				t.Errorf("%s, %s: %d pictures from the beginning of the interval on, want at least 49", name, timeline, shown)
			}
			if math.Abs(earliest-least) > 1e-3 {
				t.Errorf("%s, %s: for ffmpeg, the earliest picture is at %.3f s, want %.3f", name, timeline, earliest, least)
			}
			checkFirstTime(t, clip, least)
		}
	}
}

// checkFirstTime checks that a clip's index, where it has one, begins with a sample
// that is presented at a time in seconds.
func checkFirstTime(t *testing.T, clip []byte, want float64) {
	t.Helper()
	file, err := ffmp4.DecodeFile(bytes.NewReader(clip))
	if err != nil {
		t.Fatal(err)
	}
	if file.Sidx == nil {
		return
	}
	trak := file.Init.Moov.Trak
	at := float64(file.Sidx.EarliestPresentationTime) / float64(file.Sidx.Timescale)
	for _, e := range trak.Edts.Elst[0].Entries {
		if e.MediaTime < 0 {
			at += float64(e.SegmentDuration) / float64(file.Init.Moov.Mvhd.Timescale)
		} else {
			at -= float64(e.MediaTime) / float64(trak.Mdia.Mdhd.Timescale)
		}
	}
	if math.Abs(at-want) > 1e-3 {
		t.Errorf("by its index the clip begins at %.3f s, want %.3f", at, want)
	}
}

// TestSignedOffsetsStay: fragments that are passed on unread keep their offsets, and
// so do those that are written beside them, before or after: one edit list is for all.
func TestSignedOffsetsStay(t *testing.T) {
	tools.Need(t, "ffmpeg")
	m := made{name: "negative-segments", args: args(picture25, x264), mux: "movflags=+frag_keyframe+empty_moov+negative_cts_offsets+default_base_moof+skip_trailer"}
	original, err := os.ReadFile(m.path(t))
	if err != nil {
		t.Fatal(err)
	}
	times := map[[32]byte]float64{}
	for _, s := range isoFragments(t, original)[0].samples {
		times[s.hash] = s.time
	}
	check := func(name string, clip []byte, begins float64) {
		samples := isoFragments(t, clip)[0].samples
		for i, s := range samples {
			if at, ok := times[s.hash]; !ok || math.Abs(s.time-(at-begins)) > 1e-3 {
				t.Fatalf("%s: sample %d of %d is at %.3f s, want %.3f", name, i, len(samples), s.time, at-begins)
			}
		}
		if len(samples) < 150 {
			t.Errorf("%s: %d samples", name, len(samples))
		}
	}

	sel := between(2.51, 11)
	sel.Layout = mp4.Fragmented
	_, path := mustOpen(t, m.path(t)).cut(t, sel)
	clip, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check("one file", clip, 2.51)

	pieces := bytes.Split(original, []byte("moof"))
	var init []byte
	var segments []mp4.Segment
	opener := seektest.Opener{}
	for i, p := range pieces {
		data := p
		if i < len(pieces)-1 {
			data = p[:len(p)-4] // the size of the next
		}
		if i == 0 {
			init = data
			continue
		}
		size := pieces[i-1][len(pieces[i-1])-4:]
		data = slices.Concat(size, []byte("moof"), data)
		source := seektest.New(data)
		source.Info.Name = strconv.Itoa(i)
		opener[source.Info.Name] = source
		segments = append(segments, mp4.Segment{
			Resource: source.Info, Range: seek.Range{Length: int64(len(data))}, Start: fragment.Seconds(int64(2 * (i - 1))), Data: data,
		})
	}
	r, err := mp4.OpenRendition(init, segments, formats.Env{Opener: opener})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	clip = nil
	for _, cut := range []mp4.RenditionCut{ // a clip whose end is yet to come, and twice what goes on
		{Last: 1, Open: true},
		{Last: 4, Open: true, Given: 2},
		{Last: 5, Given: 5},
	} {
		cut.Rendition, cut.First = r, 1
		cut.Interval = fragment.Between(fragment.FromSeconds(2.51), fragment.FromSeconds(11))
		plan, err := mp4.PlanRenditions(t.Context(), []mp4.RenditionCut{cut}, formats.Selection{Layout: mp4.Fragmented})
		if err != nil {
			t.Fatal(err)
		}
		reader := seek.NewReader(t.Context(), plan.Parts, opener, 0)
		defer reader.Close()
		part, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		clip = append(clip, part...)
	}
	check("in three plans", clip, 2.51)
}
