package webm

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// cue is one CueTrackPositions with the time of its CuePoint.
type cue struct {
	time    int64 // ticks
	cluster int64 // offset of the Cluster in the resource
	track   uint64
}

// subtitle is a cue point that says where a subtitle is, and until when it is
// shown.
type subtitle struct {
	cue
	relative int64 // offset of its block in the Cluster's body
	duration int64 // ticks
}

// parseCues reads the body of a Cues element. Points that cannot be, such as
// outside the Segment, are left out; the rest is sorted.
func (m *media) parseCues(e element, body []byte) ([]cue, error) {
	var out []cue
	lies := 0
	c := children{lengths: m.doc.lengths, data: body, base: e.body(), path: "Segment/Cues"}
	for {
		point, b, ok, err := c.next()
		if err != nil { // what was read so far is right
			m.warn("the index is damaged at byte %d", e.body()+int64(c.pos))
			break
		}
		if !ok {
			break
		}
		if point.id != idCuePoint {
			continue
		}
		out = m.parsePoint(out, point, b, &lies)
		if int64(len(out)) > m.limits.Entries {
			return nil, &formats.Error{Container: "webm", Element: "Segment/Cues", Offset: e.offset,
				Problem: fmt.Sprintf("more than %d points", m.limits.Entries), Hint: "raise Limits.Entries", Err: seek.ErrLimit}
		}
	}
	if lies > 0 {
		m.warn("%d points of the index lie outside the file", lies)
	}
	slices.SortStableFunc(out, func(a, b cue) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.track, b.track), cmp.Compare(a.cluster, b.cluster))
	})
	return slices.CompactFunc(out, func(a, b cue) bool {
		return a.time == b.time && a.track == b.track && a.cluster == b.cluster
	}), nil
}

// parsePoint appends what a CuePoint points to, and counts what cannot be.
func (m *media) parsePoint(out []cue, e element, body []byte, lies *int) []cue {
	first := len(out)
	time, timed := int64(0), false
	end := min(m.segment.end(), m.sizeOr(maxOffset))
	each(m.doc.lengths, e, body, func(x element, b []byte) {
		switch x.id {
		case idCueTime:
			time, timed = m.clampTicks(ticksOf(b)), true
		case idCueTrackPositions:
			c := cue{cluster: -1}
			s := subtitle{relative: -1}
			each(m.doc.lengths, x, b, func(y element, b []byte) {
				switch y.id {
				case idCueTrack:
					c.track = uintOf(b)
				case idCueClusterPosition:
					c.cluster = m.segment.body() + ticksOf(b)
				case idCueRelativePosition:
					s.relative = ticksOf(b)
				case idCueDuration:
					s.duration = m.clampTicks(ticksOf(b))
				}
			})
			if c.cluster < m.segment.body() || c.cluster >= end {
				*lies++
				return
			}
			out = append(out, c)
			if s.relative >= 0 && s.duration > 0 && timed {
				s.cue, s.time = c, time
				m.subtitles = append(m.subtitles, s)
			}
		}
	})
	if !timed {
		return out[:first]
	}
	for i := first; i < len(out); i++ {
		out[i].time = time
	}
	return out
}

// sizeOr is the size of the resource, or n where it is not known.
func (m *media) sizeOr(n int64) int64 {
	if size := m.w.Info().Size; size >= 0 {
		return size
	}
	if end := m.measured.Load(); end > 0 {
		return end
	}
	return n
}

// clampTicks keeps a number of ticks so small that it is nanoseconds without
// overflow.
func (m *media) clampTicks(t int64) int64 {
	most := maxOffset / m.info.scale
	return max(-most, min(t, most))
}

// ns converts ticks to nanoseconds.
func (m *media) ns(ticks int64) int64 { return m.clampTicks(ticks) * m.info.scale }

// pointsOf returns the cue points that lead to a track: its own, or those of
// the track that has most.
func (m *media) pointsOf(number uint64) []cue {
	count := map[uint64]int{}
	best := number
	for _, c := range m.cues {
		count[c.track]++
	}
	if count[number] == 0 {
		for _, t := range m.tracks { // in their order, so that it is always the same
			if t.kind != typeSubtitle && count[t.number] > count[best] {
				best = t.number
			}
		}
	}
	var out []cue
	second := m.next.Load()
	for _, c := range m.cues {
		if c.track == best && (second == 0 || c.cluster < second) {
			out = append(out, c)
		}
	}
	return out
}
