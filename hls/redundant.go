package hls

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mediafrag/mediafrag/seek"
)

// contents is all that a media playlist names, by name.
type contents struct {
	list  *playlist
	all   []item
	names map[string][]named
}

// item is a segment, or one of the parts that a low-latency playlist names it by.
type item struct {
	segment
	part int // the how manyth of its segment; -1: it is the segment
}

// named is something that a playlist names: where it lies, and with which of the
// items it is first wanted.
type named struct {
	extent
	i       int
	section *initSection // set for an initialization section
	key     *key         // set for a key
}

// contentsOf lists what a playlist names. What has no usable name is left out.
func contentsOf(p *playlist) *contents { return newContents(p, p.media.items()) }

// items are the segments of a playlist and the parts that it names.
func (m *media) items() []item {
	var out []item
	for _, s := range m.segments {
		out = append(out, item{s, -1})
		at := s.start
		for n, p := range s.parts {
			x := s
			x.uri, x.bytes, x.start, x.duration, x.gap, x.problem = p.uri, p.bytes, at, p.duration, s.gap || p.gap, ""
			if p.uri == "" || undefined(p.uri) {
				x.problem = "a part whose URI is not known"
			}
			if !x.date.IsZero() {
				x.date = x.date.Add(at - s.start)
			}
			at += p.duration
			out = append(out, item{x, n})
		}
	}
	for n, s := range m.tail {
		out = append(out, item{s, n})
	}
	return out
}

// newContents lists some of what a playlist names.
func newContents(p *playlist, all []item) *contents {
	c := &contents{list: p, all: all, names: map[string][]named{}}
	add := func(uri string, n named) {
		if name, err := nameOf(p.base, uri); err == nil {
			n.name = name
			c.names[name] = append(c.names[name], n)
		}
	}
	sections, keys := map[*initSection]bool{}, map[*key]bool{}
	for i := range c.all {
		s := &c.all[i]
		if !s.gap && s.problem == "" {
			add(s.uri, named{extent: extent{Range: s.bytes}, i: i})
		}
		if s.init != nil && !sections[s.init] {
			sections[s.init] = true
			add(s.init.uri, named{extent: extent{Range: s.init.bytes}, i: i, section: s.init})
		}
		for _, k := range s.keys {
			if !keys[k] {
				keys[k] = true
				add(k.uri, named{extent: extent{Range: keyRange}, i: i, key: k})
			}
		}
	}
	for _, all := range c.names {
		slices.SortStableFunc(all, func(a, b named) int { return cmp.Compare(a.Offset, b.Offset) })
	}
	return c
}

const (
	// mostFormer is of how many playlists that were replaced it is known what they
	// named and the newer ones do not.
	mostFormer = 32
	// mostLeft is how many segments and parts of one of them are.
	mostLeft = 256
)

// history is what the playlists of a stream that come from one place have named: what
// the last one does, and what has left since.
type history struct {
	now    *contents
	former []*contents // the newest first
}

// add makes another playlist the last one.
func (h *history) add(p *playlist) {
	before := h.now
	h.now = contentsOf(p)
	if before == nil {
		return
	}
	var left []item
	for _, x := range before.all {
		name, err := nameOf(before.list.base, x.uri)
		if err == nil && !slices.ContainsFunc(h.now.names[name], func(n named) bool { return n.Range == x.bytes }) {
			left = append(left, x)
		}
	}
	if left = left[max(0, len(left)-mostLeft):]; len(left) > 0 {
		h.former = slices.Insert(h.former, 0, newContents(before.list, left))
		h.former = h.former[:min(len(h.former), mostFormer)]
	}
}

// all are the last playlist's contents and those before, the newest first.
func (h *history) all() []*contents {
	if h.now == nil {
		return nil
	}
	return append([]*contents{h.now}, h.former...)
}

// within returns what of a resource a range has bytes of.
func (c *contents) within(name string, r seek.Range) []named {
	var out []named
	for _, n := range c.names[name] {
		if n.overlaps(r) {
			out = append(out, n)
		}
	}
	return out
}

// overlaps reports whether two ranges of one resource have bytes in common, as
// far as that can be told.
func (e extent) overlaps(r seek.Range) bool {
	if e.Offset < 0 || r.Offset < 0 {
		return true
	}
	return (e.Length < 0 || r.Offset < e.End()) && (r.Length < 0 || e.Offset < r.End())
}

// like returns which segment is the same as one of another playlist of the same
// media: of a stream that is complete the one at the same time, of a live one
// that of the same date or else of the same number. It is -1 if there is none.
func (c *contents) like(of *contents, i int) int {
	s := &of.all[i]
	live := c.list.media.growing() || of.list.media.growing()
	found, best := -1, s.duration/2+1
	for j := range c.all {
		x := &c.all[j]
		var away time.Duration
		switch {
		case (x.duration-s.duration).Abs() > doubt || x.part != s.part:
			continue
		case !live:
			away = (x.start - s.start).Abs()
		case !x.date.IsZero() && !s.date.IsZero():
			away = x.date.Sub(s.date).Abs()
		case x.sequence != s.sequence:
			continue
		}
		if away < best {
			found, best = j, away
		}
	}
	return found
}

