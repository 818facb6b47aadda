package formats_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

func sec(text string) fragment.Time {
	t, err := fragment.ParseTime(text)
	if err != nil {
		panic(err)
	}
	return t
}

func timed(duration string) formats.Info { return formats.Info{Timed: true, Duration: sec(duration)} }

func TestSelect(t *testing.T) {
	between := func(a, b string) fragment.Interval { return fragment.Between(sec(a), sec(b)) }
	tests := []struct {
		fragment string
		info     formats.Info
		want     fragment.Interval
		pastEnd  bool
	}{
		{"t=2,5", timed("10"), between("2", "5"), false},
		{"t=2", timed("10"), between("2", "10"), false},
		{"t=,5", timed("10"), between("0", "5"), false},
		{"t=2,50", timed("10"), between("2", "10"), false},
		{"t=2,10", timed("10"), between("2", "10"), false},
		{"t=9.999", timed("10"), between("9.999", "10"), false},
		{"t=10", timed("10"), fragment.Interval{}, true},
		{"t=10,11", timed("10"), fragment.Interval{}, true},
		{"t=99999999999999999999", timed("10"), fragment.Interval{}, true},
		{"t=2,99999999999999999999", timed("10"), between("2", "10"), false},
		{"t=0,5", timed("0"), fragment.Interval{}, true},
		{"t=0", timed("0"), fragment.Interval{}, true},
		{"", timed("0"), between("0", "0"), false},
		{"", timed("10"), between("0", "10"), false},
		{"t=5,2", timed("10"), between("0", "10"), false}, // not valid: the whole
		{"t=2,5", formats.Info{}, between("2", "5"), false},
		{"t=2", formats.Info{}, fragment.From(sec("2")), false},
		{"t=99", formats.Info{}, fragment.From(sec("99")), false},
		{"", formats.Info{}, fragment.From(sec("0")), false},
		{"t=2", formats.Info{Timed: true, Estimated: true, Duration: sec("10")}, fragment.From(sec("2")), false},
		{"t=11,12", formats.Info{Timed: true, Estimated: true, Duration: sec("10")}, between("11", "12"), false},
	}
	for _, tt := range tests {
		s, warnings, err := formats.Select(fragment.Parse(tt.fragment), tt.info)
		var past *formats.PastEndError
		switch {
		case tt.pastEnd:
			if !errors.Is(err, formats.ErrPastEnd) || !errors.As(err, &past) || !past.Duration.Equal(tt.info.Duration) {
				t.Errorf("%q of %s s: %v, want %v", tt.fragment, tt.info.Duration, err, formats.ErrPastEnd)
			}
		case err != nil || warnings != nil || !cmp.Equal(s.Interval, tt.want):
			t.Errorf("%q of %s s: %s, %v, %v, want %s", tt.fragment, tt.info.Duration, s.Interval, warnings, err, tt.want)
		}
	}
}

func TestSelectTakesTheTracks(t *testing.T) {
	f := fragment.Fragment{Tracks: []string{"a", "b"}}
	s, _, err := formats.Select(f, timed("10"))
	if err != nil || !slices.Equal(s.Tracks, f.Tracks) || s.Form != "" || s.Timeline != "" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestSelects(t *testing.T) {
	id := "chapter 1"
	tests := []struct {
		f    fragment.Fragment
		want bool
	}{
		{fragment.Fragment{}, false},
		{fragment.Parse("t=5,2"), false},
		{fragment.Parse("foo=1"), false},
		{fragment.Parse("t=1"), true},
		{fragment.Fragment{Tracks: []string{"a"}}, true},
		{fragment.Fragment{ID: &id}, true},
		{fragment.Fragment{Space: &fragment.Region{W: 1, H: 1}}, false}, // a region is of the picture, not of the file
	}
	for _, tt := range tests {
		if got := formats.Selects(tt.f); got != tt.want {
			t.Errorf("Selects(%+v) = %v", tt.f, got)
		}
	}
}

func TestChosen(t *testing.T) {
	all := []formats.Track{
		{ID: "1", Kind: formats.Video, Default: true},
		{ID: "2", Kind: formats.Audio, Default: true, Name: "main"},
		{ID: "3", Kind: formats.Audio, Name: "commentary"},
		{ID: "4", Kind: formats.Subtitle, Name: "2"},
		{ID: "main", Kind: formats.Metadata},
	}
	tests := []struct {
		names []string
		want  []string
		none  string
	}{
		{nil, []string{"1", "2"}, ""},
		{[]string{"3"}, []string{"3"}, ""},
		{[]string{"commentary", "1"}, []string{"3", "1"}, ""},
		{[]string{"3", "3"}, []string{"3"}, ""},
		{[]string{"3", "1", "commentary"}, []string{"3", "1"}, ""},
		{[]string{"2"}, []string{"2"}, ""},       // an ID before a name
		{[]string{"main"}, []string{"main"}, ""}, // also where the name stands first
		{[]string{"1", "5"}, nil, "5"},
		{[]string{""}, nil, ""},
		{[]string{"Commentary"}, nil, "Commentary"},
	}
	for _, tt := range tests {
		got, err := formats.Chosen(all, formats.Selection{Tracks: tt.names})
		var ids []string
		for _, track := range got {
			ids = append(ids, track.ID)
		}
		var none *formats.TrackError
		switch {
		case tt.want == nil:
			if !errors.Is(err, formats.ErrNoTrack) || !errors.As(err, &none) || none.ID != tt.none || len(none.Have) != len(all) {
				t.Errorf("%q: %q, %v", tt.names, ids, err)
			}
		case err != nil || !slices.Equal(ids, tt.want):
			t.Errorf("%q: %q, %v, want %q", tt.names, ids, err, tt.want)
		}
	}
}
