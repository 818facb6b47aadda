package ogg

import (
	"context"

	"github.com/mediafrag/mediafrag/seek"
)

// pageReader reads pages forward, in chunks through the window.
type pageReader struct {
	w       *seek.Window
	at      int64 // where the next page is looked for
	to      int64 // where to stop; -1: at the end of the resource
	chunk   int64 // bytes of a read
	purpose seek.Purpose
	note    string
	loose   bool // at may be in the middle of a page
	ended   bool // there is nothing more
	damage  []damage
}

// next returns the pages of the next chunk, none only at the end.
func (r *pageReader) next(ctx context.Context) ([]page, error) {
	chunk := r.chunk
	for !r.ended {
		n := chunk
		if r.to >= 0 {
			n = min(n, r.to-r.at)
		}
		if n <= 0 {
			r.ended = true
			break
		}
		data, err := r.w.ReadRange(ctx, seek.Range{Offset: r.at, Length: n}, r.purpose, r.note)
		if err != nil {
			return nil, err
		}
		s := scanPages(data, r.at, !r.loose)
		r.damage = append(r.damage, s.damage...)
		end := r.at + int64(len(data))
		r.ended = int64(len(data)) < n || r.to >= 0 && end >= r.to || end == r.w.Info().Size
		if r.ended && s.rest < end {
			r.damage = append(r.damage, damage{s.rest, end, "page cut off by the end"})
			s.rest = end
		}
		if s.rest == r.at { // less than a page
			chunk = max(2*chunk, 2*maxPage)
			continue
		}
		r.at, r.loose = s.rest, r.loose && len(s.pages) == 0
		if len(s.pages) > 0 {
			return s.pages, nil
		}
	}
	return nil, nil
}
