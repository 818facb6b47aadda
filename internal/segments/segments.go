// Package segments finds which segments of a presentation an interval needs. It
// is what the formats have in common whose manifests list segments by time.
package segments

import (
	"sort"
	"time"

	"github.com/mediafrag/mediafrag/fragment"
)

// Bounds gives the start and the end of the segment i. Both grow with i.
type Bounds func(i int) (start, end time.Duration)

// Overlap returns the segments [first, last) of n that overlap [a, b) of i: the
// ones that end after a and begin before b. It looks at about 2·log2(n) of them.
// Where none does, first and last are equal.
func Overlap(n int, at Bounds, i fragment.Interval) (first, last int) {
	const ns = int64(time.Second)
	a := time.Duration(i.Start.Floor(ns)) // a whole number is greater than a where it is greater than this
	first = sort.Search(n, func(k int) bool {
		_, end := at(k)
		return end > a
	})
	last = n
	if !i.Open {
		b := time.Duration(i.End.Ceil(ns))
		last = sort.Search(n, func(k int) bool {
			start, _ := at(k)
			return start >= b
		})
	}
	return first, max(first, last)
}

// Time is a duration as an exact time.
func Time(d time.Duration) fragment.Time { return fragment.Ticks(int64(d), int64(time.Second)) }

// Duration is an exact time as a duration, rounded to the nearest nanosecond.
func Duration(t fragment.Time) time.Duration { return time.Duration(t.Round(int64(time.Second))) }
