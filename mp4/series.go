package mp4

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// reach is how much of a file segment indices in front of it are of.
type reach int

const (
	unknown   reach = iota
	oneOfMany       // some fragments; others with their own indices follow
	wholeFile       // all fragments, as far as can be told
)

// reach tells whether segment indices cover all fragments of the file: no
// fragment comes behind what they refer to. One index for each fragment counts as
// none.
func (f *file) reach(ctx context.Context, roots []*segmentIndex) (reach, error) {
	if len(roots) == 0 {
		return unknown, nil
	}
	single := true
	for _, s := range roots {
		if n := len(s.references); n > 0 && s.references[n-1].index {
			return wholeFile, nil // a chain: how far it goes shows when it is followed
		}
		single = single && len(s.references) <= 1
	}
	end, size := endOf(roots), f.window.Info().Size
	if size < 0 || end >= size {
		return wholeFile, nil
	}
	if single {
		if _, held := f.window.Held(seek.Range{Offset: end, Length: 8}); !held {
			return unknown, nil // one index for each fragment, in all likelihood
		}
	}
	switch typ, _, _, err := f.boxAt(ctx, end); {
	case errors.Is(err, formats.ErrDamaged): // an index that does not know where it points
		return unknown, nil
	case err != nil:
		return unknown, err
	case slices.Contains([]string{"mfra", "free", "skip", "udta", "meta", "uuid", ""}, typ):
		return wholeFile, nil
	case single || !inSequence(roots):
		return unknown, nil
	}
	next, _, err := f.readFront(ctx, end)
	switch {
	case errors.Is(err, formats.ErrDamaged), err == nil && len(next) == 0:
		return unknown, nil
	case err != nil:
		return unknown, err
	}
	return oneOfMany, nil
}

// follow reads the indices behind the fragments of others, with so many round
// trips at most, until they reach a time in seconds. More says that there may be
// others behind. Each is likely to last as long as the one before: as soon as the
// time is too many of them away, it fails with errFar.
func (f *file) follow(ctx context.Context, roots []*segmentIndex, to fragment.Time, hops int) (all []*segmentIndex, more bool, err error) {
	all = slices.Clone(roots)
	until := reached(all)
	each := until.Sub(fragment.Ticks(roots[0].references[0].start, roots[0].timescale))
	for range maxLinks {
		if !until.Less(to) {
			return all, true, nil
		}
		at := endOf(all)
		if _, ok := f.window.Held(seek.Range{Offset: at, Length: headerBytes}); !ok {
			if !reaches(to.Sub(until), each, hops) {
				return nil, false, errFar
			}
			hops--
		}
		next, behind, err := f.readFront(ctx, at)
		if err != nil {
			return nil, false, err
		}
		if len(next) == 0 {
			typ, _, _, err := f.boxAt(ctx, behind)
			if err != nil || typ == "moof" {
				return nil, false, cmp.Or(err, errFar)
			}
			return all, false, nil // the file's end, or an mfra
		}
		if all = append(all, next...); len(all) > maxLinks || !inSequence(all) {
			return nil, false, errFar
		}
		last := until
		until = reached(all)
		each = until.Sub(last)
	}
	return nil, false, errFar
}

// reaches reports whether so many steps of each go as far as left.
func reaches(left, each fragment.Time, steps int) bool {
	for range steps {
		left = left.Sub(each)
	}
	return left.Sign() <= 0
}

// reached returns until when the tracks of some indices are all known, in
// seconds.
func reached(all []*segmentIndex) fragment.Time {
	ends := map[uint32]fragment.Time{}
	for _, s := range all {
		ends[s.track] = ends[s.track].Max(s.duration())
	}
	until := far
	for _, end := range ends {
		until = until.Min(end)
	}
	return until
}

// endOf returns the first byte behind all that some indices are of.
func endOf(all []*segmentIndex) int64 {
	var end int64
	for _, s := range all {
		end = max(end, s.end)
	}
	return end
}

// inSequence reports whether indices go on, for each track, where the one before
// ended, in the file and in time.
func inSequence(all []*segmentIndex) bool {
	last := map[uint32]*segmentIndex{}
	for _, s := range all {
		if len(s.references) == 0 {
			return false
		}
		if before := last[s.track]; before != nil {
			start := fragment.Ticks(s.references[0].start, s.timescale)
			if s.references[0].offset < before.end || start.Less(before.duration()) {
				return false
			}
		}
		last[s.track] = s
	}
	return true
}

// firstOf returns where what some indices refer to begins in the file.
func firstOf(all []*segmentIndex) int64 {
	first := int64(math.MaxInt64)
	for _, s := range all {
		if len(s.references) > 0 {
			first = min(first, s.references[0].offset)
		}
	}
	return first
}
