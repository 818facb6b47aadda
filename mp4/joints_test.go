package mp4

import (
	"bytes"
	"slices"
	"testing"
)

// TestSqueeze: where what follows is decoded before the samples at the end are,
// those are decoded sooner, and presented when they were.
func TestSqueeze(t *testing.T) {
	for _, decode := range []int64{1000, 950, 850, 601, 10, 3, 0} {
		b := newStretch(&track{tables: &sampleTables{}}, 1000)
		presented := map[int64]int64{}
		for i := range int64(10) {
			presented[i] = 100*i + 200
			b.addSample(100, 200, 1, 0)
		}
		b.gaps[9] = 5
		if b.end > decode {
			b.squeeze(decode)
		}
		b.addChunk(0, 10, 1)
		s, err := b.tables()
		if err != nil {
			t.Fatal(err)
		}
		if s.count != 10 || s.end() != b.end || b.end != max(decode, 10) {
			t.Errorf("%d: %d samples end at %d (%d)", decode, s.count, s.end(), b.end)
		}
		for i := range s.count {
			if s.duration(i) < 1 || s.compose(i) != presented[i] {
				t.Errorf("%d: sample %d lasts %d and is presented at %d, want %d", decode, i, s.duration(i), s.compose(i), presented[i])
			}
		}
		if decode < 1000 && len(s.gaps) > 0 {
			t.Errorf("%d: there are gaps %v", decode, s.gaps)
		}
	}
}

// TestRejoin adds a fragment whose clock begins anew, and is decoded earlier
// before it is shown than what came before: its own times hold, and so do those.
func TestRejoin(t *testing.T) {
	pictures := func(decode int64, offset uint32) trackFragment {
		r := trackRun{count: 10, stride: 4, fields: trunOffset, duration: 100, size: 1}
		for range r.count {
			r.entries = be.AppendUint32(r.entries, offset)
		}
		return trackFragment{id: 1, decode: decode, description: 1, runs: []trackRun{r}}
	}
	b := newStretch(&track{id: 1, tables: &sampleTables{}}, 1000)
	next := pictures(800, 200) // shown at 1000, when the others end
	next.rejoins = true
	for _, f := range []trackFragment{pictures(0, 0), next} {
		if err := b.addFragment(&moof{trafs: []trackFragment{f}}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.tables()
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.count {
		if s.compose(i) != 100*i || s.duration(i) < 1 {
			t.Errorf("sample %d is presented at %d, want %d; it lasts %d", i, s.compose(i), 100*i, s.duration(i))
		}
	}
	if s.decode(10) != 800 {
		t.Errorf("what follows is decoded at %d, want 800", s.decode(10))
	}
}

// TestWithin leaves out samples at both ends of runs with sizes and flags of
// their own, and of such whose samples are all alike.
func TestWithin(t *testing.T) {
	listed := trackRun{count: 4, data: 1000, stride: 8, fields: trunDuration | trunSize | trunFirstFlags, first: 7, flags: 9}
	for i := range uint32(4) {
		listed.entries = be.AppendUint32(be.AppendUint32(listed.entries, 10), i+1)
	}
	alike := trackRun{count: 4, data: 5000, duration: 10, size: 3, flags: 9}
	for _, test := range []struct {
		from, to int64
		decode   int64
		counts   []int64
		data     int64
		flags    uint32 // of the first sample
	}{
		{0, 1000, 100, []int64{4, 4}, 1000, 7},
		{100, 180, 100, []int64{4, 4}, 1000, 7},
		{105, 176, 100, []int64{4, 4}, 1000, 7},
		{106, 174, 110, []int64{3, 3}, 1001, 9},
		{126, 1000, 130, []int64{1, 4}, 1006, 9},
		{150, 160, 150, []int64{1}, 5003, 9},
	} {
		f := trackFragment{decode: 100, runs: []trackRun{listed, alike}}
		f.within(test.from, test.to)
		var counts []int64
		for _, r := range f.runs {
			counts = append(counts, r.count)
		}
		if !slices.Equal(counts, test.counts) || f.decode != test.decode || f.runs[0].data != test.data || f.runs[0].sample(0).flags != test.flags {
			t.Errorf("[%d, %d): %v from %d on at byte %d, flags %d; want %+v", test.from, test.to, counts, f.decode, f.runs[0].data, f.runs[0].sample(0).flags, test)
		}
	}
}

// TestCoding: bit rates and the track's number are no difference between two codings, all else is.
func TestCoding(t *testing.T) {
	box := func(typ string, payload ...byte) []byte {
		return append(append(be.AppendUint32(nil, uint32(8+len(payload))), typ...), payload...)
	}
	stsd := func(rate, config byte) *track {
		esds := box("esds", 0, 0, 0, 0, 3, 23, 0, rate, 0, 4, 15, 0x40, 0x15, 0, 0, 0, 0, 0, 0, rate, 0, 0, 0, rate, 5, 0)
		esds = append(esds, box("btrt", 0, 0, 0, 0, 0, 0, 0, rate, 0, 0, 0, rate)...)
		esds = append(esds, config)
		return &track{stsd: box2(box("stsd", esds...))}
	}
	a := stsd(1, 1).coding()
	if !bytes.Equal(a, stsd(2, 1).coding()) {
		t.Error("another bit rate is another coding")
	}
	if bytes.Equal(a, stsd(1, 2).coding()) {
		t.Error("another configuration is the same coding")
	}
}

func box2(raw []byte) box { return box{typ: string(raw[4:8]), header: 8, raw: raw} }
