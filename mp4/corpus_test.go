package mp4_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// refused are the corpus files that end in a typed error, and in which.
var refused = map[string]error{}

// preroll is how many packets a sound may begin early: what its codec needs.
var preroll = map[string]int{"aac": 2, "opus": 105, "amr_nb": 26, "flac": 0, "mp3": 10}

// TestCorpus cuts the recorded intervals of every progressive file that others
// made, and compares the coded frames with those that were recorded.
func TestCorpus(t *testing.T) {
	t.Parallel()
	tools.Need(t, "ffprobe")
	dir, files := oracle.Corpus(t)
	var paths []string
	for path := range files {
		if strings.HasPrefix(path, "mp4/") {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			checkCorpusFile(t, filepath.Join(dir, path), files[path], refused[path])
		})
	}
}

func checkCorpusFile(t *testing.T, path string, truth oracle.TruthFile, refusal error) {
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
			if refusal != nil {
				if _, err := o.Plan(t.Context(), sel); !errors.Is(err, refusal) {
					t.Errorf("[%g, %g): %v, want %v", i.A, i.B, err, refusal)
				}
				checked++
				continue
			}
			_, clip := o.cut(t, sel)
			checked += checkStreams(t, truth, o.Info().Tracks, original, clip, n, i.A)
		}
	}
	if checked == 0 {
		t.Error("nothing was compared")
	}
}

// mostPreroll is preroll of a codec of one of the tracks. HE-AAC, and what may be
// it, gets a second where it does not say how much it takes.
func mostPreroll(tracks []formats.Track, codec string) (most int, ok bool) {
	most, ok = preroll[codec]
	for _, t := range tracks {
		rate := t.SampleRate
		switch t.Codec {
		case "mp4a.40.5", "mp4a.40.29":
			rate /= 2 // of the core coder
		case "mp4a.40.2":
			if rate > 24000 {
				continue
			}
		default:
			continue
		}
		if codec == "aac" {
			most = max(most, (rate+1023)/1024)
		}
	}
	return most, ok
}

// checkStreams compares each stream whose recorded packets can be relied on.
func checkStreams(t *testing.T, truth oracle.TruthFile, tracks []formats.Track, original []oracle.Packet, clip string, n int, a float64) (checked int) {
	have := oracle.Packets(t, clip)
	for _, s := range truth.Streams {
		if n >= len(s.Intervals) || s.Intervals[n].A != a || s.Intervals[n].Packets == 0 {
			continue
		}
		if s.Type == "data" { // hint tracks are dropped; ffmpeg gives no packets of chapters
			continue
		}
		if s.Packetization != "" { // packet borders are ffmpeg's own: TestCorpusPCM compares samples
			checked++
			continue
		}
		if s.ISO != nil && s.ISO.Agrees != nil && !*s.ISO.Agrees && s.Type != "subtitle" {
			checked++ // TestCorpusTimeline compares what ffmpeg reads otherwise
			continue
		}
		extra, err := s.CheckInterval(original, have, s.Intervals[n])
		switch most, ok := mostPreroll(tracks, s.Codec); {
		case err != nil:
			t.Errorf("%s [%g, %g): %v", s.Codec, a, s.Intervals[n].B, err)
		case s.Type == "audio" && (!ok || extra > most):
			t.Errorf("%s [%g, %g): %d packets more than wanted, at most %d are pre-roll", s.Codec, a, s.Intervals[n].B, extra, most)
		}
		checked++
	}
	return checked
}
