package mp4

import (
	"math"

	"github.com/mediafrag/mediafrag/formats"
)

// maxSubsegments is the most fragments that one sidx can name: a field of 16 bits.
const maxSubsegments = 1<<16 - 1

// writeSegmentIndex writes a sidx over the pieces of the clip, as far as their
// sizes and times are known.
func (c *clip) writeSegmentIndex(w *builder, pieces []written) {
	main := c.mainCut()
	if len(pieces) > maxSubsegments {
		return
	}
	for i := range pieces {
		p := &pieces[i]
		if p.size < 0 || p.size > math.MaxInt32 {
			return
		}
		if p.until == 0 && i > 0 { // unread, or without the index's track
			p.start, p.until, p.sync = pieces[i-1].until, pieces[i-1].until, true
		}
		if i > 0 {
			pieces[i-1].until = p.start
		}
	}
	w.full("sidx", 1, 0, func() {
		w.u32(main.id())
		w.u32(uint32(main.timescale()))
		w.u64(uint64(max(0, pieces[0].start)))
		w.u64(0)
		w.u32(uint32(len(pieces)))
		for _, p := range pieces {
			w.u32(uint32(p.size))
			w.u32(uint32(max(0, p.until-p.start)))
			if p.sync {
				w.u32(1<<31 | 1<<28) // starts with a SAP of type 1
			} else {
				w.u32(0)
			}
		}
	})
}

// times returns when the samples of a fragment present, by the index's track.
func (c *clip) times(trafs []traf) (start, until int64, sync bool) {
	main := c.mainCut()
	s := main.track.tables
	start, until = math.MaxInt64, math.MinInt64
	for _, t := range trafs {
		if t.cut != main {
			continue
		}
		if start == math.MaxInt64 {
			sync = s.isSync(t.first())
		}
		if s.ctts == nil {
			last := t.end() - 1
			start = min(start, main.decodeInFragments(t.first()))
			until = max(until, main.decodeInFragments(last)+(s.duration(last)-s.gaps[last])*main.refine)
			continue
		}
		t.each(func(sample, _ int64) {
			at := main.decodeInFragments(sample) + s.offset(sample)*main.refine + main.lift
			start, until = min(start, at), max(until, at+(s.duration(sample)-s.gaps[sample])*main.refine)
		})
	}
	if start > until {
		return 0, 0, false
	}
	return start, until, sync
}

// mainCut is the cut whose times an index gives: the first of pictures, or the
// first.
func (c *clip) mainCut() *cut {
	for _, cut := range c.cuts {
		if cut.track.kind == formats.Video {
			return cut
		}
	}
	return c.cuts[0]
}
