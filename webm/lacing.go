package webm

import "errors"

// Kinds of lacing, as bits of a block's flags (RFC 9559 section 10.3).
const (
	lacingMask  = 0x06
	lacingXiph  = 0x02
	lacingFixed = 0x04
	lacingEBML  = 0x06
)

var errLacing = errors.New("its lacing does not fit its size")

// unlace returns the frames of a block whose payload, from behind the flags on,
// is given. Without lacing that is the payload.
func unlace(flags byte, payload []byte) ([][]byte, error) {
	kind := flags & lacingMask
	if kind == 0 {
		return [][]byte{payload}, nil
	}
	if len(payload) == 0 {
		return nil, errLacing
	}
	n, b := int(payload[0])+1, payload[1:]
	sizes := make([]int, n)
	var err error
	switch kind {
	case lacingXiph:
		b, err = xiphSizes(sizes[:n-1], b)
	case lacingEBML:
		b, err = ebmlSizes(sizes[:n-1], b)
	case lacingFixed:
		if len(b)%n != 0 {
			return nil, errLacing
		}
		for i := range sizes[:n-1] {
			sizes[i] = len(b) / n
		}
	}
	if err != nil {
		return nil, err
	}
	return split(b, sizes)
}

// split cuts b into frames; the last size is what is left.
func split(b []byte, sizes []int) ([][]byte, error) {
	frames := make([][]byte, len(sizes))
	last := len(sizes) - 1
	for i, size := range sizes[:last] {
		if size < 0 || size > len(b) {
			return nil, errLacing
		}
		frames[i], b = b[:size:size], b[size:]
	}
	frames[last] = b
	return frames, nil
}

// xiphSizes reads sizes as sums of bytes, of which the last is below 255.
func xiphSizes(sizes []int, b []byte) ([]byte, error) {
	for i := range sizes {
		for {
			if len(b) == 0 {
				return nil, errLacing
			}
			c := b[0]
			sizes[i] += int(c)
			if b = b[1:]; c < 255 {
				break
			}
		}
	}
	return b, nil
}

// ebmlSizes reads a size and then signed differences.
func ebmlSizes(sizes []int, b []byte) ([]byte, error) {
	for i := range sizes {
		v, n, err := parseVint(b, 8)
		if err != nil || v > maxOffset {
			return nil, errLacing
		}
		b = b[n:]
		if i == 0 {
			sizes[0] = int(v)
			continue
		}
		sizes[i] = sizes[i-1] + int(int64(v)-(1<<(7*n-1)-1))
	}
	return b, nil
}
