package fragment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWarnings lists every reason a person can meet.
func TestWarnings(t *testing.T) {
	const unknown = "not a media fragment dimension"
	for _, c := range []struct{ text, reason string }{
		// Pairs (section 5.1.1).
		{"id=%xy", badPercent},
		{"%=1", badPercent},
		{"t=1%", badPercent},
		{"t=1%2", badPercent},
		{"t=%2g", badPercent},
		{"t=%FF", badUTF8},
		{"%E4r=1", badUTF8},
		{"t=\xff", badUTF8},
		// Names (section 5.1.2).
		{"foo=bar", unknown},
		{"section", unknown},
		{"T=3", unknown + "; names are in lower case: t"},
		{"XYWH=1,2,3,4", unknown + "; names are in lower case: xywh"},
		{"=10", "no name stands before the '='"},
		{"t%3D3", unknown + "; the '=' after t must not be percent-encoded"},
		{"10,20", unknown + "; a time needs its name: t=10,20"},
		{"xywh=1,2,3,4", "xywh is not yet supported"},
		{"track=audio", "track is not yet supported"},
		{"id=1", "id is not yet supported"},
		// Time schemes.
		{"t=smpte:0:00:01", "SMPTE timecodes are not yet supported; write seconds, as in t=10,20"},
		{"t=smpte-25:0:00:01:00", "SMPTE timecodes are not yet supported; write seconds, as in t=10,20"},
		{"t=smpte-30:0:00:01:00", "SMPTE timecodes are not yet supported; write seconds, as in t=10,20"},
		{"t=smpte-30-drop:,0:00:01:00", "SMPTE timecodes are not yet supported; write seconds, as in t=10,20"},
		{"t=clock:2026-07-01T00:00:00Z", "wall-clock times are not yet supported; write seconds, as in t=10,20"},
		{"t=posix:0", `"posix" is not a time scheme; npt, smpte, smpte-25, smpte-30, smpte-30-drop and clock are`},
		{"t=NPT:3", `"NPT" is not a time scheme; npt, smpte, smpte-25, smpte-30, smpte-30-drop and clock are`},
		// Intervals (sections 4.2.1 and 6.2.2).
		{"t", "no time is given; write t=10,20, t=10 or t=,20"},
		{"t=", "no time is given; write t=10,20, t=10 or t=,20"},
		{"t=npt:", "no time is given; write t=10,20, t=10 or t=,20"},
		{"t=,", "neither a start nor an end is given; write t=10,20, t=10 or t=,20"},
		{"t=10,", "nothing follows the comma; without it the interval has no end, as in t=10"},
		{"t=1,2,3", "more than two times; write t=10,20"},
		{"t=1,,3", "more than two times; write t=10,20"},
		{"t=10,10", "the interval is empty: its end must come after its start"},
		{"t=01:00,60.0", "the interval is empty: its end must come after its start"},
		{"t=,0", "the interval is empty: its end must come after its start"},
		{"t=20,10", "the end comes before the start"},
		{"t=10,9.999", "the end comes before the start"},
		// Times.
		{"t=banana", `"banana" is not a time: only the digits 0 to 9, ':' and '.' stand in one, as in 61.5 or 01:01.5`},
		{"t=3,banana", `"banana" is not a time: only the digits 0 to 9, ':' and '.' stand in one, as in 61.5 or 01:01.5`},
		{"t='3'", `"'3'" is not a time: only the digits 0 to 9, ':' and '.' stand in one, as in 61.5 or 01:01.5`},
		{"t=1e3", `"1e3" is not a time: only the digits 0 to 9, ':' and '.' stand in one, as in 61.5 or 01:01.5`},
		{"t=1_0", `"1_0" is not a time: only the digits 0 to 9, ':' and '.' stand in one, as in 61.5 or 01:01.5`},
		{"t=10%20", `"10 " is not a time: only the digits 0 to 9, ':' and '.' stand in one, as in 61.5 or 01:01.5`},
		{"t=%D9%A3", `"٣" is not a time: only the digits 0 to 9, ':' and '.' stand in one, as in 61.5 or 01:01.5`},
		{"t=-1,3", `"-1" is not a time: it has no sign`},
		{"t=+5", `"+5" is not a time: it has no sign`},
		{"t=3-7", `"3-7" is not a time: a comma stands between start and end, as in 3,7`},
		{"t=10,npt:20", `"npt:20" is not a time: npt: stands once, before both times, as in npt:10,20`},
		{"t=10s", `"10s" is not a time: it has no unit; write 90 or 01:30`},
		{"t=1m30s", `"1m30s" is not a time: it has no unit; write 90 or 01:30`},
		{"t=1.2.3", `"1.2.3" is not a time: only the seconds, at its end, have a fraction`},
		{"t=1.5:00", `"1.5:00" is not a time: only the seconds, at its end, have a fraction`},
		{"t=.5", `".5" is not a time: a digit must stand at its start, as in 0.5 or 00:30`},
		{"t=.", `"." is not a time: a digit must stand at its start, as in 0.5 or 00:30`},
		{"t=:30", `":30" is not a time: a digit must stand at its start, as in 0.5 or 00:30`},
		{"t=:01:30", `":01:30" is not a time: a digit must stand at its start, as in 0.5 or 00:30`},
		{"t=1:00:00:00", `"1:00:00:00" is not a time: it has at most hours, minutes and seconds, as in 1:02:03`},
		{"t=1:30", `"1:30" is not a time: minutes and seconds have two digits each, as in 03:07`},
		{"t=01:3", `"01:3" is not a time: minutes and seconds have two digits each, as in 03:07`},
		{"t=01:", `"01:" is not a time: minutes and seconds have two digits each, as in 03:07`},
		{"t=1:3:00", `"1:3:00" is not a time: minutes and seconds have two digits each, as in 03:07`},
		{"t=1:03:000", `"1:03:000" is not a time: minutes and seconds have two digits each, as in 03:07`},
		{"t=60:00", `"60:00" is not a time: minutes go from 00 to 59; hours stand before them, as in 1:02:03`},
		{"t=1:60:00", `"1:60:00" is not a time: minutes go from 00 to 59; hours stand before them, as in 1:02:03`},
		{"t=00:60", `"00:60" is not a time: seconds beside minutes go from 00 to 59`},
		{"t=1:00:60", `"1:00:60" is not a time: seconds beside minutes go from 00 to 59`},
		{"t=" + strings.Repeat("x", 50), `"` + strings.Repeat("x", 40) + `…" is not a time: only the digits 0 to 9, ':' and '.' stand in one, as in 61.5 or 01:01.5`},
	} {
		f := Parse(c.text)
		if d := cmp.Diff([]Warning{{c.text, c.reason}}, f.Warnings); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.text, d)
		}
		if f.Time != nil || f.Space != nil || f.Tracks != nil || f.ID != nil || f.String() != "" {
			t.Errorf("%s: something is taken from it: %v", c.text, f)
		}
	}
}

