package webm

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// writer is what a clip's MuxingApp says.
const writer = "mediafrag"

// header writes all that stands before the clusters: EBML header, Segment,
// SeekHead, Info, Tracks, Chapters, Tags and Cues.
func (p *planner) header(b *clipBody) ([]byte, error) {
	type level1 struct {
		id   uint32
		data []byte
	}
	elements := []level1{
		{idInfo, p.infoElement()},
		{idTracks, p.tracksElement()},
		{idChapters, p.chaptersElement()},
		{idTags, p.tagsElement()},
	}
	elements = slices.DeleteFunc(elements, func(e level1) bool { return len(e.data) == 0 })
	cues := cuesElement(b.cues, 0)
	_, attached := p.attachmentParts()

	// Positions have a fixed width, so that one pass is enough.
	seekHead := func(at int64) []byte {
		var body []byte
		for _, e := range append(slices.Clone(elements), level1{idCues, cues}) {
			body = append(body, seekEntry(e.id, at)...)
			at += int64(len(e.data))
		}
		if attached > 0 { // behind the Cues
			body = append(body, seekEntry(idAttachments, at)...)
		}
		return appendElement(nil, idSeekHead, body)
	}
	length := int64(len(seekHead(0)))
	front := seekHead(length)
	for _, e := range elements {
		front = append(front, e.data...)
	}
	front = append(front, cuesElement(b.cues, int64(len(front)+len(cues))+attached)...)

	out := appendElement(nil, idEBML, p.m.doc.clipHeader())
	out = appendID(out, idSegment)
	if b.size < 0 || p.unsized() { // no element of unknown size in one of known size
		out = appendUnknownSize(out, 8)
	} else {
		out = appendSize(out, int64(len(front))+attached+b.size, 8)
	}
	return append(out, front...), nil
}

// unsized reports whether clusters of the original state no size.
func (p *planner) unsized() bool {
	unknown := func(c cluster) bool { return c.size == unknownSize }
	return slices.ContainsFunc(p.all(), func(p *planner) bool {
		return slices.ContainsFunc(p.start.clusters, unknown) || slices.ContainsFunc(p.end.clusters, unknown)
	})
}

// clipHeader is the body of the EBML header of a clip. CodecDelay and
// DiscardPadding need version 4, SimpleBlock a reader of version 2.
func (h docHeader) clipHeader() []byte {
	b := appendUint(nil, 0x4286, 1)                    // EBMLVersion
	b = appendUint(b, 0x42F7, 1)                       // EBMLReadVersion
	b = appendUint(b, idEBMLMaxIDLength, uint64(h.id)) // of the original: its clusters are copied
	b = appendUint(b, idEBMLMaxSizeLength, uint64(maxSizeLength))
	b = appendElement(b, idDocType, []byte(h.docType))
	b = appendUint(b, idDocTypeVersion, max(h.version, 4))
	return appendUint(b, idDocTypeReadVersion, max(h.readVersion, 2))
}

func seekEntry(id uint32, at int64) []byte {
	body := appendElement(nil, idSeekID, appendID(nil, id))
	body = appendUintWidth(body, idSeekPosition, uint64(at), 8)
	return appendElement(nil, idSeek, body)
}

// cuesElement writes the Cues of a clip whose clusters begin at base, counted
// from the Segment's body.
func cuesElement(points []cue, base int64) []byte {
	points = slices.Clone(points)
	slices.SortStableFunc(points, func(a, b cue) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.cluster, b.cluster))
	})
	points = slices.CompactFunc(points, func(a, b cue) bool { return a.cluster == b.cluster })
	var body []byte
	for _, c := range points {
		at := appendUint(nil, idCueTrack, c.track)
		at = appendUintWidth(at, idCueClusterPosition, uint64(base+c.cluster), 8)
		point := appendUint(nil, idCueTime, uint64(max(0, c.time)))
		body = appendElement(body, idCuePoint, appendElement(point, idCueTrackPositions, at))
	}
	return appendElement(nil, idCues, body)
}

