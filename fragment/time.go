package fragment

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// Time is an exact point or length of time in seconds, kept as a rational
// number so that neither 61.029 nor 1001/30000 drifts. It has no upper limit:
// a URI may name a time beyond any medium. Times read from text are never
// negative, differences may be. The zero value is 0 s. A Time is immutable; compare with [Time.Cmp] or [Time.Equal], never with ==.
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
func (t Time) Floor(timescale int64) int64 { return saturate(floor(t.ticks(timescale))) }

// Ceil is Floor rounded up.
func (t Time) Ceil(timescale int64) int64 {
	v := t.ticks(timescale)
	up := floor(v.Neg(v))
	return saturate(up.Neg(up))
}

// Round is Floor rounded to the nearest tick, halves up.
func (t Time) Round(timescale int64) int64 {
	v := t.ticks(timescale)
	return saturate(floor(v.Add(v, big.NewRat(1, 2))))
}

// ticks returns t, exactly, in ticks of a clock that counts timescale a second.
func (t Time) ticks(timescale int64) *big.Rat {
	v := new(big.Rat).SetInt64(timescale)
	return v.Mul(v, t.value())
}

// floor returns the largest whole number not above v.
func floor(v *big.Rat) *big.Int {
	q, _ := new(big.Int).DivMod(v.Num(), v.Denom(), new(big.Int)) // Euclidean: the rest is never negative
	return q
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
// either way become the largest or smallest Duration.
func (t Time) Duration() time.Duration { return time.Duration(t.Floor(int64(time.Second))) }

// roundedDigits is how many digits behind the point a time has that is not
// written exactly: nanoseconds.
const roundedDigits = 9

// String returns t as the shortest exact decimal number of seconds, without an
// exponent, or, where no decimal of up to 1,000 digits behind the point is
// exact, rounded to nine of them.
func (t Time) String() string {
	digits, exact := t.fractionDigits()
	if !exact {
		digits = roundedDigits
	}
	return trimZeros(t.value().FloatString(digits))
}

// fractionDigits returns how many digits behind the point t needs; exact is
// false where no number of them up to maxDigits is enough.
func (t Time) fractionDigits() (digits int, exact bool) {
	digits, exact = t.value().FloatPrec()
	return digits, exact && digits <= maxDigits
}

// MarshalJSON writes a decimal number of seconds with up to nine digits after
// the point, never an exponent.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(trimZeros(t.value().FloatString(roundedDigits))), nil
}

// UnmarshalJSON reads a number of seconds: exactly where it is a plain decimal,
// as the shortest decimal of its float64 where it has an exponent. null changes
// nothing.
func (t *Time) UnmarshalJSON(b []byte) error {
	s := string(b)
	if s == "null" {
		return nil
	}
	v, err := parseNumber(s)
	if err != nil {
		return fmt.Errorf("fragment: a time in JSON must be a number of seconds, not %s", shorten(s))
	}
	*t = v
	return nil
}

// parseNumber reads a number as JSON writes it.
func parseNumber(s string) (Time, error) {
	if strings.ContainsAny(s, "eE") { // a float's range bounds the exponent
		var v float64
		err := json.Unmarshal([]byte(s), &v)
		return FromSeconds(v), err
	}
	digits, negative := strings.CutPrefix(s, "-")
	if strings.Contains(digits, ":") { // a time, but no number
		return Time{}, strconv.ErrSyntax
	}
	d, err := parseDecimal(digits)
	if negative {
		return Time{}.Sub(d.time()), err
	}
	return d.time(), err
}

// trimZeros takes the zeros from the end of a fraction, and the sign from a 0.
func trimZeros(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" {
		return "0"
	}
	return s
}
