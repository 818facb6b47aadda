package seektest

import (
	"io"
	"slices"
)

// Fill is content that is computed: it writes the bytes from off on into p. A
// resource of many gigabytes costs no memory.
type Fill func(p []byte, off int64)

// ReadAt fills p.
func (f Fill) ReadAt(p []byte, off int64) (int, error) {
	f(p, off)
	return len(p), nil
}

// Pattern fills with bytes that depend on the offset alone and differ between
// any two offsets that a mistake is likely to confuse.
func Pattern(p []byte, off int64) {
	for i := range p {
		x := uint64(off+int64(i)) * 0x9e3779b97f4a7c15
		p[i] = byte(x>>56) ^ byte(x>>27)
	}
}

// PatternBytes returns n bytes of the [Pattern] from off on.
func PatternBytes(off, n int64) []byte {
	p := make([]byte, n)
	Pattern(p, off)
	return p
}

// Piece is a stretch of bytes at an offset.
type Piece struct {
	Offset int64
	Data   []byte
}

// Sparse returns content that is the given pieces, and what below has (or zeros
// where it is nil) between them. Pieces must not overlap.
func Sparse(below io.ReaderAt, pieces ...Piece) io.ReaderAt {
	pieces = slices.Clone(pieces)
	slices.SortFunc(pieces, func(a, b Piece) int { return int(min(1, max(-1, a.Offset-b.Offset))) })
	return sparse{below, pieces}
}

type sparse struct {
	below  io.ReaderAt
	pieces []Piece
}

func (s sparse) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	if s.below != nil {
		if n, err := s.below.ReadAt(p, off); n < len(p) && err != nil && err != io.EOF {
			return n, err
		}
	}
	end := off + int64(len(p))
	for _, piece := range s.pieces {
		from, to := max(off, piece.Offset), min(end, piece.Offset+int64(len(piece.Data)))
		if from < to {
			copy(p[from-off:to-off], piece.Data[from-piece.Offset:])
		}
	}
	return len(p), nil
}
