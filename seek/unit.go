package seek

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// How a Reader cuts and joins the ranges of a plan, in bytes.
const (
	// minUnit is the least that a range is cut to so that several connections
	// share it: below, what a second request costs is more than it saves.
	minUnit = 768 << 10
	// maxUnit is the most that one request asks for. Up to parallel×maxUnit
	// bytes, no request waits for another's answer.
	maxUnit = 8 << 20
	// gapFree is what all gaps of a plan may cost beyond gapShare of its bytes;
	// within that, neighbouring ranges come by one request and the bytes
	// between are dropped.
	gapFree  = 48 << 10
	gapShare = 32 // 1/32 of the plan's bytes
)

// unit is a stretch of the output that comes by one request: pieces of one
// resource with increasing offsets and the literals among them, or literals
// alone, or a stretch of a rewritten part.
type unit struct {
	off, size int64 // in the output; size -1: not known

	resource *Info   // nil: literals alone
	purpose  Purpose // of the request
	note     string
	pieces   []piece // what the output is made of

	rewrite *Part // set instead of pieces
	skip    int64 // where the unit begins in the rewritten part
}

// piece is either literal bytes or a range of the unit's resource.
type piece struct {
	literal []byte
	Range
}

func (p piece) size() int64 {
	if p.literal != nil {
		return int64(len(p.literal))
	}
	return p.Length
}

// fetches reports whether the unit makes a request.
func (u *unit) fetches() bool { return u.resource != nil }

// schedule arranges parts into units. The size is -1 where a part's is.
func schedule(parts []Part, parallel int) (units []unit, size int64) {
	near := nearEnough(parts)
	for i, p := range parts {
		switch last := len(units) - 1; {
		case p.Size == 0:
		case p.Rewrite != nil || p.Size < 0:
			units = append(units, unit{size: p.Size, resource: p.Resource, purpose: p.Purpose, note: p.Note, rewrite: &parts[i]})
		case p.Resource == nil:
			// A literal goes along with the range before it, so that what
			// follows can still join; a leading one needs no request.
			if last >= 0 && units[last].rewrite == nil {
				units[last].pieces = append(units[last].pieces, piece{literal: p.Literal})
				units[last].size += p.Size
				break
			}
			units = append(units, unit{size: p.Size, pieces: []piece{{literal: p.Literal}}})
		case near[i]:
			units[last].pieces = append(units[last].pieces, piece{Range: p.Range})
			units[last].size += p.Size
		default:
			units = append(units, unit{size: p.Size, resource: p.Resource, purpose: p.Purpose, note: p.Note, pieces: []piece{{Range: p.Range}}})
		}
	}
	units = cut(units, parallel)
	for i := range units {
		units[i].off = size
		switch {
		case size < 0: // behind a part of unknown size
		case units[i].size < 0:
			size = -1
		default:
			size += units[i].size
		}
	}
	return units, size
}

// nearEnough says for each part whether it joins the request of the range
// before it: the smallest gaps first, as long as all gaps together stay within
// the budget. It depends on the plan alone, never on measured speed.
func nearEnough(parts []Part) []bool {
	type gap struct {
		part int
		size int64
	}
	near := make([]bool, len(parts))
	var gaps []gap
	var total int64
	prev := -1 // the range before
	for i, p := range parts {
		switch {
		case p.Size == 0 || p.Resource == nil && p.Size > 0:
			continue
		case p.Rewrite != nil || p.Size < 0:
			prev = -1
			continue
		}
		total += p.Length
		if prev >= 0 && *parts[prev].Resource == *p.Resource && parts[prev].Purpose == p.Purpose && p.Offset >= parts[prev].End() {
			gaps = append(gaps, gap{i, p.Offset - parts[prev].End()})
		}
		prev = i
	}
	budget := gapFree + total/gapShare
	slices.SortStableFunc(gaps, func(a, b gap) int { return cmpInt(a.size, b.size) })
	for _, g := range gaps {
		if budget -= g.size; budget < 0 {
			break
		}
		near[g.part] = true
	}
	return near
}

// cut divides long units, so that as many connections share the whole as help.
func cut(units []unit, parallel int) []unit {
	var total int64
	for _, u := range units {
		if u.fetches() {
			total += max(0, u.size)
		}
	}
	each := min(max(total/int64(parallel)+1, minUnit), maxUnit)
	var out []unit
	for _, u := range units {
		if u.fetches() && u.size > 0 {
			n := min(max(u.size/each, 1), max(u.size/minUnit, 1))
			if u.size/n > maxUnit {
				n = (u.size + maxUnit - 1) / maxUnit
			}
			for ; n > 1; n-- {
				var first unit
				first, u = u.split(u.size / n)
				out = append(out, first)
			}
		}
		out = append(out, u)
	}
	return out
}

