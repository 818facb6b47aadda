package mp4_test

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Eyevinn/mp4ff/bits"
	ffmp4 "github.com/Eyevinn/mp4ff/mp4"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/seek"
)

// clipOf cuts an interval and reads the clip back with mp4ff.
func clipOf(t *testing.T, o *opened, sel formats.Selection) (*formats.Plan, []isoTrack) {
	t.Helper()
	plan, path := o.cut(t, sel)
	clip, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(moovOf(t, clip)), "mvex") {
		return plan, isoFragments(t, clip)
	}
	return plan, isoTracks(t, clip)
}

// rereadClip cuts an interval and turns the clip into a progressive file for
// mp4ff: neither that nor ffmpeg reads fragments with several runs of which only
// the first tells where its data are.
func rereadClip(t *testing.T, o *opened, sel formats.Selection) (*formats.Plan, []isoTrack) {
	t.Helper()
	plan, path := o.cut(t, sel)
	again := between(0, -1)
	again.Layout = mp4.Progressive
	_, clip := clipOf(t, mustOpen(t, path), again)
	return plan, clip
}

// probedClip is clipOf by ffprobe, for fragments that mp4ff does not read: those
// whose offsets count from the end of the data before. The hashes are MD5 in
// hexadecimal.
func probedClip(t *testing.T, o *opened, sel formats.Selection) (*formats.Plan, []isoTrack) {
	t.Helper()
	tools.Need(t, "ffprobe")
	plan, path := o.cut(t, sel)
	out := make([]isoTrack, len(plan.Tracks))
	for _, p := range oracle.Packets(t, path) {
		s := isoSample{time: p.Time, end: p.End}
		copy(s.hash[:], p.Hash[len(p.Hash)-32:])
		out[p.Stream].samples = append(out[p.Stream].samples, s)
	}
	return plan, out
}

// timesOf returns the samples of a built track on the presentation's timeline,
// without what is in them.
func timesOf(t *testTrack, gap int) []isoSample {
	var out []isoSample
	var at int64
	var shift int64
	if len(t.edits) > 0 {
		shift = t.edits[0].mediaTime
	}
	for i, d := range t.durations {
		if gap > 0 && i == len(t.sizes)/2 {
			at += int64(gap) * int64(t.timescale)
		}
		offset := int64(0)
		if t.offsets != nil {
			offset = int64(t.offsets[i])
		}
		start := float64(at+offset-shift) / float64(t.timescale)
		out = append(out, isoSample{time: start, end: start + float64(d)/float64(t.timescale)})
		at += int64(d)
	}
	return out
}

// expected returns the samples of a built track on the presentation's timeline,
// with what is in them.
func expected(t *testTrack, gap int) []isoSample {
	out := timesOf(t, gap)
	for i := range out {
		out[i].hash = sha256.Sum256(t.payload(i))
	}
	return out
}

// checkBuilt compares the samples of a clip with those that were built: all
// that are presented in [a, b) are there, at their time, and no others are.
func checkBuilt(t *testing.T, f *fragmentedFile, clip []isoTrack, a, b float64) {
	t.Helper()
	checkRead(t, f, clip, a, b, "")
}

// checkRead is checkBuilt of a clip that was read in another way: "probed" by
// ffprobe, or "reread" by us, which leaves out what is not presented.
func checkRead(t *testing.T, f *fragmentedFile, clip []isoTrack, a, b float64, how string) {
	t.Helper()
	const eps = 2e-3
	if len(clip) != len(f.tracks) {
		t.Fatalf("the clip has %d tracks, want %d", len(clip), len(f.tracks))
	}
	for n, track := range f.tracks {
		have := map[[32]byte]isoSample{}
		for _, s := range clip[n].samples {
			have[s.hash] = s
		}
		wanted := 0
		for i, s := range timesOf(track, f.form.gap) {
			if s.time >= b-eps || s.end <= a+eps || how == "reread" && s.time < a-eps {
				continue
			}
			if s.hash = sha256.Sum256(track.payload(i)); how == "probed" {
				copy(s.hash[:], fmt.Sprintf("%x", md5.Sum(track.payload(i))))
			}
			got, ok := have[s.hash]
			if !ok {
				t.Errorf("track %d: sample %d at %.3f is missing", track.id, i, s.time)
				return
			}
			if math.Abs(got.time-(s.time-a)) > eps {
				t.Errorf("track %d: sample %d at %.3f is at %.3f of the clip", track.id, i, s.time, got.time)
				return
			}
			if s.time >= a-eps {
				wanted++
			}
		}
		shown := 0
		for _, s := range clip[n].samples {
			if s.time >= -eps && s.time < b-a-eps {
				shown++
			}
		}
		if shown != wanted {
			t.Errorf("track %d: %d samples begin in the clip's presentation, want %d", track.id, shown, wanted)
		}
	}
}

