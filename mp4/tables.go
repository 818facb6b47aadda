package mp4

import (
	"encoding/binary"
	"slices"
	"sort"
)

// be is the byte order of every number in a file.
var be = binary.BigEndian

// maxTicks bounds sums of durations, so that adding two never wraps.
const maxTicks = 1 << 61

// sampleTables are one track's sample tables, read in place, or a stretch of
// them. Samples count from 0. Times are in ticks of the track's timescale.
type sampleTables struct {
	count int64 // samples
	start int64 // decode time of sample 0: a stretch begins in mid-stream

	stts *runTable
	ctts *runTable // nil: composition time is decode time
	sync []byte    // stss entries, 4 bytes each, ascending, counting from 1
	all  bool      // no stss: every sample is a sync sample

	sizes     []byte // stsz or stz2 entries; nil where all have one size
	sizeBits  int    // of an entry: 4, 8, 16 or 32
	oneSize   int64
	chunks    []byte // stco or co64 entries
	wide      bool   // co64
	stsc      []byte // 12 bytes each
	stscMarks []runMark

	refresh *refresh // of the track's pictures; nil: whole ones alone

	depends  []byte // sdtp entries, one byte each; nil where there are none
	groups   []*sampleGroup
	extras   extras
	aux      *auxInfo        // of the samples; nil where not encrypted, or still in the file
	auxPlace *auxTables      // where it is in the file
	gaps     map[int64]int64 // ticks that samples last longer than they say, until the next

	box box // the stbl, for errors
}

// decode returns a sample's decode time.
func (s *sampleTables) decode(sample int64) int64 {
	var into int64
	from := s.stts.markBefore(func(m runMark) bool { return m.sample > sample })
	s.stts.walk(from, false, func(at runMark, r run) bool {
		if sample < at.sample+r.count {
			into = at.sum + (sample-at.sample)*r.value
			return false
		}
		into = at.sum + r.count*r.value
		return true
	})
	return s.start + into
}

// offset returns a sample's composition offset.
func (s *sampleTables) offset(sample int64) int64 {
	var out int64
	if s.ctts == nil {
		return 0
	}
	from := s.ctts.markBefore(func(m runMark) bool { return m.sample > sample })
	s.ctts.walk(from, true, func(at runMark, r run) bool {
		if sample < at.sample+r.count {
			out = r.value
			return false
		}
		return true
	})
	return out
}

// compose returns a sample's composition time: when it is presented, on the
// media's own timeline.
func (s *sampleTables) compose(sample int64) int64 { return s.decode(sample) + s.offset(sample) }

// duration returns how long a sample lasts.
func (s *sampleTables) duration(sample int64) int64 { return s.decode(sample+1) - s.decode(sample) }

// end returns when the last sample ends, in decode time.
func (s *sampleTables) end() int64 { return s.decode(s.count) }

// atDecode returns the last sample whose decode time is at or before t, or -1.
func (s *sampleTables) atDecode(t int64) int64 {
	out := int64(-1)
	t -= s.start
	from := s.stts.markBefore(func(m runMark) bool { return m.sum > t })
	s.stts.walk(from, false, func(at runMark, r run) bool {
		if at.sum > t {
			return false
		}
		if r.count > 0 {
			out = at.sample + r.count - 1
			if r.value > 0 {
				out = at.sample + min(r.count-1, (t-at.sum)/r.value)
			}
		}
		return true
	})
	return min(out, s.count-1)
}

// offsetsAround returns the least and the greatest composition offset of the
// samples around one: as far as presentation order can differ from decode order.
func (s *sampleTables) offsetsAround(sample int64) (least, greatest int64) {
	for i, r := range s.offsets(max(0, sample-maxReorder), min(s.count, sample+maxReorder)) {
		if i == 0 {
			least, greatest = r.value, r.value
		}
		least, greatest = min(least, r.value), max(greatest, r.value)
	}
	return least, greatest
}

