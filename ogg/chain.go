package ogg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// A chained file (RFC 3533, section 4) is links in a row, and nothing says
// where one ends. Its end is searched by serial numbers: a page belongs to the
// link if its serial number does and its page number is above those of the
// link's pages before it. Page numbers count because files that are joined may
// well have the same serial number.

// Costs of finding links.
const (
	chainProbe  = 64 << 10  // bytes of one probe
	chainProbes = 4         // probes of a round
	chainBack   = 4         // probes that are read back from an end without a page
	chainRead   = 384 << 10 // what is left to look through is read whole
	chainRounds = 24        // most rounds for one boundary
	// chainTrust is how many pages must lie between two places, of those that the
	// bytes suggest, to believe that no other link lies there, and chainSteady the
	// same where pages are as large before the gap as behind it. After each look
	// both are halved.
	chainTrust  = 0.65
	chainSteady = 0.9
	chainGap    = 1 << 20 // a small gap
	chainSample = 4       // pages that tell how large pages are
	maxLinks    = 10_000
	maxGlimpses = 1 << 14
)

// glimpse is what was seen of a stretch of bytes: the heads of its pages.
type glimpse struct {
	off, end int64 // what was looked at
	pages    []pageHead
}

// pageHead is what a page says of itself.
type pageHead struct {
	off, end int64
	serial   uint32
	seq      uint32
	bos      bool
}

func heads(pages []page) []pageHead {
	out := make([]pageHead, len(pages))
	for i := range pages {
		p := &pages[i]
		out[i] = pageHead{p.off, p.end(), p.serial, p.seq, p.bos()}
	}
	return out
}

// remember keeps what was seen, for this boundary and later ones.
func (m *media) remember(off int64, data []byte, loose bool) {
	if len(m.glimpses) >= maxGlimpses || len(data) == 0 {
		return
	}
	found := scanPages(data, off, !loose)
	g := glimpse{off, found.rest, heads(found.pages)}
	if off+int64(len(data)) >= m.end { // what is cut off there is the last
		g.end = m.end
	}
	at, _ := slices.BinarySearchFunc(m.glimpses, off, func(g glimpse, off int64) int { return cmp.Compare(g.off, off) })
	m.glimpses = slices.Insert(m.glimpses, at, g)
}

// boundary is what is known of where a link ends.
type boundary struct {
	lo, hi int64 // the link goes on until lo at least, and is over at hi
	at     int64 // where it ends, -1 unless that is known
	// away are the pages seen from hi on; nil: there is none before the end of
	// the resource.
	away []pageHead
	// doubt is a page that seems to be of the link, but with so few pages
	// before it that whole links may lie between; 0: none.
	doubt int64
}

// density returns how many bytes a page with data takes, and how many pages
// tell. Where these are few, what is cut off counts as far as it was seen.
func (g glimpse) density(data int64) (bytes float64, pages int) {
	first := g.end
	for _, p := range g.pages {
		if p.off >= data {
			first = min(first, p.off)
			pages++
		}
	}
	if pages < chainSample {
		return float64(g.end-max(g.off, data)) / float64(max(1, pages)), pages
	}
	return float64(g.pages[len(g.pages)-1].end-first) / float64(pages), pages
}

// plausible reports whether there are about as many pages in a gap between two
// glimpses as its bytes suggest: where there are far fewer, whole links with the
// same serial numbers may lie in it. A handful of pages tells little of their
// size: in a small gap, the larger is then taken for that of all.
func plausible(gap int64, last map[uint32]uint32, before, behind glimpse, data int64, trust float64) bool {
	a, n := before.density(data)
	b, o := behind.density(data)
	size := (a + b) / 2
	if gap < chainGap && min(n, o) < chainSample {
		size = max(a, b)
	}
	expected := float64(gap) / size
	trust *= chainTrust + (chainSteady-chainTrust)*max(0, 2*min(a, b)/max(a, b)-1)
	counted := map[uint32]bool{}
	var pages uint64
	for _, p := range behind.pages {
		if seq, seen := last[p.serial]; seen && !counted[p.serial] && p.seq > seq {
			counted[p.serial] = true
			pages += uint64(p.seq - seq)
		}
	}
	return float64(pages) >= expected*trust-1
}

