package seek

import (
	"context"
	"fmt"
	"io"
	"sort"
)

// unit is a stretch [lo, hi) of the output that comes by one request: pieces of
// one resource with increasing offsets and the literals among them, or literals
// alone. Or it is a part that is streamed from beginning to end, through its
// Rewriter or because its length is not known.
type unit struct {
	lo, hi int64 // in the output

	resource *Info   // nil: literals alone
	purpose  Purpose // of the request
	note     string
	ranges   int     // how many ranges are fetched at a time
	whole    bool    // it is not divided
	pieces   []piece // of which the unit has what lies in [lo, hi)

	part   *Part      // set instead of pieces
	damage *damageLog // of what reads it; set with part
}

// piece is either literal bytes or a range of the unit's resource.
type piece struct {
	at      int64 // in the output
	literal []byte
	Range
}

func (p piece) end() int64 { return p.at + int64(len(p.literal)) + p.Length }

// within returns the part of p that lies in [from, to) of the output.
func (p piece) within(from, to int64) piece {
	skip, end := max(0, from-p.at), min(to, p.end())
	if p.literal != nil {
		p.literal = p.literal[skip : end-p.at]
	} else {
		p.Range = Range{p.Offset + skip, end - p.at - skip}
	}
	p.at += skip
	return p
}

// sized reports whether the unit's size is known.
func (u *unit) sized() bool { return u.part == nil || u.part.size() >= 0 }

// fetched returns how many bytes of the resource the unit is made of; 0 where
// that is not known.
func (u *unit) fetched() int64 {
	if u.part != nil {
		return max(0, u.part.Length)
	}
	var n int64
	for _, p := range u.pieces {
		n += p.Length
	}
	return n
}

// divisible is how many of those may come by several requests.
func (u *unit) divisible() int64 {
	if u.whole {
		return 0
	}
	return u.fetched()
}

// split cuts a unit into n that fetch as many bytes each.
func (u unit) split(n int) []unit {
	total := u.fetched()
	var out []unit
	var fetched int64
	first := 0 // piece of the unit that is cut next
	for i, p := range u.pieces {
		for len(out) < n-1 {
			cut := total / int64(n) * int64(len(out)+1)
			if p.literal != nil || fetched+p.Length <= cut {
				break
			}
			before := u
			before.hi = p.at + cut - fetched
			before.pieces = u.pieces[first : i+1]
			out = append(out, before)
			u.lo, first = before.hi, i
		}
		fetched += p.Length
	}
	u.pieces = u.pieces[first:]
	return append(out, u)
}

// in returns the unit's pieces in [from, to) of the output.
func (u *unit) in(from, to int64) []piece {
	from, to = max(from, u.lo), min(to, u.hi)
	i := sort.Search(len(u.pieces), func(i int) bool { return u.pieces[i].end() > from })
	var out []piece
	for ; i < len(u.pieces) && u.pieces[i].at < to; i++ {
		out = append(out, u.pieces[i].within(from, to))
	}
	return out
}

// span returns the range that holds all ranges of pieces; an empty one where
// they are literals.
func spanOf(pieces []piece) Range {
	var r Range
	for _, p := range pieces {
		switch {
		case p.literal != nil:
		case r.Length == 0:
			r = p.Range
		default:
			r.Length = p.End() - r.Offset
		}
	}
	return r
}

// copyTo writes what the unit has in [from, to) of the output to w; all of it
// where its size is not known. At most ranges are fetched at a time.
func (u *unit) copyTo(ctx context.Context, open Opener, w io.Writer, from, to int64, ranges int) (int64, error) {
	if u.part != nil {
		return u.copyStreamed(ctx, open, w, from, to, ranges)
	}
	var done int64
	var body *located
	pieces := u.in(from, to)
	for _, p := range pieces {
		if p.literal != nil {
			n, err := w.Write(p.literal)
			done += int64(n)
			if err != nil {
				return done, err
			}
			continue
		}
		if body == nil {
			var err error
			if body, err = openChecked(ctx, open, u.resource, Request{spanOf(pieces), u.purpose, u.note}); err != nil {
				return done, err
			}
			defer body.Close()
		}
		if _, err := io.CopyN(io.Discard, body, p.Offset-body.at); err != nil {
			return done, err
		}
		n, err := io.CopyN(w, body, p.Length)
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// openChecked opens a range of the version of the resource that the plan names.
func openChecked(ctx context.Context, open Opener, want *Info, r Request) (*located, error) {
	source, err := open.OpenSource(ctx, want.Name)
	if err != nil {
		return nil, err
	}
	body, err := source.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	b := &located{ReadCloser: body, name: want.Name, at: body.Offset, end: -1}
	if r.Closed() {
		b.end = r.End()
	}
	switch {
	case want.Validator != "" && body.Validator != "" && want.Validator != body.Validator:
		err = fmt.Errorf("%w: planned for version %s, found %s", ErrChanged, want.Validator, body.Validator)
	case want.Size >= 0 && body.Size >= 0 && body.Size < want.Size:
		err = fmt.Errorf("%w: planned for %d bytes, found %d", ErrChanged, want.Size, body.Size)
	case body.Offset != r.Offset:
		err = fmt.Errorf("%w: asked for %s, answered from %d", ErrUnavailable, r.Range, body.Offset)
	default:
		return b, nil
	}
	b.Close()
	return nil, broken(want.Name, r.Offset, err)
}

// located is a body whose errors say where they happened, and for which ending
// early is one.
type located struct {
	io.ReadCloser
	name    string
	at, end int64 // in the resource; end is -1 where it is not known
}

func (l *located) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	l.at += int64(n)
	if err == io.EOF && l.at < l.end || err != nil && err != io.EOF {
		err = broken(l.name, l.at, err)
	}
	return n, err
}
