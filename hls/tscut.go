package hls

import (
	"context"
	"fmt"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/mpegts"
	"github.com/mediafrag/mediafrag/internal/segments"
	"github.com/mediafrag/mediafrag/seek"
)

// Numbers of the correction of a selection by the timestamps in its segments.
const (
	// mostNeighbours is how often the selection's end is moved to a neighbour
	// because timestamps say so.
	mostNeighbours = 2
	// doubt is by how much the durations in a playlist may be wrong before the
	// beginning of its stream is looked at, and doubtAt by how much where that
	// is reckoned up to the interval.
	doubt   = 100 * time.Millisecond
	doubtAt = 250 * time.Millisecond
	// rounding is how far off a duration is that was rounded to milliseconds.
	rounding = 2 * time.Millisecond
	// halfFrame is how much of a packet of sound may be missing at either end:
	// half a frame of AAC at 44.1 kHz.
	halfFrame = 12 * time.Millisecond
	// edgeBytes is how much of a neighbour is read for the sound that it has of
	// the interval.
	edgeBytes = 192 << 10
)

// tsCut is a cut of transport stream segments.
type tsCut struct {
	*cut
	// zero is, for each stretch between discontinuities, the timestamp at time 0
	// of the timeline.
	zero map[int64]int64
	// scale is how many times longer segments are than the playlist says.
	scale float64
	// before and after are what neighbours have of the interval's sound.
	before, after []byte
}

// ticks is a time on the clock of transport streams.
func ticks(d time.Duration) int64 {
	whole := int64(d / time.Second)
	return whole*mpegts.Clock + (int64(d%time.Second)*mpegts.Clock+int64(time.Second)/2)/int64(time.Second)
}

// span is a number of ticks as a length of time.
func span(t int64) time.Duration {
	return time.Duration(t/mpegts.Clock)*time.Second + time.Duration(t%mpegts.Clock*int64(time.Second)/mpegts.Clock)
}

// planTS makes the plan of a selection of transport stream segments.
func (c *cut) planTS(ctx context.Context, s formats.Selection) (*formats.Plan, error) {
	t := &tsCut{cut: c, zero: map[int64]int64{}, scale: 1}
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
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.ts != nil {
		return p, nil
	}
	s := &t.list.segments[i]
	near := ticks(s.start)
	if zero, known := t.zero[s.discontinuity]; known {
		near += zero
	}
	if p.ts, err = mpegts.Scan(p.data, near); err != nil {
		return nil, &formats.Error{Container: Name, Element: t.note(s), Offset: 0, Problem: err.Error(), Err: formats.ErrDamaged}
	}
	for _, x := range p.ts.Streams {
		if x.Encrypted() {
			return nil, unsupported(t.note(s), "its samples are encrypted (SAMPLE-AES)", "")
		}
	}
	return p, nil
}

// times returns what a segment presents, on the timeline. Where it has no
// timestamps the playlist is believed.
func (t *tsCut) times(ctx context.Context, i int) (start, end time.Duration, p *piece, err error) {
	s := &t.list.segments[i]
	if p, err = t.scan(ctx, i); err != nil {
		return 0, 0, nil, err
	}
	lead := p.ts.Lead()
	if lead == nil {
		return s.start, s.end(), p, nil
	}
	zero, known := t.zero[s.discontinuity]
	if !known {
		zero = lead.First - ticks(s.start)
		t.zero[s.discontinuity] = zero
	}
	return span(lead.First - zero), span(lead.End - zero), p, nil
}

// locate moves both ends of the selection to where timestamps say that the
// interval lies.
func (t *tsCut) locate(ctx context.Context) error {
	if _, _, _, err := t.times(ctx, t.first); err != nil {
		return err
	}
	wrong, err := t.doubtful(ctx)
	if err != nil {
		return err
	}
	if wrong {
		if err := t.beginning(ctx); err != nil {
			return err
		}
	}
	if err := t.locateStart(ctx); err != nil {
		return err
	}
	return t.locateEnd(ctx)
}

