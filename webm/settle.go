package webm

import (
	"context"
)

// settleStart reads on until all that the beginning needs is at hand. It
// reports false where no keyframe at or before a is there.
func (p *planner) settleStart(ctx context.Context) (bool, error) {
	same := p.start == p.end
	for n := int64(step); ; n *= 2 {
		found := p.findKey()
		if found && p.startSettled() && (!p.unsure() || p.seenTo(p.a)) {
			return true, nil
		}
		if !found && p.pastStart() {
			return false, nil
		}
		more, err := p.m.extend(ctx, p.start, n)
		if err != nil {
			return false, err
		}
		if !more {
			return found, nil
		}
		if !same && p.start.hi() >= p.end.lo { // the two have met
			p.start.size = p.end.hi() - p.start.lo
			if err := p.m.read(ctx, p.start); err != nil {
				return false, err
			}
			p.end, same = p.start, true
		}
	}
}

// unsure reports whether keyframes may stand between the place that was found
// and a, for no index says that there are none.
func (p *planner) unsure() bool { return p.video && (len(p.cues) == 0 || p.back > 0) }

// seenTo reports whether the start region shows the picture at a time.
func (p *planner) seenTo(ns int64) bool {
	if p.start.ended || p.start.err != nil {
		return true
	}
	for _, b := range p.start.blocks {
		if b.track == p.main.number && p.time(b.ts, p.main) > ns {
			return true
		}
	}
	return false
}

// findKey finds what the clip begins with: the last keyframe at or before a
// that is at hand.
func (p *planner) findKey() bool {
	p.key, p.zero = nil, p.a
	if p.start.stretch == nil || len(p.start.clusters) == 0 {
		return false
	}
	atFirst := p.start.from <= p.m.first.offset
	if !p.video {
		return atFirst || p.start.within != nil || p.time(p.start.clusters[0].timestamp, p.main) <= p.a
	}
	pictures := false
	for i := range p.start.blocks {
		b := &p.start.blocks[i]
		if b.track != p.main.number {
			continue
		}
		pictures = true
		if t := p.time(b.ts, p.main); t <= p.a && p.main.isKey(b) {
			p.key, p.zero = b, t
		}
	}
	// Before the first picture there may be sound.
	return p.key != nil || atFirst && (pictures || p.start.ended)
}

// pastStart reports whether the start region has gone far beyond a.
func (p *planner) pastStart() bool {
	if p.start.err != nil {
		return true
	}
	n := 0
	for _, b := range p.start.blocks {
		if b.track == p.main.number && p.m.ns(b.ts) > p.a {
			n++
		}
	}
	return n > reorder
}

// startSettled reports whether of each sound track a block at or behind zero
// was seen, so that all that lead in are known.
func (p *planner) startSettled() bool {
	if p.start.ended || p.start.err != nil {
		return true
	}
	seen := map[uint64]bool{}
	for _, b := range p.start.blocks {
		t := p.has(b.track)
		if t == nil {
			continue
		}
		at := p.time(b.ts, t)
		if at >= p.zero && (t.kind != typeAudio || b.payload != nil) {
			seen[b.track] = true
		}
		if at > p.zero+2e9 {
			return true
		}
	}
	for _, t := range p.tracks {
		if (t.kind == typeAudio || t == p.main) && !seen[t.number] {
			return false
		}
	}
	return true
}

// settleEnd reads on until all that the end needs is at hand.
func (p *planner) settleEnd(ctx context.Context) error {
	for n := int64(step); !p.endSettled(); n *= 2 {
		more, err := p.m.extend(ctx, p.end, n)
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if err := p.end.err; err != nil {
		var encrypted = len(p.end.blocks) == 0
		if encrypted || p.b != maxOffset && !p.endSettled() {
			return err
		}
		p.warn("%v; the clip ends there", err)
	}
	return nil
}

// endSettled reports whether nothing before b can follow.
func (p *planner) endSettled() bool {
	if p.end.ended {
		return true
	}
	if p.b == maxOffset {
		return false
	}
	behind := map[uint64]int{}
	for _, b := range p.end.blocks {
		t := p.has(b.track)
		if t == nil {
			continue
		}
		at := p.time(b.ts, t)
		switch {
		case at >= p.b+2e9:
			return true
		case at < p.b:
			behind[b.track] = 0
		case at >= p.b+500e6 || !t.reorders():
			behind[b.track] += reorder
		default:
			behind[b.track]++
		}
	}
	for _, t := range p.tracks {
		if (t.kind == typeAudio || t.kind == typeVideo) && behind[t.number] < reorder {
			return false
		}
	}
	return len(behind) > 0
}

// reorders reports whether pictures may be decoded in another order than they
// are shown in.
func (t *track) reorders() bool {
	if t.kind != typeVideo {
		return false
	}
	switch t.codecID {
	case "V_VP8", "V_VP9", "V_AV1", "V_MJPEG", "V_THEORA", "V_FFV1", "V_PRORES", "V_UNCOMPRESSED":
		return false
	}
	return true
}
