package fragment

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzParse checks what holds for any text whatever: reading it never fails,
// pairs are those of section 5.1.1, every pair that is not a dimension in force
// has its warning, and the canonical text reads the same.
func FuzzParse(f *testing.F) {
	for _, topic := range []string{"temporal", "namevalues"} {
		vectors, err := readVectors("../testdata/vectors/" + topic + ".json")
		if err != nil {
			f.Fatal(err)
		}
		for _, v := range vectors {
			f.Add(v.text(f))
		}
	}
	f.Add("t=1:02:03.5,99999999999:59:59.&t=" + strings.Repeat("9", maxDigits+1) + "," + strings.Repeat("9", maxDigits+2))
	f.Fuzz(func(t *testing.T, text string) {
		got := Parse(text)
		if d := cmp.Diff(strictly(text), pairsOf(got)); d != "" {
			t.Errorf("pairs (-want +got):\n%s", d)
		}
		checkCanonical(t, got)

		components := strings.Count(text, "&") + 1
		if text == "" {
			components = 0
		}
		want := components
		if got.Time != nil {
			want--
			checkTimeRange(t, *got.Time)
		}
		if len(got.Warnings) != want {
			t.Errorf("%d warnings, want %d: %v", len(got.Warnings), want, got.Warnings)
		}
		for _, w := range got.Warnings {
			if w.Reason == "" || len(w.Reason) > 300 || !strings.Contains(text, w.Pair) {
				t.Errorf("warning %q", w)
			}
		}

		resource, split := Split(text + "#" + text)
		if before, after, _ := strings.Cut(text+"#"+text, "#"); resource != before || !cmp.Equal(split, Parse(after)) {
			t.Errorf("Split gave %q, %v", resource, split)
		}
	})
}

func checkTimeRange(t *testing.T, r TimeRange) {
	t.Helper()
	if r.Unit != NPT || r.Empty() || r.Start.Sign() < 0 || r.StartOmitted && (r.Open || r.Start.Sign() != 0) {
		t.Errorf("not a valid range: %+v", r)
	}
	const mostBits = 2*maxDigits*4 + 8
	for _, bound := range []Time{r.Start, r.End} {
		if v := bound.value(); v.Num().BitLen() > mostBits || v.Denom().BitLen() > mostBits {
			t.Errorf("a bound of %d/%d bits", v.Num().BitLen(), v.Denom().BitLen())
		}
	}
	var f Fragment
	f.Time = &r
	asked, outcome := f.Resolve(r.Start.Add(Seconds(1)))
	if outcome != Part || asked.Empty() || asked.Open {
		t.Errorf("resolves to %v, %v", asked, outcome)
	}
	if _, outcome := f.Resolve(r.Start); outcome != SeekEnd {
		t.Errorf("resolves to %v at its start", outcome)
	}
}

// FuzzTimeJSON checks that a JSON number is read, or refused, in bounded time,
// and that what is read can be written and read again.
func FuzzTimeJSON(f *testing.F) {
	for _, s := range []string{"0", "-0.0", "61.029", "1e3", "1e-999999999", "1e999999999", "null", `"1"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v, back Time
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &back); err != nil || back.String() != trimZeros(v.value().FloatString(roundedDigits)) {
			t.Errorf("%s is written as %s and read as %v, %v", text, b, back, err)
		}
	})
}
