package ogg

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// clip is the part of a plan that one link gives.
type clip struct {
	parts     []seek.Part
	size      int64
	needed    int64
	presented fragment.Interval // on the file's own clock
	covered   fragment.Interval
	warnings  []fragment.Warning
}

// assemble makes the parts of a clip of what is carried: the headers and the
// first pages laid anew, the middle as it is but for page headers, and the last
// pages laid anew.
func (c *cutting) assemble(resource *seek.Info) *clip {
	out := &clip{}
	streams, literal := c.headers()
	z := &zone{streams: map[uint32]*laid{}}
	for _, s := range streams {
		z.streams[s.s.serial] = s
		for _, q := range s.early {
			z.addCue(s, q, s.s.granuleOf(q))
		}
	}
	from, to, next, end := c.edges()
	if c.head != nil {
		for i := range c.head.pages {
			if p := &c.head.pages[i]; p.off >= from && p.off < to {
				z.add(p)
			}
		}
	}
	note := "headers and pages"
	if next > to || next == to && c.behind != nil {
		for _, s := range streams {
			if len(s.open.data) > 0 {
				z.addOpen(s)
			}
		}
		out.parts = append(out.parts, seek.Literal(append(literal, z.bytes()...), "headers and first pages"))
		if middle := c.middle(resource, streams, to, next); next > to {
			out.parts = append(out.parts, middle)
		}
		literal, z.pages, note = nil, nil, "last pages"
		if c.tail != nil {
			c.layTail(z, next, end)
		}
		for _, s := range streams {
			if s.s.text() {
				c.layText(z, s, next)
			}
		}
	}
	for _, s := range streams {
		if s.s.text() && !s.empty {
			z.endText(s)
		}
	}
	if literal = append(literal, z.bytes()...); len(literal) > 0 {
		out.parts = append(out.parts, seek.Literal(literal, note))
	}
	for _, p := range out.parts {
		if p.Size < 0 {
			out.size = -1
			break
		}
		out.size += p.Size
	}
	out.needed = c.l.data - c.l.off + max(end, next) - from
	c.state(out)
	return out
}

// edges returns the bytes of the clip's zones: the first pages [from, to), the
// middle [to, next) and the last pages [next, end). Where there is no middle,
// next is at most to. With text, the first pages are all of the head, since one
// that ended before may stand there, and the last pages reach back to the first
// text that is not the clip's.
func (c *cutting) edges() (from, to, next, end int64) {
	from, next = -1, -1
	var rest int64
	for _, k := range c.carried {
		if k.empty || k.s.text() {
			continue
		}
		first := k.first.begins.off
		if from < 0 || first < from {
			from = first
		}
		switch {
		case k.s.lapped():
			first = k.pair.ends.off
		case k.s.splits():
			first = k.first.ends.off
		}
		to = max(to, c.head.pageEnd(first))
		if k.rest {
			rest = max(rest, c.finish[k.s].to)
			continue
		}
		last := k.last.ends.off
		if k.s.splits() && k.last.data != nil {
			last = k.last.begins.off
		}
		if c.tail != nil && k.last.ends.off < c.tail.from { // it ends by itself among the first pages
			to = max(to, c.head.pageEnd(k.last.ends.off))
			continue
		}
		if next < 0 || last < next {
			next = last
		}
		end = max(end, c.head.pageEnd(k.last.ends.off), c.tail.pageEnd(k.last.ends.off))
	}
	if c.before != nil {
		if from < 0 {
			from = c.head.from
		}
		to = max(to, c.head.to)
	}
	if c.behind != nil {
		if next < 0 {
			next = c.tail.from
		}
		next, end = max(to, c.textEdge(next)), max(end, c.tail.to)
		if next < c.tail.from {
			c.tail = c.behind
		}
	}
	switch {
	case from < 0:
		return 0, 0, 0, 0
	case next < 0 && c.before == nil: // all end by themselves
		next, end = max(rest, to), max(rest, to)
	case next < to || c.tail == nil:
		to, next = max(to, end), 0
	}
	return from, to, next, max(end, to)
}

// textEdge returns where the last pages of a clip with text begin at the latest:
// nothing that is in the middle goes on there, and none of its text begins behind
// the clip.
func (c *cutting) textEdge(next int64) int64 {
	for again := true; again; {
		again = false
		for _, k := range c.carried {
			if !k.s.text() {
				continue
			}
			if at := k.beyond.begins.off; len(k.beyond.data) > 0 && at < next {
				next, again = at, true
			}
			for _, q := range k.behind {
				if q.begins.off < next && (q.ends.off >= next || q.from >= k.end) {
					next, again = q.begins.off, true
				}
			}
		}
	}
	return next
}

