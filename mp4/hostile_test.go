package mp4_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/mediatest"
	"github.com/mediafrag/mediafrag/internal/samples"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/seek"
)

// patch overwrites bytes behind the n-th occurrence of a box type.
func patch(data []byte, typ string, n, at int, with ...byte) []byte {
	out := bytes.Clone(data)
	pos := 0
	for ; n >= 0; n-- {
		pos += bytes.Index(out[pos:], []byte(typ)) + 4
	}
	copy(out[pos+at:], with)
	return out
}

// TestHostile opens and plans files that lie. Each ends in a typed error that
// names the element, or in a clip of what is there.
func TestHostile(t *testing.T) {
	good := (&testFile{tracks: []*testTrack{reordered(), tone()}}).build()
	front := (&testFile{tracks: []*testTrack{reordered(), tone()}, moovFirst: true}).build()
	rare := withTables((&testFile{tracks: []*testTrack{pictures()}}).build(), rareTables(1))
	ones := []byte{255, 255, 255, 255}
	tests := []struct {
		name    string
		data    []byte
		want    error  // nil: a clip
		element string // that the error names
	}{
		{"untouched", good, nil, ""},
		{"empty mdat only", mkbox("mdat"), formats.ErrDamaged, ""},
		{"moov cut off", good[:len(good)-100], formats.ErrDamaged, "moov"},
		{"file cut off in the media", front[:len(front)-1500], nil, ""}, // what is there comes: TestCutOff
		{"box size below its header", patch(good, "moov", 0, -8, 0, 0, 0, 3), formats.ErrDamaged, "moov"},
		{"64-bit size that wraps", append(append(mkbox("ftyp", make([]byte, 8)), be.AppendUint64(append(u32(1), "free"...), 1<<64-16)...), good...), formats.ErrDamaged, "free"},
		{"child larger than its parent", patch(good, "trak", 0, -8, 0, 16, 0, 0), formats.ErrDamaged, "moov/trak"},
		{"movie timescale 0", patch(good, "mvhd", 0, 12, 0, 0, 0, 0), formats.ErrDamaged, "moov"},
		{"track timescale 0", patch(good, "mdhd", 0, 12, 0, 0, 0, 0), formats.ErrDamaged, "moov/trak"},
		{"stts count beyond its box", patch(good, "stts", 0, 4, ones...), formats.ErrDamaged, "stts"},
		{"stts run of 2^32 samples", patch(good, "stts", 0, 8, ones...), nil, ""},
		{"stts run of 2^32 samples of 2^32 ticks", patch(good, "stts", 0, 8, append(ones, ones...)...), formats.ErrDamaged, "stts"},
		{"ctts count beyond its box", patch(good, "ctts", 0, 4, ones...), formats.ErrDamaged, "ctts"},
		{"ctts offset of -2^31", patch(good, "ctts", 0, 12, 128, 0, 0, 0), nil, ""},
		{"stss out of order", patch(good, "stss", 0, 8, 0, 0, 0, 50), nil, ""},
		{"stsz count beyond its box", patch(good, "stsz", 0, 8, ones...), formats.ErrDamaged, "stsz"},
		{"one size of 2^32 for 2^32 samples", patch(good, "stsz", 0, 4, append(ones, ones...)...), formats.ErrDamaged, ""},
		{"stsc out of order", patch(good, "stsc", 1, 20, 0, 0, 0, 0), nil, ""}, // a single entry: what follows is the next box
		{"stsc from chunk 0", patch(good, "stsc", 0, 8, 0, 0, 0, 0), formats.ErrDamaged, "stbl"},
		{"chunk beyond the file", patch(good, "stco", 0, 8, ones...), nil, ""}, // not among those of the interval
		{"all chunks beyond the file", patch(good, "stco", 0, 8, bytes.Repeat(ones, 25)...), formats.ErrDamaged, "stbl"},
		{"edit of 2^32 ticks", patch(good, "elst", 0, 8, ones...), nil, ""},
		{"edit from beyond the media", patch(good, "elst", 0, 12, 127, 255, 255, 255), nil, ""}, // the sound is left
		{"edit at media time -2", patch(good, "elst", 0, 12, 255, 255, 255, 254), formats.ErrDamaged, "elst"},
		{"elst count beyond its box", patch(good, "elst", 0, 4, ones...), formats.ErrDamaged, "elst"},
		{"two tracks of one ID", patch(good, "tkhd", 1, 12, 0, 0, 0, 1), formats.ErrDamaged, "trak"},
		{"no stbl", patch(good, "stbl", 0, -4, 'x'), formats.ErrDamaged, "trak"},
		{"no stss", patch(good, "stss", 0, -4, 'x'), nil, ""},
		{"no stco", patch(good, "stco", 0, -4, 'x'), nil, ""}, // the sound is left
		{"no stsz", patch(good, "stsz", 0, -4, 'x'), nil, ""},
		{"rare tables", rare, nil, ""},
		{"subs count beyond its box", patch(rare, "subs", 0, 4, ones...), formats.ErrDamaged, "subs"},
		{"subs of 65,535 parts", patch(rare, "subs", 0, 12, 255, 255), formats.ErrDamaged, "subs"},
		{"subs 2^32 samples on", patch(rare, "subs", 0, 8, ones...), nil, ""},
		{"stps out of order", patch(rare, "stps", 0, 8, ones...), nil, ""},
		{"stsh count beyond its box", patch(rare, "stsh", 0, 4, ones...), formats.ErrDamaged, "stsh"},
		{"csgp of 2^32 patterns", patch(rare, "csgp", 0, 8, ones...), nil, ""}, // groups are advice
		{"csgp of a pattern of 65,535", patch(rare, "csgp", 0, 12, 255, 255), nil, ""},
		{"cmov", mkbox("moov", mkbox("cmov")), formats.ErrUnsupported, "moov/cmov"},
		{"still picture", append(mkbox("ftyp", []byte("avif"), u32(0), []byte("mif1")), append(mkbox("meta", make([]byte, 40)), mkbox("mdat", make([]byte, 40))...)...), formats.ErrUnsupported, "ftyp"},
		{"media segment alone", mkbox("moof", make([]byte, 16)), formats.ErrUnsupported, "moof"},
		{"4,097 boxes", append(bytes.Repeat(mkbox("free"), 4097), good...), formats.ErrDamaged, ""},
		{"zeros", make([]byte, 4096), formats.ErrDamaged, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := openAndPlan(t, tt.data)
			mediatest.Refusal{Err: tt.want, Container: mp4.Name, Element: tt.element, Size: int64(len(tt.data)) + 1<<33}.Check(t, err)
		})
	}
}

