package hls

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/audioframe"
	"github.com/mediafrag/mediafrag/internal/mpegts"
	"github.com/mediafrag/mediafrag/internal/segments"
	"github.com/mediafrag/mediafrag/seek"
)

// timestampOwner is who owns the PRIV frame that tells the timestamp of packed
// audio (RFC 8216 section 3.4).
const timestampOwner = "com.apple.streaming.transportStreamTimestamp"

// packed is a segment of packed audio: frames that describe themselves behind an
// ID3 tag with the timestamp of the first.
type packed struct {
	timestamp int64 // in ticks of 90 kHz, -1: none
	frames    []byte
	codec     string
	rate      int
	samples   int // of all frames
}

// readPacked reads a segment of packed audio.
func readPacked(b []byte) (p packed, ok bool) {
	p.timestamp = -1
	for {
		n := id3Size(b)
		if n == 0 {
			break
		}
		if t := id3Timestamp(b[:min(n, len(b))]); t >= 0 {
			p.timestamp = t
		}
		b = b[min(n, len(b)):]
	}
	f, ok := audioframe.Parse(b)
	if !ok {
		return p, false
	}
	p.frames, p.codec = b, f.Codec
	p.samples, p.rate = audioframe.Count(b)
	return p, true
}

// id3Size returns the size of the ID3v2 tag that begins b, 0 where none does.
func id3Size(b []byte) int {
	if len(b) < 10 || string(b[:3]) != "ID3" {
		return 0
	}
	n := 10 + int(b[6]&0x7f)<<21 + int(b[7]&0x7f)<<14 + int(b[8]&0x7f)<<7 + int(b[9]&0x7f)
	if b[5]&0x10 != 0 { // a footer
		n += 10
	}
	return n
}

// id3Timestamp returns the timestamp in a tag, -1 where there is none.
func id3Timestamp(tag []byte) int64 {
	_, after, ok := bytes.Cut(tag, []byte(timestampOwner+"\x00"))
	if !ok || len(after) < 8 {
		return -1
	}
	return int64(binary.BigEndian.Uint64(after) & (mpegts.Wrap - 1))
}

// length is how long a number of samples lasts.
func (p packed) length(samples int) time.Duration {
	return time.Duration(int64(samples) * int64(time.Second) / int64(p.rate))
}

// packedCut is a cut of segments of packed audio.
type packedCut struct {
	*locator
}

func newPackedCut(c *cut) *packedCut {
	t := &packedCut{}
	t.locator = newLocator(c, t.clock, func(ctx context.Context, i int) (time.Duration, bool, error) {
		x, err := t.clock(ctx, i)
		return x.start, x.known, err
	})
	return t
}

// planPacked makes the plan of a selection of packed audio: one file of frames,
// cut to whole frames at both ends.
func (c *cut) planPacked(ctx context.Context, _ formats.Selection) (*formats.Plan, error) {
	t := newPackedCut(c)
	if err := t.locate(ctx); err != nil {
		return nil, err
	}
	first, err := t.frames(ctx, t.first)
	if err != nil {
		return nil, err
	}
	p := &formats.Plan{MediaType: mediaTypes[first.codec], Requested: t.interval, Warnings: t.warnings}
	for i := t.first; i <= t.last; i++ {
		if !t.wanted(i) {
			continue
		}
		if i > t.first && i < t.last {
			part, err := t.part(i, Rewriter{Container: packedAudio, StripID3: true})
			if err != nil {
				return nil, err
			}
			part.Size = -1 // of the tag nothing is known
			p.Parts = append(p.Parts, part)
			continue
		}
		part, err := t.ends(ctx, i, &p.Covered.Start, &p.Covered.End)
		if err != nil {
			return nil, err
		}
		p.Parts = append(p.Parts, part)
	}
	p.Presented = p.Covered // nothing in such a file hides anything
	return p, nil
}

