package mp4

import (
	"math"
	"slices"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
)

// TestInUnits counts a track of AAC in its samples: frames around the interval by
// their length, the rest of the times to the nearest sample.
func TestInUnits(t *testing.T) {
	const count = 1000 // frames of 1024 samples at 48 kHz, in milliseconds
	var runs []run
	at := int64(0)
	for i := range int64(count) {
		next := scaled((i+1)*1024, 1000, 48_000)
		runs, at = appendRun(runs, run{1, next - at}), next
	}
	stts, _ := newRunTable(encodeRuns(runs), false)
	in := &track{
		kind: formats.Audio, timescale: 1000, end: at, entry: sampleEntry{format: "mp4a", coreRate: 48_000},
		tables: &sampleTables{count: count, start: 64, stts: stts, all: true, oneSize: 10, gaps: map[int64]int64{500: 2000}},
		edits:  []edit{{duration: 5, mediaTime: -1}, {duration: 50, mediaTime: 1000}},
	}
	out := in.inUnits(sampleRange{500, 520})
	s := out.tables
	if out.timescale != 48_000 || out.end != 48*at || out.edits[0].mediaTime != -1 || out.edits[1].mediaTime != 48_000 || s.gaps[500] != 96_000 {
		t.Errorf("%d ticks a second, ends at %d, edits %v, gaps %v", out.timescale, out.end, out.edits, s.gaps)
	}
	for i := int64(500); i <= 520; i++ {
		if want := 3*1024 + i*1024; s.decode(i) != want {
			t.Errorf("sample %d is decoded at %d, want %d", i, s.decode(i), want)
		}
	}
	if s.start != 64*48 || s.end() != (64+at)*48 {
		t.Errorf("from %d to %d, want %d to %d", s.start, s.end(), 64*48, (64+at)*48)
	}
	for _, tt := range []struct {
		name   string
		change func(t *track)
	}{
		{"pictures", func(t *track) { t.kind = formats.Video }},
		{"counted so already", func(t *track) { t.timescale = 48_000 }},
		{"xHE-AAC", func(t *track) {
			t.entry = sampleEntry{format: "mp4a"}
			t.entry.readAudioConfig([]byte{0xf9, 0x4a, 0x42, 0})
		}},
		{"PCM", func(t *track) { t.entry = sampleEntry{format: "sowt", bits: 16, channels: 2, rate: 44_100} }},
		{"unknown", func(t *track) { t.entry = sampleEntry{format: "xxxx", rate: 44_100} }},
		{"composition offsets", func(t *track) { t.tables.ctts, _ = newRunTable(encodeRuns([]run{{count, 1}}), true) }},
	} {
		of, tables := *in, *in.tables
		of.tables = &tables
		tt.change(&of)
		if of.inUnits(sampleRange{500, 520}) != &of {
			t.Errorf("%s: counted otherwise", tt.name)
		}
	}
	for codec, want := range map[string]int64{"Opus": 48_000, "fLaC": 48_000, ".mp3": 48_000, "ac-3": 48_000, "samr": 48_000} {
		e := sampleEntry{format: codec, rate: 48_000}
		if got := e.unitRate(); got != want {
			t.Errorf("%s: %d units a second, want %d", codec, got, want)
		}
	}
}

// TestScaled rounds to the nearest tick, whatever the numbers.
func TestScaled(t *testing.T) {
	in := [][3]int64{{1, 48, 1}, {2, 441, 1000}, {1, 441, 1000}, {-2, 441, 1000}, {1 << 40, 10_000_000, 90_000}, {maxTicks, 1, 1000}, {1 << 60, math.MaxUint32, 1}}
	want := []int64{48, 1, 0, -1, 122_167_958_641_778, maxTicks, maxTicks}
	var got []int64
	for _, n := range in {
		got = append(got, scaled(n[0], n[1], n[2]))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
