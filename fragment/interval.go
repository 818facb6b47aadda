package fragment

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

// Length returns End - Start in seconds; ok is false where the interval is open.
func (i Interval) Length() (length Time, ok bool) { return i.End.Sub(i.Start), !i.Open }

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
	end := []byte("null")
	if !i.Open {
		end, _ = i.End.MarshalJSON()
	}
	start, _ := i.Start.MarshalJSON()
	return append(append(append(append([]byte(`{"start":`), start...), `,"end":`...), end...), '}'), nil
}
