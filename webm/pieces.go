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

// pieces returns the frames of a sound track in a region, with exact times.
func (p *planner) pieces(t *track, r *region, early []block) ([]piece, error) {
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
	p.setTimes(t, out, nearly)
	if t.sound.length == nil {
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
func (p *planner) setTimes(t *track, pieces []piece, early int) {
	for t.sound.length != nil && early < len(pieces)-1 && pieces[early].long == 0 { // such as the first of Vorbis
		early++
	}
	var sum int64 // of lengths, from pieces[early] on
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	half := p.m.info.scale/2 + 1
	for i := early; i < len(pieces); i++ {
		if q := &pieces[i]; q.leads {
			r := p.time(q.b.ts, t) - sum
			lo, hi = max(lo, r-half), min(hi, r+half)
		}
		if pieces[i].long == 0 {
			lo, hi = 1, 0 // a length that is not known
		}
		sum += pieces[i].long
	}
	at := p.time(pieces[early].b.ts, t)
	steady := lo <= hi
	if steady {
		at = p.onGrid(t, lo+(hi-lo)/2, lo, hi)
	}
	for i := early; i < len(pieces); i++ {
		q := &pieces[i]
		if !steady && q.leads {
			at = p.time(q.b.ts, t)
		}
		q.at = at
		at += q.long
	}
	for i := early - 1; i >= 0; i-- {
		pieces[i].at = pieces[i+1].at - pieces[i].long
	}
}

// onGrid moves a time between lo and hi to where a frame begins if all are as
// long as each other since the track's first.
func (p *planner) onGrid(t *track, at, lo, hi int64) int64 {
	if t.sound.fixed == 0 || !t.begun {
		return at
	}
	origin := p.time(t.firstTick, t)
	frames := math.Round(float64(nsToSamples(at-origin, t.sound.rate)) / float64(t.sound.fixed))
	grid := origin + samplesToNs(int64(frames)*t.sound.fixed, t.sound.rate)
	if grid >= lo-p.m.info.scale && grid <= hi+p.m.info.scale {
		return grid
	}
	return at
}
