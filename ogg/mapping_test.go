package ogg

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

// Codecs that cannot be cut are refused by name, with the offset of their first
// page, and passed over beside one that can.
func TestRefusedByName(t *testing.T) {
	vorbis := samplePages(t)["vorbis.ogg"]
	for first, name := range map[string]string{"CELT    1234": "CELT", "BBCD\x00\x00\x00\x00": "Dirac", "\x01video\x00\x00\x00": "OGM video", "nonsense": "nonsense"} {
		junk := bytes.Repeat([]byte{1}, 100)
		alone := append(bytes.Clone(junk), appendPage(nil, flagBOS, 0, 9, 0, []byte{byte(len(first))}, []byte(first))...)
		w := seek.NewWindow(t.Context(), seektest.New(alone), 0)
		_, err := Format{}.Open(t.Context(), w, formats.Env{})
		var e *formats.Error
		if !errors.As(err, &e) || !errors.Is(err, formats.ErrUnsupported) || e.Offset != 100 || !strings.Contains(e.Problem, name) || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
		w.Close()
		o := over(t, seektest.New(append(alone[100:], vorbis...)), formats.Env{})
		if i := o.Info(); len(i.Tracks) != 1 || i.Tracks[0].Codec != "vorbis" || !strings.Contains(warningsOf(i.Warnings), name) {
			t.Errorf("%s beside Vorbis: %+v", name, i)
		}
	}
}

// Granule positions and positions are each other's reverse, and time is exact
// far beyond what 64 bits of nanoseconds or a float hold.
func TestGranules(t *testing.T) {
	tests := []struct {
		name    string
		codec   codec
		granule int64
		want    position
	}{
		{"vorbis", new(vorbis), 123, position{123, 123}},
		{"opus of 35 hours", new(opus), 35 * 3600 * 48000, position{35 * 3600 * 48000, 35 * 3600 * 48000}},
		{"negative", new(speex), -509, position{-509, -509}},
		{"theora", &theora{shift: 6, base: 1}, 65<<6 | 10, position{75, 64}},
		{"theora before 3.2.1", &theora{shift: 6}, 64<<6 | 10, position{75, 64}},
		{"vp8", new(vp8), 32<<32 | 3<<30 | 31<<3, position{32, 0}},
		{"kate", &kate{keyed: keyed{32}}, 5000<<32 | 77, position{5077, 5000}},
	}
	for _, tt := range tests {
		got, ok := tt.codec.position(tt.granule)
		if !ok || got != tt.want {
			t.Errorf("%s: position(%#x) = %v, %v; want %v", tt.name, tt.granule, got, ok, tt.want)
		}
		if back := tt.codec.granule(got); back != tt.granule {
			t.Errorf("%s: granule(%v) = %#x, want %#x", tt.name, got, back, tt.granule)
		}
	}
	if _, ok := new(vorbis).position(noGranule); ok {
		t.Error("-1 is taken for a position")
	}
	m := &mapping{rate: clock{30000, 1001}}
	if got, want := m.time(math.MaxInt64/2), fragment.Ticks(math.MaxInt64/2, 30000).Rat(); got.Rat().Cmp(want.Mul(want, fragment.Seconds(1001).Rat())) != 0 {
		t.Errorf("time of a large tick: %v", got)
	}
	for _, tick := range []int64{0, 1, 1000, 1<<40 + 7} {
		if got := m.nearest(m.time(tick)); got != tick {
			t.Errorf("tick %d comes back as %d", tick, got)
		}
	}
}

// Packet lengths as the codecs' specifications state them.
func TestPacketLengths(t *testing.T) {
	tests := []struct {
		name   string
		codec  codec
		packet []byte
		want   int64
	}{
		{"opus CELT 20 ms", new(opus), []byte{0xfc}, 960},
		{"opus CELT 2.5 ms", new(opus), []byte{0xe0}, 120},
		{"opus SILK 60 ms", new(opus), []byte{0x18}, 2880},
		{"opus two frames", new(opus), []byte{0xf9}, 1920},
		{"opus 6 frames of 20 ms", new(opus), []byte{0xfb, 6}, 5760},
		{"opus more than 120 ms", new(opus), []byte{0xfb, 7}, 0},
		{"opus empty", new(opus), nil, 0},
		{"flac 4096", new(flac), []byte{0xff, 0xf8, 0xc9, 0x18, 0, 0}, 4096},
		{"flac 4608", new(flac), []byte{0xff, 0xf8, 0x59, 0x08, 0, 0}, 4608},
		{"flac 8 bits", new(flac), []byte{0xff, 0xf8, 0x69, 0x18, 0x05, 99, 0}, 100},
		{"flac 16 bits after a number of 2 bytes", new(flac), []byte{0xff, 0xf8, 0x79, 0x18, 0xc2, 0x80, 0x01, 0x00}, 257},
		{"flac not a frame", new(flac), []byte{1, 2, 3, 4, 5, 6}, 0},
		{"theora", new(theora), nil, 1},
		{"vp8 hidden", new(vp8), []byte{0x00}, 0},
		{"vp8 shown", new(vp8), []byte{0x10}, 1},
		{"pcm", &pcm{frame: 4}, make([]byte, 400), 100},
	}
	for _, tt := range tests {
		if got := tt.codec.length(tt.packet); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
