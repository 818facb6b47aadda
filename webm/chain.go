package webm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// Files that were put one behind the other make a file of several Segments, each
// with a header, tracks, an index and times of its own. Its timeline is theirs one
// after the other. (Linked Segments, RFC 9559 section 17, are files that name each
// other; they are another matter.)
//
// Other programs do not agree on such files: mkvmerge, mpv and Firefox read the
// first Segment alone, ffmpeg and what is built on it goes on with the tracks of
// the first and with times that begin anew.

// chain is an opened file: Segments in a row, of which the first and perhaps
// others are known.
type chain struct {
	turn chan struct{} // of those that look for further ones

	mu       sync.Mutex
	segments []*media // in order, without gaps
	starts   []int64  // when each begins, in ns on the file's timeline
	complete bool     // there are no more
	warnings []fragment.Warning
}

var _ formats.Media = (*chain)(nil)

// maxSegments is the most Segments that are looked for.
const maxSegments = 10_000

// newChain is the chain of which the first Segment is known. Where no other can
// follow it, that is all.
func newChain(m *media) *chain {
	c := &chain{turn: make(chan struct{}, 1), segments: []*media{m}, starts: []int64{0}}
	at := m.nextAt()
	if at == 0 {
		c.complete = m.whole()
		return c
	}
	if data, ok := m.w.Held(seek.Range{Offset: at, Length: min(maxHeader, m.sizeOr(maxOffset)-at)}); ok {
		e, err := defaultLengths.parse(data, at)
		c.complete = err == nil && e.id == idVoid // other garbage may be what a Segment that was cut off runs over
	}
	return c
}

// nextAt is where another Segment may begin, 0 where none can as far as is known.
func (m *media) nextAt() int64 {
	at := m.next.Load()
	if at == 0 && m.segment.size != unknownSize && !m.overrun.Load() {
		at = m.segment.end()
	}
	if at >= m.sizeOr(maxOffset) {
		return 0
	}
	return at
}

// whole reports whether the Segment states a size that the file has: what is cut off
// may have another Segment behind it all the same.
func (m *media) whole() bool {
	return m.segment.size != unknownSize && !m.overrun.Load() && (m.growing || m.segment.end() <= m.sizeOr(maxOffset))
}

// beginsSegment reports whether b, at an offset, begins with an EBML header or a
// Segment.
func beginsSegment(b []byte, off int64) bool {
	e, err := defaultLengths.parse(b, off)
	return err == nil && (e.id == idEBML || e.id == idSegment)
}

// known returns the Segments that are known by now, when each begins, and whether
// that is all.
func (c *chain) known() (segments []*media, starts []int64, complete bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clip(c.segments), slices.Clip(c.starts), c.complete
}

// reach looks for Segments until one of them ends behind a time, in ns on the
// file's timeline, or there are no more. Of a file of one that states its size it
// costs nothing, nor where its first Segment has all of the interval.
func (c *chain) reach(ctx context.Context, ns int64) error {
	for {
		segments, starts, complete := c.known()
		last, begin := segments[len(segments)-1], starts[len(starts)-1]
		switch {
		case complete || last.timed && ns <= begin+last.duration:
			return nil
		case last.first.id == 0:
			return nil
		case last.nextAt() == 0:
			if err := last.outlast(ctx); err != nil {
				return err
			}
			if last.nextAt() == 0 {
				return nil
			}
		}
		if err := c.extend(ctx, len(segments), ns); err != nil {
			return err
		}
		if again, _, complete := c.known(); len(again) == len(segments) && !complete {
			return nil // the last has all of it
		}
	}
}

// revise forgets the Segments behind one of unknown size in which a header was seen
// since that comes before them. It reports whether it did.
func (c *chain) revise() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, m := range c.segments[:len(c.segments)-1] {
		if m.nextAt() != c.segments[n+1].base {
			c.segments, c.starts, c.complete = c.segments[:n+1:n+1], c.starts[:n+1:n+1], false
			return true
		}
	}
	return false
}

// extend opens the Segment behind so many, if the last of those ends before a time.
func (c *chain) extend(ctx context.Context, n int, ns int64) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return c.extendFrom(ctx, n, ns)
}