// between boxes that may stand between fragments.
func boxesBetween() []byte {
	out := mkbox("styp", []byte("msdh"), u32(0), []byte("msdh"))
	out = append(out, mkbox("emsg", u32(0), []byte("urn:x\x00\x00"), u32(1000, 0, 0, 1), []byte("event"))...)
	out = append(out, mkbox("prft", u32(1<<24, 1), make([]byte, 16))...)
	out = append(out, mkbox("ssix", u32(0, 0))...)
	return append(out, mkbox("free", make([]byte, 9))...)
}

// TestLongIntervalCost reads an interval of many fragments.
func TestLongIntervalCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, index := range []indexForm{flatIndex, tailIndex} {
			source := seektest.New(manyFragments(300, index).build())
			source.Latency = 15 * time.Millisecond
			o, err := open(t, source)
			if err != nil {
				t.Fatal(err)
			}
			plan, _ := o.cut(t, between(200.55, 250.03))
			got := o.Totals.Transfer()
			t.Logf("%s: %d requests, %d round trips, %d bytes", index, got.Requests, got.FirstMediaTrips, got.Bytes)
			if got.FirstMediaTrips > budget.TripsFragments || got.Bytes > budget.Bytes(plan.Needed) {
				t.Errorf("%s: %d round trips to the first media byte and %d bytes; want at most %d and %d", index, got.FirstMediaTrips, got.Bytes, budget.TripsFragments, budget.Bytes(plan.Needed))
			}
		}
	})
}

// TestManyMoofs takes as many fragments as become one index, too large to be read
// whole: their moofs come in one wave, and the media in another.
func TestManyMoofs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, index := range []indexForm{flatIndex, tailIndex} {
			f := manyFragments(100, index)
			for i := range f.tracks[0].sizes {
				f.tracks[0].sizes[i] *= 4
			}
			source := seektest.New(f.build())
			source.Latency = 30 * time.Millisecond
			o, err := open(t, source)
			if err != nil {
				t.Fatal(err)
			}
			plan, clip := clipOf(t, o, between(20.55, 83.95))
			checkBuilt(t, f, clip, 20.55, 83.95)
			got := o.Totals.Transfer()
			t.Logf("%s: %d requests, %d round trips, %d bytes", index, got.Requests, got.FirstMediaTrips, got.Bytes)
			if fragmented(plan) {
				t.Errorf("%s: the clip is fragmented", index)
			}
			if got.FirstMediaTrips > budget.TripsFragments || got.Bytes > budget.Bytes(plan.Needed) {
				t.Errorf("%s: %d round trips to the first media byte and %d bytes; want at most %d and %d", index, got.FirstMediaTrips, got.Bytes, budget.TripsFragments, budget.Bytes(plan.Needed))
			}
		}
	})
}

