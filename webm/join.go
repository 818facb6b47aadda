package webm

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"golang.org/x/sync/errgroup"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

// join resolves an interval over several Segments: one Segment of all, if a
// decoder of the first's tracks understands the others'. Else it is refused:
// ffmpeg goes on with the tracks of the first, mpv and mkvmerge end there, so no
// file of several Segments would be played.
func (c *chain) join(ctx context.Context, s formats.Selection, stays []stay) (*formats.Plan, error) {
	planners, err := c.planners(s, stays)
	if err != nil {
		return nil, err
	}
	var plan *formats.Plan
	if s.Form == formats.Verbatim {
		plan, err = joinBytes(ctx, planners)
	} else {
		plan, err = joinClip(ctx, planners)
	}
	if err != nil {
		return nil, err
	}
	first, last := stays[0], stays[len(stays)-1]
	plan.Requested = fragment.Between(s.Interval.Start, last.End.Add(nanos(last.begin)))
	if last.Open {
		plan.Requested.End, plan.Requested.Open = fragment.Time{}, true
	}
	if end, ok := last.m.ends(); ok {
		plan.Requested = plan.Requested.Clamp(nanos(last.begin + end))
	}
	plan.Presented = plan.Presented.Shift(nanos(first.begin))
	plan.Covered = plan.Covered.Shift(nanos(first.begin))
	if plan.Requested.Open {
		plan.Presented.End, plan.Presented.Open = fragment.Time{}, true
		plan.Covered.End, plan.Covered.Open = fragment.Time{}, true
	}
	return plan, nil
}

// planners returns one for each Segment, the first of which leads.
func (c *chain) planners(s formats.Selection, stays []stay) ([]*planner, error) {
	var out []*planner
	for i, at := range stays {
		own := s
		own.Interval = at.Interval
		own, err := c.chosenIn(at, own)
		if err != nil {
			return nil, err
		}
		p, err := at.m.planner(own)
		if err != nil {
			return nil, err
		}
		if i < len(stays)-1 { // exactly to where the next begins
			p.b = at.m.start + at.End.Round(1e9)
		}
		if i > 0 {
			p.leader = out[0]
			p.clock = at.begin - stays[0].begin + stays[0].m.start - at.m.start
			if why := p.differs(); why != "" && s.Form != formats.Verbatim {
				begin := nanos(at.begin)
				return nil, unsupported("Segment", at.m.base, fmt.Sprintf("the Segment that begins at %v s has %s: no player shows both in one clip", begin, why),
					fmt.Sprintf("ask for an interval that ends at %v or before, or that begins there or later", begin))
			}
		}
		out = append(out, p)
	}
	out[0].followers = out[1:]
	return out, nil
}

