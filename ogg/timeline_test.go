package ogg

import (
	"math/rand/v2"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

// On the last page a granule position below what its packets yield trims the
// end, and does not move their beginning.
func TestEndTrim(t *testing.T) {
	head := append([]byte("OpusHead\x01\x02"), 0x38, 0x01, 0x80, 0xbb, 0, 0, 0, 0, 0)
	m, err := newMapping(head)
	if err != nil {
		t.Fatal(err)
	}
	line := newTimeline(&stream{mapping: m}, true)
	line.add(&page{granule: 960, lacing: []byte{1}, body: []byte{0xfc}})
	got := line.add(&page{granule: 1500, seq: 1, flags: flagEOS, lacing: []byte{1}, body: []byte{0xfc}})
	if len(got) != 1 || got[0].from != 960 || got[0].to != 1500 {
		t.Errorf("the last packet is at %+v, want 960 to 1500", got)
	}
}

// A file joined to itself is two links, although no probe sees where the second
// begins and both have the same serial number.
func TestSameSerial(t *testing.T) {
	s := opusStream("", 600, 1, func(int, *rand.Rand) float64 { return 12000 })
	data := append(append([]byte(nil), s.data...), s.data...)
	w := seek.NewWindow(t.Context(), seektest.New(data), 0)
	defer w.Close()
	m, err := Format{}.Open(t.Context(), w, formats.Env{})
	if err != nil {
		t.Fatal(err)
	}
	info, err := m.Inspect(t.Context())
	if err != nil || len(info.Chapters) != 2 || info.Duration.Seconds() < 1199.9 {
		t.Errorf("%d links, %s s, %v; want 2 of 1200 s", len(info.Chapters), info.Duration, err)
	}
}
