package mp4

import (
	"cmp"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// Fragmented is the layout with a moov that describes the tracks and fragments
// that hold their samples.
const Fragmented = formats.Fragmented

// maxFragmentMedia is the most bytes of samples in one fragment: offsets in it
// are of 31 bits (ISO/IEC 14496-12 section 8.8.8), and the moof comes on top.
const maxFragmentMedia = 1 << 30

// maxStretch is the most bytes of unread fragments in one part of a plan.
const maxStretch = 8 << 20

// written is one piece of a fragmented clip: a fragment that was written anew,
// or a stretch of unread ones.
type written struct {
	parts []seek.Part
	size  int64 // of all parts, -1 where it is not known
	start int64 // presentation time of its earliest sample, by the index's track
	until int64 // and when it ends
	sync  bool  // it begins with a sync sample of that track
}

// planFragmented lays out a fragmented clip: ftyp, moov, an index of what is
// known, then the fragments, the first and the last cut to samples.
func (c *clip) planFragmented() (*formats.Plan, error) {
	c.raiseOffsets()
	c.timescale = c.movieTimescale()
	if slices.ContainsFunc(c.cuts, func(cut *cut) bool { return cut.track.entry.encrypted }) {
		if err := c.divideRuns(); err != nil {
			return nil, err
		}
	}
	pieces, err := c.pieces()
	if err != nil {
		return nil, err
	}
	w := &builder{}
	if !c.goesOn {
		w.raw(c.head)
		c.writeMoov(w, false, 0)
	}
	if !c.goesOn && !c.open {
		c.writeSegmentIndex(w, pieces)
	}
	p := &formats.Plan{
		MediaType: c.mediaType,
		Requested: c.want,
		Presented: c.want,
		Covered:   c.covered(),
		Size:      int64(len(w.buf)),
		Needed:    int64(len(c.head)) + c.movie.size + c.index + c.span(),
		Warnings:  c.warnings,
	}
	if len(w.buf) > 0 {
		p.Parts = []seek.Part{seek.Literal(w.buf, "header")}
	}
	// Players that honour edit lists in progressive files only show the lead-in
	// as well.
	p.Presented = p.Covered
	for _, piece := range pieces {
		p.Parts = append(p.Parts, piece.parts...)
		if p.Size >= 0 && piece.size >= 0 {
			p.Size += piece.size
		} else {
			p.Size = -1
		}
	}
	settle(p.Parts, 0)
	for _, cut := range c.cuts {
		p.Tracks = append(p.Tracks, cut.info())
	}
	return p, nil
}

// pieces returns the fragments of the clip in order.
func (c *clip) pieces() ([]written, error) {
	var out []written
	for _, s := range c.sections {
		write := c.writeFragment
		switch {
		case s.hole != nil:
			write = c.passOn
		case len(s.runs) > 0:
			write = c.writeRuns
		}
		w, err := write(s)
		if err != nil {
			return nil, err
		}
		if len(w.parts) > 0 {
			out = append(out, w)
		}
	}
	return out, nil
}

// section is a fragment of the source whose samples are known, or a stretch of
// unread ones.
type section struct {
	number  uint32                  // sequence number in the clip
	samples map[*cut]sampleRange    // of the fragment
	runs    []section               // the fragments that it is divided into; nil: it is one
	segment int                     // in a list of segments
	systems []byte                  // boxes of a moof that belong to its keys
	hole    *seek.Range             // of unread fragments
	info    *seek.Info              // the resource they are in
	tracks  map[uint32]*cut         // by their IDs in that resource
	after   map[uint32]int64        // decode times at which they end before it; 0: not known
	until   map[uint32]int64        // and at which they go on behind it
	start   fragment.Time           // orders the sections of several sources
	given   bool                    // it was given out already
	data    func(seek.Range) []byte // the bytes of samples that are in memory; nil: they are in the resource
}

// writeFragment writes a fragment with those of its samples that the clip
// delivers.
func (c *clip) writeFragment(s section) (written, error) {
	trafs, err := c.trafs(s)
	if err != nil || len(trafs) == 0 {
		return written{}, err
	}
	var all []*placed
	for i := range trafs {
		for j := range trafs[i].chunks {
			all = append(all, &trafs[i].chunks[j])
		}
	}
	slices.SortStableFunc(all, func(a, b *placed) int { return cmp.Compare(a.offset, b.offset) })
	var media int64
	for _, ch := range all {
		ch.at = media
		media += ch.size
		if size := s.info.Size; size >= 0 && ch.offset+ch.size > size {
			return written{}, trafs[0].cut.track.outside(ch.chunk, size)
		}
	}
	if size := s.info.Size; size >= 0 && media > size {
		return written{}, c.movie.box.damaged(0, "the samples of a fragment overlap: %d bytes out of a file of %d", media, size)
	}
	if media > maxFragmentMedia {
		return written{}, unsupported("", -1, "leave the layout out, or choose a shorter interval", "fragments of %d bytes", media)
	}
	head := c.moof(s, trafs, media)
	out := written{parts: []seek.Part{seek.Literal(head, "moof")}, size: int64(len(head)) + media}
	for _, ch := range all {
		out.parts = append(out.parts, s.mediaOf(ch)...)
		c.chunks = append(c.chunks, *ch)
	}
	out.parts = joinParts(out.parts)
	out.start, out.until, out.sync = c.times(trafs)
	return out, nil
}

// writeRuns writes the fragments that a section is divided into. An index names
// them as one.
func (c *clip) writeRuns(s section) (written, error) {
	var out written
	for _, run := range s.runs {
		w, err := c.writeFragment(run)
		if err != nil {
			return written{}, err
		}
		out.parts, out.size = append(out.parts, w.parts...), out.size+w.size
		switch {
		case w.start >= w.until: // without the index's track
		case out.start >= out.until:
			out.start, out.until, out.sync = w.start, w.until, w.sync
		default:
			out.start, out.until = min(out.start, w.start), max(out.until, w.until)
		}
	}
	return out, nil
}

// mediaOf returns the parts with the samples of a chunk. The number of a time code
// is changed.
func (s *section) mediaOf(ch *placed) []seek.Part {
	at := seek.Range{Offset: ch.offset, Length: ch.size}
	out := s.media(at)
	if ch.frames == 0 {
		return out
	}
	by := Timecode{ch.frames}
	if code := slices.Clone(out[0].Literal); int64(len(code)) == at.Length && by.apply(code) == nil {
		return []seek.Part{seek.Literal(code, "time code")}
	}
	part := seek.Bytes(s.info, at, "time code")
	part.Rewrite = by
	return []seek.Part{part}
}

// media returns the parts with a range of samples: what is in memory, and the
// rest.
func (s *section) media(at seek.Range) []seek.Part {
	var out []seek.Part
	if s.data != nil {
		if have := s.data(at); len(have) > 0 {
			out = append(out, seek.Literal(have, "samples"))
			at.Offset, at.Length = at.Offset+int64(len(have)), at.Length-int64(len(have))
		}
	}
	return append(out, seek.Bytes(s.info, at, "samples"))
}

// joinParts joins ranges that follow one another, and leaves out empty parts.
func joinParts(parts []seek.Part) []seek.Part {
	var out []seek.Part
	for _, p := range parts {
		if p.Size == 0 {
			continue
		}
		if n := len(out) - 1; n >= 0 && p.Resource != nil && out[n].Resource == p.Resource && out[n].Rewrite == nil && p.Rewrite == nil && out[n].End() == p.Offset {
			out[n].Length += p.Length
			out[n].Size += p.Size
			continue
		}
		out = append(out, p)
	}
	return out
}

// passOn returns a stretch of unread fragments.
func (c *clip) passOn(s section) (written, error) {
	r := Rebase{Number: s.number}
	for id, cut := range s.tracks {
		t := RebasedTrack{From: id, To: cut.id(), Delta: cut.delta()}
		if kind := cut.track.kind; kind == formats.Audio || kind == formats.Video {
			t.Timescale, t.Duration = cut.track.timescale, cut.track.defaults.duration
			t.After, t.Until = s.after[id], s.until[id]
		}
		r.Tracks = append(r.Tracks, t)
	}
	slices.SortFunc(r.Tracks, func(a, b RebasedTrack) int { return cmp.Compare(a.From, b.From) })
	if s.data != nil { // in memory
		raw, err := r.apply(s.data(*s.hole))
		return written{parts: []seek.Part{seek.Literal(raw, "fragments")}, size: int64(len(raw))}, err
	}
	part := seek.Bytes(s.info, *s.hole, "fragments")
	part.Rewrite = r
	if s.hole.Length < 0 {
		part.Size = -1
	}
	return written{parts: []seek.Part{part}, size: part.Size}, nil
}

// settle tells the parts that are rewritten where they come to stand in the
// clip, of which the parts before them have the given size.
func settle(parts []seek.Part, at int64) {
	for i := range parts {
		if r, ok := parts[i].Rewrite.(Rebase); ok && at >= 0 {
			r.Moved = at - parts[i].Offset
			parts[i].Rewrite = r
		}
		if at += parts[i].Size; parts[i].Size < 0 {
			return // nothing behind can be placed
		}
	}
}
