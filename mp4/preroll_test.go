package mp4_test

import (
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/mp4"
)

// rolls writes a roll group of a distance, and that so many samples belong to
// it.
func rolls(typ string, distance int16, samples uint32) []byte {
	sgpd := mkbox("sgpd", u32(1<<24), []byte(typ), u32(2, 1), be.AppendUint16(nil, uint16(distance)))
	return append(sgpd, mkbox("sbgp", u32(0), []byte(typ), u32(1, samples, 1))...)
}

// TestPreroll begins sound as many frames early as its coding needs, or as its
// roll group says, and hides them: presentation begins at the interval.
func TestPreroll(t *testing.T) {
	lc, he, compatible := esds(0x40, 0x12, 0x10), esds(0x40, 0x2b, 0x92, 0x08, 0), esds(0x40, 0x13, 0x90, 0x56, 0xe5, 0xa0)
	low, never := esds(0x40, 0x13, 0x08), esds(0x40, 0x13, 0x08, 0x56, 0xe5, 0)
	xhe := esds(0x40, 0xf9, 0x4a, 0x42, 0)
	tests := []struct {
		name   string
		entry  []byte
		groups []byte
		sync   []uint32
		want   int // first of the clip's samples; 2.05 s begins with sample 41
	}{
		{"AAC", audio("mp4a", lc), nil, nil, 39},
		{"AAC that says so", audio("mp4a", lc), rolls("roll", -1, 200), nil, 39},
		{"HE-AAC, explicit", audio("mp4a", he), nil, nil, 21},
		{"HE-AAC, compatible", audio("mp4a", compatible), nil, nil, 21},
		{"HE-AAC that says what all AAC says", audio("mp4a", he), rolls("roll", -1, 200), nil, 21},
		{"AAC of 24 kHz, which may be HE-AAC", audioAt(24000<<16, "mp4a", low), nil, nil, 21},
		{"AAC of 24 kHz that says so", audioAt(24000<<16, "mp4a", low), rolls("roll", -1, 200), nil, 39},
		{"AAC of 24 kHz that is none", audioAt(24000<<16, "mp4a", never), nil, nil, 39},
		{"HE-AAC by its rate", audio("mp4a", low), rolls("roll", -1, 200), nil, 21},
		{"HE-AAC that says so", audio("mp4a", he), rolls("roll", -5, 200), nil, 36},
		{"xHE-AAC", audio("mp4a", xhe), rolls("roll", -8, 200), nil, 33},
		{"xHE-AAC with sync samples", audio("mp4a", xhe), rolls("prol", -3, 200), []uint32{1, 31, 61}, 27},
		{"unknown", audio("xxxx"), rolls("roll", -7, 200), nil, 34},
		{"PCM", audio("sowt"), nil, nil, 41},
	}
	for _, tt := range tests {
		for _, layout := range []formats.Layout{mp4.Progressive, mp4.Fragmented} {
			sound := tone()
			sound.entry, sound.sync = tt.entry, tt.sync
			o := openBuilt(t, withTables((&testFile{tracks: []*testTrack{sound}}).build(), tt.groups))
			sel := between(2.05, 3.05)
			sel.Layout = layout
			_, clip := clipOf(t, o, sel)
			samples, want := clip[0].samples, expected(sound, 0)
			if len(samples) == 0 || samples[0].hash != want[tt.want].hash {
				t.Errorf("%s, %s: %d samples, the first is not sample %d", tt.name, layout, len(samples), tt.want)
			}
			checkSamples(t, sound.id, samples, want[41:61], 2.05)
		}
	}
}

// TestPrerollOfFragments takes the roll group out of fragments, whose moov does
// not tell of it.
func TestPrerollOfFragments(t *testing.T) {
	sound := tone()
	sound.entry = audio("mp4a", esds(0x40, 0x2b, 0x92, 0x08, 0))
	f := &fragmentedFile{tracks: []*testTrack{sound}, index: flatIndex, form: fragmentForm{
		more: func(_ *testTrack, from, to int) []byte {
			groups := rolls("roll", -5, uint32(to-from))
			copy(groups[len(groups)-4:], u32(0x10001)) // the fragment's own description
			return groups
		},
	}}
	for _, layout := range []formats.Layout{mp4.Progressive, mp4.Fragmented} {
		sel := between(4.05, 5.55)
		sel.Layout = layout
		_, clip := clipOf(t, openBuilt(t, f.build()), sel)
		if samples, want := clip[0].samples, expected(sound, 0); samples[0].hash != want[76].hash {
			t.Errorf("%s: the clip does not begin with sample 76, five before the one at 4.05 s", layout)
		}
	}
}