// twin returns what a playlist names that is the same as something of another
// playlist, and the key that it is encrypted with.
func (c *contents) twin(of *contents, n named) (extent, error) {
	none := fmt.Errorf("%w: the redundant playlist has no such segment", seek.ErrNotFound)
	j := c.like(of, n.i)
	if j < 0 {
		return extent{}, none
	}
	s := &c.all[j]
	uri, r := s.uri, s.bytes
	switch {
	case n.key != nil:
		k := slices.IndexFunc(s.keys, func(k *key) bool { return k.method == n.key.method && k.format == n.key.format })
		if k < 0 {
			return extent{}, none
		}
		uri, r = s.keys[k].uri, keyRange
	case n.section != nil:
		if s.init == nil {
			return extent{}, none
		}
		uri, r = s.init.uri, s.init.bytes
	case s.gap || s.problem != "":
		return extent{}, none
	}
	if n.Length >= 0 && r.Length >= 0 && n.Length != r.Length {
		return extent{}, fmt.Errorf("%w: the redundant playlist has %d bytes where %d should be", seek.ErrChanged, r.Length, n.Length)
	}
	name, err := nameOf(c.list.base, uri)
	return extent{name, r}, err
}

// extract is a stretch of a resource as it lies at a place that is redundant: in what
// begins at base there, and whether that is a whole resource there, too.
type extract struct {
	extent
	base  int64
	whole bool
}

// runs returns where a range of a resource of one playlist lies by another.
func (c *contents) runs(of *contents, name string, r seek.Range) ([]extract, error) {
	all := of.within(name, r)
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: no playlist names it", seek.ErrNotFound)
	}
	var out []extract
	at := r.Offset
	for _, n := range all {
		t, err := c.twin(of, n)
		if err != nil {
			return nil, err
		}
		if !r.Closed() {
			if len(all) > 1 || n.Range != (seek.Range{Length: seek.ToEnd}) {
				return nil, fmt.Errorf("%w: only segments that are whole resources have no end", seek.ErrNotFound)
			}
			return []extract{{extent{t.name, openRange(t.Range, r)}, t.Offset, t.Length < 0}}, nil
		}
		end := r.End()
		if n.Length >= 0 {
			end = min(end, n.End())
		}
		if t.Length >= 0 {
			end = min(end, n.Offset+t.Length)
		}
		if end <= at {
			continue // an overlap with what was before
		}
		if n.Offset > at {
			return nil, fmt.Errorf("%w: no playlist names the bytes from %d on", seek.ErrNotFound, at)
		}
		there := seek.Range{Offset: t.Offset + at - n.Offset, Length: end - at}
		if last := len(out) - 1; last >= 0 && out[last].name == t.name && out[last].End() == there.Offset {
			out[last].Length += there.Length
		} else {
			out = append(out, extract{extent{t.name, there}, t.Offset - n.Offset, n.Length < 0 && t.Length < 0})
		}
		at = end
	}
	if last := all[len(all)-1]; len(out) == 0 || last.Length >= 0 && at < r.End() {
		return nil, fmt.Errorf("%w: no playlist names the bytes from %d on", seek.ErrNotFound, at)
	}
	return out, nil
}

// openRange returns what a range without an end is of a whole resource that lies
// in a range of another one.
func openRange(whole, r seek.Range) seek.Range {
	switch {
	case whole.Length < 0 && r.Offset < 0:
		return r
	case whole.Length < 0:
		return seek.Range{Offset: whole.Offset + r.Offset, Length: seek.ToEnd}
	case r.Offset < 0:
		n := min(-r.Offset, whole.Length)
		return seek.Range{Offset: whole.End() - n, Length: n}
	}
	from := min(r.Offset, whole.Length)
	return seek.Range{Offset: whole.Offset + from, Length: whole.Length - from}
}

// companions returns what has to be of the same encoding as a range of a
// resource: what it has bytes of, and the initialization sections or the segments
// that go with that.
func (c *contents) companions(name string, r seek.Range) []extent {
	var out []extent
	add := func(uri string, r seek.Range) {
		if name, err := nameOf(c.list.base, uri); err == nil {
			out = append(out, extent{name, r})
		}
	}
	for _, n := range c.within(name, r) {
		if n.key != nil {
			continue
		}
		out = append(out, n.extent)
		if s := &c.all[n.i]; n.section == nil && s.init != nil {
			add(s.init.uri, s.init.bytes)
		}
		for i := range c.all {
			if s := &c.all[i]; n.section != nil && s.init.same(n.section) {
				add(s.uri, s.bytes)
			}
		}
	}
	return out
}

// elsewhere is the playlist of a stream at a place that is redundant to the one
// that it was loaded from.
type elsewhere struct {
	busy  chan struct{} // holds a token while it is being loaded
	known history
	err   error
	at    time.Time // when it was loaded
}