// pageEnd returns the end of the region's page at off, 0 where there is none.
func (r *region) pageEnd(off int64) int64 {
	if r == nil {
		return 0
	}
	for i := range r.pages {
		if r.pages[i].off == off {
			return r.pages[i].end()
		}
	}
	return 0
}

// firstNumber returns the number of a stream's first page in the region from off
// on, -1 where there is none.
func (r *region) firstNumber(s *stream, off int64) int64 {
	if r != nil {
		for i := range r.pages {
			if p := &r.pages[i]; p.serial == s.serial && p.off >= off {
				return int64(p.seq)
			}
		}
	}
	return -1
}

// middle is the part between the pages that are laid anew.
func (c *cutting) middle(resource *seek.Info, streams []*laid, from, to int64) seek.Part {
	change := Renumber{Drop: len(c.l.others) > 0 || len(c.streams) < len(c.l.streams) || c.l.skeleton != nil && !c.l.skeleton.ended}
	for _, s := range streams {
		if s.empty {
			change.Drop = true
			continue
		}
		s.shift.Before, s.shift.After = -1, c.tail.firstNumber(s.s, to)
		last, known := s.seen, true
		if s.s.text() { // where the number is not known, those of the original stay
			last, known = s.numberBefore(from)
		}
		if known {
			s.shift.Pages, s.shift.Before = s.w.seq-(last+1), int64(last)
		}
		change.Streams = append(change.Streams, s.shift)
	}
	p := seek.Bytes(resource, seek.Range{Offset: from, Length: to - from}, "pages")
	p.Rewrite = change
	if change.Drop {
		p.Size = -1
	}
	return p
}

// layTail lays the last pages. Their numbers go on from those of the middle.
func (c *cutting) layTail(z *zone, from, to int64) {
	begun := map[*laid]bool{}
	for i := range c.tail.pages {
		p := &c.tail.pages[i]
		s := z.streams[p.serial]
		if s == nil || p.off < from || p.off >= to || s.ended || s.s.text() {
			continue
		}
		if !begun[s] {
			s.w.seq, begun[s] = p.seq+s.shift.Pages, true
		}
		s.w.open = p.continued()
		z.add(p)
	}
}

// layText lays the texts that stand from a place on, behind the middle.
func (c *cutting) layText(z *zone, s *laid, from int64) {
	if seq, known := s.numberBefore(from); known {
		s.w.seq = seq + 1 + s.shift.Pages
	}
	s.w.open = false
	for _, q := range s.behind {
		if q.begins.off >= from && q.from < s.end {
			z.addCue(s, q, q.granule) // one that shared its page may be later than others before it
		}
	}
}

// state says what the clip presents and covers.
func (c *cutting) state(out *clip) {
	from, to, shown, until := c.a, c.b, c.a, c.b // of text alone
	first := true
	for _, k := range c.carried {
		if k.empty || k.s.text() {
			continue
		}
		a, b := k.s.time(k.first.from), k.s.time(k.last.to)
		if k.s.lapped() {
			a = k.s.time(max(k.pair.from, k.s.begin))
		}
		p, q := k.s.time(k.start), k.s.time(k.end)
		if first {
			from, to, shown, until, first = a, b, p, q, false
			continue
		}
		from, to, shown, until = from.Min(a), to.Max(b), shown.Min(p), until.Max(q)
	}
	for _, k := range c.carried {
		if k.s.text() && k.s.ended { // text may go on behind the end of all others
			last := c.b.Min(k.s.time(k.s.finish))
			to, until = to.Max(last), until.Max(last)
		}
	}
	out.covered, out.presented = fragment.Between(from, to), fragment.Between(shown, until)
	if c.l.skeleton != nil && c.l.skeleton.lies.Load() {
		out.warnings = append(out.warnings, fragment.Warning{Reason: fmt.Sprintf(
			"at byte %d: the keyframe index of the Skeleton leads to no page of its stream; it is not used", c.l.off)})
	}
	for _, d := range c.damage() {
		out.warnings = append(out.warnings, d.warning())
	}
	if c.textCut > 0 {
		out.warnings = append(out.warnings, fragment.Warning{Reason: fmt.Sprintf(
			"at byte %d: text from here on is not carried: it stands more than %d bytes behind the end of all other streams", c.textCut, textBehind)})
	}
	for _, k := range c.carried {
		if k.missed {
			out.warnings = append(out.warnings, fragment.Warning{Reason: fmt.Sprintf(
				"track %s: a text that began more than %d bytes before the interval is not carried", k.s.track.ID, textBack)})
		}
	}
}

