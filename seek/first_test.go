package seek_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

// asIs is a Rewriter that changes nothing.
type asIs struct{}

func (asIs) Name() string { return "as-is" }

func (asIs) Rewrite(ctx context.Context, in seek.Input, off int64) (io.ReadCloser, error) {
	return in.Open(ctx, off, seek.ToEnd)
}

// TestFirst: what is said of a Reader's first requests is what it asks for: single
// ranges, such that are joined, divided, rewritten or of unknown length.
func TestFirst(t *testing.T) {
	const large = 2 << 20
	info := &seek.Info{Name: "mem:resource", Size: -1}
	part := func(off, n int64, change func(p *seek.Part)) seek.Part {
		p := seek.Bytes(info, seek.Range{Offset: off, Length: n}, "")
		if change != nil {
			change(&p)
		}
		return p
	}
	rewritten := func(p *seek.Part) { p.Rewrite = asIs{} }
	for name, parts := range map[string][]seek.Part{
		"one":             {part(100, 200, nil)},
		"joined":          {part(0, 100, nil), seek.Literal([]byte("x"), ""), part(150, 100, nil), part(900<<10, 100, nil)},
		"divided":         {part(0, large, nil), part(4*large, 100, nil)},
		"rewritten":       {part(0, large, rewritten), part(large, 100, rewritten)},
		"more than allow": {part(0, 10, rewritten), part(10, 10, rewritten), part(20, 10, rewritten), part(30, 10, rewritten), part(40, 10, rewritten), part(50, 10, rewritten)},
		"unknown":         {part(5*large, seek.ToEnd, func(p *seek.Part) { p.Size = -1; p.Rewrite = asIs{} })},
		"runs": {
			part(0, large, func(p *seek.Part) { p.Run = 1 }), seek.Literal([]byte("x"), ""), part(large+10, 100, func(p *seek.Part) { p.Run = 1 }),
			part(large+110, large, func(p *seek.Part) { p.Run = 2 }),
		},
	} {
		seektest.Counted(t, name, func(t *testing.T) {
			const parallel = 4
			first, err := seek.First(parts, parallel)
			if err != nil {
				t.Fatal(err)
			}
			source := seektest.Virtual(6*large, seektest.Fill(seektest.Pattern))
			hold := make(chan struct{})
			source.Fault = func(context.Context, int, seek.Request) seektest.Fault { return seektest.Fault{Stall: hold} }
			r := seek.NewReader(t.Context(), parts, source, parallel)
			go r.Read(make([]byte, 1))
			synctest.Wait()
			var want []string
			for _, f := range first {
				want = append(want, f.Range.String())
			}
			got := source.Ranges()
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("asked for %v, want %v", got, want)
			}
			close(hold)
			r.Close()
			whole := seek.NewReader(t.Context(), parts, source, parallel)
			defer whole.Close()
			var b bytes.Buffer
			if _, err := whole.WriteTo(&b); err != nil {
				t.Fatal(err)
			}
			var all []byte
			for _, p := range parts {
				if all = append(all, p.Literal...); p.Resource != nil {
					n := p.Length
					if n < 0 {
						n = 6*large - p.Offset
					}
					all = append(all, seektest.PatternBytes(p.Offset, n)...)
				}
			}
			if !bytes.Equal(b.Bytes(), all) {
				t.Error("other bytes")
			}
			if name == "runs" {
				if want := []string{"0-2097261", fmt.Sprintf("%d-%d", large+110, 2*large+109)}; !slices.Equal(got, want) {
					t.Errorf("asked for %v, want %v", got, want)
				}
			}
		})
	}
	if _, err := seek.First([]seek.Part{{Rewrite: asIs{}}}, 4); err == nil {
		t.Error("parts that contradict themselves are no error")
	}
}
