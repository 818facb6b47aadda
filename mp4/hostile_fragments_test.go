package mp4_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/seek"
)

// fragmentsOf builds a small fragmented file.
func fragmentsOf(index indexForm, form fragmentForm) []byte {
	f := &fragmentedFile{tracks: []*testTrack{reordered(), tone()}, index: index, form: form}
	return f.build()
}

// TestHostileFragments opens and plans fragmented files that lie. Each ends in
// a typed error that names the element, or in a clip of what is there.
func TestHostileFragments(t *testing.T) {
	flat, tree, tail, none := fragmentsOf(flatIndex, fragmentForm{}), fragmentsOf(treeIndex, fragmentForm{}), fragmentsOf(tailIndex, fragmentForm{}), fragmentsOf(noIndex, fragmentForm{})
	uniform := fragmentsOf(flatIndex, fragmentForm{})
	ones := []byte{255, 255, 255, 255}
	circle := bytes.Clone(tree) // the third reference of the first leaf leads to the second leaf, as one of the root does
	leaf := circle[bytes.Index(circle, []byte("sidx"))+4:]
	leaf = leaf[bytes.Index(leaf, []byte("sidx"))+4+24:]
	size := func(n int) uint32 { return be.Uint32(leaf[12*n:]) }
	be.PutUint32(leaf[12:], size(1)+size(2)+size(3))
	be.PutUint32(leaf[24:], 1<<31|100)
	tests := []struct {
		name    string
		data    []byte
		want    error // nil: a clip
		element string
	}{
		{"untouched", flat, nil, ""},
		{"sidx with timescale 0", patch(flat, "sidx", 0, 8, 0, 0, 0, 0), formats.ErrDamaged, "sidx"},
		{"sidx with 65,535 references", patch(flat, "sidx", 0, 22, 255, 255), formats.ErrDamaged, "sidx"},
		{"sidx with a first offset beyond the file", patch(flat, "sidx", 0, 16, 127, 255, 255, 255), nil, ""}, // then it is searched
		{"sidx of sizes beyond the file", patch(flat, "sidx", 0, 24, 127, 255, 255, 255), nil, ""},            // then it is searched
		{"sidx of durations beyond any medium", patch(flat, "sidx", 0, 28, ones...), nil, ""},
		{"sidx without references", patch(flat, "sidx", 0, 22, 0, 0), nil, ""},                       // then it is searched
		{"sidx that ends inside a fragment", patch(flat, "sidx", 0, 24+2*12, 128, 0, 1, 0), nil, ""}, // as with a tfra that lies, it is searched then
		{"references to what is no index", patch(tree, "sidx", 0, 24, 128, 0, 1, 0), nil, ""},        // then it is searched
		{"index of indices cut off", patch(tree, "sidx", 1, 22, 255, 255), nil, ""},                  // then it is searched
		{"trun count beyond its box", patch(flat, "trun", 8, 4, ones...), formats.ErrDamaged, "trun"},
		{"uniform trun of 2^32 samples", patch(patch(uniform, "trun", 8, 0, 1, 0, 0, 1), "trun", 8, 4, ones...), formats.ErrDamaged, "trun"},
		{"uniform trun of 2^21 samples of 0 bytes", patch(patch(uniform, "trun", 8, 0, 1, 0, 0, 1), "trun", 8, 4, 0, 32, 0, 0), nil, ""},
		{"trun data before the file", patch(flat, "trun", 8, 8, 128, 0, 0, 0), formats.ErrDamaged, "trun"},
		{"trun data beyond the file", patch(flat, "trun", 8, 8, 127, 255, 255, 255), formats.ErrDamaged, ""},
		{"tfdt of 2^63", patch(flat, "tfdt", 8, 4, 127, 255, 255, 255), formats.ErrDamaged, "tfdt"},
		{"tfdt cut off", patch(flat, "tfdt", 8, -8, 0, 0, 0, 8), formats.ErrDamaged, ""},
		{"tfhd cut off", patch(flat, "tfhd", 8, 0, 0, 0, 0, 0x3b), formats.ErrDamaged, "tfhd"},
		{"moof larger than its place", patch(flat, "moof", 4, -8, 0, 255, 0, 0), nil, ""}, // then it is searched
		{"traf larger than its moof", patch(flat, "traf", 8, -8, 0, 255, 0, 0), formats.ErrDamaged, "traf"},
		{"tfra out of order", patch(tail, "tfra", 0, 16, 0, 0, 255, 0), nil, ""},
		{"tfra count beyond its box", patch(tail, "tfra", 0, 12, ones...), nil, ""},
		{"tfra that leads to itself", patch(tail, "tfra", 0, 4*11+16, ones...), nil, ""},
		{"mfro larger than the file", patch(tail, "mfro", 0, 4, ones...), nil, ""},                   // as with a tfra that lies, it is searched then
		{"no fragments", none[:bytes.Index(none, []byte("moof"))-4], formats.ErrUnsupported, "moov"}, // an initialization segment
		{"no fragments but media", append(bytes.Clone(none[:bytes.Index(none, []byte("moof"))-4]), mkbox("mdat", make([]byte, 50))...), formats.ErrDamaged, ""},
		{"fragments cut off", none[:bytes.LastIndex(none, []byte("moof"))+20], nil, ""},
		{"moof of 2^31", patch(none, "moof", 0, -8, 127, 255, 255, 255), formats.ErrDamaged, "moof"},
		{"a box that wraps behind the moov", patch(flat, "sidx", 0, -8, 0, 0, 0, 1), formats.ErrDamaged, ""},
		{"trex cut off", patch(flat, "trex", 0, -8, 0, 0, 0, 12), formats.ErrDamaged, ""},
		{"circle", circle, nil, ""}, // such indices are not believed: the time is looked for
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			floor := fuzzFloor
			if strings.Contains(tt.name, "samples of 0 bytes") { // as many as the limit lets be, of which the file lists none
				floor = 2 << 20 * sampleMemory
			}
			err := planBounded(t, tt.data, floor)
			if tt.want == nil {
				if err != nil {
					t.Fatalf("%v, want a clip", err)
				}
				return
			}
			if !errors.Is(err, tt.want) {
				t.Fatalf("%v, want %v", err, tt.want)
			}
			var e *formats.Error
			if !errors.As(err, &e) {
				t.Fatalf("%v is no *formats.Error", err)
			}
			if e.Container != mp4.Name || !strings.Contains(e.Element, tt.element) || e.Hint == "" {
				t.Errorf("%+v; want the element %q and a hint", e, tt.element)
			}
		})
	}
}

