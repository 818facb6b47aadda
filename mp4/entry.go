package mp4

import (
	"encoding/hex"
	"fmt"
	"math"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

// sampleEntry is what the first entry of an stsd says of a track's coding.
type sampleEntry struct {
	format    string // four characters, such as "avc1"; of the original where encrypted
	codec     string // as in RFC 6381
	encrypted bool
	ivSize    int // bytes of each sample's initialization vector, as tenc says

	width, height  int              // of pictures, as coded
	crop           [2]fragment.Time // the size of the clean aperture; zero: all
	aspect         fragment.Time    // of a pixel, its width by its height; zero: 1
	channels, rate int              // of sound; rate in Hz
	object         int              // MPEG-4 object type indication of an esds, 0 elsewhere
}

// How a codec's frames depend on the ones before, beyond sync samples.
type family int

const (
	familyExact     family = iota // each frame stands alone
	familyAAC                     // transform with overlap
	familyTransform               // AC-3, Vorbis and others with overlap
	familyOpus
	familyMP3
	familySpeech
)

func (e sampleEntry) codecFamily() family {
	switch e.format {
	case "mp4a":
		switch e.object {
		case 0x69, 0x6b:
			return familyMP3
		case 0xdd, 0xa9, 0xa5, 0xa6:
			return familyTransform
		}
		return familyAAC
	case ".mp3", "ms\x00\x55":
		return familyMP3
	case "Opus":
		return familyOpus
	case "samr", "sawb", "sawp", "sqcp", "sevc", "ssmv":
		return familySpeech
	case "ac-3", "ec-3", "ac-4", "dtsc", "dtsh", "dtsl", "dtse":
		return familyTransform
	}
	return familyExact
}

// Lengths of the fields in front of a sample entry's boxes, in bytes
// (ISO/IEC 14496-12 section 12; QuickTime File Format, sound sample
// descriptions).
const (
	visualFields = 78
	audioFields  = 28
	soundV1More  = 16
	soundV2More  = 36
)

// readSampleEntry reads the first entry of an stsd as far as it is needed.
func readSampleEntry(stsd box, kind formats.Kind) (sampleEntry, error) {
	for entry, err := range stsd.childrenAt(8) {
		if err != nil {
			return sampleEntry{}, err
		}
		e := sampleEntry{format: entry.typ}
		p := entry.payload()
		skip := 8
		switch {
		case kind == formats.Video && len(p) >= visualFields:
			e.width, e.height = int(be.Uint16(p[24:])), int(be.Uint16(p[26:]))
			skip = visualFields
		case kind == formats.Audio && len(p) >= audioFields:
			e.channels, e.rate = int(be.Uint16(p[16:])), int(be.Uint16(p[24:]))
			skip = audioFields
			switch version := be.Uint16(p[8:]); {
			case version == 1 && len(p) >= audioFields+soundV1More:
				skip += soundV1More
			case version == 2 && len(p) >= audioFields+soundV2More:
				skip += soundV2More
				e.channels, e.rate = int(be.Uint32(p[40:])), soundRate(be.Uint64(p[32:]))
			}
		}
		return e, e.readExtensions(entry, skip)
	}
	return sampleEntry{}, nil
}

// readExtensions reads the boxes of a sample entry that tell the codec string.
func (e *sampleEntry) readExtensions(entry box, skip int) error {
	e.codec = printable(e.format)
	for c, err := range entry.childrenAt(skip) {
		if err != nil {
			// Some writers leave junk here. It is copied as it is; what it was
			// to say is not known.
			return nil
		}
		p := c.payload()
		switch c.typ {
		case "sinf":
			e.readScheme(c)
		case "pasp":
			if len(p) >= 8 && be.Uint32(p) > 0 && be.Uint32(p[4:]) > 0 {
				e.aspect = fragment.Ticks(int64(be.Uint32(p)), int64(be.Uint32(p[4:])))
			}
		case "clap":
			for i := range e.crop {
				if at := 8 * i; len(p) >= at+8 && be.Uint32(p[at+4:]) > 0 {
					e.crop[i] = fragment.Ticks(int64(be.Uint32(p[at:])), int64(be.Uint32(p[at+4:])))
				}
			}
		case "wave": // QuickTime wraps the esds
			if esds, ok, err := c.child("esds"); err == nil && ok {
				e.readESDS(esds.payload())
			}
		case "esds":
			e.readESDS(p)
		case "avcC":
			if len(p) >= 4 {
				e.codec = e.format + "." + hex.EncodeToString(p[1:4])
			}
		case "hvcC":
			if len(p) >= 13 {
				e.codec = e.format + "." + hevcString(p)
			}
		case "av1C":
			if len(p) >= 3 {
				e.codec = av1String(p)
			}
		case "vpcC":
			if len(p) >= 7 {
				e.codec = fmt.Sprintf("%s.%02d.%02d.%02d", e.format, p[4], p[5], p[6]>>4)
			}
		case "dOps":
			e.codec = "opus"
			if len(p) >= 10 {
				e.channels = int(p[1])
			}
		case "dfLa":
			e.codec = "flac"
			e.readFLAC(p)
		case "alac":
			if len(p) >= 28 {
				e.channels, e.rate = int(p[13]), int(be.Uint32(p[24:]))
			}
		}
	}
	return nil
}

// shown returns the size of pictures in square pixels, after the crop.
func (e *sampleEntry) shown() (width, height int) {
	w, h := fragment.Seconds(int64(e.width)), fragment.Seconds(int64(e.height))
	if e.crop[0].Sign() > 0 && e.crop[1].Sign() > 0 {
		w, h = e.crop[0], e.crop[1]
	}
	if e.aspect.Sign() > 0 {
		w = fragment.FromRat(w.Rat().Mul(w.Rat(), e.aspect.Rat()))
	}
	return int(w.Round(1)), int(h.Round(1))
}

// readFLAC takes the rate from a STREAMINFO: the sample entry's field ends at
// 65,535 Hz.
func (e *sampleEntry) readFLAC(p []byte) {
	if len(p) >= 4+4+18 && p[4]&0x7f == 0 {
		e.rate = int(be.Uint32(p[4+4+10:]) >> 12)
	}
}

// readESDS reads the object type and, for AAC, the audio object type of an ES
// descriptor (ISO/IEC 14496-1 section 7.2.6).
func (e *sampleEntry) readESDS(p []byte) {
	if len(p) < 4 {
		return
	}
	es, ok := descriptor(p[4:], 0x03)
	if !ok || len(es) < 3 {
		return
	}
	flags, at := es[2], 3
	if flags&0x80 != 0 {
		at += 2
	}
	if flags&0x40 != 0 && at < len(es) {
		at += 1 + int(es[at])
	}
	if flags&0x20 != 0 {
		at += 2
	}
	config, ok := descriptor(es[min(at, len(es)):], 0x04)
	if !ok || len(config) < 13 {
		return
	}
	e.object = int(config[0])
	e.codec = fmt.Sprintf("%s.%02x", e.format, e.object)
	info, ok := descriptor(config[13:], 0x05)
	switch {
	case !ok || len(info) < 1:
	case e.object == 0x40 && len(info) >= 2:
		object := int(info[0] >> 3)
		if object == 31 {
			object = 32 + int(info[0]&7)<<3 | int(info[1]>>5)
		}
		e.codec = fmt.Sprintf("%s.40.%d", e.format, object)
		e.readAudioConfig(info)
	case e.object == 0x20: // MPEG-4 part 2: the profile stands behind its start code
		if len(info) >= 5 && info[3] == 0xb0 {
			e.codec = fmt.Sprintf("%s.20.%d", e.format, info[4])
		}
	}
}

// readAudioConfig takes the number of channels from an AudioSpecificConfig
// (ISO/IEC 14496-3 section 1.6.2.1): the sample entry's field is often 2
// whatever there is.
func (e *sampleEntry) readAudioConfig(config []byte) {
	var bits uint64
	for i := range 8 {
		bits <<= 8
		if i < len(config) {
			bits |= uint64(config[i])
		}
	}
	take := func(n int) (v uint64) {
		v, bits = bits>>(64-n), bits<<n
		return v
	}
	if take(5) == 31 {
		take(6)
	}
	if take(4) == 15 {
		take(24)
	}
	switch n := int(take(4)); {
	case n >= 1 && n <= 6:
		e.channels = n
	case n == 7:
		e.channels = 8
	}
}

// descriptor returns the payload of the MPEG-4 descriptor at the beginning of p
// if it has the given tag.
func descriptor(p []byte, tag byte) ([]byte, bool) {
	if len(p) < 2 || p[0] != tag {
		return nil, false
	}
	n := 0
	for i := 1; i < len(p) && i <= 4; i++ {
		n = n<<7 | int(p[i]&0x7f)
		if p[i]&0x80 == 0 {
			rest := p[i+1:]
			return rest[:min(n, len(rest))], true
		}
	}
	return nil, false
}

// hevcString writes the part of an HEVC codec string behind the entry's name
// (ISO/IEC 14496-15 annex E).
func hevcString(p []byte) string {
	space := []string{"", "A", "B", "C"}[p[1]>>6]
	compat := be.Uint32(p[2:])
	var reversed uint32
	for i := range 32 {
		reversed |= compat >> i & 1 << (31 - i)
	}
	tier := "L"
	if p[1]&0x20 != 0 {
		tier = "H"
	}
	s := fmt.Sprintf("%s%d.%X.%s%d", space, p[1]&0x1f, reversed, tier, p[12])
	constraints := p[6:12]
	for len(constraints) > 0 && constraints[len(constraints)-1] == 0 {
		constraints = constraints[:len(constraints)-1]
	}
	for _, c := range constraints {
		s += fmt.Sprintf(".%X", c)
	}
	return s
}

// av1String writes an AV1 codec string (AV1 Codec ISO Media File Format
// Binding, section 5).
func av1String(p []byte) string {
	tier := "M"
	if p[2]&0x80 != 0 {
		tier = "H"
	}
	depth := "08"
	switch {
	case p[2]&0x60 == 0x60:
		depth = "12"
	case p[2]&0x40 != 0:
		depth = "10"
	}
	return fmt.Sprintf("av01.%d.%02d%s.%s", p[1]>>5, p[1]&0x1f, tier, depth)
}

// soundRate turns the 64-bit float of a version 2 sound description into Hz.
func soundRate(bits uint64) int {
	if f := math.Float64frombits(bits); f > 0 && f < 1e7 {
		return int(f)
	}
	return 0
}