// extendFrom is extend of whoever has the turn.
func (c *chain) extendFrom(ctx context.Context, n int, ns int64) error {
	segments, starts, complete := c.known()
	if complete || len(segments) > n { // another selection was faster
		return nil
	}
	last, begin := segments[n-1], starts[n-1]
	at := last.nextAt()
	data, err := last.w.ReadRange(ctx, seek.Range{Offset: at, Length: min(headSize, last.sizeOr(maxOffset)-at)}, seek.Head, "behind the Segment")
	if err != nil {
		return err
	}
	if !beginsSegment(data, at) {
		if e, err := defaultLengths.parse(data, at); err == nil && e.id == idVoid {
			return c.end(nil)
		}
		more, err := last.outrun(ctx)
		switch {
		case err != nil:
			return err
		case more:
			return c.extendFrom(ctx, n, ns)
		}
		return c.end(nil)
	}
	length, err := last.lasts(ctx)
	switch {
	case err != nil:
		return err
	case last.nextAt() != at: // which showed now
		return c.extendFrom(ctx, n, ns)
	case ns <= begin+length:
		return nil
	}
	if n >= maxSegments {
		return &formats.Error{Container: "webm", Element: "Segment", Offset: at, Err: seek.ErrLimit,
			Problem: fmt.Sprintf("more than %d Segments", maxSegments), Hint: "ask for an interval that ends before"}
	}
	next := &media{w: last.w, limits: last.limits, growing: last.growing, base: at, doc: last.doc}
	err = next.open(ctx)
	if bad := (*formats.Error)(nil); errors.As(err, &bad) && !errors.Is(err, seek.ErrLimit) {
		return c.end(err)
	} else if err != nil {
		return err
	}
	if next.first.id == 0 && next.nextAt() == 0 {
		return c.end(damaged("Segment", at, "there is no Cluster in it"))
	}
	next.glimpse(last.behind(next.first.offset))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.segments, c.starts = append(c.segments, next), append(c.starts, begin+length)
	c.complete = next.nextAt() == 0 && next.whole()
	return nil
}

// outrun looks whether a Segment was cut off and its size runs over another. It
// reports whether it does.
func (m *media) outrun(ctx context.Context) (bool, error) {
	if m.segment.size == unknownSize || m.growing || m.w.Info().Sequential {
		return false, nil
	}
	before := m.overrun.Swap(true)
	err := m.outlast(ctx)
	found := m.next.Load() > 0
	if !found {
		m.overrun.Store(before)
	}
	return found, err
}

// end notes that there are no more Segments that can be read, for a reason where
// something seems to follow.
func (c *chain) end(why error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.complete = true
	if why != nil {
		c.warnings = append(c.warnings, warning("what follows the last Segment is left out: %v", why))
	}
	return nil
}

// goesOn notes whether there may be more Segments than are known.
func (c *chain) goesOn(more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.complete = !more
}

// lasts is how long the Segment lasts, in ns: as its Info says, else until its last
// sample ends.
func (m *media) lasts(ctx context.Context) (int64, error) {
	if m.timed || m.first.id == 0 {
		return m.duration, nil
	}
	return m.findEnd(ctx)
}

// Info says what is known of all Segments. While others may follow, the duration
// is of those that are known.
func (c *chain) Info() formats.Info {
	segments, starts, complete := c.known()
	i := segments[0].Info()
	i.Estimated = i.Timed && !complete
	i.Warnings = append(slices.Clip(i.Warnings), c.warned()...)
	if len(segments) == 1 {
		return i
	}
	chapters := i.Chapters
	i.Chapters = nil
	last := len(segments) - 1
	for n, m := range segments {
		one := formats.Chapter{ID: segmentID(n), Title: cmp.Or(m.info.title, segmentID(n)), Interval: fragment.From(nanos(starts[n]))}
		if n < last {
			one.Interval = fragment.Between(one.Interval.Start, nanos(starts[n+1]))
		} else if end, ok := m.ends(); ok {
			one.Interval = fragment.Between(one.Interval.Start, nanos(starts[n]+end))
		}
		if n > 0 {
			of := m.Info()
			chapters = of.Chapters
			i.Warnings = append(i.Warnings, of.Warnings...)
			for _, t := range of.Tags {
				if t.Chapter == "" {
					t.Chapter = one.ID
				}
				i.Tags = append(i.Tags, t)
			}
		}
		i.Chapters = append(i.Chapters, one)
		for _, ch := range chapters {
			ch.Interval = ch.Interval.Shift(nanos(starts[n]))
			i.Chapters = append(i.Chapters, ch)
		}
	}
	end, ok := segments[last].ends()
	if i.Timed = ok && complete; i.Timed {
		i.Duration = nanos(starts[last] + end)
	} else {
		i.Duration, i.Estimated = fragment.Time{}, false
	}
	return i
}

// segmentID names a Segment among the chapters.
func segmentID(n int) string { return fmt.Sprintf("segment%d", n+1) }

// ends is how long the Segment lasts, in ns, where that is known.
func (m *media) ends() (ns int64, ok bool) {
	if m.timed {
		return m.duration, true
	}
	return m.lastSample()
}

