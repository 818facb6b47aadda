package bits_test

import (
	"testing"

	"github.com/mediafrag/mediafrag/internal/bits"
)

func TestReader(t *testing.T) {
	r := bits.Reader{Data: []byte{0b10110001, 0xff}}
	for _, f := range []struct {
		n    int
		want uint32
		left int
	}{{1, 1, 15}, {3, 0b011, 12}, {8, 0b00011111, 4}, {0, 0, 4}, {8, 0b11110000, -4}, {32, 0, -36}} {
		if got := r.Read(f.n); got != f.want || r.Left() != f.left {
			t.Errorf("%d bits are %b and %d are left, want %b and %d", f.n, got, r.Left(), f.want, f.left)
		}
	}
}
