package mp4

import (
	"context"
	"fmt"
	"slices"

	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// Limits on segment indices.
const (
	maxIndexDepth = 16       // indices that lead to one another on the way to a time
	sidxGuess     = 16 << 10 // bytes read of an index whose size is not known
)

// segmentIndex is one sidx (ISO/IEC 14496-12 section 8.16.3).
type segmentIndex struct {
	track      uint32
	timescale  int64
	references []reference
	end        int64 // in the file, of what it refers to
}

// reference is an entry of a sidx: a subsegment, or another sidx.
type reference struct {
	offset, size    int64
	start, duration int64 // presentation time, in the sidx's timescale
	index           bool  // of another sidx
}

// readSidx reads a sidx.
func readSidx(b box) (*segmentIndex, error) {
	p := b.payload()
	if len(p) < 24 {
		return nil, b.damaged(0, "cut off")
	}
	s := &segmentIndex{track: be.Uint32(p[4:]), timescale: int64(be.Uint32(p[8:]))}
	if s.timescale == 0 {
		return nil, b.damaged(8, "a timescale of 0")
	}
	var at, first uint64 // presentation time, first offset
	if p[0] == 0 {
		at, first, p = uint64(be.Uint32(p[12:])), uint64(be.Uint32(p[16:])), p[20:]
	} else if len(p) >= 32 {
		at, first, p = be.Uint64(p[12:]), be.Uint64(p[20:]), p[28:]
	} else {
		return nil, b.damaged(0, "cut off")
	}
	if at > maxTicks || first > 1<<62 {
		return nil, b.damaged(12, "a time or an offset beyond any file")
	}
	n := int(be.Uint16(p[2:]))
	if p = p[4:]; n*12 > len(p) {
		return nil, b.damaged(0, "%d references do not fit into its %d bytes", n, len(b.raw))
	}
	offset, time := b.off+int64(len(b.raw))+int64(first), int64(at)
	for ; n > 0; n, p = n-1, p[12:] {
		r := reference{
			offset: offset, size: int64(be.Uint32(p) &^ (1 << 31)), index: be.Uint32(p)>>31 == 1,
			start: time, duration: int64(be.Uint32(p[4:])),
		}
		s.references = append(s.references, r)
		offset, time = offset+r.size, time+r.duration
		if offset > 1<<62 || time > maxTicks {
			return nil, b.damaged(0, "its references lead beyond any file")
		}
	}
	s.end = offset
	return s, nil
}

// duration returns when the last subsegment of the index ends, by its
// references.
func (s *segmentIndex) duration() fragment.Time {
	if n := len(s.references); n > 0 {
		last := s.references[n-1]
		return fragment.Ticks(last.start+last.duration, s.timescale)
	}
	return fragment.Time{}
}

// expand reads the indices that s leads to for [from, to), both in seconds, in
// as many rounds as they are deep. It returns an index of subsegments where
// they matter, and does not change s.
func (s *segmentIndex) expand(ctx context.Context, w *seek.Window, from, to fragment.Time) (*segmentIndex, error) {
	out := *s
	seen := map[int64]bool{}
	for range maxIndexDepth {
		var asked []int
		for i, r := range out.references {
			if r.index && out.overlaps(r, from, to) {
				asked = append(asked, i)
			}
		}
		if len(asked) == 0 {
			return &out, nil
		}
		found, err := readIndices(ctx, w, out.references, asked)
		if err != nil {
			return nil, err
		}
		var next []reference
		for i, r := range out.references {
			at := slices.Index(asked, i)
			if at < 0 {
				next = append(next, r)
				continue
			}
			if seen[r.offset] {
				return nil, damaged("sidx", r.offset, "segment indices lead in a circle")
			}
			seen[r.offset] = true
			if found[at].timescale != out.timescale {
				return nil, unsupported("sidx", r.offset, "remux the file", "segment indices of different timescales")
			}
			next = append(next, found[at].references...)
			out.end = max(out.end, found[at].end)
		}
		out.references = next
	}
	return nil, damaged("sidx", out.references[0].offset, "segment indices are more than %d deep", maxIndexDepth)
}

// overlaps reports whether a reference to another index is needed for an
// interval: it holds some of it, or what comes right before.
func (s *segmentIndex) overlaps(r reference, from, to fragment.Time) bool {
	start, end := fragment.Ticks(r.start, s.timescale), fragment.Ticks(r.start+r.duration, s.timescale)
	return start.Less(to) && !end.Less(from)
}

// readIndices reads the indices that some references lead to, all at once.
func readIndices(ctx context.Context, w *seek.Window, refs []reference, which []int) ([]*segmentIndex, error) {
	requests := make([]seek.Request, len(which))
	for n, i := range which {
		requests[n] = seek.Request{Range: seek.Range{Offset: refs[i].offset, Length: min(refs[i].size, sidxGuess)}, Purpose: seek.Index, Note: "sidx"}
	}
	for range 2 { // the second time, those that are longer than was guessed
		got, err := w.Read(ctx, requests...)
		if err != nil {
			return nil, err
		}
		var out []*segmentIndex
		again := false
		for n := range which {
			typ, header, size, ok := readHeader(got[n])
			switch {
			case !ok || typ != "sidx" || size < int64(header):
				return nil, damaged("sidx", requests[n].Offset, "a reference to a segment index leads to %q", printable(typ))
			case size > 1<<20:
				return nil, damaged("sidx", requests[n].Offset, "%d bytes long", size)
			case size > int64(len(got[n])):
				if requests[n].Length >= size {
					return nil, damaged("sidx", requests[n].Offset, "cut off")
				}
				requests[n].Length, again = size, true
				continue
			}
			s, err := readSidx(box{typ: typ, off: requests[n].Offset, header: header, raw: got[n][:size], path: "sidx"})
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		}
		if !again {
			return out, nil
		}
	}
	return nil, fmt.Errorf("reading segment indices: %w", seek.ErrLimit)
}
