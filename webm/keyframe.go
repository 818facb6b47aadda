package webm

import "github.com/mediafrag/mediafrag/internal/bits"

// isKey reports whether a picture can be decoded without others. A SimpleBlock
// says so. A BlockGroup says so by the lack of a ReferenceBlock, which some
// programs never write: there the frame itself is asked.
func (t *track) isKey(b *block) bool {
	if !b.key || !b.group || t.opaque || b.flags&lacingMask != 0 {
		return b.key
	}
	frame := b.payload
	if len(t.prefix) > 0 {
		frame = append(t.prefix[:len(t.prefix):len(t.prefix)], frame[:min(len(frame), 64)]...)
	}
	switch t.codecID {
	case "V_VP8": // RFC 6386 section 9.1
		return len(frame) == 0 || frame[0]&1 == 0
	case "V_VP9":
		return vp9Key(frame)
	case "V_AV1":
		return av1Key(frame)
	case "V_MPEG4/ISO/AVC":
		return nalKey(t.private, 4, frame, func(header byte) bool { return header&31 == 5 })
	case "V_MPEGH/ISO/HEVC":
		return nalKey(t.private, 21, frame, func(header byte) bool {
			kind := header >> 1 & 63
			return kind >= 16 && kind <= 23
		})
	}
	return true
}

// vp9Key reads the uncompressed header (VP9 bitstream section 6.2).
func vp9Key(frame []byte) bool {
	if len(frame) == 0 {
		return true
	}
	r := bits.Reader{Data: frame, Pos: 2}
	profile := r.Read(1) | r.Read(1)<<1
	if profile == 3 {
		r.Read(1)
	}
	again, between := r.Read(1), r.Read(1) // show_existing_frame, frame_type
	return again == 0 && between == 0
}

// av1Key looks for a sequence header, which comes with every key frame that can
// be sought to (AV1 in Matroska, section "Block data").
func av1Key(frame []byte) bool {
	for len(frame) >= 2 {
		kind, extended, sized := frame[0]>>3&15, frame[0]&4 != 0, frame[0]&2 != 0
		if kind == 1 {
			return true
		}
		if frame = frame[1:]; extended {
			frame = frame[1:]
		}
		if !sized {
			return false
		}
		size, n := uint64(0), 0
		for n < len(frame) && n < 8 {
			size |= uint64(frame[n]&0x7F) << (7 * n)
			if n++; frame[n-1]&0x80 == 0 {
				break
			}
		}
		if size > uint64(len(frame)-n) {
			return false
		}
		frame = frame[n+int(size):]
	}
	return false
}

// nalKey looks for a NAL unit that begins a decodable picture. Where in the
// decoder configuration the length of lengths stands, private says.
func nalKey(private []byte, at int, frame []byte, random func(header byte) bool) bool {
	if len(private) <= at {
		return true
	}
	n := int(private[at]&3) + 1
	for len(frame) > n {
		size := uintOf(frame[:n])
		if random(frame[n]) {
			return true
		}
		if size > uint64(len(frame)-n) {
			return false
		}
		frame = frame[n+int(size):]
	}
	return false
}
