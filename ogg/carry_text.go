package ogg

import (
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
	// textAround is how far from where a named text has to be it is looked for.
	textAround = 64 << 10
)

// carryText finds the text that shows in the clip as far as the regions at its
// ends hold it: the last cue before a, and all that begin later.
func (c *cutting) carryText(ctx context.Context, k *carried) error {
	s := k.s
	k.zero, k.start, k.end = s.rate.ceil(c.t0), s.rate.ceil(c.t0), s.rate.ceil(c.b)
	if c.original {
		k.zero = 0
	}
	if c.head == nil {
		return nil
	}
	from := max(c.l.data, c.head.from-textBack)
	back, err := c.l.readRegion(ctx, c.w, from, c.head.from)
	if err != nil {
		return err
	}
	k.missed = from > c.l.data
	cues := append(back.place(s, c.l), c.head.place(s, c.l)...)
	if c.tail != nil {
		cues = append(cues, c.tail.place(s, c.l)...)
	}
	if k.missed {
		named, err := c.namedText(ctx, k, cues)
		if err != nil {
			return err
		}
		cues = append(named, cues...)
	}
	k.numbers = []numbered{{c.l.data, s.pages - 1, !k.missed}}
	for _, r := range []*region{back, c.head} {
		for i := range r.pages {
			if p := &r.pages[i]; p.serial == s.serial && p.off >= s.data {
				k.numbers = append(k.numbers, numbered{p.off, p.seq, true})
			}
		}
	}
	for i, q := range cues {
		switch {
		case q.from >= k.end:
		case q.from >= k.start:
			k.inside = append(k.inside, q)
		case q.to > k.start || q.to == q.from && !later(cues[i+1:], q.from, k.start):
			k.early, k.missed = append(k.early, q), false
		}
	}
	k.empty = false
	return nil
}

// namedText looks for texts that began before what was looked through and still
// show: the granule position of each text names the earliest that shows with it.
func (c *cutting) namedText(ctx context.Context, k *carried, cues []placed) ([]placed, error) {
	s, from, to := k.s, c.head.to, c.l.end
	if c.tail != nil {
		to = c.tail.from
	}
	ahead, err := c.l.readRegion(ctx, c.w, from, min(to, from+textBack))
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(c.l.streams, func(t *stream) bool { return !t.text() && t.ended })
	if at < 0 {
		return nil, nil
	}
	clock := c.l.streams[at]
	known := append(slices.Clone(cues), ahead.place(s, c.l)...)
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
		near, err := c.l.find(ctx, clock, clock.nearest(s.time(pos.key)))
		if err != nil {
			return nil, searchError(err)
		}
		r, err := c.l.readRegion(ctx, c.w, max(c.l.data, near.from-textAround), min(near.to+textAround, c.l.end))
		if err != nil {
			return nil, err
		}
		for _, o := range r.place(s, c.l) {
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

// later reports whether one of the cues begins after from and not after start.
func later(cues []placed, from, start int64) bool {
	for _, q := range cues {
		if q.from > from && q.from <= start {
			return true
		}
	}
	return false
}

// numbered is the number of a page.
type numbered struct {
	off   int64
	seq   uint32
	known bool
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
