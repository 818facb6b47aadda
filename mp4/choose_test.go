package mp4

import (
	"bytes"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

// TestRefinement: a timescale is multiplied so that the interval begins and ends
// on a tick, as far as that can be written.
func TestRefinement(t *testing.T) {
	at := func(n, d int64) fragment.Time { return fragment.Ticks(n, d) }
	for _, tt := range []struct {
		timescale  int64
		start, end fragment.Time
		want       int64
	}{
		{90000, at(1, 1), at(2, 1), 1},
		{90000, at(1, 7), at(2, 1), 7},
		{1000, at(1, 3), at(5, 7), 21},
		{1000, at(1, 1300), at(2, 1), 13},
		{90000, at(1, 113), at(2, 1), 1},           // 10,170,000 ticks a second
		{90000, at(1, 109), at(2, 1), 109},         // 9,810,000
		{90000, at(1, 7), at(1, 23), 7},            // both would be 14,490,000
		{90000, at(1, 1_000_000_007), at(2, 1), 1}, // none that can be written
	} {
		track := &track{timescale: tt.timescale, kind: formats.Video, tables: &sampleTables{stts: &runTable{}}}
		got := track.refinement([]segment{{end: at(10, 1)}}, fragment.Between(tt.start, tt.end))
		if got != tt.want {
			t.Errorf("[%v, %v) at %d ticks a second: %d, want %d", tt.start, tt.end, tt.timescale, got, tt.want)
		}
	}
	if got := lcm(maxTicks-1, maxTicks-2); got != maxTicks {
		t.Errorf("a multiple beyond any is %d, want %d", got, int64(maxTicks))
	}
}

// TestBehindReservoir begins MP3 where the bit reservoir of the frame before the
// first is whole: 511 bytes in the frames before that, less their headers.
func TestBehindReservoir(t *testing.T) {
	for _, tt := range []struct{ size, first, want int64 }{
		{36 + 511, 20, 18}, // one frame lends all
		{36 + 510, 20, 17},
		{36 + 171, 20, 16}, // three do
		{36 + 170, 20, 15},
		{36, 20, 10}, // none ever does
		{36 + 170, 3, -1},
	} {
		track := &track{tables: &sampleTables{count: 100, oneSize: tt.size}}
		if got := track.behindReservoir(tt.first); got != tt.want {
			t.Errorf("frames of %d bytes before %d: from %d on, want %d", tt.size, tt.first, got, tt.want)
		}
	}
}

// TestGroupForms reads descriptions and groupings of each version.
func TestGroupForms(t *testing.T) {
	full := func(typ string, version byte, fields ...any) box {
		p := []byte{version, 0, 0, 0}
		for _, f := range fields {
			switch f := f.(type) {
			case int:
				p = be.AppendUint32(p, uint32(f))
			case string:
				p = append(p, f...)
			}
		}
		return box2(append(append(be.AppendUint32(nil, uint32(8+len(p))), typ...), p...))
	}
	for name, tt := range map[string]struct {
		b        box
		entries  int
		fallback uint32
	}{
		"version 0":               {full("sgpd", 0, "roll", 2, "\xff\xffab"), 2, 0},
		"version 0, unknown type": {full("sgpd", 0, "xxxx", 2, "\xff\xffcdab"), 2, 0},
		"version 1":               {full("sgpd", 1, "roll", 2, 2, "\xff\xffab"), 2, 0},
		"version 1, of their own": {full("sgpd", 1, "roll", 0, 2, 2, "\xff\xff", 2, "ab"), 2, 0},
		"version 2":               {full("sgpd", 2, "roll", 2, 1, 2, "\xff\xffab"), 2, 1},
		"cut off":                 {full("sgpd", 1, "roll", 2, 3, "\xff\xffab"), 2, 0},
	} {
		typ, entries, fallback := readDescriptions(tt.b)
		if typ == "" || len(entries) != tt.entries || fallback != tt.fallback || !bytes.HasPrefix(entries[0], []byte{255, 255}) {
			t.Errorf("%s: %q, %q, default %d; want %d and %d", name, typ, entries, fallback, tt.entries, tt.fallback)
		}
	}
	for name, tt := range map[string]struct {
		b     box
		param string
		third uint32 // description of the third sample
	}{
		"version 0":       {full("sbgp", 0, "roll", 2, 2, 0, 5, 1), "", 1},
		"version 1":       {full("sbgp", 1, "roll", "PARA", 2, 2, 0, 5, 1), "PARA", 1},
		"too many":        {full("sbgp", 0, "roll", 3, 2, 0, 5, 1), "", 0},
		"past what it is": {full("sbgp", 0, "roll", 1, 2, 3), "", 0},
	} {
		typ, param, samples := readGrouping(tt.b)
		g := &sampleGroup{samples: samples}
		if typ != "roll" || string(param) != tt.param || g.index(2) != tt.third {
			t.Errorf("%s: %q, %q, the third sample has %d; want %q and %d", name, typ, param, g.index(2), tt.param, tt.third)
		}
	}
}
