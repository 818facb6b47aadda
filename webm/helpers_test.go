package webm_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
	"github.com/mediafrag/mediafrag/webm"
)

// opened is a file that is served from memory, opened as the client opens it:
// its first and last bytes are asked for at once.
type opened struct {
	formats.Media
	src    *seektest.Source
	w      *seek.Window
	totals *seek.Totals
}

func open(t testing.TB, src *seektest.Source, env formats.Env) (*opened, error) {
	t.Helper()
	o := &opened{src: src, totals: &seek.Totals{}}
	src.Observer = o.totals
	o.w = seek.NewWindow(t.Context(), src, 0)
	t.Cleanup(func() { o.w.Close() })
	const edge = 64 << 10
	_, err := o.w.Read(t.Context(),
		seek.Request{Range: seek.Range{Offset: 0, Length: edge}, Purpose: seek.Head},
		seek.Request{Range: seek.Suffix(edge), Purpose: seek.Tail})
	if err != nil {
		return nil, err
	}
	o.Media, err = webm.Format{}.Open(t.Context(), o.w, env)
	return o, err
}

func mustOpen(t testing.TB, data []byte) *opened {
	t.Helper()
	o, err := open(t, seektest.New(data), formats.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func mustRead(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// window is a Source for a Reader: through the window, as the client reads.
func (o *opened) opener() seek.Opener {
	return seek.OpenerFunc(func(context.Context, string) (seek.Source, error) { return o.w, nil })
}

// clip plans a selection and reads it.
func (o *opened) clip(t testing.TB, s formats.Selection) (*formats.Plan, []byte) {
	t.Helper()
	plan, err := o.Plan(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return plan, o.read(t, plan)
}

func (o *opened) read(t testing.TB, plan *formats.Plan) []byte {
	t.Helper()
	r := seek.NewReader(t.Context(), plan.Parts, o.opener(), 0)
	defer r.Close()
	var out bytes.Buffer
	header := int64(len(plan.Parts[0].Literal))
	if _, err := io.CopyN(&out, r, header+1); err != nil {
		t.Fatal(err)
	}
	o.totals.FirstMediaByte()
	if _, err := io.Copy(&out, r); err != nil {
		t.Fatal(err)
	}
	if plan.Size >= 0 && int64(out.Len()) != plan.Size {
		t.Errorf("the clip has %d bytes, planned %d", out.Len(), plan.Size)
	}
	return out.Bytes()
}

func seconds(a, b float64) formats.Selection {
	return formats.Selection{Interval: fragment.Between(fragment.FromSeconds(a), fragment.FromSeconds(b))}
}
