package seek

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// maxMarks is how many marks a Search remembers. Beyond, every other one is
// forgotten: a later Find there looks again, mostly into the Window's memory.
const maxMarks = 1 << 16

// maxRuns is of how many scans the rate is remembered.
const maxRuns = 64

// atlas is what a Search knows of a resource.
type atlas struct {
	start, end int64 // where marks may lie
	endTick    int64 // the tick at end, 0 where it is not stated
	lines      []line
	read       []Range // sorted, disjoint: what holds no marks but the known ones

	scannedBytes int64 // of all scans, and the marks found there
	scannedMarks int64
	sizes, sized int64 // of elements that stated theirs: the sum, and how many
	barren       int64 // the longest scan that showed no mark, as far as it still matters
	runs         []run
}

// line is what is known of one stream.
type line struct {
	stream int
	marks  []Mark // those that are believed; offsets ascend, ticks do not descend
	lies   []Mark // those that contradict them
	// lasting: elements say until when they last.
	lasting bool
}

// line returns what is known of a stream.
func (a *atlas) line(stream int) *line {
	i := slices.IndexFunc(a.lines, func(l line) bool { return l.stream == stream })
	if i < 0 {
		i = len(a.lines)
		a.lines = append(a.lines, line{stream: stream})
	}
	return &a.lines[i]
}

// bracket is the stretch of bytes between two marks of a stream that are
// neighbours as far as is known.
type bracket struct {
	before, after Mark
	bare          [2]bool // before, after stand for the beginning and the end
	gaps          []Range // what of it was not read
	unread        int64   // the sum of their lengths
}

// around returns the known neighbours of a tick.
func (a *atlas) around(stream int, tick int64) bracket {
	b := bracket{
		before: Mark{Stream: stream, Offset: a.start, End: a.start, Tick: math.MinInt64},
		after:  Mark{Stream: stream, Offset: a.end, End: a.end, Tick: math.MaxInt64},
		bare:   [2]bool{true, true},
	}
	marks := a.line(stream).marks
	i := sort.Search(len(marks), func(i int) bool { return marks[i].Tick > tick })
	if i > 0 {
		b.before, b.bare[0] = marks[i-1], false
	}
	if i < len(marks) {
		b.after, b.bare[1] = marks[i], false
	}
	b.gaps = a.unread(b.before.Offset, b.after.Offset)
	for _, g := range b.gaps {
		b.unread += g.Length
	}
	return b
}

// landed reports whether nothing lies between the neighbours. Where before says
// itself that it lasts beyond tick, what follows it need not be known.
func (b *bracket) landed(tick int64) bool {
	if len(b.gaps) == 0 {
		return true
	}
	if m := b.before; !b.bare[0] && m.Until > tick && m.End > m.Offset {
		b.after = Mark{Stream: m.Stream, Offset: m.End, Tick: m.Until}
		return true
	}
	return false
}

// unread returns what of [from, to) was not read.
func (a *atlas) unread(from, to int64) []Range {
	var out []Range
	i := sort.Search(len(a.read), func(i int) bool { return a.read[i].End() > from })
	for ; i < len(a.read) && a.read[i].Offset < to; i++ {
		if r := a.read[i]; r.Offset > from {
			out = append(out, Range{from, r.Offset - from})
		}
		from = a.read[i].End()
	}
	if from < to {
		out = append(out, Range{from, to - from})
	}
	return out
}

// cover notes that [from, to) was read.
func (a *atlas) cover(from, to int64) {
	if from, to = max(from, a.start), min(to, a.end); from >= to {
		return
	}
	i := sort.Search(len(a.read), func(i int) bool { return a.read[i].End() >= from })
	j := i
	for ; j < len(a.read) && a.read[j].Offset <= to; j++ {
		from, to = min(from, a.read[j].Offset), max(to, a.read[j].End())
	}
	a.read = slices.Replace(a.read, i, j, Range{from, to - from})
}

// scanned takes in what was recognised in [off, end), all of it up to next, and
// reports whether that is news.
func (a *atlas) scanned(off, end, next int64, marks []Mark) bool {
	covered, known := a.covered(), a.count()
	marks = slices.DeleteFunc(slices.Clone(marks), func(m Mark) bool { return m.Offset < off || m.Offset >= end })
	a.add(marks)
	// A mark that is known already ends whatever element is cut off before it.
	if at := a.markFrom(next); at <= end {
		next = at
	}
	if end >= a.end {
		next = a.end
	}
	a.cover(off, next)
	a.scannedBytes += max(0, min(next, end)-off)
	a.measure(marks, end-off)
	return a.covered() != covered || a.count() != known
}

// measure notes the sizes and rates of what a scan of so many bytes showed.
func (a *atlas) measure(marks []Mark, size int64) {
	a.scannedMarks += int64(len(marks))
	if len(marks) == 0 {
		a.barren = max(a.barren, size)
		return
	}
	if size < a.barren {
		a.barren /= 2
	}
	for _, m := range marks {
		if m.End > m.Offset {
			a.sizes += min(m.End-m.Offset, nearStretch)
			a.sized++
		}
		if m.Until > m.Tick {
			a.line(m.Stream).lasting = true
		}
	}
	first, last := marks[0], marks[len(marks)-1]
	if ticks := float64(last.Tick) - float64(first.Tick); first.Stream == last.Stream && ticks > 0 && len(a.runs) < maxRuns {
		a.runs = append(a.runs, run{float64(last.Offset - first.Offset), ticks})
	}
}