// boundary says what the glimpses tell of the end of a link. A page of the link
// is believed to be of it if there are as many pages before it as the bytes
// suggest, or trust of that many: page sizes vary.
func (m *media) boundary(l *link, trust float64) boundary {
	b := boundary{lo: l.off, hi: m.end, at: -1}
	last := map[uint32]uint32{} // numbers of the link's last pages
	var before glimpse          // where the link was last seen
	read := l.off               // everything from the link's last page to here was seen
	for _, g := range m.glimpses {
		if g.end <= b.lo || g.off >= b.hi {
			continue
		}
		if g.off > read {
			read = -1
		}
		for _, p := range g.pages {
			if p.off < b.lo {
				continue
			}
			seq, seen := last[p.serial]
			header := p.off < l.data
			back := seen && !header && p.seq <= seq
			if foreign := back || !l.has(p.serial); foreign && !p.bos && read >= 0 {
				b.lo, read = p.end, p.end // all before it was seen: a stray page, or one that stands twice
				continue
			} else if foreign || p.bos && !header && !seen {
				b.hi, b.away = p.off, g.pages[slices.Index(g.pages, p):]
				if read >= 0 {
					b.at = p.off
				}
				return b
			}
			if gap := p.off - b.lo; seen && read < 0 && !plausible(gap, last, before, g, l.data, trust) {
				b.doubt = p.off
				return b
			}
			last[p.serial] = p.seq
			b.lo, read = p.end, p.end
		}
		if read >= 0 {
			read = max(read, g.end)
		}
		before = g
	}
	if read >= m.end {
		b.at = m.end
	}
	return b
}

// findEnd searches the end of a link.
func (m *media) findEnd(ctx context.Context, l *link) (int64, error) {
	trust := 1.0
	var usual int64 // a little more, so that a look there is at the next
	if l.off > 0 {
		links := int64(len(m.links().links) - 1)
		usual = l.off / max(links, 1) * 9 / 8
	}
	size := int64(chainProbe)
	var before boundary
	for round := range chainRounds {
		b := m.boundary(l, trust)
		if b.at >= 0 {
			return b.at, nil
		}
		if round > 0 && b.lo == before.lo && b.hi == before.hi && b.doubt == before.doubt { // no probe showed a whole page
			size *= 2
		}
		before = b
		places := b.places(l, usual, size)
		if b.doubt > 0 {
			trust /= 2
			places = spread(b.lo, b.doubt, size)
		}
		var reads []seek.Request
		for _, r := range places {
			reads = append(reads, seek.Request{Range: r, Purpose: seek.Probe, Note: fmt.Sprintf("end of the link at %d, round %d", l.off, round+1)})
		}
		data, err := m.window.Read(ctx, reads...)
		if err != nil {
			return 0, err
		}
		for i, r := range places {
			m.remember(r.Offset, data[i], true)
		}
	}
	return 0, &formats.Error{Container: Name, Element: "links", Offset: l.off, Err: seek.ErrLimit,
		Problem: fmt.Sprintf("where this link ends was not found in %d rounds of probes", chainRounds),
		Hint:    "the file's page numbers or serial numbers contradict each other"}
}

// places says where to look next: where, counted back by page numbers, what lies
// behind the boundary begins, which may be several links further on, and nearer to
// the beginning; usual is how long links are, 0 where that is not known. Size is
// how many bytes a probe has, at least.
func (b *boundary) places(l *link, usual, size int64) []seek.Range {
	room := b.hi - b.lo
	if room <= chainRead {
		return []seek.Range{{Offset: b.lo, Length: room + maxPage}}
	}
	guess, ok := b.extrapolate()
	if !ok {
		out := spread(b.lo, b.hi, size)
		if len(b.away) == 0 { // the last bytes show no page: look further back, too
			from := max(b.lo, b.hi-chainBack*size)
			out[len(out)-1] = seek.Range{Offset: from, Length: b.hi - from}
		}
		return out
	}
	wide := max(chainProbe, (b.hi-guess)/8)
	centers := []int64{guess, guess + wide, b.lo + room/4, b.lo + room/16}
	if usual > 0 && l.off+usual > b.lo && l.off+usual < b.hi {
		centers[3] = l.off + usual
	}
	var out []seek.Range
	for _, c := range centers {
		at := max(min(max(c-size/2, b.lo), b.hi-size), b.lo)
		out = append(out, seek.Range{Offset: at, Length: min(size, b.hi-at)})
	}
	return out
}

