package mp4

import (
	"sort"
)

// runTable is a run-length table, such as stts or ctts, read in place: entries
// of (count, value), 8 bytes each. To find a sample without reading the table
// from its beginning, a mark is kept for every marksEvery entries.
type runTable struct {
	data  []byte
	marks []runMark
	count int64 // samples that the table describes
	sum   int64 // of value over all samples
	min   int64 // least value of an entry with samples
	max   int64
}

const marksEvery = 256

// runMark is where an entry begins.
type runMark struct {
	entry  int
	sample int64 // first sample of the entry
	sum    int64 // of value over the samples before it
}

// run is a number of samples in sequence that share a value.
type run struct {
	count int64
	value int64
}

// readRuns checks a run-length table and marks it. Values are signed where
// signed is set; a ctts of version 0 often holds negative offsets all the same.
func readRuns(b box, signed bool) (*runTable, error) {
	data, err := b.entries(8)
	if err != nil {
		return nil, err
	}
	t, bad := newRunTable(data, signed)
	if bad >= 0 {
		return nil, b.damaged(8+8*bad, "the durations add up to more than any medium lasts")
	}
	return t, nil
}

// newRunTable marks the entries of a run-length table. Where their sum is
// beyond any medium, bad is the entry that exceeds it; else it is -1.
func newRunTable(data []byte, signed bool) (t *runTable, bad int) {
	t = &runTable{data: data}
	for i := 0; i < len(data)/8; i++ {
		if i%marksEvery == 0 {
			t.marks = append(t.marks, runMark{i, t.count, t.sum})
		}
		r := t.entry(i, signed)
		if r.count == 0 {
			continue
		}
		if t.count == 0 {
			t.min, t.max = r.value, r.value
		}
		t.min, t.max = min(t.min, r.value), max(t.max, r.value)
		t.count += r.count
		if signed { // nobody needs the sum of offsets
			continue
		}
		if r.value > 0 && r.count > (maxTicks-t.sum)/r.value {
			return nil, i
		}
		t.sum += r.count * r.value
	}
	return t, -1
}

func (t *runTable) entry(i int, signed bool) run {
	count, value := be.Uint32(t.data[8*i:]), be.Uint32(t.data[8*i+4:])
	if signed {
		return run{int64(count), int64(int32(value))}
	}
	return run{int64(count), int64(value)}
}

// walk calls f for each entry from the one that holds sample on, with what
// stands before the entry, until f returns false.
func (t *runTable) walk(from runMark, signed bool, f func(at runMark, r run) bool) {
	at := from
	for ; at.entry < len(t.data)/8; at.entry++ {
		r := t.entry(at.entry, signed)
		if !f(at, r) {
			return
		}
		at.sample += r.count
		at.sum += r.count * r.value
	}
}

// markBefore returns the last mark for which after is false. After must be
// false up to some mark and true from there on.
func (t *runTable) markBefore(after func(runMark) bool) runMark {
	i := sort.Search(len(t.marks), func(i int) bool { return after(t.marks[i]) })
	if i == 0 {
		return runMark{}
	}
	return t.marks[i-1]
}

func sliceRuns(t *runTable, signed bool, from, to int64) []run {
	var out []run
	start := t.markBefore(func(m runMark) bool { return m.sample > from })
	t.walk(start, signed, func(at runMark, r run) bool {
		first, last := max(at.sample, from), min(at.sample+r.count, to)
		if first < last {
			out = appendRun(out, run{last - first, r.value})
		}
		return at.sample+r.count < to
	})
	return out
}

// appendRun adds a run, joined with the last one where they share a value.
func appendRun(runs []run, r run) []run {
	if n := len(runs) - 1; n >= 0 && runs[n].value == r.value {
		runs[n].count += r.count
		return runs
	}
	return append(runs, r)
}
