package ogg

// placed is a packet with its place in time.
type placed struct {
	packet
	// from and to are the ticks it yields. The first packet of a lapped codec
	// yields none. Of text, from is where it begins to show, and to where it
	// ends, or from where that is not said.
	from, to int64
	granule  int64 // of the page on which it ends
	last     bool  // it is the last packet that ends on that page
	key      bool  // decoding can begin here
}

// timeline places the packets of one stream in time, page by page. A granule
// position is that of a page's last packet: those before are counted back.
type timeline struct {
	s       *stream
	asm     assembler
	waiting []placed // ended since the last granule position; to is their length
	block   int64    // of lapped codecs, the block before; 0: not known
	at      int64    // the tick at which the next packet begins
	known   bool     // at is known
}

// newTimeline returns a timeline of s. Fresh says that the first page to come
// is the stream's first with data.
func newTimeline(s *stream, fresh bool) *timeline {
	return &timeline{s: s, asm: assembler{limit: maxPacket}, known: fresh}
}

// add returns the packets that p places.
func (t *timeline) add(p *page) []placed {
	packets, gap := t.asm.add(p)
	if gap {
		t.waiting, t.block, t.known = nil, 0, false
	}
	for _, q := range packets {
		t.wait(q)
	}
	pos, ok := t.s.position(p.granule)
	if !ok || len(packets) == 0 {
		return nil
	}
	out := t.waiting
	if t.s.text() {
		placeText(out, pos)
	} else {
		t.place(out, pos.end, p.eos())
	}
	for i := range out {
		out[i].granule = p.granule
	}
	out[len(out)-1].last = true
	t.waiting, t.at, t.known = nil, out[len(out)-1].to, true
	return out
}

func (t *timeline) wait(q packet) {
	if _, ok := t.s.codec.(*theora); ok && len(q.data) > 0 && q.data[0]&0x80 != 0 {
		return // a header
	}
	n := t.s.length(q.data)
	if t.s.lapped() {
		if q.broken {
			t.block = 0
		}
		block := n
		if n = 0; block > 0 && t.block > 0 {
			n = lapDuration(t.block, block)
		}
		if block == 0 {
			return // no sound: an empty packet, or a header
		}
		t.block = block
	}
	t.waiting = append(t.waiting, placed{packet: q, to: n, key: t.s.key(q.data)})
}

// place counts back from the tick at which the last packet ends. Only on the
// last page may the granule position be less than the packets yield, and then
// it trims the last (RFC 7845, section 4.4; Vorbis I, section A.2).
func (t *timeline) place(out []placed, end int64, eos bool) {
	var sum int64
	for _, q := range out {
		sum = satAdd(sum, q.to)
	}
	at := satSub(end, sum)
	trims := eos && t.known && t.at > at
	if trims {
		at = t.at
	}
	for i := range out {
		q := &out[i]
		q.from, q.to = at, satAdd(at, q.to)
		if at = q.to; trims {
			q.from, q.to = min(q.from, end), min(q.to, end)
		}
	}
}

// placeText gives a text the times that it says itself, else the page's.
func placeText(out []placed, pos position) {
	for i := range out {
		q := &out[i]
		q.from, q.to = pos.end, pos.end
		if from, to, ok := kateShows(q.data); ok {
			q.from, q.to = from, to
		}
	}
}