// split cuts a unit at n bytes of its output.
func (u unit) split(n int64) (unit, unit) {
	first, rest := u, u
	first.size, rest.size = n, u.size-n
	rest.skip += n
	if u.rewrite != nil {
		return first, rest
	}
	first.pieces, rest.pieces = splitPieces(u.pieces, n)
	return first, rest
}

func splitPieces(pieces []piece, n int64) (before, after []piece) {
	for i, p := range pieces {
		switch size := p.size(); {
		case n >= size:
			n -= size
		case n == 0:
			return slices.Clip(pieces[:i]), pieces[i:]
		default:
			left, right := p, p
			if p.literal != nil {
				left.literal, right.literal = p.literal[:n], p.literal[n:]
			} else {
				left.Length = n
				right.Offset += n
				right.Length -= n
			}
			before = append(slices.Clone(pieces[:i]), left)
			return before, append([]piece{right}, pieces[i+1:]...)
		}
	}
	return pieces, nil
}

// copyTo writes n bytes of the unit's output to w, from skip on; n < 0 means all.
func (u *unit) copyTo(ctx context.Context, open Opener, w io.Writer, skip, n int64) (int64, error) {
	if n < 0 && u.size >= 0 {
		n = u.size - skip
	}
	if u.rewrite != nil {
		return u.copyRewritten(ctx, open, w, skip, n)
	}
	_, pieces := splitPieces(u.pieces, skip)
	pieces, _ = splitPieces(pieces, n)
	var body *Body
	var at int64
	var done int64
	for i, p := range pieces {
		if p.literal != nil {
			m, err := w.Write(p.literal)
			done += int64(m)
			if err != nil {
				return done, err
			}
			continue
		}
		if body == nil {
			end := p.End()
			for _, q := range pieces[i:] {
				if q.literal == nil {
					end = q.End()
				}
			}
			var err error
			if body, err = openChecked(ctx, open, u.resource, Request{Range{p.Offset, end - p.Offset}, u.purpose, u.note}); err != nil {
				return done, err
			}
			defer body.Close()
			at = p.Offset
		}
		if _, err := io.CopyN(io.Discard, body, p.Offset-at); err != nil {
			return done, short(u.resource, at, err)
		}
		m, err := io.CopyN(w, body, p.Length)
		done += m
		at = p.Offset + m
		if err != nil {
			return done, short(u.resource, at, err)
		}
	}
	return done, nil
}

// short makes an early end of a body an error that says where.
func short(i *Info, at int64, err error) error {
	if err == io.EOF {
		return fmt.Errorf("reading %s at %d: %w", i.Name, at, io.ErrUnexpectedEOF)
	}
	return err
}

// openChecked opens a range of the version of the resource that the plan names.
func openChecked(ctx context.Context, open Opener, want *Info, r Request) (*Body, error) {
	source, err := open.OpenSource(ctx, want.Name)
	if err != nil {
		return nil, err
	}
	body, err := source.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	if want.Validator != "" && body.Validator != "" && want.Validator != body.Validator {
		body.Close()
		return nil, fmt.Errorf("reading %s: %w: planned for version %s, found %s", want.Name, ErrChanged, want.Validator, body.Validator)
	}
	return body, nil
}

// copyRewritten is copyTo of a rewritten part.
func (u *unit) copyRewritten(ctx context.Context, open Opener, w io.Writer, skip, n int64) (int64, error) {
	in := partInput{open, u.rewrite}
	var out io.ReadCloser
	var err error
	if u.rewrite.Rewrite == nil { // a range of unknown size, as it is
		out, err = in.Open(ctx, u.skip+skip, ToEnd)
	} else {
		out, err = u.rewrite.Rewrite.Rewrite(ctx, in, u.skip+skip)
	}
	if err != nil {
		return 0, err
	}
	defer out.Close()
	if n < 0 {
		return io.Copy(w, out)
	}
	done, err := io.CopyN(w, out, n)
	if err == io.EOF {
		err = fmt.Errorf("rewriting %s (%s): %d bytes too few: %w", u.resource.Name, u.note, n-done, io.ErrUnexpectedEOF)
	}
	return done, err
}

// partInput is the Input of a part: its range of its resource.
type partInput struct {
	open Opener
	part *Part
}

func (in partInput) Size() int64 { return in.part.Length }

func (in partInput) Open(ctx context.Context, off, n int64) (io.ReadCloser, error) {
	r := in.part.Request
	r.Offset += off
	switch {
	case n >= 0:
		r.Length = n
	case r.Length >= 0:
		r.Length -= off
	}
	if r.Length == 0 {
		return io.NopCloser(eof{}), nil
	}
	return openChecked(ctx, in.open, in.part.Resource, r)
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }
