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
}

// stretchOf is a stretch of unread fragments of a resource.
type stretchOf struct {
	info    *seek.Info
	segment int // in a list of segments
	seek.Range
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
	for _, s := range v.hole.stretches {
		out = append(out, section{hole: &s.Range, info: s.info, segment: s.segment, tracks: tracks})
	}
	return out
}
