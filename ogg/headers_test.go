package ogg

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

// relaid lays a stream's packets anew: each group of them on pages of its own,
// which have the granule position of the page on which the last of them ended.
func relaid(t *testing.T, data []byte, groups func(n int) bool, change func(n int, packet []byte) []byte) []byte {
	t.Helper()
	var out []byte
	var w *pageWriter
	join, n := assembler{limit: maxPacket}, 0
	for _, p := range scanPages(data, 0, true).pages {
		if w == nil {
			w = &pageWriter{serial: p.serial, granule: noGranule}
		}
		packets, _ := join.add(&p)
		for i, q := range packets {
			out = w.add(out, piece{data: change(n, q.data), begins: true, ends: true}, noGranule)
			last := i == len(packets)-1
			if n == 0 {
				out = w.flush(out, 0, flagBOS)
			} else if groups(n) && last {
				out = w.flush(out, p.granule, p.flags&flagEOS)
			}
			n++
		}
	}
	return out
}

func mustOpenMedia(t *testing.T, data []byte) (*media, *seektest.Source) {
	t.Helper()
	source := seektest.New(data)
	w := seek.NewWindow(t.Context(), source, 0)
	t.Cleanup(func() { w.Close() })
	w.Prefetch(seek.Request{Range: seek.Suffix(tailChunk), Purpose: seek.Tail})
	m, err := Format{}.Open(t.Context(), w, formats.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return m.(*media), source
}

// TestSharedPage: a page may hold the end of the headers and the first data, as
// old encoders wrote it. Then the first data counts.
func TestSharedPage(t *testing.T) {
	for _, name := range []string{"vorbis.ogg", "speex.spx"} {
		data := samplePages(t)[name]
		same := func(_ int, p []byte) []byte { return p }
		headers := map[string]int{"vorbis.ogg": 3, "speex.spx": 2}[name]
		shared := relaid(t, data, func(n int) bool { return n >= headers }, same)
		want, _ := mustOpenMedia(t, data)
		got, _ := mustOpenMedia(t, shared)
		if w, g := want.Info(), got.Info(); !w.StartTime.Equal(g.StartTime) || !w.Duration.Equal(g.Duration) {
			t.Errorf("%s: %v from %v, want %v from %v", name, g.Duration, g.StartTime, w.Duration, w.StartTime)
		}
		if l := got.links().links[0]; l.headers <= l.data {
			t.Errorf("%s: the headers end at %d, before data at %d", name, l.headers, l.data)
		}
	}
}

// TestLongComments: pictures in the comments are read at once.
func TestLongComments(t *testing.T) {
	long := relaid(t, samplePages(t)["opus.opus"], func(int) bool { return true }, func(n int, p []byte) []byte {
		if n != 1 {
			return p
		}
		p = binary.LittleEndian.AppendUint32([]byte("OpusTags"), 4)
		p = append(p, "test"...)
		p = binary.LittleEndian.AppendUint32(p, 2)
		for _, c := range []string{"TITLE=x", "METADATA_BLOCK_PICTURE=" + strings.Repeat("A", 700_000)} {
			p = binary.LittleEndian.AppendUint32(p, uint32(len(c)))
			p = append(p, c...)
		}
		return p
	})
	m, source := mustOpenMedia(t, long)
	if m.links().links[0].title() != "x" {
		t.Error("the comments are not there")
	}
	index := 0
	for _, r := range source.Requests() {
		if r.Purpose == seek.Index {
			index++
		}
	}
	if index != 1 {
		t.Errorf("%d requests for headers, want 1", index)
	}
}

// TestLateFirstPage: where the first page of a stream comes long after those of
// another, it is found by ever larger steps.
func TestLateFirstPage(t *testing.T) {
	late := scanPages(samplePages(t)["speex.spx"], 0, true).pages
	early := scanPages(samplePages(t)["vorbis.ogg"], 0, true).pages
	var data []byte
	put := func(serial uint32, p page) {
		data = appendPage(data, p.flags, p.granule, serial, p.seq, p.lacing, p.body)
	}
	put(1, early[0])
	put(2, late[0])
	put(2, late[1])
	for i := 1; early[i-1].granule <= 0; i++ {
		put(1, early[i])
	}
	filler := pageWriter{serial: 1, seq: 100, granule: noGranule}
	for range 12 {
		data = filler.add(data, piece{data: make([]byte, 60<<10), begins: true, ends: true}, noGranule)
		data = filler.flush(data, noGranule, 0)
	}
	for _, p := range late[2:] {
		put(2, p)
	}
	m, source := mustOpenMedia(t, data)
	if s := m.links().links[0].streams; len(s) != 2 || !s[0].begun || !s[1].begun {
		t.Error("a stream's first page was not found")
	}
	index := 0
	for _, r := range source.Requests() {
		if r.Purpose == seek.Index {
			index++
		}
	}
	if index > 5 {
		t.Errorf("%d requests for headers, want 5 at most", index)
	}
}

// TestEmptyLink: headers without data, and then the same stream again, take no
// time of the whole.
func TestEmptyLink(t *testing.T) {
	data := samplePages(t)["opus.opus"]
	pages := scanPages(data, 0, true).pages
	m, _ := mustOpenMedia(t, slices.Concat(data[:pages[2].off], data))
	want, _ := mustOpenMedia(t, data)
	if got := m.Info(); !got.Timed || !got.Duration.Equal(want.Info().Duration) {
		t.Errorf("%v (known: %v), want %v", got.Duration, got.Timed, want.Info().Duration)
	}
}

// TestOriginalPreSkip: where granule positions are kept the pre-skip stays, so
// that so much more must be carried before the interval.
func TestOriginalPreSkip(t *testing.T) {
	const skip = 65535
	data := relaid(t, samplePages(t)["opus.opus"], func(int) bool { return true }, func(n int, p []byte) []byte {
		if p = bytes.Clone(p); n == 0 {
			binary.LittleEndian.PutUint16(p[10:], skip)
		}
		return p
	})
	m, _ := mustOpenMedia(t, data)
	s := formats.Selection{Interval: fragment.Between(fragment.FromSeconds(0.05), fragment.FromSeconds(0.1)), Timeline: formats.Original}
	p, err := m.Plan(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if s.Interval.Start.Less(p.Presented.Start) {
		t.Errorf("presented from %v on, want %v", p.Presented.Start, s.Interval.Start)
	}
}
