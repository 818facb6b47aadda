package mp4

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

// piece is what of one segment lies in the interval.
type piece struct {
	start, end fragment.Time // on the presentation's timeline
	from, to   int64         // the media shown, in composition time of the cut's timescale
	still      bool          // the picture at from stands throughout
	samples    sampleRange   // what it takes, in decode order
}

// sampleRange is the samples [from, to).
type sampleRange struct{ from, to int64 }

// cut is what of a track goes into a clip.
type cut struct {
	track  *track
	refine int64 // the clip's timescale is the track's times this
	pieces []piece
	ranges []sampleRange // of the samples that are delivered: ascending and apart

	// By how much the first and the last sample's durations are cut, in the
	// cut's timescale. Texts can begin and end anywhere: what is shown at the
	// interval's beginning is shown from there on, in every player.
	trimStart, trimEnd int64
	frames             int64 // that a time code's first sample is later by

	// By how much composition offsets in the clip are greater than the source's, in
	// the cut's timescale, so that none is negative. The edit list takes it back:
	// negative offsets alone would say the same, but demuxers read an edit list with
	// those in different ways, and not all take one of a fragmented file into account.
	lift int64

	holed    bool              // between its samples lie unread ones
	behind   int64             // the first sample behind those
	want     fragment.Interval // on the track's own timeline
	base     int64             // decode time that is 0 in a fragmented clip, in the track's timescale
	original bool              // but there 0 is 0
	newID    uint32            // the track's ID in the clip, where it is another
	source   int               // which of several sources the track is of
	language string            // that the clip states, where the track states none
}

// id is the track's ID in the clip.
func (c *cut) id() uint32 { return cmp.Or(c.newID, c.track.id) }

// info describes the cut's track as it is in the clip.
func (c *cut) info() formats.Track {
	out := c.track.info
	out.ID = fmt.Sprint(c.id())
	return out
}

// delta is by how much decode times in a fragmented clip are later than in the
// source, in the track's timescale.
func (c *cut) delta() int64 {
	if c.original {
		return 0
	}
	return -c.base
}

// decodeInFragments returns a sample's decode time in a fragmented clip, in the
// cut's timescale.
func (c *cut) decodeInFragments(sample int64) int64 {
	return max(0, c.track.tables.decode(sample)+c.delta())*c.refine + c.trimmed(sample)
}

// trimmed is how much is cut off the beginning of a sample.
func (c *cut) trimmed(sample int64) int64 {
	if len(c.ranges) > 0 && sample == c.ranges[0].from {
		return c.trimStart
	}
	return 0
}

// placed returns a chunk that begins with a sample, that of a time code whose number
// is changed apart.
func (c *cut) placed(ch chunk, sample int64) []placed {
	if c.frames == 0 || sample != c.ranges[0].from {
		return []placed{{chunk: ch}}
	}
	first := chunk{offset: ch.offset, samples: 1, size: c.track.tables.size(sample), description: ch.description}
	ch.offset, ch.samples, ch.size = ch.offset+first.size, ch.samples-1, ch.size-first.size
	if ch.samples == 0 {
		return []placed{{chunk: first, frames: c.frames}}
	}
	return []placed{{chunk: first, frames: c.frames}, {chunk: ch}}
}

// timescale is the cut's, in ticks a second.
func (c *cut) timescale() int64 { return c.track.timescale * c.refine }

// trim cuts the durations of the first and the last sample of a track that is
// neither pictures nor sound.
func (c *cut) trim() {
	s := c.track.tables
	if c.track.handler == "tmcd" { // to cut its beginning alone would leave the number of another frame
		c.countFrames()
	}
	if c.track.kind == formats.Video || c.track.kind == formats.Audio || s.ctts != nil || len(c.pieces) != 1 || c.pieces[0].still {
		return
	}
	p := c.pieces[0]
	c.trimEnd = s.decode(p.samples.to)*c.refine - p.to
	if c.track.handler != "tmcd" { // that counts on: some writers leave its last sample without a duration
		c.trimStart, c.trimEnd = max(0, p.from-s.decode(p.samples.from)*c.refine), max(0, c.trimEnd)
	}
}

