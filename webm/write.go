package webm

import (
	"encoding/binary"
	"math"
)

// appendID appends an element ID, which carries its own length.
func appendID(b []byte, id uint32) []byte {
	for shift := 24; shift >= 0; shift -= 8 {
		if id>>shift != 0 {
			b = append(b, byte(id>>shift))
		}
	}
	return b
}

// sizeLength is the shortest length of a data size.
func sizeLength(size int64) int {
	n := 1
	for n < 8 && size >= 1<<(7*n)-1 { // all ones means unknown
		n++
	}
	return n
}

// appendSize appends a data size of n bytes.
func appendSize(b []byte, size int64, n int) []byte {
	v := uint64(size) | 1<<(7*n)
	for i := n - 1; i >= 0; i-- {
		b = append(b, byte(v>>(8*i)))
	}
	return b
}

// appendUnknownSize appends the size that means "unknown", of n bytes.
func appendUnknownSize(b []byte, n int) []byte { return appendSize(b, 1<<(7*n)-1, n) }

// appendElement appends an element whole.
func appendElement(b []byte, id uint32, body []byte) []byte {
	b = appendID(b, id)
	b = appendSize(b, int64(len(body)), sizeLength(int64(len(body))))
	return append(b, body...)
}

// appendUint appends an unsigned integer element in as few bytes as it needs.
func appendUint(b []byte, id uint32, v uint64) []byte {
	n := 1
	for n < 8 && v>>(8*n) != 0 {
		n++
	}
	return appendUintWidth(b, id, v, n)
}

// appendUintWidth appends an unsigned integer element of n bytes.
func appendUintWidth(b []byte, id uint32, v uint64, n int) []byte {
	b = appendSize(appendID(b, id), int64(n), 1)
	for i := n - 1; i >= 0; i-- {
		b = append(b, byte(v>>(8*i)))
	}
	return b
}

// appendInt appends a signed integer element in as few bytes as it needs.
func appendInt(b []byte, id uint32, v int64) []byte {
	n := 1
	for n < 8 && v>>(8*n-1) != 0 && v>>(8*n-1) != -1 {
		n++
	}
	return appendUintWidth(b, id, uint64(v), n)
}

// appendFloat appends an eight-byte float element.
func appendFloat(b []byte, id uint32, v float64) []byte {
	b = appendSize(appendID(b, id), 8, 1)
	return binary.BigEndian.AppendUint64(b, math.Float64bits(v))
}
