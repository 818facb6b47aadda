// Package audioframe finds the frames of sound that describe themselves: AAC in
// ADTS (ISO/IEC 14496-3), MPEG audio (ISO/IEC 11172-3), AC-3 and E-AC-3 (ETSI TS
// 102 366). It reads the configuration of AAC that does not (ISO/IEC 14496-3).
package audioframe

import "encoding/binary"

// Frame is one frame's header, read.
type Frame struct {
	Size    int // in bytes, header included
	Samples int // of one channel
	Rate    int // in Hz
	Codec   string
}

// Codecs, as in RFC 6381 where that names them.
const (
	AAC       = "mp4a.40.2"
	MPEGAudio = "mp4a.6b"
	AC3       = "ac-3"
	EAC3      = "ec-3"
)

// Parse reads the frame that begins b; ok is false where none does.
func Parse(b []byte) (f Frame, ok bool) {
	switch {
	case len(b) < 8:
		return f, false
	case b[0] == 0xff && b[1]&0xf6 == 0xf0:
		return parseADTS(b)
	case b[0] == 0xff && b[1]&0xe0 == 0xe0:
		return parseMPEG(b)
	case b[0] == 0x0b && b[1] == 0x77:
		return parseAC3(b)
	}
	return f, false
}

// Count returns how many samples the whole frames in b hold, and their rate; 0
// where b holds none. A cut frame at the end counts where its header is there.
func Count(b []byte) (samples, rate int) {
	for {
		f, ok := Parse(b)
		if !ok {
			return samples, rate
		}
		samples, rate = samples+f.Samples, f.Rate
		if f.Size >= len(b) {
			return samples, rate
		}
		b = b[f.Size:]
	}
}

var aacRates = [16]int{96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350}

func parseADTS(b []byte) (f Frame, ok bool) {
	f = Frame{
		Size:    int(b[3]&3)<<11 | int(b[4])<<3 | int(b[5]>>5),
		Samples: 1024 * (1 + int(b[6]&3)),
		Rate:    aacRates[b[2]>>2&15],
		Codec:   AAC,
	}
	return f, f.Size >= 7 && f.Rate > 0
}

// mpegRates are bit rates in kbit/s: MPEG 1 layers I, II, III, then MPEG 2
// layers I, and II with III.
var mpegRates = [5][15]int{
	{0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
	{0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
	{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},
	{0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
	{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
}

func parseMPEG(b []byte) (f Frame, ok bool) {
	version, layer := b[1]>>3&3, 4-int(b[1]>>1&3)
	rate, index := b[2]>>2&3, int(b[2]>>4)
	if version == 1 || layer == 4 || rate == 3 || index == 0 || index == 15 {
		return f, false
	}
	f.Codec = MPEGAudio
	f.Rate = [3]int{44100, 48000, 32000}[rate]
	row := layer - 1
	if version != 3 { // MPEG 2, and 2.5
		f.Rate /= 2
		row = min(layer, 2) + 2
	}
	if version == 0 {
		f.Rate /= 2
	}
	f.Samples = [4]int{0, 384, 1152, 1152}[layer]
	if layer == 3 && version != 3 {
		f.Samples = 576
	}
	padding := int(b[2] >> 1 & 1)
	bits := mpegRates[row][index] * 1000
	if layer == 1 {
		f.Size = (12*bits/f.Rate + padding) * 4
	} else {
		f.Size = f.Samples/8*bits/f.Rate + padding
	}
	return f, f.Size >= 4
}

// ac3Words are sizes of AC-3 frames at 48 kHz in 16-bit words, by half of
// frmsizecod.
var ac3Words = [19]int{64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1024, 1152, 1280}

func parseAC3(b []byte) (f Frame, ok bool) {
	rates := [4]int{48000, 44100, 32000, 0}
	if b[5]>>3 > 10 { // bitstream identification: E-AC-3
		f = Frame{Size: 2 * (1 + int(binary.BigEndian.Uint16(b[2:])&0x7ff)), Samples: 256 * [4]int{1, 2, 3, 6}[b[4]>>4&3], Rate: rates[b[4]>>6], Codec: EAC3}
		if f.Rate == 0 { // halved rates have six blocks
			f.Rate, f.Samples = [4]int{24000, 22050, 16000, 0}[b[4]>>4&3], 1536
		}
		if b[2]>>6 == 1 || b[2]>>3&7 > 0 { // a dependent substream adds channels, a further one a programme: no time
			f.Samples = 0
		}
		return f, f.Rate > 0
	}
	code := int(b[4] & 0x3f)
	f = Frame{Samples: 1536, Rate: rates[b[4]>>6], Codec: AC3}
	if code/2 >= len(ac3Words) || f.Rate == 0 {
		return f, false
	}
	words := ac3Words[code/2]
	switch f.Rate {
	case 44100: // the bit rate is the same
		words = words*48000/44100 + code&1
	case 32000:
		words = words * 3 / 2
	}
	f.Size = 2 * words
	return f, true
}
