package mp4

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// Limits on segment indices.
const (
	maxHops       = 3        // round trips from one index to another on the way to a time
	maxLinks      = 256      // indices on the way to a time, those in memory included
	maxReferences = 1 << 18  // of all indices that are followed for an interval
	sidxGuess     = 16 << 10 // bytes read of an index whose size is not known
)

// errFar: indices lead to a time, but over more of them than are followed. To
// look for the time takes fewer round trips then.
var errFar = errors.New("the segment indices lead too far")

// segmentIndex is one sidx (ISO/IEC 14496-12 section 8.16.3).
type segmentIndex struct {
	track      uint32
	timescale  int64
	references []reference
	size       int64 // of the box
	end        int64 // in the file, of what it refers to
}

// reference is an entry of a sidx: a subsegment, or another sidx.
type reference struct {
	offset, size    int64
	start, duration int64 // presentation time, in the sidx's timescale
	index           bool  // of another sidx
	access          int64 // when its first stream access point is presented that it tells of, in the sidx's timescale; -1: it tells of none
}

// readSidx reads a sidx.
func readSidx(b box) (*segmentIndex, error) {
	p := b.payload()
	if len(p) < 24 {
		return nil, b.damaged(0, "cut off")
	}
	s := &segmentIndex{track: be.Uint32(p[4:]), timescale: int64(be.Uint32(p[8:])), size: int64(len(b.raw))}
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
			start: time, duration: int64(be.Uint32(p[4:])), access: -1,
		}
		if sap := be.Uint32(p[8:]); sap>>28&7 != 0 || sap>>31 == 1 { // SAP_type, starts_with_SAP
			r.access = time + int64(sap&(1<<28-1))
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

// expand reads the indices that s leads to for [from, to), both in seconds: of a
// hierarchy those that hold the time, of a daisy chain all up to it, with as
// many round trips as hops at most. It returns an index of subsegments where
// they matter, and does not change s.
func (s *segmentIndex) expand(ctx context.Context, w *seek.Window, from, to fragment.Time, hops int) (*segmentIndex, error) {
	out := *s
	if n := len(s.references); n > 0 { // beyond both ends, the last and the first hold the time
		from = from.Min(s.duration())
		to = to.Max(fragment.Ticks(s.references[0].start, s.timescale).Add(instant))
	}
	seen, left := map[int64]bool{}, map[int64]bool{}
	latest := 0 // where the references begin that were read last
	for range maxLinks {
		asked := out.leading(from, to, left)
		if len(asked) == 0 {
			return &out, nil
		}
		if !held(w, out.references, asked) {
			if hops == 0 || !out.near(latest, to, hops) {
				return nil, errFar
			}
			hops--
		}
		found, err := readIndices(ctx, w, out.references, asked)
		if err != nil {
			return nil, err
		}
		for n := len(asked) - 1; n >= 0; n-- { // from behind, so that positions stay
			r := out.references[asked[n]]
			switch {
			case seen[r.offset]:
				return nil, damaged("sidx", r.offset, "segment indices lead in a circle")
			case found[n].timescale != out.timescale, len(out.references)+len(found[n].references) > maxReferences:
				return nil, errFar
			}
			seen[r.offset] = true
			out.references = slices.Concat(out.references[:asked[n]], found[n].references, out.references[asked[n]+1:])
			out.end = max(out.end, found[n].end)
		}
		latest = asked[len(asked)-1]
	}
	return nil, errFar
}

// beside is how near the beginning of an index a time is, in seconds, for which
// the index before it is read at once: the sync sample of the time may be there.
var beside = fragment.Seconds(10)

// leading returns which references to other indices matter for an interval:
// those that hold some of it, or what comes right before, and the one before that
// where decoding may have to begin there. Where they are more than the fragments
// that are looked at, those in the middle are left.
func (s *segmentIndex) leading(from, to fragment.Time, left map[int64]bool) []int {
	var out []int
	for i, r := range s.references {
		start, end := fragment.Ticks(r.start, s.timescale), fragment.Ticks(r.start+r.duration, s.timescale)
		if r.index && !left[r.offset] && start.Less(to) && !end.Less(from) {
			if s.neighbour(i, from) && len(out) == 0 && !left[s.references[i-1].offset] {
				out = append(out, i-1)
			}
			out = append(out, i)
		}
	}
	if len(out) > maxFragments {
		for _, i := range out[maxEarlier : len(out)-maxEarlier] {
			left[s.references[i].offset] = true
		}
		out = slices.Delete(out, maxEarlier, len(out)-maxEarlier)
	}
	return out
}

// neighbour reports whether the index before the one that a reference leads to is
// likely to hold the sync sample of a time in that.
func (s *segmentIndex) neighbour(i int, from fragment.Time) bool {
	r := s.references[i]
	start, end := fragment.Ticks(r.start, s.timescale), fragment.Ticks(r.start+r.duration, s.timescale)
	return i > 0 && s.references[i-1].index && from.Less(end) && from.Less(start.Add(beside)) && !r.opens(from, s.timescale)
}

// opens reports whether a reference says that decoding may begin in it for a time.
func (r reference) opens(at fragment.Time, timescale int64) bool {
	return r.access >= 0 && !at.Less(fragment.Ticks(r.access, timescale))
}

// near reports whether a time is within so many hops, if s ends with a daisy
// chain: subsegments from latest on, and at last the next index, each of which is
// likely to reach as far as the one before.
func (s *segmentIndex) near(latest int, to fragment.Time, hops int) bool {
	n := len(s.references) - 1
	if n <= latest || !s.references[n].index || slices.ContainsFunc(s.references[:n], func(r reference) bool { return r.index }) {
		return true
	}
	last := s.references[n]
	start, end := fragment.Ticks(last.start, s.timescale), fragment.Ticks(last.start+last.duration, s.timescale)
	return reaches(to.Min(end).Sub(start), fragment.Ticks(last.start-s.references[latest].start, s.timescale), hops)
}

// held reports whether the beginnings of some references are in hand.
func held(w *seek.Window, refs []reference, which []int) bool {
	return !slices.ContainsFunc(which, func(i int) bool {
		_, ok := w.Held(seek.Range{Offset: refs[i].offset, Length: min(refs[i].size, headerBytes)})
		return !ok
	})
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
