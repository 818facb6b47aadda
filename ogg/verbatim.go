package ogg

import (
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// verbatim makes the parts of a clip of the original's bytes alone: the header
// pages and the pages that hold what is carried.
func (c *cutting) verbatim(resource *seek.Info) *clip {
	out := &clip{}
	from, to := int64(-1), int64(0)
	for _, k := range c.carried {
		if k.empty || k.s.text() {
			continue
		}
		if from < 0 || k.first.begins.off < from {
			from = k.first.begins.off
		}
		to = max(to, c.head.pageEnd(k.last.ends.off), c.tail.pageEnd(k.last.ends.off))
		if k.rest {
			to = max(to, c.finish[k.s].to)
		}
	}
	if from < 0 && c.before != nil { // only text
		from, to = c.textPages()
	}
	header := seek.Range{Offset: c.l.off, Length: max(c.l.data, c.l.headers) - c.l.off}
	if from >= 0 {
		from = max(from, header.Offset+header.Length)
	}
	out.parts = append(out.parts, seek.Bytes(resource, header, "header pages"))
	if from >= 0 && to > from {
		out.parts = append(out.parts, watched(resource, seek.Range{Offset: from, Length: to - from}, "pages"))
		out.needed = to - from
	}
	out.needed += header.Length
	out.size = out.needed
	c.state(out)
	if from >= 0 {
		out.covered = c.wholePages(from, to, out.covered)
	}
	out.presented = out.covered
	return out
}

// textPages returns the pages that may hold the clip's text: from the first text
// that it needs.
func (c *cutting) textPages() (from, to int64) {
	from, to = c.head.from, c.head.to
	for _, k := range c.carried {
		for _, q := range k.early {
			from = min(from, q.begins.off)
		}
	}
	if c.tail != nil {
		to = c.tail.to
	}
	return from, to
}

// watched is a part of pages as they are; damage in them is reported.
func watched(resource *seek.Info, r seek.Range, note string) seek.Part {
	p := seek.Bytes(resource, r, note)
	p.Rewrite = Renumber{}
	return p
}

// wholePages returns what the packets of all pages in [from, to) span that were
// read: at either end whole pages are delivered, not just the packets wanted.
func (c *cutting) wholePages(from, to int64, span fragment.Interval) fragment.Interval {
	for _, k := range c.carried {
		if k.s.text() {
			continue
		}
		for _, r := range []*region{c.head, c.tail} {
			if r == nil {
				continue
			}
			for _, q := range r.place(k.s, c.l) {
				if q.begins.off < from || q.ends.off >= to || q.to == q.from {
					continue
				}
				span = fragment.Between(span.Start.Min(k.s.time(max(q.from, k.s.begin))), span.End.Max(k.s.time(q.to)))
			}
		}
	}
	return span
}
