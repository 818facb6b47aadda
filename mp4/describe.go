package mp4

import (
	"fmt"
	"strings"

	gomp4 "github.com/abema/go-mp4"
	"golang.org/x/text/language"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

// shownSize returns a track header's picture size, turned as its matrix says.
func shownSize(h gomp4.Tkhd) (width, height int) {
	w, ht := int((h.Width+1<<15)>>16), int((h.Height+1<<15)>>16)
	if h.Matrix[0] == 0 && h.Matrix[1] != 0 { // a quarter turn
		return ht, w
	}
	return w, ht
}

// undetermined is the language of a track that states none (ISO 639-2).
const undetermined = "und"

// unpackLanguage returns an mdhd's packed ISO 639-2 code.
func unpackLanguage(packed [3]byte) string {
	if packed == [3]byte{} {
		return undetermined
	}
	var s string
	for _, c := range packed {
		if c < 1 || c > 26 {
			return undetermined // a Macintosh language code
		}
		s += string(rune(c + 0x60))
	}
	return s
}

// packLanguage returns the code that an mdhd has for a tag (ISO/IEC 14496-12
// section 8.4.2), 0 where there is none.
func packLanguage(tag string) (code uint16) {
	t, err := language.Parse(tag)
	if err != nil {
		return 0
	}
	base, _ := t.Base()
	for _, c := range base.ISO3() {
		code = code<<5 | uint16(c-0x60)
	}
	return code
}

func (t *track) readHandler(b box) {
	p := b.payload()
	if len(p) < 12 {
		return
	}
	t.handler = string(p[8:12])
	switch t.handler {
	case "vide", "auxv", "pict":
		t.kind = formats.Video
	case "soun":
		t.kind = formats.Audio
	case "text", "sbtl", "subt", "subp", "clcp":
		t.kind = formats.Subtitle
	case "meta", "tmcd":
		t.kind = formats.Metadata
	}
	if len(p) > 24 {
		name := p[24:]
		if n := int(name[0]); n > 0 && n < len(name) && n == len(strings.TrimRight(string(name[1:]), "\x00")) {
			name = name[1 : 1+n] // QuickTime: a counted string
		}
		t.info.Name = strings.ToValidUTF8(strings.TrimRight(string(name), "\x00"), "�")
	}
}

// readName reads the name that a user gave a track: the name of its udta
// (QuickTime File Format, user data list; without version and flags).
func readName(udta box) string {
	name, ok, err := udta.child("name")
	if err != nil || !ok {
		return "" // user data is not ours to judge
	}
	return strings.ToValidUTF8(strings.Trim(string(name.payload()), "\x00"), "�")
}

// describe fills in what info says of the track.
func (t *track) describe(m *movie) {
	i := &t.info
	i.ID = fmt.Sprint(t.id)
	i.Kind = t.kind
	i.Codec = t.entry.codec
	i.Channels, i.SampleRate = t.entry.channels, t.entry.rate
	i.CodedWidth, i.CodedHeight = t.entry.width, t.entry.height
	if t.kind != formats.Video {
		i.Width, i.Height = 0, 0
		return
	}
	if i.Width == 0 || i.Height == 0 { // the track header leaves it to the coding
		i.Width, i.Height = t.entry.shown()
	}
	if d := t.tables.stts.data; len(d) >= 8 {
		if r := t.tables.stts.entry(0, false); steady(t.tables.stts) && r.value > 0 {
			i.FrameRate = fragment.Ticks(t.timescale, r.value)
		}
	}
}

// steady reports whether all samples but the last have one duration.
func steady(t *runTable) bool {
	n := len(t.data) / 8
	return n == 1 || n == 2 && t.entry(1, false).count == 1
}
