package oracle

import (
	"math/rand/v2"
	"testing"
)

// TestCompareVideo makes sure that every kind of wrong clip is told.
func TestCompareVideo(t *testing.T) {
	all := make([]Picture, 10)
	for i := range all {
		all[i] = Picture{Time: float64(i), Hash: string(rune('a' + i))}
	}
	tests := []struct {
		name string
		have []Picture
		want VideoReport
	}{
		{"same", all[3:7], VideoReport{4, 4, 0, 0, 0}},
		{"one before", all[2:7], VideoReport{4, 5, 1, 0, 0}},
		{"one after", all[3:8], VideoReport{4, 5, 0, 1, 0}},
		{"first missing", all[4:7], VideoReport{4, 3, 0, 0, 4}},
		{"last missing", all[3:6], VideoReport{4, 3, 0, 0, 1}},
		{"one changed", []Picture{all[3], {4, "x"}, all[5], all[6]}, VideoReport{4, 4, 0, 0, 1}},
		{"none", nil, VideoReport{4, 0, 0, 0, 4}},
	}
	for _, tt := range tests {
		if got := CompareVideo(all[3:7], tt.have); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestCompareAudio makes sure that a shift by one sample, a missing end and a
// changed sample are told.
func TestCompareAudio(t *testing.T) {
	noise := make([]float32, 2*30000)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = r.Float32() - 0.5
	}
	want := noise[2*5000 : 2*25000]
	changed := append([]float32(nil), want...)
	changed[700] += 0.25
	tests := []struct {
		name           string
		have           []float32
		offset, excess int
		exact          bool
	}{
		{"same", want, 0, 0, true},
		{"100 more", noise[2*5000 : 2*25100], 0, 100, true},
		{"100 fewer", noise[2*5000 : 2*24900], 0, -100, true},
		{"late by one", noise[2*4999 : 2*25000], 1, 0, true},
		{"early by one", noise[2*5001 : 2*25000], -1, 0, true},
		{"early by 1000", noise[2*6000 : 2*25000], -1000, 0, true},
		{"one changed", changed, 0, 0, false},
	}
	for _, tt := range tests {
		got := CompareAudio(want, tt.have, 48000, 2)
		if got.Offset != tt.offset || got.Excess != tt.excess || (got.Residual == Exact) != tt.exact {
			t.Errorf("%s: %v; want offset %d, excess %d, exact %v", tt.name, got, tt.offset, tt.excess, tt.exact)
		}
	}
}

// TestContains makes sure that a gap in the sequence is told.
func TestContains(t *testing.T) {
	all := []string{"a", "b", "c", "b", "d"}
	for part, want := range map[string]bool{"ab": true, "bd": true, "bc": true, "ac": false, "da": false, "": true} {
		var p []string
		for _, c := range part {
			p = append(p, string(c))
		}
		if got := contains(all, p); got != want {
			t.Errorf("%q: %v, want %v", part, got, want)
		}
	}
}
