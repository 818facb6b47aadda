package fragment

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"
)

func TestTimeString(t *testing.T) {
	twoTo := func(n uint) *big.Int { return new(big.Int).Lsh(big.NewInt(1), n) }
	for _, c := range []struct {
		time Time
		want string
		json string
	}{
		{Time{}, "0", "0"},
		{Seconds(-3), "-3", "-3"},
		{Ticks(1, 10), "0.1", "0.1"},
		{Ticks(90000, 90000), "1", "1"},
		{Ticks(1, 90000), "0.000011111", "0.000011111"},
		{Ticks(1001, 30000), "0.033366667", "0.033366667"},
		{Ticks(1, 1<<20), "0.00000095367431640625", "0.000000954"},
		{Ticks(-1, 1e12), "-0.000000000001", "0"},
		{Ticks(-1, 3e12), "0", "0"},
		{FromSeconds(1.5e16), "15000000000000000", "15000000000000000"},
		{FromSeconds(1e300), "1" + strings.Repeat("0", 300), "1" + strings.Repeat("0", 300)},
		{FromSeconds(math.SmallestNonzeroFloat64), "0." + strings.Repeat("0", 323) + "5", "0"},
		{FromRat(new(big.Rat).SetFrac(big.NewInt(1), tenTo(maxDigits))), "0." + strings.Repeat("0", maxDigits-1) + "1", "0"},
		{FromRat(new(big.Rat).SetFrac(big.NewInt(1), tenTo(maxDigits+1))), "0", "0"},
		{FromRat(new(big.Rat).SetFrac(big.NewInt(1), twoTo(maxDigits+1))), "0", "0"},
		{FromRat(new(big.Rat).SetFrac(big.NewInt(1), twoTo(10_000_000))), "0", "0"},
		{FromRat(nil), "0", "0"},
	} {
		if got := c.time.String(); got != c.want {
			t.Errorf("String() = %s, want %s", got, c.want)
		}
		b, err := json.Marshal(c.time)
		if err != nil || string(b) != c.json {
			t.Errorf("JSON of %s = %s, %v, want %s", c.want, b, err, c.json)
		}
	}
}

// TestTimeStringBounded checks that a denominator of a million digits, which only
// a caller can make, is not written out and takes no time in its square.
func TestTimeStringBounded(t *testing.T) {
	const limit = time.Minute // a busy machine under the race detector took ten seconds
	den := new(big.Int).Exp(big.NewInt(5), big.NewInt(1_500_000), nil)
	v := FromRat(new(big.Rat).SetFrac(big.NewInt(1), den))
	began := time.Now()
	got := v.String()
	if took := time.Since(began); got != "0" || took > limit {
		t.Errorf("String() = %s after %v", shorten(got), took)
	}
}

func TestTimeUnmarshal(t *testing.T) {
	for text, want := range map[string]Time{
		"0":                   {},
		"-0":                  {},
		"61.029":              Ticks(61029, 1000),
		"-2.5":                Ticks(-5, 2),
		"0.30000000000000004": FromSeconds(0.30000000000000004),
		"1e3":                 Seconds(1000),
		"-1.5E-7":             Ticks(-15, 1e8),
		"9223372036854775808": Seconds(math.MaxInt64).Add(Seconds(1)),
	} {
		var got Time
		if err := json.Unmarshal([]byte(text), &got); err != nil || !got.Equal(want) {
			t.Errorf("%s = %v, %v, want %v", text, got, err, want)
		}
	}
	kept := Seconds(7)
	if err := json.Unmarshal([]byte("null"), &kept); err != nil || !kept.Equal(Seconds(7)) {
		t.Errorf("null gave %v, %v", kept, err)
	}
	for _, text := range []string{`"5"`, `true`, `{}`, `1e999`, `"1:00:00"`} {
		var got Time
		if err := json.Unmarshal([]byte(text), &got); err == nil || !strings.HasPrefix(err.Error(), "fragment: ") {
			t.Errorf("%s = %v, %v, want an error of this package", text, got, err)
		}
	}
	if err := new(Time).UnmarshalJSON([]byte("01:30")); err == nil {
		t.Error("01:30 is no JSON number")
	}
}