// sampleMemory is what a sample may take in all, in bytes.
const sampleMemory = 180

// TestTruncatedFragments cuts what is there out of a file that ends in the
// middle of a fragment.
func TestTruncatedFragments(t *testing.T) {
	for _, index := range []indexForm{flatIndex, noIndex} {
		f := &fragmentedFile{tracks: []*testTrack{pictures(), tone()}, index: index}
		data := f.build()
		cut := data[:bytes.LastIndex(data, []byte("moof"))-300]
		o := openBuilt(t, cut)
		_, clip := clipOf(t, o, between(4.55, 6.03))
		checkBuilt(t, f, clip, 4.55, 6.03)
		if _, err := o.Plan(t.Context(), between(8.5, 9)); !errors.Is(err, formats.ErrDamaged) && err != nil {
			t.Errorf("%s: %v, want a clip or the place of the damage", index, err)
		}
	}
}

// FuzzFragments opens fragmented files with arbitrary bytes in them, plans and
// reads an interval, and bounds memory and requests.
func FuzzFragments(f *testing.F) {
	for _, index := range []indexForm{flatIndex, treeIndex, chainIndex, seriesIndex, pairsIndex, frontSeries, tailIndex, eachIndex, noIndex} {
		f.Add(fragmentsOf(index, fragmentForm{between: boxesBetween()}), uint16(255), uint16(148))
	}
	f.Add(fragmentsOf(noIndex, fragmentForm{absolute: true, runs: 2, oldTimes: true}), uint16(0), uint16(1000))
	f.Add(fragmentsOf(flatIndex, fragmentForm{apart: true, untimed: true}), uint16(700), uint16(200))
	f.Add(fragmentsOf(noIndex, fragmentForm{untimed: true}), uint16(700), uint16(200))
	f.Add(fragmentsOf(noIndex, fragmentForm{smooth: true}), uint16(700), uint16(200))
	f.Fuzz(func(t *testing.T, data []byte, a, length uint16) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		fuzzFragment(t, data, float64(a)/100, float64(length)/100)
		runtime.ReadMemStats(&after)
		if used, most := after.TotalAlloc-before.TotalAlloc, uint64(fuzzFragmentFloor+fuzzFactor*len(data)); used > most {
			t.Errorf("%d bytes of memory for a file of %d", used, len(data))
		}
	})
}

// fuzzFragmentFloor is what the samples of a run that lists none may take, in
// tables, beside what a file of no bytes takes.
const fuzzFragmentFloor = 256 << 20