// redundant reports whether anything of the medium is at more than one place, or
// a steering server may tell that it is.
func (m *Medium) redundant() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.steering.uri != "" || slices.ContainsFunc(m.streams, func(s *stream) bool { return len(m.steering.order(s)) > 1 })
}

// naming returns the stream whose playlist names a resource, or has named it, and what
// else that names; nil if none does.
func (m *Medium) naming(name string) (*stream, *contents) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.streams {
		if s.list == nil || s.list.media == nil {
			continue
		}
		if s.named.now == nil || s.named.now.list != s.list {
			s.named.add(s.list)
		}
		for _, c := range s.named.all() {
			if len(c.names[name]) > 0 {
				return s, c
			}
		}
	}
	return nil, nil
}

// places returns the places that may have what a resource has, beside its own.
func (m *Medium) places(name string) []string {
	s, c := m.naming(name)
	if s == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(m.order(s)), func(place string) bool { return place == c.list.place })
}

// companions returns what has to be of the same encoding as a range of a resource.
func (m *Medium) companions(name string, r seek.Range) []extent {
	_, c := m.naming(name)
	if c == nil {
		return nil
	}
	return c.companions(name, r)
}

// find returns where a place has a range of a resource. What is encrypted
// otherwise there is not the same.
func (m *Medium) find(ctx context.Context, place, name string, r seek.Range) ([]extract, error) {
	s, here := m.naming(name)
	if s == nil {
		return nil, fmt.Errorf("%w: no playlist names %s", seek.ErrNotFound, name)
	}
	there, out, err := runsIn(m.loadedFrom(s, place), here, name, r)
	for again := false; err != nil; again = true {
		all, fresh, loadErr := m.contentsAt(ctx, s, place, again)
		if loadErr != nil {
			return nil, loadErr
		}
		there, out, err = runsIn(all, here, name, r)
		if err != nil && (again || fresh || !all[0].list.media.growing()) {
			return nil, err
		}
	}
	for _, n := range here.within(name, r) {
		if err := m.sameKey(ctx, here, there, n); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// loadedFrom is what those playlists of a stream name, the last and those before,
// that were loaded from a place: since its first one failed, for example.
func (m *Medium) loadedFrom(s *stream, place string) []*contents {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(s.named.all(), func(c *contents) bool { return c.list.place != place })
}

// runsIn is [contents.runs] by the first of several that has it.
func runsIn(all []*contents, of *contents, name string, r seek.Range) (c *contents, out []extract, err error) {
	first := fmt.Errorf("%w: no playlist names it", seek.ErrNotFound)
	for _, c := range all {
		if out, err = c.runs(of, name, r); err == nil {
			return c, out, nil
		}
		if c == all[0] {
			first = err
		}
	}
	return nil, nil, first
}

// sameKey fails where something is not encrypted as its twin is.
func (m *Medium) sameKey(ctx context.Context, here, there *contents, n named) error {
	j := there.like(here, n.i)
	if n.key != nil || j < 0 {
		return nil
	}
	s, t := &here.all[n.i], &there.all[j]
	keys, others := s.keys, t.keys
	if n.section != nil {
		keys, others = s.init.keys, t.init.keys
	}
	k, err := usable(keys)
	if err != nil {
		return err
	}
	l, err := usable(others)
	if err != nil || k == nil && l == nil {
		return err
	}
	other := fmt.Errorf("%w: the redundant segment is encrypted otherwise", seek.ErrChanged)
	if k == nil || l == nil || k.ivOf(s.sequence) != l.ivOf(t.sequence) {
		return other
	}
	one, err := nameOf(here.list.base, k.uri)
	if err != nil {
		return err
	}
	two, err := nameOf(there.list.base, l.uri)
	if err != nil || one == two {
		return err
	}
	a, err := readKey(ctx, m, one)
	if err != nil {
		return err
	}
	b, err := readKey(ctx, m, two)
	if err == nil && !bytes.Equal(a, b) {
		return other
	}
	return err
}

// contentsAt returns what the playlists of a stream at a place name. The last is loaded
// when it is first wanted, and with again once more; fresh reports whether it has
// been. A place that failed is left alone for a while.
func (m *Medium) contentsAt(ctx context.Context, s *stream, place string, again bool) (all []*contents, fresh bool, err error) {
	m.mu.Lock()
	e := s.elsewhere[place]
	if e == nil {
		e = &elsewhere{busy: make(chan struct{}, 1)}
		if s.elsewhere == nil {
			s.elsewhere = map[string]*elsewhere{}
		}
		s.elsewhere[place] = e
	}
	m.mu.Unlock()
	select {
	case e.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	defer func() { <-e.busy }()
	if e.err != nil && time.Since(e.at) < downTime {
		return nil, false, e.err
	}
	if e.known.now != nil && !again {
		return e.known.all(), false, nil
	}
	p, err := m.fetchPlaylist(ctx, place, s.id, nil)
	if err != nil && ctx.Err() != nil {
		return nil, false, err // of the asker's own
	}
	e.at = time.Now()
	if e.err = err; err != nil {
		return nil, false, err
	}
	e.known.add(p)
	return e.known.all(), true, nil
}
