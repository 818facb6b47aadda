package mp4

import (
	"context"

	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// maxRoots bounds the segment indices in front of the fragments.
const maxRoots = 64

// findIndex looks for what tells where a fragmented file's fragments are: sidx
// boxes that cover the file, else an mfra at its end, else nothing. What the
// window holds of the file's beginning and end costs nothing.
func (f *file) findIndex(ctx context.Context) error {
	roots, first, err := f.readFront(ctx)
	if err != nil {
		return err
	}
	if m := f.heldFragment(first); m != nil {
		f.firstMoof = int64(len(m.box.raw))
	}
	defer f.learn(first)
	whole, err := f.coversFile(ctx, roots)
	if err != nil {
		return err
	}
	if whole {
		f.useSidx(roots)
		return nil
	}
	points, start, found, err := f.findMfra(ctx)
	if err != nil {
		return err
	}
	if found {
		f.index = Mfra
		x := placesOfMfra(points, f.movie, start)
		f.locator = &indexed{f, func(context.Context, fragment.Time, fragment.Time) (*placeIndex, error) { return x, nil }}
		return nil
	}
	f.index = None
	return f.useSearch(ctx, first)
}

// useSidx seeks by segment indices.
func (f *file) useSidx(roots []*segmentIndex) {
	f.index = Sidx
	for _, s := range roots {
		f.end, f.ends = f.end.Max(f.presented(s.track, s.duration())), true
	}
	f.locator = &indexed{f, func(ctx context.Context, from, to fragment.Time) (*placeIndex, error) {
		expanded := make([]*segmentIndex, len(roots))
		for i, s := range roots {
			var err error
			if expanded[i], err = s.expand(ctx, f.window, from, to); err != nil {
				return nil, err
			}
		}
		return placesOfSidx(expanded), nil
	}}
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

// readFront walks from behind the moov to the first moof, and reads the sidx
// boxes on the way. First is where the moof, or what comes before it, begins.
func (f *file) readFront(ctx context.Context) (roots []*segmentIndex, first int64, err error) {
	at := f.movie.box.off + int64(len(f.movie.box.raw))
	for range maxTopBoxes {
		typ, header, size, err := f.boxAt(ctx, at)
		if err != nil {
			return nil, 0, err
		}
		switch typ {
		case "", "moof", "mdat", "mfra":
			return roots, at, nil
		case "sidx":
			if size > f.limits.Index {
				return nil, 0, damaged("sidx", at, "%d bytes long", size)
			}
			raw, err := f.window.ReadRange(ctx, seek.Range{Offset: at, Length: size}, seek.Index, "sidx")
			if err != nil {
				return nil, 0, err
			}
			if int64(len(raw)) < size {
				return nil, 0, damaged("sidx", at, "cut off")
			}
			s, err := readSidx(box{typ: typ, off: at, header: header, raw: raw, path: "sidx"})
			if err != nil {
				return nil, 0, err
			}
			if len(roots) < maxRoots {
				roots = append(roots, s)
			}
		}
		at += size
	}
	return nil, 0, damaged("", at, "no moof among the first %d boxes behind the moov", maxTopBoxes)
}

// boxAt returns what the box at an offset is; typ is "" at the file's end. A
// box to the end of the file ends where that is, or where it is not known, far
// away.
func (f *file) boxAt(ctx context.Context, at int64) (typ string, header int, size int64, err error) {
	head, err := f.window.ReadRange(ctx, seek.Range{Offset: at, Length: headerBytes}, seek.Index, "box header")
	if err != nil {
		return "", 0, 0, err
	}
	if len(head) < 8 {
		return "", 0, 0, nil
	}
	typ, header, size, ok := readHeader(head)
	if !ok || size == 0 {
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

// coversFile reports whether segment indices cover all fragments of the file:
// no fragment comes behind what they refer to.
func (f *file) coversFile(ctx context.Context, roots []*segmentIndex) (bool, error) {
	if len(roots) == 0 {
		return false, nil
	}
	single := true
	end := int64(0)
	for _, s := range roots {
		if n := len(s.references); n > 0 && s.references[n-1].index {
			return true, nil // a chain: how far it goes shows when it is followed
		}
		single = single && len(s.references) <= 1
		end = max(end, s.end)
	}
	size := f.window.Info().Size
	if size < 0 || end >= size {
		return true, nil
	}
	if single {
		if _, held := f.window.Held(seek.Range{Offset: end, Length: 8}); !held {
			return false, nil // one index for each fragment, in all likelihood
		}
	}
	switch typ, _, _, err := f.boxAt(ctx, end); typ {
	case "mfra", "free", "skip", "udta", "meta", "uuid", "":
		return err == nil, nil
	}
	return false, nil // fragments, or an index that does not know where it points
}
