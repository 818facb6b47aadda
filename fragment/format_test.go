package fragment

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFragmentString(t *testing.T) {
	npt := func(i Interval) *TimeRange { return &TimeRange{Unit: NPT, Interval: i} }
	all := Fragment{
		Time:   npt(Between(Seconds(1), Seconds(2))),
		Space:  &Region{Percent: true, X: 25, Y: 25, W: 50, H: 50},
		Tracks: []string{"audio", "a&b=c", ""},
		ID:     new("Capítulo 2"),
	}
	ordered := all
	ordered.Order = []string{"id", "track", "xywh", "nothing", "id", "t"}
	for _, c := range []struct {
		fragment Fragment
		want     string
	}{
		{Fragment{}, ""},
		{Fragment{Order: []string{"t", "xywh", "track", "id"}}, ""},
		{all, "t=1,2&xywh=percent:25,25,50,50&track=audio&track=a%26b%3Dc&id=Cap%C3%ADtulo%202"},
		{ordered, "id=Cap%C3%ADtulo%202&track=audio&xywh=percent:25,25,50,50&t=1,2&track=a%26b%3Dc"},
		{Fragment{ID: new("")}, ""},
		{Fragment{Space: &Region{X: 1, Y: 2, W: 3, H: math.MaxInt64}}, "xywh=1,2,3,9223372036854775807"},
		{Fragment{Space: &Region{X: -1, Y: 2, W: 3, H: 4}}, ""},
		{Fragment{Space: &Region{X: 1, Y: -2, W: 3, H: 4}}, ""},
		{Fragment{Space: &Region{X: 1, Y: 2, W: 0, H: 4}}, ""},
		{Fragment{Space: &Region{X: 1, Y: 2, W: 3, H: -4}}, ""},
		{Fragment{Time: npt(From(Ticks(3, 2)))}, "t=1.5"},
		{Fragment{Time: npt(From(Time{}))}, "t=0"},
		{Fragment{Time: npt(Interval{Start: Seconds(5), End: Seconds(1), Open: true})}, "t=5"},
		{Fragment{Time: &TimeRange{NPT, From(Time{}), true}}, ""},
		{Fragment{Time: &TimeRange{NPT, From(Seconds(5)), true}}, "t=5"},
		{Fragment{Time: &TimeRange{NPT, Between(Seconds(5), Seconds(6)), true}}, "t=5,6"},
		{Fragment{Time: &TimeRange{NPT, Between(Time{}, Seconds(6)), true}}, "t=,6"},
		{Fragment{Time: npt(Between(Seconds(5), Seconds(5)))}, ""},
		{Fragment{Time: npt(Between(Seconds(6), Seconds(5)))}, ""},
		{Fragment{Time: npt(Between(Seconds(-1), Seconds(5)))}, ""},
		{Fragment{Time: &TimeRange{Unit: SMPTE, Interval: Between(Seconds(5), Seconds(6))}}, ""},
		// No decimal is exact: both bounds are rounded down to the nanosecond.
		{Fragment{Time: npt(Between(Ticks(1001, 30000), Ticks(2, 3)))}, "t=0.033366666,0.666666666"},
		{Fragment{Time: npt(Between(Ticks(1, 3), Ticks(1, 3).Add(Ticks(1, 1e12))))}, ""},
	} {
		got := c.fragment.String()
		if got != c.want {
			t.Errorf("wrote %q, want %q", got, c.want)
		}
		checkCanonical(t, Parse(got))
	}
}

