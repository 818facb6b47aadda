package ogg

import (
	"bytes"
	"cmp"
	"context"
	"slices"
)

// Text is sparse, so a search for it could take the whole file.
const (
	// textBack is how many bytes before the beginning of a clip are looked
	// through for the text that still shows there, and how many of the clip's own
	// for a text behind that names it.
	textBack = 1 << 20
	// textBehind is how many bytes behind the end of all else text is carried.
	textBehind = 8 << 20
	// textAround is how far from where a named text has to be it is looked for.
	textAround = 64 << 10
)

// textCarried is what a clip holds of a stream of text.
type textCarried struct {
	// early are the texts that show where the clip begins and those that begin in
	// it, as far as its first pages hold them, and behind all that were seen at its
	// last pages. What stands between passes by and is not looked at before.
	early, behind []placed
	// open is a text that goes on behind the first pages, and beyond one that goes on
	// behind the last: it begins behind the clip. Without data there is none.
	open, beyond packet
	// missed says that a text that began before what was looked through may be left
	// out.
	missed  bool
	numbers []numbered
}

// clock returns the stream by whose pages it is known where the text of a time
// stands: pages follow each other by their times, so that the text which begins
// between two of the clock's pages stands between them. It is the one that ends
// last, text only where there is nothing else.
func (l *link) clock() (clock *stream) {
	for _, s := range l.streams {
		switch {
		case clock == nil, clock.text() && !s.text():
			clock = s
		case s.text() && !clock.text():
		case s.ended && (!clock.ended || s.time(clock.finish).Less(s.time(s.finish))):
			clock = s
		}
	}
	return clock
}

// texts reports whether text is selected.
func (c *cutting) texts() bool {
	return slices.ContainsFunc(c.streams, func(s *stream) bool { return s.text() })
}

// findText searches where the text of the clip's beginning stands.
func (c *cutting) findText(j *jobs) {
	if c.clock != nil {
		j.find(c.l, c.clock, c.clock.nearest(c.t0), c.shows)
	}
}

// around adds to a bound of the clip where its text stands. Behind the clock's end
// there is nothing but text.
func (c *cutting) around(bound stretch, ok bool, text map[*stream]stretch) (stretch, bool) {
	at, known := text[c.clock]
	if !known {
		return bound, ok
	}
	if at.after == nil {
		if at.to += textBehind; at.to < c.l.end {
			c.textCut = at.to
		}
		at.to = min(at.to, c.l.end)
	}
	if !ok {
		return at, true
	}
	return stretch{from: min(bound.from, at.from), to: max(bound.to, at.to)}, true
}

// readText reads at once the pages in which text may stand that the clip needs:
// those of its first pages and before them, and of its last pages and before; where
// not all is read that precedes the clip, also what follows its first pages, for a
// text that names an earlier one.
func (c *cutting) readText(ctx context.Context) error {
	if c.clock == nil {
		return nil
	}
	reads := newJobs(ctx)
	read := func(into **region, from, to int64) {
		reads.Go(func() (err error) {
			*into, err = c.l.readRegion(reads.ctx, c.w, from, to)
			return err
		})
	}
	from, to := max(c.l.data, c.head.from-textBack), c.l.end
	read(&c.before, from, c.head.to)
	if c.tail != nil {
		to = c.tail.from
		read(&c.behind, max(c.head.to, to-textBack), c.tail.to)
	}
	if from > c.l.data {
		read(&c.ahead, c.head.to, min(to, c.head.to+textBack))
	}
	return reads.Wait()
}

// carryText finds the text that shows in the clip as far as the regions at its
// ends hold it: what shows at its beginning, and all that begins later.
func (c *cutting) carryText(ctx context.Context, k *carried) error {
	s := k.s
	k.empty = false
	k.zero, k.start, k.end = s.rate.ceil(c.t0), s.rate.ceil(c.t0), s.rate.ceil(c.b)
	if c.original {
		k.zero = 0
	}
	cues, open := c.before.cues(s, c.l)
	k.open, k.missed = open, c.before.from > c.l.data
	k.number(c, c.before, c.before.from == c.l.data)
	if c.behind != nil {
		k.behind, k.beyond = c.behind.cues(s, c.l)
		k.number(c, c.behind, c.behind.from == c.before.to)
	}
	if k.missed {
		named, err := c.namedText(ctx, k, append(slices.Clip(cues), k.behind...))
		if err != nil {
			return err
		}
		cues = append(named, cues...)
	}
	late, err := c.lateText(ctx, k, append(slices.Clip(cues), k.behind...))
	if err != nil {
		return err
	}
	if c.behind != nil {
		k.behind = append(k.behind, late...)
	} else {
		cues = append(cues, late...)
	}
	slices.SortStableFunc(cues, func(a, b placed) int { return cmp.Compare(a.from, b.from) })
	for i, q := range cues {
		repeats := q.data[0] == kateRepeat && s.track.Codec == "kate"
		switch {
		case q.from >= k.end:
		case repeats && slices.ContainsFunc(cues[:i], func(o placed) bool { return o.from == q.from && bytes.Equal(o.data[1:], q.data[1:]) }):
		case q.from >= k.start, q.to > k.start,
			s.track.Codec != "kate" && !later(cues[i+1:], q.from, k.start): // the last one shows on
			if repeats { // in the clip it is the first
				q.data = slices.Clone(q.data)
				q.data[0] = kateText
			}
			k.early, k.missed = append(k.early, q), k.missed && q.from >= k.start
		}
	}
	return nil
}