// damage returns what was passed over in front of the link's headers and between
// them, in the regions that were read, and where the interval reaches to the link's
// end, behind all streams.
func (c *cutting) damage() []damage {
	all := slices.Clone(c.l.damage)
	for _, r := range []*region{c.head, c.tail} {
		if r != nil {
			all = append(all, r.damage...)
		}
	}
	if !c.b.Less(c.l.finish) {
		all = append(all, c.l.endDamage...)
	}
	if end := c.streamsEnd(); end > 0 && end < c.l.end && !slices.ContainsFunc(all, func(d damage) bool { return d.off >= end }) {
		all = append(all, damage{end, c.l.end, "data behind the end of every stream"})
	}
	all = slices.DeleteFunc(all, func(d damage) bool { return d.end == c.textCut && d.reason == cutOff }) // the page goes on
	slices.SortStableFunc(all, func(a, b damage) int { return cmp.Compare(a.off, b.off) })
	return slices.Compact(all)
}

// streamsEnd returns where the last page of the last stream ends; 0 where the
// interval does not reach to the ends of all streams.
func (c *cutting) streamsEnd() (end int64) {
	if len(c.streams) < len(c.l.streams) || len(c.l.others) > 0 {
		return 0
	}
	for _, s := range c.streams {
		at := c.finish[s]
		if s.text() || at.after == nil && (at.before == nil || !at.before.eos) || at.after != nil && !at.after.eos {
			return 0
		}
		end = max(end, at.to)
	}
	return end
}

// headers returns the streams of the clip and their header pages, those of
// pictures first, as Theora's specification asks for (section A.2.1).
func (c *cutting) headers() ([]*laid, []byte) {
	var streams []*laid
	var list []headerStream
	for _, k := range c.carried {
		s := &laid{carried: k, shift: k.shift()}
		s.shift.As = c.serials.of(k.s.serial)
		s.w = pageWriter{serial: s.shift.As, granule: noGranule}
		streams = append(streams, s)
	}
	slices.SortStableFunc(streams, func(a, b *laid) int {
		switch {
		case a.s.video() == b.s.video():
			return 0
		case a.s.video():
			return -1
		}
		return 1
	})
	for _, s := range streams {
		list = append(list, headerStream{w: &s.w, packets: s.headerPackets(c), alone: s.s.track.Codec == "opus", empty: s.empty})
	}
	return streams, appendHeaders(nil, list, c.clipSkeleton(streams))
}

// headerPackets returns the header packets of a stream as the clip needs them.
func (k *carried) headerPackets(c *cutting) [][]byte {
	switch {
	case k.empty:
	case k.s.track.Codec == "opus" && k.skip != k.s.origin:
		return append([][]byte{withSkip(k.s.packets[0], k.skip)}, k.s.packets[1:]...)
	case k.s.track.Codec == "flac":
		return flacHeaders(k.s.packets, satSub(k.last.to, k.first.from))
	}
	return k.s.packets
}

// clipSkeleton returns the Skeleton of a clip that has pictures, that keeps its
// times, or whose original has one. It states where the presentation begins.
func (c *cutting) clipSkeleton(streams []*laid) *headerStream {
	if !c.pictures() && !c.original && c.l.skeleton == nil {
		return nil
	}
	start, base := c.a.Sub(c.t0), fragment.Time{}
	if c.original {
		start, base = c.a, c.t0
	}
	k := c.l.skeleton
	packets := [][]byte{k.fishead(start.Max(fragment.Time{}), base.Max(fragment.Time{}))}
	serial := c.freeSerial()
	if k != nil {
		serial = c.serials.of(k.serial)
	}
	for _, s := range streams {
		first := int64(0)
		if c.original && !s.empty {
			switch first = s.first.from; {
			case s.s.lapped():
				first = s.pair.from
			case s.s.text() && len(s.early) > 0:
				first = min(s.early[0].from, s.start)
			case s.s.text():
				first = s.start
			}
		}
		packets = append(packets, k.fisbonePacket(s.s, s.shift.As, len(s.headerPackets(c)), s.s.before(first)))
	}
	return &headerStream{w: &pageWriter{serial: serial}, packets: packets}
}

// freeSerial returns a serial number that no stream has, the same each time.
func (c *cutting) freeSerial() uint32 {
	for n := uint32(1); ; n++ {
		if !c.l.has(n) {
			return c.serials.of(n)
		}
	}
}
