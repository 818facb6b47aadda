package mp4

import (
	"cmp"
	"math"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

// segment is one edit on the presentation's timeline.
type segment struct {
	start, end fragment.Time // of the presentation
	mediaTime  int64         // at start, in the track's timescale
	still      bool          // the picture at mediaTime stands throughout
}

// segments returns what of a track is presented when, empty edits left out.
// Without an edit list it is all of the media from its time 0 on (ISO/IEC
// 14496-12 section 8.6.6).
func (m *movie) segments(t *track) []segment {
	end := t.mediaEnd()
	if len(t.edits) == 0 {
		return []segment{{end: fragment.Ticks(end, t.timescale)}}
	}
	var out []segment
	var at int64 // in the movie's timescale
	for i, e := range t.edits {
		s := segment{start: fragment.Ticks(at, m.timescale), mediaTime: e.mediaTime, still: e.rate == 0}
		at += e.duration
		s.end = fragment.Ticks(at, m.timescale)
		switch {
		case e.mediaTime < 0:
			continue
		case s.still:
		case e.duration == 0 && i == len(t.edits)-1: // to the end, as writers of fragments say
			s.end = s.start.Add(fragment.Ticks(max(0, end-e.mediaTime), t.timescale))
		default:
			s.end = m.trueEnd(t, s, end)
		}
		if s.start.Less(s.end) {
			out = append(out, s)
		}
	}
	return out
}

// trueEnd returns when a segment ends. Its duration stands in the movie's
// timescale, which is often too coarse to say where the media ends: within one
// tick of that, the media's own end is meant. Beyond its end there is nothing.
func (m *movie) trueEnd(t *track, s segment, mediaEnd int64) fragment.Time {
	media := s.start.Add(fragment.Ticks(max(0, mediaEnd-s.mediaTime), t.timescale))
	off := media.Sub(s.end)
	if tick := fragment.Ticks(1, m.timescale); off.Less(tick) {
		return media
	}
	return s.end
}

// mediaEnd is the composition time at which a track's last sample ends. A last
// sample of no duration, as some writers leave it, lasts a tick.
func (t *track) mediaEnd() int64 {
	s := t.tables
	if t.end != 0 || s.count == 0 {
		return cmp.Or(t.end, s.end())
	}
	_, end, _ := s.span(sampleRange{max(0, s.count-maxReorder), s.count})
	return max(end, s.compose(s.count-1)+1)
}

// maxReorder bounds how far presentation order may differ from decode order,
// in samples. Codecs allow 16 pictures.
const maxReorder = 128

// choose finds the samples of a track that an interval needs. Where exact is
// set, the cut's timescale is refined until the interval begins and ends on a
// tick.
func (m *movie) choose(t *track, want fragment.Interval, exact bool) *cut {
	segments := m.segments(t)
	c := &cut{track: t, refine: 1}
	if exact {
		c.refine = t.refinement(segments, want)
	}
	for _, s := range segments {
		p := piece{start: s.start.Max(want.Start), end: s.end.Min(want.End), still: s.still}
		if !p.start.Less(p.end) {
			continue
		}
		p.from, p.to = c.mediaAt(s, p.start), c.mediaAt(s, p.end)
		if s.still {
			p.from = s.mediaTime * c.refine
			p.to = p.from + 1
		}
		if p.from >= p.to {
			continue
		}
		from, to := floorDiv(p.from, c.refine), ceilDiv(p.to, c.refine)
		p.samples = t.flushed(t.reach(from, to), to)
		if p.samples.from < p.samples.to {
			c.pieces = append(c.pieces, p)
		}
	}
	c.ranges = joinRanges(c.pieces)
	c.trim()
	return c
}

// mediaAt returns the composition time, in the cut's timescale, at which an
// interval that begins or ends at t is cut. A picture belongs to the interval
// if it is presented at or after its beginning, so that is the first tick at or
// after t. Sound is cut at the sample nearest to t; clips that follow one
// another then share no sample and lose none.
func (c *cut) mediaAt(s segment, t fragment.Time) int64 {
	into := t.Sub(s.start)
	if c.track.kind == formats.Audio {
		return s.mediaTime*c.refine + into.Round(c.timescale())
	}
	return s.mediaTime*c.refine + into.Ceil(c.timescale())
}

// maxTimescale is the finest timescale that is written, in ticks a second.
const maxTimescale = 10_000_000

// refinement returns by how much a track's timescale has to be multiplied so
// that the interval begins and ends on a tick. Sound that is counted in samples
// begins on one; nothing finer can be heard. Durations keep within 32 bits.
func (t *track) refinement(segments []segment, want fragment.Interval) int64 {
	if t.kind == formats.Audio && (t.timescale >= int64(t.entry.rate) || t.timescale == t.entry.unitRate()) {
		return 1
	}
	k := int64(1)
	for _, bound := range []fragment.Time{want.Start, want.End} {
		for _, s := range segments {
			if bound.Less(s.start) || s.end.Less(bound) {
				continue
			}
			at := bound.Sub(s.start).Rat()
			den := at.Mul(at, fragment.Ticks(t.timescale, 1).Rat()).Denom()
			if !den.IsInt64() || den.Int64() > maxTimescale {
				continue
			}
			if all := lcm(k, den.Int64()); all <= min(maxTimescale/t.timescale, math.MaxUint32/max(1, t.tables.stts.max)) {
				k = all
			}
		}
	}
	return k
}

// lcm returns the least common multiple of two positive numbers, or a number
// beyond any timescale where it would be large.
func lcm(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	if a/x > maxTicks/b {
		return maxTicks
	}
	return a / x * b
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }

// reach returns the samples that it takes to present [from, to), in
// composition time: from the last sync sample that presents at or before from,
// with the codec's pre-roll before it, to the last sample that presents before
// to. It is empty where nothing presents before to.
func (t *track) reach(from, to int64) sampleRange {
	s := t.tables
	if s.count == 0 {
		return sampleRange{}
	}
	first := max(s.lastSync(from), 0)
	last := s.lastBefore(to)
	if last < first {
		return sampleRange{}
	}
	return sampleRange{t.preroll(first), last + 1}
}

// lastSync returns the last sample, in decode order, from which on decoding
// gives all that presents from t on; -1 where there is none. A sync sample that
// presents later may have leading pictures around t, but those need the one
// before.
func (s *sampleTables) lastSync(t int64) int64 {
	_, latest := s.around(t)
	i := s.accessBefore(latest)
	for range maxReorder {
		if right, _ := s.rightFrom(max(0, i)); i < 0 || s.compose(right) <= t {
			return i
		}
		i = s.accessBefore(i - 1)
	}
	return s.accessBefore(s.atDecode(t))
}

// around returns two samples for a composition time: none before the first
// presents at or after t, none after the last at or before it.
func (s *sampleTables) around(t int64) (first, last int64) {
	i := s.atDecode(t)
	if s.ctts == nil || i < 0 {
		return max(0, i), i
	}
	// All offsets may be shifted by as much as an edit list takes back.
	i = max(0, s.atDecode(t-s.offset(i)))
	least, greatest := s.offsetsAround(i)
	return max(0, s.atDecode(t-greatest)), s.atDecode(t - least)
}

// lastBefore returns the last sample, in decode order, that presents before t;
// -1 where there is none.
func (s *sampleTables) lastBefore(t int64) int64 {
	_, i := s.around(t - 1)
	for range 2 * maxReorder {
		if i < 0 || s.compose(i) < t {
			return i
		}
		i--
	}
	return s.atDecode(t - 1)
}

// firstPresented returns the first of some samples, in presentation order, that
// presents at or after t, and when, in composition time; -1 where none does.
func (s *sampleTables) firstPresented(of sampleRange, t int64) (at, sample int64) {
	at, sample = -1, -1
	from, _ := s.around(t)
	from = max(of.from, from)
	for i := from; i < of.to && i < from+2*maxReorder; i++ {
		if c := s.compose(i); c >= t && (sample < 0 || c < at) {
			at, sample = c, i
		}
	}
	return at, sample
}

// joinRanges returns the samples of all pieces, ascending and apart.
func joinRanges(pieces []piece) []sampleRange {
	var all []sampleRange
	for _, p := range pieces {
		all = append(all, p.samples)
	}
	slices.SortFunc(all, func(a, b sampleRange) int { return cmp.Compare(a.from, b.from) })
	var out []sampleRange
	for _, r := range all {
		if n := len(out) - 1; n >= 0 && r.from <= out[n].to {
			out[n].to = max(out[n].to, r.to)
			continue
		}
		out = append(out, r)
	}
	return out
}

// span returns when the first of some samples is presented, and when the last
// ends, in composition time.
func (s *sampleTables) span(r sampleRange) (first, last int64, ok bool) {
	first, last = math.MaxInt64, math.MinInt64
	for i := r.from; i < min(r.to, r.from+maxReorder); i++ {
		first = min(first, s.compose(i))
	}
	for i := r.to - 1; i >= max(r.from, r.to-maxReorder); i-- {
		last = max(last, s.compose(i)+s.duration(i))
	}
	return first, last, r.from < r.to
}