// frames returns what is in a segment that was read.
func (t *packedCut) frames(ctx context.Context, i int) (packed, error) {
	piece, err := t.read(ctx, i)
	if err != nil {
		return packed{}, err
	}
	p, ok := readPacked(piece.data)
	if !ok {
		return packed{}, notWhatItShould(packedAudio, piece.data)
	}
	return p, nil
}

func (t *packedCut) clock(ctx context.Context, i int) (times, error) {
	p, err := t.frames(ctx, i)
	if err != nil || p.timestamp < 0 {
		return times{}, err
	}
	s := &t.list.segments[i]
	start := span(mpegts.Near(p.timestamp, ticks(s.start+t.zero[s.discontinuity])))
	return times{start: start, end: start + p.length(p.samples), decodable: start, known: true}, nil
}

// ends returns the frames of the first or the last segment that lie in the
// interval, after those that a decoder needs before them.
func (t *packedCut) ends(ctx context.Context, i int, start, end *fragment.Time) (seek.Part, error) {
	p, err := t.frames(ctx, i)
	if err != nil {
		return seek.Part{}, err
	}
	x, err := t.times(ctx, i)
	if err != nil {
		return seek.Part{}, err
	}
	a, b := segments.Duration(t.interval.Start), segments.Duration(t.interval.End)
	from, to := 0, len(p.frames)
	fromSample, toSample := 0, p.samples
	at, sample := 0, 0
	var before []mark // frames that end before a
	for at < len(p.frames) {
		f, ok := audioframe.Parse(p.frames[at:])
		if !ok {
			break
		}
		if i == t.first && x.start+p.length(sample+f.Samples) <= a {
			before = append(before, mark{at, sample})
			from, fromSample = at+f.Size, sample+f.Samples
		}
		// Without a timestamp the place of a frame is known to about a frame: some
		// writers count the one that only describes the file.
		unsure := time.Duration(0)
		if p.timestamp < 0 {
			unsure = p.length(f.Samples)
		}
		if i == t.last && x.start+p.length(sample) >= b+unsure {
			to, toSample = at, sample
			break
		}
		at, sample = at+f.Size, sample+f.Samples
	}
	if lead := leadIn(p.codec, before, from); lead != nil {
		from, fromSample = lead.at, lead.sample
	}
	to = min(max(from, to), len(p.frames))
	if i == t.first {
		*start = segments.Time(x.start + p.length(fromSample))
	}
	if i == t.last {
		*end = segments.Time(x.start + p.length(toSample))
	}
	return mediaPart(p.frames[from:to], t.note(&t.list.segments[i])), nil
}

// mark is where a frame begins.
type mark struct{ at, sample int }

// reservoir is how far back in bytes a frame of MPEG audio may reach for its
// data.
const reservoir = 511

// leadIn returns from which frame on decoding begins, so that the frame at from
// comes out right: each overlaps with the one before it, and those of MPEG audio
// take data from several. Nil: from there.
func leadIn(codec string, before []mark, from int) *mark {
	need := 1
	if codec == audioframe.MPEGAudio {
		for need <= len(before) && from-before[len(before)-need].at < reservoir {
			need++
		}
		need++ // and its overlap
	}
	if len(before) == 0 {
		return nil
	}
	return &before[max(0, len(before)-need)]
}

// stripID3 returns a stream without the ID3 tags that it begins with.
func stripID3(in io.Reader) io.Reader { return &stripper{in: in} }

type stripper struct {
	in      io.Reader
	started bool
}

func (s *stripper) Read(p []byte) (int, error) {
	for !s.started {
		head := make([]byte, 10)
		n, err := io.ReadFull(s.in, head)
		if err != nil && err != io.ErrUnexpectedEOF {
			return 0, err
		}
		size := id3Size(head[:n])
		if size == 0 {
			s.in, s.started = io.MultiReader(bytes.NewReader(head[:n]), s.in), true
			break
		}
		if _, err := io.CopyN(io.Discard, s.in, int64(size-n)); err != nil {
			return 0, err
		}
	}
	return s.in.Read(p)
}
