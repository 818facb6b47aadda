package mp4

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// RenditionCut is what a clip takes of a rendition.
type RenditionCut struct {
	Rendition *Rendition
	// Interval is on the rendition's own timeline, closed. Those of all cuts
	// are equally long and show at the same time in the clip.
	Interval fragment.Interval
	// First and Last are the segments that hold the interval's beginning and
	// end. Segments before First are read where decoding has to begin there.
	First, Last int
	// Tracks are the IDs of tracks; none means those that are on by default.
	Tracks []string
	// Language is the tag (RFC 5646) that tracks get which state none.
	Language string
	// Joints are where clocks begin anew behind First, in order.
	Joints []Joint
	// Open says that the interval ends behind Last, in segments that are yet to
	// come. Those behind First are passed on unread then, as all will be that
	// follow, but for the last one.
	Open bool
	// Given is the first segment behind those that were given out already: by a plan
	// with Open, and as that passes them on. There is no header then, and of this
	// rendition only what is behind. Nothing is read of those but of First, so they
	// may be no more; no Joint lies among them. 0: nothing was given out.
	Given int
}

// PlanRenditions makes a clip of one or several renditions: one moov with the
// tracks of all, their IDs changed where two are alike. It is fragmented, the
// fragments in the order of time, unless s has the Progressive layout: then the
// moofs of all segments are read. They are also read where clocks begin anew. Of
// s, only Timeline and Layout count; with Original the first cut's times are
// kept. The plan's intervals are on the first cut's timeline. A segment of
// unknown size that is passed on unread makes the plan's size unknown.
func PlanRenditions(ctx context.Context, cuts []RenditionCut, s formats.Selection) (*formats.Plan, error) {
	if len(cuts) == 0 {
		return nil, fmt.Errorf("%w: no renditions", formats.ErrNoFragment)
	}
	if s.Layout != "" && s.Layout != Fragmented && s.Layout != Progressive {
		return nil, unsupported("", -1, "leave the layout out", "layout %q", s.Layout)
	}
	first := cuts[0].Rendition
	c := &clip{
		head: first.ftyp, movie: first.movie, want: cuts[0].Interval,
		original: s.Timeline == formats.Original, fragmented: s.Layout != Progressive, mediaType: "audio/mp4",
	}
	for i, rc := range cuts {
		if err := c.addRendition(ctx, i, rc); err != nil {
			return nil, err
		}
	}
	if len(c.cuts) == 0 {
		return nil, fmt.Errorf("%w: no selected track has anything in %v", formats.ErrNothing, c.want)
	}
	for _, cut := range c.cuts {
		if cut.track.kind == formats.Video {
			c.mediaType = "video/mp4"
		}
	}
	slices.SortStableFunc(c.sections, func(a, b section) int { return a.start.Cmp(b.start) })
	if !c.fragmented {
		return c.planSections()
	}
	for i := range c.sections { // each may hold several fragments
		c.sections[i].number = uint32(i<<8 + 1)
		c.goesOn = c.goesOn || c.sections[i].given
	}
	c.sections = slices.DeleteFunc(c.sections, func(s section) bool { return s.given })
	return c.planFragmented()
}

// addRendition adds the tracks and fragments of a rendition to a clip.
func (c *clip) addRendition(ctx context.Context, source int, rc RenditionCut) error {
	r := rc.Rendition
	if rc.First < 0 || rc.Last < rc.First || rc.Last >= len(r.segments) {
		return fmt.Errorf("%w: segments %d to %d of %d", formats.ErrNoFragment, rc.First, rc.Last, len(r.segments))
	}
	chosen, err := r.movie.chosen(formats.Selection{Tracks: rc.Tracks})
	if err != nil {
		return err
	}
	c.open = c.open || rc.Open
	segments := &segmented{rendition: r, first: rc.First, last: rc.Last, open: rc.Open, given: rc.Given, joints: rc.Joints, all: !c.fragmented || len(rc.Joints) > 0 || r.mixed(rc.First, rc.Last)}
	resolve := resolver{r.movie, segments, r.env.Limits.Entries}
	v, err := resolve.resolve(ctx, rc.Interval, chosen)
	if err != nil {
		return err
	}
	before := len(c.cuts)
	for _, t := range chosen {
		if err := c.add(v, v.track(t.id), rc.Interval); err != nil {
			return err
		}
	}
	if err := loadAux(ctx, c.cuts[before:], r.readAux); err != nil {
		return err
	}
	for _, cut := range c.cuts[before:] {
		cut.source, cut.newID = source, c.freeID(cut, before)
		if cut.track.info.Language == undetermined {
			cut.language = rc.Language
		}
	}
	for _, s := range v.sections(c.cuts[before:], nil) {
		s.start, s.given = r.segments[s.segment].Start, s.segment < rc.Given
		s.info = r.resource(s.segment)
		if s.hole == nil || r.segments[s.segment].Data != nil {
			s.data = r.held(s.segment)
		}
		c.sections = append(c.sections, s)
	}
	return nil
}

