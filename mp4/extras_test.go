package mp4_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/Eyevinn/mp4ff/bits"
	ffmp4 "github.com/Eyevinn/mp4ff/mp4"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/mp4"
)

// said is what rarer tables say of a sample.
type said struct {
	parts    string // of a subs, "size/priority ..."
	padding  byte
	priority uint16
	group    string // the description of its group
	partial  bool
}

// says is what the tables of the tests' files say of sample i.
func says(i int) said {
	out := said{padding: byte(i % 8), priority: uint16(1000 + i)}
	if i%7 == 5 {
		out.parts = fmt.Sprintf("%d/%d 2/1", i, i%3)
	}
	if i%5 < 2 {
		out.group = []string{"one", "two"}[i%2]
	}
	return out
}

// subs writes what is said of the parts of the samples [from, to).
func subs(version uint32, from, to int) []byte {
	var out []byte
	n, last := uint32(0), from-1
	size := func(v int) []byte {
		if version == 1 {
			return u32(uint32(v))
		}
		return be.AppendUint16(nil, uint16(v))
	}
	for i := from; i < to; i++ {
		if says(i).parts == "" {
			continue
		}
		out = append(out, u32(uint32(i-last))...)
		out = append(out, 0, 2)
		out = append(append(append(out, size(i)...), byte(i%3), 0), u32(7)...)
		out = append(append(append(out, size(2)...), 1, 1), u32(9)...)
		last = i
		n++
	}
	return mkbox("subs", u32(version<<24|5, n), out)
}

// sgpd writes descriptions of a group of the tests' own.
func sgpd(descriptions ...string) []byte {
	out := append(u32(1<<24), []byte("test")...)
	out = append(out, u32(3, uint32(len(descriptions)))...)
	for _, d := range descriptions {
		out = append(out, d...)
	}
	return mkbox("sgpd", out)
}

// csgp writes that groups go by a pattern of ten, with indices of 4, 8, 16 or 32
// bits, n samples in all.
func csgp(code, n int) []byte {
	out := append(u32(uint32(code)|2<<2|2<<4), []byte("test")...)
	out = append(out, u32(1, 10<<16|uint32(n))...)
	var nibbles byte
	for i := range 10 {
		index := byte(0)
		switch says(i).group {
		case "one":
			index = 1
		case "two":
			index = 2
		}
		switch code {
		case 0:
			if nibbles = nibbles<<4 | index; i%2 == 1 {
				out = append(out, nibbles)
			}
		default:
			out = append(append(out, make([]byte, 1<<(code-1)-1)...), index)
		}
	}
	return mkbox("csgp", out)
}

// rareTables are the tables of a progressive file of 100 samples.
func rareTables(code int) []byte {
	var padding, priorities []byte
	for i := range 100 {
		if i%2 == 0 {
			padding = append(padding, says(i).padding<<4|says(i+1).padding)
		}
		priorities = be.AppendUint16(priorities, says(i).priority)
	}
	return slices.Concat(subs(uint32(code&1), 0, 100), sgpd("one", "two"), csgp(code, 100),
		mkbox("padb", u32(0, 100), padding), mkbox("stdp", u32(0), priorities),
		mkbox("stps", u32(0, 3, 16, 26, 46)), mkbox("stsh", u32(0, 2, 30, 31, 32, 91)))
}

// checkSaid compares what a clip's tables say with what those of the original
// say of samples [first, first+len(have)).
func checkSaid(t *testing.T, have []said, first, n int) {
	t.Helper()
	if len(have) != n {
		t.Fatalf("the clip has %d samples, want %d", len(have), n)
	}
	for i, got := range have {
		want := says(first + i)
		want.partial = slices.Contains([]int{15, 25, 45}, first+i)
		if got != want {
			t.Errorf("of sample %d of the clip it is said %+v, want %+v", i, got, want)
		}
	}
}

// child returns the payload of a box on a path, by the sizes and types alone.
func child(data []byte, path ...string) []byte {
	for len(path) > 0 {
		found := false
		for at := 0; at+8 <= len(data); at += int(be.Uint32(data[at:])) {
			if string(data[at+4:at+8]) == path[0] {
				data, path, found = data[at+8:at+int(be.Uint32(data[at:]))], path[1:], true
				break
			}
		}
		if !found {
			return nil
		}
	}
	return data
}

// saidBy reads tables of so many samples by their specification; subs, sgpd and
// sbgp with mp4ff. Common are descriptions that stand elsewhere.
func saidBy(t *testing.T, tables []byte, n int, common []string) []said {
	t.Helper()
	out := make([]said, n)
	descriptions, local := common, []string(nil)
	var sbgp *ffmp4.SbgpBox
	for at := 0; at+8 <= len(tables); at += int(be.Uint32(tables[at:])) {
		switch string(tables[at+4 : at+8]) {
		case "subs", "sgpd", "sbgp":
		default:
			continue
		}
		box, err := ffmp4.DecodeBoxSR(0, bits.NewFixedSliceReader(tables[at:]))
		if err != nil {
			t.Fatalf("mp4ff: %v", err)
		}
		switch b := box.(type) {
		case *ffmp4.SubsBox:
			if b.Flags != 5 {
				t.Errorf("the flags of a subs are %d, want 5", b.Flags)
			}
			sample := -1
			for _, e := range b.Entries {
				sample += int(e.SampleDelta)
				for _, s := range e.SubSamples {
					if out[sample].parts != "" {
						out[sample].parts += " "
					}
					out[sample].parts += fmt.Sprintf("%d/%d", s.SubsampleSize, s.SubsamplePriority)
				}
			}
		case *ffmp4.SgpdBox:
			if b.GroupingType != "test" {
				continue
			}
			local = nil
			for _, e := range b.SampleGroupEntries {
				local = append(local, string(e.(*ffmp4.UnknownSampleGroupEntry).Data))
			}
		case *ffmp4.SbgpBox:
			if b.GroupingType == "test" {
				sbgp = b
			}
		}
	}
	if common == nil {
		descriptions = local
	}
	if sbgp != nil {
		sample := 0
		for i, count := range sbgp.SampleCounts {
			for range count {
				switch index := int(sbgp.GroupDescriptionIndices[i]); {
				case index > 0x10000:
					out[sample].group = local[index-0x10001]
				case index > 0:
					out[sample].group = descriptions[index-1]
				}
				sample++
			}
		}
	}
	if padb := child(tables, "padb"); padb != nil {
		for i := range out {
			out[i].padding = padb[8+i/2] >> (4 - 4*(i%2)) & 7
		}
	}
	if stdp := child(tables, "stdp"); stdp != nil {
		for i := range out {
			out[i].priority = be.Uint16(stdp[4+2*i:])
		}
	}
	if stps := child(tables, "stps"); stps != nil {
		for p := stps[8:]; len(p) >= 4; p = p[4:] {
			out[be.Uint32(p)-1].partial = true
		}
	}
	return out
}

