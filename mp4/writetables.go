package mp4

import (
	"cmp"
	"slices"
)

// writeTables writes the sample tables of a cut. Boxes of the stbl that are not
// about single samples are copied.
func (c *clip) writeTables(w *builder, i int, stbl box, wide bool, start int64) {
	cut := c.cuts[i]
	w.box("stbl", func() {
		for b := range stbl.children() {
			switch b.typ {
			case "stts":
				cut.writeDurations(w)
			case "ctts":
				cut.writeOffsets(w)
			case "stss":
				cut.writeSync(w, b, cut.track.tables.isSync)
			case "stsz", "stz2":
				cut.writeSizes(w)
			case "stsc":
				c.writeChunks(w, i, wide, start)
			case "stco", "co64": // with stsc
			case "sdtp":
				cut.writePerSample(w, b)
			case "sbgp":
				cut.writeGroups(w, b)
			case "stps", "stsh", "padb", "stdp", "subs", "saiz", "saio", "senc":
				// about single samples, and not yet cut
			case "cslg":
				if cut.refine == 1 {
					w.raw(b.raw)
				}
			default: // stsd, sgpd and what is not known
				w.raw(b.raw)
			}
		}
	})
}

// writeRuns writes a run-length table of (count, value) entries.
func writeRuns(w *builder, typ string, version uint8, runs []run) {
	w.full(typ, version, 0, func() {
		w.u32(uint32(len(runs)))
		for _, r := range runs {
			w.u32(uint32(r.count))
			w.u32(uint32(r.value))
		}
	})
}

// runs gathers runs of all the cut's ranges, their values refined.
func (c *cut) runs(of func(from, to int64) []run) []run {
	var out []run
	for _, r := range c.ranges {
		for _, v := range of(r.from, r.to) {
			out = appendRun(out, run{v.count, v.value * c.refine})
		}
	}
	return out
}

func (c *cut) writeDurations(w *builder) {
	runs := c.runs(c.track.tables.durations)
	if c.trimStart > 0 {
		first := runs[0]
		runs = slices.Insert(runs[1:], 0, run{1, first.value - c.trimStart}, run{first.count - 1, first.value})
		runs = slices.DeleteFunc(runs, func(r run) bool { return r.count == 0 })
	}
	if n := len(runs) - 1; c.trimEnd > 0 {
		runs = append(runs, run{1, runs[n].value - c.trimEnd})
		if runs[n].count--; runs[n].count == 0 {
			runs = slices.Delete(runs, n, n+1)
		}
	}
	writeRuns(w, "stts", 0, runs)
}

func (c *cut) writeOffsets(w *builder) {
	runs := c.runs(c.track.tables.offsets)
	version := uint8(0)
	if slices.ContainsFunc(runs, func(r run) bool { return r.value < 0 }) {
		version = 1
	}
	writeRuns(w, "ctts", version, runs)
}

// writeSync writes the numbers of those delivered samples for which is holds.
func (c *cut) writeSync(w *builder, b box, is func(sample int64) bool) {
	w.full(b.typ, 0, 0, func() {
		at := len(w.buf)
		w.u32(0)
		var number, entries uint32
		for _, r := range c.ranges {
			for s := r.from; s < r.to; s++ {
				number++
				if is(s) {
					w.u32(number)
					entries++
				}
			}
		}
		be.PutUint32(w.buf[at:], entries)
	})
}

func (c *cut) writeSizes(w *builder) {
	t := c.track.tables
	w.full("stsz", 0, 0, func() {
		if t.sizes == nil {
			w.u32(uint32(t.oneSize))
			w.u32(uint32(c.samples()))
			return
		}
		w.u32(0)
		w.u32(uint32(c.samples()))
		for _, r := range c.ranges {
			for s := r.from; s < r.to; s++ {
				w.u32(uint32(t.size(s)))
			}
		}
	})
}

// writeChunks writes stsc and stco (or co64) of a cut's chunks.
func (c *clip) writeChunks(w *builder, i int, wide bool, start int64) {
	var chunks []placed
	for _, ch := range c.chunks {
		if ch.cut == i {
			chunks = append(chunks, ch)
		}
	}
	slices.SortFunc(chunks, func(a, b placed) int { return cmp.Compare(a.order, b.order) })
	w.full("stsc", 0, 0, func() {
		at := len(w.buf)
		w.u32(0)
		var entries uint32
		var last chunk
		for n, ch := range chunks {
			if n > 0 && ch.samples == last.samples && ch.description == last.description {
				continue
			}
			w.u32(uint32(n + 1))
			w.u32(uint32(ch.samples))
			w.u32(ch.description)
			last = ch.chunk
			entries++
		}
		be.PutUint32(w.buf[at:], entries)
	})
	typ := "stco"
	if wide {
		typ = "co64"
	}
	w.full(typ, 0, 0, func() {
		w.u32(uint32(len(chunks)))
		for _, ch := range chunks {
			if wide {
				w.u64(uint64(start + ch.at))
			} else {
				w.u32(uint32(start + ch.at))
			}
		}
	})
}

// writePerSample cuts a table of one byte a sample behind version and flags.
func (c *cut) writePerSample(w *builder, b box) {
	p := b.payload()
	if int64(len(p))-4 < c.track.tables.count {
		return // says nothing of some samples
	}
	w.box(b.typ, func() {
		w.raw(p[:4])
		for _, r := range c.ranges {
			w.raw(p[4+r.from : 4+r.to])
		}
	})
}

// writeGroups cuts an sbgp: runs of samples that belong to a group (ISO/IEC
// 14496-12 section 8.9.2).
func (c *cut) writeGroups(w *builder, b box) {
	p := b.payload()
	head := 8 // version, flags, grouping type
	if len(p) > 0 && p[0] == 1 {
		head = 12 // and a parameter
	}
	if len(p) < head+4 || int64(be.Uint32(p[head:]))*8 > int64(len(p)-head-4) {
		return // damaged; groups are advice
	}
	t, err := readRuns(box{typ: b.typ, path: b.path, header: 0, raw: p[head-4:]}, false)
	if err != nil {
		return
	}
	var runs []run
	for _, r := range c.ranges {
		for _, v := range sliceRuns(t, false, r.from, r.to) {
			runs = appendRun(runs, v)
		}
	}
	w.box(b.typ, func() {
		w.raw(p[:head])
		w.u32(uint32(len(runs)))
		for _, r := range runs {
			w.u32(uint32(r.count))
			w.u32(uint32(r.value))
		}
	})
}
