package mp4_test

import (
	"bytes"
	"math"
	"os"
	"testing"
	"testing/synctest"

	"github.com/Eyevinn/mp4ff/bits"
	ffmp4 "github.com/Eyevinn/mp4ff/mp4"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/mp4"
)

// TestDivided cuts progressive files into fragments and compares the clips as
// those of fragmented files.
func TestDivided(t *testing.T) {
	t.Parallel()
	all := append([]made(nil), files...)
	for _, c := range codecs {
		all = append(all, c.made)
	}
	for n, m := range all {
		if !tools.Full() && n%6 != 0 && m.name != "coarse-timescale" {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			path := m.path(t)
			o := mustOpen(t, path)
			for _, i := range m.compared() {
				t.Run(name(i.a, i.b), func(t *testing.T) { m.compareLayout(t, o, path, i, mp4.Fragmented) })
			}
		})
	}
}

// TestDividedForms reads fragments made of progressive files of many forms back
// with mp4ff: every sample is at its time, the index tells where each fragment
// is and when it begins, and fragments are about 2 s long.
func TestDividedForms(t *testing.T) {
	tests := map[string]func(f *testFile){
		"plain":               func(*testFile) {},
		"one chunk":           func(f *testFile) { f.each(func(t *testTrack) { t.perChunk = 1000 }) },
		"sound behind":        func(f *testFile) { f.apart = true },
		"one size":            func(f *testFile) { f.each(func(t *testTrack) { t.sizes = repeat(uint32(13), len(t.sizes)) }) },
		"rare sync samples":   func(f *testFile) { f.tracks[0].sync = []uint32{1} },
		"sound only":          func(f *testFile) { f.tracks = f.tracks[1:] },
		"sound begins later":  func(f *testFile) { f.tracks[1].edits = []testEdit{{1800, -1, 0, false}, {0, 0, 0, false}} },
		"pictures end sooner": func(f *testFile) { f.tracks[0].edits = []testEdit{{2400, 100, 0, false}} },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			f := &testFile{tracks: []*testTrack{reordered(), tone()}}
			change(f)
			data := f.build()
			o := openBuilt(t, data)
			sel := between(2.55, 9.03)
			sel.Layout = mp4.Fragmented
			plan, path := o.cut(t, sel)
			clip, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			least, most := 3, 5
			if name == "rare sync samples" {
				least, most = 1, 1 // of 9 s: it begins at the only one
			}
			checkDivided(t, data, clip, 2.55, plan.Requested.End.Seconds(), least, most)
		})
	}
}

// TestFinerIndex divides at times that the track's timescale does not have: the
// clip has a finer one, in which its index counts as well.
func TestFinerIndex(t *testing.T) {
	for _, tt := range []struct {
		name  string
		track *testTrack
		ends  float64 // seconds from where decoding begins, at 2 s, on
	}{{"in order", pictures(), 7}, {"reordered", reordered(), 7.1}} {
		data := (&testFile{tracks: []*testTrack{tt.track, tone()}}).build()
		sel := between(2.5505, 9)
		sel.Layout = mp4.Fragmented
		_, path := openBuilt(t, data).cut(t, sel)
		clip, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if at := bytes.Index(clip, []byte("mdhd")) + 16; be.Uint32(clip[at:]) != 2000 {
			t.Errorf("%s: the clip has %d ticks a second, want 2000", tt.name, be.Uint32(clip[at:]))
		}
		if end := checkDivided(t, data, clip, 2.5505, 9, 3, 5); math.Abs(end-tt.ends) > 1e-6 {
			t.Errorf("%s: by the index it ends at %g s, want %g", tt.name, end, tt.ends)
		}
	}
}

// checkDivided compares a fragmented clip with the progressive original. It
// returns when the clip ends by its index, in seconds.
func checkDivided(t *testing.T, original, clip []byte, a, b float64, least, most int) (end float64) {
	t.Helper()
	tracks := map[uint32]isoTrack{}
	for _, c := range isoFragments(t, clip) {
		tracks[c.id] = c
	}
	for _, o := range isoTracks(t, original) {
		var want []isoSample
		for _, s := range o.samples {
			if s.time < b-1e-6 && s.end > a+1e-6 && (s.time >= a-1e-6 || o.handler != "vide") && s.time < o.shown {
				want = append(want, s)
			}
		}
		checkSamples(t, o.id, tracks[o.id].samples, want, a)
	}
	file, err := ffmp4.DecodeFileSR(bits.NewFixedSliceReader(clip))
	if err != nil {
		t.Fatal(err)
	}
	if file.Sidx == nil || len(file.Sidx.SidxRefs) < least || len(file.Sidx.SidxRefs) > most {
		t.Fatalf("the index is %+v; want one of %d to %d fragments", file.Sidx, least, most)
	}
	var at uint64
	time := file.Sidx.EarliestPresentationTime
	for _, box := range file.Children {
		if box.Type() == "moof" || box.Type() == "mdat" {
			break
		}
		at += box.Size()
	}
	for i, r := range file.Sidx.SidxRefs {
		if typ := clip[at+4 : at+8]; !bytes.Equal(typ, []byte("moof")) {
			t.Fatalf("fragment %d: the index leads to %q", i, typ)
		}
		first := true
		for end := at + uint64(r.ReferencedSize); at < end; {
			box, err := ffmp4.DecodeBoxSR(at, bits.NewFixedSliceReader(clip[at:]))
			if err != nil {
				t.Fatal(err)
			}
			at += box.Size()
			moof, ok := box.(*ffmp4.MoofBox)
			if !ok {
				continue
			}
			for _, traf := range moof.Trafs {
				if decode := uint64(traf.Tfdt.BaseMediaDecodeTime()); traf.Tfhd.TrackID == file.Sidx.ReferenceID && first {
					first = false
					if decode > time {
						t.Errorf("fragment %d begins to be decoded at %d, the index says that it is presented at %d", i, decode, time)
					}
				}
			}
		}
		time += uint64(r.SubSegmentDuration)
	}
	if at != uint64(len(clip)) {
		t.Errorf("the index ends at %d, the clip at %d", at, len(clip))
	}
	return float64(time) / float64(file.Sidx.Timescale)
}

