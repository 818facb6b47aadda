package webm

import (
	"math"
)

// findEnd decides, for what is not sound, where the clip ends.
func (p *planner) findEnd() {
	p.endOff = p.startOff
	if p.b == maxOffset { // what follows the last block is no part of its Cluster, such as an index
		for _, b := range p.end.blocks {
			p.endOff = max(p.endOff, b.end)
		}
		return
	}
	for _, b := range p.end.blocks {
		t := p.has(b.track)
		if t != nil && t.kind != typeAudio && p.time(b.ts, t) < p.b && b.offset >= p.startOff {
			p.endOff = max(p.endOff, b.end)
		}
	}
}

// cutTail decides what is written anew at the end.
func (c *soundCut) cutTail(p *planner) error {
	pieces, err := p.pieces(c.t, p.end, nil, p.b-interleave, p.b)
	if err != nil {
		return err
	}
	if n := len(pieces); n > 0 {
		c.finish = pieces[n-1].end() - max(0, pieces[n-1].b.discard)
	}
	if p.b == maxOffset {
		return nil
	}
	last := -1
	for i, q := range pieces {
		if q.at < p.b-halfSample {
			last = i
		}
	}
	if last < 0 { // nothing of it is in sight before b
		c.finish = -1
		c.to = p.end.from
		if p.end == p.start {
			c.to = max(c.to, c.from)
		}
		for _, q := range pieces {
			c.to = q.b.offset
			break
		}
		return nil
	}
	q := pieces[last]
	c.closing = q.data
	c.to, c.until, c.finish = q.b.end, q.b.end, min(q.end(), p.b)
	if c.t.sound.cut == cutWhole {
		c.finish = q.end()
	}
	over := q.end() - max(q.b.discard, 0) - p.b
	if q.b.discard > 0 && !q.last {
		over = q.end() - p.b
	}
	switch {
	case q.last && over <= halfSample:
		return nil // ends with a block
	case c.t.sound.cut == cutWhole && q.last:
		return nil
	case q.b.offset < c.from: // the clip lies in frames that are written anew already
		c.cutShort(p.b)
		return nil
	}
	c.to = q.b.offset
	i := last
	for i > 0 && pieces[i-1].b == q.b {
		i--
	}
	for ; i <= last; i++ {
		f := c.headFrame(pieces[i], math.MinInt64/2, false)
		if i == last {
			c.trim(&f, over)
		}
		c.tail = append(c.tail, f)
	}
	return nil
}

// trim leaves out the last ns of a frame.
func (c *soundCut) trim(f *frame, over int64) {
	switch {
	case over <= halfSample:
	case c.t.sound.cut == cutBytes:
		n := int(nsToSamples(over, c.t.sound.rate)) * c.t.sound.align
		f.data = f.data[:max(0, len(f.data)-n)]
	case c.t.sound.cut == cutWhole:
	default:
		f.discard = max(f.discard, 0) + over
	}
}

// cutShort ends the frames at the beginning at b.
func (c *soundCut) cutShort(b int64) {
	for i := range c.head {
		f := &c.head[i]
		long := samplesToNs(c.lengthOf(f.data), c.t.sound.rate)
		if f.ns >= b-halfSample {
			c.head = c.head[:i]
			return
		}
		if over := f.ns + long - b; over > halfSample && f.discard >= 0 {
			c.trim(f, over)
			c.head = c.head[:i+1]
			return
		}
	}
}

func (c *soundCut) lengthOf(data []byte) int64 {
	if c.t.sound.length == nil {
		return 0
	}
	return c.t.sound.length(nil, data)
}

// finishEnd takes the sound into account for where the clip ends.
func (p *planner) finishEnd() {
	if p.b == maxOffset {
		return
	}
	for _, c := range p.sounds {
		if c.to == 0 {
			continue
		}
		// Blocks that stay may all lie before what was read around the end.
		if p.end != p.start && len(p.end.clusters) > 0 {
			if last := p.end.clusters[0]; c.to >= last.offset && c.from < last.offset {
				p.endOff = max(p.endOff, last.first)
			}
		}
		for _, b := range p.end.blocks { // the last that stays in place
			if b.track == c.t.number && b.offset < c.to && b.offset >= max(c.from, p.startOff) {
				p.endOff = max(p.endOff, b.end)
			}
		}
	}
}
