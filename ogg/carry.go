package ogg

import (
	"context"

	"github.com/mediafrag/mediafrag/fragment"
)

// carried is what a clip holds of one stream.
type carried struct {
	s     *stream
	empty bool   // no packet
	first placed // packet
	pair  placed // of lapped codecs, the second: with it ends the first page
	last  placed

	// rest says that the stream ends by itself between the two ends of the
	// clip, with the page restMark.
	rest     bool
	restMark pageMark

	textCarried

	start, end int64 // ticks that a player shows
	zero       int64 // the tick that is 0 in the clip's granule positions
	skip       int64 // Opus: the pre-skip of the clip
	final      int64 // granule position of the last page, not shifted
	surplus    bool  // what is behind the stream's last granule position sounds, too
}

// carry decides what is carried of one stream.
func (c *cutting) carry(ctx context.Context, s *stream) (*carried, error) {
	k := &carried{s: s, empty: true}
	if s.text() {
		return k, c.carryText(ctx, k)
	}
	if c.head == nil || c.begin[s].after == nil {
		return k, nil
	}
	head := c.head.place(s, c.l)
	k.start, k.end = s.nearest(c.t0), s.firstFrom(c.b)
	if s.video() {
		k.start = s.rate.floor(c.a)
	}
	k.start = max(k.start, s.begin)
	first := k.choose(c, head)
	if first < 0 {
		return k, nil
	}
	k.first, k.empty = head[first], false
	sounds := k.first
	if s.lapped() {
		k.pair = head[first+1]
		sounds = k.pair
	}
	tail := head
	if c.tail != nil {
		tail = c.tail.place(s, c.l)
	}
	switch {
	case sounds.from < k.end:
		k.ends(c, tail)
	case !k.acrossHole(head): // the interval is where packets are missing
		k.empty = true
		return k, nil
	}
	if !k.rest && k.last.ends.before(k.first.begins) {
		k.empty = true
		return k, nil
	}
	k.zeroes(c)
	if k.stuck() && !c.asIs {
		k.untrim()
		if !k.unstick(head) && !k.unstick(tail) && c.tail == nil {
			if err := c.extend(ctx, s, k.pair.to); err != nil {
				return nil, err
			}
			k.unstick(c.head.place(s, c.l))
		}
	}
	if p, ok := s.codec.(*pcm); ok {
		k.split(p.frame)
	}
	return k, nil
}

// split cuts the first and the last packet of PCM at a sample. Frame is how many
// bytes one has, of all channels.
func (k *carried) split(frame int64) {
	from, to := satSub(k.start, k.first.from)*frame, satSub(k.end, k.last.from)*frame
	one := k.first.begins == k.last.begins
	if data := k.last.data; 0 <= to && to < int64(len(data)) {
		k.last.data, k.last.to = data[:to], k.end
	}
	if one {
		k.first = k.last
	}
	if data := k.first.data; 0 <= from && from <= int64(len(data)) {
		k.first.data, k.first.from = data[from:], k.start
	}
	if one {
		k.last = k.first
	}
}

// ends finds the last packet among those of the tail. Where the stream has
// ended before, all of it that follows is carried.
func (k *carried) ends(c *cutting, tail []placed) {
	at := c.finish[k.s]
	if at.after == nil && c.inMiddle(at) {
		pos, _ := k.s.position(at.before.granule)
		k.rest, k.restMark, k.final = true, *at.before, at.before.granule
		k.last.to, k.last.ends = pos.end, place{at.from, maxSegments}
		return
	}
	for i, q := range tail {
		switch {
		case q.from < k.end && q.to > q.from:
			k.last = q
			k.final = k.finalGranule(c, tail[:i+1])
		case k.behindHole(q):
			q.from, q.to = k.last.to, k.last.to
			k.last = q
		}
	}
	if k.last.data == nil && at.before != nil { // lost in a hole: what is before it ends the clip
		pos, _ := k.s.position(at.before.granule)
		k.last.to, k.last.ends, k.final = pos.end, place{at.from, maxSegments}, at.before.granule
	}
	k.end = min(k.end, k.last.to)
	if k.s.lapped() && k.last.ends.before(k.pair.ends) {
		k.last, k.final = k.pair, min(k.end, k.pair.to)
	}
}

