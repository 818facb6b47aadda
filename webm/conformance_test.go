package webm_test

import (
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/formats/formatstest"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/webm"
)

// TestConformance runs the suite that all containers keep to.
func TestConformance(t *testing.T) {
	whole := fragment.From(fragment.Time{})
	between := func(a, b float64) fragment.Interval {
		return fragment.Between(fragment.FromSeconds(a), fragment.FromSeconds(b))
	}
	selections := []formats.Selection{
		{Interval: between(4.013, 7.5)},
		{Interval: between(4, 6)},
		{Interval: between(0, 1)},
		{Interval: between(19, 20)},
		{Interval: fragment.From(fragment.FromSeconds(12.5))},
		{Interval: whole},
		{Interval: between(5.5, 9), Timeline: formats.Original},
		{Interval: between(5.5, 9), Form: formats.Verbatim},
		{Interval: between(5.5, 9), Tracks: []string{"1"}},
		{Interval: between(5.5, 9), Tracks: []string{"2"}},
		{Interval: between(5.5, 9), Layout: formats.Exact},
	}
	films := map[string]film{
		"cues":        {seconds: 20},
		"no-cues":     {seconds: 20, index: "none"},
		"live":        {seconds: 20, index: "none", heads: "none", segmentSize: 8, clusterSize: 8, noDuration: true},
		"mid-cluster": {seconds: 20, midKey: true, laced: true},
		"groups":      {seconds: 20, groups: true, crc: true, positions: true, voids: true},
	}
	for name, f := range films {
		t.Run(name, func(t *testing.T) {
			formatstest.Run(t, formatstest.Case{Format: webm.Format{}, Source: seektest.New(f.write().data), Selections: selections})
		})
	}
}
