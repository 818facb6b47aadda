package fragment

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInterval(t *testing.T) {
	for _, c := range []struct {
		interval Interval
		text     string
		json     string
		empty    bool
		in, out  []Time
	}{
		{Between(Seconds(60), Seconds(100)), "[60, 100)", `{"start":60,"end":100}`, false,
			[]Time{Seconds(60), Ticks(99999, 1000)}, []Time{Ticks(59999, 1000), Seconds(100)}},
		{From(Ticks(1, 2)), "[0.5, ∞)", `{"start":0.5,"end":null}`, false,
			[]Time{Ticks(1, 2), Seconds(1 << 60)}, []Time{{}}},
		{Between(Seconds(1), Seconds(1)), "[1, 1)", `{"start":1,"end":1}`, true, nil, []Time{Seconds(1)}},
		{Between(Seconds(2), Seconds(1)), "[2, 1)", `{"start":2,"end":1}`, true, nil, []Time{Seconds(1), Seconds(2)}},
		{Interval{}, "[0, 0)", `{"start":0,"end":0}`, true, nil, []Time{{}}},
		{From(Time{}), "[0, ∞)", `{"start":0,"end":null}`, false, []Time{{}}, []Time{Seconds(-1)}},
	} {
		if got := c.interval.String(); got != c.text {
			t.Errorf("String() = %s, want %s", got, c.text)
		}
		if got := c.interval.Empty(); got != c.empty {
			t.Errorf("%v.Empty() = %v", c.interval, got)
		}
		for _, at := range c.in {
			if !c.interval.Contains(at) {
				t.Errorf("%v lacks %v", c.interval, at)
			}
		}
		for _, at := range c.out {
			if c.interval.Contains(at) {
				t.Errorf("%v contains %v", c.interval, at)
			}
		}
		b, err := json.Marshal(c.interval)
		if err != nil || string(b) != c.json {
			t.Errorf("JSON of %v = %s, %v, want %s", c.interval, b, err, c.json)
		}
		var back Interval
		if err := json.Unmarshal(b, &back); err != nil || !cmp.Equal(back, c.interval) {
			t.Errorf("%s came back as %v, %v", b, back, err)
		}
	}
	for text, want := range map[string]string{
		`{"end":5}`:              "fragment: an interval in JSON needs a start",
		`{"start":"a"}`:          "fragment: a time in JSON must be a number of seconds",
		`{"start":1,"end":true}`: "fragment: a time in JSON must be a number of seconds",
		`[1,2]`:                  "cannot unmarshal",
	} {
		err := json.Unmarshal([]byte(text), new(Interval))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

func TestIntervalArithmetic(t *testing.T) {
	equal := func(got, want Interval) {
		t.Helper()
		if !cmp.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	closed, open := Between(Seconds(3), Seconds(7)), From(Seconds(3))
	equal(closed.Clamp(Seconds(5)), Between(Seconds(3), Seconds(5)))
	equal(closed.Clamp(Seconds(9)), closed)
	equal(open.Clamp(Seconds(9)), Between(Seconds(3), Seconds(9)))
	equal(closed.Shift(Ticks(1, 2)), Between(Ticks(7, 2), Ticks(15, 2)))
	equal(open.Shift(Seconds(-3)), From(Time{}))

	if length, ok := closed.Length(); !ok || !length.Equal(Seconds(4)) {
		t.Errorf("Length() = %v, %v", length, ok)
	}
	if length, ok := open.Length(); ok || length.Sign() != 0 {
		t.Errorf("Length() of an open interval = %v, %v", length, ok)
	}
}

// TestResolve goes through the cases of sections 6.1.1 and 6.3.2, with e = 10.
func TestResolve(t *testing.T) {
	for _, c := range []struct {
		text    string
		want    Interval
		outcome Outcome
	}{
		{"", Between(Seconds(0), Seconds(10)), Whole},
		{"t=7,3", Between(Seconds(0), Seconds(10)), Whole},
		{"t=3", Between(Seconds(3), Seconds(10)), Part},
		{"t=,7", Between(Seconds(0), Seconds(7)), Part},
		{"t=,10", Between(Seconds(0), Seconds(10)), Part},
		{"t=,15", Between(Seconds(0), Seconds(10)), Part},
		{"t=0,10", Between(Seconds(0), Seconds(10)), Part},
		{"t=3,7", Between(Seconds(3), Seconds(7)), Part},
		{"t=3,15", Between(Seconds(3), Seconds(10)), Part},
		{"t=9.999", Between(Ticks(9999, 1000), Seconds(10)), Part},
		{"t=10", Between(Seconds(10), Seconds(10)), SeekEnd},
		{"t=10,20", Between(Seconds(10), Seconds(10)), SeekEnd},
		{"t=15,20", Between(Seconds(10), Seconds(10)), SeekEnd},
		{"t=99999999999999999999", Between(Seconds(10), Seconds(10)), SeekEnd},
	} {
		got, outcome := Parse(c.text).Resolve(Seconds(10))
		if !cmp.Equal(got, c.want) || outcome != c.outcome {
			t.Errorf("%s resolves to %v, %v, want %v, %v", c.text, got, outcome, c.want, c.outcome)
		}
	}
}

func TestResolveWithoutDuration(t *testing.T) {
	for text, want := range map[string]struct {
		interval Interval
		outcome  Outcome
	}{
		"":      {From(Time{}), Whole},
		"t=3":   {From(Seconds(3)), Part},
		"t=,20": {Between(Time{}, Seconds(20)), Part},
		"t=3,7": {Between(Seconds(3), Seconds(7)), Part},
	} {
		got, outcome := Parse(text).Interval()
		if !cmp.Equal(got, want.interval) || outcome != want.outcome {
			t.Errorf("%s asks for %v, %v, want %v", text, got, outcome, want)
		}
	}
}

func TestOutcomeString(t *testing.T) {
	for o, want := range map[Outcome]string{Whole: "whole", Part: "part", SeekEnd: "seek-end", 9: "unknown outcome"} {
		if got := o.String(); got != want {
			t.Errorf("Outcome(%d) = %s, want %s", int(o), got, want)
		}
	}
}
