package webm_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/seektest"
)

// TestGrowing cuts a recording that goes on while it is open.
func TestGrowing(t *testing.T) {
	w := film{seconds: 60, index: "none", heads: "none", segmentSize: 8, clusterSize: 8, noDuration: true}.write()
	half := w.clusters[15]
	src := seektest.Virtual(half, bytes.NewReader(w.data[:half]))
	src.Growing = true
	o, err := open(t, src, formats.Env{Growing: true})
	if err != nil {
		t.Fatal(err)
	}
	duration := func() float64 {
		i, err := o.Inspect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return i.Duration.Seconds()
	}
	if d := duration(); d < 29.9 || d > 30.1 {
		t.Errorf("%v s, want 30", d)
	}
	if _, err := o.Plan(t.Context(), seconds(45, 50)); !errors.Is(err, formats.ErrPastEnd) {
		t.Errorf("%v for an interval behind the end", err)
	}
	src.Change(int64(len(w.data)), bytes.NewReader(w.data), `"2"`)
	if d := duration(); d < 59.9 || d > 60.1 {
		t.Errorf("%v s, want 60", d)
	}
	_, data := o.Clip(t, formats.Selection{Interval: fragment.From(fragment.FromSeconds(45.013))})
	w.compare(t, readBack(t, data), 45013, 60000)
	_, data = o.Clip(t, seconds(45.013, 50.33))
	w.compare(t, readBack(t, data), 45013, 50330)
}

// TestGrowingStated: what a file that grows presents ends where it ends by now, whatever
// duration it states.
func TestGrowingStated(t *testing.T) {
	for name, f := range map[string]film{
		"known size":   {seconds: 60, index: "none", heads: "none"},
		"unknown size": {seconds: 60, index: "none", heads: "none", segmentSize: 8, clusterSize: 8},
	} {
		w := f.write()
		half := w.clusters[15]
		src := seektest.Virtual(half, bytes.NewReader(w.data[:half]))
		src.Growing = true
		o, err := open(t, src, formats.Env{Growing: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []formats.Selection{seconds(25.5, 40), seconds(25.5, 60), seconds(25.5, 100)} {
			plan, data := o.Clip(t, s)
			if n := len(readBack(t, data).pictures); n != 6*25 { // from the keyframe at 24 s
				t.Errorf("%s: %d pictures", name, n)
			}
			if end := plan.Presented.End.Seconds(); end < 29.9 || end > 30.1 || len(plan.Warnings) != 1 || !strings.Contains(plan.Warnings[0].Reason, "so far") {
				t.Errorf("%s: presented %v, warnings %v", name, plan.Presented, plan.Warnings)
			}
		}
		if _, err := o.Plan(t.Context(), seconds(45, 50)); !errors.Is(err, formats.ErrPastEnd) {
			t.Errorf("%s: %v for an interval behind the end", name, err)
		}
		src.Change(int64(len(w.data)), bytes.NewReader(w.data), `"2"`)
		if plan, data := o.Clip(t, seconds(45.013, 50.33)); len(plan.Warnings) > 0 || !plan.Presented.End.Equal(fragment.FromSeconds(50.33)) {
			t.Errorf("%s: presented %v, warnings %v", name, plan.Presented, plan.Warnings)
		} else {
			w.compare(t, readBack(t, data), 45013, 50330)
		}
	}
}
