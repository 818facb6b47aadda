package fragment

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// vector is an entry of testdata/vectors, whose README explains the keys.
type vector struct {
	ID     string
	Kind   string
	Input  json.RawMessage
	Media  *struct{ Duration *Time }
	Expect json.RawMessage
	Rec    struct{ Verdict, Says string }
}

func (v vector) text(t testing.TB) string {
	var s string
	decode(t, v.Input, &s)
	return s
}

func decode(t testing.TB, b []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(b, to); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
}

// eachVector runs do over the entries of a topic: the repository's own, of which
// there are least or more, and those of a collection beside the repository, where
// there is one, which may hold entries that the repository's copy lacks.
func eachVector(t *testing.T, topic string, least int, do func(*testing.T, vector)) {
	for _, place := range []struct{ name, dir string }{
		{"own", "../testdata/vectors"},
		{"beside", "../../shared/vectors"},
	} {
		t.Run(place.name, func(t *testing.T) {
			vectors, err := readVectors(filepath.Join(place.dir, topic+".json"))
			if place.name == "beside" && os.IsNotExist(err) {
				t.Skip("no collection beside the repository")
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(vectors) < least {
				t.Fatalf("%d entries, want at least %d", len(vectors), least)
			}
			for _, v := range vectors {
				t.Run(v.ID, func(t *testing.T) { do(t, v) })
			}
		})
	}
}

func readVectors(name string) (vectors []vector, err error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return vectors, json.Unmarshal(b, &vectors)
}

// expectTime is what an entry of temporal.json expects. Start and End are nil
// where the source says nothing of them; an open end is nil too.
type expectTime struct {
	Valid    *bool
	Unit     Unit
	Start    *Time
	End      *Time
	Resolved json.RawMessage

	Query, Fragment map[string]struct{ Start, End *Time } // both forms of a whole URI

	NewResourceDuration *Time `json:"new_resource_duration"`
	Outer, Inner        []Time
	PlayInOriginal      []Time `json:"play_in_original"`
}

func TestTemporalVectors(t *testing.T) {
	eachVector(t, "temporal", 230, func(t *testing.T, v vector) {
		var want expectTime
		decode(t, v.Expect, &want)
		switch {
		case v.Kind == "cascade":
			checkCascade(t, want)
		case want.Valid == nil:
			checkBothForms(t, v.text(t), want)
		default:
			checkTemporal(t, v, want)
		}
	})
}

// theText is what the Recommendation says where the source of an entry
// disagrees with it: a valid start, or nothing.
var theText = map[string]string{
	"temporal-071": "99999999999",
	"temporal-260": strings.Repeat("9", 400),
	"temporal-265": "",
	"temporal-307": "",
	"temporal-328": "",
}

func checkTemporal(t *testing.T, v vector, want expectTime) {
	input := v.text(t)
	if want.Unit != "" && want.Unit != NPT {
		t.Skip("another time scheme")
	}
	if v.Rec.Verdict == "disagrees" {
		start, known := theText[v.ID]
		if !known {
			t.Skip("disagrees with the Recommendation, and is not among those read by hand")
		}
		want = expectTime{Valid: new(start != ""), Resolved: json.RawMessage(`"whole"`)}
		if start != "" {
			want.Start, want.Resolved = new(mustTime(t, start)), nil
			if v.Media != nil {
				want.Resolved = json.RawMessage(`"seek-end"`)
			}
		}
	}

	var f Fragment
	switch {
	case v.Kind == "query", v.Kind == "uri" && !strings.Contains(input, "#"):
		_, f = SplitQuery(input)
	case v.Kind == "uri":
		_, f = Split(input)
	default:
		f = Parse(input)
	}
	if *want.Valid != (f.Time != nil) {
		t.Fatalf("%s: time %v, want valid %v; warnings %v", input, f.Time, *want.Valid, f.Warnings)
	}
	if f.Time == nil && len(f.Warnings) == 0 {
		t.Errorf("%s: nothing of it is valid, yet there is no warning", input)
	}
	if f.Time != nil {
		checkBounds(t, f, want.Start, want.End)
	}
	checkResolved(t, v, f, want)
	checkCanonical(t, f)
}

func checkBounds(t *testing.T, f Fragment, start, end *Time) {
	t.Helper()
	want := TimeRange{Unit: NPT, Interval: Interval{Open: end == nil}, StartOmitted: f.Time.StartOmitted}
	if start != nil {
		want.Start = *start
	}
	if end != nil {
		want.End = *end
	}
	if d := cmp.Diff(&want, f.Time); d != "" {
		t.Errorf("time (-want +got):\n%s", d)
	}
}

func checkResolved(t *testing.T, v vector, f Fragment, want expectTime) {
	t.Helper()
	if want.Resolved == nil {
		return
	}
	got, outcome := f.Interval()
	if v.Media != nil && v.Media.Duration != nil {
		got, outcome = f.Resolve(*v.Media.Duration)
	}
	if want.Resolved[0] == '"' {
		if text := `"` + outcome.String() + `"`; text != string(want.Resolved) {
			t.Errorf("resolved to %s, want %s", text, want.Resolved)
		}
		return
	}
	var bounds []Time
	decode(t, want.Resolved, &bounds)
	if d := cmp.Diff(Between(bounds[0], bounds[1]), got); d != "" || outcome != Part {
		t.Errorf("resolved to %v (-want +got):\n%s", outcome, d)
	}
}

// checkBothForms checks entries that state what the query and what the fragment
// of one URI ask for.
func checkBothForms(t *testing.T, input string, want expectTime) {
	query, frag := Fragment{}, Parse(input)
	if strings.ContainsAny(input, "#?") {
		_, query = SplitQuery(input)
		_, frag = Split(input)
	}
	for _, form := range []struct {
		got  Fragment
		want map[string]struct{ Start, End *Time }
	}{{query, want.Query}, {frag, want.Fragment}} {
		bounds, ok := form.want["t"]
		if ok != (form.got.Time != nil) {
			t.Fatalf("%s: time %v, want one: %v", input, form.got.Time, ok)
		}
		if ok {
			checkBounds(t, form.got, bounds.Start, bounds.End)
		}
	}
	if want.NewResourceDuration != nil {
		length, ok := query.Time.Length()
		if !ok || !length.Equal(*want.NewResourceDuration) {
			t.Errorf("length %v, want %v", length, want.NewResourceDuration)
		}
	}
}

// checkCascade plays an interval of the resource that another interval makes.
func checkCascade(t *testing.T, want expectTime) {
	outer, inner := Between(want.Outer[0], want.Outer[1]), Between(want.Inner[0], want.Inner[1])
	got := outer.Shift(inner.Start).Clamp(inner.End)
	if d := cmp.Diff(Between(want.PlayInOriginal[0], want.PlayInOriginal[1]), got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

type pairs [][2]string

func pairsOf(f Fragment) (out pairs) {
	for _, p := range f.Pairs {
		out = append(out, [2]string{p.Name, p.Value})
	}
	return out
}

// strictly is section 5.1.1 a second time, by means of net/url, which decodes a
// path segment as the section wants it: '+' stays.
func strictly(text string) (out pairs) {
	if text == "" {
		return nil
	}
	for component := range strings.SplitSeq(text, "&") {
		name, value, _ := strings.Cut(component, "=")
		n, err1 := url.PathUnescape(name)
		v, err2 := url.PathUnescape(value)
		if err1 == nil && err2 == nil && utf8.ValidString(n) && utf8.ValidString(v) {
			out = append(out, [2]string{n, v})
		}
	}
	return out
}

// rfc3986 is the fragment production of RFC 3986.
var rfc3986 = regexp.MustCompile(`^([A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*$`)

func TestNameValueVectors(t *testing.T) {
	eachVector(t, "namevalues", 48, func(t *testing.T, v vector) {
		var want struct {
			Pairs, FragmentPairs, QueryPairs pairs
			Values                           map[string][]string
			Decoded                          *string `json:"percent_decoded"`
			RFC3986                          *bool   `json:"rfc3986_fragment"`
		}
		raw := strings.NewReplacer("fragment_pairs", "FragmentPairs", "query_pairs", "QueryPairs").Replace(string(v.Expect))
		decode(t, []byte(raw), &want)
		input := v.text(t)
		f := Parse(input)
		equal := func(want, got any) {
			t.Helper()
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s (-want +got):\n%s", input, d)
			}
		}

		switch {
		case v.Kind == "uri":
			_, f = Split(input)
			equal(want.FragmentPairs, pairsOf(f))
			_, f = SplitQuery(input)
			equal(want.QueryPairs, pairsOf(f))
			return
		case v.Rec.Verdict == "disagrees": // always: the text keeps what the source drops
			equal(strictly(input), pairsOf(f))
			if len(f.Pairs) <= len(want.Pairs) {
				t.Errorf("%s: pairs %v: the source drops some, the text does not", input, f.Pairs)
			}
			return
		case want.Values != nil:
			for name, values := range want.Values {
				got := []string{}
				for _, p := range f.Pairs {
					if p.Name == name {
						got = append(got, p.Value)
					}
				}
				equal(values, got)
			}
		case v.Kind == "decode" && want.Decoded == nil:
			equal(pairs(nil), pairsOf(f))
			equal([]Warning{{input, badUTF8}}, f.Warnings)
		case v.Kind == "decode":
			equal(*want.Decoded, strings.TrimSuffix(f.Pairs[0].Name+"="+f.Pairs[0].Value, "="))
		case v.Kind == "syntax":
			// Reading is lenient: a character that a URI cannot hold stays in its
			// pair, and is encoded when written; only bad percent-encoding costs
			// the pair.
			equal(strictly(input), pairsOf(f))
			if len(f.Pairs) > 0 && !*want.RFC3986 && !strings.Contains(Encode(f.Pairs...), "%") {
				t.Errorf("%s: written as %s", input, Encode(f.Pairs...))
			}
			if *want.RFC3986 && !strings.Contains(input, "%") && strings.Contains(Encode(f.Pairs...), "%") {
				t.Errorf("%s: encoded without need: %s", input, Encode(f.Pairs...))
			}
		default:
			equal(want.Pairs, pairsOf(f))
			if v.Kind == "format" {
				equal(input, Encode(f.Pairs...))
			}
		}
		checkCanonical(t, f)
	})
}

func TestFormatVectors(t *testing.T) {
	// Choices of other libraries. This one writes what is exact (023), nothing
	// rather than an error for nothing (029), and dimensions in the order given
	// with a start of 0 where it is given (031).
	ours := map[string]string{
		"format-023": "t=62.0109,1647.2",
		"format-029": "",
		"format-031": "xywh=10,20,30,40&t=0,10",
	}
	eachVector(t, "format", 22, func(t *testing.T, v vector) {
		var in struct {
			XYWH       []int64
			Start, End *Time
		}
		decode(t, v.Input, &in)
		var want struct{ Fragment *string }
		decode(t, v.Expect, &want)
		text, choice := ours[v.ID]
		if !choice {
			if want.Fragment == nil {
				t.Skip("another library's error")
			}
			text = *want.Fragment
		}

		f := Fragment{
			Time:  &TimeRange{Unit: NPT, Interval: Interval{Open: in.End == nil}, StartOmitted: in.Start == nil},
			Order: []string{"xywh", "t"},
		}
		if in.Start != nil {
			f.Time.Start = *in.Start
		}
		if in.End != nil {
			f.Time.End = *in.End
		}
		if in.XYWH != nil {
			f.Space = &Region{X: in.XYWH[0], Y: in.XYWH[1], W: in.XYWH[2], H: in.XYWH[3]}
		}
		if got := f.String(); got != text {
			t.Errorf("wrote %q, want %q", got, text)
		}
	})
}

// checkCanonical checks that what f writes is a URI's, reads the same and is
// written the same again.
func checkCanonical(t testing.TB, f Fragment) {
	t.Helper()
	text := f.String()
	if !rfc3986.MatchString(text) {
		t.Errorf("%q is not the fragment of a URI", text)
	}
	g := Parse(text)
	if d := cmp.Diff(f.Time, g.Time); d != "" {
		t.Errorf("%q reads differently (-want +got):\n%s", text, d)
	}
	if d := cmp.Diff(f.Order, g.Order); d != "" {
		t.Errorf("%q reads in another order (-want +got):\n%s", text, d)
	}
	if again := g.String(); again != text {
		t.Errorf("%q is written as %q when read again", text, again)
	}
	if len(g.Warnings) > 0 {
		t.Errorf("%q gives warnings: %v", text, g.Warnings)
	}

	encoded := Encode(f.Pairs...)
	if !rfc3986.MatchString(encoded) {
		t.Errorf("%q is not the fragment of a URI", encoded)
	}
	if d := cmp.Diff(f.Pairs, Parse(encoded).Pairs); d != "" {
		t.Errorf("%q reads differently (-want +got):\n%s", encoded, d)
	}
}

func mustTime(t testing.TB, s string) Time {
	t.Helper()
	v, err := ParseTime(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