// TestFragmentForms cuts the same media out of fragmented files that say the
// same in different ways, with every kind of index.
func TestFragmentForms(t *testing.T) {
	forms := map[string]fragmentForm{
		"plain":           {},
		"absolute":        {absolute: true},
		"relative":        {relative: true},
		"old times":       {oldTimes: true},
		"Smooth":          {smooth: true, gap: 3},
		"three runs":      {runs: 3},
		"one moof each":   {apart: true},
		"others between":  {between: boxesBetween()},
		"empty fragment":  {empty: true},
		"endless mdat":    {endless: true},
		"two moovs":       {secondHdr: true},
		"a gap":           {gap: 3},
		"absolute, three": {absolute: true, runs: 3, apart: true},
	}
	indices := map[indexForm]formats.Index{
		flatIndex: mp4.Sidx, wideIndex: mp4.Sidx, trackIndex: mp4.Sidx, treeIndex: mp4.Sidx, chainIndex: mp4.Sidx,
		seriesIndex: mp4.Sidx, pairsIndex: mp4.Sidx, frontSeries: mp4.Sidx, eachIndex: mp4.None, tailIndex: mp4.Mfra, wideTail: mp4.Mfra, noIndex: mp4.None,
	}
	for formName, form := range forms {
		for index, kind := range indices {
			t.Run(formName+" "+string(index), func(t *testing.T) {
				if form.endless && (index == tailIndex || index == wideTail) {
					t.Skip("nothing can follow a box to the end of the file")
				}
				f := &fragmentedFile{tracks: []*testTrack{reordered(), tone()}, index: index, form: form}
				f.tracks[0].edits = []testEdit{{duration: 0, mediaTime: 100}}
				o := openBuilt(t, f.build())
				if got := o.Info().Index; got != kind {
					t.Errorf("the index is %s, want %s", got, kind)
				}
				for _, i := range []interval{{2.95, 7.05}, {8.7, 9.6}, {4.55, 6.03}, {0, 1.2}}[:full(4, 2)] {
					for _, layout := range []formats.Layout{"", mp4.Fragmented} {
						sel := between(i.a, i.b)
						sel.Layout = layout
						read, how := clipOf, ""
						switch {
						case kind != mp4.None:
						case form.relative:
							read, how = probedClip, "probed"
						case form.runs > 1:
							read, how = rereadClip, "reread"
						}
						plan, clip := read(t, o, sel)
						checkRead(t, f, clip, i.a, i.b, how)
						if len(plan.Parts) > 0 && how == "" && (layout == mp4.Fragmented || kind == mp4.None) {
							_, clip = rereadClip(t, o, sel) // its index and edits say the same
							checkRead(t, f, clip, i.a, i.b, "reread")
						}
						if t.Failed() {
							t.Fatalf("%v, layout %q: %v", i, layout, plan.Parts)
						}
					}
				}
			})
		}
	}
}

// manyFragments is a film of so many fragments of one second, each of some size.
func manyFragments(seconds int, index indexForm) *fragmentedFile {
	video := &testTrack{id: 1, handler: "vide", durations: repeat(uint32(100), 10*seconds)}
	sound := &testTrack{id: 2, durations: repeat(uint32(50), 20*seconds)}
	var r numbers = 3
	for i := range video.durations {
		video.sizes = append(video.sizes, uint32(2000+r.below(1000)))
		if i%10 == 0 {
			video.sync = append(video.sync, uint32(i+1))
			video.sizes[i] *= 8
		}
	}
	for range sound.durations {
		sound.sizes = append(sound.sizes, uint32(150+r.below(100)))
	}
	return &fragmentedFile{tracks: []*testTrack{video, sound}, index: index, limit: 50}
}

// TestManyFragments takes more fragments than are looked at: those in the middle
// pass on unread, in every layout.
func TestManyFragments(t *testing.T) {
	for _, index := range []indexForm{flatIndex, treeIndex, chainIndex, tailIndex, noIndex} {
		for _, absolute := range []bool{false, true} {
			f := manyFragments(120, index)
			f.form.absolute = absolute
			o := openBuilt(t, f.build())
			for _, timeline := range []formats.Timeline{formats.Zero, formats.Original} {
				sel := between(10.55, 110.03)
				sel.Timeline = timeline
				plan, clip := clipOf(t, o, sel)
				a := 10.55
				if timeline == formats.Original {
					for _, c := range clip { // times are the original's
						for n := range c.samples {
							c.samples[n].time -= a
						}
					}
				}
				checkBuilt(t, f, clip, a, 110.03)
				rewritten := 0
				for _, p := range plan.Parts {
					if p.Rewrite != nil {
						rewritten++
					}
				}
				if rewritten == 0 || rewritten > 8 {
					t.Errorf("%s: %d parts are passed on, want a few", index, rewritten)
				}
				sel.Layout = mp4.Progressive
				if _, err := o.Plan(t.Context(), sel); !errors.Is(err, formats.ErrUnsupported) {
					t.Errorf("%s, progressive: %v, want it refused by name", index, err)
				}
			}
		}
	}
}

// TestFalseMoof searches a file whose media hold what looks like the moof of one
// of its fragments, but is followed by no box.
func TestFalseMoof(t *testing.T) {
	f := manyFragments(120, noIndex)
	data := f.build()
	at := 0
	for range 81 {
		at += bytes.Index(data[at:], []byte("moof")) + 4
	}
	moof := data[at-8 : at-8+int(be.Uint32(data[at-8:]))]
	f.tracks[0].within = append(bytes.Clone(moof), bytes.Repeat([]byte{0xff}, 32)...)
	o := openBuilt(t, f.build())
	_, clip := clipOf(t, o, between(80.55, 84.03))
	checkBuilt(t, f, clip, 80.55, 84.03)
}