func (a *atlas) covered() (n int64) {
	for _, r := range a.read {
		n += r.Length
	}
	return n
}

func (a *atlas) count() (n int) {
	for _, l := range a.lines {
		n += len(l.marks) + len(l.lies)
	}
	return n
}

// markFrom returns the offset of the first mark at or after off, or the end.
func (a *atlas) markFrom(off int64) int64 {
	first := a.end
	for _, l := range a.lines {
		if i, _ := slices.BinarySearchFunc(l.marks, off, compareOffset); i < len(l.marks) {
			first = min(first, l.marks[i].Offset)
		}
	}
	return first
}

func compareOffset(m Mark, off int64) int { return cmp.Compare(m.Offset, off) }

// element returns how many bytes lie between two marks on the average, 0 where
// that is not known.
func (a *atlas) element() int64 {
	n := a.scannedBytes / max(1, a.scannedMarks)
	if a.sized > 0 {
		n = max(n, a.sizes/a.sized)
	}
	return n
}

// spacing returns how far apart the marks of a stream are on the average, of
// the stream where they are furthest without exceeding a probe.
func (a *atlas) spacing(probe int64) int64 {
	widest := min(a.element(), probe)
	for _, l := range a.lines {
		if n := a.scannedBytes / max(1, int64(len(l.marks))); n <= probe {
			widest = max(widest, n)
		}
	}
	return widest
}

// add takes in marks.
func (a *atlas) add(marks []Mark) {
	marks = slices.DeleteFunc(slices.Clone(marks), func(m Mark) bool { return m.Offset < a.start || m.Offset >= a.end })
	if a.count()+len(marks) > maxMarks {
		a.forget()
	}
	slices.SortStableFunc(marks, func(m, n Mark) int { return cmp.Compare(m.Stream, n.Stream) })
	for rest := marks; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Stream == rest[0].Stream {
			n++
		}
		a.line(rest[0].Stream).add(rest[:n])
		rest = rest[n:]
	}
	for _, m := range marks {
		a.coverElement(m)
	}
}

// coverElement notes that nothing begins within the element of a mark. One that
// claims to reach beyond another mark is not believed that.
func (a *atlas) coverElement(m Mark) {
	if m.End > m.Offset {
		a.cover(m.Offset, min(m.End, a.markFrom(m.Offset+1)))
	}
}

// add takes in marks, and divides all into those that are believed, the longest
// sequence that does not descend, and lies.
func (l *line) add(marks []Mark) {
	if i, ok := l.fits(marks); ok {
		l.marks = slices.Insert(l.marks, i, marks...)
		return
	}
	all := slices.Concat(l.marks, l.lies, marks)
	slices.SortStableFunc(all, func(m, n Mark) int { return cmp.Compare(m.Offset, n.Offset) })
	all = slices.CompactFunc(all, func(m, n Mark) bool { return m.Offset == n.Offset })
	if slices.IsSortedFunc(all, func(m, n Mark) int { return cmp.Compare(m.Tick, n.Tick) }) {
		l.marks, l.lies = all, nil
		return
	}
	l.marks, l.lies = nil, nil
	chain := ascending(all)
	for i, m := range all {
		if len(chain) > 0 && chain[0] == i {
			l.marks = append(l.marks, m)
			chain = chain[1:]
		} else {
			l.lies = append(l.lies, m)
		}
	}
}

// fits returns where marks can be put in as they are: all are new, in order, and
// between two neighbours.
func (l *line) fits(marks []Mark) (i int, ok bool) {
	i, known := slices.BinarySearchFunc(l.marks, marks[0].Offset, compareOffset)
	if known || len(l.lies) > 0 {
		return 0, false
	}
	around := slices.Clone(marks)
	if i > 0 {
		around = slices.Insert(around, 0, l.marks[i-1])
	}
	if i < len(l.marks) {
		around = append(around, l.marks[i])
	}
	for n, m := range around[1:] {
		if m.Offset <= around[n].Offset || m.Tick < around[n].Tick {
			return 0, false
		}
	}
	return i, true
}

// disordered reports whether the marks contradict each other so much that none
// can be believed.
func (l *line) disordered() bool { return len(l.lies) >= 8 && len(l.lies) > len(l.marks) }

// ascending returns the indices of a longest sequence of marks whose ticks do
// not descend.
func ascending(marks []Mark) []int {
	previous := make([]int, len(marks))
	var ends []int // ends[n]: the mark with the lowest tick that ends a sequence of n+1
	for i, m := range marks {
		n := sort.Search(len(ends), func(n int) bool { return marks[ends[n]].Tick > m.Tick })
		if n > 0 {
			previous[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, 0)
		}
		ends[n] = i
	}
	chain := make([]int, len(ends))
	for n := len(ends) - 1; n >= 0; n-- {
		chain[n] = ends[len(ends)-1]
		if n < len(ends)-1 {
			chain[n] = previous[chain[n+1]]
		}
	}
	return chain
}

// forget drops every other mark, and what is known of the bytes between.
func (a *atlas) forget() {
	a.read = nil
	for n := range a.lines {
		l := &a.lines[n]
		kept := l.marks[:0]
		for i := 0; i < len(l.marks); i += 2 {
			kept = append(kept, l.marks[i])
		}
		clear(l.marks[len(kept):])
		l.marks, l.lies = kept, nil
	}
	for _, l := range a.lines {
		for _, m := range l.marks {
			a.coverElement(m)
		}
	}
}
