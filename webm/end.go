package webm

import (
	"context"
	"errors"

	"github.com/mediafrag/mediafrag/seek"
)

// maxWalk is the most that is read of the last cluster to find its end.
const maxWalk = 8 << 20

// maxEmpty is how many clusters are looked at, from the last backwards, for one
// with a block: the file may break off before the first of the last.
const maxEmpty = 4

// ending is when the last sample ends, in ns from the start, and the limit up to
// which it was looked for.
type ending struct{ limit, ns int64 }

// refresh asks how much of a growing file there is by now.
func (m *media) refresh(ctx context.Context) error {
	if !m.growing {
		return nil
	}
	err := m.w.Refresh(ctx)
	if errors.Is(err, seek.ErrNoRanges) { // it comes from its beginning on, as far as it has come
		return nil
	}
	return err
}

// findEnd finds when the last sample ends, in ns from the start. It costs a
// search and looks at the file's last bytes, once.
func (m *media) findEnd(ctx context.Context) (int64, error) {
	m.mu.Lock()
	known := m.ended
	m.mu.Unlock()
	if known != nil && !m.growing && known.limit == m.limit() {
		return known.ns, nil
	}
	if err := m.refresh(ctx); err != nil {
		return 0, err
	}
	var end int64
	for skip := range maxEmpty {
		last, err := m.lastCluster(ctx, skip)
		if err != nil {
			return 0, err
		}
		if end, err = m.endFrom(ctx, last); err != nil {
			return 0, err
		}
		if end > m.start || last.offset <= m.first.offset {
			break
		}
	}
	end = max(0, end-m.start)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = &ending{m.limit(), end}
	return end, nil
}

// endFrom returns when the last sample of the last cluster ends, in ns. A
// cluster may be larger than what is worth reading: then the blocks before the
// end are found from behind.
func (m *media) endFrom(ctx context.Context, last anchor) (int64, error) {
	limit := m.clustersEnd(last.offset)
	if limit-last.offset > oneRead {
		from := limit - headSize
		tail := &region{lo: from, from: limit, size: headSize}
		head := &region{lo: last.offset, from: last.offset, size: 4 << 10}
		if err := m.read(ctx, head, tail); err != nil {
			return 0, err
		}
		if blocks := m.before(tail.data, from); len(blocks) > 0 && len(head.clusters) > 0 && head.clusters[0].end() >= limit {
			for i := range blocks {
				blocks[i].ts += head.clusters[0].timestamp
			}
			return m.lastOf(blocks), nil
		}
	}
	r := &region{lo: last.offset, from: last.offset, size: min(limit-last.offset, oneRead)}
	if err := m.read(ctx, r); err != nil {
		return 0, err
	}
	for !r.ended && r.err == nil && int64(len(r.data)) < maxWalk {
		before := len(r.data)
		r.size = min(max(r.hi(), r.next)+oneRead, limit) - r.lo
		if err := m.read(ctx, r); err != nil {
			return 0, err
		}
		if len(r.data) == before {
			break
		}
	}
	return m.lastOf(r.blocks), nil
}

// lastOf returns when the last of some blocks ends, in ns.
func (m *media) lastOf(blocks []block) (end int64) {
	for i := range blocks {
		b := &blocks[i]
		t := m.byNumber[b.track]
		if t == nil || t.kind != typeVideo && t.kind != typeAudio && m.hasMedia() {
			continue
		}
		end = max(end, m.ns(b.ts)-t.codecDelay+m.length(t, b)-max(0, b.discard))
	}
	return end
}

// length is how long a block presents, as far as it can be told, in ns.
func (m *media) length(t *track, b *block) int64 {
	if b.duration >= 0 {
		return m.ns(b.duration)
	}
	one := t.defaultDuration
	n := int64(1)
	if b.payload != nil {
		frames, err := b.frames("")
		if err != nil {
			return one
		}
		n = int64(len(frames))
		if t.sound.length != nil && len(frames) > 1 {
			one = samplesToNs(t.sound.length(frames[n-2], frames[n-1]), t.sound.rate)
		} else if t.sound.length != nil {
			one = samplesToNs(t.sound.length(nil, frames[0]), t.sound.rate)
		}
	}
	return one * n
}
