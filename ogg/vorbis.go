package ogg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/mediafrag/mediafrag/formats"
)

// vorbis is the mapping of Vorbis I (specification, sections 4.2 and A.2).
type vorbis struct {
	samples
	channels int
	blocks   [2]int64 // samples of a short and of a long block
	long     []bool   // of each mode: whether its block is long
}

// Vorbis packet types.
const (
	vorbisIdentification = 1
	vorbisComment        = 3
	vorbisSetup          = 5
)

func (v *vorbis) header(i int, p []byte, m *mapping) (more bool, err error) {
	kind := []byte{vorbisIdentification, vorbisComment, vorbisSetup}[i]
	if len(p) < 7 || p[0] != kind || !bytes.Equal(p[1:7], []byte("vorbis")) {
		return false, fmt.Errorf("header packet %d is no Vorbis header of type %d", i, kind)
	}
	m.headers = 3
	switch kind {
	case vorbisIdentification:
		return true, v.identification(p, m)
	case vorbisSetup:
		v.long, err = readModes(p[7:], v.channels)
		return false, err
	}
	return true, nil
}

func (v *vorbis) identification(p []byte, m *mapping) error {
	if len(p) < 30 {
		return errors.New("broken: Vorbis identification header is cut off")
	}
	if version := binary.LittleEndian.Uint32(p[7:]); version != 0 {
		return fmt.Errorf("%w: Vorbis version %d", errVersion, version)
	}
	v.channels = int(p[11])
	rate := int64(binary.LittleEndian.Uint32(p[12:]))
	v.blocks = [2]int64{1 << (p[28] & 15), 1 << (p[28] >> 4)}
	if v.channels == 0 || v.blocks[0] < 64 || v.blocks[1] > 8192 || v.blocks[0] > v.blocks[1] {
		return fmt.Errorf("broken: Vorbis with %d channels and blocks of %d and %d samples", v.channels, v.blocks[0], v.blocks[1])
	}
	m.track = formats.Track{Kind: formats.Audio, Codec: "vorbis", Channels: v.channels, SampleRate: int(rate)}
	m.mime, m.rate = "audio/vorbis", clock{rate, 1}
	return nil
}

// length returns the block size of a packet, 0 where it is no sound.
func (v *vorbis) length(p []byte) int64 {
	if len(p) == 0 || p[0]&1 != 0 || len(v.long) == 0 {
		return 0
	}
	r := bitReader{data: p, at: 1}
	mode := r.read(bits.Len(uint(len(v.long) - 1)))
	if r.past() || int(mode) >= len(v.long) {
		return 0
	}
	if v.long[mode] {
		return v.blocks[1]
	}
	return v.blocks[0]
}

// lapDuration is how many samples a block yields after another (section
// 4.3.8): half of what overlaps of both.
func lapDuration(before, this int64) int64 { return before/4 + this/4 }

// bitReader reads bits as Vorbis packs them (section 2): least significant
// first. After the end it reads zeros and past says so.
type bitReader struct {
	data []byte
	at   int // bits read
}

func (r *bitReader) past() bool { return r.at > 8*len(r.data) }

func (r *bitReader) read(n int) (v uint32) {
	for i := range n {
		if byteAt := r.at >> 3; byteAt < len(r.data) {
			v |= uint32(r.data[byteAt]>>(r.at&7)&1) << i
		}
		r.at++
	}
	return v
}

func (r *bitReader) flag() bool { return r.read(1) == 1 }

// skip passes over n fields of width bits.
func (r *bitReader) skip(n, width int) { r.at += min(n*width, 8*len(r.data)+1) }

var errSetup = errors.New("the Vorbis setup header does not parse")

// readModes reads a setup header (section 4.2.4) as far as its modes, the last
// thing in it, and returns which of them have long blocks. Everything before
// has to be parsed, since nothing says how long it is.
func readModes(p []byte, channels int) ([]bool, error) {
	r := &bitReader{data: p}
	for _, part := range []func(*bitReader) bool{skipCodebook, skipTimeDomain, skipFloor, skipResidue} {
		width := 6
		if r.at == 0 {
			width = 8 // codebooks are counted in 8 bits
		}
		for range r.read(width) + 1 {
			if !part(r) || r.past() {
				return nil, errSetup
			}
		}
	}
	for range r.read(6) + 1 {
		if !skipMapping(r, channels) || r.past() {
			return nil, errSetup
		}
	}
	long := make([]bool, r.read(6)+1)
	for i := range long {
		long[i] = r.flag()
		r.skip(1, 16+16+8) // window and transform type, mapping
	}
	if !r.flag() || r.past() {
		return nil, errSetup
	}
	return long, nil
}

