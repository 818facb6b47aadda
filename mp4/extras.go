package mp4

import "sort"

// extras are what the rarer tables say of single samples. Tables that a track
// does not have are nil.
type extras struct {
	first      int64  // the sample of the tables below that is sample 0
	shadows    []byte // stsh: pairs of sample numbers, 8 bytes
	padding    []byte // padb: bits at the end of each sample that are not used, half a byte each
	priorities []byte // stdp: 2 bytes each
	parts      []*sampleParts
}

// read reads a table of an stbl or a traf; ok is false where it is none of
// these. Those that are too short for their samples say nothing of the others.
func (x *extras) read(b box) (ok bool, err error) {
	p := b.payload()
	switch b.typ {
	case "stsh": // ISO/IEC 14496-12 section 8.6.3
		x.shadows, err = b.entries(8)
	case "padb": // section 8.7.6
		if len(p) >= 8 {
			x.padding = p[8:]
		}
	case "stdp": // section 8.5.3
		x.priorities = p[min(4, len(p)):]
	case "subs":
		var s *sampleParts
		if s, err = readSampleParts(b); err == nil {
			x.parts = append(x.parts, s)
		}
	default:
		return false, nil
	}
	return true, err
}

// from returns what is said of the samples from one on, which becomes sample 0.
func (x extras) from(sample int64) extras {
	x.first += sample
	return x
}

// paddingOf returns how many bits at a sample's end are not used, 0 to 7.
func (x *extras) paddingOf(sample int64) byte {
	sample += x.first
	if sample/2 >= int64(len(x.padding)) {
		return 0
	}
	if sample%2 == 0 {
		return x.padding[sample/2] >> 4 & 7
	}
	return x.padding[sample/2] & 7
}

// priorityOf returns a sample's degradation priority.
func (x *extras) priorityOf(sample int64) uint16 {
	sample += x.first
	if 2*sample+2 > int64(len(x.priorities)) {
		return 0
	}
	return be.Uint16(x.priorities[2*sample:])
}

// flags are what a fragment's sample flags say of it.
func (x *extras) flags(sample int64) uint32 {
	return uint32(x.paddingOf(sample))<<17 | uint32(x.priorityOf(sample))
}

// writeExtras writes the rarer tables of the delivered samples.
func (c *cut) writeExtras(w *builder) {
	x := &c.track.tables.extras
	if x.shadows != nil {
		c.writeShadows(w, x)
	}
	if x.padding != nil {
		w.full("padb", 0, 0, func() {
			w.u32(uint32(c.samples()))
			half, odd := byte(0), false
			c.each(func(_, sample int64) {
				if half = half<<4 | x.paddingOf(sample); odd {
					w.raw([]byte{half})
					half = 0
				}
				odd = !odd
			})
			if odd {
				w.raw([]byte{half << 4})
			}
		})
	}
	if x.priorities != nil {
		w.full("stdp", 0, 0, func() {
			c.each(func(_, sample int64) { w.buf = be.AppendUint16(w.buf, x.priorityOf(sample)) })
		})
	}
	for _, s := range x.parts {
		s.write(w, x.first, c.ranges)
	}
}

// each calls f for each delivered sample, with its number in the clip, from 0.
func (c *cut) each(f func(number, sample int64)) {
	number := int64(0)
	for _, r := range c.ranges {
		for sample := r.from; sample < r.to; sample++ {
			f(number, sample)
			number++
		}
	}
}

// numberOf returns the number of a delivered sample in the clip.
func (c *cut) numberOf(sample int64) (number int64, ok bool) {
	for _, r := range c.ranges {
		if sample >= r.from && sample < r.to {
			return number + sample - r.from, true
		}
		number += r.to - r.from
	}
	return 0, false
}

