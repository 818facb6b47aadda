package mp4_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/seek"
)

// TestCutOff cuts files that end too early: what is there comes, with a warning
// that says how far it goes, and beyond it there is an error by name.
func TestCutOff(t *testing.T) {
	film := &testFile{tracks: []*testTrack{reordered(), tone()}, moovFirst: true}
	film.tracks[0].perChunk, film.tracks[1].perChunk = 2, 4
	front := film.build()
	apart := (&testFile{tracks: []*testTrack{pictures(), tone()}, moovFirst: true, apart: true}).build()
	indexed := (&fragmentedFile{tracks: []*testTrack{pictures(), tone()}, index: flatIndex}).build()
	bare := (&fragmentedFile{tracks: []*testTrack{pictures(), tone()}, index: noIndex}).build()
	untimed := (&fragmentedFile{tracks: []*testTrack{pictures(), tone()}, index: noIndex, form: fragmentForm{untimed: true}}).build()
	moof := func(data []byte, n int) int { // where the n-th fragment begins
		at := 0
		for range n {
			at += bytes.Index(data[at:], []byte("moof")) + 4
		}
		return at - 8
	}
	media := func(data []byte, percent int) []byte { // as much of the mdat
		at := bytes.Index(data, []byte("mdat")) + 4
		return data[:at+(len(data)-at)*percent/100]
	}
	tests := []struct {
		name        string
		data        []byte
		least, most float64 // until when the clip lasts that begins at 2.05 s
		tracks      int
	}{
		{"progressive", media(front, 70), 5.5, 8, 2},
		{"sound behind the pictures", media(apart, 45), 9.5, 9.5, 1}, // of the sound, the first second alone
		{"in the media of a fragment, with a sidx", indexed[:moof(indexed, 8)+700], 7, 8, 2},
		{"in a moof, with a sidx", indexed[:moof(indexed, 8)+60], 7, 7, 2},
		{"between fragments, with a sidx", indexed[:moof(indexed, 8)], 7, 7, 2},
		{"in the media of a fragment", bare[:moof(bare, 8)+700], 7, 8, 2},
		{"in a moof", bare[:moof(bare, 8)+60], 7, 7, 2},
		{"in a moof, untimed", untimed[:moof(untimed, 8)+60], 7, 7, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, layout := range []formats.Layout{"", mp4.Fragmented} {
				sel := between(2.05, 9.5)
				sel.Layout = layout
				o := openBuilt(t, tt.data)
				plan, path := o.cut(t, sel)
				if end := plan.Requested.End.Seconds(); end < min(tt.least, 9.5) || end > min(tt.most, 9.5) {
					t.Errorf("%q: the clip ends at %g s, want one between %g and %g", layout, end, tt.least, tt.most)
				}
				if len(plan.Tracks) != tt.tracks {
					t.Errorf("%q: %d tracks, want %d", layout, len(plan.Tracks), tt.tracks)
				}
				if len(plan.Warnings) == 0 || !strings.Contains(plan.Warnings[0].Reason, "cut off") {
					t.Errorf("%q: warnings %v, want one that says that the file is cut off", layout, plan.Warnings)
				}
				clip, err := os.ReadFile(path)
				if err != nil || int64(len(clip)) != plan.Size {
					t.Errorf("%q: %d bytes of %d, %v", layout, len(clip), plan.Size, err)
				}
				sel = between(1.05, 1.5)
				sel.Layout = layout
				if plan, _ := o.cut(t, sel); len(plan.Warnings) > 0 && tt.tracks == 2 {
					t.Errorf("%q: warnings %v of an interval that is there", layout, plan.Warnings)
				}
				sel = between(9, 9.5)
				sel.Layout = layout
				_, err = o.Plan(t.Context(), sel)
				if past := new(formats.PastEndError); tt.tracks == 2 && !errors.Is(err, formats.ErrDamaged) && !errors.As(err, &past) {
					t.Errorf("%q: %v of an interval that is not there", layout, err)
				}
			}
		})
	}
}

// TestLyingIndex: where an index leads to no fragment, they are looked for.
func TestLyingIndex(t *testing.T) {
	f := &fragmentedFile{tracks: []*testTrack{pictures(), tone()}, index: flatIndex}
	data := f.build()
	want, _ := clipOf(t, openBuilt(t, data), between(4.05, 5.5))
	at := bytes.Index(data, []byte("sidx")) + 4 + 24 + 12*3
	a, b := be.Uint32(data[at:]), be.Uint32(data[at+12:])
	be.PutUint32(data[at:], a-40)
	be.PutUint32(data[at+12:], b+40)
	plan, clip := clipOf(t, openBuilt(t, data), between(4.05, 5.5))
	if !plan.Presented.Start.Equal(want.Presented.Start) && plan.Presented.Start.Seconds() > 4.05 {
		t.Errorf("presented %v", plan.Presented)
	}
	for _, track := range clip {
		source := f.tracks[track.id-1]
		first := 40
		if track.id == 2 {
			first = 81
		}
		if hash := expected(source, 0)[first].hash; track.samples[0].hash != hash && !holds(track.samples, hash) {
			t.Errorf("track %d does not have sample %d", track.id, first)
		}
	}
}

// holds reports whether a sample is among others.
func holds(samples []isoSample, hash [32]byte) bool {
	for _, s := range samples {
		if s.hash == hash {
			return true
		}
	}
	return false
}