// dropLeading leaves out the pictures that a random access point is decoded
// before and presented after, where those are hidden: in an open group of
// pictures they refer to what was cut (ISO/IEC 14496-15 section 8.4.3, leading
// pictures). Fragments need that, for many players ignore the edit list that
// hides them in fragmented files and would show them broken.
func (c *cut) dropLeading() {
	s := c.track.tables
	if c.track.kind != formats.Video || s.ctts == nil || len(c.pieces) == 0 {
		return
	}
	var out []sampleRange
	for _, r := range c.ranges {
		access := s.compose(r.from)
		shown := func(p piece) bool { return p.samples.from < r.to && p.samples.to > r.from && p.from < access*c.refine }
		if right, ok := s.rightFrom(r.from); !ok || right != r.from || slices.ContainsFunc(c.pieces, shown) {
			out = append(out, r)
			continue
		}
		kept := sampleRange{r.from, r.from}
		for i := r.from; i < min(r.to, r.from+maxReorder); i++ {
			if s.compose(i) < access {
				if kept.from < kept.to {
					out = append(out, kept)
				}
				kept.from = i + 1
			}
			kept.to = i + 1
		}
		if kept.to = r.to; kept.from < kept.to {
			out = append(out, kept)
		}
	}
	c.ranges = out
}

// spanOf returns when the first of some samples is presented, and when the last
// ends, in composition time, those that are left out apart.
func (c *cut) spanOf(of sampleRange) (first, last int64, ok bool) {
	first, last = math.MaxInt64, math.MinInt64
	for _, r := range c.ranges {
		r.from, r.to = max(r.from, of.from), min(r.to, of.to)
		if a, b, some := c.track.tables.span(r); some {
			first, last, ok = min(first, a), max(last, b), true
		}
	}
	return first, last, ok
}

// samples returns how many samples the cut holds.
func (c *cut) samples() int64 {
	var n int64
	for _, r := range c.ranges {
		n += r.to - r.from
	}
	return n
}

// decodeInClip returns the decode time, in the clip's own timescale, of a
// sample that the cut holds: the durations of the delivered samples before it.
func (c *cut) decodeInClip(sample int64) int64 {
	var at int64
	s := c.track.tables
	for _, r := range c.ranges {
		if sample < r.to {
			at += s.decode(sample) - s.decode(r.from)
			if at > 0 {
				return at*c.refine - c.trimStart
			}
			return 0
		}
		at += s.decode(r.to) - s.decode(r.from)
	}
	return at*c.refine - c.trimStart - c.trimEnd
}

// unreadEnd returns when the last of the samples that were not read ends at
// most, in composition time; where there are none, the beginning of time.
func (c *cut) unreadEnd() int64 {
	s := c.track.tables
	if !c.holed {
		return math.MinInt64
	}
	end := s.decode(c.behind)
	if s.ctts != nil {
		end += max(0, s.ctts.max)
	}
	return end
}

// covered returns what the samples of the cut span on the presentation's
// timeline.
func (c *cut) covered() fragment.Interval {
	out := c.want
	for i, p := range c.pieces {
		start, end := p.start, p.end
		if first, last, ok := c.spanOf(p.samples); ok {
			last = max(last, c.unreadEnd())
			lead := fragment.Ticks(p.from-first*c.refine-c.trimmed(p.samples.from), c.timescale())
			trail := fragment.Ticks(last*c.refine-c.trimEnd-p.to, c.timescale())
			start = start.Sub(lead.Max(fragment.Time{}))
			if !p.still {
				end = end.Add(trail.Max(fragment.Time{}))
			}
		}
		if i == 0 {
			out = fragment.Between(start, end)
			continue
		}
		out = fragment.Between(out.Start.Min(start), out.End.Max(end))
	}
	return out
}
