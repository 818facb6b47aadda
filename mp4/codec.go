package mp4

import (
	"bytes"
	"cmp"
	"fmt"
	"mime"
	"strings"

	"github.com/mediafrag/mediafrag/internal/audioframe"
	"github.com/mediafrag/mediafrag/internal/bits"
)

// readESDS reads the object type and, for AAC, the audio object type of an ES
// descriptor (ISO/IEC 14496-1 section 7.2.6).
func (e *sampleEntry) readESDS(p []byte) {
	config, ok := decoderConfig(p)
	if !ok {
		return
	}
	e.object = int(config[0])
	e.codec = fmt.Sprintf("%s.%02x", e.format, e.object)
	info, ok := descriptor(config[13:], 0x05)
	switch {
	case !ok || len(info) < 1:
	case e.object == objectMPEG4Audio:
		e.readAudioConfig(info)
	case e.object == objectMPEG4Visual: // the profile stands behind its start code
		if len(info) >= 5 && info[3] == 0xb0 {
			e.codec = fmt.Sprintf("%s.20.%d", e.format, info[4])
		}
	}
}

// Object type indications (mp4ra.org) that have a third part in a codec string.
const (
	objectMPEG4Visual = 0x20
	objectMPEG4Audio  = 0x40
)

// decoderConfig returns the decoder configuration of an ES descriptor, of 13
// bytes at least: object type, stream type, buffer size and bit rates, then
// other descriptors.
func decoderConfig(p []byte) (config []byte, ok bool) {
	if len(p) < 4 {
		return nil, false
	}
	es, ok := descriptor(p[4:], 0x03)
	if !ok || len(es) < 3 {
		return nil, false
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
	config, ok = descriptor(es[min(at, len(es)):], 0x04)
	return config, ok && len(config) >= 13
}

// readAudioConfig takes the audio object type, and what the sample entry's
// fields often say wrongly: the number of channels, 2 whatever there is, and the
// rate where spectral band replication doubles it.
func (e *sampleEntry) readAudioConfig(config []byte) {
	c, ok := audioframe.ParseConfig(config)
	if !ok {
		return
	}
	e.codec = fmt.Sprintf("%s.40.%d", e.format, c.Object)
	// Unsignalled, a stream of 24 kHz at most may have it: sample entries and
	// timescales of twice the rate say that it does (ISO/IEC 14496-3 section
	// 1.6.5.3).
	unsaid := c.Core == objectLC && !c.SBR && !c.NoSBR && c.Rate <= 24000
	e.sbr = c.SBR || unsaid && e.rate == 2*c.Rate
	e.sbrMaybe = unsaid && !e.sbr
	if c.Object != objectUSAC {
		e.coreRate = c.Rate
	}
	if rate := cmp.Or(c.OutputRate, c.Rate); rate > 0 && (c.SBR || e.rate == 0) { // the entry's field ends at 65,535 Hz
		e.rate = rate
	}
	if c.Channels > 0 {
		e.channels = c.Channels
	}
	if c.Object == objectPS {
		e.channels = 2
	}
}

// objectLC is the audio object type of AAC-LC.
const objectLC = 2

// objectUSAC is the audio object type of xHE-AAC.
const objectUSAC = 42

// objectPS is the audio object type of HE-AAC with parametric stereo.
const objectPS = 29

// dolbyChannels are the channels of an acmod, without low frequencies (ETSI TS
// 102 366 table 4.3).
var dolbyChannels = [8]int{2, 1, 2, 3, 3, 4, 4, 5}

// readDolby takes channels and rate from a dac3 or dec3 (ETSI TS 102 366 annex
// F): the sample entry's channels are 2 whatever there is.
func (e *sampleEntry) readDolby(typ string, p []byte) {
	r := bits.Reader{Data: p}
	if typ == "dec3" {
		r.Read(16) // data rate, number of independent substreams
	}
	rate := r.Read(2)
	r.Read(5) // bsid
	if typ == "dec3" {
		r.Read(2) // reserved, asvc
	}
	r.Read(3) // bsmod
	channels := dolbyChannels[r.Read(3)] + int(r.Read(1))
	if typ == "dec3" {
		if r.Read(3); r.Read(4) > 0 { // dependent substreams: nine places of one or two speakers
			for _, n := range []int{1, 1, 2, 2, 2, 1, 1, 2, 2} {
				channels += n * int(r.Read(1))
			}
		}
	}
	if r.Left() < 0 {
		return
	}
	e.channels = channels
	if rate < 3 {
		e.rate = []int{48000, 44100, 32000}[rate]
	}
}

// readDolbyVision takes the codec string of Dolby Vision from its configuration
// (Dolby Vision Streams within the ISO Base Media File Format, section 3), where
// the sample entry is of its own kind. In the others it is an enhancement.
func (e *sampleEntry) readDolbyVision(boxes []box) {
	switch e.format {
	case "dvh1", "dvhe", "dva1", "dvav", "dav1":
	default:
		return
	}
	for _, c := range boxes {
		if p := c.payload(); (c.typ == "dvcC" || c.typ == "dvvC" || c.typ == "dvwC") && len(p) >= 4 {
			v := be.Uint16(p[2:])
			e.codec = fmt.Sprintf("%s.%02d.%02d", e.format, v>>9, v>>3&63)
		}
	}
}

// textFields returns the length of the three strings of an stpp: namespace,
// schema location and auxiliary types (ISO/IEC 14496-12 section 12.6.3).
func textFields(p []byte) int {
	at := 0
	for range 3 {
		n := bytes.IndexByte(p[at:], 0)
		if n < 0 {
			return at // some writers leave empty ones out
		}
		at += n + 1
	}
	return at
}

// imscProfiles are the ends of the names of TTML profiles, and their codes
// (TTML Media Type Definition and Profile Registry, section 5.2).
var imscProfiles = []struct{ name, code string }{
	{"profile/imsc1/text", "im1t"},
	{"profile/imsc1/image", "im1i"},
	{"profile/imsc1.1/text", "im2t"},
	{"profile/imsc1.1/image", "im2i"},
	{"profile/imsc1.2/text", "im3t"},
	{"profile/imsc1.2/image", "im3i"},
}

// timedTextString writes the codec string of an stpp, with the TTML profile
// where its strings or its mime box name one (ISO/IEC 14496-30 section 5.4).
func timedTextString(entry []byte, boxes []box) string {
	for _, c := range boxes {
		if p := c.payload(); c.typ == "mime" && len(p) > 4 {
			_, params, err := mime.ParseMediaType(string(bytes.TrimRight(p[4:], "\x00")))
			if codecs := params["codecs"]; err == nil && codecs != "" {
				return "stpp.ttml." + printable(codecs)
			}
		}
	}
	p := entry[min(8, len(entry)):]
	fields := string(p[:textFields(p)])
	for _, profile := range imscProfiles {
		if strings.Contains(fields, profile.name+" ") || strings.Contains(fields, profile.name+"\x00") {
			return "stpp.ttml." + profile.code
		}
	}
	return "stpp"
}

// vvcString writes the part of a VVC codec string behind the entry's name, as
// far as profile, tier and level (ISO/IEC 14496-15 annex E.8); nothing where the
// vvcC does not tell them.
func vvcString(p []byte) string {
	r := bits.Reader{Data: p[min(4, len(p)):]}
	if r.Read(7); r.Read(1) == 0 {
		return ""
	}
	r.Read(9 + 3 + 2 + 2) // output layer set, sublayers, frame rate, chroma
	r.Read(8)             // depth
	r.Read(8)             // bytes of constraints
	profile, high, level := r.Read(7), r.Read(1), r.Read(8)
	if r.Left() < 0 {
		return ""
	}
	tier := "L"
	if high == 1 {
		tier = "H"
	}
	return fmt.Sprintf(".%d.%s%d", profile, tier, level)
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
