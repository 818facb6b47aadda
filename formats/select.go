package formats

import (
	"github.com/mediafrag/mediafrag/fragment"
)

// Select maps a fragment to a selection on a medium (section 6 of the
// Recommendation): no valid time dimension selects the whole, an end past the
// duration is clamped. It fails with [ErrPastEnd] where the interval begins at
// or after the end of a medium whose duration is known. What the fragment asks
// for and the medium cannot give becomes a warning.
func Select(f fragment.Fragment, i Info) (Selection, []fragment.Warning, error) {
	s := Selection{Interval: fragment.From(fragment.Time{}), Tracks: f.Tracks}
	if f.Time != nil {
		s.Interval = f.Time.Interval
	}
	if i.Timed {
		if s.Interval.Start.Sign() > 0 && !s.Interval.Start.Less(i.Duration) {
			return s, nil, &PastEndError{Start: s.Interval.Start, Duration: i.Duration}
		}
		s.Interval = s.Interval.Clamp(i.Duration)
	}
	return s, nil, nil
}

// Selects reports whether f selects anything by itself: a time, tracks or an id.
func Selects(f fragment.Fragment) bool {
	return f.Time != nil || len(f.Tracks) > 0 || f.ID != nil
}

// Chosen returns the tracks that s selects of all: those it names, or those
// that are on by default. An unknown name is [ErrNoTrack].
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
	for _, id := range s.Tracks {
		found := false
		for _, t := range all {
			if t.ID == id || t.Name != "" && t.Name == id {
				out, found = append(out, t), true
				break
			}
		}
		if !found {
			return nil, &TrackError{ID: id, Have: all}
		}
	}
	return out, nil
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
