package mp4

import (
	"context"

	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// maxRoots bounds the segment indices in front of the fragments.
const maxRoots = 64

// findIndex looks for what tells where a fragmented file's fragments are: sidx
// boxes that cover the file, else an mfra at its end, else sidx boxes that stand
// one behind the other, each in front of some fragments, else nothing. What the
// window holds of the file's beginning and end costs nothing.
func (f *file) findIndex(ctx context.Context) error {
	roots, first, err := f.readFront(ctx, f.movie.box.off+int64(len(f.movie.box.raw)))
	if err != nil {
		return err
	}
	f.first = first
	if m := f.heldFragment(first); m != nil {
		f.firstMoof = int64(len(m.box.raw))
	}
	defer f.learn(first)
	reach, err := f.reach(ctx, roots)
	if err != nil {
		return err
	}
	if reach == wholeFile {
		f.useSidx(roots, false)
		return nil
	}
	points, start, found, err := f.findMfra(ctx)
	switch {
	case err != nil:
		return err
	case found:
		f.index, f.indexed = Mfra, f.window.Info().Size-start
		x := placesOfMfra(points, f.movie, start)
		f.locator = &indexed{file: f, index: func(context.Context, fragment.Time, fragment.Time, int) (*placeIndex, error) { return x, nil }, beyond: f.searcher}
		return nil
	case reach == oneOfMany:
		f.useSidx(roots, true)
		return nil
	}
	f.index = None
	if f.locator, err = f.searcher(ctx); err == nil && f.locator == nil {
		return f.useMoov(first)
	}
	return err
}

// useSidx seeks by segment indices. In a series, each stands in front of the
// fragments that it is of.
func (f *file) useSidx(roots []*segmentIndex, series bool) {
	f.index = Sidx
	for _, s := range roots {
		f.indexed += s.size
		if !series {
			f.end, f.ends = f.end.Max(f.presented(s.track, s.duration())), true
		}
	}
	index := func(ctx context.Context, from, to fragment.Time, hops int) (*placeIndex, error) {
		all, more := roots, false
		if series {
			var err error
			if all, more, err = f.follow(ctx, roots, to, hops); err != nil {
				return nil, err
			}
		}
		expanded := make([]*segmentIndex, len(all))
		for i, s := range all {
			var err error
			if expanded[i], err = s.expand(ctx, f.window, from, to, hops); err != nil {
				return nil, err
			}
		}
		x := placesOfSidx(expanded)
		if more {
			x.missing(reached(all))
		}
		return x, nil
	}
	f.locator = &indexed{file: f, index: index, beyond: f.searcher}
}

// presented returns when what a track's media presents at a composition time,
// in seconds, is on the presentation's timeline.
func (f *file) presented(track uint32, media fragment.Time) fragment.Time {
	t := f.movie.track(track)
	if t == nil {
		return media
	}
	open := *t
	open.end = max(1, media.Round(t.timescale))
	return f.movie.presentation(&open)
}

// readFront walks from an offset to the next moof, and reads the sidx boxes on
// the way. First is where the moof, or what comes before it, begins.
func (f *file) readFront(ctx context.Context, at int64) (roots []*segmentIndex, first int64, err error) {
	for range maxTopBoxes {
		typ, header, size, err := f.boxAt(ctx, at)
		if err != nil {
			return nil, 0, err
		}
		switch typ {
		case "", "moof", "mdat", "mfra":
			return roots, at, nil
		case "sidx":
			raw, err := f.readSidx(ctx, at, size, len(roots) == 0)
			if err != nil {
				return nil, 0, err
			}
			s, err := readSidx(box{typ: typ, off: at, header: header, raw: raw, path: "sidx"})
			if err != nil {
				return nil, 0, err
			}
			if len(roots) == maxRoots {
				return nil, at + size, nil // too many to be of use
			}
			if roots = append(roots, s); at+size >= firstOf(roots) {
				return roots, at + size, nil
			}
		}
		at += size
	}
	return nil, 0, damaged("", at, "no moof among the first %d boxes behind the moov", maxTopBoxes)
}

// maxBehind bounds what is read along with a sidx, in bytes: its first offset
// tells how far away the fragments are, and before them there are other indices.
const maxBehind = 1 << 20

// readSidx reads a sidx, and where it is the first of several, along with it what
// lies between it and what it is of.
func (f *file) readSidx(ctx context.Context, at, size int64, first bool) ([]byte, error) {
	if size > f.limits.Index {
		return nil, damaged("sidx", at, "%d bytes long", size)
	}
	wanted := seek.Range{Offset: at, Length: size}
	if head, ok := f.window.Held(seek.Range{Offset: at, Length: 48}); first && ok && len(head) == 48 {
		if behind := firstOffset(head); behind <= maxBehind {
			wanted.Length += behind
		}
	}
	raw, err := f.window.ReadRange(ctx, wanted, seek.Index, "sidx")
	if err != nil {
		return nil, err
	}
	if int64(len(raw)) < size {
		return nil, damaged("sidx", at, "cut off")
	}
	return raw[:size], nil
}

// firstOffset returns the field of this name out of the first 48 bytes of a
// sidx.
func firstOffset(head []byte) int64 {
	_, header, _, _ := readHeader(head)
	if p := head[header:]; p[0] == 0 {
		return int64(be.Uint32(p[16:]))
	} else if first := be.Uint64(p[20:]); first <= maxBehind {
		return int64(first)
	}
	return maxBehind + 1
}

// boxAt returns what the box at an offset is; typ is "" at the file's end. A
// box to the end of the file ends where that is, or where it is not known, far
// away.
func (f *file) boxAt(ctx context.Context, at int64) (typ string, header int, size int64, err error) {
	head, ok := f.window.Held(seek.Range{Offset: at, Length: headerBytes})
	if !ok { // it may be an index
		if head, err = f.window.ReadRange(ctx, seek.Range{Offset: at, Length: sidxGuess}, seek.Index, "box header"); err != nil {
			return "", 0, 0, err
		}
	}
	if len(head) < 8 {
		return "", 0, 0, nil
	}
	if typ, header, size, ok = readHeader(head); !ok || size == 0 {
		return "", 0, 0, damaged(printable(typ), at, "box size smaller than its header")
	}
	if size == -1 {
		if size = f.window.Info().Size - at; size < 0 {
			size = 1 << 61
		}
	}
	if at+size < at {
		return "", 0, 0, damaged(printable(typ), at, "box size wraps around")
	}
	return typ, header, size, nil
}

// heldFragment returns the first fragment at or behind an offset where the
// window holds it, else nil.
func (f *file) heldFragment(at int64) *moof {
	for range 8 { // styp, sidx, emsg, prft and the like stand before it
		head, ok := f.window.Held(seek.Range{Offset: at, Length: headerBytes})
		if !ok || len(head) < 8 {
			return nil
		}
		typ, header, size, ok := readHeader(head)
		switch {
		case !ok || size <= 0 || at+size < at:
			return nil
		case typ == "moof":
			raw, ok := f.window.Held(seek.Range{Offset: at, Length: size})
			if !ok || int64(len(raw)) < size {
				return nil
			}
			m, err := readFragment(box{typ: typ, off: at, header: header, raw: raw, path: "moof"}, f.movie.fragmentDefaultsOf())
			if err != nil {
				return nil
			}
			return m
		}
		at += size
	}
	return nil
}
