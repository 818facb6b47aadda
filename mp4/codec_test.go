package mp4_test

import (
	"testing"

	"github.com/mediafrag/mediafrag/formats"
)

// visual and audio write sample entries with the boxes behind their fields.
func visual(typ string, boxes ...[]byte) []byte {
	return mkbox(typ, append([][]byte{make([]byte, 6), {0, 1}, make([]byte, 16), {0, 160, 0, 90}, make([]byte, 50)}, boxes...)...)
}

func audio(typ string, boxes ...[]byte) []byte { return audioAt(48000<<16, typ, boxes...) }

// audioAt is audio with the field of the rate.
func audioAt(rate uint32, typ string, boxes ...[]byte) []byte {
	fields := [][]byte{make([]byte, 6), {0, 1}, make([]byte, 8), {0, 2, 0, 16, 0, 0, 0, 0}, u32(rate)}
	return mkbox(typ, append(fields, boxes...)...)
}

// sinf says that a sample entry is of another kind, encrypted.
func sinf(format, scheme string, tenc ...[]byte) []byte {
	return mkbox("sinf", mkbox("frma", []byte(format)), mkbox("schm", u32(0), []byte(scheme), u32(0x10000)), mkbox("schi", mkbox("tenc", tenc...)))
}

// esds writes an ES descriptor.
func esds(object byte, config ...byte) []byte {
	specific := append([]byte{5, byte(len(config))}, config...)
	decoder := append([]byte{4, byte(13 + len(specific)), object, 0x15}, make([]byte, 11)...)
	decoder = append(decoder, specific...)
	return mkbox("esds", u32(0), []byte{3, byte(3 + len(decoder)), 0, 1, 0}, decoder)
}

// TestCodecStrings checks how info names codings, by the documents that define
// the names (RFC 6381 and those of the codings), and what it says of sound whose
// sample entry tells less than its configuration.
func TestCodecStrings(t *testing.T) {
	avcC := mkbox("avcC", []byte{1, 0x64, 0x00, 0x1f, 0xff})
	hvcC := mkbox("hvcC", []byte{1, 0x01, 0x60, 0, 0, 0, 0x90, 0, 0, 0, 0, 0, 93})
	main10 := mkbox("hvcC", []byte{1, 0x22, 0x20, 0, 0, 0, 0xb0, 0, 0, 0, 0, 0, 153})
	text := func(strings string, boxes ...[]byte) []byte {
		return mkbox("stpp", append([][]byte{make([]byte, 6), {0, 1}, []byte(strings)}, boxes...)...)
	}
	tests := []struct {
		handler string
		entry   []byte
		codec   string
		channel int // 0: not checked
		rate    int
	}{
		{"vide", visual("avc1", avcC), "avc1.64001f", 0, 0},
		{"vide", visual("avc3", avcC), "avc3.64001f", 0, 0},
		{"vide", visual("hvc1", hvcC), "hvc1.1.6.L93.90", 0, 0},
		{"vide", visual("hev1", main10), "hev1.2.4.H153.B0", 0, 0},
		{"vide", visual("vvc1", mkbox("vvcC", u32(0), []byte{0xff, 0, 0x65, 0x5f, 1, 2, 51, 0})), "vvc1.1.L51", 0, 0},
		{"vide", visual("av01", mkbox("av1C", []byte{0x81, 0x05, 0x0c, 0})), "av01.0.05M.08", 0, 0},
		{"vide", visual("av01", mkbox("av1C", []byte{0x81, 0x2d, 0xcc, 0})), "av01.1.13H.10", 0, 0},
		{"vide", visual("vp09", mkbox("vpcC", u32(1<<24), []byte{2, 31, 0xa2, 1, 1, 1, 0, 0})), "vp09.02.31.10", 0, 0},
		{"vide", visual("mp4v", esds(0x20, 0, 0, 1, 0xb0, 8)), "mp4v.20.8", 0, 0},
		{"vide", visual("dvh1", hvcC, mkbox("dvcC", []byte{1, 0, 5 << 1, 6<<3 | 5}, make([]byte, 20))), "dvh1.05.06", 0, 0},
		{"vide", visual("dav1", mkbox("av1C", []byte{0x81, 0x05, 0x0c, 0}), mkbox("dvvC", []byte{1, 0, 10 << 1, 9<<3 | 5}, make([]byte, 20))), "dav1.10.09", 0, 0},
		{"vide", visual("hvc1", hvcC, mkbox("dvvC", []byte{1, 0, 8 << 1, 6<<3 | 5}, make([]byte, 20))), "hvc1.1.6.L93.90", 0, 0},
		{"vide", visual("encv", avcC, sinf("avc1", "cenc", u32(0, 0x108), make([]byte, 16))), "avc1.64001f", 0, 0},
		{"soun", audio("enca", esds(0x40, 0x11, 0x90), sinf("mp4a", "cbcs", u32(0, 0x108), make([]byte, 16))), "mp4a.40.2", 2, 48000},
		{"soun", audio("mp4a", esds(0x40, 0x11, 0xb0)), "mp4a.40.2", 6, 48000},
		{"soun", audio("mp4a", esds(0x40, 0x2b, 0x92, 0x08, 0)), "mp4a.40.5", 2, 44100},
		{"soun", audio("mp4a", esds(0x40, 0x13, 0x88, 0x56, 0xe5, 0xa5, 0x48, 0x80)), "mp4a.40.29", 2, 44100},
		{"soun", audio("mp4a", esds(0x40, 0xf9, 0x4a, 0x42, 0)), "mp4a.40.42", 2, 48000},
		{"soun", audio("mp4a", esds(0x6b)), "mp4a.6b", 2, 48000},
		{"soun", audio("Opus", mkbox("dOps", []byte{0, 6, 1, 56, 0, 0, 187, 128, 0, 0, 1})), "Opus", 6, 48000},
		{"soun", audioAt(0, "Opus", mkbox("dOps", []byte{0, 1, 1, 56, 0, 0, 62, 128, 0, 0, 0})), "Opus", 1, 48000},
		{"soun", audioAt(0, "mp4a", esds(0x40, 0x10, 0x10)), "mp4a.40.2", 2, 96000},
		{"soun", audioAt(1000<<16, "samr"), "samr", 1, 8000},
		{"soun", audioAt(1000<<16, "sawb"), "sawb", 1, 16000},
		{"soun", audioAt(192000, "mlpa"), "mlpa", 2, 192000},
		{"soun", audio("fLaC", mkbox("dfLa", u32(0), []byte{0x80, 0, 0, 34}, make([]byte, 10), []byte{0x17, 0x70, 0x0b, 0x70}, make([]byte, 20))), "fLaC", 6, 96000},
		{"soun", audio("ac-3", mkbox("dac3", []byte{0x10, 0x3d, 0xe0})), "ac-3", 6, 48000},
		{"soun", audio("ec-3", mkbox("dec3", []byte{0x0e, 0x00, 0x20, 0x0f, 0x02, 0x02})), "ec-3", 8, 48000},
		{"soun", audio("alac", mkbox("alac", u32(0, 4096), []byte{0, 24, 40, 10, 14, 6, 0, 255}, u32(0, 0, 96000))), "alac", 6, 96000},
		{"text", mkbox("tx3g", make([]byte, 38)), "tx3g", 0, 0},
		{"text", mkbox("wvtt", make([]byte, 8), mkbox("vttC", []byte("WEBVTT"))), "wvtt", 0, 0},
		{"subt", text("http://www.w3.org/ns/ttml\x00\x00\x00"), "stpp", 0, 0},
		{"subt", text("http://www.w3.org/ns/ttml\x00\x00\x00", mkbox("mime", u32(0), []byte("application/ttml+xml;codecs=\"im1t|etd1\"\x00"))), "stpp.ttml.im1t|etd1", 0, 0},
		{"subt", text("http://www.w3.org/ns/ttml http://www.w3.org/ns/ttml/profile/imsc1/image\x00\x00\x00"), "stpp.ttml.im1i", 0, 0},
	}
	for _, tt := range tests {
		track := tone()
		track.handler, track.entry = tt.handler, tt.entry
		info := openBuilt(t, (&testFile{tracks: []*testTrack{track}}).build()).Info().Tracks[0]
		if info.Codec != tt.codec {
			t.Errorf("codec %q, want %q", info.Codec, tt.codec)
		}
		if tt.channel != 0 && (info.Channels != tt.channel || info.SampleRate != tt.rate) {
			t.Errorf("%s: %d channels at %d Hz, want %d at %d", tt.codec, info.Channels, info.SampleRate, tt.channel, tt.rate)
		}
	}
}