// readAux reads ranges of a segment.
func (r *Rendition) readAux(ctx context.Context, segment int, ranges []seek.Range) ([][]byte, error) {
	out := make([][]byte, len(ranges))
	for i, at := range ranges {
		if data := r.segments[segment].Data; data != nil {
			out[i] = r.held(segment)(at)
			continue
		}
		w, err := r.window(ctx, segment)
		if err != nil {
			return nil, err
		}
		if out[i], err = w.ReadRange(ctx, at, seek.Index, "encryption information"); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// planSections lays a progressive clip out whose media lie in several resources,
// all of their samples known: section by section.
func (c *clip) planSections() (*formats.Plan, error) {
	var media []seek.Part
	var size int64
	for _, s := range c.sections {
		trafs, err := c.trafs(s)
		if err != nil {
			return nil, err
		}
		var all []placed
		for _, t := range trafs {
			for _, ch := range t.chunks {
				ch.cut, ch.order = slices.Index(c.cuts, t.cut), len(c.chunks)+len(all)
				all = append(all, ch)
			}
		}
		slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(a.offset, b.offset) })
		for _, ch := range all {
			if end := s.info.Size; end >= 0 && ch.offset+ch.size > end {
				return nil, c.cuts[ch.cut].track.outside(ch.chunk, end)
			}
			ch.at = size
			size += ch.size
			c.chunks = append(c.chunks, ch)
			media = append(media, s.mediaOf(&ch)...)
		}
	}
	c.raiseOffsets()
	c.timescale = c.movieTimescale()
	header := c.header(size)
	p := &formats.Plan{
		MediaType: c.mediaType, Requested: c.want, Presented: c.want, Covered: c.covered(),
		Parts: append([]seek.Part{seek.Literal(header, "header")}, joinParts(media)...),
		Size:  int64(len(header)) + size, Warnings: c.warnings,
	}
	for _, cut := range c.cuts {
		p.Tracks = append(p.Tracks, cut.info())
	}
	return p, nil
}

// freeID returns an ID for the cut that none of the first n cuts has.
func (c *clip) freeID(cut *cut, n int) uint32 {
	id, highest := cut.track.id, uint32(0)
	for _, other := range c.cuts {
		highest = max(highest, other.id())
	}
	for _, other := range c.cuts[:n] {
		if other.id() == id {
			return highest + 1
		}
	}
	return id
}

// held returns a function that gives the bytes of a range of a segment that
// are in memory, from its beginning on.
func (r *Rendition) held(i int) func(seek.Range) []byte {
	s := r.segments[i]
	if s.Data != nil {
		return func(at seek.Range) []byte {
			from, to := min(at.Offset, int64(len(s.Data))), min(at.End(), int64(len(s.Data)))
			return s.Data[from:to]
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.windows[i]
	if w == nil {
		return nil
	}
	return func(at seek.Range) (have []byte) {
		for step := int64(moofGuess); step > 0; step /= 2 { // the longest that is held
			n := int64(len(have)) + step
			if n > min(at.Length, moofGuess) {
				continue
			}
			if b, ok := w.Held(seek.Range{Offset: at.Offset, Length: n}); ok {
				have = b
			}
		}
		return have
	}
}