// TestEachPairAlone checks that what is wrong with one pair costs no other, that
// warnings keep the order and the raw text, and that the last valid t counts.
func TestEachPairAlone(t *testing.T) {
	f := Parse("t=5&id=%zz&%74=npt%3A10,20&&a=b=c+d&t=30,20&t=1:2")
	want := Fragment{
		Pairs: []Pair{
			{"t", "5"}, {"t", "npt:10,20"}, {"", ""}, {"a", "b=c+d"}, {"t", "30,20"}, {"t", "1:2"},
		},
		Time:  &TimeRange{Unit: NPT, Interval: Between(Seconds(10), Seconds(20))},
		Order: []string{"t"},
		Warnings: []Warning{
			{"t=5", `replaced by "%74=npt%3A10,20": only the last valid t counts`},
			{"id=%zz", badPercent},
			{"", "an '&' with nothing beside it"},
			{"a=b=c+d", "not a media fragment dimension"},
			{"t=30,20", "the end comes before the start"},
			{"t=1:2", `"1:2" is not a time: minutes and seconds have two digits each, as in 03:07`},
		},
	}
	if d := cmp.Diff(want, f); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	checkCanonical(t, f)
}

// TestReplacedOnce checks that of three valid occurrences two are warned of,
// each with the one that took its place.
func TestReplacedOnce(t *testing.T) {
	f := Parse("t=1&t=2&t=3")
	want := []Warning{
		{"t=1", `replaced by "t=2": only the last valid t counts`},
		{"t=2", `replaced by "t=3": only the last valid t counts`},
	}
	if d := cmp.Diff(want, f.Warnings); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if !f.Time.Start.Equal(Seconds(3)) {
		t.Errorf("start %v, want 3", f.Time.Start)
	}
}

