package webm

import (
	"context"
	"strings"

	"github.com/mediafrag/mediafrag/seek"
)

// maxShown is the most subtitles that are looked for because they were shown
// already when the clip begins.
const maxShown = 8

// shownAt is a subtitle that the index tells of, and where it may be.
type shownAt struct {
	subtitle
	request seek.Request
}

// prefetchShown begins to fetch the subtitles that began before the clip does
// and are still shown then, as the index tells of them.
func (p *planner) prefetchShown() (out []shownAt) {
	if !p.video || len(p.cues) == 0 {
		return nil
	}
	at := p.from.at.time
	for _, s := range p.m.subtitles {
		t := p.has(s.track)
		if t == nil || t.kind != typeSubtitle || s.time >= at || s.time+s.duration <= at || len(out) == maxShown {
			continue
		}
		// The Cluster's header has an ID of 4 and a size of 1 to 8 bytes.
		r := seek.Range{Offset: s.cluster + 5 + s.relative, Length: 7 + t.subtitleSize()}
		out = append(out, shownAt{s, seek.Request{Range: r, Purpose: seek.Media, Note: "subtitle"}})
		p.m.w.Prefetch(out[len(out)-1].request)
	}
	return out
}

// subtitleSize is how many bytes a subtitle's block has at most, as a rule.
func (t *track) subtitleSize() int64 {
	if strings.HasPrefix(t.codecID, "S_TEXT/") || t.codecID == "D_WEBVTT/SUBTITLES" {
		return 2 << 10
	}
	return 32 << 10
}

// takeShown reads those that were fetched. One that is not where the index says
// is left out.
func (p *planner) takeShown(ctx context.Context, list []shownAt) error {
	for _, s := range list {
		data, err := p.m.w.ReadRange(ctx, s.request.Range, s.request.Purpose, s.request.Note)
		if err != nil {
			return err
		}
		for i := 0; i < 8 && i < len(data); i++ {
			e, err := p.m.doc.parse(data[i:], s.request.Offset+int64(i))
			if err != nil || e.id != idBlockGroup || e.size < 0 || e.head+e.size > int64(len(data)-i) {
				continue
			}
			b, err := parseBlockGroup(p.m.doc.lengths, e, data[i+int(e.head):i+int(e.head+e.size)], 0)
			if err == nil && b.track == s.track && b.duration == s.duration {
				b.ts = s.time
				p.show(&b)
				break
			}
		}
	}
	return nil
}

// subtitles are those that were shown already when the clip begins: that the
// index told of, or that were seen on the way.
func (p *planner) subtitles() []frame {
	for i := range p.start.blocks {
		if b := &p.start.blocks[i]; p.key != nil && b.offset < p.startOff || p.isEarlySubtitle(b) {
			p.show(b)
		}
	}
	return p.shown
}

// isEarlySubtitle reports whether a block is a subtitle that begins before a clip
// without pictures does: it cannot stay in place, for no time is negative.
func (p *planner) isEarlySubtitle(b *block) bool {
	t := p.has(b.track)
	return p.key == nil && t != nil && t.kind == typeSubtitle && p.time(b.ts, t) < p.zero
}

// show adds a subtitle for what is left of it when the clip begins.
func (p *planner) show(b *block) {
	t := p.has(b.track)
	if t == nil || t.kind != typeSubtitle || b.payload == nil || b.duration < 0 {
		return
	}
	at, end := p.time(b.ts, t), p.time(b.ts+b.duration, t)
	if at >= p.b || end <= p.zero || b.flags&lacingMask != 0 {
		return
	}
	for _, f := range p.shown {
		if f.track == b.track && f.ns == at {
			return // twice
		}
	}
	p.shown = append(p.shown, frame{track: b.track, ns: at, data: b.payload, key: true, duration: (end - max(at, p.zero)) / p.m.info.scale, extra: b.extra})
}
