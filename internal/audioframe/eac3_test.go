package audioframe

import "testing"

// TestSubstreams counts the time of an E-AC-3 packet once, whatever further
// programmes and dependent substreams it holds.
func TestSubstreams(t *testing.T) {
	frame := func(kind, id byte) []byte {
		f := make([]byte, 16)
		copy(f, []byte{0x0b, 0x77, kind<<6 | id<<3, 7, 0x30, 16 << 3}) // six blocks at 48 kHz
		return f
	}
	packet := append(append(frame(0, 0), frame(1, 0)...), frame(0, 1)...)
	if n, rate := Count(packet); n != 1536 || rate != 48000 {
		t.Errorf("%d samples at %d Hz, want 1536 at 48000", n, rate)
	}
}
