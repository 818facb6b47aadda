package mp4_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/Eyevinn/mp4ff/bits"
	ffmp4 "github.com/Eyevinn/mp4ff/mp4"

	"github.com/mediafrag/mediafrag/internal/oracle"
)

// The tests of this file read originals and clips with mp4ff, which shares no
// code with us or with ffmpeg, by the written rule (ISO/IEC 14496-12): decode
// time plus composition offset, less the media time of the edit, plus the empty
// edits before it.

// isoTrack is a track as mp4ff reads it.
type isoTrack struct {
	id      uint32
	handler string
	shown   float64 // seconds that its edits show, empty edits included
	signed  bool    // has negative offsets in a ctts of version 0
	samples []isoSample
}

// isoSample is a sample on the presentation's timeline, in seconds.
type isoSample struct {
	time, end float64
	hash      [32]byte
}

// isoTracks reads all samples of a progressive file.
func isoTracks(t testing.TB, data []byte) []isoTrack {
	t.Helper()
	// It reads no avcC with NAL lengths of 2 bytes, and here none is needed.
	moovBytes := bytes.ReplaceAll(moovOf(t, data), []byte("avcC"), []byte("avcX"))
	box, err := ffmp4.DecodeBoxSR(0, bits.NewFixedSliceReader(moovBytes))
	if err != nil {
		t.Fatalf("mp4ff: %v", err)
	}
	moov := box.(*ffmp4.MoovBox)
	var out []isoTrack
	for _, trak := range moov.Traks {
		out = append(out, readTrack(t, moov, trak, data))
	}
	return out
}

// moovOf returns the first moov at the top level.
func moovOf(t testing.TB, data []byte) []byte {
	t.Helper()
	for at := 0; at+8 <= len(data); {
		size := int(binary.BigEndian.Uint32(data[at:]))
		switch size {
		case 0:
			size = len(data) - at
		case 1:
			size = int(binary.BigEndian.Uint64(data[at+8:]))
		}
		if string(data[at+4:at+8]) == "moov" {
			return data[at : at+size]
		}
		at += size
	}
	t.Fatal("no moov")
	return nil
}

func readTrack(t testing.TB, moov *ffmp4.MoovBox, trak *ffmp4.TrakBox, data []byte) isoTrack {
	t.Helper()
	stbl := trak.Mdia.Minf.Stbl
	scale, movie := float64(trak.Mdia.Mdhd.Timescale), float64(moov.Mvhd.Timescale)
	out := isoTrack{id: trak.Tkhd.TrackID, handler: trak.Mdia.Hdlr.HandlerType}
	var empty, mediaTime float64
	if trak.Edts != nil {
		for _, e := range trak.Edts.Elst[0].Entries {
			out.shown += float64(e.SegmentDuration) / movie
			if e.MediaTime < 0 {
				empty += float64(e.SegmentDuration) / movie
			} else {
				mediaTime = float64(e.MediaTime)
			}
		}
	}
	n := stbl.Stsz.GetNrSamples()
	for nr := uint32(1); nr <= n; nr++ {
		dts, dur := stbl.Stts.GetDecodeTime(nr)
		cts := float64(dts)
		if stbl.Ctts != nil {
			offset := stbl.Ctts.GetCompositionTimeOffset(nr)
			out.signed = out.signed || offset < 0 && stbl.Ctts.Version == 0
			cts += float64(offset)
		}
		ranges, err := trak.GetRangesForSampleInterval(nr, nr)
		if err != nil {
			t.Fatalf("mp4ff: track %d sample %d: %v", out.id, nr, err)
		}
		at := (cts-mediaTime)/scale + empty
		r := ranges[0]
		out.samples = append(out.samples, isoSample{at, at + float64(dur)/scale, sha256.Sum256(data[r.Offset : r.Offset+r.Size])})
	}
	return out
}

