package ogg

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

// packetTimes returns when each packet of a file's first stream presents, in
// ticks from the time 0 of what is shown. Packets must differ.
func packetTimes(t *testing.T, data []byte) map[string]int64 {
	t.Helper()
	o := over(t, seektest.New(data), formats.Env{})
	if _, err := o.Inspect(t.Context()); err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	var base int64
	for _, l := range o.Media.(*media).links().links {
		s := l.streams[0]
		line := newTimeline(s, true)
		for _, p := range scanPages(data[l.data:l.end], l.data, false).pages {
			if p.serial != s.serial {
				continue
			}
			for _, q := range line.add(&p) {
				out[string(q.data)] = base + q.from - s.begin
			}
		}
		base += s.finish - s.begin
	}
	return out
}

// Damage in what an interval needs is passed over, with a warning that states
// its first byte, and what is left has the times that it had.
func TestDamagedPages(t *testing.T) {
	data := steady(60, 1, 8000)
	times := packetTimes(t, data)
	pages := scanPages(data, 0, true).pages
	bos, p, next := pages[0], pages[2+20], pages[2+21] // two headers; the page of [20, 21) and the next
	cat := func(parts ...[]byte) []byte { return slices.Concat(parts...) }
	raw := func(p page) []byte { return data[p.off:p.end()] }
	flipped := bytes.Clone(data)
	flipped[p.off+200] ^= 1
	stray := appendPage(nil, 0, 1, 99, 0, []byte{3}, []byte("abc"))
	second := withSerials(steady(30, 2, 8000), 1)
	junk := bytes.Repeat([]byte("junk"), 300)
	tests := []struct {
		name string
		data []byte
		a, b float64
		at   int64 // a warning names this byte; -1: nothing is lost
		most int   // packets that may be missing
	}{
		{"garbage in front", cat(junk, data), 0, 2, 0, 0},
		{"ID3 in front", cat([]byte("ID3\x04\x00\x00\x00\x00\x00\x7f"), make([]byte, 127), data), 0, 2, 0, 0},
		{"garbage between pages", cat(data[:p.off], junk, data[p.off:]), 21.3, 25, p.off, 0},
		{"padding between pages", cat(data[:p.off], make([]byte, 999), data[p.off:]), 21.3, 25, p.off, 0},
		{"a page is missing", cat(data[:p.off], data[p.end():]), 21.3, 25, p.off, 50},
		{"a page with a bad checksum", flipped, 21.3, 25, p.off, 50},
		{"lost sync", cat(data[:p.off+50], data[p.off+90:]), 21.3, 25, p.off, 50},
		{"lost sync at the end of the interval", cat(data[:p.off+50], data[p.off+90:]), 15, 20.5, p.off, 50},
		{"a page twice", cat(data[:p.end()], raw(p), data[p.end():]), 21.3, 25, p.end(), 0},
		{"two pages in the wrong order", cat(data[:p.off], raw(next), raw(p), data[next.end():]), 21.3, 25, p.off + next.size(), 100},
		{"a page of another stream", cat(data[:p.off], stray, data[p.off:]), 21.3, 25, -1, 0},
		{"data behind the end", cat(data, raw(p)), 55, 60, int64(len(data)), 1},
		{"bytes between links", cat(data, junk, second), 58, 63, int64(len(data)), 0},
		{"the first page twice", cat(raw(bos), data), 21.3, 25, -1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all := times
			if tt.name == "bytes between links" {
				all = packetTimes(t, cat(data, second))
			}
			o := over(t, seektest.New(tt.data), formats.Env{})
			plan, err := o.Plan(t.Context(), formats.Selection{Interval: part(tt.a, tt.b)})
			if err != nil {
				t.Fatal(err)
			}
			zero := plan.Presented.Start.Round(opusRate)
			if d := zero - part(tt.a, tt.b).Start.Round(opusRate); d < 0 || d > int64(tt.most)*960 {
				t.Errorf("presented from %s on, want %g", plan.Presented.Start, tt.a)
			}
			seen := 0
			r := seek.NewReader(t.Context(), plan.Parts, o, 0)
			defer r.Close()
			clip, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			for q, at := range packetTimes(t, clip) {
				want, known := all[q]
				if !known {
					t.Errorf("a packet at %d that is none of the original", at)
				} else if want != at+zero {
					t.Errorf("a packet at %d is shown at %d", want, at+zero)
				}
				if want >= zero && want < int64(tt.b*opusRate) {
					seen++
				}
			}
			if least := int((tt.b-tt.a)*50) - tt.most; seen < least {
				t.Errorf("%d packets of the interval, want at least %d", seen, least)
			}
			text := warningsOf(plan.Warnings) + fmt.Sprintln(r.Damage())
			if tt.at >= 0 && !strings.Contains(text, fmt.Sprintf("at byte %d:", tt.at)) {
				t.Errorf("no warning names byte %d: %q", tt.at, text)
			}
		})
	}
}

// The pages that are laid anew at the ends of a clip are each there once, in their
// order.
func TestDamagedOrder(t *testing.T) {
	data := steady(30, 1, 8000)
	all := scanPages(data, 0, true).pages
	var bad []byte
	for _, i := range []int{0, 1, 2, 3, 4, 4, 6, 5, 7, 8, 3, 9, 12, 13} {
		bad = append(bad, data[all[i].off:all[i].end()]...)
	}
	o := over(t, seektest.New(bad), formats.Env{})
	l := o.Media.(*media).links().last()
	r, err := l.readRegion(t.Context(), o.window, l.data, int64(len(bad)))
	if err != nil {
		t.Fatal(err)
	}
	var got []uint32
	for _, p := range r.pages {
		got = append(got, p.seq)
	}
	if want := []uint32{2, 3, 4, 6, 7, 8, 9, 12, 13}; !slices.Equal(got, want) || len(r.damage) != 5 {
		t.Errorf("pages %d, want %d; damage %v", got, want, r.damage)
	}
}

func warningsOf(all []fragment.Warning) (text string) {
	for _, w := range all {
		text += w.String() + "\n"
	}
	return text
}

// Where a stream's last pages stand twice or in the wrong order, it ends where its
// latest page does.
func TestDamagedEnd(t *testing.T) {
	data := steady(60, 1, 8000)
	pages := scanPages(data, 0, true).pages
	raw := func(back int) []byte { p := pages[len(pages)-back]; return data[p.off:p.end()] }
	before := data[:pages[len(pages)-2].off]
	want := over(t, seektest.New(data), formats.Env{}).Info().Duration
	for name, end := range map[string][][]byte{"twice": {raw(2), raw(1), raw(2)}, "in the wrong order": {raw(1), raw(2)}} {
		o := over(t, seektest.New(slices.Concat(append([][]byte{before}, end...)...)), formats.Env{})
		if got := o.Info().Duration; !got.Equal(want) {
			t.Errorf("%s: it lasts %s s, want %s", name, got, want)
		}
	}
}