// acrossHole takes the packets of a lapped codec on both sides of a hole in which
// the interval lies: decoders that do not notice the hole have the one behind it
// follow at once. It reports whether what they yield then is of the interval.
func (k *carried) acrossHole(head []placed) bool {
	for i, q := range head {
		if !k.s.lapped() || i == 0 || !q.broken || q.to > q.from || head[i-1].to > k.start {
			continue
		}
		q.from = head[i-1].to
		q.to = satAdd(q.from, lapDuration(k.s.length(head[i-1].data), k.s.length(q.data)))
		if q.to > k.start {
			k.first, k.pair, k.last = head[i-1], q, q
			k.end = min(k.end, q.to)
			k.final = k.end
			return true
		}
	}
	return false
}

// behindHole reports whether a packet is the first behind a hole in which the
// interval ends. Of lapped codecs it is carried too: decoders that do not
// notice holes have it follow at once, for others the last granule position
// leaves it out.
func (k *carried) behindHole(q placed) bool {
	return k.s.lapped() && k.last.data != nil && q.broken && q.to == q.from && q.from >= k.end && k.last.to < k.end
}

// inMiddle reports whether a stream's last page lies in neither region.
func (c *cutting) inMiddle(at stretch) bool {
	inside := func(r *region) bool { return r != nil && at.from >= r.from && at.from < r.to }
	return !inside(c.head) && !inside(c.tail)
}

// choose returns the number of the packet to begin with, -1 where there is none.
func (k *carried) choose(c *cutting, head []placed) int {
	first := -1
	want := satSub(k.start, c.lead(k.s))
	for i, q := range head {
		switch {
		case k.s.video():
			if q.key && q.from <= k.start {
				first = i
			}
		case k.s.lapped():
			if q.to > k.start && q.to > q.from && i > 0 {
				return i - 1
			}
		case first < 0 || q.from <= want || satSub(k.start, head[first].from) > opusMaxSkip && k.s.lead > 0 && !c.original:
			first = i
		case q.broken && head[i-1].to <= k.start: // the interval begins where packets are missing
			first = i
		}
	}
	if k.s.lapped() {
		return -1
	}
	return first
}

// zeroes sets what becomes tick 0, and what a player will show.
func (k *carried) zeroes(c *cutting) {
	s := k.s
	k.zero = s.nearest(c.t0)
	start := k.start
	switch {
	case c.original:
		k.zero, k.skip = 0, s.origin
		k.start = max(satAdd(k.first.from, s.origin), s.begin)
		switch {
		case s.lapped():
			k.start = max(k.pair.from, s.begin)
		case s.splits():
			k.start = max(start, k.first.from)
		}
	case s.video():
		k.start = k.first.from
		k.zero = s.rate.ceil(c.t0)
	case s.track.Codec == "opus":
		k.start = max(k.start, k.first.from)
		k.skip = min(satSub(k.start, k.first.from), opusMaxSkip)
		k.zero = min(k.first.from, satSub(k.zero, k.skip))
	case s.lapped():
		k.start = max(k.start, k.pair.from)
	case s.splits():
		k.start = max(k.start, k.first.from)
	case !c.pictures(): // whole packets
		k.zero = max(0, k.first.from)
		k.start = max(k.first.from, s.begin)
	}
	switch {
	case s.audio() && !s.trims(), k.stuck():
		k.end = k.last.to
	default:
		k.end = min(k.end, k.last.to)
	}
}

// trims reports whether sound ends at the sample: decoders cut it at the last
// granule position, or its packets are split.
func (s *stream) trims() bool { return s.lapped() || s.track.Codec == "opus" || s.splits() }