// checkDurations checks that the durations that a file states agree: the
// movie's is its longest track's, a track's that of its edits, a medium's that
// of its samples.
func checkDurations(t *testing.T, data []byte) {
	t.Helper()
	box, err := ffmp4.DecodeBoxSR(0, bits.NewFixedSliceReader(bytes.ReplaceAll(moovOf(t, data), []byte("avcC"), []byte("avcX"))))
	if err != nil {
		t.Fatalf("mp4ff: %v", err)
	}
	moov := box.(*ffmp4.MoovBox)
	var longest uint64
	for _, trak := range moov.Traks {
		var edits uint64
		for _, e := range trak.Edts.Elst[0].Entries {
			edits += e.SegmentDuration
		}
		stts := trak.Mdia.Minf.Stbl.Stts
		var media uint64
		for i, n := range stts.SampleCount {
			media += uint64(n) * uint64(stts.SampleTimeDelta[i])
		}
		if trak.Tkhd.Duration != edits || trak.Mdia.Mdhd.Duration != media {
			t.Errorf("track %d: tkhd says %d, its edits %d; mdhd says %d, its samples %d",
				trak.Tkhd.TrackID, trak.Tkhd.Duration, edits, trak.Mdia.Mdhd.Duration, media)
		}
		longest = max(longest, edits)
	}
	if moov.Mvhd.Duration != longest {
		t.Errorf("mvhd says %d, the longest track %d", moov.Mvhd.Duration, longest)
	}
}

// checkTimeline checks that each track of a clip has the samples that the
// original presents in [a, b), in sequence, each presented a seconds earlier,
// and that nothing but them is shown.
func checkTimeline(t *testing.T, original, clip []byte, a, b float64) {
	t.Helper()
	checkDurations(t, clip)
	tracks := map[uint32]isoTrack{}
	for _, c := range isoTracks(t, clip) {
		tracks[c.id] = c
		if c.signed {
			t.Errorf("track %d has negative composition offsets in a ctts of version 0", c.id)
		}
	}
	for _, o := range isoTracks(t, original) {
		if o.handler == "hint" {
			continue
		}
		var want []isoSample
		for _, s := range o.samples {
			if s.time < b-1e-6 && s.end > a+1e-6 && (s.time >= a-1e-6 || o.handler != "vide") {
				if o.handler != "vide" && o.handler != "soun" {
					s.time = max(s.time, a) // a text begins where the clip does
				}
				want = append(want, s)
			}
		}
		if len(want) == 0 {
			continue
		}
		c, ok := tracks[o.id]
		if !ok {
			t.Errorf("track %d is missing", o.id)
			continue
		}
		if math.Abs(c.shown-(min(b, want[len(want)-1].end+10)-a)) > 10 || c.shown > b-a+2e-3 {
			t.Errorf("track %d shows %.6f s, want at most %.6f", o.id, c.shown, b-a)
		}
		checkSamples(t, o.id, c.samples, want, a)
	}
}

func checkSamples(t *testing.T, id uint32, have, want []isoSample, a float64) {
	t.Helper()
	n := 0
	for _, s := range have {
		if n < len(want) && s.hash == want[n].hash && math.Abs(s.time-(want[n].time-a)) < 2e-4 {
			n++
		}
	}
	if n < len(want) {
		t.Errorf("track %d: of %d samples wanted, the one at %.6f is missing, changed or at another time", id, len(want), want[n].time)
	}
}

// TestReadBack reads clips of every kind of file back with mp4ff.
func TestReadBack(t *testing.T) {
	t.Parallel()
	for _, m := range files {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			path := m.path(t)
			for _, i := range m.compared() {
				checkFile(t, path, i.a, i.b)
			}
		})
	}
}

// TestCorpusTimeline does the same for the progressive files that others made,
// by the rule as it is written: some of them ffmpeg reads otherwise.
func TestCorpusTimeline(t *testing.T) {
	t.Parallel()
	dir, truth := oracle.Corpus(t)
	for path, f := range truth {
		if !strings.HasPrefix(path, "mp4/") || refused[path] != nil {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			for n := range 3 {
				if n < len(f.Streams[0].Intervals) {
					i := f.Streams[0].Intervals[n]
					checkFile(t, filepath.Join(dir, path), i.A, i.B)
				}
			}
		})
	}
}

func checkFile(t *testing.T, path string, a, b float64) {
	t.Helper()
	o := mustOpen(t, path)
	sel := between(a, b)
	for _, track := range o.Info().Tracks {
		sel.Tracks = append(sel.Tracks, track.ID)
	}
	plan, clip := o.cut(t, sel)
	original, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut, err := os.ReadFile(clip)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(cut[:8], original[:8]) {
		t.Errorf("the clip begins with %q, want the original's ftyp", cut[:8])
	}
	checkTimeline(t, original, cut, a, plan.Requested.End.Seconds())
}
