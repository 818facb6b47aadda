package webm_test

import (
	"fmt"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"os"
	"strconv"
	"testing"
)

func TestTry(t *testing.T) {
	path := os.Getenv("TRY")
	if path == "" {
		t.Skip()
	}
	a, _ := strconv.ParseFloat(os.Getenv("A"), 64)
	b, _ := strconv.ParseFloat(os.Getenv("B"), 64)
	o := mustOpen(t, mustRead(t, path))
	fmt.Printf("%+v\n", o.Info())
	s := seconds(a, b)
	if b == 0 {
		s.Interval = fragment.From(fragment.FromSeconds(a))
	}
	s.Form = formats.Form(os.Getenv("FORM"))
	if tr := os.Getenv("TRACK"); tr != "" {
		s.Tracks = []string{tr}
	}
	s.Timeline = formats.Timeline(os.Getenv("TL"))
	plan, data := o.clip(t, s)
	for _, p := range plan.Parts {
		fmt.Printf("  %d literal %d  range %v %s %+v\n", p.Size, len(p.Literal), p.Range, p.Note, p.Rewrite)
	}
	fmt.Println("requested", plan.Requested, "presented", plan.Presented, "covered", plan.Covered, "size", plan.Size, "needed", plan.Needed, "delivered", o.src.Delivered(), plan.Warnings)
	for _, r := range o.src.Requests() {
		fmt.Println("   ", r.Range, r.Purpose, r.Note, r.Delivered)
	}
	fmt.Printf("%+v\n", o.totals.Transfer())
	os.WriteFile("/tmp/w/out.webm", data, 0o644)
}
