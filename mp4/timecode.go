package mp4

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// timecode is what the description of a time code track says (QuickTime File
// Format, timecode sample description): a frame lasts so many ticks of a timescale
// of its own. A sample holds the number of its first frame, in 4 bytes, or 8 in a
// tc64; the next ones count on from there for as long as the sample lasts.
type timecode struct {
	timescale, frame int64
	width            int64 // bytes of a sample
}

// readTimecode reads the description of a time code track; ok is false where it
// says nothing of use, or where samples hold no frame numbers.
func (t *track) readTimecode() (code timecode, ok bool) {
	if t.handler != "tmcd" {
		return code, false
	}
	for entry, err := range t.stsd.childrenAt(8) {
		p := entry.payload()
		if err != nil || len(p) < 25 {
			return code, false
		}
		code = timecode{int64(be.Uint32(p[16:])), int64(be.Uint32(p[20:])), 4}
		if entry.typ == "tc64" {
			code.width = 8
		}
		const counter = 8 // samples count something else
		return code, code.timescale > 0 && code.frame > 0 && be.Uint32(p[12:])&counter == 0
	}
	return code, false
}

// countFrames makes a cut of a time code begin with the first frame that begins in
// the interval, as its pictures do, and tells by how much its number is greater than
// that of the sample's first. Where a later edit shows what lies before that, the
// sample stays as it is: readers that honour edit lists have the right number.
func (c *cut) countFrames() {
	code, ok := c.track.readTimecode()
	s := c.track.tables
	if !ok || len(c.pieces) == 0 || c.pieces[0].still || s.size(c.pieces[0].samples.from) != code.width {
		return
	}
	p := &c.pieces[0]
	if p.samples.from != c.ranges[0].from || slices.ContainsFunc(c.pieces[1:], func(later piece) bool { return later.from < p.from }) {
		return
	}
	first := s.decode(p.samples.from) * c.refine
	ends := p.to
	if p.samples.to > p.samples.from+1 {
		ends = min(ends, s.decode(p.samples.from+1)*c.refine)
	}
	at := func(n int64) int64 { return ticksIn(n*code.frame, code.timescale, c.timescale()) }
	into := p.from - first
	n := ticksIn(into, c.timescale(), code.timescale) / code.frame
	for at(n) < into && first+at(n+1) < ends {
		n++
	}
	for n > 0 && first+at(n) >= ends {
		n--
	}
	if n <= 0 {
		return
	}
	if c.trimStart = at(n); c.trimStart > into {
		p.start = p.start.Add(fragment.Ticks(c.trimStart-into, c.timescale()))
		p.from = first + c.trimStart
	}
	c.frames = n
}

// Timecode is a [seek.Rewriter] of a time code sample: it adds to the number of
// the frame that the sample begins with.
type Timecode struct {
	Frames int64
}

var _ seek.Rewriter = Timecode{}

// Name returns "mp4-timecode".
func (Timecode) Name() string { return "mp4-timecode" }

// Rewrite returns the sample, of 4 or 8 bytes, from off on.
func (t Timecode) Rewrite(ctx context.Context, in seek.Input, off int64) (io.ReadCloser, error) {
	sample, err := readInput(ctx, in, 0, in.Size())
	if err != nil {
		return nil, err
	}
	if err := t.apply(sample); err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(sample[min(off, int64(len(sample))):])), nil
}

// apply changes a sample in place.
func (t Timecode) apply(sample []byte) error {
	switch len(sample) {
	case 4:
		be.PutUint32(sample, be.Uint32(sample)+uint32(t.Frames))
	case 8:
		be.PutUint64(sample, be.Uint64(sample)+uint64(t.Frames))
	default:
		return fmt.Errorf("a time code of %d bytes: %w", len(sample), io.ErrUnexpectedEOF)
	}
	return nil
}