// cues returns the packets of s that end in the region and show something, and the
// beginning of one that goes on behind it.
func (r *region) cues(s *stream, l *link) (out []placed, open packet) {
	line := newTimeline(s, r.from == l.data)
	for i := range r.pages {
		if p := &r.pages[i]; p.serial == s.serial && p.off >= s.data {
			for _, q := range line.add(p) {
				if s.cue(q.data) {
					out = append(out, q)
				}
			}
		}
	}
	if line.asm.joining {
		open = packet{data: line.asm.partial, begins: line.asm.begins}
	}
	return out, open
}

// namedText looks for texts that began before what was looked through and still
// show: the granule position of each text names the earliest that shows with it.
func (c *cutting) namedText(ctx context.Context, k *carried, cues []placed) ([]placed, error) {
	s := k.s
	if c.clock.text() {
		return nil, nil
	}
	next, _ := c.ahead.cues(s, c.l)
	known := append(cues, next...)
	slices.SortStableFunc(known, func(a, b placed) int { return cmp.Compare(a.from, b.from) })
	var named []placed
	for i, q := range known {
		if i+1 < len(known) && known[i+1].from <= k.start {
			continue // the next one tells of what shows later
		}
		pos, ok := s.position(q.granule)
		if !ok || pos.key > k.start || slices.ContainsFunc(known, func(o placed) bool { return o.from == pos.key }) {
			continue
		}
		near, err := c.l.find(ctx, c.clock, c.clock.nearest(s.time(pos.key)))
		if err != nil {
			return nil, searchError(err)
		}
		r, err := c.l.readRegion(ctx, c.w, max(c.l.data, near.from-textAround), min(near.to+textAround, c.l.end))
		if err != nil {
			return nil, err
		}
		there, _ := r.cues(s, c.l)
		for _, o := range there {
			if o.from == pos.key {
				named = append(named, o)
			}
		}
		if q.from > k.start {
			break // texts further behind may name others, which do not show yet
		}
	}
	return named, nil
}

// lateText looks behind the clip for texts that begin in it: where several share a
// page, it stands where the last of them begins.
func (c *cutting) lateText(ctx context.Context, k *carried, known []placed) (late []placed, err error) {
	shared := false
	for i, q := range known {
		if q.from >= k.end {
			return nil, nil // the next page was seen
		}
		shared = shared || i > 0 && known[i-1].ends.off == q.ends.off
	}
	if !shared || k.s.track.Codec != "kate" { // CMML does not say when its texts begin but by the page
		return nil, nil
	}
	from := c.before.to
	if c.behind != nil {
		from = c.behind.to
	}
	r, err := c.l.readRegion(ctx, c.w, from, min(from+textBack, c.l.end))
	if err != nil {
		return nil, err
	}
	there, _ := r.cues(k.s, c.l)
	for _, q := range there {
		if q.from < k.end && q.to > k.start {
			late = append(late, q)
		}
	}
	return late, nil
}

// later reports whether one of the cues begins after from and not after start.
func later(cues []placed, from, start int64) bool {
	for _, q := range cues {
		if q.from > from && q.from <= start {
			return true
		}
	}
	return false
}

// numbered is the number of the last page of text before a place; known is false
// where that lies too far back.
type numbered struct {
	off   int64
	seq   uint32
	known bool
}

// number notes the numbers of the pages of text in a region. Joins says that it
// follows what was noted before, or the headers.
func (k *carried) number(c *cutting, r *region, joins bool) {
	if len(k.numbers) == 0 {
		k.numbers = append(k.numbers, numbered{c.l.data, k.s.pages - 1, true})
	}
	first := true
	for i := range r.pages {
		p := &r.pages[i]
		if p.serial != k.s.serial || p.off < k.s.data {
			continue
		}
		if first && !joins {
			k.numbers = append(k.numbers, numbered{r.from, p.seq - 1, true})
		}
		k.numbers, first = append(k.numbers, numbered{p.end(), p.seq, true}), false
	}
	if first && !joins {
		k.numbers = append(k.numbers, numbered{off: r.from})
	}
}

// numberBefore returns the number of the last page of text before off; ok is
// false where it was not met, because it lies too far back.
func (k *carried) numberBefore(off int64) (seq uint32, ok bool) {
	for _, n := range k.numbers {
		if n.off <= off {
			seq, ok = n.seq, n.known
		}
	}
	return seq, ok
}