// infoElement writes Info.
func (p *planner) infoElement() []byte {
	m := p.m
	b := appendUint(nil, idTimestampScale, uint64(m.info.scale))
	if ns := p.all()[len(p.followers)].clipEnd(); ns > 0 {
		b = appendFloat(b, idDuration, float64(ns)/float64(m.info.scale))
	}
	if m.info.title != "" {
		b = appendElement(b, idTitle, []byte(m.info.title))
	}
	if !m.info.created.IsZero() {
		b = appendUintWidth(b, idDateUTC, uint64(p.began().Sub(epoch)), 8)
	}
	b = appendElement(b, idMuxingApp, []byte(writer))
	b = appendElement(b, idWritingApp, []byte(cmp.Or(m.info.writer, writer)))
	return appendElement(nil, idInfo, b)
}

// began is the wall-clock time of the clip's time 0: the file's, and what lies
// before the clip.
func (p *planner) began() time.Time {
	if p.sel.Timeline == formats.Original {
		return p.m.info.created
	}
	return p.m.info.created.Add(time.Duration(p.zero - p.lead - p.m.start))
}

// clipEnd is when what the clip has of the Segment ends on the clip's clock, in ns.
func (p *planner) clipEnd() int64 {
	end := p.b
	if end == maxOffset {
		end = p.m.lastOf(p.end.blocks)
	} else if p.end.ended {
		end = min(end, max(p.m.lastOf(p.end.blocks), p.zero))
	}
	return end - p.origin() + p.leader.lead
}

// tracksElement writes Tracks: the selected entries as they are, but for what
// a cut in sound changes.
func (p *planner) tracksElement() []byte {
	var body []byte
	for _, t := range p.tracks {
		body = appendElement(body, idTrackEntry, p.trackEntry(t))
	}
	return appendElement(nil, idTracks, body)
}

func (p *planner) trackEntry(t *track) []byte {
	var c *soundCut
	for _, s := range p.sounds {
		if s.t == t && (s.delay != t.codecDelay || s.t.sound.cut == cutPreSkip) {
			c = s
		}
	}
	if c == nil {
		return t.raw
	}
	var out []byte
	rest := children{lengths: p.m.doc.lengths, data: t.raw}
	for {
		from := rest.pos
		e, body, ok, err := rest.next()
		if err != nil || !ok { // it was read before: no error
			break
		}
		switch e.id {
		case idCodecDelay:
		case idCodecPrivate:
			if t.sound.cut == cutPreSkip {
				body = patchPreSkip(body, c.preSkip)
			}
			out = appendElement(out, idCodecPrivate, body)
		default:
			out = append(out, t.raw[max(int64(from), e.offset):rest.pos]...)
		}
	}
	if c.delay > 0 {
		out = appendUint(out, idCodecDelay, uint64(c.delay))
	}
	if t.sound.cut == cutPreSkip && t.seekPreRoll == 0 {
		out = appendUint(out, idSeekPreRoll, opusWarmUp)
	}
	return out
}

// chaptersElement writes the chapters of the clip: of each Segment.
func (p *planner) chaptersElement() []byte {
	var editions clipEditions
	var end int64
	for _, q := range p.all() {
		if end = q.b; end == maxOffset {
			end = q.m.lastOf(q.end.blocks)
		}
		shift := q.origin() - p.lead
		editions.add(q.m.chapters, q.zero, end, shift)
		end -= shift
	}
	chapters := editions.bytes()
	if p.sel.Layout == formats.Exact {
		chapters = append(orderedEdition(p.a-p.origin()+p.lead, end), chapters...)
	}
	if len(chapters) == 0 {
		return nil
	}
	return appendElement(nil, idChapters, chapters)
}

