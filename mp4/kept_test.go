package mp4_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/mp4"
)

// keptBoxes returns the boxes of a moov that a cut must not touch, by their
// paths: those that say how media look and sound and what they are, and all that
// nobody here knows. It goes by sizes and types alone.
func keptBoxes(moov []byte) map[string][][]byte {
	out := map[string][][]byte{}
	// What times, places and single samples are about, and references, which
	// lose the tracks that are left out.
	cut := []string{"mvhd", "tkhd", "mdhd", "edts", "tref", "mvex", "stts", "ctts", "cslg", "stss", "stps", "stsh", "stsz", "stz2",
		"stsc", "stco", "co64", "sdtp", "padb", "stdp", "subs", "sgpd", "sbgp", "csgp", "saiz", "saio", "senc"}
	var walk func(path, track string, data []byte)
	walk = func(path, track string, data []byte) {
		for at := 0; at+8 <= len(data); {
			size, typ := int(be.Uint32(data[at:])), string(data[at+4:at+8])
			if size < 8 || at+size > len(data) {
				return
			}
			b := data[at : at+size]
			switch {
			case typ == "trak":
				tkhd := child(b[8:], "tkhd")
				id := be.Uint32(tkhd[12+8*int(tkhd[0]):])
				walk(path+"/trak", string(rune('0'+id)), b[8:])
			case slices.Contains([]string{"mdia", "minf", "stbl"}, typ):
				walk(path+"/"+typ, track, b[8:])
			case typ == "udta" && bytes.Contains(b, []byte("chpl")), bytes.Contains(b, []byte("iTunSMPB")):
			case slices.Contains(cut, typ):
				if typ == "tkhd" { // its matrix, size, volume, group
					out[track+path+"/tkhd"] = append(out[track+path+"/tkhd"], b[len(b)-52:])
				}
				if typ == "mvhd" || typ == "mdhd" { // rate, volume, matrix; language
					out[track+path+"/"+typ] = append(out[track+path+"/"+typ], b[len(b)-map[string]int{"mvhd": 80, "mdhd": 4}[typ]:len(b)-map[string]int{"mvhd": 4, "mdhd": 0}[typ]])
				}
			default:
				out[track+path+"/"+typ] = append(out[track+path+"/"+typ], b)
			}
			at += size
		}
	}
	walk("", "", moov[8:])
	return out
}

// TestKept compares what a cut must not touch, byte by byte, in clips of every
// file that others made, in each layout.
func TestKept(t *testing.T) {
	dir, files := oracle.Corpus(t)
	boxes := 0
	for path := range files {
		if !strings.HasPrefix(path, "mp4/") && !strings.HasPrefix(path, "fmp4/") {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			original, err := os.ReadFile(filepath.Join(dir, path))
			if err != nil {
				t.Fatal(err)
			}
			boxes += checkKept(t, original)
		})
	}
	if boxes < 500 {
		t.Errorf("%d boxes were compared", boxes)
	}
}

// checkKept cuts the middle of a file in each layout and compares the boxes.
func checkKept(t *testing.T, original []byte) (compared int) {
	t.Helper()
	o := openBuilt(t, original)
	sel := formats.Selection{Interval: fragment.From(fragment.Time{})}
	if info := o.Info(); info.Timed {
		sel.Interval = fragment.Between(fragment.FromSeconds(info.Duration.Seconds()/8), fragment.FromSeconds(info.Duration.Seconds()*7/8))
	}
	for _, track := range o.Info().Tracks {
		sel.Tracks = append(sel.Tracks, track.ID)
	}
	want := keptBoxes(moovOf(t, original))
	for _, layout := range []formats.Layout{"", mp4.Fragmented} {
		sel.Layout = layout
		plan, path := o.cut(t, sel)
		clip, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got := keptBoxes(moovOf(t, clip))
		tracks := map[string]bool{"": true}
		for _, track := range plan.Tracks {
			tracks[track.ID] = true
		}
		for at, boxes := range want {
			id, _, _ := strings.Cut(at, "/")
			if !tracks[id] {
				continue
			}
			compared += len(boxes)
			if !slices.EqualFunc(boxes, got[at], bytes.Equal) {
				t.Errorf("%q layout: %s is not what it was:\n% .80x\n% .80x", layout, at, boxes, got[at])
			}
		}
	}
	return compared
}

// TestKeptBuilt does the same for boxes that no file of the corpus has: HDR,
// clean aperture, kinds of tracks, and what nobody knows.
func TestKeptBuilt(t *testing.T) {
	video, sound := reordered(), tone()
	video.entry = visual("hvc1", mkbox("hvcC", make([]byte, 23)), mkbox("colr", []byte("nclx"), []byte{0, 9, 0, 16, 0, 9, 0x80}),
		mkbox("mdcv", make([]byte, 24)), mkbox("clli", u32(0x03e80190)), mkbox("dvvC", make([]byte, 24)), mkbox("pasp", u32(4, 3)),
		mkbox("clap", u32(62, 1, 46, 1, 0, 1, 0, 1)), mkbox("vexu", []byte("stereo")), mkbox("amve", make([]byte, 8)))
	video.more = append(mkbox("udta", mkbox("kind", u32(0), []byte("urn:mpeg:dash:role:2011\x00main\x00")), mkbox("name", []byte("Camera"))), mkbox("zzzz", []byte("?"))...)
	sound.more = mkbox("meta", u32(0), mkbox("hdlr", u32(0, 0), []byte("ID32"), make([]byte, 13)), mkbox("ID32", make([]byte, 20)))
	sound.language = 0x15c7
	data := (&testFile{tracks: []*testTrack{video, sound}, udta: append(mkbox("\xa9nam", []byte("Name")), mkbox("loci", make([]byte, 30))...)}).build()
	data = patch(data, "tkhd", 0, 40, u32(0, 0x10000, 0, 0xffff0000)...) // turned
	for _, built := range [][]byte{data, (&fragmentedFile{tracks: []*testTrack{video, sound}, index: flatIndex}).build()} {
		if n := checkKept(t, built); n < 25 {
			t.Errorf("%d boxes were compared", n)
		}
	}
}
