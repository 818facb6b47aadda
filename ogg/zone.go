package ogg

import (
	"cmp"
	"slices"
)

// zone lays the pages at one end of a clip anew: without the packets that are
// not carried, and cut between packets where the original page goes on.
type zone struct {
	streams map[uint32]*laid
	pages   []laidPage
}

// laidPage is a new page and the time at which it ends, on the clock of
// searches.
type laidPage struct {
	raw  []byte
	time int64
}

// laid is one stream of a clip while its pages are laid.
type laid struct {
	*carried
	shift  Shift
	w      pageWriter
	seen   uint32 // number of the last original page before the middle
	paired bool   // the first page of a lapped stream is out
	ended  bool   // the last page is out
}

// add lays one original page. Pages of streams that are not carried are dropped.
func (z *zone) add(p *page) {
	s := z.streams[p.serial]
	switch {
	case s == nil || s.empty || p.off < s.s.data || s.s.text(): // text is laid by itself
	default:
		z.addMedia(s, p)
	}
}

func (z *zone) addMedia(s *laid, p *page) {
	added := false
	for i, f := range p.pieces() {
		at := place{p.off, i}
		if at.before(s.first.begins) || s.last.ends.before(at) {
			continue
		}
		s.seen, added = p.seq, true
		if f, ok := s.split(at, f); ok {
			z.put(s, f, p.granule)
		}
		switch {
		case s.alone() && at == s.first.ends:
			z.flush(s, s.pair.from, 0)
		case s.parted() && at == s.first.ends:
			z.flush(s, s.first.to, 0)
		case s.s.lapped() && !s.paired && at == s.pair.ends:
			z.flushPair(s)
		case at == s.last.ends && !s.rest:
			z.flushLast(s)
		}
	}
	switch whole := s.last.ends == (place{p.off, maxSegments}); {
	case s.ended || !added || s.s.lapped() && !s.paired:
	case whole:
		z.flushLast(s)
	case len(s.w.lacing) > 0:
		z.flush(s, p.granule, 0)
	}
}

// split returns a piece as it is carried. The first and the last packet of PCM are
// cut anew: they take the place of their last pieces, the others are left out.
func (s *laid) split(at place, f piece) (piece, bool) {
	if !s.s.splits() {
		return f, true
	}
	for _, q := range []placed{s.first, s.last} {
		switch {
		case q.data == nil, at.before(q.begins), q.ends.before(at):
		case at != q.ends:
			return f, false
		default:
			s.w.open = s.w.open && len(s.w.lacing) > 0
			return piece{data: q.data, begins: true, ends: true}, true
		}
	}
	return f, true
}

// put adds a piece to the stream's page; a page that is full on the way goes out.
func (z *zone) put(s *laid, f piece, granule int64) {
	if raw := s.w.add(nil, f, s.shift.granule(granule)); len(raw) > 0 {
		z.pages = append(z.pages, laidPage{raw, s.s.nanos(s.first.from)})
	}
}

// flush closes the stream's page. Granule is on the original's scale.
func (z *zone) flush(s *laid, granule int64, flags byte) {
	time := s.s.nanos(s.first.from)
	if pos, ok := s.s.position(granule); ok {
		time = s.s.nanos(pos.end)
		switch c := s.s.codec.(type) {
		case *vp8:
			time = s.s.nanos(pos.end+1) - 1 // see fisbonePacket: as a number it may be up to a picture later
		case *theora:
			time = s.s.nanos(pos.end - 1 + c.base) // before version 3.2.1 it names where the picture begins
		}
	}
	z.pages = append(z.pages, laidPage{s.w.flush(nil, s.shift.granule(granule), flags), time})
}

// flushPair closes the first page of a lapped stream. It holds two packets, of
// which the first yields nothing: only then do all decoders begin at the sample
// that its granule position says.
func (z *zone) flushPair(s *laid) {
	s.paired = true
	switch {
	case s.pair.ends != s.last.ends:
		z.flush(s, s.pair.to, 0)
	case s.stuck():
		z.flush(s, s.pair.to, 0)
		z.put(s, piece{data: s.pair.data, begins: true, ends: true}, s.pair.to) // again: some decoders take an empty packet for an error
		z.flush(s, s.pair.to, flagEOS)
		s.ended = true
	default:
		z.flushLast(s)
	}
}

// flushLast closes the last page of a stream.
func (z *zone) flushLast(s *laid) {
	z.flush(s, s.final, flagEOS)
	s.ended = true
}

// addCue lays a text on pages of its own. Granule is on the original's scale.
func (z *zone) addCue(s *laid, q placed, granule int64) {
	data := q.data
	if s.shift.Kate {
		data = kateShift(data, s.shift.Ticks, s.shift.End)
	}
	z.put(s, piece{data: data, begins: true, ends: true}, granule)
	z.flush(s, granule, 0)
}

// addOpen lays the beginning of a text that goes on in the middle of the clip.
func (z *zone) addOpen(s *laid) {
	data := s.open.data
	if s.shift.Kate {
		data = kateShift(data, s.shift.Ticks, s.shift.End)
	}
	z.put(s, piece{data: data, begins: true}, noGranule)
	z.flush(s, noGranule, 0)
}

// endText lays the last page of a text stream.
func (z *zone) endText(s *laid) {
	end := s.s.granule(position{end: s.end, key: s.end})
	z.put(s, piece{data: s.s.goodbye(), begins: true, ends: true}, end)
	z.flush(s, end, flagEOS)
}

// bytes returns the pages in the order of their times, those of each stream in
// the order in which they were laid.
func (z *zone) bytes() []byte {
	sorted := slices.Clone(z.pages)
	later := map[uint32]int64{} // of each stream, the time of the page behind
	for i := len(sorted) - 1; i >= 0; i-- {
		p, _ := parsePage(sorted[i].raw, 0)
		t, ok := later[p.serial]
		if p.granule == noGranule && ok {
			sorted[i].time = t
		} else if p.granule == noGranule {
			sorted[i].time = 1<<63 - 1
		} else if ok {
			sorted[i].time = min(sorted[i].time, t)
		}
		later[p.serial] = sorted[i].time
	}
	slices.SortStableFunc(sorted, func(a, b laidPage) int { return cmp.Compare(a.time, b.time) })
	var out []byte
	for _, p := range sorted {
		out = append(out, p.raw...)
	}
	return out
}
