package hls

import (
	"context"
	"fmt"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/mpegts"
	"github.com/mediafrag/mediafrag/seek"
)

// tablesBytes is how much of the beginning of a transport stream is read for its
// program tables, which stand in its first packets.
const tablesBytes = 32 << 10

// tablesNote is what requests say of that.
const tablesNote = "program tables"

// hasInit reports whether something is to stand before a segment.
func (s *segment) hasInit() bool { return s.init != nil && s.init.uri != "" }

// inFront is what of its resource stands in front of a selection's first picture:
// probably the program tables. It is asked for along with the picture where it is
// little.
func (c *cut) inFront() (e extent, ok bool) {
	s := &c.list.segments[c.first]
	if !c.list.iframes || s.hasInit() || len(s.keys) > 0 || s.bytes.Offset <= 0 || s.bytes.Offset > tablesBytes {
		return e, false
	}
	_, name, err := c.segment(c.first)
	return beginningOf(name, s), err == nil
}

// beginningOf is the beginning of the resource that a segment is a part of.
func beginningOf(name string, s *segment) extent {
	return extent{name, seek.Range{Length: min(s.bytes.Offset, tablesBytes)}}
}

// tablesIn returns the program tables that b begins with, nil where they do not tell
// of a stream.
func tablesIn(b []byte) []byte {
	tables := mpegts.Tables(b)
	if _, err := mpegts.Scan(tables, 0); err != nil {
		return nil
	}
	return tables
}

// tables returns the program tables that a picture goes by whose own bytes have none,
// nil where they have: those of its initialization section or, without one, of the
// first picture of its stretch or what that one's resource begins with.
func (t *tsCut) tables(ctx context.Context, i int) ([]byte, error) {
	p, err := t.read(ctx, i)
	if err != nil || tablesIn(p.data) != nil {
		return nil, err
	}
	s := &t.list.segments[i]
	missing := func(problem string) error {
		return &formats.Error{Container: Name, Element: t.note(s), Offset: s.bytes.Offset, Err: formats.ErrDamaged,
			Problem: "the picture has no program map (PMT): " + problem, Hint: "without --variant iframes the stream itself is cut"}
	}
	if s.hasInit() {
		init, err := t.readInit(ctx, s.init)
		if err != nil {
			return nil, err
		}
		if tables := tablesIn(init.data); tables != nil {
			return tables, nil
		}
		return nil, missing("neither has its EXT-X-MAP")
	}
	first := i
	for j := i; j >= t.first && t.list.segments[j].discontinuity == s.discontinuity; j-- {
		if t.wanted(j) {
			first = j
		}
	}
	if p, err = t.read(ctx, first); err != nil {
		return nil, err
	}
	if tables := tablesIn(p.data); tables != nil {
		return tables, nil
	}
	if s = &t.list.segments[first]; len(s.keys) > 0 {
		return nil, missing("that which its resource begins with is encrypted otherwise")
	}
	if s.bytes.Offset <= 0 {
		return nil, missing("it begins its resource")
	}
	h, err := t.m.loader.read(ctx, beginningOf(p.name, s), seek.Probe, tablesNote)
	if err != nil {
		return nil, fmt.Errorf("reading the program tables of %s: %w", t.note(s), err)
	}
	tables := tablesIn(h.data)
	if tables == nil {
		return nil, missing(fmt.Sprintf("neither have the first %d bytes of its resource", len(h.data)))
	}
	return tables, nil
}

// pictureClock notes what the clock of a picture's stretch shows at time 0 of the
// timeline, by that picture.
func (t *tsCut) pictureClock(ctx context.Context, i int) error {
	s := &t.list.segments[i]
	if _, known := t.zero[s.discontinuity]; known {
		return nil
	}
	x, err := t.clock(ctx, i)
	if err == nil && x.known {
		t.zero[s.discontinuity] = x.start - s.start
	}
	return err
}
