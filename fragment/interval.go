package fragment

import (
	"encoding/json"
	"fmt"
)

// Interval is the half-open stretch of time [Start, End). Where Open is set it
// has no end, and End is ignored. The zero value is empty.
type Interval struct {
	Start Time
	End   Time
	Open  bool
}

// Between returns [start, end).
func Between(start, end Time) Interval { return Interval{Start: start, End: end} }

// From returns [start, ∞).
func From(start Time) Interval { return Interval{Start: start, Open: true} }

// Empty reports whether no time lies in the interval.
func (i Interval) Empty() bool { return !i.Open && !i.Start.Less(i.End) }

// Contains reports whether Start ≤ t < End.
func (i Interval) Contains(t Time) bool { return !t.Less(i.Start) && (i.Open || t.Less(i.End)) }

// Clamp returns the interval with an end at or before end, closed.
func (i Interval) Clamp(end Time) Interval {
	if !i.Open {
		end = i.End.Min(end)
	}
	return Between(i.Start, end)
}

// Shift returns the interval moved by t seconds, later where t is positive.
func (i Interval) Shift(t Time) Interval {
	i.Start = i.Start.Add(t)
	if !i.Open {
		i.End = i.End.Add(t)
	}
	return i
}

// Length returns End - Start in seconds; ok is false where the interval is open.
// It is negative where the end comes before the start.
func (i Interval) Length() (length Time, ok bool) {
	if i.Open {
		return Time{}, false
	}
	return i.End.Sub(i.Start), true
}

// String returns "[60, 100)", with "∞" for an open end.
func (i Interval) String() string {
	end := "∞"
	if !i.Open {
		end = i.End.String()
	}
	return "[" + i.Start.String() + ", " + end + ")"
}

// MarshalJSON writes {"start": 60, "end": 100}; an open end is null.
func (i Interval) MarshalJSON() ([]byte, error) {
	v := intervalJSON{Start: &i.Start}
	if !i.Open {
		v.End = &i.End
	}
	return json.Marshal(v)
}

// UnmarshalJSON reads what MarshalJSON writes. A start must be there; an end
// that is null or missing is an open one.
func (i *Interval) UnmarshalJSON(b []byte) error {
	var v intervalJSON
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	if v.Start == nil {
		return fmt.Errorf("fragment: an interval in JSON needs a start")
	}
	*i = From(*v.Start)
	if v.End != nil {
		*i = Between(*v.Start, *v.End)
	}
	return nil
}

type intervalJSON struct {
	Start *Time `json:"start"`
	End   *Time `json:"end"`
}