func fuzzFragment(t *testing.T, data []byte, a, length float64) {
	source := seektest.New(data)
	o, err := open(t, source)
	if err != nil {
		return
	}
	defer o.Window.Close()
	for _, layout := range []formats.Layout{"", mp4.Fragmented} {
		p, err := o.Plan(t.Context(), formats.Selection{
			Interval: fragment.Between(fragment.FromSeconds(a), fragment.FromSeconds(a+length)), Layout: layout,
		})
		if err != nil {
			continue
		}
		for _, part := range p.Parts {
			if part.Resource != nil && (part.Offset < 0 || part.End() > int64(len(data))) {
				t.Fatalf("a part of bytes %v of a file of %d", part.Range, len(data))
			}
		}
		r := seek.NewReader(t.Context(), p.Parts, o, 0)
		if _, err := r.WriteTo(discard{}); err != nil && !errors.Is(err, formats.ErrDamaged) {
			t.Fatalf("reading the clip: %v", err)
		}
		r.Close()
	}
	if _, err := o.Inspect(t.Context()); err != nil {
		return
	}
	if n := len(source.Requests()); n > 2000 {
		t.Errorf("%d requests", n)
	}
}

// mutate changes some bytes.
func mutate(data []byte, r *rand.Rand) []byte {
	out := bytes.Clone(data)
	for range 1 + r.IntN(4) {
		i := r.IntN(len(out) - 4)
		switch r.IntN(3) {
		case 0:
			out[i] = byte(r.IntN(256))
		case 1:
			out[i] ^= 1 << r.IntN(8)
		case 2:
			be.PutUint32(out[i:], r.Uint32())
		}
	}
	return out
}

// hangs is longer than any file here takes on a busy machine under the race
// detector.
const hangs = time.Minute

// TestMutations reads a few thousand damaged files. None may take long: what
// loops over a number that a file claims shows here.
func TestMutations(t *testing.T) {
	var seeds [][]byte
	for _, index := range []indexForm{flatIndex, treeIndex, chainIndex, seriesIndex, frontSeries, tailIndex, eachIndex, noIndex} {
		seeds = append(seeds, fragmentsOf(index, fragmentForm{between: boxesBetween()}))
	}
	seeds = append(seeds, fragmentsOf(noIndex, fragmentForm{untimed: true}), fragmentsOf(noIndex, fragmentForm{smooth: true}))
	seeds = append(seeds, fragmentsOf(noIndex, fragmentForm{absolute: true, runs: 2}), fragmentsOf(flatIndex, fragmentForm{apart: true, untimed: true}),
		(&testFile{tracks: []*testTrack{reordered(), tone()}}).build())
	r := rand.New(rand.NewPCG(5, 6))
	for range full(5000, 1000) {
		data := mutate(seeds[r.IntN(len(seeds))], r)
		start := time.Now()
		fuzzFragment(t, data, float64(r.IntN(1000))/100, float64(r.IntN(1000))/100)
		fuzzPart(t, data, r.IntN(1000))
		if took := time.Since(start); took > hangs {
			t.Fatalf("%v for a file of %d bytes", took, len(data))
		}
	}
}

// FuzzParts opens arbitrary bytes as a moov that is read in parts, and plans.
func FuzzParts(f *testing.F) {
	for _, film := range []longFilm{{seconds: 40}, {seconds: 40, moovLast: true, depends: true}, {seconds: 40, dense: true, pcm: true}} {
		source, _ := film.build()
		data := make([]byte, min(source.Info.Size, 64<<10))
		if _, err := source.Content.ReadAt(data, max(0, source.Info.Size-int64(len(data)))*int64(boolToInt(film.moovLast))); err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint16(2000))
	}
	f.Add((&testFile{tracks: []*testTrack{reordered(), tone()}}).build(), uint16(255))
	f.Fuzz(func(t *testing.T, data []byte, a uint16) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		fuzzPart(t, data, int(a))
		runtime.ReadMemStats(&after)
		if used, most := after.TotalAlloc-before.TotalAlloc, uint64(fuzzFragmentFloor+fuzzFactor*len(data)); used > most {
			t.Errorf("%d bytes of memory for a file of %d", used, len(data))
		}
	})
}

// fuzzPart opens a file in parts and plans from so many hundredths of a second
// on.
func fuzzPart(t *testing.T, data []byte, a int) {
	w := seek.NewWindow(t.Context(), seektest.New(data), 0)
	defer w.Close()
	m, err := mp4.Format{}.Open(t.Context(), w, formats.Env{Limits: formats.Limits{Whole: 1}})
	if err != nil {
		return
	}
	p, err := m.Plan(t.Context(), between(float64(a)/100, float64(a)/100+1.5))
	if err != nil {
		return
	}
	for _, part := range p.Parts {
		if part.Resource != nil && (part.Offset < 0 || part.End() > int64(len(data))) {
			t.Fatalf("a part of bytes %v of a file of %d", part.Range, len(data))
		}
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