// TestGapIsSaid: a clip says where its file has nothing.
func TestGapIsSaid(t *testing.T) {
	f := &fragmentedFile{tracks: []*testTrack{pictures(), tone()}, index: noIndex}
	data := f.build()
	at := 0
	for range 6 {
		at += bytes.Index(data[at:], []byte("moof")) + 4
	}
	clear(data[at-4 : at+100])
	plan, _ := openBuilt(t, data).cut(t, between(4.05, 6.5))
	said := 0
	for _, w := range plan.Warnings {
		if strings.Contains(w.Reason, "has nothing between 5.000 s and 6.000 s") {
			said++
		}
	}
	if said != 2 {
		t.Errorf("warnings %v, want one for each track", plan.Warnings)
	}
	intact, _ := openBuilt(t, f.build()).cut(t, between(4.05, 6.5))
	if len(intact.Warnings) > 0 {
		t.Errorf("warnings %v of the intact file", intact.Warnings)
	}
}

// TestGapIsMet: gaps between fragments that are passed on unread are told of once
// the clip has been read, those of tracks whose samples share a duration, too.
func TestGapIsMet(t *testing.T) {
	for _, tt := range []struct {
		form fragmentForm
		want int
	}{{fragmentForm{}, 0}, {fragmentForm{gap: 3}, 2}, {fragmentForm{gap: 3, smooth: true}, 2}, {fragmentForm{defaults: true}, 0}, {fragmentForm{defaults: true, gap: 3}, 2}} {
		f := manyFragments(100, noIndex)
		if f.form = tt.form; tt.form.defaults {
			for _, track := range f.tracks {
				track.sizes = repeat(uint32(1000), len(track.sizes))
			}
		}
		data := f.build()
		o := openBuilt(t, data)
		plan, err := o.Plan(t.Context(), between(44.05, 70.5))
		if err != nil {
			t.Fatal(err)
		}
		r := seek.NewReader(t.Context(), plan.Parts, o, 0)
		if _, err := r.WriteTo(io.Discard); err != nil {
			t.Fatal(err)
		}
		r.Close()
		said := 0
		for _, d := range r.Damage() {
			if strings.Contains(d.Problem, "has nothing for 3.000 s before this fragment") && string(data[d.Offset+4:d.Offset+8]) == "moof" {
				said++
			}
		}
		if said != tt.want || len(r.Damage()) != tt.want {
			t.Errorf("%+v: met %v, want %d gaps", tt.form, r.Damage(), tt.want)
		}
	}
}

// TestGapIsMetBeside: gaps where fragments that are passed on unread meet those
// that were read, and where two stretches of them meet, are told of, once each.
func TestGapIsMetBeside(t *testing.T) {
	// The file has nothing from 70 s to 73 s. A stretch of what is passed on has 40
	// fragments where pictures are large, which an index with times for one track
	// tells of that.
	for _, tt := range []struct {
		index indexForm
		large bool
		gap   int
		a, b  float64
		want  int
		wrong uint32 // by so many ms the index has the media from 50 s on too late
	}{
		{noIndex, false, 3, 69.05, 150, 2, 0}, // behind what was read
		{flatIndex, false, 3, 69.05, 150, 2, 0},
		{tailIndex, false, 3, 69.05, 150, 2, 0},
		{noIndex, false, 3, 0.05, 73.5, 2, 0}, // before what was read
		{flatIndex, false, 3, 0.05, 73.5, 2, 0},
		{tailIndex, false, 3, 0.05, 73.5, 2, 0},
		{flatIndex, true, 3, 29.05, 150, 1, 0}, // between stretches
		{trackIndex, true, 3, 29.05, 150, 2, 0},
		{flatIndex, true, 3, 28.05, 150, 2, 0}, // in the second of them
		{noIndex, false, 0, 0.05, 140, 0, 0},
		{flatIndex, true, 0, 0.05, 140, 0, 0},
		{trackIndex, true, 0, 29.05, 140, 0, 0},
		{tailIndex, true, 0, 29.05, 140, 0, 0},
		{flatIndex, true, 0, 29.05, 140, 0, 700},
	} {
		f := manyFragments(140, tt.index)
		if tt.large {
			f.tracks[0].sizes = repeat(uint32(21_000), len(f.tracks[0].sizes))
		}
		f.form.gap = tt.gap
		data := f.build()
		if tt.wrong > 0 {
			at := bytes.Index(data, []byte("sidx")) + 28 + 12*49 + 4
			be.PutUint32(data[at:], be.Uint32(data[at:])+tt.wrong)
		}
		o := openBuilt(t, data)
		plan, err := o.Plan(t.Context(), between(tt.a, tt.b))
		if err != nil {
			t.Fatal(err)
		}
		r := seek.NewReader(t.Context(), plan.Parts, o, 0)
		if _, err := r.WriteTo(io.Discard); err != nil {
			t.Fatal(err)
		}
		r.Close()
		told := map[string]int{}
		for _, d := range r.Damage() {
			if at := data[d.Offset+4 : d.Offset+8]; strings.Contains(d.Problem, "has nothing for 3.000 s before this fragment") && string(at) == "moof" {
				told[d.Problem]++
			}
		}
		if len(told) != tt.want || len(r.Damage()) != tt.want || len(plan.Warnings) > 0 {
			t.Errorf("%+v: met %v, want %d gaps; warned %v", tt, r.Damage(), tt.want, plan.Warnings)
		}
	}
}
