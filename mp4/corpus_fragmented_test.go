package mp4_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/mp4"
)

// TestCorpusFragmented cuts the recorded intervals of every fragmented file
// that others made, in each layout that it can have, and compares the coded
// frames with those that were recorded.
func TestCorpusFragmented(t *testing.T) {
	t.Parallel()
	tools.Need(t, "ffprobe")
	dir, files := oracle.Corpus(t)
	var paths []string
	for path := range files {
		if strings.HasPrefix(path, "fmp4/") {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			for _, layout := range []formats.Layout{mp4.Progressive, mp4.Fragmented} {
				t.Run(string(layout), func(t *testing.T) { checkFragmented(t, filepath.Join(dir, path), files[path], layout) })
			}
		})
	}
}

func checkFragmented(t *testing.T, path string, truth oracle.TruthFile, layout formats.Layout) {
	o := mustOpen(t, path)
	original := oracle.OriginalPackets(t, path)
	var checked int
	for n := range full(3, 1) {
		intervals := map[float64]oracle.TruthInterval{}
		for _, s := range truth.Streams {
			if n < len(s.Intervals) {
				intervals[s.Intervals[n].A] = s.Intervals[n]
			}
		}
		for _, i := range intervals {
			sel := between(i.A, i.B)
			sel.Layout = layout
			if _, err := o.Plan(t.Context(), sel); errors.Is(err, formats.ErrUnsupported) && o.Info().Index == mp4.None && layout == mp4.Progressive {
				checked++ // where the fragments are is not known
				continue
			}
			_, clip := o.cut(t, sel)
			checked += checkStreams(t, truth, o.Info().Tracks, original, clip, n, i.A)
		}
	}
	if checked == 0 { // nothing that ffprobe knows: all samples are there, by their number
		_, clip := o.cut(t, formats.Selection{Interval: fragment.From(fragment.Time{}), Layout: layout})
		if got := len(oracle.Packets(t, clip)); got == 0 || got != len(original) {
			t.Errorf("a clip of all has %d packets, want %d", got, len(original))
		}
	}
}
