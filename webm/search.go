package webm

import (
	"bytes"
	"context"
	"math"

	"github.com/mediafrag/mediafrag/seek"
)

// soundProbe is the size of a probe in files of less than 256 kbit/s.
const soundProbe = 32 << 10

// nearReach is how far a cluster may lie before a time that is searched for:
// reading on from there costs less than another round.
const nearReach = 256 << 10

// clusters returns the search over Clusters in raw bytes, which remembers what
// it saw from one selection to the next.
func (m *media) clusters() *seek.Search {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := anchor{offset: m.clustersEnd(m.first.offset)}
	switch {
	case !m.bounded():
		last.offset = m.extent.end
	case m.timed:
		last.time = m.endTime()
	}
	if m.search == nil || m.search.End < last.offset || m.search.End > m.limit() { // it grows, more was looked at, or another Segment was seen
		m.search = m.searchIn(m.first.offset, last)
		for _, r := range m.extent.looked {
			if data, ok := m.w.Held(r); ok {
				m.search.Scan(r.Offset, data)
			}
		}
	}
	return m.search
}

// searchIn is a search from an offset to a place, whose time is 0 where it is
// not known. It begins with what is held of the resource's ends.
func (m *media) searchIn(from int64, to anchor) *seek.Search {
	s := &seek.Search{Window: m.w, Recognize: m.recognize, Start: from, End: to.offset, EndTick: to.time, MaxRounds: m.limits.Rounds, Element: m.clusterGuess}
	if m.timed && m.duration > 0 && (to.offset-from)/(m.duration/1e9+1) < 256e3/8 {
		s.Probe = soundProbe
	}
	for _, r := range []seek.Range{
		{Offset: from, Length: min(headSize, to.offset) - from},
		{Offset: max(from, to.offset-headSize), Length: min(headSize, to.offset-from)},
	} {
		if r.Length > 0 {
			if data, ok := m.w.Held(r); ok {
				s.Scan(r.Offset, data)
			}
		}
	}
	return s
}

// Gaps of an index that are worth a look at what lies between.
const (
	sparseTime  = 10500e6 // ns: more than keyframes are usually apart
	sparseBytes = 4 << 20
)

// refine narrows a bracket of an index with few points by a search between
// them.
func (m *media) refine(ctx context.Context, b bracket, ticks int64) (bracket, error) {
	s := m.searchIn(b.at.offset, b.next)
	s.Add(seek.Mark{Offset: b.at.offset, Tick: min(b.at.time, ticks)})
	fine, err := m.near(ctx, s, ticks)
	if err != nil || fine.at.offset <= b.at.offset {
		return b, err
	}
	fine.prev = b.at
	return fine, nil
}

var clusterID = []byte{0x1F, 0x43, 0xB6, 0x75}

// recognize finds Clusters in raw bytes: an ID, a size, a Timestamp, and blocks
// of tracks that exist. What lies inside a Cluster of known size is skipped. The
// Value of a mark is the cluster's lead.
func (m *media) recognize(off int64, data []byte) (marks []seek.Mark, next int64) {
	data = m.ofSegment(off, data)
	at := int64(0) // in data
	for at < int64(len(data)) {
		i := bytes.Index(data[at:], clusterID)
		if i < 0 {
			break
		}
		at += int64(i)
		c, err := m.clusterAt(data[at:], off+at)
		if err == errShort {
			m.glimpse(marks)
			return m.withLeads(marks, off, data), off + at
		}
		if err != nil || !m.recognized(c, data[at:]) {
			at++
			continue
		}
		mark := seek.Mark{Offset: c.offset, Tick: c.timestamp, Value: leadUnknown}
		if c.size != unknownSize {
			mark.End = c.end()
		}
		marks = append(marks, mark)
		if at += c.head; mark.End > 0 {
			at = mark.End - off
		}
	}
	marks = m.withLeads(marks, off, data)
	m.glimpse(marks)
	if at >= int64(len(data)) {
		return marks, off + at
	}
	return marks, off + max(at, int64(len(data)-len(clusterID)+1))
}

// lead is what the pictures of a cluster begin with.
type lead int

const (
	leadUnknown lead = iota
	leadKey          // a keyframe
	leadOther        // one that needs others before it
)

// withLeads looks at the pictures in recognised clusters: what they begin with,
// and how many are keyframes, which tells how far those are apart.
func (m *media) withLeads(marks []seek.Mark, off int64, data []byte) []seek.Mark {
	if len(marks) == 0 || m.picture == nil {
		return marks
	}
	s := m.walk(data, off, marks[0].Offset)
	n := 0 // of marks
	keys := int64(0)
	for _, c := range s.clusters {
		for n < len(marks) && marks[n].Offset < c.offset {
			n++
		}
		to := c.to
		if to < 0 {
			to = len(s.blocks)
		}
		seen := leadUnknown
		for i := c.from; i < to; i++ {
			b := &s.blocks[i]
			if b.track != m.picture.number {
				continue
			}
			key := m.picture.isKey(b)
			if seen == leadUnknown {
				if seen = leadOther; key {
					seen = leadKey
				}
			}
			if key && c.offset > m.first.offset {
				keys++
			}
		}
		if n < len(marks) && marks[n].Offset == c.offset {
			marks[n].Value = seen
		}
	}
	m.walked.Add(min(s.next, off+int64(len(data))) - marks[0].Offset)
	m.keys.Add(keys)
	return marks
}

// keyDistance is how many bytes keyframes are apart, as far as the search saw.
func (m *media) keyDistance() int64 { return 2 * m.walked.Load() / (2*m.keys.Load() + 1) }

// near brackets a time by a search.
func (m *media) near(ctx context.Context, s *seek.Search, ticks int64) (bracket, error) {
	p, err := s.Near(ctx, 0, ticks, nearReach)
	if err != nil {
		return bracket{}, err
	}
	b := bracket{
		at:     anchor{p.Before.Offset, p.Before.Tick},
		next:   anchor{p.After.Offset, p.After.Tick},
		spread: p.Spread,
	}
	b.lead, _ = p.Before.Value.(lead)
	if p.Before.Tick == math.MinInt64 {
		b.at = anchor{m.first.offset, m.start / m.info.scale}
	}
	if p.After.Tick == math.MaxInt64 {
		b.next = anchor{s.End, s.EndTick}
		if s.EndTick == 0 { // nobody says when that is
			b.next = anchor{max(p.At, b.at.offset), max(ticks, b.at.time)}
		}
	}
	return b, nil
}

// lastCluster finds the last Cluster, or the one so many before it.
func (m *media) lastCluster(ctx context.Context, skip int) (anchor, error) {
	if err := m.measure(ctx); err != nil {
		return anchor{}, err
	}
	if points := m.pointsOf(0); len(points) > skip {
		return m.byCues(points[:len(points)-skip], maxOffset/m.info.scale).at, nil
	}
	tick := maxOffset / m.info.scale
	for {
		before, _, err := m.clusters().Find(ctx, 0, tick)
		if err != nil || before.Tick == math.MinInt64 {
			return anchor{m.first.offset, m.start / m.info.scale}, err
		}
		if second := m.next.Load(); second > 0 && before.Offset >= second { // which showed now
			continue
		}
		if skip--; skip < 0 {
			return anchor{before.Offset, before.Tick}, nil
		}
		tick = before.Tick - 1
	}
}