// accessBefore returns the last sample at or before one at which decoding can
// begin, so that the one comes out right, or -1: a sync sample, or one that the
// groups name (ISO/IEC 14496-12 sections 10.1 and 10.4).
func (s *sampleTables) accessBefore(sample int64) int64 {
	i := s.syncBefore(sample)
	if s.all || !slices.ContainsFunc(s.groups, (*sampleGroup).access) {
		return i
	}
	for n := sample; n > i && sample-n < maxAccessScan; n-- {
		if right, ok := s.rightFrom(n); ok && right <= sample {
			return n
		}
	}
	return i
}

// maxAccessScan bounds how far back a random access point of a group is looked
// for, in samples.
const maxAccessScan = 1024

// access reports whether a group may name samples at which decoding can begin.
func (g *sampleGroup) access() bool {
	return (g.typ == groupRAP || g.typ == groupSync || g.typ == groupRoll) && g.samples != nil
}

// rightFrom returns the first sample that is right where decoding begins at
// another one: itself, or where pictures are refreshed bit by bit one behind. Ok
// is false where decoding cannot begin there.
func (s *sampleTables) rightFrom(sample int64) (first int64, ok bool) {
	if s.isSync(sample) {
		if s.refreshing(sample) {
			return s.refreshed(sample, s.refresh.Load()), true
		}
		return sample, true
	}
	for _, g := range s.groups {
		if !g.access() {
			continue
		}
		switch i := g.index(sample); {
		case i == 0:
		case g.typ != groupRoll:
			return sample, true
		case g.distance(i) > 0:
			first, ok = sample+g.distance(i), true
		}
	}
	return first, ok
}

// syncBefore returns the last sync sample at or before a sample, or -1.
func (s *sampleTables) syncBefore(sample int64) int64 {
	if s.all || sample < 0 {
		return sample
	}
	n := sort.Search(len(s.sync)/4, func(i int) bool { return int64(be.Uint32(s.sync[4*i:]))-1 > sample })
	if n == 0 {
		return -1
	}
	return int64(be.Uint32(s.sync[4*(n-1):])) - 1
}

// isSync reports whether a sample is a sync sample.
func (s *sampleTables) isSync(sample int64) bool { return s.syncBefore(sample) == sample }

// size returns a sample's length in bytes.
func (s *sampleTables) size(sample int64) int64 {
	switch {
	case s.sizes == nil:
		return s.oneSize
	case s.sizeBits == 32:
		return int64(be.Uint32(s.sizes[4*sample:]))
	case s.sizeBits == 16:
		return int64(be.Uint16(s.sizes[2*sample:]))
	case s.sizeBits == 8:
		return int64(s.sizes[sample])
	case sample%2 == 0:
		return int64(s.sizes[sample/2] >> 4)
	default:
		return int64(s.sizes[sample/2] & 15)
	}
}

// bytesOf returns the length of the samples [from, to) in bytes.
func (s *sampleTables) bytesOf(from, to int64) int64 {
	if s.sizes == nil {
		return s.oneSize * (to - from)
	}
	var n int64
	for i := from; i < to; i++ {
		n += s.size(i)
	}
	return n
}

// durations returns the durations of the samples [from, to) as runs.
func (s *sampleTables) durations(from, to int64) []run {
	return sliceRuns(s.stts, false, from, to)
}

// offsets returns the composition offsets of the samples [from, to) as runs.
func (s *sampleTables) offsets(from, to int64) []run {
	if s.ctts == nil {
		return nil
	}
	out := sliceRuns(s.ctts, true, from, to)
	var have int64
	for _, r := range out {
		have += r.count
	}
	if have < to-from { // samples beyond the table have no offset
		out = append(out, run{to - from - have, 0})
	}
	return out
}

// entries returns the entries of a table that follow version, flags and an
// entry count, checked against the bytes that are there.
func (b box) entries(stride int) ([]byte, error) {
	p := b.payload()
	if len(p) < 8 {
		return nil, b.damaged(0, "cut off")
	}
	n := int64(be.Uint32(p[4:]))
	if n*int64(stride) > int64(len(p)-8) {
		return nil, b.damaged(4, "%d entries of %d bytes do not fit into its %d bytes", n, stride, len(p))
	}
	return p[8 : 8+n*int64(stride)], nil
}