// extrapolate counts the pages behind the boundary back to their number 0.
func (b *boundary) extrapolate() (int64, bool) {
	if len(b.away) < 2 {
		return 0, false
	}
	first := b.away[0]
	var bytes, pages int64
	for _, p := range b.away {
		if p.bos && p.off > first.off {
			break
		}
		bytes = p.end - first.off
		if p.serial == first.serial {
			pages = int64(p.seq) - int64(first.seq) + 1
		}
	}
	if pages <= 0 || bytes <= 0 || int64(first.seq) > (1<<62)/bytes {
		return 0, false
	}
	guess := first.off - int64(first.seq)*bytes/pages
	return max(guess, b.lo), guess > b.lo-(b.hi-b.lo)
}

// spread divides a stretch evenly among the probes of a round, of size bytes each;
// large ones touch.
func spread(from, to, size int64) []seek.Range {
	var out []seek.Range
	for i := range int64(chainProbes) {
		at := from + (to-from)*(i+1)/(chainProbes+1)
		out = append(out, seek.Range{Offset: at, Length: min(size, to-at, (to-from)/(chainProbes+1)+maxPage)})
	}
	return out
}

// extend finds the end of the last known link and reads the next one, or takes
// more of the resource into account. It reports false where all is known.
func (m *media) extend(ctx context.Context) (more bool, err error) {
	c := m.links()
	switch {
	case c.complete:
		return false, nil
	case c.closed == len(c.links):
		return true, m.further(ctx)
	}
	l := c.last()
	if l.end < 0 {
		if l.end, err = m.findEnd(ctx, l); err != nil {
			return false, err
		}
	}
	if l.end < m.end {
		m.window.Prefetch(seek.Request{Range: seek.Range{Offset: l.end, Length: headChunk}, Purpose: seek.Index, Note: "headers"})
	}
	if err := l.close(ctx, m.window, m.limits); err != nil {
		return false, err
	}
	if l.end >= m.end {
		m.publish(func(c *chain) { c.close(); c.complete = m.final })
		return true, nil
	}
	if len(c.links) >= maxLinks {
		return false, &formats.Error{Container: Name, Element: "links", Offset: l.end, Err: seek.ErrLimit, Problem: fmt.Sprintf("more than %d links", maxLinks)}
	}
	next, err := readLink(ctx, m.window, l.end, m.limits)
	if bad := (*formats.Error)(nil); errors.As(err, &bad) {
		m.publish(func(c *chain) {
			c.close()
			c.complete = true
			c.warn(l.end, fmt.Sprintf("what follows is passed over: %v", err))
		})
		return true, nil
	} else if err != nil {
		return false, err
	}
	m.adopt(next)
	m.publish(func(c *chain) { c.close(); c.links = append(c.links, next) })
	return true, nil
}

// adopt looks whether what was read of a link, and of the end of the resource,
// tells where it ends.
func (m *media) adopt(l *link) {
	if data, ok := m.window.Held(seek.Range{Offset: l.off, Length: min(max(headChunk, l.data-l.off), m.end-l.off)}); ok {
		m.remember(l.off, data, false)
	}
	if b := m.boundary(l, 1); l.end < 0 && b.at >= 0 {
		l.end = b.at
	} else if l.end < 0 && b.doubt == 0 && b.away == nil && m.end-b.lo <= tailChunk {
		l.end = m.end
	}
}