// hostileRequests is how many requests a small hostile file may cost.
const hostileRequests = 40

// openAndPlan opens data and plans [2.55, 4.03) of it. That may not cost more
// than a file of that size is worth.
func openAndPlan(t testing.TB, data []byte) error {
	t.Helper()
	return planBounded(t, data, fuzzFloor)
}

// planBounded is openAndPlan where a file of no bytes may take so much memory.
func planBounded(t testing.TB, data []byte, floor int) error {
	t.Helper()
	source := seektest.New(data)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	o, err := open(t, source)
	if err == nil {
		var plan *formats.Plan
		if plan, err = o.Plan(t.Context(), between(2.55, 4.03)); err == nil {
			checkParts(t, plan, data)
		}
	}
	runtime.ReadMemStats(&after)
	if used, most := after.TotalAlloc-before.TotalAlloc, uint64(floor+fuzzFactor*len(data)); used > most {
		t.Errorf("%d bytes of memory for a file of %d, want at most %d", used, len(data), most)
	}
	if n := len(source.Requests()); n > hostileRequests {
		t.Errorf("%d requests, want at most %d: %v", n, hostileRequests, source.Ranges())
	}
	return err
}

// TestOverlappingSamples cuts files whose chunks lie in one another. Samples are
// what the tables say, each with its own copy of the bytes that are shared, and
// those are fetched once; also where the moov is read in parts.
func TestOverlappingSamples(t *testing.T) {
	good := (&testFile{tracks: []*testTrack{reordered(), tone()}}).build()
	for name, move := range map[string]func(n int, chunks []byte) uint32{
		"three at one place": func(n int, chunks []byte) uint32 { return be.Uint32(chunks[4*(n-n%3):]) },
		"all at one place":   func(_ int, chunks []byte) uint32 { return be.Uint32(chunks) },
		"each in the last":   func(n int, chunks []byte) uint32 { return be.Uint32(chunks) + uint32(n) },
	} {
		t.Run(name, func(t *testing.T) {
			data := bytes.Clone(good)
			for at := bytes.Index(data, []byte("stco")); at >= 0; {
				chunks := bytes.Clone(data[at+12 : at+12+4*int(be.Uint32(data[at+8:]))])
				for n := range len(chunks) / 4 {
					be.PutUint32(data[at+12+4*n:], move(n, chunks))
				}
				next := bytes.Index(data[at+4:], []byte("stco"))
				if next < 0 {
					break
				}
				at += 4 + next
			}
			plan, _ := cutBuilt(t, data, 2.55, 4.03)
			if err := openAndPlan(t, data); err != nil {
				t.Error(err)
			}
			if plan.Size > int64(len(data)) {
				t.Errorf("the clip has %d bytes, the file %d: no sample is in it twice", plan.Size, len(data))
			}
			samePlans(t, data, 3)
		})
	}
}

