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
	ivSize    int  // bytes of each sample's initialization vector, as tenc says
	coreRate  int  // of AAC, before spectral band replication doubles it, in Hz
	sbr       bool // HE-AAC: there is spectral band replication
	sbrMaybe  bool // there may be: nothing says

	nalLength      int              // bytes of the length of each unit of H.264, 0 elsewhere
	width, height  int              // of pictures, as coded
	crop           [2]fragment.Time // the size of the clean aperture; zero: all
	aspect         fragment.Time    // of a pixel, its width by its height; zero: 1
	channels, rate int              // of sound; rate in Hz
	bits           int              // of a sample of PCM
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
		if e.format == "stpp" { // texts that say where theirs ends
			skip += textFields(p[min(8, len(p)):])
		}
		switch {
		case kind == formats.Video && len(p) >= visualFields:
			e.width, e.height = int(be.Uint16(p[24:])), int(be.Uint16(p[26:]))
			skip = visualFields
		case kind == formats.Audio && len(p) >= audioFields:
			e.channels, e.rate, e.bits = int(be.Uint16(p[16:])), int(be.Uint16(p[24:])), int(be.Uint16(p[18:]))
			skip = audioFields
			switch version := be.Uint16(p[8:]); {
			case version == 1 && len(p) >= audioFields+soundV1More:
				skip += soundV1More
			case version == 2 && len(p) >= audioFields+soundV2More:
				skip += soundV2More
				e.channels, e.rate = int(be.Uint32(p[40:])), soundRate(be.Uint64(p[32:]))
				e.bits = int(be.Uint32(p[48:]))
			}
			e.fixSound(p)
		}
		e.readExtensions(entry, skip)
		return e, nil
	}
	return sampleEntry{}, nil
}

// opusRate is that of all decoded Opus, in Hz; a sample entry may state that of
// what was encoded.
const opusRate = 48_000

// fixSound corrects what the fields of a sample entry mean otherwise for some
// codings: AMR has one channel and one rate (3GPP TS 26.244 section 6.5), and
// the rate of MLP takes all 32 bits (Dolby TrueHD in ISO media, section 3.2).
func (e *sampleEntry) fixSound(fields []byte) {
	switch e.format {
	case "samr":
		e.channels, e.rate = 1, 8_000
	case "sawb":
		e.channels, e.rate = 1, 16_000
	case "mlpa":
		e.rate = int(be.Uint32(fields[24:]))
	}
}

// readExtensions reads the boxes of a sample entry that tell the codec string
// and what the fields in front do not say, or say wrongly. Some writers leave
// junk behind them: it is copied as it is, and what it was to say is not known.
func (e *sampleEntry) readExtensions(entry box, skip int) {
	var boxes []box
	for c, err := range entry.childrenAt(skip) {
		if err != nil {
			break
		}
		boxes = append(boxes, c)
		if c.typ == "sinf" { // says what format the others belong to
			e.readScheme(c)
		}
	}
	e.codec = printable(e.format)
	for _, c := range boxes {
		e.readExtension(c.typ, c)
	}
	e.readDolbyVision(boxes)
	if e.format == "stpp" {
		e.codec = timedTextString(entry.payload(), boxes)
	}
}

// readExtension reads one box of a sample entry.
func (e *sampleEntry) readExtension(typ string, c box) {
	p := c.payload()
	switch typ {
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
	case "wave": // QuickTime wraps the boxes of compressed sound
		for inner, err := range c.children() {
			if err == nil && inner.typ != "wave" {
				e.readExtension(inner.typ, inner)
			}
		}
	case "esds":
		e.readESDS(p)
	case "avcC":
		if len(p) >= 4 {
			e.codec = e.format + "." + hex.EncodeToString(p[1:4])
			if len(p) >= 5 {
				e.nalLength = 1 + int(p[4]&3)
			}
		}
	case "hvcC":
		if len(p) >= 13 {
			e.codec = e.format + "." + hevcString(p)
		}
	case "vvcC":
		e.codec = e.format + vvcString(p)
	case "av1C":
		if len(p) >= 3 {
			e.codec = av1String(p)
		}
	case "vpcC":
		if len(p) >= 7 {
			e.codec = fmt.Sprintf("%s.%02d.%02d.%02d", e.format, p[4], p[5], p[6]>>4)
		}
	case "dOps":
		if len(p) >= 10 {
			e.channels, e.rate = int(p[1]), opusRate
		}
	case "dfLa":
		e.readFLAC(p)
	case "alac":
		if len(p) >= 28 {
			e.channels, e.rate = int(p[13]), int(be.Uint32(p[24:]))
		}
	case "dac3", "dec3":
		e.readDolby(typ, p)
	}
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

// readFLAC takes rate and channels from a STREAMINFO: the sample entry's field
// of the rate ends at 65,535 Hz.
func (e *sampleEntry) readFLAC(p []byte) {
	if len(p) >= 4+4+18 && p[4]&0x7f == 0 {
		v := be.Uint32(p[4+4+10:])
		e.rate, e.channels = int(v>>12), int(v>>9&7)+1
	}
}

// soundRate turns the 64-bit float of a version 2 sound description into Hz.
func soundRate(bits uint64) int {
	if f := math.Float64frombits(bits); f > 0 && f < 1e7 {
		return int(f)
	}
	return 0
}