// lastSample is when the last sample ends, in ns, where that was looked for.
func (m *media) lastSample() (ns int64, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended != nil && m.ended.limit == m.limit() {
		return m.ended.ns, true
	}
	return 0, false
}

func (c *chain) warned() []fragment.Warning {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clip(c.warnings)
}

// Inspect finds all Segments, and of the first what costs more.
func (c *chain) Inspect(ctx context.Context) (formats.Info, error) {
	segments, _, _ := c.known()
	if segments[0].endless() {
		return segments[0].Inspect(ctx)
	}
	for again := true; again; {
		if err := c.reach(ctx, maxOffset); err != nil {
			return c.Info(), err
		}
		seen := c.seen()
		if err := c.review(ctx); err != nil {
			return c.Info(), err
		}
		var err error
		if again, err = c.changed(ctx, seen, true); err != nil {
			return c.Info(), err
		}
	}
	c.goesOn(segments[0].growing)
	segments, _, _ = c.known()
	first, err := segments[0].Inspect(ctx)
	if err != nil {
		return first, err
	}
	for _, m := range segments[1:] {
		if _, err := m.Inspect(ctx); err != nil {
			return c.Info(), err
		}
	}
	i := c.Info()
	if len(segments) == 1 {
		i.Timed, i.Duration = first.Timed, first.Duration
	}
	i.Attachments = first.Attachments
	for _, w := range first.Warnings {
		if !slices.Contains(i.Warnings, w) {
			i.Warnings = append(i.Warnings, w)
		}
	}
	return i, nil
}

// stay is what an interval has of one Segment, on the Segment's own timeline.
type stay struct {
	m     *media
	begin int64 // when the Segment begins on that of the file, in ns
	fragment.Interval
	number int
}

// stays divides an interval among the Segments that are known. What begins behind
// them all is of the last.
func (c *chain) stays(i fragment.Interval) (out []stay) {
	segments, starts, _ := c.known()
	last := len(segments) - 1
	for n, m := range segments {
		own := i.Shift(nanos(-starts[n]))
		own.Start = own.Start.Max(fragment.Time{})
		if n < last {
			end := nanos(starts[n+1] - starts[n])
			if !own.Start.Less(end) {
				continue
			}
			if own.Open || end.Less(own.End) {
				own = fragment.Between(own.Start, end)
			}
		}
		if !own.Empty() && m.first.id != 0 {
			out = append(out, stay{m, starts[n], own, n})
		}
	}
	return out
}

// Plan resolves a selection.
func (c *chain) Plan(ctx context.Context, s formats.Selection) (*formats.Plan, error) {
	end := int64(maxOffset)
	if !s.Interval.Open {
		end = min(s.Interval.End.Round(1e9), maxOffset)
	}
	for {
		if err := c.reach(ctx, end); err != nil {
			return nil, err
		}
		seen := c.seen()
		plan, err := c.plan(ctx, s)
		behind := errors.Is(err, formats.ErrPastEnd)
		if behind {
			if err := c.review(ctx); err != nil {
				return nil, err
			}
		}
		if again, doubt := c.changed(ctx, seen, behind); doubt != nil {
			return nil, doubt
		} else if !again {
			return plan, err
		} // else another Segment showed, and the interval may lie in it
	}
}

// confirm looks at what stands where a Segment says that it ends, once, if the file
// goes on there and the Clusters that were seen lie further apart than their times
// suggest: where it is neither another Segment nor padding, the Segment was perhaps
// cut off, and another stands within.
func (m *media) confirm(ctx context.Context) error {
	at := m.nextAt()
	if at == 0 || at != m.segment.end() || m.growing || m.w.Info().Sequential || m.confirmed.Load() {
		return nil
	}
	if _, _, _, doubtful := m.doubt(false); !doubtful {
		return nil
	}
	data, err := m.w.ReadRange(ctx, seek.Range{Offset: at, Length: min(maxHeader, m.sizeOr(maxOffset)-at)}, seek.Index, "behind the Segment")
	if err != nil {
		return err
	}
	m.confirmed.Store(true)
	if e, err := defaultLengths.parse(data, at); err != nil || e.id != idEBML && e.id != idSegment && e.id != idVoid {
		m.short.Store(true)
	}
	return nil
}

// seen is where the last known Segment ends, as far as is known.
func (c *chain) seen() int64 {
	segments, _, _ := c.known()
	return segments[len(segments)-1].nextAt()
}

// review looks at the last Segment, of unknown size, from its beginning to its end,
// where others would show.
func (c *chain) review(ctx context.Context) error {
	segments, _, _ := c.known()
	last := segments[len(segments)-1]
	if last.segment.size != unknownSize {
		return nil
	}
	if err := last.review(ctx); err != nil {
		return err
	}
	if _, err := last.lasts(ctx); err != nil && !errors.Is(err, seek.ErrLimit) { // the search for its end shows more
		return err
	}
	return nil
}

