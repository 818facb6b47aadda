package webm_test

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/mediatest"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
	"github.com/mediafrag/mediafrag/webm"
)

// head is the beginning of a file: EBML header and a Segment of unknown size.
func head(body ...[]byte) []byte {
	h := el(0x1A45DFA3, el(0x4282, []byte("webm")))
	return slices.Concat(h, id(0x18538067), size(-1, 8), bytes.Join(body, nil))
}

// huge is the header of an element that claims more than there is.
func huge(v uint32, n int64) []byte { return append(id(v), size(n, 8)...) }

var (
	anInfo  = el(0x1549A966, num(0x2AD7B1, 1e6))
	aTrack  = el(0xAE, num(0xD7, 1), num(0x83, 1), el(0x86, []byte("V_VP8")))
	aSound  = el(0xAE, num(0xD7, 2), num(0x83, 2), el(0x86, []byte("A_VORBIS")))
	aTracks = el(0x1654AE6B, aTrack, aSound)
)

func aBlock(track, flags byte, payload ...byte) []byte {
	return el(0xA3, append([]byte{0x80 | track, 0, 0, flags}, payload...))
}

// TestHostile opens and plans files that lie. Each ends in a typed error that
// names the element, or in a clip of what is there.
func TestHostile(t *testing.T) {
	good := film{seconds: 10}.write().data
	cluster := el(0x1F43B675, num(0xE7, 0), aBlock(1, 0x80, 0, 0, 0, 0))
	tests := []struct {
		name    string
		data    []byte
		want    error // nil: a clip
		element string
	}{
		{"untouched", good, nil, ""},
		{"nothing", nil, formats.ErrDamaged, "EBML"},
		{"header alone", good[:40], formats.ErrDamaged, "Segment"},
		{"cut off in the tracks", good[:150], formats.ErrDamaged, "Segment"},
		{"cut off in the media", good[:len(good)/2], nil, ""},
		{"cut off in the interval", good[:len(good)/4], nil, ""},
		{"another DocType", el(0x1A45DFA3, el(0x4282, []byte("mine"))), formats.ErrUnsupported, "EBML/DocType"},
		{"IDs of 200 bytes", el(0x1A45DFA3, num(0x42F2, 200), el(0x4282, []byte("webm"))), formats.ErrUnsupported, "EBML"},
		{"header of 2^40 bytes", huge(0x1A45DFA3, 1<<40), formats.ErrDamaged, "EBML"},
		{"no Segment", el(0x1A45DFA3, el(0x4282, []byte("webm"))), formats.ErrDamaged, "Segment"},
		{"no Tracks", head(anInfo, cluster), formats.ErrDamaged, "Tracks"},
		{"empty Tracks", head(anInfo, el(0x1654AE6B), cluster), formats.ErrDamaged, "Tracks"},
		{"Tracks of 2^50 bytes", head(anInfo, huge(0x1654AE6B, 1<<50)), seek.ErrLimit, "Tracks"},
		{"Tracks of 100 MB in a small file", head(anInfo, huge(0x1654AE6B, 60<<20), aTrack), formats.ErrDamaged, "Tracks"},
		{"allocation bomb of 71 bytes", head(anInfo, el(0x1654AE6B, append(id(0xAE), size(20, 8)...), huge(0x63A2, 120<<20))), formats.ErrDamaged, "Track"},
		{"track number twice", head(anInfo, el(0x1654AE6B, aTrack, aTrack), cluster), formats.ErrDamaged, "TrackEntry"},
		{"child larger than its parent", head(anInfo, el(0x1654AE6B, append(id(0xAE), size(60, 1)...)), cluster), formats.ErrDamaged, "Tracks"},
		{"TimestampScale 0", head(el(0x1549A966, num(0x2AD7B1, 0)), aTracks, cluster), formats.ErrDamaged, "TimestampScale"},
		{"TimestampScale 2^60", head(el(0x1549A966, num(0x2AD7B1, 1<<60)), aTracks, cluster), formats.ErrDamaged, "TimestampScale"},
		{"Duration NaN", head(el(0x1549A966, el(0x4489, bytes.Repeat([]byte{0xFF}, 8))), aTracks, cluster), nil, ""},
		{"no Cluster", head(anInfo, aTracks), formats.ErrDamaged, "Segment"},
		{"Cluster of 2^50 bytes", head(anInfo, aTracks, huge(0x1F43B675, 1<<50), num(0xE7, 0), aBlock(1, 0x80, 0, 0)), nil, ""},
		{"Timestamp 2^64-1", head(anInfo, aTracks, el(0x1F43B675, num(0xE7, 1<<64-1), aBlock(1, 0x80, 0, 0))), nil, ""},
		{"block runs over its cluster", head(anInfo, aTracks, el(0x1F43B675, num(0xE7, 0), huge(0xA3, 1<<40))), formats.ErrDamaged, "Cluster"},
		{"block without a header", head(anInfo, aTracks, el(0x1F43B675, num(0xE7, 0), el(0xA3))), formats.ErrDamaged, "SimpleBlock"},
		{"group without a block", head(anInfo, aTracks, el(0x1F43B675, num(0xE7, 0), el(0xA0))), formats.ErrDamaged, "BlockGroup"},
		{"lacing that overruns", head(anInfo, el(0x1654AE6B, aSound), el(0x1F43B675, num(0xE7, 0), aBlock(2, 0x82, 200, 255, 255))), formats.ErrDamaged, "Cluster"},
		{"EBML lacing below 0", head(anInfo, el(0x1654AE6B, aSound), el(0x1F43B675, num(0xE7, 0), aBlock(2, 0x86, 2, 0x81, 0x80, 0, 0))), formats.ErrDamaged, "Cluster"},
		{"fixed lacing that does not divide", head(anInfo, el(0x1654AE6B, aSound), el(0x1F43B675, num(0xE7, 0), aBlock(2, 0x84, 2, 0, 0))), formats.ErrDamaged, "Cluster"},
		{"encrypted block", head(anInfo, aTracks, el(0x1F43B675, num(0xE7, 0), el(0xAF, []byte{0x81, 0, 0, 0}))), formats.ErrUnsupported, "EncryptedBlock"},
		{"cues outside the file", head(anInfo, aTracks, el(0x1C53BB6B, el(0xBB, num(0xB3, 0), el(0xB7, num(0xF7, 1), num(0xF1, 1<<60)))), cluster), nil, ""},
		{"cues cut off", head(anInfo, aTracks, cluster, huge(0x1C53BB6B, 1000)), nil, ""},
		{"seek heads in a ring", head(el(0x114D9B74, seekTo(0x114D9B74, 0)), anInfo, aTracks, cluster), nil, ""},
		{"10,000 seek entries", head(el(0x114D9B74, bytes.Repeat(seekTo(0x1C53BB6B, 5), 1000)), anInfo, aTracks, cluster), nil, ""},
		{"unknown size of a TrackEntry", head(anInfo, el(0x1654AE6B, append(id(0xAE), 0xFF), num(0xD7, 1)), cluster), nil, ""},
		{"600,000 blocks", head(anInfo, aTracks, el(0x1F43B675, num(0xE7, 0), bytes.Repeat(aBlock(2, 0x80), 600_000))), seek.ErrLimit, "Cluster"},
		{"a media segment alone", cluster, formats.ErrUnsupported, "Cluster"},
		{"an index segment alone", el(0x1C53BB6B), formats.ErrUnsupported, "Cues"},
		{"zeros", make([]byte, 4096), formats.ErrDamaged, "EBML"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := openAndRead(t, tt.data)
			mediatest.Refusal{Err: tt.want, Container: "webm", Element: tt.element, Size: int64(len(tt.data))}.Check(t, err)
		})
	}
}