// doubtful reports whether timestamps contradict the durations in the playlist
// so much that the sum of all before the interval can not be believed.
func (t *tsCut) doubtful(ctx context.Context) (bool, error) {
	first := &t.list.segments[t.first]
	from := t.run(t.first)
	if from == t.first {
		return false, nil // nothing before it
	}
	before := first.start - t.list.segments[from].start
	start, end, _, err := t.times(ctx, t.first)
	if err != nil {
		return false, err
	}
	measured, said, n := end-start, first.duration, 1
	if last := &t.list.segments[t.last]; last.discontinuity == first.discontinuity && t.last > t.first {
		lastStart, _, _, err := t.times(ctx, t.last)
		if err != nil {
			return false, err
		}
		if !contradicts(measured, said, before, n) {
			measured, said, n = lastStart-start, last.start-first.start, t.last-t.first
		}
	}
	if !contradicts(measured, said, before, n) {
		return false, nil
	}
	if measured > 0 && said > 0 {
		t.scale = float64(measured) / float64(said)
	}
	return true, nil
}

// contradicts reports whether a measured length and the one that a playlist
// says of n segments differ by so much that a sum of such lengths, before, is
// not to be believed.
func contradicts(measured, said, before time.Duration, n int) bool {
	wrong := measured - said
	if wrong < 0 {
		wrong = -wrong
	}
	if said <= 0 || wrong > doubt {
		return true
	}
	reckoned := float64(wrong) / float64(said) * float64(before)
	return wrong > time.Duration(n)*rounding && reckoned > float64(doubtAt)
}

// run returns the first segment of the stretch between discontinuities that a
// segment lies in.
func (t *tsCut) run(i int) int {
	for i > 0 && t.list.segments[i-1].discontinuity == t.list.segments[i].discontinuity && !t.list.segments[i-1].gap {
		i--
	}
	return i
}

// beginning reads where the clock of the first segment's stretch begins, so that
// nothing depends on the sum of durations.
func (t *tsCut) beginning(ctx context.Context) error {
	from := t.run(t.first)
	s := &t.list.segments[from]
	head, err := t.edge(ctx, from, true)
	if err != nil {
		return err
	}
	scan, err := mpegts.Scan(head, t.zero[s.discontinuity])
	if err != nil || scan.Lead() == nil {
		return nil // it stays with what the playlist says
	}
	t.zero[s.discontinuity] = scan.Lead().First - ticks(s.start)
	t.warn("the durations in the playlist are wrong: the interval was found by the timestamps in the segments")
	return nil
}

// locateStart moves the selection's first segment.
func (t *tsCut) locateStart(ctx context.Context) error {
	a := segments.Duration(t.interval.Start)
	for range mostNeighbours + 1 {
		start, end, p, err := t.times(ctx, t.first)
		if err != nil {
			return err
		}
		lead := p.ts.Lead()
		undecodable := lead != nil && lead.Kind == mpegts.Video && lead.Starts &&
			span(lead.RandomAccess-t.zero[t.list.segments[t.first].discontinuity]) > a+time.Millisecond
		next := t.first
		switch {
		case a < start-time.Millisecond:
			next = t.far(t.first, a-start)
		case a >= end && t.first < len(t.list.segments)-1:
			next = t.far(t.first, a-end+1)
		case undecodable:
			next = t.far(t.first, -1)
		}
		if next == t.first {
			return nil
		}
		t.first = next
		t.last = max(t.last, t.first)
	}
	return nil
}

// locateEnd moves the selection's last segment.
func (t *tsCut) locateEnd(ctx context.Context) error {
	b := segments.Duration(t.interval.End)
	for range mostNeighbours + 1 {
		start, end, _, err := t.times(ctx, t.last)
		if err != nil {
			return err
		}
		next := t.last
		switch {
		case start >= b && t.last > t.first:
			next = max(t.first, t.far(t.last, b-1-start))
		case end < b-halfFrame:
			next = t.far(t.last, b-end)
		}
		if next == t.last {
			return nil
		}
		t.last = next
	}
	return nil
}

// far returns the segment in which a time lies that is a distance before a
// segment's start or behind its end, or the last on the way there that is of the
// same stretch and exists.
func (t *tsCut) far(i int, distance time.Duration) int {
	step := 1
	if distance < 0 {
		step, distance = -1, -distance
	}
	for {
		next := i + step
		if next < 0 || next >= len(t.list.segments) {
			return i
		}
		s := &t.list.segments[next]
		if s.gap || s.discontinuity != t.list.segments[i].discontinuity {
			return i
		}
		i = next
		if distance -= time.Duration(float64(s.duration) * t.scale); distance <= 0 {
			return i
		}
	}
}

