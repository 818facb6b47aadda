package ogg

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// steady returns so many seconds of Opus at about so many bytes a second.
func steady(seconds int, seed uint64, rate float64) []byte {
	return opusStream("", seconds, seed, func(_ int, r *rand.Rand) float64 { return rate * (0.9 + 0.2*r.Float64()) }).data
}

// music returns so many seconds of Opus of a rate that varies.
func music(seconds int, seed uint64) []byte {
	passage := &walk{sigma: 0.3, steps: 10}
	return opusStream("", seconds, seed, func(_ int, r *rand.Rand) float64 { return 16000 * passage.next(r) }).data
}

// withSerials gives a file's streams other serial numbers.
func withSerials(data []byte, add uint32) []byte {
	out := make([]byte, 0, len(data))
	for _, p := range scanPages(data, 0, true).pages {
		out = appendPage(out, p.flags, p.granule, p.serial+add, p.seq, p.lacing, p.body)
	}
	return out
}

// Each boundary of a chain that is needed is found in few rounds, whatever lies
// between, also where serial numbers are used again, and at the right byte.
func TestChainBoundaries(t *testing.T) {
	songs := func(n, seconds int, again bool) (parts [][]byte) {
		for i := range n {
			part := music(seconds+7*i%50, uint64(i+1))
			if !again {
				part = withSerials(part, uint32(i))
			}
			parts = append(parts, part)
		}
		return parts
	}
	pictures := theoraVorbis(t, 40, 1).data
	small, half := steady(30, 1, 10000), steady(12, 2, 10000)
	tests := []struct {
		name  string
		parts [][]byte
	}{
		{"songs", songs(12, 180, false)},
		{"songs with one serial number", songs(6, 180, true)},
		{"announcements", songs(25, 20, false)},
		{"short before long", [][]byte{steady(10, 1, 8000), withSerials(steady(3000, 2, 8000), 1)}},
		{"short before long, one serial number", [][]byte{steady(600, 1, 8000), steady(1500, 2, 8000)}},
		{"long before short", [][]byte{steady(3000, 1, 8000), withSerials(steady(10, 2, 8000), 1)}},
		{"long before short, one serial number", [][]byte{steady(3000, 1, 8000), steady(10, 2, 8000)}},
		{"small, twice", [][]byte{small, small}},
		{"small, long before short", [][]byte{small, half}},
		{"small, short before long", [][]byte{half, small}},
		{"small, short before long of another rate", [][]byte{half, steady(30, 1, 13000)}},
		{"small, the last link like the first", [][]byte{small, withSerials(steady(20, 2, 10000), 2), small}},
		{"small, music twice", [][]byte{music(30, 1), music(30, 2)}},
		{"small pictures, the same serial numbers", [][]byte{theoraVorbis(t, 5, 1).data, theoraVorbis(t, 4, 2).data}},
		{"pictures and sound, other serial numbers", [][]byte{pictures, withSerials(pictures, 2)}},
		{"pictures and sound, the same serial numbers", [][]byte{pictures, theoraVorbis(t, 25, 2).data, pictures}},
	}
	for _, tt := range tests {
		seektest.Counted(t, tt.name, func(t *testing.T) {
			o := over(t, seektest.New(slices.Concat(tt.parts...)), formats.Env{})
			m := o.Media.(*media)
			worst, sum := 0, 0
			for !m.links().complete {
				before := o.gate.rounds
				if _, err := m.extend(t.Context()); err != nil {
					t.Fatal(err)
				}
				rounds := o.gate.rounds - before
				worst, sum = max(worst, rounds), sum+rounds
			}
			t.Logf("%d links: %d rounds at most, %d in all", len(tt.parts), worst, sum)
			if worst > budget.OggChainRounds {
				t.Errorf("%d rounds for one boundary, want at most %d", worst, budget.OggChainRounds)
			}
			at, got := int64(0), m.links().links
			for i, part := range tt.parts {
				if i >= len(got) || got[i].off != at {
					t.Fatalf("link %d of %d does not begin at %d", i+1, len(got), at)
				}
				at += int64(len(part))
			}
		})
	}
}

// A page that was seen in two halves was not seen: where the first page of the
// next link is one, the page behind it is not taken for the boundary.
func TestHalfSeen(t *testing.T) {
	first := steady(30, 1, 8000)
	data := append(bytes.Clone(first), steady(30, 2, 8000)...)
	m := over(t, seektest.New(data), formats.Env{}).Media.(*media)
	l := m.links().links[0]
	cut := int64(len(first) + 20)
	m.glimpses = nil
	m.remember(0, data[:cut], false)
	m.remember(cut, data[cut:], true)
	if b := m.boundary(l, 1); b.at >= 0 {
		t.Errorf("the link ends at %d, it is said, and the page at %d was not seen", b.at, len(first))
	}
}

// A short link before a long one is found also where both have the same serial
// number, so that page numbers near the end of the file are about what its bytes
// suggest; times are those of the joined links, and the search takes as many rounds
// as are allowed for the boundary beside its own.
func TestShortLinkBeforeLong(t *testing.T) {
	counted := func(data []byte) []byte { return withSerials(data, -synthSerial&(1<<32-1)+3) }
	long := 1800
	shorts := []int{15, 50}
	if tools.Full() {
		shorts = []int{10, 15, 31, 50, 74, 120, 170}
	}
	for _, short := range shorts {
		for _, kind := range []string{"steady", "music"} {
			make := func(seconds int, seed uint64) []byte {
				if kind == "music" {
					return counted(music(seconds, seed))
				}
				return counted(steady(seconds, seed, 12000))
			}
			seektest.Counted(t, fmt.Sprintf("%s, %d s before %d s", kind, short, long), func(t *testing.T) {
				first := make(short, 1)
				data := slices.Concat(first, make(long, 2))
				o := over(t, seektest.New(data), formats.Env{})
				before := o.gate.rounds
				plan, err := o.Plan(t.Context(), formats.Selection{Interval: part(1500, 1510)})
				if err != nil {
					t.Fatal(err)
				}
				if rounds := o.gate.rounds - before; rounds > budget.OggChainRounds+2*budget.OggMostRounds {
					t.Errorf("%d rounds", rounds)
				}
				links := o.Media.(*media).links().links
				if len(links) != 2 || links[1].off != int64(len(first)) {
					t.Fatalf("%d links, want the second at %d", len(links), len(first))
				}
				alone := over(t, seektest.New(data[len(first):]), formats.Env{})
				want, err := alone.Plan(t.Context(), formats.Selection{Interval: part(float64(1500-short), float64(1510-short))})
				if err != nil {
					t.Fatal(err)
				}
				at := plan.Parts[1].Offset - int64(len(first))
				if at != want.Parts[1].Offset || plan.Parts[1].Length != want.Parts[1].Length {
					t.Errorf("its middle is at %d of the second link, want %d", at, want.Parts[1].Offset)
				}
				info, err := over(t, seektest.New(data), formats.Env{}).Inspect(t.Context())
				if err != nil || len(info.Chapters) != 2 || info.Duration.Round(1) != int64(short+long) {
					t.Errorf("%d links of %s s, %v", len(info.Chapters), info.Duration, err)
				}
			})
		}
	}
}
