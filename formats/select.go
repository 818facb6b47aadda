package formats

import (
	"slices"

	"github.com/mediafrag/mediafrag/fragment"
)

// Select maps a fragment to a selection on a medium (section 6 of the
// Recommendation): no valid time dimension selects the whole, an end past the
// duration is clamped. It fails with [ErrPastEnd] where an interval that the
// fragment names begins at or after the end of a medium whose duration is
// known and no estimate. What the fragment asks for and the medium cannot give becomes a
// warning.
func Select(f fragment.Fragment, i Info) (Selection, []fragment.Warning, error) {
	s := Selection{Tracks: f.Tracks}
	var outcome fragment.Outcome
	if !i.Timed || i.Estimated { // the plan finds out where the medium ends
		s.Interval, _ = f.Interval()
		return s, nil, nil
	}
	if s.Interval, outcome = f.Resolve(i.Duration); outcome == fragment.SeekEnd {
		return s, nil, &PastEndError{Start: f.Time.Start, Duration: i.Duration}
	}
	return s, nil, nil
}

// Selects reports whether f selects anything by itself: a time, tracks or an id.
func Selects(f fragment.Fragment) bool {
	return f.Time != nil || len(f.Tracks) > 0 || f.ID != nil
}

// Chosen returns the tracks that s selects of all: those it names, by ID or
// name, in that order and each once, or where it names none those that are on
// by default. What is not there is [ErrNoTrack].
func Chosen(all []Track, s Selection) ([]Track, error) {
	var out []Track
	if len(s.Tracks) == 0 {
		for _, t := range all {
			if t.Default {
				out = append(out, t)
			}
		}
		return out, nil
	}
	taken := map[string]bool{}
	for _, name := range s.Tracks {
		i := named(all, name)
		if i < 0 {
			return nil, &TrackError{ID: name, Have: all}
		}
		if !taken[all[i].ID] {
			taken[all[i].ID] = true
			out = append(out, all[i])
		}
	}
	return out, nil
}

// named returns the index of the track of an ID, else of a name, else -1.
func named(all []Track, name string) int {
	if i := slices.IndexFunc(all, func(t Track) bool { return t.ID == name }); i >= 0 {
		return i
	}
	return slices.IndexFunc(all, func(t Track) bool { return t.Name != "" && t.Name == name })
}

// TrackError is an [ErrNoTrack] that states which tracks there are.
type TrackError struct {
	ID   string
	Have []Track
}

// Error names the track and those there are.
func (e *TrackError) Error() string {
	s := ErrNoTrack.Error() + ": " + e.ID + "; there are"
	for _, t := range e.Have {
		s += " " + t.ID + " (" + string(t.Kind) + ")"
	}
	return s
}

// Unwrap returns [ErrNoTrack].
func (e *TrackError) Unwrap() error { return ErrNoTrack }