// stuck reports whether a lapped stream is so short that its only page of sound
// would be first and last at once: then the granule position cannot cut at both
// ends, and the end stays whole.
func (k *carried) stuck() bool {
	return k.s.lapped() && k.last.ends == k.pair.ends && k.zero > k.pair.from
}

// alone reports whether of a lapped stream one packet sounds, from its beginning
// on. Then the one before it, which yields nothing, has the first page: only of a
// stream of two pages or more do all decoders cut the end.
func (k *carried) alone() bool {
	return k.s.lapped() && k.last.ends == k.pair.ends && !k.stuck()
}

// parted reports whether the first packet of Opus has a page of its own: where all
// would be on one page, which begins behind 0, that is both first and last, decoders
// count back from its granule position and do not cut the end (RFC 7845, section 4.5).
func (k *carried) parted() bool {
	return k.s.track.Codec == "opus" && k.first.from > k.zero && k.last.ends.off == k.first.ends.off && k.last.ends != k.first.ends
}

// untrim has a short clip of a lapped codec end with all that its packet yields,
// also where the stream's last granule position trims it: the first page's is
// counted back from, so that less would begin the clip earlier.
func (k *carried) untrim() {
	to := satAdd(k.pair.from, lapDuration(k.s.length(k.first.data), k.s.length(k.pair.data)))
	k.surplus = to > k.pair.to
	k.pair.to = to
	k.last, k.end, k.final = k.pair, to, to
}

// earlier returns where the clip has to begin for sound to end where its stream
// does: with the packet of a short clip that is not trimmed, so that the granule
// position is free to cut the end. It is a at the latest, and with pictures always:
// that clip begins at a keyframe.
func (c *cutting) earlier() fragment.Time {
	begin := c.a
	for _, k := range c.carried {
		if k.surplus && !c.pictures() {
			begin = begin.Min(k.s.time(max(k.pair.from, k.s.begin)))
		}
	}
	return begin
}

// unstick has a short clip of a lapped codec end with the packet behind, of which
// the granule position leaves nothing. Without it the packet stands twice.
// It reports whether there is one among those given.
func (k *carried) unstick(at []placed) bool {
	for _, q := range at {
		if k.pair.ends.before(q.ends) && !q.broken {
			q.from, q.to = k.pair.to, k.pair.to
			k.last, k.final = q, k.pair.to
			return true
		}
	}
	return false
}

// finalGranule returns the granule position of the clip's last page, before it
// is shifted. Tail ends with the last packet.
func (k *carried) finalGranule(c *cutting, tail []placed) int64 {
	switch {
	case k.s.trims():
		return min(k.end, k.last.to)
	case !k.s.video():
		return k.last.to
	}
	if k.last.last {
		return k.last.granule
	}
	pos, _ := k.s.position(k.last.granule)
	if pos.key > k.last.from { // a keyframe behind the last picture, on its page
		pos.key = k.first.from
		if m := c.finish[k.s].before; m != nil {
			if before, ok := k.s.position(m.granule); ok {
				pos.key = before.key
			}
		}
		for _, q := range tail {
			if q.key {
				pos.key = q.from
			}
		}
	}
	pos.end = k.last.to
	return k.s.granule(pos)
}

// shift returns what changes in the stream's pages, but for their numbers.
func (k *carried) shift() Shift {
	out := Shift{Serial: k.s.serial, As: k.s.serial, Granule: k.zero}
	switch c := k.s.codec.(type) {
	case *theora:
		out.Granule = k.zero << c.shift
	case *vp8:
		out.Granule = k.zero << vp8Pictures
	case *kate:
		out.Granule, out.Text, out.Ticks, out.End, out.Bits, out.Kate = 0, true, k.zero, k.end, c.shift, true
	case *cmml:
		out.Granule, out.Text, out.Ticks, out.End, out.Bits = 0, true, k.zero, k.end, c.shift
	}
	return out
}
