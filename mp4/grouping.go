package mp4

import (
	"math"
	"sort"

	"github.com/mediafrag/mediafrag/internal/bits"
)

// grouping tells which description of a sample group each sample has. Those
// that it does not name have none: 0.
type grouping interface {
	index(sample int64) uint32
	// slice returns the descriptions of the samples [from, to), of all of them.
	slice(from, to int64) []run
}

// groupRuns is a grouping by runs, as an sbgp has them.
type groupRuns struct{ *runTable }

// grouped returns runs as a grouping.
func grouped(runs []run) grouping {
	t, _ := newRunTable(encodeRuns(runs), false)
	return groupRuns{t}
}

func (g groupRuns) index(sample int64) (out uint32) {
	from := g.markBefore(func(m runMark) bool { return m.sample > sample })
	g.walk(from, false, func(at runMark, r run) bool {
		if sample >= at.sample+r.count {
			return true
		}
		out = uint32(r.value)
		return false
	})
	return out
}

func (g groupRuns) slice(from, to int64) []run {
	return filled(sliceRuns(g.runTable, false, from, to), to-from)
}

// filled returns runs with those of no value behind them, n samples in all.
func filled(runs []run, n int64) []run {
	if have := countRuns(runs); have < n {
		return appendRun(runs, run{n - have, 0})
	}
	return runs
}

// patterns is a grouping by patterns that repeat, as a csgp has them.
type patterns []pattern

type pattern struct {
	first, count int64    // the samples that it is for
	indices      []uint32 // of the first samples, and again
}

// Limits on a csgp.
const (
	maxPatterns = 1 << 16
	maxIndices  = 1 << 20 // in all patterns
)

// readPatterns reads a csgp (ISO/IEC 14496-12 section 8.9.5). Local says that
// the highest bit of an index tells those of a fragment's own descriptions; they
// are returned as an sbgp counts them. What cannot be made out is left out:
// groups are advice.
func readPatterns(b box) (typ string, param []byte, out patterns) {
	p := b.payload()
	if len(p) < 12 {
		return "", nil, nil
	}
	flags := be.Uint32(p)
	width := func(at int) int { return 4 << (flags >> at & 3) }
	indexBits, countBits, lengthBits := width(0), width(2), width(4)
	local := flags&0x80 != 0
	typ, p = string(p[4:8]), p[8:]
	if flags&0x40 != 0 {
		param, p = p[:4:4], p[4:]
	}
	if len(p) < 4 {
		return typ, param, nil
	}
	r := bits.Reader{Data: p[4:]}
	n := int64(be.Uint32(p))
	if n > maxPatterns || n*int64(lengthBits+countBits) > int64(r.Left()) {
		return typ, param, nil
	}
	var first, indices int64
	lengths := make([]int64, n)
	out = make(patterns, n)
	for i := range out {
		lengths[i] = int64(r.Read(lengthBits))
		out[i] = pattern{first: first, count: int64(r.Read(countBits))}
		first += out[i].count
		indices += lengths[i]
	}
	if indices > maxIndices || indices*int64(indexBits) > int64(r.Left()) {
		return typ, param, nil
	}
	for i := range out {
		for range lengths[i] {
			v := r.Read(indexBits)
			if high := uint32(1) << (indexBits - 1); local && v&high != 0 {
				v = min(v&^high, math.MaxUint32-localGroup) + localGroup
			}
			out[i].indices = append(out[i].indices, v)
		}
	}
	return typ, param, out
}

func (g patterns) index(sample int64) uint32 {
	i := sort.Search(len(g), func(i int) bool { return g[i].first+g[i].count > sample })
	if i == len(g) || len(g[i].indices) == 0 {
		return 0
	}
	return g[i].indices[(sample-g[i].first)%int64(len(g[i].indices))]
}

func (g patterns) slice(from, to int64) []run {
	var out []run
	i := sort.Search(len(g), func(i int) bool { return g[i].first+g[i].count > from })
	for ; i < len(g) && g[i].first < to; i++ {
		first, last := max(from, g[i].first), min(to, g[i].first+g[i].count)
		switch n := int64(len(g[i].indices)); n {
		case 0, 1:
			value := int64(0)
			if n == 1 {
				value = int64(g[i].indices[0])
			}
			out = appendRun(out, run{last - first, value})
		default:
			for s := first; s < last; s++ {
				out = appendRun(out, run{1, int64(g[i].indices[(s-g[i].first)%n])})
			}
		}
	}
	return filled(out, to-from)
}

// partialSync is QuickTime's list of samples at which decoding can begin though
// pictures that are presented before them need others (QuickTime File Format,
// partial sync sample atom): numbers of 4 bytes that ascend and count from 1. It
// says what a group of random access points says.
type partialSync []byte

func (g partialSync) at(i int) int64 { return int64(be.Uint32(g[4*i:])) - 1 }

func (g partialSync) index(sample int64) uint32 {
	i := sort.Search(len(g)/4, func(i int) bool { return g.at(i) >= sample })
	if i < len(g)/4 && g.at(i) == sample {
		return 1
	}
	return 0
}

func (g partialSync) slice(from, to int64) []run {
	var out []run
	next := from
	for i := sort.Search(len(g)/4, func(i int) bool { return g.at(i) >= from }); i < len(g)/4 && g.at(i) < to; i++ {
		if n := g.at(i) - next; n > 0 {
			out = appendRun(out, run{n, 0})
		}
		out = appendRun(out, run{1, 1})
		next = g.at(i) + 1
	}
	return filled(out, to-from)
}

func countRuns(runs []run) int64 {
	var n int64
	for _, r := range runs {
		n += r.count
	}
	return n
}
