package hls

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/mpegts"
	"github.com/mediafrag/mediafrag/internal/segments"
	"github.com/mediafrag/mediafrag/seek"
)

// streamStarts are what the clocks of transport streams usually show at their
// beginning, which may not be 0 where a clock of the decoder runs before it: 1.4 s
// is what ffmpeg takes for that, and 10 s what Apple's tools do.
var streamStarts = []time.Duration{0, 1400 * time.Millisecond, 10 * time.Second}

// halfFrame is how much of a packet of sound may be missing at either end where
// the length of its frames is not known: half a frame of AAC at 44.1 kHz.
const halfFrame = 12 * time.Millisecond

// mayLack is how much of a stream of sound may be missing at either end, in
// ticks. A frame is in a clip if at least half of it lies in the interval, so
// that of clips that follow one another none lacks in both.
func mayLack(x mpegts.Stream) int64 {
	if x.Frame > 0 {
		return x.Frame / 2
	}
	return ticks(halfFrame)
}

// tsCut is a cut of transport stream segments.
type tsCut struct {
	*locator
	// before and after are what neighbours have of the interval's sound.
	before, after []byte
}

// ticks is a time on the clock of transport streams.
func ticks(d time.Duration) int64 {
	whole := int64(d / time.Second)
	return whole*mpegts.Clock + (int64(d%time.Second)*mpegts.Clock+int64(time.Second)/2)/int64(time.Second)
}

// span is a number of ticks as a length of time. It is rounded down on either
// side of 0, where clocks begin anew, too: so times that lie whole nanoseconds
// apart still do.
func span(t int64) time.Duration {
	whole, rest := t/mpegts.Clock, t%mpegts.Clock
	if rest < 0 {
		whole, rest = whole-1, rest+mpegts.Clock
	}
	return time.Duration(whole)*time.Second + time.Duration(rest*int64(time.Second)/mpegts.Clock)
}

func newTSCut(c *cut) *tsCut {
	t := &tsCut{}
	t.locator = newLocator(c, t.clock, t.head)
	t.starts = streamStarts
	return t
}

// planTS makes the plan of a selection of transport stream segments.
func (c *cut) planTS(ctx context.Context, s formats.Selection) (*formats.Plan, error) {
	t := newTSCut(c)
	if err := t.locate(ctx); err != nil {
		return nil, err
	}
	if err := t.sound(ctx); err != nil {
		return nil, err
	}
	return t.plan(ctx, s)
}

