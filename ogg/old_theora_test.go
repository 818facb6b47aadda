package ogg

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/seek"
)

// oldTheora makes Theora 3.2.0 of 3.2.1: granule positions name pictures by
// their number from 0, not from 1.
func oldTheora(data []byte) (out []byte) {
	var serial uint32
	for _, p := range scanPages(data, 0, true).pages {
		if p.bos() && bytes.HasPrefix(p.body, []byte("\x80theora")) {
			serial = p.serial
			p.body = bytes.Clone(p.body)
			p.body[9] = 0
		}
		if p.serial == serial && p.granule > 0 {
			p.granule -= 1 << 6
		}
		out = appendPage(out, p.flags, p.granule, p.serial, p.seq, p.lacing, p.body)
	}
	return out
}

// TestOldTheora: among sound, pages of Theora before version 3.2.1 stand where
// their own granule positions put them.
func TestOldTheora(t *testing.T) {
	tools.Need(t, "oggz-validate")
	ctx := t.Context()
	source := seektest.New(oldTheora(samplePages(t)["theora-vorbis.ogv"]))
	w := seek.NewWindow(ctx, source, 0)
	defer w.Close()
	m, err := Format{}.Open(ctx, w, formats.Env{})
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []float64{0.9, 1.1, 1.3} {
		p, err := m.Plan(ctx, formats.Selection{Interval: fragment.Between(fragment.FromSeconds(0.3), fragment.FromSeconds(end))})
		if err != nil {
			t.Fatal(err)
		}
		r := seek.NewReader(ctx, p.Parts, source, 0)
		clip, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "clip.ogv")
		if err := os.WriteFile(path, clip, 0o600); err != nil {
			t.Fatal(err)
		}
		if out := oracle.Run(t, "oggz-validate", path); len(out) > 0 {
			t.Errorf("to %g s: %s", end, out)
		}
	}
}
