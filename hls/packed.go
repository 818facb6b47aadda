package hls

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"slices"
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
	t.starts = streamStarts
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
	from, to := mark{}, mark{len(p.frames), p.samples}
	var before []mark // frames that end before a
	at := mark{}
	for at.at < len(p.frames) {
		f, ok := audioframe.Parse(p.frames[at.at:])
		if !ok {
			break
		}
		next := mark{at.at + f.Size, at.sample + f.Samples}
		if i == t.first && x.start+p.length(next.sample) <= a {
			before, from = append(before, at), next
		}
		// Without a timestamp the place of a frame is known to about a frame: some
		// writers count the one that only describes the file.
		unsure := time.Duration(0)
		if p.timestamp < 0 {
			unsure = p.length(f.Samples)
		}
		if i == t.last && x.start+p.length(at.sample) >= b+unsure {
			to = at
			break
		}
		at = next
	}
	to.at = min(max(from.at, to.at), len(p.frames))
	lead := []byte(nil) // of the segment before
	if i == t.first {
		if lead, from, err = t.leadIn(ctx, p, before, from); err != nil {
			return seek.Part{}, err
		}
		*start = segments.Time(x.start + p.length(from.sample))
	}
	if i == t.last {
		*end = segments.Time(x.start + p.length(to.sample))
	}
	return mediaPart(slices.Concat(lead, p.frames[max(0, from.at):to.at]), t.note(&t.list.segments[i])), nil
}

// mark is where a frame begins: its byte and its sample. Those of the segment
// before are negative.
type mark struct{ at, sample int }

// reservoir is how far back in bytes a frame of MPEG audio may reach for its
// data.
const reservoir = 511

// leadIn returns from which frame on decoding begins, so that the frame at from
// in the first segment comes out right: each overlaps with the one before it, and
// those of MPEG audio take data from several. Before are the frames before it;
// where they do not suffice, the last of the segment before are taken.
func (t *packedCut) leadIn(ctx context.Context, p packed, before []mark, from mark) (lead []byte, first mark, err error) {
	n, enough := leadFrames(p.codec, before, from)
	if previous := t.far(t.first, -1); !enough && previous != t.first {
		q, err := t.frames(ctx, previous)
		if err != nil {
			return nil, from, err
		}
		if q.codec == p.codec && q.rate == p.rate {
			before = append(q.marks(), before...)
			n, _ = leadFrames(p.codec, before, from)
			lead = q.frames
		}
	}
	if n == 0 {
		return nil, from, nil
	}
	first = before[len(before)-n]
	return lead[len(lead)-min(len(lead), max(0, -first.at)):], first, nil
}

// marks are the frames of a segment as seen from the next.
func (p packed) marks() []mark {
	var out []mark
	at := mark{-len(p.frames), -p.samples}
	for at.at < 0 {
		f, ok := audioframe.Parse(p.frames[len(p.frames)+at.at:])
		if !ok {
			return nil // where the next one begins is not known
		}
		out = append(out, at)
		at = mark{at.at + f.Size, at.sample + f.Samples}
	}
	if at.at != 0 {
		return nil // the last one is cut off
	}
	return out
}

// leadFrames returns how many of the frames before one have to be decoded so
// that it comes out right, and whether there are enough.
func leadFrames(codec string, before []mark, from mark) (n int, enough bool) {
	n = 1
	if codec == audioframe.MPEGAudio {
		for n <= len(before) && from.at-before[len(before)-n].at < reservoir {
			n++
		}
		n++ // and its overlap
	}
	return min(n, len(before)), n <= len(before)
}

// leadTime is how long the frames last, at most, that decoding packed audio, or
// the sound of WebM, takes before the first: MPEG audio at low rates takes a
// dozen.
func leadTime(uri string) time.Duration {
	switch extension(uri, "") {
	case ".mp3":
		return 350 * time.Millisecond
	case ".aac", ".ac3", ".ec3", ".eac3":
		return 60 * time.Millisecond
	case ".webm", ".weba", ".mkv", ".mka", ".chk":
		return webmLead
	}
	return 0
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
