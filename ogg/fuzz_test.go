package ogg

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

func FuzzPages(f *testing.F) {
	for _, data := range samplePages(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := scanPages(data, 0, true)
		at := int64(0)
		for _, p := range s.pages {
			if p.off < at || p.end() > int64(len(data)) {
				t.Fatalf("page at %d to %d after %d of %d", p.off, p.end(), at, len(data))
			}
			at = p.end()
			if raw := appendPage(nil, p.flags, p.granule, p.serial, p.seq, p.lacing, p.body); !bytes.Equal(raw, data[p.off:p.end()]) {
				t.Fatalf("page at %d comes back otherwise", p.off)
			}
		}
	})
}

func FuzzAssembler(f *testing.F) {
	for _, data := range samplePages(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a := &assembler{limit: 1 << 16}
		for _, p := range scanPages(data, 0, true).pages {
			packets, _ := a.add(&p)
			for _, q := range packets {
				if len(q.data) > a.limit+maxBody {
					t.Fatalf("a packet of %d bytes", len(q.data))
				}
			}
			if len(a.partial) > a.limit {
				t.Fatalf("%d bytes are held", len(a.partial))
			}
		}
	})
}

// FuzzHeaders feeds header packets, separated by their lengths, to the mapping
// that the first chooses; then packets and granule positions.
func FuzzHeaders(f *testing.F) {
	for _, data := range samplePages(f) {
		joins := map[uint32]*assembler{}
		packets := map[uint32][][]byte{}
		for _, p := range scanPages(data, 0, true).pages {
			if joins[p.serial] == nil {
				joins[p.serial] = &assembler{limit: maxPacket}
			}
			all, _ := joins[p.serial].add(&p)
			for _, q := range all {
				packets[p.serial] = append(packets[p.serial], q.data)
			}
		}
		for _, list := range packets {
			for len(list) < 4 {
				list = append(list, nil)
			}
			f.Add(list[0], list[1], list[2], list[3], int64(12345))
		}
	}
	f.Fuzz(func(t *testing.T, a, b, c, d []byte, g int64) {
		m, err := newMapping(a)
		if err != nil {
			return
		}
		for i, p := range [][]byte{b, c} {
			if more, err := m.header(i+1, p, m); err != nil || !more {
				break
			}
		}
		if n := m.length(d); n < 0 {
			t.Fatalf("a packet of %d ticks", n)
		}
		m.key(d)
		if p, ok := m.position(g); ok {
			m.time(p.end)
			m.granule(p)
		}
		kateShift(d, g, g)
		(&skeleton{}).add(d)
	})
}

// FuzzOpen opens and cuts whatever it is given: it ends in a clip or in an error
// of the contract, within bounds of memory and requests.
func FuzzOpen(f *testing.F) {
	for _, data := range samplePages(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := openAndCut(t, data); err != nil && !contractual(err) {
			t.Fatal(err)
		}
	})
}

func contractual(err error) bool {
	var e *formats.Error
	return errors.As(err, &e) || errors.Is(err, formats.ErrPastEnd) || errors.Is(err, formats.ErrNothing) || errors.Is(err, seek.ErrLimit) || errors.Is(err, formats.ErrNoTrack)
}

// openAndCut opens data and cuts the second half of it. It fails the test where
// that takes too many requests or too much memory.
func openAndCut(t *testing.T, data []byte) error {
	t.Helper()
	ctx := context.Background()
	source := seektest.New(data)
	w := seek.NewWindow(ctx, source, 0)
	defer w.Close()
	w.Prefetch(seek.Request{Range: seek.Suffix(tailChunk), Purpose: seek.Tail})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	defer func() {
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 256<<20+64*uint64(len(data)) {
			t.Errorf("%d bytes were allocated for a resource of %d", used, len(data))
		}
		if n := len(source.Requests()); n > 400 {
			t.Errorf("%d requests", n)
		}
	}()
	m, err := Format{}.Open(ctx, w, formats.Env{})
	if err != nil {
		return err
	}
	info, err := m.Inspect(ctx)
	if err != nil {
		return err
	}
	p, err := m.Plan(ctx, formats.Selection{Interval: fragment.From(info.Duration.Sub(fragment.FromSeconds(0.5)).Max(fragment.Time{}))})
	if err != nil {
		return err
	}
	r := seek.NewReader(ctx, p.Parts, source, 0)
	defer r.Close()
	_, err = r.WriteTo(discard{})
	return err
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// TestHostile: resources made to cost. Each ends in an error of the contract, or
// in a clip, within the bounds of openAndCut.
func TestHostile(t *testing.T) {
	vorbis := samplePages(t)["vorbis.ogg"]
	var million []byte
	for n := range uint32(20_000) {
		million = appendPage(million, flagBOS, 0, n, 0, []byte{1}, []byte{0})
	}
	lying := bytes.Clone(vorbis)
	relay := func(change func(p *page)) []byte {
		var out []byte
		for _, p := range scanPages(lying, 0, true).pages {
			change(&p)
			out = appendPage(out, p.flags, p.granule, p.serial, p.seq, p.lacing, p.body)
		}
		return out
	}
	tests := []struct {
		name string
		data []byte
		want error // nil: a clip or an error of the contract
	}{
		{"empty", nil, formats.ErrDamaged},
		{"not Ogg", bytes.Repeat([]byte("x"), 1<<20), formats.ErrDamaged},
		{"a million first pages", million, seek.ErrLimit},
		{"headers alone", vorbis[:scanPages(vorbis, 0, true).pages[2].off], nil},
		{"granule 2^63-1", relay(func(p *page) {
			if p.granule > 0 {
				p.granule = 1<<63 - 1
			}
		}), nil},
		{"granules that fall", relay(func(p *page) { p.granule = -p.granule }), nil},
		{"no granules", relay(func(p *page) {
			if p.seq > 1 {
				p.granule = noGranule
			}
		}), nil},
		{"the same page for ever", append(bytes.Clone(vorbis), bytes.Repeat(vorbis[len(vorbis)-500:], 1000)...), nil},
		{"headers that never end", relay(func(p *page) {
			if p.seq == 1 {
				p.lacing = bytes.Repeat([]byte{255}, len(p.lacing))
				p.body = make([]byte, 255*len(p.lacing))
			}
		}), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := openAndCut(t, tt.data)
			if err != nil && !contractual(err) || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}