// changed looks whether Segments of unknown size are more than one, and reports
// whether other Segments are known than when the last ended at an offset.
func (c *chain) changed(ctx context.Context, seen int64, thorough bool) (bool, error) {
	segments, _, _ := c.known()
	for _, m := range segments {
		if err := m.confirm(ctx); err != nil {
			return false, err
		}
		if m.short.Swap(false) && m.next.Load() == 0 {
			if _, err := m.outrun(ctx); err != nil {
				return false, err
			}
		}
		if err := m.findNext(ctx, thorough); err != nil {
			return false, err
		}
	}
	if !c.revise() && segments[len(segments)-1].nextAt() == seen {
		return false, nil
	}
	c.goesOn(true)
	return true, nil
}

// plan resolves a selection among the Segments that are known.
func (c *chain) plan(ctx context.Context, s formats.Selection) (*formats.Plan, error) {
	segments, starts, _ := c.known()
	stays := c.stays(s.Interval)
	if len(stays) == 0 { // the same refusal as of the first alone
		return segments[0].Plan(ctx, s)
	}
	if len(stays) > 1 {
		return c.join(ctx, s, stays)
	}
	at := stays[0]
	own := s
	own.Interval = at.Interval
	own, err := c.chosenIn(at, own)
	if err != nil {
		return nil, err
	}
	plan, err := at.m.Plan(ctx, own)
	past := (*formats.PastEndError)(nil)
	if errors.As(err, &past) {
		return nil, &formats.PastEndError{Start: s.Interval.Start, Duration: past.Duration.Add(nanos(starts[at.number]))}
	}
	if err != nil || at.begin == 0 {
		return plan, err
	}
	for _, i := range []*fragment.Interval{&plan.Requested, &plan.Presented, &plan.Covered} {
		*i = i.Shift(nanos(at.begin))
	}
	return plan, nil
}

// chosenIn names the tracks of a selection as the Segment has them: those that the
// first has by that name are in the others those of the same ID and kind, else of
// the same kind.
func (c *chain) chosenIn(at stay, s formats.Selection) (formats.Selection, error) {
	if len(s.Tracks) == 0 || at.number == 0 {
		return s, nil
	}
	segments, _, _ := c.known()
	chosen, err := formats.Chosen(segments[0].Info().Tracks, s)
	if err != nil {
		return s, err
	}
	s.Tracks = nil
	for _, want := range chosen {
		i := slices.IndexFunc(at.m.tracks, func(t *track) bool { return t.ID == want.ID && t.Kind == want.Kind })
		if i < 0 {
			i = slices.IndexFunc(at.m.tracks, func(t *track) bool { return t.Kind == want.Kind })
		}
		if i >= 0 {
			s.Tracks = append(s.Tracks, at.m.tracks[i].ID)
		}
	}
	if len(s.Tracks) == 0 {
		return s, formats.ErrNothing
	}
	return s, nil
}

// cutAt reports whether the header of another Segment at an offset shows where this
// one ends: its size is not stated, or cannot be right, for it would end within the
// other or behind the file. What stands behind elements beside the Clusters is theirs,
// such as an attached film.
func (m *media) cutAt(off int64, other element) bool {
	if m.segment.size == unknownSize {
		return true
	}
	for _, o := range m.others {
		if o < off {
			return false
		}
	}
	end := m.segment.end()
	return off < end && m.first.id != 0 && off > m.first.offset && !m.growing && (other.end() > end || end > m.sizeOr(maxOffset))
}

var ebmlID, segmentStart = []byte{0x1A, 0x45, 0xDF, 0xA3}, []byte{0x18, 0x53, 0x80, 0x67}

// ofSegment returns what of some bytes at an offset can belong to the Segment: what
// stands before the header of another, where the Segment states no size or was cut
// off and its size runs over that.
func (m *media) ofSegment(off int64, data []byte) []byte {
	known := m.next.Load()
	for at := 0; ; at++ {
		i := bytes.Index(data[at:], ebmlID)
		if i < 0 {
			break
		}
		at += i
		here := off + int64(at)
		if _, end, err := parseDocHeader(data[at:], here); err == nil && here > m.segment.offset {
			e, err := defaultLengths.parse(data[end-off:], end)
			if err == nil && e.id == idSegment && (known == 0 || here < known) && m.cutAt(here, e) {
				known = here
				m.next.Store(known)
			}
		}
	}
	if known > 0 {
		return data[:max(0, min(known-off, int64(len(data))))]
	}
	return data
}
