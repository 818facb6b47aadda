package mp4

import "github.com/mediafrag/mediafrag/fragment"

// times returns the durations of a track's samples. Of a table that is not read
// whole it is the part from the nearer end on that tells of all media between two
// decode times and of the samples between two others, as far as those are known:
// with what lies before it, and before the sample first, as samples that last no
// time. It is nil while bytes are missing.
func (t *track) times(d *demand, from, to int64, known sampleRange) (s *sampleTables, first int64, err error) {
	n := t.stblNode.child("stts")
	if n == nil || !n.large {
		return &sampleTables{stts: t.tables.stts, count: t.tables.stts.count}, 0, nil
	}
	sizes, sized, err := t.sizesInParts(d)
	if err != nil {
		return nil, 0, err
	}
	total := sizes.table.count
	table, ok, err := n.tableOf(d, 8, 8)
	if err != nil || !ok {
		return nil, 0, err
	}
	from, to = min(from, n.lasts), min(to, n.lasts)
	back, wanted := false, to
	if n.lasts-from < to {
		back, wanted = true, n.lasts-from
	}
	k := share(table.count, n.lasts, to, from, back)
	if samples, ok := t.stblNode.samples(d); ok { // from a sync sample on
		even := t.evenSamples(d, samples, from, to)
		k = max(k, share(table.count, samples, even.to, even.from, back))
	}
	for try := 0; ; try++ {
		k = min(k, table.count)
		at := int64(0)
		if back {
			at = table.count - k
		}
		data, ok := table.entries(d, at, at+k, n.typ)
		switch {
		case !sized:
			return nil, 0, nil
		case !ok:
			even := t.evenSamples(d, total, from, to)
			t.wishSlices(d, total, even.from, even.to)
			return nil, 0, nil
		}
		s, first, err := timesOf(data, at, back, total, n.lasts)
		if err != nil {
			return nil, 0, err
		}
		told, lacking := s.end(), known.to-s.stts.count // samples
		if back {
			told, lacking = n.lasts-s.start, first-known.from
		}
		switch {
		case k == table.count && (s.stts.count != total || s.end() != n.lasts):
			return nil, 0, errWhole
		case k == table.count, told >= wanted && lacking <= 0:
			return s, first, nil
		case told < wanted:
			k = more(try, k, told, wanted)
		default:
			k += lacking // each has an entry at most
		}
	}
}

// evenSamples returns which samples of total are of the media between two times if
// all are evenly long, and some more on either side, from a sync sample on.
func (t *track) evenSamples(d *demand, total, from, to int64) sampleRange {
	lasts := max(1, t.stblNode.child("stts").lasts)
	sample := func(at int64) int64 { return int64(float64(total) * float64(at) / float64(lasts)) }
	lo, hi := sample(from), sample(to)
	margin := sliceMargin + min(lo, total-lo)/unevenness
	lo, hi = max(0, lo-margin), min(total, hi+margin)
	d.guess(func() { lo, _ = t.syncInParts(d, lo, total) })
	return sampleRange{lo, hi}
}

// timesOf makes tables of the entries of an stts from one on, which are the last
// ones where back is set: they end with the last of total samples, at a decode
// time. First is the first sample that they tell of.
func timesOf(data []byte, at int64, back bool, total, end int64) (s *sampleTables, first int64, err error) {
	stts, bad := newRunTable(data, false)
	if bad >= 0 || stts.count > total || stts.sum > end {
		return nil, 0, errWhole
	}
	s = &sampleTables{stts: stts, count: total}
	if !back {
		return s, 0, nil
	}
	first, s.start = total-stts.count, end-stts.sum
	if first < at || at == 0 && s.start > 0 { // an entry has a sample at least
		return nil, 0, errWhole
	}
	s.stts, _ = newRunTable(append(encodeRuns([]run{{first, 0}}), data...), false)
	return s, first, nil
}

// settleTimes decides what becomes of an stts that is too large to be read for
// nothing: where other boxes confirm how long the media lasts, by the mdhd, a part
// of it will do; else it is read whole.
func (p *partial) settleTimes(d *demand, root *node) {
	mvhd := root.child("mvhd")
	for _, trak := range root.children {
		stts := trak.find("mdia", "minf", "stbl", "stts")
		if stts == nil || !stts.large {
			continue
		}
		if lasts, ok := confirmed(mvhd, trak); ok {
			stts.lasts = lasts
			continue
		}
		stts.large = false
		if raw, ok := d.need(stts.off, stts.size, stts.typ); ok {
			stts.raw = raw
		}
	}
}

// confirmed returns how long a track's media lasts by its mdhd, in its timescale,
// where the edit list or, without one, the tkhd says the same: the edit's duration
// within a tick of the movie's timescale, or as much more as the edit leaves out
// at the beginning.
func confirmed(mvhd, trak *node) (int64, bool) {
	mdhd, tkhd := trak.find("mdia", "mdhd"), trak.child("tkhd")
	if mvhd == nil || mvhd.raw == nil || mdhd == nil || mdhd.raw == nil || tkhd == nil || tkhd.raw == nil {
		return 0, false
	}
	movie, _, ok := durationOf(mvhd.box(""), 4)
	scale, media, ok2 := durationOf(mdhd.box(""), 4)
	_, shown, ok3 := durationOf(tkhd.box(""), 8)
	if !ok || !ok2 || !ok3 || movie == 0 || scale == 0 || media == 0 {
		return 0, false
	}
	skipped := int64(0)
	if edts := trak.child("edts"); edts != nil {
		var t track
		if edts.raw == nil || t.readEdits(edts.box("")) != nil {
			return 0, false
		}
		edits := t.edits
		if len(edits) == 2 && edits[0].mediaTime < 0 {
			edits = edits[1:]
		}
		if len(edits) != 1 || edits[0].mediaTime < 0 || edits[0].rate != 1 {
			return 0, false
		}
		shown, skipped = edits[0].duration, edits[0].mediaTime
	}
	tick := fragment.Ticks(1, movie)
	least, most := fragment.Ticks(shown, movie).Sub(tick), fragment.Ticks(shown, movie).Add(fragment.Ticks(skipped, scale)).Add(tick)
	lasts := fragment.Ticks(media, scale)
	return media, !lasts.Less(least) && !most.Less(lasts)
}

// durationOf returns the timescale and the duration out of an mvhd or mdhd, or the
// duration out of a tkhd, which has 8 bytes between the times and it.
func durationOf(b box, between int) (timescale, duration int64, ok bool) {
	p := b.payload()
	field := 4
	if len(p) > 0 && p[0] == 1 {
		field = 8
	}
	at := 4 + 2*field
	if len(p) < at+between+field {
		return 0, 0, false
	}
	timescale = int64(be.Uint32(p[at:]))
	if p = p[at+between:]; field == 8 {
		duration = known(be.Uint64(p), 1)
	} else {
		duration = known(uint64(be.Uint32(p)), 0)
	}
	return timescale, duration, true
}