// saidByFragments does the same for fragments; random access points that an stps
// named are in a group there.
func saidByFragments(t *testing.T, clip []byte, common []string) []said {
	t.Helper()
	var out []said
	for at := 0; at+8 <= len(clip); at += int(be.Uint32(clip[at:])) {
		if string(clip[at+4:at+8]) != "moof" {
			continue
		}
		box, err := ffmp4.DecodeBoxSR(uint64(at), bits.NewFixedSliceReader(clip[at:]))
		if err != nil {
			t.Fatal(err)
		}
		traf := box.(*ffmp4.MoofBox).Traf
		traf.Trun.AddSampleDefaultValues(traf.Tfhd, &ffmp4.TrexBox{})
		have := saidBy(t, child(clip[at:], "moof", "traf"), len(traf.Trun.Samples), common)
		for i, s := range traf.Trun.Samples {
			have[i].padding, have[i].priority = byte(s.Flags>>17&7), uint16(s.Flags)
		}
		sample := 0
		for _, b := range traf.Children {
			if g, ok := b.(*ffmp4.SbgpBox); ok && g.GroupingType == "rap " {
				for i, count := range g.SampleCounts {
					for range count {
						have[sample].partial = g.GroupDescriptionIndices[i] != 0
						sample++
					}
				}
			}
		}
		out = append(out, have...)
	}
	return out
}

// TestRareTables cuts tables that few files have along, in both layouts, where
// the moov was read whole and where it was read in parts. The clip begins at a
// partial sync sample.
func TestRareTables(t *testing.T) {
	for code := range 4 {
		for _, whole := range []int64{0, 1} { // 1: always in parts
			for _, layout := range []formats.Layout{mp4.Progressive, mp4.Fragmented} {
				t.Run(fmt.Sprintf("%d bits, %s, %d", 4<<code, layout, whole), func(t *testing.T) {
					data := withTables((&testFile{tracks: []*testTrack{pictures()}}).build(), rareTables(code))
					o, err := openLimited(t, seektest.New(data), formats.Limits{Whole: whole})
					if err != nil {
						t.Fatal(err)
					}
					sel := between(2.75, 3.5)
					sel.Layout = layout
					_, path := o.cut(t, sel)
					clip, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					stbl := child(clip, "moov", "trak", "mdia", "minf", "stbl")
					if layout == mp4.Fragmented {
						checkSaid(t, saidByFragments(t, clip, []string{"one", "two"}), 25, 10)
						return
					}
					checkSaid(t, saidBy(t, stbl, 10, nil), 25, 10)
					if stsh := child(stbl, "stsh"); !bytes.Equal(stsh, u32(0, 1, 5, 6)) {
						t.Errorf("the stsh is % x, want the pair of samples 30 and 31 as 5 and 6", stsh)
					}
				})
			}
		}
	}
}

// TestRareFragmentTables does the same for fragments, whose descriptions stand
// in the moov, in the fragment, or in both.
func TestRareFragmentTables(t *testing.T) {
	f := &fragmentedFile{tracks: []*testTrack{pictures()}, index: flatIndex, form: fragmentForm{
		flags: func(_ *testTrack, i int) uint32 { return uint32(says(i).padding)<<17 | uint32(says(i).priority) },
		more: func(_ *testTrack, from, to int) []byte {
			pattern := csgp(1, to-from) // indices of 8 bits, the highest one says local
			pattern[11] |= 0x80
			for i := len(pattern) - 10; i < len(pattern); i++ {
				if pattern[i] != 0 {
					pattern[i] |= 0x80
				}
			}
			return slices.Concat(subs(uint32(from/10%2), from, to), sgpd("one", "two"), pattern)
		},
	}}
	o := openBuilt(t, f.build())
	for _, layout := range []formats.Layout{mp4.Progressive, mp4.Fragmented} {
		t.Run(string(layout), func(t *testing.T) {
			sel := between(3.05, 5.5)
			sel.Layout = layout
			_, path := o.cut(t, sel)
			clip, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var have []said
			if layout == mp4.Progressive {
				have = saidBy(t, child(clip, "moov", "trak", "mdia", "minf", "stbl"), 25, nil)
			} else {
				have = saidByFragments(t, clip, nil)
			}
			for i := range have {
				want := says(30 + i)
				if have[i] != want {
					t.Errorf("of sample %d it is said %+v, want %+v", i, have[i], want)
				}
			}
			if len(have) != 25 {
				t.Errorf("%d samples, want 25", len(have))
			}
		})
	}
}
