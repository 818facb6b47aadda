package mp4_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/seek"
)

// bare is a window that holds nothing yet, so that parts are really read in
// parts.
func openBare(ctx context.Context, t testing.TB, s *seektest.Source, limits formats.Limits) (formats.Media, error) {
	w := seek.NewWindow(ctx, s, 0)
	t.Cleanup(func() { w.Close() })
	return mp4.Format{}.Open(ctx, w, formats.Env{Limits: limits})
}

// samePlans plans intervals of a file whose moov was read whole and in parts,
// and compares all of the plans. It returns how often the whole moov was read
// after all.
func samePlans(t *testing.T, data []byte, parts int) (contradictions int) {
	t.Helper()
	ctx := t.Context()
	whole, err := openBare(ctx, t, seektest.New(data), formats.Limits{Whole: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	info := whole.Info()
	end := info.Duration.Seconds()
	planned := 0
	for _, timeline := range []formats.Timeline{formats.Zero, formats.Original}[:full(2, 1)] {
		for i := range parts {
			a := end * float64(i) / float64(parts)
			for _, length := range []float64{end / 50, end / 3, end} {
				s := between(a, a+length)
				s.Timeline = timeline
				source := seektest.New(data)
				partial, err := openBare(ctx, t, source, formats.Limits{Whole: 1})
				if err != nil {
					t.Fatalf("in parts: %v", err)
				}
				if diff := cmp.Diff(info, partial.Info(), timesEqual); diff != "" {
					t.Fatalf("info, whole and in parts (-whole +parts):\n%s", diff)
				}
				source.Reset()
				want, wantErr := whole.Plan(ctx, s)
				got, gotErr := partial.Plan(ctx, s)
				if diff := cmp.Diff(fmt.Sprint(wantErr), fmt.Sprint(gotErr)); diff != "" {
					t.Fatalf("[%g, +%g): errors (-whole +parts):\n%s", a, length, diff)
				}
				if wantErr == nil {
					planned++
				}
				if slices.ContainsFunc(source.Requests(), func(r seektest.Request) bool { return r.Note == "moov" }) {
					contradictions++
				}
				if diff := cmp.Diff(want, got, timesEqual, bytesEqual); diff != "" {
					t.Fatalf("[%g, +%g): plans (-whole +parts):\n%s", a, length, diff)
				}
			}
		}
	}
	if planned == 0 {
		t.Error("no interval could be planned")
	}
	return contradictions
}

// full returns all in a full run, else few.
func full(all, few int) int {
	if tools.Full() {
		return all
	}
	return few
}

var (
	timesEqual = cmp.Comparer(func(a, b fragment.Time) bool { return a.Equal(b) })
	bytesEqual = cmp.Comparer(bytes.Equal) // else each byte of a header is compared by reflection
)

// TestPartsCorpus: whole and in parts, every progressive file of the corpus
// yields the same plans.
func TestPartsCorpus(t *testing.T) {
	dir, files := oracle.Corpus(t)
	for path := range files {
		if !strings.HasPrefix(path, "mp4/") {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, path))
			if err != nil {
				t.Fatal(err)
			}
			samePlans(t, data, full(7, 2))
		})
	}
}

// TestPartsRefresh: pictures that are refreshed bit by bit begin at the same sample,
// whole and in parts.
func TestPartsRefresh(t *testing.T) {
	data, err := os.ReadFile(madeNamed(t, "h264-refresh").path(t))
	if err != nil {
		t.Fatal(err)
	}
	samePlans(t, data, full(7, 3))
}

// TestRefreshLearned: the first plan of fragments begins early enough already, as
// the second does, which knows of the pictures what the first has found out.
func TestRefreshLearned(t *testing.T) {
	o := mustOpen(t, madeNamed(t, "refresh-fragments").path(t))
	first, err := o.Plan(t.Context(), between(5.013, 7.5))
	if err != nil {
		t.Fatal(err)
	}
	second, err := o.Plan(t.Context(), between(5.013, 7.5))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(second, first, timesEqual, bytesEqual); diff != "" || first.Covered.Start.Seconds() > 2.1 {
		t.Errorf("covered %v (-second +first):\n%s", first.Covered, diff)
	}
}
