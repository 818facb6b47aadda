package ogg

import (
	"context"
	"sort"

	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// indexReach is how many bytes on either side of an indexed page are read: the
// page before it and what follows.
const indexReach = 64 << 10

// useIndex looks where a Skeleton's keyframe index says that the interval begins
// and ends, all at once. It only tells where to look: what counts are the pages
// found there, so that an index that lies costs a round and is then dropped.
func (c *cutting) useIndex(ctx context.Context) error {
	if !c.l.skeleton.indexed() || c.l.skeleton.lies.Load() {
		return nil
	}
	var reads []seek.Request
	var offs []int64
	var serials []uint32
	for _, x := range c.l.skeleton.indexes {
		s := c.l.stream(x.serial)
		if s == nil {
			continue
		}
		for _, at := range []fragment.Time{c.a, c.b} {
			p, ok := x.before(at)
			if off := c.l.off + p.off; ok && off >= c.l.data && off < c.l.end {
				from := max(c.l.data, off-indexReach)
				reads = append(reads, seek.Request{Range: seek.Range{Offset: from, Length: min(off+indexReach, c.l.end) - from}, Purpose: seek.Probe, Note: "keyframe index"})
				offs, serials = append(offs, off), append(serials, s.serial)
			}
		}
	}
	data, err := c.w.Read(ctx, reads...)
	if err != nil {
		return err
	}
	for i, r := range reads {
		c.l.search.Scan(r.Offset, data[i])
		p, kind := parsePage(data[i][min(offs[i]-r.Offset, int64(len(data[i]))):], offs[i])
		if kind != parsedPage || p.serial != serials[i] {
			c.l.skeleton.lies.Store(true)
		}
	}
	return nil
}

// before returns the last key point at or before t.
func (x *index) before(t fragment.Time) (keypoint, bool) {
	i := sort.Search(len(x.points), func(i int) bool { return t.Less(fragment.Ticks(x.points[i].time, x.per)) })
	if i == 0 {
		return keypoint{}, false
	}
	return x.points[i-1], true
}
