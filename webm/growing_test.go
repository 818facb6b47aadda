package webm_test

import (
	"bytes"
	"errors"
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
