// Package bits reads fields that do not begin or end at bytes, as codec
// configurations and headers of coded frames have them.
package bits

// Reader reads bits, the highest of a byte first; behind the end it reads
// zeros.
type Reader struct {
	Data []byte
	Pos  int // in bits
}

// Read returns the next n bits, 32 at most.
func (r *Reader) Read(n int) (v uint32) {
	for range n {
		v <<= 1
		if i := r.Pos >> 3; i < len(r.Data) {
			v |= uint32(r.Data[i]>>(7-r.Pos&7)) & 1
		}
		r.Pos++
	}
	return v
}

// Left returns how many bits there are still; below 0 it was read too far.
func (r *Reader) Left() int { return 8*len(r.Data) - r.Pos }
