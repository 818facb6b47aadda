package client

import (
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// TestDamageOnce: damage that the plan saw and that was met again while the clip
// was read is told once.
func TestDamageOnce(t *testing.T) {
	seen, met := seek.Damage{Offset: 7, Problem: "a bad page"}, seek.Damage{Offset: 9, Problem: "a bad page"}
	plan := &formats.Plan{Warnings: []fragment.Warning{{Reason: seen.String()}}}
	got := withDamage(plan, []seek.Damage{seen, met})
	if len(got) != 2 || got[0].Reason != seen.String() || got[1].Reason != met.String() || len(plan.Warnings) != 1 {
		t.Errorf("%v of %v", got, plan.Warnings)
	}
}
