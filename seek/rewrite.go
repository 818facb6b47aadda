package seek

import (
	"bytes"
	"context"
	"fmt"
	"io"
)

const (
	// lookAhead is how many bytes beyond the wanted ones a Rewriter is expected
	// to read, such as the rest of a page.
	lookAhead = 64 << 10
	// minStep is what is asked for next, in bytes, where it reads on.
	minStep = 256 << 10
)

// copyStreamed is copyTo of a part that is rewritten or of unknown length.
func (u *unit) copyStreamed(ctx context.Context, open Opener, w io.Writer, from, to int64, ranges int) (int64, error) {
	skip := max(0, from-u.lo)
	in := partInput{Opener: open, part: u.part, ranges: ranges, stop: farAway, damage: u.damage}
	if size := u.part.size(); size > 0 && to < u.hi {
		in.stop = int64(float64(to-u.lo)/float64(size)*float64(u.part.Length)) + lookAhead
	}
	var out io.ReadCloser
	var err error
	if u.part.Rewrite == nil {
		out, err = in.Open(ctx, skip, ToEnd)
	} else {
		out, err = u.part.Rewrite.Rewrite(ctx, in, skip)
	}
	if err != nil {
		return 0, err
	}
	defer out.Close()
	if !u.sized() {
		return io.Copy(w, out)
	}
	n := min(to, u.hi) - u.lo - skip
	done, err := io.CopyN(w, out, n)
	if err == io.EOF {
		err = fmt.Errorf("rewriting %s %s (%s): %d bytes too few: %w",
			u.resource.Name, u.part.Range, u.part.Rewrite.Name(), n-done, io.ErrUnexpectedEOF)
	}
	return done, err
}

// partInput is the Input of a part: its range of its resource.
type partInput struct {
	Opener
	part   *Part
	ranges int   // fetched at a time
	stop   int64 // where in the part reading is expected to end
	damage *damageLog
}

func (in partInput) Damaged(off int64, problem string) {
	in.damage.add(Damage{in.part.Resource.Name, in.part.Offset + off, problem})
}

func (in partInput) Size() int64 { return in.part.Length }

// Open reads what is expected by as many ranges as allowed, and beyond that in
// growing steps.
func (in partInput) Open(ctx context.Context, off, n int64) (io.ReadCloser, error) {
	p := in.part
	if off < 0 || p.Length >= 0 && off > p.Length {
		return nil, fmt.Errorf("reading %s: offset %d is not in the part of %d bytes", p.Resource.Name, off, p.Length)
	}
	if p.Length >= 0 && (n < 0 || n > p.Length-off) {
		n = p.Length - off
	}
	r := Request{Range{p.Offset + off, n}, p.Purpose, p.Note}
	first := n
	if n >= 0 && in.stop < off+n {
		first = max(in.stop-off, minStep)
	}
	switch {
	case n == 0:
		return io.NopCloser(bytes.NewReader(nil)), nil
	case n < 0 || first >= n && in.ranges == 1:
		return openChecked(ctx, in.Opener, p.Resource, r)
	}
	parallel := in.ranges
	whole := unit{hi: n, resource: p.Resource, purpose: p.Purpose, note: p.Note, ranges: 1, pieces: []piece{{Range: r.Range}}}
	var units []unit
	if first < n {
		parallel = 1
		for step := first; whole.hi-whole.lo > step; step = min(max(2*step, minStep), maxUnit) {
			next := whole
			next.hi = next.lo + step
			units = append(units, next)
			whole.lo = next.hi
		}
		units = append(units, whole)
	} else {
		units = share([]unit{whole}, in.ranges)
	}
	return newReader(ctx, in.Opener, units, n, parallel), nil
}
