package webm

import (
	"bytes"
	"math"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// soundCut is what happens to a sound track at both ends.
type soundCut struct {
	t    *track
	head []frame // written anew at the beginning
	tail []frame // and at the end
	from int64   // blocks in place that begin before it are not needed
	to   int64   // nor those that begin there or later; 0: all are

	begin   int64  // ns: the first sample that is decoded
	present int64  // ns: the first that is presented
	finish  int64  // ns: the end of the last, -1: not known
	delay   int64  // CodecDelay in the clip, ns
	preSkip int64  // of OpusHead, samples
	shift   int64  // ticks that the track's times move
	exact   bool   // begins at the wanted sample
	offset  int64  // of the first block needed
	tick    int64  // and its time in the file
	until   int64  // where the last ends, 0: not known
	room    int64  // ns: how far its blocks may move within their clusters
	edition bool   // an ordered edition says what is presented
	closing []byte // the last frame
}

// cut decides what of each track the clip holds.
func (p *planner) cut() error {
	p.first = p.zero
	p.startOff = maxOffset
	if p.opening != nil {
		p.startOff = p.opening.offset
	}
	heads := map[*track][]piece{}
	for _, t := range p.tracks {
		if t.kind != typeAudio {
			continue
		}
		pieces, err := p.headPieces(t)
		if err != nil {
			return err
		}
		c := &soundCut{t: t, delay: t.codecDelay, exact: true, finish: -1, offset: maxOffset, room: p.room(), edition: p.sel.Layout == formats.Exact}
		if t.sound.cut == cutPreSkip {
			c.preSkip = int64(t.private[10]) | int64(t.private[11])<<8
		}
		p.sounds = append(p.sounds, c)
		heads[t] = pieces
	}
	p.placeStart(heads)
	for _, c := range p.sounds {
		if p.leader == p {
			c.cutHead(p, heads[c.t])
		} else {
			c.goOn(p, heads[c.t])
		}
		if c.begin < p.first {
			p.first = c.begin
		}
	}
	p.findEnd()
	for _, c := range p.sounds {
		if err := c.cutTail(p); err != nil {
			return err
		}
	}
	p.finishEnd()
	p.setShifts()
	p.tellGaps()
	p.tellHoles()
	p.tellLate()
	return nil
}

// damagedBytes is what is said of bytes that are left out.
const damagedBytes = "damaged, what stood there is left out up to the next Cluster"

// tellGaps warns of damage that was seen within the clip, or behind its last byte
// before anything that presents at b or later: what is left out may belong to it.
func (p *planner) tellGaps() {
	told := map[int64]bool{}
	until := int64(maxOffset)
	for _, b := range p.end.blocks {
		if t := p.has(b.track); t != nil && b.offset >= p.endOff && p.time(b.ts, t) >= p.b {
			until = b.offset
			break
		}
	}
	for _, r := range []*region{p.start, p.end} {
		for _, g := range r.gaps {
			if g.to > p.startOff && g.from < max(p.endOff, until) && !told[g.from] {
				told[g.from] = true
				p.warn("%v", seek.Damage{Offset: g.from, Problem: damagedBytes})
			}
		}
	}
}

// leastHole is how long nothing must be there to be told of, in ns.
const leastHole = 1e9

// tellHoles warns of times within the clip, as far as it was seen, of which no track
// has anything, as where a whole Cluster was lost: sound stops, and no picture comes
// until it goes on. Pictures alone may stand still as long.
func (p *planner) tellHoles() {
	told := map[int64]bool{}
	for _, r := range []*region{p.start, p.end} {
		for _, c := range p.sounds {
			until := int64(maxOffset)
			for i := range r.blocks {
				b := &r.blocks[i]
				t := p.has(b.track)
				if t == nil || t.kind != typeVideo && t != c.t || b.offset < p.startOff || b.offset >= p.endOff {
					continue
				}
				at := p.time(b.ts, t)
				if hole := at - until; hole >= leastHole && until < maxOffset && !told[at] {
					told[at] = true
					p.warn("nothing is there from %v to %v s: a part of the file may be missing", nanos(until-p.m.start), nanos(at-p.m.start))
				}
				switch {
				case t == c.t:
					until = at + p.m.length(t, b)
				case until < maxOffset:
					until = max(until, at)
				}
			}
		}
	}
}

// tellLate warns of tracks of pictures whose keyframe before the interval is too far
// away to be looked for.
func (p *planner) tellLate() {
	for _, t := range p.tracks {
		if t.kind != typeVideo || t == p.main || p.keys[t] != nil || !p.begins(t) {
			continue
		}
		if i := slices.IndexFunc(p.start.blocks, func(b block) bool { return b.track == t.number && t.isKey(&b) }); i >= 0 {
			p.warn("track %s begins at %v s: its keyframe before the interval is too far away", t.ID, nanos(p.time(p.start.blocks[i].ts, t)-p.m.start))
		} else {
			p.warn("track %s begins later than the interval: its keyframe before is too far away", t.ID)
		}
	}
}

// room is how far blocks can move against their clusters, in ns: relative times
// have 16 bits, and a cluster may use most of them. Where each block has a
// cluster of its own, and where all blocks move alike, there is no limit.
func (p *planner) room() int64 {
	room := int64(maxOffset)
	for _, q := range p.all() {
		if q.video && !q.lonely() {
			room = min(room, q.m.ns(max(0, math.MaxInt16-q.longest())))
		}
	}
	return room
}

// longest is the largest relative time of a block that was seen, in ticks.
func (p *planner) longest() (rel int64) {
	for _, r := range []*region{p.start, p.end} {
		for _, b := range r.blocks {
			rel = max(rel, int64(b.rel))
		}
	}
	return rel
}

// lonely reports whether each block has a cluster of its own.
func (p *planner) lonely() bool { return len(p.start.blocks) <= len(p.start.clusters) }

func (p *planner) earlyOf(t *track) (out []block) {
	for _, b := range p.early {
		if b.track == t.number {
			out = append(out, b)
		}
	}
	return out
}

// wanted is the first sample that the clip presents of a track, and the pieces
// that are at or before it: pieces[j] holds it. J is -1 where the track begins
// later.
func wanted(pieces []piece, zero int64) (want int64, j int) {
	j = -1
	for i, q := range pieces {
		if q.at <= zero+halfSample && (j < 0 || q.at >= pieces[j].at) {
			j = i
		}
	}
	switch {
	case j < 0:
		return zero, -1
	case pieces[j].end() <= zero+halfSample && j+1 < len(pieces) && pieces[j+1].at > zero: // in a gap
		return pieces[j+1].at, j + 1
	}
	return max(zero, pieces[j].at), j
}

// halfSample is what times may be wrong by: half a sample at 192 kHz, in ns.
const halfSample = 2600

// placeStart decides where the bytes that stay in place begin: at the keyframe,
// else at the first sound block that is needed as it is.
func (p *planner) placeStart(heads map[*track][]piece) {
	if p.key != nil {
		return
	}
	if p.start.from <= p.m.first.offset && (p.video || len(p.sounds) == 0) {
		p.startOff = p.start.clusters[0].first
		return
	}
	for _, c := range p.sounds {
		pieces := heads[c.t]
		_, j := wanted(pieces, p.zero)
		if j < 0 {
			j = 0
		}
		if j < len(pieces) {
			p.startOff = min(p.startOff, pieces[c.leadIndex(p, pieces, j, max(p.zero, pieces[j].at))].b.offset)
		}
	}
	if p.startOff == maxOffset { // subtitles alone, or sound that is not at hand
		p.startOff = p.start.clusters[0].first
		for _, b := range p.start.blocks {
			if p.has(b.track) != nil && p.m.ns(b.ts) <= p.zero {
				p.startOff = b.offset
			}
		}
	}
}

// leadIndex returns the index of the first piece that is decoded so that the
// sound at want, in pieces[j], is right.
func (c *soundCut) leadIndex(p *planner, pieces []piece, j int, want int64) int {
	know := &c.t.sound
	most := c.room
	if know.cut == cutPreSkip {
		most = min(most, maxPreSkip*1e9/opusRate)
	}
	if know.cut == cutBytes || know.ideal == 0 {
		return j
	}
	holds := max(pieces[j].at, want-know.longest)
	s := j
	for s > 0 && !c.enters(pieces[s]) && want-pieces[s-1].at <= most && holds-pieces[s-1].at <= know.ideal+halfSample &&
		pieces[s-1].end() >= pieces[s].at-1e6 &&
		(holds-pieces[s].at < know.warmUp-halfSample || pieces[s-1].b.offset >= p.far()) {
		s--
	}
	return s
}

// enters reports whether decoding begins anew with a frame.
func (c *soundCut) enters(q piece) bool { return c.t.sound.entry != nil && c.t.sound.entry(q.data) }

// cutHead decides what is written anew at the beginning.
func (c *soundCut) cutHead(p *planner, pieces []piece) {
	c.begin, c.present, c.from = p.zero, p.zero, p.startOff
	if len(pieces) == 0 {
		return
	}
	want, j := wanted(pieces, p.zero)
	s, own := 0, pieces[0].at+c.t.codecDelay
	switch {
	case j < 0: // begins later
		c.present, want = pieces[0].at, math.MinInt64/2
	case c.isFirst(pieces[0]) && want <= own+halfSample: // the track's own beginning
		c.present, want = own, math.MinInt64/2
	default:
		s = c.leadIndex(p, pieces, j, want)
		c.present = want
		c.state(pieces, s, j, want)
		if !pieces[s].leads { // frames before it share its block, which cannot stay
			c.from = max(c.from, pieces[s].b.end)
		}
	}
	c.begin, c.offset, c.tick = pieces[s].at, pieces[s].b.offset, pieces[s].b.ts
	switch {
	case want < c.begin: // all of it
	case c.t.sound.cut == cutBytes:
		c.begin = want
	case c.t.sound.silentFirst && s < j:
		c.begin = pieces[s+1].at
	}
	c.from = max(c.from, c.offset)
	for i := s; i < len(pieces) && pieces[i].b.offset < c.from; i++ {
		c.head = append(c.head, c.headFrame(pieces[i], want, i == s))
	}
}

// state decides how the track says that it begins at want, within pieces[j],
// and is decoded from pieces[s] on.
func (c *soundCut) state(pieces []piece, s, j int, want int64) {
	lead := want - pieces[s].at
	c.delay = 0
	switch c.t.sound.cut {
	case cutPreSkip:
		c.preSkip = max(0, nsToSamples(lead, opusRate))
		c.delay = samplesToNs(c.preSkip, opusRate)
	case cutPadding, cutBytes:
		if lead > halfSample { // else it begins with a frame, and needs no other
			c.from = max(c.from, pieces[j].b.end)
		}
	default:
		c.present = pieces[s].at
		c.exact = lead < halfSample
	}
}

// isFirst reports whether a piece is the first of the track.
func (c *soundCut) isFirst(q piece) bool {
	return c.t.begun && q.leads && q.b.ts == c.t.firstTick && q.b.offset < c.t.firstEnd
}

// headFrame writes a frame anew, without what of it presents before want.
func (c *soundCut) headFrame(q piece, want int64, first bool) frame {
	f := frame{track: c.t.number, data: q.data, key: true, flags: q.b.flags, duration: -1, discard: q.b.discard, extra: q.b.extra}
	at := q.at
	early := min(want-q.at, q.long)
	switch {
	case early <= halfSample:
	case c.t.sound.cut == cutPadding && (first && c.t.sound.silentFirst || c.edition):
		// Of an ordered edition it is not needed: mpv alone reads that, and takes a
		// negative number for an unsigned one of as many bytes. Where three bytes
		// hold it that loses up to 17 ms of sound, and where it takes four, from
		// 8.4 ms on, up to 4.3 s.
	case c.t.sound.cut == cutPadding && early == q.long:
		f.discard = early // all of it, which all that know DiscardPadding understand
	case c.t.sound.cut == cutPadding:
		f.discard = -early
	case c.t.sound.cut == cutBytes:
		n := nsToSamples(early, c.t.sound.rate)
		at += samplesToNs(n, c.t.sound.rate)
		f.data = f.data[min(int(n)*c.t.sound.align, len(f.data)):]
	}
	f.ns = at
	return f
}

// setShifts finds how many ticks each track's times move.
//
// What is decoded before the clip's time 0, where its keyframe is, cannot have
// negative times: browsers refuse blocks that are earlier than 0, or move them
// there. Moved later by CodecDelay they come out right: ffmpeg 5.1, mkvmerge 74,
// mpv 0.35 and Chromium 156 take the delay off the times of any codec, and show
// the keyframe at 0 with the sound in step (Chromium within 15 ms). When pictures
// were moved instead, Chromium played the sound early by all that led in, for it
// counts from the first sample that DiscardPadding leaves. GStreamer 1.22, which
// knows the delay of Opus alone, is late by it: so no more leads in than a codec
// needs. DiscardPadding says beside it what is not heard, as ffmpeg asks.
func (p *planner) setShifts() {
	zero := p.origin()
	for _, c := range p.sounds {
		switch early := zero - c.begin - c.delay; {
		case p.leader != p: // the track says it already
			c.delay = p.leader.soundOf(c.t.number).delay
		case early <= halfSample:
		case early <= c.room:
			c.delay += early
		default: // all else moves
			p.lead = max(p.lead, early)
		}
	}
	p.lead = -p.ticks(-p.lead) * p.m.info.scale
	for _, c := range p.sounds {
		c.shift = p.base() + p.ticks(c.delay) - p.ticks(c.t.codecDelay)
		if c.tick+c.shift == -1 { // rounded down twice
			c.shift = -c.tick
		}
		for _, frames := range [][]frame{c.head, c.tail} {
			for i := range frames {
				// The first of Vorbis gives no sound, and is as early as the next.
				frames[i].ts = max(0, p.ticks(frames[i].ns+c.t.codecDelay)+c.shift)
			}
		}
		slices.SortStableFunc(c.head, func(a, b frame) int { return int(max(-1, min(1, a.ts-b.ts))) })
	}
}

// ticks are the ticks nearest to a time.
func (p *planner) ticks(ns int64) int64 {
	return int64(math.Round(float64(ns) / float64(p.m.info.scale)))
}

// shift is how many ticks the times of a track move.
func (p *planner) shift(number uint64) int64 {
	if c := p.soundOf(number); c != nil {
		return c.shift
	}
	return p.base()
}

// soundOf is the cut of a track of sound, nil of another.
func (p *planner) soundOf(number uint64) *soundCut {
	for _, c := range p.sounds {
		if c.t.number == number {
			return c
		}
	}
	return nil
}

// base is how many ticks the times of pictures and subtitles move.
func (p *planner) base() int64 { return p.ticks(p.leader.lead - p.origin()) }

var opusMagic = []byte("OpusHead")

// patchPreSkip returns OpusHead with another pre-skip (RFC 7845 section 5.1).
func patchPreSkip(private []byte, samples int64) []byte {
	if len(private) < 12 || !bytes.HasPrefix(private, opusMagic) {
		return private
	}
	out := bytes.Clone(private)
	out[10], out[11] = byte(samples), byte(samples>>8)
	return out
}
