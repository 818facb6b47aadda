package webm

import (
	"bytes"
	"context"
	"math"

	"github.com/mediafrag/mediafrag/seek"
)

// soundProbe is the size of a probe in files of less than 256 kbit/s.
const soundProbe = 32 << 10

// clusters returns the search over Clusters in raw bytes, which remembers what
// it saw from one selection to the next.
func (m *media) clusters() *seek.Search {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.search == nil || m.growing && m.search.End < m.clustersEnd(m.first.offset) {
		m.search = m.searchIn(m.first.offset, m.clustersEnd(m.first.offset))
	}
	return m.search
}

// searchIn is a search between two offsets, which begins with what is held of
// the resource's ends.
func (m *media) searchIn(from, to int64) *seek.Search {
	s := &seek.Search{Window: m.w, Recognize: m.recognize, Start: from, End: to, MaxRounds: m.limits.Rounds}
	if m.timed && m.duration > 0 && (to-from)/(m.duration/1e9+1) < 256e3/8 {
		s.Probe = soundProbe
	}
	for _, r := range []seek.Range{
		{Offset: from, Length: min(headSize, to) - from},
		{Offset: max(from, to-headSize), Length: min(headSize, to-from)},
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
// them. It reports false where nothing was found there.
func (m *media) refine(ctx context.Context, b bracket, ticks int64) (bracket, bool, error) {
	before, after, err := m.searchIn(b.at.offset, b.next.offset).Find(ctx, 0, ticks)
	if err != nil || before.Tick == math.MinInt64 || before.Offset <= b.at.offset {
		return b, false, err
	}
	fine := bracket{prev: b.at, at: anchor{before.Offset, before.Tick}, next: b.next}
	if after.Tick != math.MaxInt64 {
		fine.next = anchor{after.Offset, after.Tick}
	}
	return fine, true, nil
}

var clusterID = []byte{0x1F, 0x43, 0xB6, 0x75}

// recognize finds Clusters in raw bytes: an ID, a size, a Timestamp, and blocks
// of tracks that exist. What lies inside a Cluster of known size is skipped.
func (m *media) recognize(off int64, data []byte) (marks []seek.Mark, next int64) {
	at := int64(0) // in data
	for at < int64(len(data)) {
		i := bytes.Index(data[at:], clusterID)
		if i < 0 {
			break
		}
		at += int64(i)
		c, err := m.clusterAt(data[at:], off+at)
		if err == errShort {
			return marks, off + at
		}
		if err != nil || !m.recognized(c, data[at:]) {
			at++
			continue
		}
		mark := seek.Mark{Offset: c.offset, Tick: c.timestamp}
		if c.size != unknownSize {
			mark.End = c.end()
		}
		marks = append(marks, mark)
		if at += c.head; mark.End > 0 {
			at = mark.End - off
		}
	}
	if at >= int64(len(data)) {
		return marks, off + at
	}
	return marks, off + max(at, int64(len(data)-len(clusterID)+1))
}

// bySearch brackets a time by looking for Clusters. Skip steps back by so many
// of them.
func (m *media) bySearch(ctx context.Context, ticks int64, skip int) (bracket, error) {
	before, after, err := m.clusters().Find(ctx, 0, ticks)
	for ; err == nil && skip > 0 && before.Tick != math.MinInt64; skip-- {
		before, after, err = m.clusters().Find(ctx, 0, before.Tick-1)
	}
	if err != nil {
		return bracket{}, err
	}
	b := bracket{
		at:   anchor{before.Offset, before.Tick},
		next: anchor{after.Offset, after.Tick},
	}
	if before.Tick == math.MinInt64 {
		b.at = anchor{m.first.offset, m.start / m.info.scale}
	}
	if after.Tick == math.MaxInt64 {
		b.next = anchor{m.clustersEnd(b.at.offset), max(m.endTime(), b.at.time)}
	}
	return b, nil
}
