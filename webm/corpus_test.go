package webm_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// damagedFiles are those of the corpus that end in an error, or whose undamaged part
// is given.
var damagedFiles = []string{"libwebm-blockgroup_block_ends_beyond_blockgroup.mkv", "libwebm-invalid_vp9_bitstream-bug_1416.webm"}

// encryptedFiles hold frames in which ffprobe's parser finds keyframes by mistake:
// the recorded ones are not those that the file flags, which count.
var encryptedFiles = []string{"fx-sintel-short-clearkey-subsample-encrypted-video.webm"}

// TestCorpus cuts the recorded intervals of every file that others made, and
// compares the coded frames with those that were recorded.
func TestCorpus(t *testing.T) {
	t.Parallel()
	tools.Need(t, "ffprobe", "mkvmerge", "mkvinfo")
	dir, files := oracle.Corpus(t)
	var paths []string
	for path := range files {
		if strings.HasPrefix(path, "matroska/") {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			data := mustRead(t, filepath.Join(dir, path))
			o, err := open(t, seektest.New(data), formats.Env{})
			if slices.Contains(damagedFiles, filepath.Base(path)) {
				checkDamaged(t, o, err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			checkCorpusFile(t, o, filepath.Join(dir, path), files[path])
		})
	}
}

// checkDamaged asks for an error that names the place, or a clip.
func checkDamaged(t *testing.T, o *opened, err error) {
	t.Helper()
	if err == nil {
		_, err = o.Plan(t.Context(), seconds(0, 1))
	}
	var e *formats.Error
	if err != nil && (!errors.As(err, &e) || e.Offset < 0) {
		t.Errorf("%v, want an error that names the place", err)
	}
}

// flaggedKey returns when the last picture at or before a is that the file itself
// flags as a keyframe, by ffprobe without its parsers.
func flaggedKey(t *testing.T, path string, stream int, a float64) *float64 {
	t.Helper()
	var key *float64
	out := oracle.Run(t, "ffprobe", "-v", "error", "-fflags", "+noparse+nofillin", "-show_entries", "packet=stream_index,pts_time,flags", "-of", "csv=p=0", path)
	for line := range strings.Lines(string(out)) {
		var n int
		var at float64
		if fields := strings.Split(strings.TrimSpace(line), ","); len(fields) > 2 && strings.Contains(fields[2], "K") {
			fmt.Sscan(fields[0], &n)
			fmt.Sscan(fields[1], &at)
			if n == stream && at <= a {
				key = &at
			}
		}
	}
	if key == nil {
		t.Errorf("stream %d has no flagged keyframe before %g", stream, a)
	}
	return key
}

func checkCorpusFile(t *testing.T, o *opened, path string, truth oracle.TruthFile) {
	original := oracle.Packets(t, path)
	start := o.Info().StartTime.Seconds()
	checked := 0
	for _, s := range truth.Streams {
		for _, i := range s.Intervals {
			if i.Packets == 0 || checked > 0 && !tools.Full() {
				continue
			}
			plan, err := o.Plan(t.Context(), seconds(max(0, i.A-start), i.B-start))
			if err != nil {
				t.Errorf("[%g, %g): %v", i.A, i.B, err)
				continue
			}
			clip := filepath.Join(t.TempDir(), "clip"+filepath.Ext(path))
			if err := os.WriteFile(clip, o.Read(t, plan), 0o644); err != nil {
				t.Fatal(err)
			}
			accepted(t, path, clip)
			if slices.Contains(encryptedFiles, filepath.Base(path)) {
				i.Key = flaggedKey(t, path, s.Index, i.A)
			}
			extra, err := s.CheckInterval(original, oracle.Packets(t, clip), i)
			if err != nil {
				t.Errorf("%s [%g, %g): %v", s.Codec, i.A, i.B, err)
			}
			if lead := plan.Requested.Start.Sub(plan.Covered.Start).Seconds(); s.Type == "audio" && extra > 4+int(lead*400) {
				t.Errorf("%s [%g, %g): %d packets more than wanted in %g s", s.Codec, i.A, i.B, extra, lead)
			}
			checked++
		}
	}
	if checked == 0 {
		t.Error("nothing was compared")
	}
}
