package mp4_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// absolute are the files whose fragments place their media in the file.
var absolute = map[string]bool{"mfra-edits": true, "bare-absolute": true, "mfra-short-fragments": true, "mfra-every-frame": true}

// TestVerbatim: a verbatim clip of a fragmented file is its header and a run of
// its bytes, which ffmpeg decodes to all the pictures of the interval.
func TestVerbatim(t *testing.T) {
	t.Parallel()
	for _, m := range fragmentedFiles {
		if strings.HasPrefix(m.name, "hybrid") || m.name == "opus-fragments" || !tools.Full() && m.name != "sidx" && m.name != "mfra-edits" {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			path := m.path(t)
			o := mustOpen(t, path)
			interval := fragment.Between(fragment.FromSeconds(m.trait.a), fragment.FromSeconds(m.trait.b))
			if absolute[m.name] {
				_, err := o.Plan(t.Context(), formats.Selection{Interval: interval, Form: formats.Verbatim})
				if !errors.Is(err, formats.ErrUnsupported) {
					t.Errorf("the error is %v", err)
				}
				return
			}
			p, file := o.cut(t, formats.Selection{Interval: interval, Form: formats.Verbatim})
			clip, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			original, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			header, media := p.Parts[0].Range, p.Parts[1].Range
			if want := append(bytes.Clone(original[:header.Length]), original[media.Offset:media.End()]...); !bytes.Equal(clip, want) {
				t.Errorf("%d bytes, want %d of the original", len(clip), len(want))
			}
			got := oracle.Decode(t, file)
			want := oracle.Between(oracle.Original(t, path).Video[0], m.trait.a, m.trait.b)
			if r := oracle.CompareVideo(want, got.Video[0]); r.Missing > 0 {
				t.Errorf("%s", r)
			}
			if a, b := p.Covered.Start.Seconds(), p.Covered.End.Seconds(); a > m.trait.a || b < m.trait.b {
				t.Errorf("covered is %s of %v", p.Covered, m.trait)
			}
		})
	}
}
