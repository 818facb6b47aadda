package mp4

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/mediafrag/mediafrag/seek"
)

// tailBytes is how much of a file's end is looked at for an index.
const tailBytes = 64 << 10

// accessPoint is an entry of a tfra: a sync sample and the moof that has it.
type accessPoint struct {
	time int64 // in the track's timescale
	moof int64
}

// findMfra reads the movie fragment random access box, which the last 16 bytes
// of the file lead to (ISO/IEC 14496-12 sections 8.8.9 to 8.8.11). Found is
// false where there is none or it cannot be believed.
func (f *file) findMfra(ctx context.Context) (points map[uint32][]accessPoint, start int64, found bool, err error) {
	size := f.window.Info().Size
	if size < 24 {
		return nil, 0, false, nil
	}
	at := max(0, size-tailBytes)
	tail, err := f.window.ReadRange(ctx, seek.Range{Offset: at, Length: size - at}, seek.Tail, "")
	if err != nil || len(tail) < 16 {
		return nil, 0, false, err
	}
	mfro := tail[len(tail)-16:]
	if string(mfro[4:8]) != "mfro" {
		return nil, 0, false, nil
	}
	length := int64(be.Uint32(mfro[12:]))
	if length < 24 || length > size || length > f.limits.Index {
		return nil, 0, false, nil
	}
	start = size - length
	raw, err := f.window.ReadRange(ctx, seek.Range{Offset: start, Length: length}, seek.Index, "mfra")
	if err != nil {
		return nil, 0, false, err
	}
	typ, header, n, ok := readHeader(raw)
	if !ok || typ != "mfra" || n != length || int64(len(raw)) != length {
		return nil, 0, false, nil
	}
	points = readAccessPoints(box{typ: typ, off: start, header: header, raw: raw, path: "mfra"}, start)
	return points, start, len(points) > 0, nil
}

// readAccessPoints reads the tfra boxes of an mfra that stands at start: for
// each track its fragments in file order, each with the earliest time that is
// stated for it. It returns nil where the boxes cannot be believed; the file can
// be read without them.
func readAccessPoints(mfra box, start int64) map[uint32][]accessPoint {
	out := map[uint32][]accessPoint{}
	for c, err := range mfra.children() {
		if err != nil {
			return nil
		}
		if c.typ != "tfra" || len(out) >= maxTracks {
			continue
		}
		p := c.payload()
		if len(p) < 16 {
			return nil
		}
		wide := p[0] == 1
		id, sizes, n := be.Uint32(p[4:]), be.Uint32(p[8:]), int64(be.Uint32(p[12:]))
		fields := 8
		if wide {
			fields = 16
		}
		stride := fields + int(sizes>>4&3) + int(sizes>>2&3) + int(sizes&3) + 3
		if p = p[16:]; n > int64(len(p)/stride) {
			return nil
		}
		var all []accessPoint
		for ; n > 0; n, p = n-1, p[stride:] {
			a := accessPoint{int64(be.Uint32(p)), int64(be.Uint32(p[4:]))}
			if wide {
				a = accessPoint{int64(be.Uint64(p)), int64(be.Uint64(p[8:]))}
			}
			if a.time < 0 || a.time > maxTicks || a.moof < 0 || a.moof >= start {
				return nil
			}
			all = append(all, a)
		}
		// Within a fragment, entries may stand in the order of presentation.
		slices.SortFunc(all, func(a, b accessPoint) int {
			return cmp.Or(cmp.Compare(a.moof, b.moof), cmp.Compare(a.time, b.time))
		})
		all = slices.CompactFunc(all, func(a, b accessPoint) bool { return a.moof == b.moof })
		steady := withoutStrays(all)
		if (len(all)-len(steady))*maxStray > len(all) {
			return nil
		}
		out[id] = append(out[id], steady...)
	}
	return out
}

// maxStray is of how many access points one at most may be left out because its
// time contradicts the others'. Where more do, as where each picture is a fragment
// and the times are those of presentation, the points hardly lead to sync samples,
// and to look for the time takes fewer round trips.
const maxStray = 8

// withoutStrays returns as many of some access points in file order as have times
// that ascend. A fragment whose point is left out belongs to the place before,
// and is read with that.
func withoutStrays(all []accessPoint) []accessPoint {
	var ends []int                  // of the chains of each length: the one with the earliest last time
	before := make([]int, len(all)) // the point before in its chain, -1: none
	for i, p := range all {
		n := sort.Search(len(ends), func(n int) bool { return all[ends[n]].time > p.time })
		if before[i] = -1; n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		}
		ends[n] = i
	}
	if len(ends) == len(all) {
		return all
	}
	out := make([]accessPoint, len(ends))
	for n, i := len(ends)-1, ends[len(ends)-1]; n >= 0; n, i = n-1, before[i] {
		out[n] = all[i]
	}
	return out
}
