package mp4

import (
	"cmp"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// view is what a plan is made of: tracks with sample tables that reach as far
// as an interval needs. A progressive file's index is its own view; of a
// fragmented file, or of an index that is read in parts, a view holds what was
// read for one interval.
type view struct {
	*movie
	want      fragment.Interval        // the interval, clamped to the presentation
	fragments []*moof                  // those that were read; nil for a progressive file
	spans     map[uint32][]sampleRange // of each track, the samples of each fragment
	hole      *hole                    // between the fragments, some that were not read
	indexed   bool                     // an index told the fragments' places
	cutOff    bool                     // the interval goes on where the file is cut off
}

// hole is where there are fragments that were not read.
type hole struct {
	before    int // how many of the fragments that were read lie before it
	stretches []stretchOf
	apart     bool // fragments may be missing between it and those that were read
}

// stretchOf is a stretch of unread fragments of a resource.
type stretchOf struct {
	info    *seek.Info
	segment int // in a list of segments
	seek.Range
	// next is how much later than in the first fragment that was read the media of
	// tracks begins behind the stretch, in seconds, as an index tells.
	next map[uint32]fragment.Time
}

// viewOf returns a view of some tracks of a movie with the given samples.
func (m *movie) viewOf(tables map[*track]*sampleTables, open bool) *movie {
	out := *m
	out.tracks = nil
	for _, t := range m.tracks {
		c := *t
		if s := tables[t]; s != nil {
			c.tables = s
			if open {
				c.end = maxTicks
			}
		}
		out.tracks = append(out.tracks, &c)
	}
	return &out
}

// needs returns what of a track's media an interval needs, in composition
// time: from the first to the last tick of all its edits.
func (m *movie) needs(t *track, want fragment.Interval) (from, to int64, ok bool) {
	open := *t
	open.end = maxTicks
	segments := m.segments(&open)
	c := &cut{track: t, refine: 1}
	for _, s := range segments {
		start, end := s.start.Max(want.Start), s.end.Min(want.End)
		if !start.Less(end) {
			continue
		}
		a, b := c.mediaAt(s, start), c.mediaAt(s, end)
		if s.still {
			a, b = s.mediaTime, s.mediaTime+1
		}
		if !ok {
			from, to, ok = a, b, true
			continue
		}
		from, to = min(from, a), max(to, b)
	}
	return from, to, ok
}

// gather makes sample tables of fragments, for the given tracks of the movie
// in m. Samples in the moov itself come first where base is set.
func (m *movie) gather(tracks []*track, fragments []*moof, base bool, limit int64) (map[*track]*sampleTables, map[*track][]sampleRange, error) {
	tables, spans := map[*track]*sampleTables{}, map[*track][]sampleRange{}
	for _, t := range tracks {
		b := newStretch(t, limit)
		if base && t.tables.count > 0 {
			if err := b.addTables(t.tables, 0, t.tables.count); err != nil {
				return nil, nil, err
			}
			b.fragments = nil
		}
		for _, f := range fragments {
			if err := b.addFragment(f); err != nil {
				return nil, nil, err
			}
		}
		s, err := b.tables()
		if err != nil {
			return nil, nil, err
		}
		s.refresh = t.common.refresh
		tables[t], spans[t] = s, b.fragments
	}
	return tables, spans, nil
}

// short reports whether the tables of t begin too late to present its media
// from a composition time on.
func (t *track) short(s *sampleTables, from int64) bool {
	if s.count == 0 {
		return t.kind == formats.Audio || t.kind == formats.Video
	}
	with := *t
	with.tables = s
	sync := s.lastSync(from)
	if sync < 0 {
		return true
	}
	return with.prerollFrom(sync) < 0
}

// late reports whether the tables of t end too early to present its media up
// to a composition time.
func (t *track) late(s *sampleTables, to int64) bool {
	if t.kind != formats.Audio && t.kind != formats.Video {
		return false
	}
	least, _ := s.offsetsAround(s.count - 1)
	return s.count == 0 || s.end()+min(0, least) < to
}

// sorted returns fragments in order, each once.
func sorted(fragments []*moof) []*moof {
	slices.SortFunc(fragments, func(a, b *moof) int {
		return cmp.Or(cmp.Compare(a.segment, b.segment), cmp.Compare(a.box.off, b.box.off))
	})
	return slices.CompactFunc(fragments, func(a, b *moof) bool { return a.segment == b.segment && a.box.off == b.box.off })
}

// beforeHole reports whether a sample of a track lies in the fragments before
// the hole.
func (v *view) beforeHole(t *track, sample int64) bool {
	spans := v.spans[t.id]
	return v.hole.before > 0 && sample < spans[v.hole.before-1].to
}

// sections returns the view's fragments, and what lies between them, for a
// clip.
func (v *view) sections(cuts []*cut, info *seek.Info) []section {
	var out []section
	base := section{number: 1, samples: map[*cut]sampleRange{}, info: info}
	for _, cut := range cuts { // samples of the moov itself
		if spans := v.spans[cut.track.id]; len(spans) > 0 && spans[0].from > 0 {
			base.samples[cut] = sampleRange{0, spans[0].from}
		}
	}
	if len(base.samples) > 0 {
		out = append(out, base)
	}
	for i, f := range v.fragments {
		if v.hole != nil && i == v.hole.before {
			out = append(out, v.stretches(cuts)...)
		}
		s := section{number: f.number, samples: map[*cut]sampleRange{}, info: info, segment: f.segment, systems: slices.Concat(f.box.systems()...)}
		for _, cut := range cuts {
			s.samples[cut] = v.spans[cut.track.id][i]
		}
		out = append(out, s)
	}
	if v.hole != nil && v.hole.before == len(v.fragments) {
		out = append(out, v.stretches(cuts)...)
	}
	return out
}

// stretches returns the hole as sections.
func (v *view) stretches(cuts []*cut) []section {
	tracks := map[uint32]*cut{}
	for _, cut := range cuts {
		tracks[cut.track.id] = cut
	}
	var out []section
	last := len(v.hole.stretches) - 1
	for i, s := range v.hole.stretches {
		after, until := map[uint32]int64{}, map[uint32]int64{}
		for _, cut := range cuts {
			t := cut.track
			end, next := v.aroundHole(t)
			if i == 0 {
				after[t.id] = end
			}
			if i == last {
				until[t.id] = next
			} else if next > 0 {
				until[t.id] = v.indexedAt(t, s.next, v.hole.stretches[last].next, next)
			}
		}
		out = append(out, section{hole: &s.Range, info: s.info, segment: s.segment, tracks: tracks, after: after, until: until})
	}
	return out
}

// indexedAt returns the decode time of a track that an index tells of, 0 where it
// does not, or is wrong about that at the end of the hole.
func (v *view) indexedAt(t *track, at, end map[uint32]fragment.Time, next int64) int64 {
	first := t.tables.decode(v.spans[t.id][0].from)
	off := first + end[t.id].Round(t.timescale) - next
	if later, ok := at[t.id]; ok && float64(max(off, -off)) < longGap/2*float64(t.timescale) {
		return first + later.Round(t.timescale)
	}
	return 0
}

// aroundHole returns the decode time at which a track's samples before the hole
// end, and that at which those behind it begin; 0: not known.
func (v *view) aroundHole(t *track) (end, next int64) {
	spans, s := v.spans[t.id], t.tables
	if v.hole.before == 0 || len(spans) < v.hole.before || v.hole.apart {
		return 0, 0
	}
	behind := spans[v.hole.before-1].to
	if behind > 0 {
		end = s.decode(behind) - s.gaps[behind-1]
	}
	if behind < s.count {
		next = s.decode(behind)
	}
	return end, next
}