func TestFromSeconds(t *testing.T) {
	for s, want := range map[float64]Time{
		0.1:          Ticks(1, 10),
		61.029:       Ticks(61029, 1000),
		-9.97:        Ticks(-997, 100),
		math.Inf(1):  {},
		math.Inf(-1): {},
	} {
		if got := FromSeconds(s); !got.Equal(want) {
			t.Errorf("FromSeconds(%v) = %v, want %v", s, got, want)
		}
	}
	if got := FromSeconds(math.NaN()); got.Sign() != 0 {
		t.Errorf("NaN gave %v", got)
	}
	for _, s := range []float64{math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 1.0 / 3} {
		if got := FromSeconds(s).Seconds(); got != s {
			t.Errorf("%v came back as %v", s, got)
		}
	}
}

func TestTicks(t *testing.T) {
	const largest, smallest = math.MaxInt64, math.MinInt64
	huge := mustTime(t, strings.Repeat("9", 100))
	for _, c := range []struct {
		time               Time
		timescale          int64
		floor, ceil, round int64
	}{
		{Time{}, 90000, 0, 0, 0},
		{Seconds(2), 90000, 180000, 180000, 180000},
		{Ticks(1001, 30000), 30000, 1001, 1001, 1001},
		{Ticks(1, 3), 1, 0, 1, 0},
		{Ticks(1, 2), 1, 0, 1, 1},
		{Ticks(2, 3), 1, 0, 1, 1},
		{Ticks(-1, 3), 1, -1, 0, 0},
		{Ticks(-1, 2), 1, -1, 0, 0},
		{Ticks(-2, 3), 1, -1, 0, -1},
		{Ticks(-3, 2), 1, -2, -1, -1},
		{Seconds(1), largest, largest, largest, largest},
		{Ticks(1, 2), largest, largest / 2, largest/2 + 1, largest/2 + 1},
		{huge, 1, largest, largest, largest},
		{Time{}.Sub(huge), 1, smallest, smallest, smallest},
	} {
		floor, ceil, round := c.time.Floor(c.timescale), c.time.Ceil(c.timescale), c.time.Round(c.timescale)
		if floor != c.floor || ceil != c.ceil || round != c.round {
			t.Errorf("%v at %d: floor, ceil, round = %d, %d, %d, want %d, %d, %d", c.time, c.timescale,
				floor, ceil, round, c.floor, c.ceil, c.round)
		}
	}
	if got := huge.Duration(); got != time.Duration(largest) {
		t.Errorf("Duration() = %v", got)
	}
	if got := Ticks(-1, 3e9).Duration(); got != -1 {
		t.Errorf("Duration() = %d, want -1: rounded down", got)
	}
}

// TestTimeImmutable checks that no operation changes its operands, and that the
// zero value works in all of them.
func TestTimeImmutable(t *testing.T) {
	r := big.NewRat(1, 3)
	a, b, zero := FromRat(r), Seconds(2), Time{}
	r.SetInt64(9)
	a.Rat().SetInt64(9)
	a.Add(b)
	a.Sub(b)
	a.Floor(7)
	a.Ceil(7)
	a.Round(7)
	if !a.Equal(Ticks(1, 3)) || !b.Equal(Seconds(2)) {
		t.Errorf("a, b = %v, %v", a, b)
	}
	if got := zero.Add(a).Sub(a); !got.Equal(zero) || got.Sign() != 0 {
		t.Errorf("0+a-a = %v", got)
	}
	if !a.Min(b).Equal(a) || !b.Min(a).Equal(a) || !a.Max(b).Equal(b) || !b.Max(a).Equal(b) {
		t.Error("Min or Max is wrong")
	}
	if !zero.Less(a) || a.Less(zero) || a.Less(a) || a.Cmp(b) != -1 || b.Cmp(a) != 1 {
		t.Error("the order is wrong")
	}
	if zero.Rat().Sign() != 0 || zero.Seconds() != 0 {
		t.Error("the zero value is not 0")
	}
}
