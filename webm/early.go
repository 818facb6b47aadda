package webm

import "context"

// reachBack makes sure that the sound that leads in is at hand: it reads
// further back where the beginning of the start region is not early enough.
func (p *planner) reachBack(ctx context.Context) error {
	r := p.start
	for n := int64(minEdge); ; n *= 2 {
		p.findEarly()
		if p.earlyEnough() || r.within != nil || r.lo <= p.m.first.offset || r.from-r.lo >= mostBefore {
			return nil
		}
		lo := max(p.m.first.offset, r.lo-n)
		r.size, r.lo = r.hi()-lo, lo
		if err := p.m.read(ctx, r); err != nil {
			return err
		}
		if !p.findKey() { // it was there before
			return nil
		}
	}
}

// earlyEnough reports whether of each sound track all that a decoder needs
// before zero is at hand.
func (p *planner) earlyEnough() bool {
	if !p.video {
		return true
	}
	for _, t := range p.tracks {
		if t.kind != typeAudio {
			continue
		}
		pieces, err := p.pieces(t, p.start, p.earlyOf(t))
		if err != nil || len(pieces) == 0 {
			continue
		}
		if first := pieces[0]; first.at > p.zero-t.sound.warmUp && !(t.begun && first.b.offset < t.firstEnd) {
			return false
		}
	}
	return true
}

// findEarly looks at what was read before the start region's first cluster.
// Clusters that are recognised there belong to the region; before them are
// blocks whose times are only known relative to each other.
func (p *planner) findEarly() {
	r, m := p.start, p.m
	p.early = nil
	n := r.from - r.lo
	if n <= 0 || int64(len(r.data)) < n || r.within != nil {
		return
	}
	marks, _ := m.recognize(r.lo, r.data[:n])
	for _, mark := range marks {
		if s := m.walk(r.data[:n], r.lo, mark.Offset); s.err == nil && s.next == r.from {
			r.from = mark.Offset
			r.stretch = m.walk(r.data, r.lo, r.from)
			p.findKey()
			break
		}
	}
	p.early = m.before(r.data[:r.from-r.lo], r.lo)
}
