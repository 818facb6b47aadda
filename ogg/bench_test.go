package ogg

import (
	"math/rand/v2"
	"testing"

	"github.com/mediafrag/mediafrag/internal/budget"
)

// What others do, over the same streams, counted in waits for bytes.

// timed is a page on which a packet of the first stream ends.
type timed struct{ off, end, tick int64 }

func (s *synth) timed() (pages []timed) {
	all := scanPages(s.data, 0, true).pages
	m, err := newMapping(all[0].body)
	if err != nil {
		return nil
	}
	for i := range all {
		p := &all[i]
		if pos, ok := m.position(p.granule); ok && p.serial == all[0].serial && p.granule > 0 && p.completes() {
			pages = append(pages, timed{p.off, p.end(), m.rate.time(pos.end).Floor(searchClock)})
		}
	}
	return pages
}

// bisection halves the bytes, 64 KiB at each look, until they fit into one.
func (s *synth) bisection(seeks int) (c cost) {
	const look = 64 << 10
	r, pages := rand.New(rand.NewPCG(9, 9)), s.timed()
	for range seeks {
		target := int64(r.Float64() * (s.length - 11) * searchClock)
		low, high := int64(0), int64(len(s.data))
		rounds := 1
		for ; high-low > look; rounds++ {
			mid := low + (high-low)/2
			at := firstFrom(pages, mid)
			if at == len(pages) || pages[at].off >= high || pages[at].tick > target {
				high = mid
			} else {
				low = pages[at].off
			}
		}
		c.add(rounds, int64(rounds)*look)
	}
	return c
}

// likeOpusfile interpolates, begins 64 KiB early, reads on while the page found
// is within a second of the target, and takes the middle where two steps did not
// halve what is left.
func (s *synth) likeOpusfile(seeks int) (c cost) {
	const chunk = 64 << 10
	r, pages := rand.New(rand.NewPCG(9, 9)), s.timed()
	for range seeks {
		target := int64(r.Float64() * (s.length - 11) * searchClock)
		low, high := int64(0), int64(len(s.data))
		lowTick, highTick := int64(0), pages[len(pages)-1].tick
		sizes := [2]int64{high - low, high - low}
		rounds, here := 0, int64(-1) // here is where reading has come to
		for landed := false; !landed && low < high; {
			at := low + int64(float64(target-lowTick)/float64(max(1, highTick-lowTick))*float64(high-low)) - chunk
			if 2*(high-low) > sizes[0] && rounds > 2 {
				at = low + (high-low)/2
			}
			sizes[0], sizes[1] = sizes[1], high-low
			if at = max(at, low); at != here { // else it reads on
				rounds++
			}
			moved := at == low
			for i := firstFrom(pages, at); ; i++ {
				if i == len(pages) || pages[i].tick > target {
					if landed = moved; !moved {
						high = at
						if i < len(pages) {
							highTick = pages[i].tick
						}
					}
					break
				}
				moved, low, lowTick, here = true, pages[i].end, pages[i].tick, pages[i].end
				if target-pages[i].tick > searchClock {
					break // too far to read on, unless the next guess is here
				}
			}
		}
		c.add(max(1, rounds), int64(max(1, rounds))*chunk)
	}
	return c
}

// firstFrom returns the number of the first page at or behind off.
func firstFrom(pages []timed, off int64) int {
	low, high := 0, len(pages)
	for low < high {
		if mid := (low + high) / 2; pages[mid].off < off {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// BenchmarkSeek prints the statistic of seeks beside what others need on the
// same streams. Theirs is one time in one stream; ours includes the keyframe and
// where sound begins with it.
func BenchmarkSeek(b *testing.B) {
	for _, k := range kinds(b) {
		for _, way := range []struct {
			name string
			seek func(*synth, int) cost
		}{
			{"ours", func(s *synth, n int) cost { return s.ours(b, n, false) }},
			{"ours, both ends", func(s *synth, n int) cost { return s.ours(b, n, true) }},
			{"bisection", (*synth).bisection},
			{"like opusfile", (*synth).likeOpusfile},
		} {
			b.Run(k.name+"/"+way.name, func(b *testing.B) {
				var c cost
				for b.Loop() {
					c = k.measure(budget.OggSeeks, way.seek)[0]
				}
				b.ReportMetric(c.mean(), "rounds/seek")
				b.ReportMetric(float64(c.most), "rounds/worst")
				b.ReportMetric(float64(c.probes())/1024, "probeKiB/seek")
			})
		}
	}
}
