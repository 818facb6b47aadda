package ogg

// The checksum of a page: CRC-32 with polynomial 0x04c11db7, not reflected,
// with no inversion before or after (RFC 3533, section 6). hash/crc32 has
// reflected ones only.

const crcPolynomial = 0x04c11db7

// crcTables holds, for each byte value and distance, what the byte adds to the
// checksum when so many zero bytes follow; eight bytes are taken at a time.
var crcTables = makeCRCTables()

func makeCRCTables() *[8][256]uint32 {
	var t [8][256]uint32
	for i := range t[0] {
		c := uint32(i) << 24
		for range 8 {
			if c&(1<<31) != 0 {
				c = c<<1 ^ crcPolynomial
			} else {
				c <<= 1
			}
		}
		t[0][i] = c
	}
	for k := 1; k < len(t); k++ {
		for i := range t[k] {
			c := t[k-1][i]
			t[k][i] = c<<8 ^ t[0][c>>24]
		}
	}
	return &t
}

// crcUpdate adds b to the checksum c.
func crcUpdate(c uint32, b []byte) uint32 {
	t := crcTables
	for len(b) >= 8 {
		c ^= uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
		c = t[7][c>>24] ^ t[6][c>>16&0xff] ^ t[5][c>>8&0xff] ^ t[4][c&0xff] ^
			t[3][b[4]] ^ t[2][b[5]] ^ t[1][b[6]] ^ t[0][b[7]]
		b = b[8:]
	}
	for _, v := range b {
		c = c<<8 ^ t[0][byte(c>>24)^v]
	}
	return c
}

// pageChecksum returns the checksum of a whole page, its own field taken as 0.
func pageChecksum(p []byte) uint32 {
	c := crcUpdate(0, p[:22])
	c = crcUpdate(c, []byte{0, 0, 0, 0})
	return crcUpdate(c, p[26:])
}
