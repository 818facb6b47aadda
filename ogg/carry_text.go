package ogg

import "context"

// textBack is how many bytes before the beginning of a clip are looked through
// for the text that still shows there. Text is sparse, so a search for it
// could take the whole file.
const textBack = 1 << 20

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
