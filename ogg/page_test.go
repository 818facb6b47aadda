package ogg

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// samplePages returns the files of testdata, each with its pages.
func samplePages(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.og*")
	more, _ := filepath.Glob("testdata/*.[so]p*")
	if err != nil || len(paths) == 0 {
		t.Fatal("no testdata")
	}
	out := map[string][]byte{}
	for _, p := range append(paths, more...) {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(p)] = data
	}
	return out
}

// Files of other programs are read as pages from end to end, with the checksums
// that those programs wrote, and are written again as they were.
func TestPagesRoundTrip(t *testing.T) {
	for name, data := range samplePages(t) {
		s := scanPages(data, 0, true)
		if len(s.damage) > 0 || s.rest != int64(len(data)) {
			t.Errorf("%s: %v, up to %d of %d", name, s.damage, s.rest, len(data))
		}
		var again []byte
		for _, p := range s.pages {
			again = appendPage(again, p.flags, p.granule, p.serial, p.seq, p.lacing, p.body)
		}
		if !bytes.Equal(again, data) {
			t.Errorf("%s: written again it differs", name)
		}
	}
}

// After damage the next page is found by its capture pattern and its checksum,
// and the damage is stated by its bytes.
func TestResync(t *testing.T) {
	data := samplePages(t)["vorbis.ogg"]
	whole := scanPages(data, 0, true).pages
	third := whole[2]
	flipped := bytes.Clone(data)
	flipped[third.end()-1] ^= 1
	tests := []struct {
		name  string
		data  []byte
		pages int
		from  int64
		bytes int64
	}{
		{"garbage in front", append([]byte("garbageOggSgarbage"), data...), len(whole), 0, 18},
		{"hole", append(bytes.Clone(data[:third.off]), data[third.off+10:]...), len(whole) - 1, third.off, third.size() - 10},
		{"wrong checksum", flipped, len(whole) - 1, third.off, third.size()},
		{"garbage between", append(append(bytes.Clone(data[:third.off]), make([]byte, 999)...), data[third.off:]...), len(whole), third.off, 999},
	}
	for _, tt := range tests {
		s := scanPages(tt.data, 0, true)
		if len(s.pages) != tt.pages || len(s.damage) != 1 || s.damage[0].off != tt.from || s.damage[0].end-s.damage[0].off != tt.bytes {
			t.Errorf("%s: %d pages, damage %v; want %d pages and %d bytes of damage at %d", tt.name, len(s.pages), s.damage, tt.pages, tt.bytes, tt.from)
		}
	}
}

// Bytes that look like thousands of pages cost no more than reading them a few
// times, with or without a page among them.
func TestScanIsBounded(t *testing.T) {
	small := appendPage(nil, 0, 1, 1, 0, []byte{3}, []byte("abc"))
	for name, unit := range map[string][]byte{
		"no page":       append([]byte("OggS\x00\x00"), bytes.Repeat([]byte{0xff}, 40)...),
		"valid between": append(append([]byte("OggS\x00\x00"), bytes.Repeat([]byte{0xff}, 40)...), small...),
		"valid":         small,
	} {
		data := bytes.Repeat(unit, (1<<20)/len(unit))
		s := scanPages(data, 0, true)
		if most := checkFactor*len(data) + 3*maxPage; s.checked > most || s.checked == 0 {
			t.Errorf("%s: the checksums of %d bytes were computed for %d", name, s.checked, len(data))
		}
		if want := len(data) / len(small); name == "valid" && len(s.pages) != want {
			t.Errorf("%d pages, want %d", len(s.pages), want)
		}
	}
}

// Packets of any size come back as they were laid, whatever pages they need.
func TestLacing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, sizes := range [][]int{{0}, {1, 254, 255, 256}, {510, 65025, 65026}, {200000, 0, 3}, {255 * 255, 255*255 - 1}, {1 << 20}} {
		var want [][]byte
		w := &pageWriter{serial: 5}
		var raw []byte
		for i, n := range sizes {
			want = append(want, noise(r, n, 0)[:n:n])
			raw = w.add(raw, piece{data: want[i], begins: true, ends: true}, int64(i))
		}
		raw = w.flush(raw, int64(len(sizes)), flagEOS)
		a := &assembler{limit: maxPacket}
		var got [][]byte
		for i, p := range scanPages(raw, 0, true).pages {
			if p.seq != uint32(i) {
				t.Fatalf("%v: page %d has number %d", sizes, i, p.seq)
			}
			packets, gap := a.add(&p)
			if gap {
				t.Errorf("%v: a gap before page %d", sizes, i)
			}
			for _, q := range packets {
				got = append(got, q.data)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%v: %d packets, want %d", sizes, len(got), len(want))
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("%v: packet %d differs", sizes, i)
			}
		}
	}
}