// TestOneTrackOfMany leaves a track out of fragments that pass on unread: the
// clip does not describe it any more.
func TestOneTrackOfMany(t *testing.T) {
	f := manyFragments(120, noIndex)
	o := openBuilt(t, f.build())
	sel := between(10.55, 110.03)
	sel.Tracks = []string{"1"}
	plan, clip := clipOf(t, o, sel)
	if len(plan.Tracks) != 1 || len(clip) != 1 {
		t.Fatalf("the clip has %d tracks, want one", len(clip))
	}
	only := &fragmentedFile{tracks: f.tracks[:1]}
	checkBuilt(t, only, clip, 10.55, 110.03)
	_, path := o.cut(t, sel)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := ffmp4.DecodeFileSR(bits.NewFixedSliceReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for _, segment := range file.Segments {
		for _, fr := range segment.Fragments {
			for _, traf := range fr.Moof.Trafs {
				if traf.Tfhd.TrackID != 1 {
					t.Fatalf("a fragment of the clip describes track %d", traf.Tfhd.TrackID)
				}
			}
		}
	}
}

// TestFragmentDefaults reads fragments that leave durations and sizes to the
// moov's trex.
func TestFragmentDefaults(t *testing.T) {
	video, sound := pictures(), tone()
	video.sizes, sound.sizes = repeat(uint32(31), 100), repeat(uint32(17), 200)
	for _, index := range []indexForm{flatIndex, noIndex} {
		f := &fragmentedFile{tracks: []*testTrack{video, sound}, index: index, form: fragmentForm{defaults: true}}
		_, clip := clipOf(t, openBuilt(t, f.build()), between(2.55, 7.03))
		checkBuilt(t, f, clip, 2.55, 7.03)
	}
}

// TestFragmentCost asserts what it takes to read an interval of a fragmented
// file, for each kind of index: requests, dependent round trips, bytes.
func TestFragmentCost(t *testing.T) {
	tests := []struct {
		index    indexForm
		trips    int
		requests int
		probes   int64 // bytes
	}{
		{flatIndex, budget.TripsFragmentsSmall, 4, 0},
		{trackIndex, budget.TripsFragmentsSmall, 4, 0},
		{tailIndex, budget.TripsFragmentsSmall, 4, 0},
		{treeIndex, budget.TripsFragments, 5, 0}, // a level of indices costs a trip
		{noIndex, 1 + budget.RoundsFragments, 30, budget.RoundsFragments * 4 * 64 << 10},
		{eachIndex, 1 + budget.RoundsFragments, 30, budget.RoundsFragments * 4 * 64 << 10},
	}
	for _, tt := range tests {
		seektest.Counted(t, string(tt.index), func(t *testing.T) {
			source := seektest.New(manyFragments(300, tt.index).build())
			source.Latency = 15 * time.Millisecond
			o, err := open(t, source)
			if err != nil {
				t.Fatal(err)
			}
			plan, _ := o.cut(t, between(200.55, 206.03))
			got := o.Totals.Transfer()
			t.Logf("%d bytes in %d requests, %d round trips to the first media byte; needed %d", got.Bytes, got.Requests, got.FirstMediaTrips, plan.Needed)
			if got.FirstMediaTrips > tt.trips || got.FirstMediaTrips == 0 {
				t.Errorf("%d round trips to the first media byte, want 1 to %d: %v", got.FirstMediaTrips, tt.trips, o.Source.Ranges())
			}
			if got.Requests > tt.requests {
				t.Errorf("%d requests, want at most %d: %v", got.Requests, tt.requests, o.Source.Ranges())
			}
			if most := budget.Bytes(plan.Needed) + tt.probes; got.Bytes > most {
				t.Errorf("%d bytes, want at most %d", got.Bytes, most)
			}
			totals := &seek.Totals{}
			o.Source.Observer = totals
			o.cut(t, between(120.05, 123.5))
			if again := totals.Transfer(); again.FirstMediaTrips > 1+budget.RoundsFragments {
				t.Errorf("another interval: %d round trips", again.FirstMediaTrips)
			} else {
				t.Logf("another interval: %d round trips, %d bytes", again.FirstMediaTrips, again.Bytes)
			}
		})
	}
}

// TestStrayAccessPoints reads files in whose mfra a few times contradict the
// others: it leads to the interval all the same, by as few requests, also where the
// fragments are whose times are wrong.
func TestStrayAccessPoints(t *testing.T) {
	f := manyFragments(300, tailIndex)
	right := f.build()
	for _, stray := range []struct {
		second int
		time   uint32 // milliseconds
	}{{150, 290_000}, {202, 0}, {204, 4_000_000}, {299, 1000}} {
		entry := 16 + 11*stray.second
		data := patch(patch(right, "tfra", 0, entry, u32(stray.time)...), "tfra", 1, entry, u32(stray.time)...)
		for _, i := range []interval{{200.55, 206.03}, {3.55, 4.55}, {298.5, 300}} {
			seektest.Counted(t, fmt.Sprintf("%d as %d %s", stray.second, stray.time, name(i.a, i.b)), func(t *testing.T) {
				source := seektest.New(data)
				source.Latency = 15 * time.Millisecond
				o, err := open(t, source)
				if err != nil {
					t.Fatal(err)
				}
				if got := o.Info().Index; got != mp4.Mfra {
					t.Errorf("the index is %s, want %s", got, mp4.Mfra)
				}
				plan, clip := clipOf(t, o, between(i.a, i.b))
				checkBuilt(t, f, clip, i.a, i.b)
				got := o.Totals.Transfer()
				if got.FirstMediaTrips > budget.TripsFragments || got.Requests > 6 || got.Bytes > budget.Bytes(plan.Needed) {
					t.Errorf("%d round trips to the first media byte, %d requests, %d bytes; want at most %d, 6 and %d: %v",
						got.FirstMediaTrips, got.Requests, got.Bytes, budget.TripsFragments, budget.Bytes(plan.Needed), source.Ranges())
				}
			})
		}
	}
}

// TestBeforeTheMedia cuts an interval that begins before the media: they begin
// as much later in the clip.
func TestBeforeTheMedia(t *testing.T) {
	f := &fragmentedFile{tracks: []*testTrack{pictures(), tone()}, index: flatIndex, form: fragmentForm{late: 2}}
	data := f.build()
	for _, layout := range []formats.Layout{mp4.Progressive, mp4.Fragmented} {
		sel := between(1.25, 4)
		sel.Layout = layout
		_, clip := clipOf(t, openBuilt(t, data), sel)
		if len(clip) != 2 {
			t.Fatalf("%s: %d tracks, want 2", layout, len(clip))
		}
		for _, track := range clip {
			if got := track.samples[0].time; math.Abs(got-0.75) > 2e-3 {
				t.Errorf("%s: track %d begins at %g, want 0.75", layout, track.id, got)
			}
		}
	}
}

// TestSearchSome searches for an interval in which one track presents nothing,
// and for a track that the first fragment does not have.
func TestSearchSome(t *testing.T) {
	late := tone()
	late.edits = []testEdit{{duration: 2000, mediaTime: -1}, {duration: 8000}}
	for _, index := range []indexForm{flatIndex, noIndex} {
		data := (&fragmentedFile{tracks: []*testTrack{pictures(), late}, index: index}).build()
		plan, _ := clipOf(t, openBuilt(t, data), between(0.5, 1.5))
		if len(plan.Tracks) != 1 || plan.Tracks[0].ID != "1" {
			t.Errorf("%s: the clip has %v, want the pictures alone", index, plan.Tracks)
		}
		sound := between(0.5, 1.5)
		sound.Tracks = []string{"2"}
		if _, err := openBuilt(t, data).Plan(t.Context(), sound); !errors.Is(err, formats.ErrNothing) {
			t.Errorf("%s: %v, want %v", index, err, formats.ErrNothing)
		}
	}
	text := tone()
	text.handler = "text"
	data := patch((&fragmentedFile{tracks: []*testTrack{pictures(), text}, index: noIndex}).build(), "tfhd", 1, 4, u32(99)...)
	sel := between(4.5, 6)
	sel.Tracks = []string{"2"}
	if plan, _ := clipOf(t, openBuilt(t, data), sel); len(plan.Tracks) != 1 {
		t.Errorf("the clip has %v, want the texts", plan.Tracks)
	}
}