// TestNames takes the name, the language and the kind of a track wherever its
// boxes stand.
func TestNames(t *testing.T) {
	sound := tone()
	sound.language = 0x15c7 // eng
	data := (&testFile{tracks: []*testTrack{sound}}).build()
	check := func(what string, data []byte, want formats.Track) {
		t.Helper()
		if got := openBuilt(t, data).Info().Tracks[0]; got.Name != want.Name || got.Language != want.Language || got.Kind != want.Kind {
			t.Errorf("%s: %q, %q, %q; want %q, %q, %q", what, got.Name, got.Language, got.Kind, want.Name, want.Language, want.Kind)
		}
	}
	check("as built", data, formats.Track{Name: "test", Language: "eng", Kind: formats.Audio})
	check("a name of its own", within(data, mkbox("udta", mkbox("name", []byte("Director"))), "moov", "trak"),
		formats.Track{Name: "Director", Language: "eng", Kind: formats.Audio})
	check("a language of more than three letters", within(data, mkbox("elng", u32(0), []byte("zh-Hant\x00")), "moov", "trak", "mdia"),
		formats.Track{Name: "test", Language: "zh-Hant", Kind: formats.Audio})
}

// within adds boxes at the end of the last of the boxes on a path. The moov has
// to stand at the file's end, with one track.
func within(data, boxes []byte, path ...string) []byte {
	out := append([]byte(nil), data...)
	end := len(out)
	at := 0
	for _, typ := range path {
		for at+8 <= end {
			size := int(be.Uint32(out[at:]))
			if string(out[at+4:at+8]) == typ {
				be.PutUint32(out[at:], uint32(size+len(boxes)))
				end = at + size
				at += 8
				break
			}
			at += size
		}
	}
	return append(out[:end:end], append(append([]byte(nil), boxes...), out[end:]...)...)
}