// TestSegmentAlone recognises segments, whatever box they begin with, and says
// that they are not whole files.
func TestSegmentAlone(t *testing.T) {
	moof := mkbox("moof", make([]byte, 16))
	for _, first := range []string{"styp", "sidx", "emsg", "prft", "moof"} {
		data := append(mkbox(first, make([]byte, 32)), moof...)
		if !(mp4.Format{}).Detect(data, seek.Info{}) {
			t.Errorf("a segment that begins with %s is not recognised", first)
		}
		if err := openAndPlan(t, data); !errors.Is(err, formats.ErrUnsupported) {
			t.Errorf("a segment that begins with %s: %v, want %v", first, err, formats.ErrUnsupported)
		}
	}
}

// TestIndexLimit refuses a moov beyond the caller's limit without reading it.
func TestIndexLimit(t *testing.T) {
	data := (&testFile{tracks: []*testTrack{reordered(), tone()}, udta: mkbox("free", make([]byte, 1<<20))}).build()
	source := seektest.New(data)
	w := seek.NewWindow(t.Context(), source, 0)
	defer w.Close()
	_, err := mp4.Format{}.Open(t.Context(), w, formats.Env{Limits: formats.Limits{Index: 1 << 19, Whole: 1 << 30}})
	if !errors.Is(err, seek.ErrLimit) || !strings.Contains(err.Error(), "moov") {
		t.Errorf("%v, want the limit at the moov", err)
	}
}

// Bounds on what a hostile file may cost: memory in bytes for each byte of it,
// and at least.
const (
	fuzzFactor = 400
	fuzzFloor  = 8 << 20
)

// FuzzOpen opens arbitrary bytes, plans an interval and checks that the plan is
// about bytes that exist and that nothing grows beyond what the file holds.
func FuzzOpen(f *testing.F) {
	for _, s := range samples.All() {
		if strings.HasSuffix(s.Name, ".mp4") {
			moov := bytes.Index(s.Data, []byte("moov")) - 4
			f.Add(append(append([]byte{}, s.Data[:32]...), s.Data[moov:moov+int(be.Uint32(s.Data[moov:]))]...), uint16(300), uint16(200))
		}
	}
	f.Add((&testFile{tracks: []*testTrack{reordered(), tone()}}).build(), uint16(255), uint16(148))
	f.Add((&testFile{tracks: []*testTrack{reordered(), tone()}, moovFirst: true}).build(), uint16(0), uint16(65535))
	f.Add(withTables((&testFile{tracks: []*testTrack{pictures()}}).build(), rareTables(0)), uint16(275), uint16(75))
	compact := reordered()
	compact.tables = tableForm{co64: true, editsV1: true, mdhdV1: true, compact: 8}
	f.Add((&testFile{tracks: []*testTrack{compact}, wideMdat: true}).build(), uint16(500), uint16(10))
	f.Fuzz(func(t *testing.T, data []byte, a, length uint16) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		fuzzOne(t, data, float64(a)/100, float64(length)/100)
		runtime.ReadMemStats(&after)
		if used, most := after.TotalAlloc-before.TotalAlloc, uint64(fuzzFloor+fuzzFactor*len(data)); used > most {
			t.Errorf("%d bytes of memory for a file of %d", used, len(data))
		}
	})
}

func fuzzOne(t *testing.T, data []byte, a, length float64) {
	ctx := context.Background()
	w := seek.NewWindow(ctx, seektest.New(data), 0)
	defer w.Close()
	m, err := mp4.Format{}.Open(ctx, w, formats.Env{})
	if err != nil {
		return
	}
	m.Info()
	for _, layout := range []formats.Layout{"", mp4.Fragmented} {
		sel := between(a, a+length)
		sel.Layout = layout
		if plan, err := m.Plan(ctx, sel); err == nil {
			checkParts(t, plan, data)
		}
	}
}

// checkParts checks that a plan is about bytes that exist.
func checkParts(t testing.TB, plan *formats.Plan, data []byte) {
	var size int64
	for _, p := range plan.Parts {
		if p.Resource != nil && (p.Offset < 0 || p.Length < 0 || p.End() > int64(len(data))) {
			t.Errorf("a part of bytes %v of a file of %d", p.Range, len(data))
		}
		size += p.Size
	}
	if size != plan.Size {
		t.Errorf("the parts add up to %d bytes, the plan says %d", size, plan.Size)
	}
}

// TestNothingReadTwice makes sure that opening touches only the index.
func TestNothingReadTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.mp4")
	data := (&testFile{tracks: []*testTrack{reordered(), tone()}, before: mkbox("free", make([]byte, 300<<10))}).build()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	o := mustOpen(t, path)
	seen := map[int64]bool{}
	for _, r := range o.Source.Requests() {
		for at := r.Offset; at < r.Offset+r.Delivered; at++ {
			if seen[at] {
				t.Fatalf("byte %d was fetched twice", at)
			}
			seen[at] = true
		}
	}
}
