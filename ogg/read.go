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
	// most is how many bytes without a page are read; 0: any number. Of those
	// ever more are read at a time.
	most   int64
	barren int64 // bytes without a page that were read since the last one
}

// cutOff is the reason of damage at the end of what is read.
const cutOff = "page cut off by the end"

// maxBarren is how many bytes are read at once, at most, where there was no page.
const maxBarren = 1 << 20

// next returns the pages of the next chunk, none only at the end or where
// there was none for too long.
func (r *pageReader) next(ctx context.Context) ([]page, error) {
	chunk := r.chunk
	for !r.ended && (r.most == 0 || r.barren < r.most) {
		n := max(chunk, min(3*r.barren, maxBarren))
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
		r.passOver(s.damage...)
		end := r.at + int64(len(data))
		r.ended = int64(len(data)) < n || r.to >= 0 && end >= r.to || end == r.w.Info().Size
		if r.ended && s.rest < end {
			r.passOver(damage{s.rest, end, cutOff})
			s.rest = end
		}
		if s.rest == r.at { // less than a page
			chunk = max(2*chunk, 2*maxPage)
			continue
		}
		from := r.at
		r.at, r.loose = s.rest, r.loose && len(s.pages) == 0
		if len(s.pages) > 0 {
			r.barren = 0
			return s.pages, nil
		}
		r.barren += r.at - from
	}
	return nil, nil
}

// passOver notes damage; what goes on from one chunk to the next is one.
func (r *pageReader) passOver(all ...damage) {
	for _, d := range all {
		if n := len(r.damage); n > 0 && r.damage[n-1].end == d.off && r.damage[n-1].reason == d.reason {
			r.damage[n-1].end = d.end
			continue
		}
		r.damage = append(r.damage, d)
	}
}