// sound reads from the neighbours what they have of the interval's sound: the
// packets of sound lie a little before or behind the pictures that they belong
// to.
func (t *tsCut) sound(ctx context.Context) error {
	_, _, first, err := t.times(ctx, t.first)
	if err != nil {
		return err
	}
	if err := t.soundBefore(ctx, first); err != nil {
		return err
	}
	_, _, last, err := t.times(ctx, t.last)
	if err != nil {
		return err
	}
	return t.soundAfter(ctx, last)
}

// at returns the timestamp of a time in a segment's stretch.
func (t *tsCut) at(i int, d time.Duration) int64 {
	return ticks(d) + t.zero[t.list.segments[i].discontinuity]
}

func (t *tsCut) soundBefore(ctx context.Context, first *piece) error {
	a := t.at(t.first, segments.Duration(t.interval.Start))
	late := false
	for _, x := range first.ts.Streams {
		late = late || x.Kind == mpegts.Audio && x.Packets > 0 && x.First > a+ticks(halfFrame)
	}
	i := t.far(t.first, -1)
	if !late || i == t.first {
		return nil
	}
	tail, err := t.edge(ctx, i, false)
	if err != nil {
		return err
	}
	t.before, _, err = mpegts.After(tail, a, first.ts, mpegts.Tables(first.data), a)
	return err
}

func (t *tsCut) soundAfter(ctx context.Context, last *piece) error {
	b := t.at(t.last, segments.Duration(t.interval.End))
	early := false
	for _, x := range last.ts.Streams {
		early = early || x.Kind == mpegts.Audio && x.Packets > 0 && x.End < b-ticks(halfFrame)
	}
	i := t.far(t.last, 1)
	if !early || i == t.last {
		return nil
	}
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
	if p != nil {
		return p.data, nil
	}
	s, name, err := t.segment(i)
	if err != nil {
		return nil, err
	}
	r := edgeRange(s.bytes, first)
	h, err := t.m.loader.read(ctx, extent{name, r}, seek.Probe, "edge of "+t.note(s))
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

// edgeRange is the range of the first or the last bytes of a segment.
func edgeRange(of seek.Range, first bool) seek.Range {
	switch {
	case first && of.Length < 0:
		return seek.Range{Offset: of.Offset, Length: edgeBytes}
	case of.Length < 0:
		return seek.Suffix(edgeBytes)
	}
	n := min(of.Length, edgeBytes)
	if first {
		return seek.Range{Offset: of.Offset, Length: n}
	}
	return seek.Range{Offset: of.End() - n, Length: n}
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
	start, _, first, err := t.times(ctx, t.first)
	if err != nil {
		return nil, err
	}
	p := &formats.Plan{MediaType: mediaTypes[transportStream], Requested: t.interval, Warnings: t.warnings}
	if len(t.before) > 0 {
		p.Parts = append(p.Parts, mediaPart(t.before, "sound at the interval's beginning, of the segment before"))
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
		shift, err := t.shift(ctx, i, first, s.Timeline)
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
	_, end, _, err := t.times(ctx, t.last)
	if err != nil {
		return nil, err
	}
	p.Covered.Start, p.Covered.End = segments.Time(start), segments.Time(end)
	p.Presented = p.Covered // nothing in a transport stream hides anything
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
// go on from those of the first one.
func (t *tsCut) shift(ctx context.Context, i int, first *piece, timeline formats.Timeline) (int64, error) {
	run, firstRun := t.list.segments[i].discontinuity, t.list.segments[t.first].discontinuity
	if run == firstRun {
		return 0, nil
	}
	if _, known := t.zero[run]; !known {
		_, _, p, err := t.times(ctx, i)
		if err != nil {
			return 0, err
		}
		if !alike(first.ts, p.ts) {
			return 0, unsupported("EXT-X-DISCONTINUITY", fmt.Sprintf("the streams before and after %s differ: one file cannot hold both", t.note(&t.list.segments[i])),
				"-o FOLDER/ writes a playlist with its segments")
		}
	}
	if timeline == formats.Original {
		return 0, nil
	}
	return t.zero[firstRun] - t.zero[run], nil
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