// scan reads a segment and its timestamps.
func (t *tsCut) scan(ctx context.Context, i int) (*piece, error) {
	p, err := t.read(ctx, i)
	if err != nil {
		return nil, err
	}
	var tables []byte
	if p.ts == nil && t.list.iframes {
		if tables, err = t.tables(ctx, i); err != nil {
			return nil, err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &t.list.segments[i]
	if p.ts == nil {
		near := ticks(s.start + t.zero[s.discontinuity])
		if p.ts, err = mpegts.Scan(append(tables, p.data...), near); err != nil {
			return nil, &formats.Error{Container: Name, Element: t.note(s), Offset: 0, Problem: err.Error(), Err: formats.ErrDamaged}
		}
	}
	for _, x := range p.ts.Streams {
		if x.Encrypted() {
			return nil, unsupported(t.note(s), "its samples are encrypted (SAMPLE-AES)", "")
		}
	}
	return p, nil
}

// clock returns what a segment presents on its own clock.
func (t *tsCut) clock(ctx context.Context, i int) (times, error) {
	p, err := t.scan(ctx, i)
	if err != nil {
		return times{}, err
	}
	lead := p.ts.Lead()
	if lead == nil {
		return times{}, nil
	}
	x := times{start: span(lead.First), end: span(lead.End), known: true}
	if x.decodable = x.start; lead.Kind == mpegts.Video && lead.Starts {
		x.decodable = span(lead.RandomAccess)
	}
	return x, nil
}

// head returns the clock at the beginning of a segment, of which no more is
// read than that takes.
func (t *tsCut) head(ctx context.Context, i int) (start time.Duration, ok bool, err error) {
	b, err := t.edge(ctx, i, true)
	if err != nil {
		return 0, false, err
	}
	s := &t.list.segments[i]
	scan, err := mpegts.Scan(b, ticks(s.start+t.zero[s.discontinuity]))
	if err != nil || scan.Lead() == nil {
		return 0, false, nil
	}
	return span(scan.Lead().First), true, nil
}

// sound reads from the neighbours what they have of the interval's sound: the
// packets of sound lie a little before or behind the pictures that they belong
// to.
func (t *tsCut) sound(ctx context.Context) error {
	if t.list.iframes {
		return nil
	}
	first, err := t.scan(ctx, t.first)
	if err != nil {
		return err
	}
	if err := t.soundBefore(ctx, first); err != nil {
		return err
	}
	last, err := t.scan(ctx, t.last)
	if err != nil {
		return err
	}
	return t.soundAfter(ctx, last)
}

// at returns the timestamp of a time in a segment's stretch.
func (t *tsCut) at(i int, d time.Duration) int64 {
	return ticks(d + t.zero[t.list.segments[i].discontinuity])
}

// late reports whether sound begins so late in the first segment that the one
// before has some of the interval's, and which that is.
func (t *tsCut) late(first *piece) (before int, late bool) {
	a := t.at(t.first, segments.Duration(t.interval.Start))
	for _, x := range first.ts.Streams {
		late = late || x.Kind == mpegts.Audio && x.Packets > 0 && x.First > a+mayLack(x)
	}
	before = t.far(t.first, -1)
	return before, late && before != t.first
}

// early reports whether sound ends so early in the last segment that the one
// behind has some of the interval's, and which that is.
func (t *tsCut) early(last *piece) (behind int, early bool) {
	b := t.at(t.last, segments.Duration(t.interval.End))
	for _, x := range last.ts.Streams {
		early = early || x.Kind == mpegts.Audio && x.Packets > 0 && x.End < b-mayLack(x)
	}
	behind = t.far(t.last, 1)
	return behind, early && behind != t.last
}

// widen takes whole neighbours for their sound.
func (t *tsCut) widen(ctx context.Context) error {
	first, err := t.scan(ctx, t.first)
	if err != nil {
		return err
	}
	last, err := t.scan(ctx, t.last)
	if err != nil {
		return err
	}
	before, late := t.late(first)
	behind, early := t.early(last)
	if late {
		t.first = before
	}
	if early {
		t.last = behind
	}
	return nil
}

func (t *tsCut) soundBefore(ctx context.Context, first *piece) error {
	i, late := t.late(first)
	if !late {
		return nil
	}
	a := t.at(t.first, segments.Duration(t.interval.Start))
	tail, err := t.edge(ctx, i, false)
	if err != nil {
		return err
	}
	t.before, _, err = mpegts.After(tail, a, first.ts, mpegts.Tables(first.data), a)
	return err
}

func (t *tsCut) soundAfter(ctx context.Context, last *piece) error {
	i, early := t.early(last)
	if !early {
		return nil
	}
	b := t.at(t.last, segments.Duration(t.interval.End))
	head, err := t.edge(ctx, i, true)
	if err != nil {
		return err
	}
	var complete bool
	if t.after, complete, err = mpegts.Before(head, b, b); err != nil || complete || len(head) < edgeBytes-mpegts.PacketSize {
		return err
	}
	whole, err := t.read(ctx, i)
	if err != nil {
		return err
	}
	t.after, _, err = mpegts.Before(whole.data, b, b)
	return err
}

// edge reads the first or the last bytes of a segment, decrypted, in whole
// packets.
func (t *tsCut) edge(ctx context.Context, i int, first bool) ([]byte, error) {
	t.mu.Lock()
	p := t.pieces[i]
	t.mu.Unlock()
	if p != nil && p.data != nil {
		return p.data, nil
	}
	s, name, err := t.segment(i)
	if err != nil {
		return nil, err
	}
	r := edgeRange(s.bytes, -edgeBytes)
	if first {
		r = edgeRange(s.bytes, edgeBytes)
	}
	h, err := t.m.loader.read(ctx, extent{name, r}, seek.Probe, "edge of "+t.note(s))
	if errors.Is(err, seek.ErrNoRanges) { // then all of it
		p, err := t.read(ctx, i)
		if err != nil {
			return nil, err
		}
		return p.data, nil
	}
	if err != nil {
		return nil, err
	}
	off := h.off - s.bytes.Offset // in the segment
	data := h.data
	k, err := usable(s.keys)
	if err != nil {
		return nil, err
	}
	if k != nil {
		if data, off, err = t.decryptEdge(ctx, k, s, data, off); err != nil {
			return nil, err
		}
	}
	skip := (mpegts.PacketSize - off%mpegts.PacketSize) % mpegts.PacketSize
	return data[min(skip, int64(len(data))):], nil
}

// decryptEdge decrypts a piece of a segment that begins at off. A piece that
// does not begin the segment loses a block, and what the padding is is not
// known: it is no whole packet.
func (t *tsCut) decryptEdge(ctx context.Context, k *key, s *segment, b []byte, off int64) ([]byte, int64, error) {
	block, err := t.cipher(ctx, k)
	if err != nil {
		return nil, 0, err
	}
	iv := k.ivOf(s.sequence)
	if off > 0 {
		skip := (16 - off%16) % 16
		if int64(len(b)) < skip+16 {
			return nil, off, nil
		}
		copy(iv[:], b[skip:])
		b, off = b[skip+16:], off+skip+16
	}
	plain := make([]byte, len(b)/16*16)
	newCBC(block, iv).CryptBlocks(plain, b[:len(plain)])
	return plain, off, nil
}

// plan puts the parts together.
func (t *tsCut) plan(ctx context.Context, s formats.Selection) (*formats.Plan, error) {
	covered, err := t.covered(ctx)
	if err != nil {
		return nil, err
	}
	first, err := t.scan(ctx, t.first)
	if err != nil {
		return nil, err
	}
	p := &formats.Plan{MediaType: mediaTypes[transportStream], Requested: t.interval, Warnings: t.warnings}
	if len(t.before) > 0 {
		p.Parts = append(p.Parts, mediaPart(t.before, "sound at the interval's beginning, of the segment before"))
	}
	if t.list.iframes {
		tables, err := t.tables(ctx, t.first)
		if err != nil {
			return nil, err
		}
		if len(tables) > 0 && !t.list.segments[t.first].hasInit() {
			p.Parts = append(p.Parts, seek.Literal(tables, tablesNote))
		}
	}
	var section *initSection
	for i := t.first; i <= t.last; i++ {
		if !t.wanted(i) {
			continue
		}
		x := &t.list.segments[i]
		if x.init != nil && !x.init.same(section) {
			section = x.init
			if p.Parts, err = t.addInit(ctx, p.Parts, section); err != nil {
				return nil, err
			}
		}
		shift, err := t.shift(ctx, i, first, s.Timeline == formats.Original || s.Form == formats.Verbatim)
		if err != nil {
			return nil, err
		}
		part, err := t.part(i, Rewriter{Container: transportStream, Shift: shift})
		if err != nil {
			return nil, err
		}
		p.Parts = append(p.Parts, part)
	}
	if len(t.after) > 0 {
		p.Parts = append(p.Parts, mediaPart(t.after, "sound at the interval's end, of the segment behind"))
	}
	p.Covered = covered
	p.Presented = covered // nothing in a transport stream hides anything
	return p, nil
}

// addInit adds an initialization section to a plan's parts.
func (c *cut) addInit(ctx context.Context, parts []seek.Part, section *initSection) ([]seek.Part, error) {
	if section.uri == "" {
		return parts, nil
	}
	if _, err := c.readInit(ctx, section); err != nil {
		return nil, err
	}
	part, err := c.initPart(section)
	return append(parts, part), err
}

// shift returns by how many ticks the clocks of a segment are moved so that they
// go on from those of the first one, unless they are to be kept.
func (t *tsCut) shift(ctx context.Context, i int, first *piece, keep bool) (int64, error) {
	run, firstRun := t.list.segments[i].discontinuity, t.list.segments[t.first].discontinuity
	if run == firstRun {
		return 0, nil
	}
	if _, known := t.zero[run]; !known {
		if _, err := t.times(ctx, i); err != nil {
			return 0, err
		}
		p, err := t.scan(ctx, i)
		if err != nil {
			return 0, err
		}
		if t.list.iframes {
			for _, j := range []int{t.first, i} {
				if err := t.pictureClock(ctx, j); err != nil {
					return 0, err
				}
			}
		}
		if !alike(first.ts, p.ts) {
			return 0, unsupported("EXT-X-DISCONTINUITY", fmt.Sprintf("the streams before and after %s differ: one file cannot hold both", t.note(&t.list.segments[i])),
				"-o FOLDER/ writes a playlist with its segments")
		}
	}
	if keep {
		return 0, nil
	}
	return ticks(t.zero[firstRun]) - ticks(t.zero[run]), nil
}

// alike reports whether two segments have the same streams under the same
// numbers, so that a decoder of one goes on with the other.
func alike(a, b *mpegts.Segment) bool {
	if len(a.Streams) != len(b.Streams) {
		return false
	}
	for i := range a.Streams {
		if a.Streams[i].PID != b.Streams[i].PID || a.Streams[i].Type != b.Streams[i].Type {
			return false
		}
	}
	return true
}

// mediaPart is a part of bytes of the medium that were read and cut.
func mediaPart(b []byte, note string) seek.Part {
	p := seek.Literal(b, note)
	p.Purpose = seek.Media
	return p
}