// openAndRead opens data, plans [0.01, 4) of it and reads the clip.
func openAndRead(t testing.TB, data []byte) error {
	t.Helper()
	o, err := open(t, seektest.New(data), formats.Env{})
	if err != nil {
		return err
	}
	if _, err := o.Inspect(t.Context()); err != nil {
		return err
	}
	plan, err := o.Plan(t.Context(), seconds(0, 4))
	if err != nil {
		return err
	}
	o.Read(t, plan)
	return nil
}

// chains are inputs that make a careless search for blocks look at each byte as
// often as there are bytes.
func chains() map[string][]byte {
	n := 1 << 20
	return map[string][]byte{
		"void elements": head(anInfo, aTracks, el(0x1F43B675, num(0xE7, 0), bytes.Repeat([]byte{0xEC, 0x80}, n/2))),
		"empty blocks":  head(anInfo, aTracks, el(0x1F43B675, num(0xE7, 0), bytes.Repeat(aBlock(2, 0x80), n/6))),
		"clusters":      head(anInfo, aTracks, bytes.Repeat(el(0x1F43B675, num(0xE7, 0)), n/8)),
		"nested sizes":  head(anInfo, aTracks, bytes.Repeat(huge(0x1F43B675, 1<<40), n/12)),
		"tags":          head(anInfo, aTracks, el(0x1F43B675, num(0xE7, 0)), bytes.Repeat(el(0x1254C367), n/5)),
		"laces of 256":  head(anInfo, aTracks, el(0x1F43B675, num(0xE7, 0), bytes.Repeat(aBlock(2, 0x82, append([]byte{255}, make([]byte, 255)...)...), n/262))),
		"empty points":  head(anInfo, aTracks, el(0x1C53BB6B, el(0xBB, num(0xB3, 0), bytes.Repeat([]byte{0xB7, 0x80}, n/2))), el(0x1F43B675, num(0xE7, 0), aBlock(1, 0x80, 0, 0))),
	}
}

// hangs is longer than anything here takes on a busy machine under the race
// detector; what grows with the square takes longer.
const hangs = time.Minute

