package oracle

import (
	"fmt"
	"math"
)

// Exact is the residual of sound that is the same to the bit, in dB.
const Exact = -200

// VideoReport says how the pictures of a clip stand to those wanted.
type VideoReport struct {
	Want, Have int
	Lead, Tail int // pictures before and after the wanted ones
	Missing    int // wanted ones that are not there, or look different
}

// String returns the numbers.
func (r VideoReport) String() string {
	return fmt.Sprintf("pictures want %d have %d lead %d tail %d missing %d", r.Want, r.Have, r.Lead, r.Tail, r.Missing)
}

// CompareVideo finds the wanted pictures, in sequence, among those of a clip.
func CompareVideo(want, have []Picture) VideoReport {
	r := VideoReport{Want: len(want), Have: len(have)}
	best := -1
	for lead := 0; lead <= len(have); lead++ {
		same := 0
		for i := range want {
			if lead+i < len(have) && have[lead+i].Hash == want[i].Hash {
				same++
			}
		}
		if same > best {
			best, r.Lead = same, lead
		}
		if same == len(want) {
			break
		}
	}
	r.Missing = len(want) - best
	r.Tail = max(0, len(have)-r.Lead-len(want))
	return r
}

// AudioReport says how the sound of a clip stands to the one wanted.
type AudioReport struct {
	Rate       int
	Want, Have int     // samples of one channel
	Offset     int     // by how many samples the clip's is late; 0 is right
	Excess     int     // samples after the wanted ones
	Residual   float64 // energy of the difference against the original's, in dB; Exact where there is none
}

// String returns the numbers.
func (r AudioReport) String() string {
	return fmt.Sprintf("samples want %d have %d offset %d excess %d residual %.1f dB", r.Want, r.Have, r.Offset, r.Excess, r.Residual)
}

// searchSpan is how far an offset is looked for, in samples.
const searchSpan = 8192

// CompareAudio finds by how many samples a clip's sound is off and how much it
// then differs. Sound that is not wanted before the beginning shows as a
// positive offset.
func CompareAudio(want, have []float32, rate, channels int) AudioReport {
	r := AudioReport{Rate: rate, Want: len(want) / channels, Have: len(have) / channels}
	lo, hi := window(want, channels)
	best := difference(want, have, lo, hi, 0)
	if best > 1e-6 {
		span := searchSpan
		if extra := r.Have - r.Want; extra > 0 && extra < 30*rate {
			span += extra
		}
		for off := -searchSpan; off <= span; off++ {
			if d := difference(want, have, lo, hi, off*channels); d < best-1e-9 {
				best, r.Offset = d, off
			}
		}
	}
	r.Excess = r.Have - r.Want - r.Offset
	r.Residual = Exact
	if d := difference(want, have, 0, len(want), r.Offset*channels); d > 0 {
		r.Residual = max(Exact, 10*math.Log10(d))
	}
	return r
}

// window returns a stretch in the middle, long enough to tell an offset by.
func window(want []float32, channels int) (lo, hi int) {
	hi = len(want)
	if hi > 16384*channels {
		lo = (hi/2 - 2048*channels) / channels * channels
		hi = lo + 4096*channels
	}
	return lo, hi
}

// difference is the relative energy of want[lo:hi] against have shifted by off.
// It is 1 where too little overlaps.
func difference(want, have []float32, lo, hi, off int) float64 {
	var num, den float64
	n := 0
	for i := max(lo, -off); i < hi && i+off < len(have); i++ {
		d := float64(want[i]) - float64(have[i+off])
		num += d * d
		den += float64(want[i]) * float64(want[i])
		n++
	}
	switch {
	case hi == lo:
		return 0
	case n < (hi-lo)/2:
		return 1
	case den == 0:
		return min(num, 1)
	}
	return num / den
}
