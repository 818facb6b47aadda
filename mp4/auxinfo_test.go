package mp4

import (
	"bytes"
	"context"
	"errors"
	"math"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// TestClearSamples says of a sample that it is in the clear: by a vector alone, or
// with a table of its bytes, as long as a saiz can say.
func TestClearSamples(t *testing.T) {
	const entries = (math.MaxUint8 - 8 - 2) / 6 // of 65,535 bytes each
	for _, tt := range []struct {
		subsamples bool
		size       int64
		length     int // -1: nothing
	}{
		{false, 1 << 40, 8},
		{true, 0, 10},
		{true, math.MaxUint16, 16},
		{true, math.MaxUint16 + 1, 22},
		{true, entries * math.MaxUint16, 10 + 6*entries},
		{true, entries*math.MaxUint16 + 1, -1},
	} {
		got := (&auxInfo{subsamples: tt.subsamples}).clear(8, tt.size)
		if got == nil && tt.length >= 0 || got != nil && len(got) != tt.length {
			t.Errorf("subsamples %v, %d bytes: %d bytes of information, want %d", tt.subsamples, tt.size, len(got), tt.length)
		}
	}
}

// TestAboutEncryption tells the tables of encryption from others of their kind.
func TestAboutEncryption(t *testing.T) {
	for typ, want := range map[string]bool{"cenc": true, "cens": true, "cbc1": true, "cbcs": true, "hint": false, "": true} {
		p := []byte{0, 0, 0, 0, 0, 0, 0, 1}
		if typ != "" {
			p = append([]byte{0, 0, 0, 1}, typ...)
		}
		if got := aboutEncryption(p); got != want {
			t.Errorf("%q: %v, want %v", typ, got, want)
		}
	}
}

// TestAuxLimits reads encryption information that is more than any clip needs, or
// that the file does not have: an error, and of the former nothing is read.
func TestAuxLimits(t *testing.T) {
	const n = maxAux/math.MaxUint8 + 1
	s := &sampleTables{count: n}
	all := []sampleRange{{0, n}}
	places := &auxTables{oneSize: math.MaxUint8, count: n, places: []int64{100}, found: true}
	apart := &auxInfo{samples: make([][]byte, n)}
	for i := range int64(n) {
		apart.apart = append(apart.apart, auxPlace{i, 0, seek.Range{Offset: 100 + i*math.MaxUint8, Length: math.MaxUint8}})
	}
	load := map[string]func(ctx context.Context, read auxReader, ranges []sampleRange) (*auxInfo, error){
		"by a saio": func(ctx context.Context, read auxReader, ranges []sampleRange) (*auxInfo, error) {
			return places.load(ctx, read, s, 8, ranges)
		},
		"of fragments": apart.loadApart,
	}
	for name, load := range load {
		for _, tt := range []struct {
			ranges []sampleRange
			short  int64 // bytes that are missing
			reads  int64 // bytes
			damage bool
		}{
			{all, 0, 0, true},
			{[]sampleRange{{0, n - 1}}, 0, (n - 1) * math.MaxUint8, false},
			{[]sampleRange{{5, 7}}, 0, 2 * math.MaxUint8, false},
			{[]sampleRange{{5, 7}}, 1, 2 * math.MaxUint8, true},
		} {
			var reads int64
			info, err := load(t.Context(), func(_ context.Context, _ int, ranges []seek.Range) (out [][]byte, err error) {
				for _, r := range ranges {
					reads += r.Length
					out = append(out, bytes.Repeat([]byte{byte(r.Offset)}, int(r.Length-tt.short)))
				}
				return out, nil
			}, tt.ranges)
			if errors.Is(err, formats.ErrDamaged) != tt.damage || reads != tt.reads {
				t.Errorf("%s, %v: %v, %d bytes read; want damage: %v, %d", name, tt.ranges, err, reads, tt.damage, tt.reads)
			}
			if r := tt.ranges[0]; err == nil && (len(info.samples[r.from]) != math.MaxUint8 || r.from > 0 && info.samples[r.from-1] != nil) {
				t.Errorf("%s, %v: other samples have information", name, tt.ranges)
			}
		}
	}
}

// TestCoveredStill covers no more than the interval behind a picture that stands,
// and behind others until the last one ends; before both from the first one on.
func TestCoveredStill(t *testing.T) {
	stts, _ := newRunTable(encodeRuns([]run{{10, 100}}), false)
	tables := &sampleTables{stts: stts, count: 10, all: true}
	want := fragment.Between(fragment.Seconds(2), fragment.Seconds(3))
	for still, end := range map[bool]string{true: "3", false: "3.05"} {
		c := &cut{
			track: &track{timescale: 1000, kind: formats.Video, tables: tables}, refine: 1, want: want,
			pieces: []piece{{start: want.Start, end: want.End, from: 250, to: 350, still: still, samples: sampleRange{2, 4}}},
			ranges: []sampleRange{{2, 4}},
		}
		if got := c.covered(); got.Start.String() != "1.95" || got.End.String() != end {
			t.Errorf("still %v: covered %v, want from 1.95 to %s", still, got, end)
		}
	}
}

// TestUnreadEnd: samples between others that were not read end by the time that the
// next one is decoded, and as much later as any is presented.
func TestUnreadEnd(t *testing.T) {
	stts, _ := newRunTable(encodeRuns([]run{{10, 100}}), false)
	ctts, _ := newRunTable(encodeRuns([]run{{9, 50}, {1, 300}}), true)
	early, _ := newRunTable(encodeRuns([]run{{10, -50}}), true)
	for _, tt := range []struct {
		holed  bool
		ctts   *runTable
		behind int64
		want   int64
	}{
		{false, ctts, 5, math.MinInt64},
		{true, nil, 5, 500},
		{true, ctts, 5, 800},
		{true, early, 5, 500},
		{true, nil, 12, 1000}, // beyond the last
	} {
		c := &cut{track: &track{tables: &sampleTables{stts: stts, ctts: tt.ctts, count: 10}}, holed: tt.holed, behind: tt.behind}
		if got := c.unreadEnd(); got != tt.want {
			t.Errorf("%+v: %d", tt, got)
		}
	}
}