// TestBounded holds hostile files to little memory, time and few requests.
func TestBounded(t *testing.T) {
	for name, data := range chains() {
		t.Run(name, func(t *testing.T) {
			src := seektest.New(data)
			began := time.Now()
			grown := allocated(func() {
				if o, err := open(t, src, formats.Env{}); err == nil {
					o.Inspect(t.Context())
					o.Plan(t.Context(), seconds(1, 2))
				}
			})
			if took := time.Since(began); took > hangs {
				t.Errorf("it took %v", took)
			}
			if grown > fuzzFactor*int64(len(data))+fuzzFloor {
				t.Errorf("%d bytes were allocated for %d", grown, len(data))
			}
			if n := len(src.Requests()); n > 200 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// allocated is how many bytes f allocates.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// Bounds on what a hostile file may cost: memory in bytes for each byte of it,
// and at least.
const (
	fuzzFactor = 400
	fuzzFloor  = 8 << 20
)

// FuzzOpen opens arbitrary bytes, plans an interval and checks that the clip is
// made of bytes that exist and that nothing grows beyond what the file holds.
func FuzzOpen(f *testing.F) {
	for _, l := range layouts {
		l.film.seconds = 3
		l.film.bytes = 40
		l.film.front, l.film.end, l.film.after = nil, nil, nil
		if data := l.film.write().data; len(data) < 60<<10 {
			f.Add(data, uint16(100), uint16(300))
		}
	}
	f.Add(head(anInfo, aTracks, el(0x1F43B675, num(0xE7, 0), aBlock(2, 0x82, 1, 2, 3, 4, 5))), uint16(0), uint16(50))
	for _, one := range []film{{}, {index: "none"}, live(film{index: "none", heads: "none"})} { // over a boundary, and behind one
		r := rowOf(one.of(2, 40), one.of(3, 30), one.of(2, 50))
		f.Add(r.whole.data, uint16(150), uint16(400))
		f.Add(r.whole.data, uint16(300), uint16(100))
	}
	tiny := el(0x18538067, anInfo, aTracks, el(0x1F43B675, num(0xE7, 0), aBlock(1, 0x80, 0)))
	f.Add(slices.Concat(el(0x1A45DFA3, el(0x4282, []byte("webm"))), bytes.Repeat(tiny, 300)), uint16(0), uint16(9999))
	kept, err := filepath.Glob(filepath.Join("..", "testdata", "matroska", "*-*.*"))
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range kept {
		f.Add(mustRead(f, path), uint16(0), uint16(5))
	}
	f.Fuzz(func(t *testing.T, data []byte, from, length uint16) {
		a := float64(from) / 100
		grown := allocated(func() {
			src := seektest.New(data)
			w := seek.NewWindow(t.Context(), src, 0)
			defer w.Close()
			m, err := webm.Format{}.Open(t.Context(), w, formats.Env{})
			if err != nil {
				return
			}
			m.Info()
			m.Inspect(t.Context())
			plan, err := m.Plan(t.Context(), seconds(a, a+float64(length+1)/100))
			if err != nil {
				return
			}
			for _, p := range plan.Parts {
				if p.Resource != nil && (p.Offset < 0 || p.Length < 0 || p.End() > int64(len(data))) {
					t.Fatalf("a part of %v of %d bytes", p.Range, len(data))
				}
			}
			r := seek.NewReader(t.Context(), plan.Parts, seek.OpenerFunc(func(context.Context, string) (seek.Source, error) { return w, nil }), 0)
			defer r.Close()
			if n, err := io.Copy(io.Discard, r); err == nil && plan.Size >= 0 && n != plan.Size {
				t.Fatalf("%d bytes, planned %d", n, plan.Size)
			}
		})
		if grown > fuzzFactor*int64(len(data))+4*fuzzFloor {
			t.Errorf("%d bytes were allocated for %d", grown, len(data))
		}
	})
}

// FuzzRewrite rewrites arbitrary bytes: lengths stay as they are, and what is
// read from the middle on is what was read from the beginning.
func FuzzRewrite(f *testing.F) {
	data := film{seconds: 2, bytes: 40, positions: true, groups: true}.write()
	f.Add(data.data[data.clusters[0]:], int64(-5), uint16(100))
	f.Fuzz(func(t *testing.T, data []byte, shift int64, off uint16) {
		r := webm.Rewrite{Shift: shift, IDLength: 4, SizeLength: 8, Tracks: []webm.TrackRewrite{{Number: 1, Shift: 3, To: 200}, {Number: 2, From: 100}}}
		whole, err := rewriteAll(t, r, data, 0)
		if err != nil {
			return
		}
		if len(whole) != len(data) {
			t.Fatalf("%d bytes of %d", len(whole), len(data))
		}
		at := min(int(off), len(data))
		if rest, err := rewriteAll(t, r, data, int64(at)); err != nil || !bytes.Equal(rest, whole[at:]) {
			t.Fatalf("from %d on it is another: %v", at, err)
		}
	})
}

type memory []byte

func (m memory) Size() int64 { return int64(len(m)) }

func (m memory) Open(_ context.Context, off, n int64) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(m[off:])), nil
}

func (m memory) Damaged(int64, string) {}

func (m memory) OpenSource(context.Context, string) (seek.Source, error) {
	return nil, seek.ErrNotFound
}

func rewriteAll(t *testing.T, r webm.Rewrite, data []byte, off int64) ([]byte, error) {
	body, err := r.Rewrite(t.Context(), memory(data), off)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}