// skipCodebook: section 3.2.1.
func skipCodebook(r *bitReader) bool {
	if r.read(24) != 0x564342 {
		return false
	}
	dimensions, entries := r.read(16), int(r.read(24))
	if !skipLengths(r, entries) {
		return false
	}
	lookup := r.read(4)
	if lookup == 0 {
		return true
	}
	r.skip(1, 32+32)
	width := int(r.read(4)) + 1
	r.skip(1, 1)
	switch lookup {
	case 1:
		r.skip(lookupValues(entries, int(dimensions)), width)
	case 2:
		r.skip(min(entries*int(dimensions), 8*len(r.data)), width)
	default:
		return false
	}
	return !r.past()
}

// skipLengths passes over the codeword lengths of a codebook.
func skipLengths(r *bitReader, entries int) bool {
	if r.flag() { // ordered
		r.skip(1, 5)
		for at := 0; at < entries; {
			at += int(r.read(bits.Len(uint(entries - at))))
			if at > entries || r.past() {
				return false
			}
		}
		return true
	}
	if !r.flag() { // not sparse
		r.skip(entries, 5)
		return !r.past()
	}
	for range entries {
		if r.flag() {
			r.skip(1, 5)
		}
		if r.past() {
			return false
		}
	}
	return true
}

// lookupValues is the largest number whose power of dimensions is not above
// entries (section 9.2.3).
func lookupValues(entries, dimensions int) int {
	if dimensions == 0 {
		return 0
	}
	fits := func(n int) bool {
		product := 1
		for range dimensions {
			if product *= n; product > entries {
				return false
			}
			if n <= 1 {
				break
			}
		}
		return true
	}
	low, high := 0, entries+1
	for high-low > 1 {
		if mid := (low + high) / 2; fits(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// skipTimeDomain: section 4.2.4, placeholders.
func skipTimeDomain(r *bitReader) bool { return r.read(16) == 0 }

// skipFloor: sections 6.2.1 and 7.2.2.
func skipFloor(r *bitReader) bool {
	switch r.read(16) {
	case 0:
		r.skip(1, 8+16+16+6+8)
		r.skip(int(r.read(4))+1, 8)
		return true
	case 1:
	default:
		return false
	}
	classes := make([]uint32, r.read(5))
	highest := -1
	for i := range classes {
		classes[i] = r.read(4)
		highest = max(highest, int(classes[i]))
	}
	dimensions := make([]int, highest+1)
	for i := range dimensions {
		dimensions[i] = int(r.read(3)) + 1
		subclasses := r.read(2)
		if subclasses > 0 {
			r.skip(1, 8)
		}
		r.skip(1<<subclasses, 8)
	}
	r.skip(1, 2)
	width := int(r.read(4))
	for _, c := range classes {
		r.skip(dimensions[c], width)
	}
	return true
}

// skipResidue: section 8.6.1.
func skipResidue(r *bitReader) bool {
	if r.read(16) > 2 {
		return false
	}
	r.skip(1, 24+24+24)
	classifications := int(r.read(6)) + 1
	r.skip(1, 8)
	books := 0
	for range classifications {
		books += bits.OnesCount32(r.read(3))
		if r.flag() {
			books += bits.OnesCount32(r.read(5))
		}
	}
	r.skip(books, 8)
	return true
}

// skipMapping: section 4.2.4, mappings.
func skipMapping(r *bitReader, channels int) bool {
	if r.read(16) != 0 {
		return false
	}
	submaps := 1
	if r.flag() {
		submaps += int(r.read(4))
	}
	if r.flag() {
		steps := int(r.read(8)) + 1
		r.skip(steps, 2*bits.Len(uint(channels-1)))
	}
	if r.read(2) != 0 {
		return false
	}
	if submaps > 1 {
		r.skip(channels, 4)
	}
	r.skip(submaps, 8+8+8)
	return true
}