func TestEncode(t *testing.T) {
	for _, c := range []struct {
		pairs []Pair
		want  string
	}{
		{nil, ""},
		{[]Pair{{"t", "1"}}, "t=1"},
		{[]Pair{{"a", ""}, {"", "b"}, {"", ""}}, "a=&=b&="},
		{[]Pair{{"a=b&c", "d=e&f"}}, "a%3Db%26c=d%3De%26f"},
		{[]Pair{{"p", "100%+1#2"}}, "p=100%25+1%232"},
		{[]Pair{{"p", "-._~!$'()*+,;:@/?"}}, "p=-._~!$'()*+,;:@/?"},
		{[]Pair{{"p", "\"<>[\\]^`{|} \n\x00\x7f"}}, "p=%22%3C%3E%5B%5C%5D%5E%60%7B%7C%7D%20%0A%00%7F"},
		{[]Pair{{"p", "a\xff\xfeb"}}, "p=a%EF%BF%BDb"},
	} {
		got := Encode(c.pairs...)
		if got != c.want {
			t.Errorf("Encode(%q) = %s, want %s", c.pairs, got, c.want)
		}
		if !rfc3986.MatchString(got) {
			t.Errorf("%s is not the fragment of a URI", got)
		}
	}
}

// TestRoundTrips writes and reads random values.
func TestRoundTrips(t *testing.T) {
	const seed1, seed2 = 20120925, 421
	r := rand.New(rand.NewPCG(seed1, seed2))
	digits := func(most int) string {
		b := make([]byte, 1+r.IntN(most))
		for i := range b {
			b[i] = '0' + byte(r.IntN(10))
		}
		return string(b)
	}
	for range 5000 {
		// A decimal is read as big.Rat reads it, and written back as its value.
		text := digits(30) + "." + digits(30)
		want, _ := new(big.Rat).SetString(text)
		got := mustTime(t, text)
		if !got.Equal(FromRat(want)) || !mustTime(t, got.String()).Equal(got) {
			t.Fatalf("%s is read as %v", text, got)
		}
		// Hours, minutes and seconds are what arithmetic says.
		hours, minutes, seconds, fraction := digits(30), r.IntN(60), r.IntN(60), digits(5)
		text = fmt.Sprintf("%s:%02d:%02d.%s", hours, minutes, seconds, fraction)
		want, _ = new(big.Rat).SetString("0." + fraction)
		h, _ := new(big.Rat).SetString(hours)
		want.Add(want, h.Mul(h, big.NewRat(3600, 1))).Add(want, big.NewRat(int64(minutes*60+seconds), 1))
		if got := mustTime(t, text); !got.Equal(FromRat(want)) {
			t.Fatalf("%s is read as %v, want %v", text, got, want)
		}
		// Two bounds are valid as their values are ordered.
		a, b := mustTime(t, digits(2)+"."+digits(2)), mustTime(t, digits(2)+"."+digits(2))
		f := Parse("t=" + a.String() + "," + b.String())
		if (f.Time != nil) != a.Less(b) {
			t.Fatalf("%v,%v: %v", a, b, f)
		}
		checkCanonical(t, f)
		// Any pairs come back.
		var pairs []Pair
		for range 1 + r.IntN(4) {
			pairs = append(pairs, Pair{randomText(r), randomText(r)})
		}
		if d := cmp.Diff(pairs, Parse(Encode(pairs...)).Pairs); d != "" {
			t.Fatalf("%q (-want +got):\n%s", pairs, d)
		}
	}
}

// randomText is rich in what separates and encodes.
func randomText(r *rand.Rand) string {
	alphabet := []rune("&=%+#,:;?/ t1\"\x00é世🎬")
	var b strings.Builder
	for range r.IntN(8) {
		b.WriteRune(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

func ExampleFragment_String() {
	f := Parse("foo=bar&t=npt:0:02:00,121.50")
	fmt.Println(f)
	// Output: t=120,121.5
}

func ExampleFragment_Resolve() {
	duration := FromSeconds(9.97)
	for _, text := range []string{"t=3,15", "t=15", "t=5,4"} {
		interval, outcome := Parse(text).Resolve(duration)
		fmt.Println(outcome, interval)
	}
	// Output:
	// part [3, 9.97)
	// seek-end [9.97, 9.97)
	// whole [0, 9.97)
}

func ExampleTime_String() {
	fmt.Println(FromSeconds(0.1).Add(FromSeconds(0.2)))
	fmt.Println(Ticks(1001, 30000).Add(Ticks(1001, 60000)).Sub(Ticks(1001, 20000)))
	// Output:
	// 0.3
	// 0
}