// TestDividedCost asserts that a fragmented clip of a progressive file costs
// what the progressive one does: its fragments follow one another in the file.
func TestDividedCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, front := range map[string]bool{"moov in the head": true, "moov in the tail": false} {
			f := film()
			f.moovFirst = front
			f.tracks[0].perChunk, f.tracks[1].perChunk = 7, 14 // fragments begin amid chunks
			o := openSlow(t, f)
			sel := between(2.55, 8.03)
			sel.Layout = mp4.Fragmented
			plan, _ := o.cut(t, sel)
			got := o.Totals.Transfer()
			t.Logf("%s: %d requests, %d round trips to the first media byte, %d bytes; needed %d", name, got.Requests, got.FirstMediaTrips, got.Bytes, plan.Needed)
			if got.FirstMediaTrips > budget.TripsMP4 || got.Requests > 2+budget.Handful || got.Bytes > budget.Bytes(plan.Needed) {
				t.Errorf("%s: %v; want at most %d round trips, %d requests and %d bytes", name, got, budget.TripsMP4, 2+budget.Handful, budget.Bytes(plan.Needed))
			}
			for _, p := range plan.Parts {
				if p.Rewrite != nil {
					t.Errorf("%s: a part is rewritten", name)
				}
			}
		}
	})
}

// TestDividedOriginal keeps the original's times.
func TestDividedOriginal(t *testing.T) {
	f := &testFile{tracks: []*testTrack{reordered(), tone()}}
	data := f.build()
	sel := between(2.55, 9.03)
	sel.Layout, sel.Timeline = mp4.Fragmented, formats.Original
	_, path := openBuilt(t, data).cut(t, sel)
	clip, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	checkDivided(t, data, clip, 0, 0, 3, 5) // the index alone
	for n, c := range isoFragments(t, clip) {
		want := isoTracks(t, data)[n].samples
		checkSamples(t, c.id, c.samples, want[len(want)/2:len(want)*4/5], 0)
		if first := c.samples[0].time; first < 1.9 || first > 2.6 {
			t.Errorf("track %d begins at %.3f s, want about 2.5", c.id, first)
		}
	}
}

// TestDividedEncrypted divides encrypted tracks into fragments of which each is
// one run of samples, while the index names longer ones.
func TestDividedEncrypted(t *testing.T) {
	video, sound := pictures(), tone()
	video.perChunk, sound.perChunk = 1, 4
	video.entry = visual("encv", sinf("mp4v", "cbcs", u32(0, 0x100), make([]byte, 16), []byte{16}, make([]byte, 16)))
	for _, tt := range []struct {
		file        *testFile
		least, most int // fragments
	}{
		{&testFile{tracks: []*testTrack{video, sound}}, 40, 70},
		{&testFile{tracks: []*testTrack{video}}, 3, 5}, // its chunks follow one another
		{&testFile{tracks: []*testTrack{video, sound}, apart: true}, 6, 10},
	} {
		data := tt.file.build()
		sel := between(2.55, 9.03)
		sel.Layout = mp4.Fragmented
		plan, path := openBuilt(t, data).cut(t, sel)
		clip, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if end := checkDivided(t, data, clip, 2.55, 9.03, 3, 5); end != 7.1 { // from 2 s on
			t.Errorf("the index ends at %v s of the clip, want 7.1", end)
		}
		moofs, runs := bytes.Count(clip, []byte("moof")), bytes.Count(clip, []byte("trun"))
		if moofs != runs || moofs < tt.least || moofs > tt.most {
			t.Errorf("%d fragments of %d runs of samples, want one of each, %d to %d", moofs, runs, tt.least, tt.most)
		}
		back, last := 0, int64(0)
		for _, p := range plan.Parts {
			if p.Resource != nil {
				if p.Offset < last {
					back++
				}
				last = p.Offset
			}
		}
		if back > 3 { // where one of the index ends and another begins
			t.Errorf("the ranges go back %d times", back)
		}
	}
}
