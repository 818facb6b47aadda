package seek

import (
	"cmp"
	"slices"
	"sort"
)

// spanSet holds bytes of a resource by their offset, and no more than a limit
// of them: what was not used for longest goes first.
type spanSet struct {
	limit int64
	held  int64
	clock int64  // counts uses
	spans []span // sorted, not overlapping
}

// span is a stretch of bytes. They are never written to again.
type span struct {
	off  int64
	data []byte
	used int64 // the clock when it was last used
}

func (s span) end() int64 { return s.off + int64(len(s.data)) }

func byOffset(a, b span) int { return cmp.Compare(a.off, b.off) }

// overlapping returns the spans that have bytes of a closed range, in order, as
// a view that holds until the next keep.
func (s *spanSet) overlapping(r Range) []span {
	from := sort.Search(len(s.spans), func(i int) bool { return s.spans[i].end() > r.Offset })
	to := from
	for to < len(s.spans) && s.spans[to].off < r.End() {
		to++
	}
	return s.spans[from:to]
}

// use is overlapping for somebody who reads the bytes.
func (s *spanSet) use(r Range) []span {
	s.clock++
	found := s.overlapping(r)
	for i := range found {
		found[i].used = s.clock
	}
	return found
}

// keep adds what is new of data and drops what the limit leaves no room for.
func (s *spanSet) keep(off int64, data []byte) {
	s.clock++
	var covers []Range
	for _, old := range s.overlapping(Range{off, int64(len(data))}) {
		covers = append(covers, Range{old.off, int64(len(old.data))})
	}
	for _, r := range uncovered(Range{off, int64(len(data))}, covers) {
		i, _ := slices.BinarySearchFunc(s.spans, span{off: r.Offset}, byOffset)
		s.spans = slices.Insert(s.spans, i, span{r.Offset, data[r.Offset-off : r.End()-off], s.clock})
		s.held += r.Length
	}
	for s.held > s.limit {
		oldest := 0
		for i := range s.spans {
			if s.spans[i].used < s.spans[oldest].used {
				oldest = i
			}
		}
		s.held -= int64(len(s.spans[oldest].data))
		s.spans = slices.Delete(s.spans, oldest, oldest+1)
	}
}

// uncovered returns what of a closed range lies in none of covers, which are
// closed and sorted by their offsets.
func uncovered(r Range, covers []Range) []Range {
	var out []Range
	at := r.Offset
	for _, c := range covers {
		if c.Offset >= r.End() {
			break
		}
		if c.Offset > at {
			out = append(out, Range{at, c.Offset - at})
		}
		at = max(at, c.End())
	}
	if at < r.End() {
		out = append(out, Range{at, r.End() - at})
	}
	return out
}

// assemble returns the bytes of a closed range, or as many from its beginning on
// as pieces have without a gap. The pieces are sorted and may overlap. Bytes
// that lie in one piece are not copied.
func assemble(r Range, pieces []span) []byte {
	var out []byte
	for at := r.Offset; at < r.End(); at = r.Offset + int64(len(out)) {
		for len(pieces) > 0 && pieces[0].end() <= at {
			pieces = pieces[1:]
		}
		if len(pieces) == 0 || pieces[0].off > at {
			break
		}
		s := pieces[0]
		more := s.data[at-s.off : min(s.end(), r.End())-s.off]
		if out == nil {
			out = more[:len(more):len(more)] // so that an append copies
		} else {
			out = append(out, more...)
		}
	}
	return out
}