func TestParseNothing(t *testing.T) {
	if d := cmp.Diff(Fragment{}, Parse("")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestWarningString(t *testing.T) {
	for want, w := range map[string]Warning{
		`"foo=bar": not known`: {"foo=bar", "not known"},
		`no picture`:           {"", "no picture"},
	} {
		if got := w.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestSplit checks that URIs are taken as they are: what net/url refuses or
// decodes must not be lost.
func TestSplit(t *testing.T) {
	for _, c := range []struct{ uri, resource, fragment, query string }{
		{"http://h/v.mp4#t=1,2", "http://h/v.mp4", "t=1,2", ""},
		{"http://h/v.mp4?t=3,4", "http://h/v.mp4?t=3,4", "", "t=3,4"},
		{"http://h/v.mp4?t=3,4#t=1,2", "http://h/v.mp4?t=3,4", "t=1,2", "t=3,4"},
		{"v.mp4#t=1,2", "v.mp4", "t=1,2", ""},
		{"#t=1,2", "", "t=1,2", ""},
		{"?t=1,2", "?t=1,2", "", "t=1,2"},
		{"v.mp4", "v.mp4", "", ""},
		{"v.mp4#", "v.mp4", "", ""},
		{"", "", "", ""},
		{"v.mp4#t=1&a=#&t=3", "v.mp4", "t=3", ""},
		{"v.mp4#a?t=9&t=1,2", "v.mp4", "t=1,2", ""},
		{"v.mp4?a?t=9&t=1,2", "v.mp4?a?t=9&t=1,2", "", "t=1,2"},
		{"http://h:port/%zz v.mp4#id=%xy&t=1", "http://h:port/%zz v.mp4", "t=1", ""},
		{"http://[::1/v.mp4#t=10%2C20", "http://[::1/v.mp4", "t=10,20", ""},
		{"v.mp4#id=a%26t=5", "v.mp4", "", ""},
		{"Capítulo 2.mp4#t=1", "Capítulo 2.mp4", "t=1", ""},
	} {
		resource, f := Split(c.uri)
		if resource != c.resource || f.String() != c.fragment {
			t.Errorf("Split(%s) = %s, %s, want %s, %s", c.uri, resource, f, c.resource, c.fragment)
		}
		withQuery, _, _ := strings.Cut(c.uri, "#")
		resource, f = SplitQuery(c.uri)
		if resource != withQuery || f.String() != c.query {
			t.Errorf("SplitQuery(%s) = %s, %s, want %s, %s", c.uri, resource, f, withQuery, c.query)
		}
	}
}

func ExampleSplit() {
	resource, f := Split("https://host/talk.ogv#t=01:00,100&foo=bar")
	fmt.Println(resource)
	fmt.Println(f.Time.Unit, f.Time.Interval)
	for _, w := range f.Warnings {
		fmt.Println("warning:", w)
	}
	// Output:
	// https://host/talk.ogv
	// npt [60, 100)
	// warning: "foo=bar": not a media fragment dimension
}

func ExampleSplitQuery() {
	resource, f := SplitQuery("https://host/talk.ogv?t=60,100#t=5")
	fmt.Println(resource)
	fmt.Println(f.Time.Interval)
	// Output:
	// https://host/talk.ogv?t=60,100
	// [60, 100)
}