// writeShadows writes the pairs of sync samples that may stand for others, as
// far as both are delivered.
func (c *cut) writeShadows(w *builder, x *extras) {
	var kept []byte
	for p := x.shadows; len(p) >= 8; p = p[8:] {
		a, first := c.numberOf(int64(be.Uint32(p)) - 1 - x.first)
		b, second := c.numberOf(int64(be.Uint32(p[4:])) - 1 - x.first)
		if first && second {
			kept = be.AppendUint32(be.AppendUint32(kept, uint32(a+1)), uint32(b+1))
		}
	}
	if len(kept) > 0 {
		w.full("stsh", 0, 0, func() {
			w.u32(uint32(len(kept) / 8))
			w.raw(kept)
		})
	}
}

// sampleParts are what a subs says of the parts of samples (ISO/IEC 14496-12 section
// 8.7.7), read in place.
type sampleParts struct {
	version byte
	flags   uint32 // tell several of a track apart
	entries []byte
	marks   []partsMark
}

// partsMark is where an entry begins.
type partsMark struct {
	at     int
	sample int64 // that it is for
}

// Lengths in a subs, in bytes: of what stands before an entry's parts, and of a
// part by version.
const partsFields = 6

func (s *sampleParts) stride() int { return 8 + 2*int(s.version&1) }

func readSampleParts(b box) (*sampleParts, error) {
	p := b.payload()
	if len(p) < 8 {
		return nil, b.damaged(0, "cut off")
	}
	s := &sampleParts{version: p[0], flags: be.Uint32(p) & 0xffffff, entries: p[8:]}
	if bad := s.mark(int64(be.Uint32(p[4:])), maxTicks); bad >= 0 {
		return nil, b.damaged(8+bad, "its entries do not fit into its %d bytes", len(p))
	}
	return s, nil
}

// mark goes through n entries, as far as they are for samples before one, and
// marks some of them. It returns where one begins that is cut off, else -1.
func (s *sampleParts) mark(n, to int64) (bad int) {
	s.marks = nil
	at, sample := 0, int64(-1)
	for i := range n {
		if len(s.entries)-at < partsFields {
			return at
		}
		if sample += int64(be.Uint32(s.entries[at:])); sample >= to {
			break
		}
		if i%marksEvery == 0 {
			s.marks = append(s.marks, partsMark{at, sample})
		}
		next := at + partsFields + int(be.Uint16(s.entries[at+4:]))*s.stride()
		if next > len(s.entries) {
			return at
		}
		at = next
	}
	s.entries = s.entries[:at]
	return -1
}

// each calls f with each entry for one of the samples [from, to), without the
// distance that it begins with.
func (s *sampleParts) each(from, to int64, f func(sample int64, entry []byte)) {
	i := max(0, sort.Search(len(s.marks), func(i int) bool { return s.marks[i].sample > from })-1)
	if len(s.marks) == 0 {
		return
	}
	at, sample := s.marks[i].at, s.marks[i].sample
	for at < len(s.entries) {
		next := at + partsFields + int(be.Uint16(s.entries[at+4:]))*s.stride()
		if sample >= to {
			return
		}
		if sample >= from {
			f(sample, s.entries[at+4:next])
		}
		if at = next; at < len(s.entries) {
			sample += int64(be.Uint32(s.entries[at:]))
		}
	}
}

// write writes a subs of the samples in ranges, which count from the given
// sample of the table on. One that says nothing of them is left out.
func (s *sampleParts) write(w *builder, first int64, ranges []sampleRange) {
	var entries []byte
	n, last, number := uint32(0), int64(-1), int64(0)
	for _, r := range ranges {
		s.each(first+r.from, first+r.to, func(sample int64, entry []byte) {
			at := number + sample - first - r.from
			entries = append(be.AppendUint32(entries, uint32(at-last)), entry...)
			last = at
			n++
		})
		number += r.to - r.from
	}
	if n == 0 {
		return
	}
	w.full("subs", s.version, s.flags, func() {
		w.u32(n)
		w.raw(entries)
	})
}
