package webm

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// parseAll fetches what is missing of the elements that were found, at once,
// and reads them.
func (o *opening) parseAll(ctx context.Context) error {
	m := o.m
	var requests []seek.Request
	wanted := []uint32{idInfo, idTracks, idCues, idChapters}
	for _, id := range wanted {
		e, ok := o.found[id]
		switch {
		case !ok && id == idTracks, !ok && id == idInfo && !o.stuck:
			return damaged("Segment/"+names[id], m.segment.offset, "there is none, or it lies behind more elements than are looked at")
		case !ok, id == idChapters && e.size > maxChapters:
			continue
		case e.size > m.limits.Index || e.size == unknownSize:
			return &formats.Error{Container: "webm", Element: "Segment/" + e.String(), Offset: e.offset,
				Problem: fmt.Sprintf("%d bytes, more than the limit of %d", e.size, m.limits.Index), Hint: "raise Limits.Index", Err: seek.ErrLimit}
		}
		if have := int64(len(o.peek(e.body()))); have < e.size {
			requests = append(requests, seek.Request{Range: seek.Range{Offset: e.body() + have, Length: e.size - have}, Purpose: seek.Index, Note: e.String()})
		}
	}
	if err := o.read(ctx, requests); err != nil {
		return err
	}
	bodies := map[uint32][]byte{}
	for id, e := range o.found {
		b := o.peek(e.body())
		if e.size > int64(len(b)) {
			b = o.join(e)
		}
		if e.size >= 0 && e.size <= int64(len(b)) {
			bodies[id] = b[:e.size:e.size]
		}
	}
	return o.parseBodies(bodies)
}

// join returns an element's body from two chunks that meet.
func (o *opening) join(e element) []byte {
	out := append([]byte(nil), o.peek(e.body())...)
	for int64(len(out)) < e.size {
		more := o.peek(e.body() + int64(len(out)))
		if len(more) == 0 {
			return nil
		}
		out = append(out, more...)
	}
	return out
}

func (o *opening) parseBodies(bodies map[uint32][]byte) (err error) {
	m := o.m
	m.info.scale = 1e6
	for _, id := range []uint32{idInfo, idTracks, idCues} { // those that must be whole where they are
		e, ok := o.found[id]
		if !ok {
			continue
		}
		body, ok := bodies[id]
		if !ok {
			if id == idCues {
				m.warn("the index at byte %d is cut off", e.offset)
				continue
			}
			return damaged("Segment/"+e.String(), e.offset, "the file ends in it")
		}
		switch id {
		case idInfo:
			m.info, err = parseInfo(m.doc.lengths, e, body)
		case idTracks:
			m.tracks, err = parseTracks(m.doc.lengths, e, body)
		case idCues:
			m.cuesElement = e
			m.cues, err = m.parseCues(e, body)
		}
		if err != nil {
			return err
		}
	}
	m.first = o.found[idCluster]
	for id, e := range o.found {
		if id != idCluster && m.first.id != 0 && e.offset > m.first.offset {
			m.others = append(m.others, e.offset)
		}
	}
	for at, id := range o.told {
		if id != idCluster && at > m.first.offset {
			m.others = append(m.others, at)
			if m.endless() {
				m.unread = append(m.unread, element{id: id, offset: at, size: unknownSize})
				continue
			}
		}
		switch id {
		case idTags:
			o.tags = append(o.tags, at)
		case idAttachments:
			m.attachmentsAt = at
		}
	}
	slices.SortFunc(m.unread, func(a, b element) int { return cmp.Compare(a.offset, b.offset) })
	slices.Sort(o.tags)
	m.tagsAt = slices.Compact(o.tags) // one may be both told and seen
	if e, ok := o.found[idAttachments]; ok {
		m.attachmentsAt = e.offset
	}
	m.chapters = parseChapters(m.doc.lengths, o.found[idChapters], bodies[idChapters])
	return nil
}