// orderedEdition writes an edition that presents [from, to) alone, in ns (RFC
// 9559 section 20.1.3).
func orderedEdition(from, to int64) []byte {
	atom := appendUint(nil, idChapterUID, 1)
	atom = appendUint(atom, idChapterTimeStart, uint64(from))
	atom = appendUint(atom, idChapterTimeEnd, uint64(max(to, from)))
	body := appendUint(nil, idEditionFlagDefault, 1)
	body = appendUint(body, idEditionFlagOrdered, 1)
	return appendElement(nil, idEditionEntry, appendElement(body, idChapterAtom, atom))
}

// verbatim is a plan of the original's bytes alone: what stands before the
// first Cluster, and the Clusters that cover the interval.
func (p *planner) verbatim(ctx context.Context) (*formats.Plan, error) {
	from, to, err := p.covering()
	if err != nil {
		return nil, err
	}
	plan := p.bytesOf(from, to)
	if err := p.seeTo(ctx, to); err != nil {
		return nil, err
	}
	p.describe(plan)
	p.describeWhole(plan, from, to)
	return plan, nil
}

// bytesOf is a plan of the Segment's header and of bytes of the original.
func (p *planner) bytesOf(from, to int64) *formats.Plan {
	info, front := p.m.w.Info(), seek.Range{Offset: p.m.base, Length: p.m.first.offset - p.m.base}
	return &formats.Plan{
		MediaType: p.m.mediaType(p.m.tracks),
		Parts:     []seek.Part{seek.Bytes(&info, front, "header"), seek.Bytes(&info, seek.Range{Offset: from, Length: to - from}, "media")},
		Size:      front.Length + to - from,
		Needed:    p.needed(),
	}
}

// covering finds the bytes of the Clusters that cover the interval.
func (p *planner) covering() (from, to int64, err error) {
	if len(p.sel.Tracks) > 0 && p.drops() {
		return 0, 0, unsupported("", -1, "single tracks in verbatim form", "use the standalone form")
	}
	if err := p.cut(); err != nil {
		return 0, 0, err
	}
	end := p.endOff
	for _, c := range p.sounds { // blocks that other clips have anew
		end = max(end, c.until)
	}
	first := p.clusterOf(p.start, p.startOff)
	last := p.clusterOf(p.end, end-1)
	if first == nil || last == nil {
		return 0, 0, damaged("Segment/Cluster", p.startOff, "no Cluster holds the interval")
	}
	from, to = first.offset, min(last.end(), p.m.clustersEnd(last.offset))
	if last.size == unknownSize {
		to = end // its end is not told: up to the last block that is needed
	}
	return from, max(from, to), nil
}

// seeTo reads what is left of the last Cluster, which the clip has in any case.
func (p *planner) seeTo(ctx context.Context, to int64) error {
	r := p.end
	if to <= r.hi() || to-r.hi() > maxEdge {
		return nil
	}
	r.size = to - r.lo
	return p.m.read(ctx, r)
}

// describeWhole states what whole Clusters present: from their first keyframe or
// sound, whichever is earlier, for no container states that less is played, to their
// last sample.
func (p *planner) describeWhole(plan *formats.Plan, from, to int64) {
	first, sample, last := int64(maxOffset), int64(maxOffset), int64(0)
	for _, b := range p.start.blocks {
		t := p.has(b.track)
		if t == nil || b.offset < from || b.offset >= to || t.kind != typeVideo && t.kind != typeAudio {
			continue
		}
		at := p.time(b.ts, t)
		if sample = min(sample, at); t.kind == typeAudio || t.isKey(&b) {
			first = min(first, at)
		}
	}
	for i := range p.end.blocks {
		if b := &p.end.blocks[i]; b.offset >= from && b.offset < to {
			last = max(last, p.m.lastOf(p.end.blocks[i:i+1]))
		}
	}
	for _, x := range []struct {
		interval *fragment.Interval
		from     int64
	}{{&plan.Presented, first}, {&plan.Covered, sample}} {
		if x.from < maxOffset {
			x.interval.Start = nanos(max(0, x.from-p.m.start))
		}
		if end := nanos(max(0, last-p.m.start)); !x.interval.Open && end.Cmp(x.interval.End) > 0 {
			x.interval.End = end
		}
	}
}
