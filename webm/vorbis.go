package webm

import "math/bits"

// vorbis is what is needed of a Vorbis track's headers to tell how long its
// packets are.
type vorbis struct {
	rate        int64
	short, long int
	modeBits    int
	longMode    [64]bool
}

// parseVorbis reads CodecPrivate: the three header packets, Xiph-laced.
func parseVorbis(private []byte) (*vorbis, bool) {
	if len(private) == 0 || private[0] != 2 {
		return nil, false
	}
	packets, err := unlace(lacingXiph, private)
	if err != nil || len(packets) != 3 {
		return nil, false
	}
	id, setup := packets[0], packets[2]
	if len(id) < 30 || string(id[:7]) != "\x01vorbis" || len(setup) < 16 || string(setup[:7]) != "\x05vorbis" {
		return nil, false
	}
	v := &vorbis{rate: int64(id[12]) | int64(id[13])<<8 | int64(id[14])<<16 | int64(id[15])<<24}
	v.short, v.long = 1<<(id[28]&15), 1<<(id[28]>>4)
	if v.rate == 0 || v.short < 64 || v.long > 8192 || v.short > v.long {
		return nil, false
	}
	return v, v.parseModes(setup)
}

// parseModes reads the modes, the last thing in the setup header, from its end
// backwards, for all before them would have to be decoded else (Vorbis I,
// section 4.2.4): a framing bit, then for each mode, from the last on, 8 bits
// mapping, 16 zeros, 16 zeros, 1 bit block flag; before them their number less
// one in 6 bits.
func (v *vorbis) parseModes(setup []byte) bool {
	bit := func(i int) int { return int(setup[i>>3]>>(i&7)) & 1 }
	field := func(at, n int) (x int) {
		for i := range n {
			x |= bit(at+i) << i
		}
		return x
	}
	at := len(setup)*8 - 1
	for at > 0 && bit(at) == 0 { // padding behind the framing bit
		at--
	}
	var flags []bool // from the last mode on
	count := 0       // the largest number of modes that fits
	for at-41 >= 6+7*8 && len(flags) < 64 {
		if field(at-8, 8) > 63 || field(at-24, 16) != 0 || field(at-40, 16) != 0 {
			break
		}
		at -= 41
		flags = append(flags, bit(at) == 1)
		if field(at-6, 6) == len(flags)-1 {
			count = len(flags)
		}
	}
	for i := range count {
		v.longMode[i] = flags[count-1-i]
	}
	v.modeBits = bits.Len(uint(max(count, 1) - 1))
	return count > 0
}

// size returns the block size of a packet, 0 for one that is no audio.
func (v *vorbis) size(packet []byte) int {
	if len(packet) == 0 || packet[0]&1 != 0 {
		return 0
	}
	if v.longMode[packet[0]>>1&(1<<v.modeBits-1)] {
		return v.long
	}
	return v.short
}

// grid is what the lengths of all packets are multiples of, in samples.
func (v *vorbis) grid() int64 {
	if v.short == v.long {
		return int64(v.short) / 2
	}
	return int64(v.short) / 4
}

// length returns how many samples a packet presents: a quarter of its block
// and a quarter of the one before.
func (v *vorbis) length(prev, packet []byte) int64 {
	n := v.size(packet)
	if prev == nil || n == 0 {
		return 0
	}
	return int64(v.size(prev)+n) / 4
}
