package webm

import (
	"math"
)

// piece is one frame of a sound track with its exact time.
type piece struct {
	b        *block
	data     []byte
	last     bool  // of its block
	leads    bool  // the first of its block
	at, long int64 // ns
}

func (q piece) end() int64 { return q.at + q.long }

// pieces returns the frames of a sound track in a region, with exact times,
// which the blocks from one time to the first at or behind another tell.
func (p *planner) pieces(t *track, r *region, early []block, from, to int64) ([]piece, error) {
	var out []piece
	add := func(b *block) error {
		if b.payload == nil {
			return nil
		}
		frames, err := b.frames("Segment/Cluster")
		if err != nil {
			return err
		}
		if len(out)+len(frames) > maxBlocks {
			return tooMany(b.offset)
		}
		for i, f := range frames {
			out = append(out, piece{b: b, data: f, leads: i == 0, last: i == len(frames)-1, at: math.MinInt64})
		}
		return nil
	}
	for i := range early {
		if err := add(&early[i]); err != nil {
			return nil, err
		}
	}
	nearly := len(out)
	for i := range r.blocks {
		if b := &r.blocks[i]; b.track == t.number {
			if err := add(b); err != nil {
				return nil, err
			}
		}
	}
	p.setLengths(t, out)
	if nearly == len(out) {
		return nil, nil // nothing tells the times of the early ones
	}
	p.setTimes(t, out, nearly, from, to)
	if t.sound.length == nil || t.sound.unsure {
		guessLengths(out)
	}
	return out, nil
}

// longestGuess is the most that a frame is believed to last because none
// follows before, in ns.
const longestGuess = 2e9

// guessLengths gives frames of which nothing says how long they last, such as
// those of an encrypted track, the time until the next begins; those of one
// block share it, and the last lasts as long as the one before.
func guessLengths(pieces []piece) {
	var share int64
	for i := 0; i < len(pieces); {
		next := i + 1
		for next < len(pieces) && !pieces[next].leads {
			next++
		}
		if next < len(pieces) {
			share = max(0, pieces[next].at-pieces[i].at) / int64(next-i)
		}
		for n := range pieces[i:next] {
			if q := &pieces[i+n]; q.long == 0 {
				q.at, q.long = pieces[i].at+int64(n)*share, min(share, longestGuess)
			}
		}
		i = next
	}
}

// setLengths finds how long each frame lasts.
func (p *planner) setLengths(t *track, pieces []piece) {
	for i := range pieces {
		q := &pieces[i]
		var samples int64
		if t.sound.length != nil {
			var prev []byte
			if i > 0 {
				prev = pieces[i-1].data
			}
			samples = t.sound.length(prev, q.data)
		}
		switch {
		case samples > 0:
			q.long = samplesToNs(samples, t.sound.rate)
		case t.sound.silentFirst && i == 0:
		case q.b.duration >= 0 && q.leads && q.last:
			q.long = p.m.ns(q.b.duration)
		default:
			q.long = t.defaultDuration
		}
	}
}

// samplesToNs converts without overflow.
func samplesToNs(n, rate int64) int64 {
	return n/rate*1e9 + (n%rate*1e9+rate/2)/rate
}

func nsToSamples(ns, rate int64) int64 {
	s, rest := ns/1e9, ns%1e9
	return s*rate + (rest*rate+5e8)/1e9
}

// setTimes gives each frame its time. A file states them in ticks, often of a
// millisecond; where the lengths of the frames tell more, they are believed as
// far as no block contradicts them. The first early pieces have no time of
// their own: they end where the next begins.
//
// Only blocks from one time to the first at or behind another are asked, those
// that are always at hand: how much more was read must not change a plan.
func (p *planner) setTimes(t *track, pieces []piece, early int, from, to int64) {
	for t.sound.length != nil && early < len(pieces)-1 && pieces[early].long == 0 { // such as the first of Vorbis
		early++
	}
	var sum int64 // of lengths, from pieces[known] on
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	half := p.m.info.scale/2 + 1
	known := p.firstTold(t, pieces, early, from)
	for i := known; i < len(pieces); i++ {
		q := &pieces[i]
		at := p.time(q.b.ts, t)
		if q.leads {
			lo, hi = max(lo, at-sum-half), min(hi, at-sum+half)
		}
		if q.leads && at >= to {
			break
		}
		if q.long == 0 {
			lo, hi = 1, 0 // a length that is not known
		}
		sum += q.long
	}
	if pieces[known].leads && lo <= hi {
		p.spread(t, pieces[early:], known-early, p.onGrid(t, lo+(hi-lo)/2, lo, hi))
	} else {
		p.spread(t, pieces[early:], 0, math.MinInt64)
	}
	for i := early - 1; i >= 0; i-- {
		pieces[i].at = pieces[i+1].at - pieces[i].long
	}
}

// firstTold returns the first piece whose time a block tells that begins at or
// behind a time. Blocks of many frames may leave none: then it is the last whose
// time is told, and the first of all where no block begins with a piece.
func (p *planner) firstTold(t *track, pieces []piece, early int, from int64) int {
	known := early
	for i := early; i < len(pieces); i++ {
		if !pieces[i].leads {
			continue
		}
		if known = i; p.time(pieces[i].b.ts, t) >= from {
			break
		}
	}
	return known
}

// spread gives pieces[known] its time, and from there on all others as their
// lengths have it, unless a block contradicts them: beyond a gap. Without a time
// all blocks are believed.
func (p *planner) spread(t *track, pieces []piece, known int, at int64) {
	own := func(q *piece, at int64) int64 { // the time that its block has
		told := p.time(q.b.ts, t)
		if q.leads && (at < told-2*p.m.info.scale || at > told+2*p.m.info.scale) {
			return told
		}
		return at
	}
	begin := at
	for i := known; i < len(pieces); i++ {
		q := &pieces[i]
		if begin == math.MinInt64 && (q.leads || i == known) {
			at = p.time(q.b.ts, t)
		}
		q.at = own(q, at)
		at = q.at + q.long
	}
	for i := known - 1; i >= 0; i-- {
		q := &pieces[i]
		at := pieces[i+1].at - q.long
		if q.at = own(q, at); q.at == at {
			continue
		}
		for n := i + 1; n < known && pieces[n].b == q.b; n++ { // of the block before the gap
			pieces[n].at = pieces[n-1].end()
		}
	}
}

// onGrid moves a time between lo and hi to where a frame begins if all are as
// long as each other since the track's first.
func (p *planner) onGrid(t *track, at, lo, hi int64) int64 {
	if t.sound.grid == 0 || !t.begun {
		return at
	}
	origin := p.time(t.firstTick, t)
	frames := math.Round(float64(nsToSamples(at-origin, t.sound.rate)) / float64(t.sound.grid))
	grid := origin + samplesToNs(int64(frames)*t.sound.grid, t.sound.rate)
	if grid >= lo-p.m.info.scale && grid <= hi+p.m.info.scale {
		return grid
	}
	return at
}