// readTables reads the sample tables of an stbl.
func readTables(stbl box) (*sampleTables, error) {
	s := &sampleTables{box: stbl, all: true}
	for c, err := range stbl.children() {
		if err == nil {
			err = s.readTable(c)
		}
		if err != nil {
			return nil, err
		}
	}
	if s.stts == nil {
		s.stts = &runTable{}
	}
	if s.sizes == nil && s.oneSize == 0 && s.count > 0 {
		s.count = 0 // samples of no size: nothing to deliver
	}
	s.count = min(s.count, s.stts.count)
	if int64(len(s.depends)) < s.count {
		s.depends = nil // says nothing of some samples
	}
	if a, err := readAux(stbl); err != nil {
		return nil, err
	} else if a.found {
		s.auxPlace = &a
	}
	if s.count > 0 {
		return s, s.markChunks()
	}
	return s, nil
}

func (s *sampleTables) readTable(b box) (err error) {
	switch b.typ {
	case "stts":
		s.stts, err = readRuns(b, false)
	case "ctts":
		s.ctts, err = readRuns(b, true)
	case "stss":
		s.sync, err = b.entries(4)
		s.all = false
		s.sync = inOrder(s.sync)
	case "stsz":
		err = s.readSizes(b)
	case "stz2":
		err = s.readCompactSizes(b)
	case "sdtp":
		s.depends = b.payload()[min(4, len(b.payload())):]
	case "sgpd", "sbgp", "csgp":
		s.readGroup(b)
	case "stps":
		err = s.readPartialSync(b)
	case "stsc":
		s.stsc, err = b.entries(12)
	case "stco":
		s.chunks, err = b.entries(4)
		s.wide = false
	case "co64":
		s.chunks, err = b.entries(8)
		s.wide = true
	default:
		_, err = s.extras.read(b)
	}
	return err
}

// inOrder returns the numbers of a table in ascending order, each once, as some
// writers do not have them. Those that count from 0 count from 1 afterwards. Table
// is not changed.
func inOrder(table []byte) []byte {
	if ascending(table) {
		return table
	}
	all := make([]uint32, 0, len(table)/4)
	for i := 0; i+4 <= len(table); i += 4 {
		all = append(all, be.Uint32(table[i:]))
	}
	slices.Sort(all)
	first := 1 - min(1, all[0])
	var out []byte
	for _, n := range slices.Compact(all) {
		out = be.AppendUint32(out, n+first)
	}
	return out
}

func ascending(table []byte) bool {
	for i := 4; i < len(table); i += 4 {
		if be.Uint32(table[i:]) <= be.Uint32(table[i-4:]) {
			return false
		}
	}
	return len(table) == 0 || be.Uint32(table) > 0
}

// readSizes reads an stsz: one size for all samples, or a table.
func (s *sampleTables) readSizes(b box) error {
	p := b.payload()
	if len(p) < 12 {
		return b.damaged(0, "cut off")
	}
	s.oneSize, s.count = int64(be.Uint32(p[4:])), int64(be.Uint32(p[8:]))
	if s.oneSize != 0 {
		if s.count > maxTicks/s.oneSize {
			return b.damaged(4, "%d samples of %d bytes", s.count, s.oneSize)
		}
		return nil
	}
	if s.count*4 > int64(len(p)-12) {
		return b.damaged(8, "%d sizes do not fit into its %d bytes", s.count, len(p))
	}
	s.sizes, s.sizeBits = p[12:12+4*s.count], 32
	return nil
}

// readCompactSizes reads an stz2: sizes of 4, 8 or 16 bits.
func (s *sampleTables) readCompactSizes(b box) error {
	p := b.payload()
	if len(p) < 12 {
		return b.damaged(0, "cut off")
	}
	s.sizeBits, s.count = int(p[7]), int64(be.Uint32(p[8:]))
	if !slices.Contains([]int{4, 8, 16}, s.sizeBits) {
		return b.damaged(7, "sizes of %d bits", s.sizeBits)
	}
	n := (s.count*int64(s.sizeBits) + 7) / 8
	if n > int64(len(p)-12) {
		return b.damaged(8, "%d sizes do not fit into its %d bytes", s.count, len(p))
	}
	s.sizes = p[12 : 12+n]
	return nil
}
