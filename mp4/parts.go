package mp4

import (
	"context"
	"errors"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// When and how a moov is read in parts.
const (
	smallMoov   = 1 << 20   // bytes up to which a moov is always read whole
	largeMoov   = 8 << 20   // bytes from which it is always read in parts
	bigTable    = 8 << 10   // bytes from which a table is read in slices
	bigTimes    = 64 << 10  // bytes from which an stts is: that costs a round trip
	boxesGuess  = 32 << 10  // bytes read where boxes begin
	tableGuess  = 48 << 10  // the same where a list of sync samples is likely to be among them
	groupsGuess = 192 << 10 // the same where groups are, of which the first may have few
	headGuess   = 4 << 10   // the same behind which large tables are likely to follow
	moovTail    = 16 << 10  // bytes read of a moov's end, where user data stands
	maxLeaf     = 32 << 20  // bytes of any other box in it
	maxParts    = 100_000   // boxes in it
	wholeTrips  = 4         // round trips that reading in parts may cost more
)

// errWhole: the tables contradict one another, or are not as they were guessed
// to be, so that the moov has to be read whole.
var errWhole = errors.New("the index has to be read whole")

// partial is a moov that is read in parts: all but its large tables, and of
// those the slices that an interval needs.
type partial struct {
	file      *file
	off, size int64
	header    int
}

// node is a box of a moov, in a tree.
type node struct {
	typ      string
	off      int64 // in the file
	header   int
	size     int64
	raw      []byte // of a box that was read whole
	children []*node
	large    bool   // a table that was not read
	next     int64  // of an stbl: where the next child is that is not known
	supposed []byte // of a box that is only supposed to be there: how its payload begins
	done     bool   // all children are known
	lasts    int64  // of a large stts: how long the media lasts, in the track's timescale
}

// tables are the boxes whose length grows with the number of samples, and that
// can be read in slices.
var sliced = []string{"stts", "ctts", "stss", "stsz", "stz2", "stsc", "stco", "co64", "sdtp", "sbgp", "subs", "saiz", "saio", "senc"}

// containers are the boxes on the way to the tables.
var containers = []string{"moov", "trak", "mdia", "minf", "stbl"}

// inParts decides whether a moov of so many bytes is read in parts: where the
// caller's limit says so, or where the time to transfer all of it is longer
// than a few round trips.
func (f *file) inParts(size int64) bool {
	if f.limits.Whole > 0 {
		return size > f.limits.Whole
	}
	if size <= smallMoov || size > largeMoov {
		return size > largeMoov
	}
	latency, rate := f.window.Pace()
	return rate > 0 && float64(size)/rate > wholeTrips*latency.Seconds()
}

// open reads what info needs of the moov.
func (p *partial) open(ctx context.Context) (*movie, error) {
	var m *movie
	d := &demand{window: p.file.window}
	err := d.satisfy(ctx, func() error {
		d.wish(p.off+max(0, p.size-moovTail), min(moovTail, p.size), "end of moov")
		root, err := p.walk(d, false)
		if err != nil {
			return err
		}
		if len(d.missing) > 0 {
			return askEnds(d, root)
		}
		m, err = p.movie(d, root)
		return err
	})
	return m, err
}

// askEnds asks for what tells when the tracks' media ends, as far as the tree
// is known.
func askEnds(d *demand, root *node) error {
	for _, n := range root.children {
		stbl := n.find("mdia", "minf", "stbl")
		if stbl == nil || !stbl.has("stts") || stbl.child("stts").raw == nil && !stbl.child("stts").large {
			continue
		}
		t := &track{stblNode: stbl, tables: &sampleTables{stts: &runTable{}}}
		if n := stbl.child("stts"); !n.large {
			var err error
			if t.tables.stts, err = readRuns(n.box("moov/trak/mdia/minf/stbl/"), false); err != nil {
				return err
			}
		}
		if err := t.endInParts(d); err != nil {
			return err
		}
	}
	return nil
}

// walk goes through the boxes of the moov. Without all, tables behind those
// that tell times are only wished for.
func (p *partial) walk(d *demand, all bool) (*node, error) {
	root := &node{typ: "moov", off: p.off, header: p.header, size: p.size}
	boxes := 0
	if err := p.descend(d, root, "moov", all, &boxes); err != nil {
		return nil, err
	}
	p.settleTimes(d, root)
	return root, nil
}

func (p *partial) descend(d *demand, n *node, path string, all bool, boxes *int) error {
	end := n.off + n.size
	for at := n.off + int64(n.header); end-at >= 8; {
		if *boxes++; *boxes > maxParts {
			return damaged(path, at, "more than %d boxes", maxParts)
		}
		later := !all && n.typ == "stbl" && n.has("stsd") && n.has("stts") && (n.has("ctts") || n.has("stsc") || n.has("stsz"))
		head, ok := p.boxHead(d, n, at, end, later)
		if !ok {
			p.guessBehind(d, n, at, end)
			return nil
		}
		typ, header, size, ok := readHeader(head)
		switch {
		case ok && size == -1 && typ == "\x00\x00\x00\x00":
			n.done = true
			return nil
		case !ok || size < int64(header):
			return damaged(path+"/"+printable(typ), at, "box size smaller than its header")
		case size > end-at:
			return damaged(path+"/"+printable(typ), at, "box of %d bytes runs past its parent, which has %d left", size, end-at)
		}
		c := &node{typ: typ, off: at, header: header, size: size}
		needed := len(d.missing)
		if err := p.read(d, n, c, path+"/"+typ, all, boxes); err != nil {
			return err
		}
		if later {
			d.wished = append(d.wished, d.missing[needed:]...)
			d.missing = d.missing[:needed]
			if c.raw == nil && !c.large {
				return nil
			}
		}
		n.children = append(n.children, c)
		at += size
	}
	n.done = true
	return nil
}

// boxHead returns the header of the box at an offset of a parent n that ends at
// end.
func (p *partial) boxHead(d *demand, n *node, at, end int64, later bool) ([]byte, bool) {
	if head, ok := d.window.Held(seek.Range{Offset: at, Length: min(headerBytes, end-at)}); ok {
		return head, true
	}
	length := int64(boxesGuess)
	switch left := end - at; {
	case n.typ != "stbl":
	case !n.has("stsc") && !n.has("stss"):
		length = tableGuess
	case left > boxesGuess:
		length = headGuess
	}
	if length = min(length, end-at); later {
		d.wish(at, length, "boxes")
	} else {
		d.need(at, length, "boxes")
	}
	return nil, false
}

// guessBehind wishes for the headers of what is likely to stand behind the box at
// an offset that is not known yet: behind tables with an entry for each sample,
// whose number the stts tells. Before what follows an entry for each sample it
// wishes for the last ones too, which tell when the media ends.
func (p *partial) guessBehind(d *demand, stbl *node, at, end int64) {
	if stbl.typ != "stbl" {
		return
	}
	stbl.next = at
	samples, ok := stbl.samples(d)
	if !ok || stbl.has("stsz") || stbl.has("stz2") {
		return
	}
	guesses := []int64{20 + 4*samples, 20 + 2*samples} // an stsz, an stz2
	if !stbl.has("stsc") && !stbl.has("ctts") {
		depends, offsets := 12+samples, 16+8*samples
		guesses = append(guesses, offsets, depends, depends+offsets)
	}
	const before = 8 * maxReorder
	for _, n := range guesses {
		if next := at + n; next < end {
			d.wish(max(at, next-before), min(before+headGuess, end-next), "boxes")
		}
	}
}

// read reads a box whole, or goes down into it, or leaves a large table.
func (p *partial) read(d *demand, parent, c *node, path string, all bool, boxes *int) error {
	switch {
	case slices.Contains(containers, c.typ) && c.typ != "moov":
		return p.descend(d, c, path, all, boxes)
	case parent.typ == "stbl" && c.size > bigTable && slices.Contains(sliced, c.typ) && (c.typ != "stts" || c.size > bigTimes):
		c.large = true
		return nil
	case parent.typ == "trak" && c.typ == "senc" && c.size > bigTable:
		c.large = true
		return nil
	case c.size > min(maxLeaf, p.file.limits.Index):
		return &formats.Error{
			Container: Name, Element: path, Offset: c.off, Err: seek.ErrLimit,
			Problem: "larger than the limit for a box that is read whole", Hint: "raise Limits.Index if the file is trusted",
		}
	}
	if raw, ok := d.need(c.off, c.size, c.typ); ok {
		c.raw = raw
	}
	return nil
}

func (n *node) child(typ string) *node {
	for _, c := range n.children {
		if c.typ == typ {
			return c
		}
	}
	return nil
}

func (n *node) has(typ string) bool { return n.child(typ) != nil }

// box returns a node that was read as a box in memory.
func (n *node) box(path string) box {
	return box{typ: n.typ, off: n.off, header: n.header, raw: n.raw, path: path + n.typ}
}

// reduced writes a node without the tables that were not read.
func (n *node) reduced(w *builder) {
	switch {
	case n.large:
	case n.raw != nil:
		w.raw(n.raw)
	default:
		w.box(n.typ, func() {
			for _, c := range n.children {
				c.reduced(w)
			}
		})
	}
}

// movie reads the movie out of a tree without its large tables.
func (p *partial) movie(d *demand, root *node) (*movie, error) {
	var w builder
	root.reduced(&w)
	m, err := readMovie(box{typ: "moov", off: p.off, header: 8, raw: w.buf, path: "moov"}, p.file.limits)
	if err != nil {
		return nil, err
	}
	m.size = p.size
	i := 0
	for _, n := range root.children {
		if n.typ != "trak" {
			continue
		}
		t := m.tracks[i]
		i++
		if t.stblNode = n.find("mdia", "minf", "stbl"); t.stblNode == nil {
			continue
		}
		t.sencNode = n.child("senc")
		if err := t.endInParts(d); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// find returns the node that a path of types leads to.
func (n *node) find(path ...string) *node {
	for _, typ := range path {
		if n = n.child(typ); n == nil {
			return nil
		}
	}
	return n
}

// endInParts finds when the track's media ends: by the durations and the
// composition offsets of its last samples, which are found from the end.
func (t *track) endInParts(d *demand) error {
	s := &sampleTables{stts: t.tables.stts, count: t.tables.stts.count}
	if stts := t.stblNode.child("stts"); stts != nil && stts.large {
		last, ok, err := stts.lastRuns(d, maxReorder)
		if err != nil || !ok {
			return err
		}
		if s.stts, _ = newRunTable(encodeRuns(last), false); s.stts.sum > stts.lasts {
			return errWhole
		}
		s.count, s.start = s.stts.count, stts.lasts-s.stts.sum
	}
	if ctts := t.stblNode.child("ctts"); ctts != nil {
		last, ok, err := ctts.lastRuns(d, maxReorder)
		if err != nil || !ok {
			return err
		}
		var described int64
		for _, r := range last {
			described += r.count
		}
		s.ctts, _ = newRunTable(encodeRuns(append([]run{{max(0, s.count-described), 0}}, last...)), true)
	}
	t.end = (&track{tables: s}).mediaEnd()
	return nil
}

// view reads the slices of the tables that an interval needs of some tracks.
func (p *partial) view(ctx context.Context, want fragment.Interval, chosen []*track) (*view, error) {
	var v *view
	d := &demand{window: p.file.window}
	err := d.satisfy(ctx, func() error {
		root, err := p.walk(d, true)
		if err != nil {
			return err
		}
		m := p.file.movie
		if root.complete() {
			if m, err = p.movie(d, root); err != nil {
				return err
			}
			m.learned(p.file.movie)
		} else {
			m = m.withTables(root)
		}
		length := m.length()
		if !want.Start.Less(length) {
			return &formats.PastEndError{Start: want.Start, Duration: length}
		}
		clamped := want.Clamp(length)
		tables := map[*track]*sampleTables{}
		for _, c := range chosen {
			t := m.track(c.id)
			from, to, ok := m.needs(t, clamped)
			if !ok {
				continue
			}
			if tables[t], err = t.slice(d, from, to); err != nil {
				return err
			}
			if tables[t] == nil {
				t.guessTables(d, from, to)
			}
		}
		if len(d.missing) == 0 {
			v = &view{movie: m.viewOf(tables, false), want: clamped}
		}
		return nil
	})
	return v, err
}

// complete reports whether all boxes of the tree are known.
func (n *node) complete() bool {
	if n.raw != nil || n.large {
		return true
	}
	if !n.done {
		return false
	}
	return !slices.ContainsFunc(n.children, func(c *node) bool { return !c.complete() })
}

// withTables returns the movie with the tables of a tree that is not complete
// yet.
func (m *movie) withTables(root *node) *movie {
	out := *m
	out.tracks = slices.Clone(m.tracks)
	i := 0
	for _, n := range root.children {
		if n.typ != "trak" || i == len(out.tracks) {
			continue
		}
		if stbl := n.find("mdia", "minf", "stbl"); stbl != nil {
			t := *out.tracks[i]
			t.stblNode, t.sencNode = stbl, n.child("senc")
			out.tracks[i] = &t
		}
		i++
	}
	return &out
}
