package fragment

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// Time is an exact point or length of time in seconds, kept as a rational
// number so that neither 61.029 nor 1001/30000 drifts. It has no upper limit:
// a URI may name a time beyond any medium. The zero value is 0 s. A Time is
// immutable; compare with [Time.Cmp] or [Time.Equal], never with ==.
type Time struct {
	rat *big.Rat // nil is 0; never modified after construction
}

// Seconds returns the time of n whole seconds.
func Seconds(n int64) Time { return Ticks(n, 1) }

// Ticks returns the time of n ticks of a clock that counts timescale ticks a
// second. Timescale must be positive: like [big.NewRat], Ticks panics on 0, so
// a timescale that comes from a file is checked before.
func Ticks(n, timescale int64) Time { return Time{big.NewRat(n, timescale)} }

// FromRat returns the time of r seconds; nil is 0.
func FromRat(r *big.Rat) Time {
	if r == nil {
		return Time{}
	}
	return Time{new(big.Rat).Set(r)}
}

// FromSeconds returns the time that s, a decimal number of seconds, spells
// exactly in the shortest notation that names it: 0.1 is 1/10. Infinities and
// NaN give 0.
func FromSeconds(s float64) Time {
	if math.IsNaN(s) || math.IsInf(s, 0) {
		return Time{}
	}
	r, _ := new(big.Rat).SetString(strconv.FormatFloat(s, 'g', -1, 64))
	return Time{r}
}

func (t Time) value() *big.Rat {
	if t.rat == nil {
		return new(big.Rat)
	}
	return t.rat
}

// Rat returns a copy of the exact value in seconds.
func (t Time) Rat() *big.Rat { return new(big.Rat).Set(t.value()) }

// Cmp returns -1, 0 or +1 as t is before, at or after u.
func (t Time) Cmp(u Time) int { return t.value().Cmp(u.value()) }

// Equal reports whether t and u are the same instant.
func (t Time) Equal(u Time) bool { return t.Cmp(u) == 0 }

// Less reports whether t is before u.
func (t Time) Less(u Time) bool { return t.Cmp(u) < 0 }

// Sign returns -1, 0 or +1 as t is negative, zero or positive.
func (t Time) Sign() int { return t.value().Sign() }

// Add returns t+u.
func (t Time) Add(u Time) Time { return Time{new(big.Rat).Add(t.value(), u.value())} }

// Sub returns t-u.
func (t Time) Sub(u Time) Time { return Time{new(big.Rat).Sub(t.value(), u.value())} }

// Min returns the earlier of t and u.
func (t Time) Min(u Time) Time {
	if u.Less(t) {
		return u
	}
	return t
}

// Max returns the later of t and u.
func (t Time) Max(u Time) Time {
	if t.Less(u) {
		return u
	}
	return t
}

// Floor returns t on a clock of timescale ticks a second, rounded down.
// Values that an int64 cannot hold become its largest or smallest.
func (t Time) Floor(timescale int64) int64 {
	q, _ := t.divide(timescale)
	return saturate(q)
}

// Ceil is Floor rounded up.
func (t Time) Ceil(timescale int64) int64 {
	q, exact := t.divide(timescale)
	if !exact {
		q.Add(q, big.NewInt(1))
	}
	return saturate(q)
}

// Round is Floor rounded to the nearest tick, halves up.
func (t Time) Round(timescale int64) int64 {
	return t.Add(Ticks(1, 1).scaled(1, 2*timescale)).Floor(timescale)
}

func (t Time) scaled(num, den int64) Time {
	return Time{new(big.Rat).Mul(t.value(), big.NewRat(num, den))}
}

// divide returns the largest whole number of ticks not after t, and whether it
// is t.
func (t Time) divide(timescale int64) (*big.Int, bool) {
	v := t.value()
	num := new(big.Int).Mul(v.Num(), big.NewInt(timescale))
	q, m := new(big.Int).DivMod(num, v.Denom(), new(big.Int)) // Euclidean: m >= 0
	return q, m.Sign() == 0
}

func saturate(v *big.Int) int64 {
	switch {
	case v.IsInt64():
		return v.Int64()
	case v.Sign() < 0:
		return math.MinInt64
	default:
		return math.MaxInt64
	}
}

// Seconds returns the nearest float64, in seconds.
func (t Time) Seconds() float64 {
	f, _ := t.value().Float64()
	return f
}

// Duration returns t in nanoseconds, rounded down. Times beyond about 292 years
// become the largest Duration.
func (t Time) Duration() time.Duration { return time.Duration(t.Floor(int64(time.Second))) }

// String returns t as the shortest exact decimal number of seconds, or, where
// no decimal is exact, rounded to nine digits after the point.
func (t Time) String() string {
	v := t.value()
	digits, exact := v.FloatPrec()
	if !exact {
		digits = 9
	}
	return trimZeros(v.FloatString(digits))
}

// MarshalJSON writes a decimal number of seconds with up to nine digits after
// the point.
func (t Time) MarshalJSON() ([]byte, error) { return []byte(trimZeros(t.value().FloatString(9))), nil }

// UnmarshalJSON reads a decimal number of seconds exactly.
func (t *Time) UnmarshalJSON(b []byte) error {
	s := string(b)
	if s == "null" {
		return nil
	}
	v, err := ParseTime(s)
	if neg, ok := strings.CutPrefix(s, "-"); ok {
		v, err = ParseTime(neg)
		v = Time{}.Sub(v)
	}
	if err != nil {
		return err
	}
	*t = v
	return nil
}

func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}