// joinClip makes the clip of all.
func joinClip(ctx context.Context, planners []*planner) (*formats.Plan, error) {
	g, within := errgroup.WithContext(ctx)
	for _, p := range planners {
		p.prefetchTags()
		g.Go(func() error { return p.gatherAll(within) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, p := range planners { // each goes on from those before
		if err := p.cut(); err != nil {
			return nil, err
		}
	}
	plan, err := planners[0].assemble(ctx)
	if err != nil {
		return nil, err
	}
	tell(plan, planners)
	return plan, nil
}

// tell states the intervals of all, on the timeline of the first Segment.
func tell(plan *formats.Plan, planners []*planner) {
	lead := planners[0]
	plan.Warnings = append([]fragment.Warning(nil), lead.warnings...)
	for _, p := range planners[1:] {
		own := &formats.Plan{}
		p.describe(own)
		shift := nanos(p.clock + p.m.start - lead.m.start)
		plan.Presented.End, plan.Covered.End = own.Presented.End.Add(shift), own.Covered.End.Add(shift)
		plan.Presented.Open, plan.Covered.Open = own.Presented.Open, own.Covered.Open
		for _, w := range own.Warnings {
			if !containsWarning(plan.Warnings, w) {
				plan.Warnings = append(plan.Warnings, w)
			}
		}
		plan.Needed += p.needed()
	}
}

func containsWarning(list []fragment.Warning, w fragment.Warning) bool {
	for _, have := range list {
		if have == w {
			return true
		}
	}
	return false
}

// joinBytes is the file's bytes from the first Segment's header on, but for the
// clusters before the interval.
func joinBytes(ctx context.Context, planners []*planner) (*formats.Plan, error) {
	first, last := planners[0], planners[len(planners)-1]
	g, within := errgroup.WithContext(ctx)
	for _, p := range planners {
		g.Go(func() error { return p.gather(within) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, p := range planners[:len(planners)-1] {
		if _, _, err := p.covering(); err != nil {
			return nil, err
		}
	}
	from, _, err := first.covering()
	if err != nil {
		return nil, err
	}
	begin, to, err := last.covering()
	if err != nil {
		return nil, err
	}
	if err := last.seeTo(ctx, to); err != nil {
		return nil, err
	}
	plan := first.bytesOf(from, to)
	first.describe(plan)
	first.describeWhole(plan, from, first.m.limit())
	own := &formats.Plan{}
	last.describe(own)
	last.describeWhole(own, begin, to)
	shift := nanos(last.clock + last.m.start - first.m.start)
	plan.Presented.End, plan.Covered.End = own.Presented.End.Add(shift), own.Covered.End.Add(shift)
	plan.Needed = plan.Size
	plan.Warnings = append(first.warnings, warning("the clip has several Segments, as the file has: most players show the first alone"))
	return plan, nil
}

// differs says what keeps the Segment's tracks from being those of the first one
// in a clip, empty where nothing does.
func (p *planner) differs() string {
	first := p.leader
	switch {
	case p.m.info.scale != first.m.info.scale:
		return "another TimestampScale"
	case p.m.doc.docType != first.m.doc.docType || p.m.doc.lengths != first.m.doc.lengths:
		return "another EBML header"
	case len(p.tracks) != len(first.tracks):
		return "other tracks"
	}
	for i, t := range p.tracks {
		if what := t.differs(first.tracks[i]); what != "" {
			return fmt.Sprintf("%s in track %s", what, t.ID)
		}
	}
	return ""
}

// differs says what of a track a decoder of another would not understand.
func (t *track) differs(u *track) string {
	switch {
	case t.number != u.number || t.kind != u.kind:
		return "another number or kind"
	case t.codecID != u.codecID || t.Codec != u.Codec:
		return "another codec"
	case t.CodedWidth != u.CodedWidth || t.CodedHeight != u.CodedHeight || t.Width != u.Width || t.Height != u.Height:
		return "another size"
	case t.SampleRate != u.SampleRate || t.coreRate != u.coreRate || t.Channels != u.Channels || t.bitDepth != u.bitDepth:
		return "another sample rate, other channels or another depth"
	case !bytes.Equal(t.setup(), u.setup()):
		return "other CodecPrivate"
	case !bytes.Equal(t.encoded, u.encoded):
		return "another encoding of its frames"
	}
	return ""
}

// setup is what of CodecPrivate tells how frames are decoded: not the priming of
// Opus, the comments of Vorbis, nor what FLAC counts.
func (t *track) setup() []byte {
	b := t.private
	switch {
	case t.sound.cut == cutPreSkip:
		return patchPreSkip(b, 0)
	case t.codecID == "A_VORBIS":
		if packets, err := unlace(lacingXiph, b); err == nil && len(packets) == 3 {
			return append(bytes.Clone(packets[0]), packets[2]...)
		}
	case t.codecID == "A_FLAC" && len(b) >= 8+34: // STREAMINFO: rate, channels and depth (RFC 9639 section 8.2)
		return append(bytes.Clone(b[18:21]), b[21]&0xF0)
	}
	return b
}

// goOn decides how the sound of a Segment follows that of the one before. What a
// decoder gives before its first sample is left out by DiscardPadding: the delay
// that the clip's track states is that of its beginning alone.
func (c *soundCut) goOn(p *planner, pieces []piece) {
	c.begin, c.present, c.from = p.zero, p.zero, p.startOff
	if len(pieces) == 0 {
		return
	}
	if c.t.sound.cut == cutPreSkip {
		p.warn("track %s: Opus of the Segment at byte %d needs some tenths of a second to be right, for no decoder begins anew there", c.t.ID, p.m.base)
	}
	first := pieces[0]
	own := first.at + c.t.codecDelay
	c.begin, c.present, c.offset, c.tick = own, own, first.b.offset, first.b.ts
	if c.edition { // see headFrame
		return
	}
	for i, q := range pieces {
		if q.at >= own-halfSample && (i > 0 || !c.t.sound.silentFirst) && q.b.offset >= c.from {
			break
		}
		f := c.headFrame(q, math.MinInt64/2, false)
		switch out := own - q.at; {
		case i == 0 && c.t.sound.silentFirst: // it is not the first of the clip
			f.discard = c.lapping(p, q)
		case out <= halfSample:
		case out >= q.long:
			f.discard = q.long
		default:
			f.discard = -out
		}
		c.head = append(c.head, f)
		c.from = max(c.from, q.b.end)
	}
}

// lapping is how long a frame presents that a decoder takes for the next of the
// last Segment's, in ns.
func (c *soundCut) lapping(p *planner, q piece) int64 {
	prev := q.data
	for _, before := range p.leader.all() {
		if before == p {
			break
		}
		if b := before.soundOf(c.t.number); b != nil && b.closing != nil {
			prev = b.closing
		}
	}
	return samplesToNs(c.t.sound.length(prev, q.data), c.t.sound.rate)
}
