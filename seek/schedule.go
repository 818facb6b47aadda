package seek

import (
	"cmp"
	"fmt"
	"slices"
)

// How a Reader cuts and joins the ranges of a plan, in bytes.
const (
	// minUnit is the least that a range is cut to so that several connections
	// share it: below, what a second request costs is more than it saves.
	minUnit = 768 << 10
	// maxUnit is the most that one request asks for where the plan has more than
	// parallel×maxUnit bytes. Up to there no request waits for another's answer.
	maxUnit = 8 << 20
	// maxUnits is how many requests a plan is divided into at most, whatever
	// sizes it claims.
	maxUnits = 1 << 16
	// gapFree is what all gaps of a plan may cost beyond 1/gapShare of its
	// bytes; within that, neighbouring ranges come by one request and the bytes
	// between are dropped.
	gapFree  = 48 << 10
	gapShare = 32
	// maxGap is the largest gap that is worth it: what arrives in a round trip.
	maxGap = 256 << 10
)

// schedule arranges parts into units and returns their size; -1 where a part
// has none. From the first part of unknown size on, the offsets of units count
// it as nothing.
func schedule(parts []Part, parallel int) ([]unit, int64, error) {
	end := int64(0)
	sized := true
	for i := range parts {
		p := &parts[i]
		if err := p.check(); err != nil {
			return nil, 0, fmt.Errorf("part %d (%s): %w", i, p.Note, err)
		}
		if end += max(0, p.size()); end > farAway {
			return nil, 0, fmt.Errorf("part %d (%s): plan too long", i, p.Note)
		}
		sized = sized && p.size() >= 0
	}
	units := share(join(parts, parallel), parallel)
	if !sized {
		return units, -1, nil
	}
	return units, end, nil
}

// check refuses parts that no container makes; plans may come from elsewhere.
func (p *Part) check() error {
	switch {
	case p.Resource == nil && p.Rewrite != nil:
		return fmt.Errorf("a rewriter without a resource")
	case p.Resource == nil && p.Size != int64(len(p.Literal)):
		return fmt.Errorf("size %d of a literal of %d bytes", p.Size, len(p.Literal))
	case p.Resource == nil:
		return nil
	case p.Offset < 0 || p.Length < ToEnd || p.Offset > farAway-max(0, p.Length):
		return fmt.Errorf("not a range: offset %d, length %d", p.Offset, p.Length)
	case p.Size < -1, p.Rewrite == nil && p.Size != p.Length:
		return fmt.Errorf("size %d of a range of length %d", p.Size, p.Length)
	}
	return nil
}

// size returns what the part adds to the clip. Only a rewriter makes that
// differ from what the part holds.
func (p *Part) size() int64 {
	switch {
	case p.Resource == nil:
		return int64(len(p.Literal))
	case p.Rewrite != nil:
		return p.Size
	}
	return p.Length
}

// streamed reports whether the part is a unit of its own, which is read from its
// beginning to its end.
func (p *Part) streamed() bool {
	return p.Rewrite != nil || p.Resource != nil && p.Length < 0
}

// join puts ranges that lie near each other, and the literals after them, into
// one unit.
func join(parts []Part, parallel int) []unit {
	near := nearEnough(parts, parallel)
	all := make([]piece, 0, len(parts)) // of which each unit has a stretch
	first := 0                          // piece of the last unit
	var units []unit
	var at int64
	begin := func(u unit) {
		units = append(units, u)
		first = len(all)
	}
	for i := range parts {
		p := &parts[i]
		size := p.size()
		switch {
		case size == 0:
			continue
		case p.streamed():
			begin(unit{lo: at, part: p, resource: p.Resource, purpose: p.Purpose, note: p.Note, ranges: 1})
		case p.Resource == nil:
			// A literal goes along with the range before it, so that what
			// follows can still join; a leading one needs no request.
			if len(units) == 0 || units[len(units)-1].part != nil {
				begin(unit{lo: at})
			}
			all = append(all, piece{at: at, literal: p.Literal})
		default:
			if !near[i] {
				begin(unit{lo: at, resource: p.Resource, purpose: p.Purpose, note: p.Note, ranges: 1, whole: p.Run != 0})
			}
			all = append(all, piece{at: at, Range: p.Range})
		}
		at += max(0, size)
		last := &units[len(units)-1]
		last.pieces, last.hi = all[first:], at
	}
	return units
}

// nearEnough says for each part whether it joins the request of the range
// before it: the smallest gaps first, as long as all gaps together stay within
// the budget, or there would be more requests than run at a time. The bytes from
// the first to the last that is needed count as needed, so a gap costs less than
// the round trip that it saves. It depends on the plan alone, never on measured
// speed.
func nearEnough(parts []Part, parallel int) []bool {
	type gap struct {
		part int
		size int64
	}
	near := make([]bool, len(parts))
	var gaps []gap
	var total int64
	requests := 0
	var prev *Part // the range before
	for i := range parts {
		p := &parts[i]
		switch {
		case p.size() == 0 || p.Resource == nil:
			continue
		case p.streamed():
			requests++
			prev = nil
			continue
		}
		total += p.Length
		requests++
		if prev != nil && *prev.Resource == *p.Resource && prev.Purpose == p.Purpose && prev.Run == p.Run && p.Offset >= prev.End() {
			if p.Run != 0 {
				near[i] = true
				requests--
			} else {
				gaps = append(gaps, gap{i, p.Offset - prev.End()})
			}
		}
		prev = p
	}
	budget := gapFree + total/gapShare
	slices.SortStableFunc(gaps, func(a, b gap) int { return cmp.Compare(a.size, b.size) })
	for _, g := range gaps {
		if budget -= g.size; g.size > maxGap || budget < 0 && requests <= parallel {
			break
		}
		near[g.part] = true
		requests--
	}
	return near
}

// share divides long units, so that as many connections share the whole as help.
func share(units []unit, parallel int) []unit {
	out := make([]unit, 0, len(units)+parallel)
	for i, n := range shares(units, parallel) {
		switch u := units[i]; {
		case n <= 1:
			out = append(out, u)
		case u.part != nil: // a rewriter runs once; its input is shared
			u.ranges = min(n, parallel)
			out = append(out, u)
		default:
			out = append(out, u.split(n)...)
		}
	}
	return out
}

// shares says by how many requests each unit is to come.
func shares(units []unit, parallel int) []int {
	n := make([]int, len(units))
	var total int64
	spare := parallel
	for i := range units {
		n[i] = 1
		spare -= units[i].ranges
		total += units[i].fetched()
	}
	if total > int64(parallel)*maxUnit || spare < 0 {
		most := max(maxUnit, total/maxUnits)
		each := min(max(total/int64(parallel)+1, minUnit), most)
		for i := range units {
			f := units[i].divisible()
			n[i] = int(max(1, f/each, (f+most-1)/most))
		}
		return n
	}
	for ; spare > 0; spare-- { // the longest are halved first
		longest, size := -1, int64(0)
		for i := range units {
			if s := units[i].divisible() / int64(n[i]+1); s >= minUnit && s > size {
				longest, size = i, s
			}
		}
		if longest < 0 {
			break
		}
		n[longest]++
	}
	return n
}
