package fragment

// Outcome says what a temporal dimension comes to on a medium (section 6).
type Outcome int

// Outcomes. The zero value is Whole.
const (
	Whole   Outcome = iota // no valid temporal dimension: everything
	Part                   // an interval that begins within the medium
	SeekEnd                // an interval at or beyond the end: no time at all
)

// String returns "whole", "part" or "seek-end".
func (o Outcome) String() string {
	switch o {
	case Whole:
		return "whole"
	case Part:
		return "part"
	case SeekEnd:
		return "seek-end"
	default:
		return "unknown outcome"
	}
}

// Interval returns what f asks for as far as its text says, for media whose
// duration is not known: [0, ∞) and Whole where f has no temporal dimension, its
// interval and Part otherwise.
func (f Fragment) Interval() (Interval, Outcome) {
	if f.Time == nil {
		return From(Time{}), Whole
	}
	return f.Time.Interval, Part
}

// Resolve returns the stretch of a medium of the given duration, in seconds,
// that f asks for (sections 6.1.1 and 6.3.2). An end that is open or beyond the
// medium is the medium's. A start at or beyond the medium's end is valid: a
// player goes to the end, and the interval is the empty one there.
func (f Fragment) Resolve(duration Time) (Interval, Outcome) {
	asked, outcome := f.Interval()
	if outcome == Part && !asked.Start.Less(duration) {
		return Between(duration, duration), SeekEnd
	}
	return asked.Clamp(duration), outcome
}
