package mp4

import (
	"bytes"
	"cmp"
	"math"
	"slices"
)

// writeTables writes the sample tables of a cut. Boxes of the stbl that are not
// about single samples are copied.
func (c *clip) writeTables(w *builder, i int, stbl box, wide bool, start int64) {
	cut := c.cuts[i]
	w.box("stbl", func() {
		w.raw(cut.track.stsd.raw)
		if c.fragmented {
			writeNoSamples(w)
		} else {
			c.writeSamples(w, i, wide, start)
		}
		for b := range stbl.children() {
			switch b.typ {
			case "stsd", "stts", "ctts", "stss", "stsz", "stz2", "stsc", "stco", "co64", "sdtp",
				"stps", "stsh", "padb", "stdp", "subs", "sgpd", "sbgp", "csgp", "saiz", "saio", "senc": // written above
			case "cslg":
				if cut.refine == 1 && cut.lift == 0 {
					w.raw(b.raw)
				}
			case "uuid":
				if p := b.payload(); len(p) < 16 || !bytes.Equal(p[:16], piffSenc) {
					w.raw(b.raw)
				}
			default:
				w.raw(b.raw)
			}
		}
		for _, g := range cut.track.common.groups {
			if c.fragmented && len(g.entries) > 0 {
				g.writeDescriptions(w, g.entries)
			}
		}
	})
}

// writeSamples writes the tables of the delivered samples.
func (c *clip) writeSamples(w *builder, i int, wide bool, start int64) {
	cut := c.cuts[i]
	s := cut.track.tables
	cut.writeDurations(w)
	if s.ctts != nil {
		cut.writeOffsets(w)
	}
	if !s.all {
		cut.writeSync(w)
	}
	if s.depends != nil {
		w.full("sdtp", 0, 0, func() {
			for _, r := range cut.ranges {
				w.raw(s.depends[r.from:r.to])
			}
		})
	}
	c.writeChunks(w, i, wide, start)
	cut.writeSizes(w)
	cut.writeGroups(w)
	cut.writeExtras(w)
	if s.aux != nil {
		s.aux.write(w, cut.track, cut.ranges)
	}
}

// writeNoSamples writes the tables of a track whose samples are in fragments.
func writeNoSamples(w *builder) {
	for _, typ := range []string{"stts", "stsc", "stsz", "stco"} {
		w.full(typ, 0, 0, func() {
			w.u32(0)
			if typ == "stsz" {
				w.u32(0)
			}
		})
	}
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
	if n := len(runs) - 1; c.trimEnd != 0 {
		runs = append(runs, run{1, runs[n].value - c.trimEnd})
		if runs[n].count--; runs[n].count == 0 {
			runs = slices.Delete(runs, n, n+1)
		}
	}
	writeRuns(w, "stts", 0, runs)
}

// writeOffsets writes the composition offsets, raised so that none is negative
// where that is possible.
func (c *cut) writeOffsets(w *builder) {
	runs := c.runs(c.track.tables.offsets)
	version := uint8(0)
	for i := range runs {
		if runs[i].value += c.lift; runs[i].value < 0 {
			version = 1
		}
	}
	writeRuns(w, "ctts", version, runs)
}

// raiseOffsets settles by how much composition offsets are raised. All fragments
// share one edit list: none are raised where others are passed on unread, were given
// out already, or are yet to come.
func (c *clip) raiseOffsets() {
	unread := slices.ContainsFunc(c.sections, func(s section) bool { return s.hole != nil })
	if c.fragmented && (c.goesOn || c.open || unread) {
		return
	}
	for _, cut := range c.cuts {
		cut.lift = cut.leastLift()
	}
}

// leastLift returns by how much the cut's composition offsets have to be raised so
// that none is negative; 0 where that is not possible.
func (c *cut) leastLift() int64 {
	offsets := c.track.tables.ctts
	if offsets == nil || offsets.min >= 0 {
		return 0
	}
	least, most := int64(0), int64(0)
	for _, r := range c.runs(c.track.tables.offsets) {
		least, most = min(least, r.value), max(most, r.value)
	}
	if most-least > math.MaxInt32 {
		return 0
	}
	return -least
}

// writeSync writes the numbers of the sync samples.
func (c *cut) writeSync(w *builder) {
	w.full("stss", 0, 0, func() {
		at := len(w.buf)
		w.u32(0)
		entries := uint32(0)
		c.each(func(number, sample int64) {
			if c.track.tables.isSync(sample) && !c.tooLate(sample) {
				w.u32(uint32(number + 1))
				entries++
			}
		})
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

// writeGroups writes the groups that the delivered samples belong to.
func (c *cut) writeGroups(w *builder) {
	for _, g := range c.track.tables.groups {
		runs := g.runsOfAll(c.ranges)
		switch {
		case g.stps:
			writePartialSync(w, runs)
		case len(g.entries) > 0 || g.samples == nil: // several groupings of a type share descriptions
			g.writeDescriptions(w, g.entries)
			fallthrough
		default:
			if g.samples != nil {
				g.writeRuns(w, runs)
			}
		}
	}
}

// writePartialSync writes an stps of the samples that runs name.
func writePartialSync(w *builder, runs []run) {
	if !named(runs) {
		return
	}
	w.full("stps", 0, 0, func() {
		at := len(w.buf)
		w.u32(0)
		var number, entries uint32
		for _, r := range runs {
			for range r.count {
				if number++; r.value != 0 {
					w.u32(number)
					entries++
				}
			}
		}
		be.PutUint32(w.buf[at:], entries)
	})
}
