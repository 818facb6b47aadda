package mp4

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/bits"
	"github.com/mediafrag/mediafrag/seek"
)

// Encoders of H.264 can refresh pictures bit by bit rather than send whole ones.
// Muxers list where that begins as sync samples, but pictures are right some frames
// later only, which a message in the media tells (ITU-T H.264 annex D.1.8, recovery
// point). Such samples are no larger than those around them: those are looked into.

// refresh is how many reference frames it takes in a track until pictures are right
// from a sync sample on that may not be a whole picture; 0: none, as far as is known.
type refresh struct{ atomic.Int64 }

// Bounds on finding out.
const (
	refreshBytes  = 2 << 10 // of a sample that are looked at
	refreshAround = 12      // samples around one that it is compared with
	refreshLeast  = 2       // a whole picture is so many times as large as the largest of them
	maxRefresh    = 1024    // frames
)

// refreshes reports whether a sync sample may be where pictures begin to be
// refreshed rather than a whole one, by its size.
func (s *sampleTables) refreshes(sample int64) bool {
	largest := int64(0)
	for i := max(0, sample-refreshAround); i < min(s.count, sample+refreshAround+1); i++ {
		if !s.isSync(i) {
			largest = max(largest, s.size(i))
		}
	}
	return s.size(sample) < refreshLeast*largest
}

// refreshed returns the first sample that is right where decoding begins at one
// from which on so many reference frames refresh pictures. It is so many after the
// next such sample: decoders drop the first pictures, which refer to what was cut,
// and with them some of what these refresh. Those frames are counted that are
// presented after all before them; all others may be no references.
func (s *sampleTables) refreshed(sample, frames int64) int64 {
	next := s.syncFrom(sample + 1)
	if next < 0 {
		return max(sample, s.count-1)
	}
	latest := s.compose(next)
	for i := next + 1; i < s.count; i++ {
		if at := s.compose(i); at > latest {
			latest = at
			if frames--; frames <= 0 {
				return i
			}
		}
	}
	return max(sample, s.count-1)
}

// refreshing reports whether pictures begin to be refreshed at a sync sample.
func (s *sampleTables) refreshing(sample int64) bool {
	return s.refresh != nil && s.refresh.Load() > 0 && s.refreshes(sample)
}

// tooLate reports whether a sync sample of the lead-in is one from which on pictures
// are not right soon enough: players that begin with the last sync sample before an
// edit must not find it.
func (c *cut) tooLate(sample int64) bool {
	s := c.track.tables
	if !s.refreshing(sample) || slices.ContainsFunc(c.ranges, func(r sampleRange) bool { return r.from == sample }) {
		return false
	}
	right, _ := s.rightFrom(sample)
	return slices.ContainsFunc(c.pieces, func(p piece) bool {
		return s.compose(sample)*c.refine <= p.from && s.compose(right)*c.refine > p.from
	})
}

// learnRefresh looks into the sample with which the pictures of an interval would
// begin, where it may be no whole picture. Learned says that it is none.
func (f *file) learnRefresh(ctx context.Context, v *view, chosen []*track) (learned bool, err error) {
	for _, t := range chosen {
		t := v.track(t.id)
		s := t.tables
		if t.kind != formats.Video || t.entry.nalLength == 0 || t.entry.encrypted || s.all || s.count == 0 || s.refresh == nil || s.refresh.Load() > 0 {
			continue
		}
		from, _, ok := v.needs(t, v.want)
		if !ok {
			continue
		}
		first := s.lastSync(from)
		if first < 0 || !s.isSync(first) || !s.refreshes(first) {
			continue
		}
		chunks, err := s.chunksOf(first, first+1)
		if err != nil || len(chunks) == 0 {
			continue // an error shows again when it matters
		}
		data, err := f.window.ReadRange(ctx, seek.Range{Offset: chunks[0].offset, Length: min(chunks[0].size, refreshBytes)}, seek.Media, "samples")
		if err != nil {
			return false, err
		}
		if n := recoveryFrames(data, t.entry.nalLength); n > 0 {
			s.refresh.Store(min(n, maxRefresh))
			learned = true
		}
	}
	return learned, nil
}

// learned makes the movie know what another reading of it has learned and will.
func (m *movie) learned(from *movie) {
	for i, t := range m.tracks {
		if i < len(from.tracks) {
			t.common.refresh = from.tracks[i].common.refresh
		}
	}
}

// recoveryFrames returns how many frames after a picture of H.264 pictures are
// right, by the message in front of its slices; 0 where there is none.
func recoveryFrames(sample []byte, nalLength int) int64 {
	for len(sample) > nalLength {
		n := 0
		for _, b := range sample[:nalLength] {
			n = n<<8 | int(b)
		}
		unit := sample[nalLength:]
		if n <= 0 || n > len(unit) {
			return 0
		}
		switch unit[0] & 31 {
		case 1, 2, 3, 4, 5: // slices
			return 0
		case 6:
			if frames, ok := recoveryMessage(unescaped(unit[1:n])); ok {
				return frames
			}
		}
		sample = unit[n:]
	}
	return 0
}

// recoveryMessage finds the recovery point among the messages of a unit.
func recoveryMessage(p []byte) (frames int64, ok bool) {
	for len(p) >= 2 && p[0] != 0x80 {
		var typ, size int
		for _, field := range []*int{&typ, &size} {
			for len(p) > 0 {
				b := p[0]
				p = p[1:]
				if *field += int(b); b != 0xff {
					break
				}
			}
		}
		if size > len(p) {
			return 0, false
		}
		if typ == 6 {
			r := bits.Reader{Data: p[:size]}
			zeros := 0
			for r.Left() > 0 && r.Read(1) == 0 {
				zeros++
			}
			if zeros > 16 || r.Left() < zeros {
				return 0, false
			}
			return 1<<zeros - 1 + int64(r.Read(zeros)), true
		}
		p = p[size:]
	}
	return 0, false
}

// unescaped returns the payload of a unit without the bytes that keep start codes
// out of it.
func unescaped(p []byte) []byte {
	out := make([]byte, 0, len(p))
	zeros := 0
	for _, b := range p {
		if zeros >= 2 && b == 3 {
			zeros = 0
			continue
		}
		if zeros++; b != 0 {
			zeros = 0
		}
		out = append(out, b)
	}
	return out
}
