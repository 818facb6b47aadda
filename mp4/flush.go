package mp4

import (
	"math"

	"github.com/mediafrag/mediafrag/formats"
)

// Decoders of H.264 give pictures out in the order of their presentation, each
// when enough others are decoded behind it. At the end they give out the rest, but
// ffmpeg's does not do that for pictures that were decoded before the one at which
// decoding began came out, unless it is an IDR picture: it does not know yet that
// they refer to nothing that was cut, and what follows them stays in as well. In a
// clip of some pictures those would be missing. With a few more samples behind
// them, which the edit list hides, they come out in time.

// leastHeld is the fewest pictures that a decoder is expected to hold back where
// any is presented out of decode order: encoders announce two even where those at
// hand would do with one.
const leastHeld = 2

// flushed returns the samples that it takes to present what there is up to a
// composition time, with those behind them that make decoders give it out.
func (t *track) flushed(of sampleRange, to int64) sampleRange {
	s := t.tables
	if t.kind != formats.Video || t.entry.nalLength == 0 || s.ctts == nil || of.from >= of.to {
		return of
	}
	held := s.heldBack(of.from)
	if held == 0 {
		return of
	}
	held = max(leastHeld, held)
	first, _ := s.rightFrom(of.from)
	known := of.from + s.rank(of.from, first) + held // what is decoded from there on is known to be right
	last := int64(-1)
	for i := of.from; i < min(of.to, known); i++ {
		if at := s.compose(i); at < to && (last < 0 || at > s.compose(last)) {
			last = i
		}
	}
	if last >= 0 {
		of.to = max(of.to, min(s.count, of.from+s.rank(of.from, last)+held))
	}
	return of
}

// rank counts the samples decoded from one on that are presented no later than
// another.
func (s *sampleTables) rank(from, sample int64) int64 {
	var n int64
	at := s.compose(sample)
	for i := from; i < min(s.count, max(sample, from)+maxReorder); i++ {
		if s.compose(i) <= at {
			n++
		}
	}
	return n
}

// heldBack returns how many pictures a decoder that begins with a sample has to
// hold back at most to give them out in order: so many are decoded before one that
// is presented earlier.
func (s *sampleTables) heldBack(from int64) int64 {
	var times []int64
	most := 0
	for i := from; i < min(s.count, from+maxReorder); i++ {
		at, later := s.compose(i), 0
		for _, t := range times {
			if t > at {
				later++
			}
		}
		most = max(most, later)
		times = append(times, at)
	}
	return int64(most)
}

// underWay returns the last of some samples, in presentation order, that is
// presented at or before t, and when, in composition time; -1 where none is.
func (s *sampleTables) underWay(of sampleRange, t int64) (at, sample int64) {
	at, sample = math.MinInt64, -1
	_, last := s.around(t)
	for i := min(of.to-1, last); i >= max(of.from, last-2*maxReorder); i-- {
		if c := s.compose(i); c <= t && c > at {
			at, sample = c, i
		}
	}
	return at, sample
}
