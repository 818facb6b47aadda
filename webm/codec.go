package webm

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/mediafrag/mediafrag/internal/audioframe"
)

// codecString returns the codec as RFC 6381 and the codecs' own documents
// write it, or where there is no such name the container's.
func (t *track) codecString() string {
	p := t.private
	switch id := t.codecID; {
	case id == "V_VP8":
		return "vp8"
	case id == "V_VP9":
		return vp9String(p)
	case id == "V_AV1":
		return av1String(p)
	case id == "V_MPEG4/ISO/AVC" && len(p) >= 4:
		return fmt.Sprintf("avc1.%02x%02x%02x", p[1], p[2], p[3])
	case id == "V_MPEGH/ISO/HEVC" && len(p) >= 13:
		return hevcString(p)
	case id == "A_OPUS":
		return "opus"
	case id == "A_VORBIS":
		return "vorbis"
	case id == "A_FLAC":
		return "flac"
	case id == "A_ALAC":
		return "alac"
	case id == "A_AC3" || strings.HasPrefix(id, "A_AC3/"):
		return "ac-3"
	case id == "A_EAC3":
		return "ec-3"
	case id == "A_MPEG/L3":
		return "mp3"
	case id == "A_AAC" || strings.HasPrefix(id, "A_AAC/"):
		if c, ok := audioframe.ParseConfig(p); ok {
			return fmt.Sprintf("mp4a.40.%d", c.Object)
		}
		return "mp4a.40.2"
	}
	return t.codecID
}

// vp9String reads the features that CodecPrivate may list (WebM container
// guidelines, VP9 codec private data).
func vp9String(p []byte) string {
	profile, level, depth := byte(0), byte(10), byte(8)
	if len(p) == 0 {
		return "vp9"
	}
	for len(p) >= 3 && int(p[1]) <= len(p)-2 && p[1] > 0 {
		switch p[0] {
		case 1:
			profile = p[2]
		case 2:
			level = p[2]
		case 3:
			depth = p[2]
		}
		p = p[2+int(p[1]):]
	}
	return fmt.Sprintf("vp09.%02d.%02d.%02d", profile, level, depth)
}

// av1String reads the av1C record (AV1 in ISO BMFF, section 2.3 and 5).
func av1String(p []byte) string {
	if len(p) < 4 || p[0] != 0x81 {
		return "av01"
	}
	profile, level := p[1]>>5, p[1]&31
	tier, depth := "M", 8
	if p[2]&0x80 != 0 {
		tier = "H"
	}
	if p[2]&0x40 != 0 { // high_bitdepth
		depth = 10
		if profile == 2 && p[2]&0x20 != 0 { // twelve_bit
			depth = 12
		}
	}
	return fmt.Sprintf("av01.%d.%02d%s.%02d", profile, level, tier, depth)
}

// hevcString reads the hvcC record (ISO/IEC 14496-15 annex E).
func hevcString(p []byte) string {
	var b strings.Builder
	b.WriteString("hvc1.")
	if space := p[1] >> 6; space > 0 {
		b.WriteByte('A' + space - 1)
	}
	compat := bits.Reverse32(uint32(p[2])<<24 | uint32(p[3])<<16 | uint32(p[4])<<8 | uint32(p[5]))
	tier := byte('L')
	if p[1]&0x20 != 0 {
		tier = 'H'
	}
	fmt.Fprintf(&b, "%d.%X.%c%d", p[1]&31, compat, tier, p[12])
	constraints := p[6:12]
	for len(constraints) > 0 && constraints[len(constraints)-1] == 0 {
		constraints = constraints[:len(constraints)-1]
	}
	for _, c := range constraints {
		fmt.Fprintf(&b, ".%X", c)
	}
	return b.String()
}
