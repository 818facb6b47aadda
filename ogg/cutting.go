package ogg

import (
	"context"
	"fmt"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// maxRegion is how many bytes are read at each end of an interval, at most,
// to find where its packets begin and end.
const maxRegion = 32 << 20

// cutting resolves what a clip of one link holds.
type cutting struct {
	w        *seek.Window
	l        *link
	streams  []*stream     // selected
	a, b     fragment.Time // on the file's own clock
	original bool          // granule positions are kept
	asIs     bool          // only pages of the original, unchanged
	serials  serials

	begin, finish map[*stream]stretch // of streams that are not text
	head, tail    *region
	// Where text is selected, it is looked for by the pages of clock: from where
	// shows says what shows at the beginning stands, and ends where the clip does.
	// before and behind are what was looked through: the first pages and what
	// precedes them, and the last pages and what precedes those; ahead is what
	// follows the first pages.
	clock                 *stream
	shows, ends           map[*stream]stretch
	before, behind, ahead *region
	textCut               int64 // text from here on, far behind all else, is not carried; 0: it is

	t0      fragment.Time // clip time 0 on the file's own clock
	carried []*carried
}

// resolve finds what is carried of each stream.
func (c *cutting) resolve(ctx context.Context) error {
	if err := c.seek(ctx); err != nil {
		return err
	}
	if err := c.read(ctx); err != nil {
		return err
	}
	if err := c.readText(ctx); err != nil {
		return err
	}
	for _, s := range c.streams {
		k, err := c.carry(ctx, s)
		if err != nil {
			return err
		}
		c.carried = append(c.carried, k)
	}
	return nil
}

// seek finds the stretches in which each stream's first and last packet lie.
// The searches for both ends run side by side.
func (c *cutting) seek(ctx context.Context) error {
	c.begin, c.finish = map[*stream]stretch{}, map[*stream]stretch{}
	c.shows, c.ends = map[*stream]stretch{}, map[*stream]stretch{}
	c.t0 = c.a
	if c.texts() {
		c.clock = c.l.clock()
	}
	if err := c.useIndex(ctx); err != nil {
		return err
	}
	ends := newJobs(ctx)
	for _, s := range c.streams {
		if !s.text() {
			ends.find(c.l, s, satSub(s.firstFrom(c.b), 1), c.finish)
		}
	}
	if c.clock != nil {
		ends.find(c.l, c.clock, satSub(c.clock.firstFrom(c.b), 1), c.ends)
	}
	ends.Go(func() error {
		if c.pictures() {
			return c.seekPictures(ends.ctx)
		}
		starts := newJobs(ends.ctx)
		c.findSounds(starts)
		return starts.wait()
	})
	return ends.wait()
}

// findSounds searches where sound begins, and text.
func (c *cutting) findSounds(j *jobs) {
	for _, s := range c.streams {
		if s.audio() {
			c.findSound(j, s)
		}
	}
	c.findText(j)
}

// pictures reports whether the clip must begin at a keyframe.
func (c *cutting) pictures() bool {
	return slices.ContainsFunc(c.streams, func(s *stream) bool { return s.video() })
}

// findSound searches where sound has to begin: from the packet that a decoder
// needs first. Of lapped codecs the first page holds two packets, so that the
// stretch goes on to the page of the second.
func (c *cutting) findSound(j *jobs, s *stream) {
	start := max(s.nearest(c.t0), s.begin)
	v, lapped := s.codec.(*vorbis)
	if !lapped {
		j.find(c.l, s, satSub(start, c.lead(s)), c.begin)
		return
	}
	second := map[*stream]stretch{}
	j.find(c.l, s, satSub(start, v.blocks[1]), c.begin)
	j.find(c.l, s, start, second)
	j.into = append(j.into, func() {
		at := c.begin[s]
		at.to, at.after = second[s].to, second[s].after
		c.begin[s] = at
	})
}

// lead is how many ticks before what is wanted a stream is carried. Where granule
// positions are kept, so is the pre-skip, and a player leaves out so much.
func (c *cutting) lead(s *stream) int64 {
	if c.original {
		return max(s.lead, s.origin)
	}
	return s.lead
}

// read reads the regions in which the clip begins and ends; where they touch,
// the head is all. A stream that ends before b needs no cut at its end.
func (c *cutting) read(ctx context.Context) (err error) {
	head, cuts := bounds(c.begin, false)
	tail, ends := bounds(c.finish, true)
	head, cuts = c.around(head, cuts, c.shows)
	if !cuts {
		return nil // all has ended before a
	}
	if tail, ends = c.around(tail, ends, c.ends); ends {
		for _, at := range c.finish {
			if at.after == nil && at.to > tail.from {
				tail.to = max(tail.to, at.to)
			}
		}
	}
	if ends && tail.from <= head.to {
		head.from, head.to = min(head.from, tail.from), max(head.to, tail.to)
		ends = false
	}
	if c.head, err = c.readBound(ctx, head); err != nil {
		return err
	}
	if beyond, err := c.behindHole(ctx); err != nil {
		return err
	} else if beyond > head.to {
		head.to = beyond
		if ends && tail.from <= head.to {
			head.to, ends = max(head.to, tail.to), false
		}
		if c.head, err = c.readBound(ctx, head); err != nil {
			return err
		}
	}
	if ends {
		c.tail, err = c.readBound(ctx, tail)
	}
	return err
}

// extend has the head reach to the page on which the packet of a stream ends that
// holds a tick.
func (c *cutting) extend(ctx context.Context, s *stream, tick int64) error {
	at, err := c.l.find(ctx, s, tick)
	if err != nil {
		return searchError(err)
	}
	if at.after == nil || at.to <= c.head.to {
		return nil
	}
	c.head, err = c.readBound(ctx, stretch{from: c.head.from, to: at.to})
	return err
}

// holeReach is how many pages behind a hole are looked at for two packets that
// yield sound.
const holeReach = 4

// behindHole returns how far the head has to reach where the interval begins in a
// hole: the first packet of a lapped codec behind it yields nothing, so that the
// clip needs the next, too, which may be on another page.
func (c *cutting) behindHole(ctx context.Context) (to int64, err error) {
	for _, s := range c.streams {
		at := c.begin[s]
		if !s.lapped() || at.after == nil {
			continue
		}
		for range holeReach {
			r, err := c.readBound(ctx, stretch{from: c.head.from, to: max(c.head.to, at.to)})
			if err != nil {
				return 0, err
			}
			k := carried{s: s, start: max(s.nearest(c.t0), s.begin)}
			if k.choose(c, r.place(s, c.l)) >= 0 {
				break
			}
			pos, _ := s.position(at.after.granule)
			next, err := c.l.find(ctx, s, pos.end)
			if err != nil {
				return 0, searchError(err)
			}
			if next.after == nil {
				break
			}
			at.to, at.after = next.to, next.after
		}
		c.begin[s] = at
		to = max(to, at.to)
	}
	return to, nil
}

func (c *cutting) readBound(ctx context.Context, r stretch) (*region, error) {
	if r.to-r.from > maxRegion {
		return nil, &formats.Error{Container: "ogg", Element: "pages", Offset: r.from, Err: seek.ErrLimit,
			Problem: fmt.Sprintf("the streams lie %d bytes apart", r.to-r.from),
			Hint:    "select one track, or interleave the file anew"}
	}
	return c.l.readRegion(ctx, c.w, r.from, r.to)
}

// bounds returns the stretch that holds all of some; ok is false where there
// are none. Those without a page after them are left out: for a beginning that
// means that the stream has ended before, for an end that its last page needs
// no change, unless it has to be marked as the last.
func bounds(all map[*stream]stretch, ends bool) (out stretch, ok bool) {
	for _, r := range all {
		if r.after == nil && !(ends && r.before != nil && !r.before.eos) {
			continue
		}
		if !ok || r.from < out.from {
			out.from = r.from
		}
		out.to, ok = max(out.to, r.to), true
	}
	return out, ok
}
