package webm

// maxIdeal is how far before the keyframe sound is fetched for no more than the
// last bit, in bytes; as much as decoding right takes is always fetched.
const maxIdeal = 192 << 10

// far is how far in front in the file sound is fetched that is not needed for
// decoding right.
func (p *planner) far() int64 {
	if p.opening == nil {
		return 0
	}
	return p.opening.offset - maxIdeal
}

// headPieces returns the frames of a sound track around zero.
func (p *planner) headPieces(t *track) ([]piece, error) {
	return p.pieces(t, p.start, p.earlyOf(t), p.zero-t.sound.longest-t.sound.warmUp, p.zero)
}

// earlyEnough reports whether of each sound track all that a decoder needs
// before zero is at hand.
func (p *planner) earlyEnough() bool {
	r := p.start
	if r.within != nil || r.lo <= p.m.first.offset || r.from-r.lo >= mostBefore {
		return true
	}
	for _, t := range p.tracks {
		if t.kind != typeAudio {
			continue
		}
		pieces, err := p.headPieces(t)
		if err != nil || len(pieces) == 0 {
			continue
		}
		first := pieces[0]
		holds := p.zero - t.sound.longest
		enough := first.at <= holds-t.sound.ideal || first.at <= holds-t.sound.warmUp && first.b.offset <= p.far()
		if !enough && !(t.begun && first.b.offset < t.firstEnd) {
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
