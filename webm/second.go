package webm

import (
	"bytes"
	"context"

	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// secondSegment warns of a Segment that follows the first, as in files that were
// put one behind the other. Its times begin anew: mkvmerge and mpv read the first
// alone, ffmpeg goes back to 0 there, and its duration is the first's; this
// package reads the first.
func (m *media) secondSegment(ctx context.Context) ([]fragment.Warning, error) {
	at, size := m.segment.end(), m.w.Info().Size
	if m.segment.size == unknownSize {
		at = m.second.Load()
	} else if at < size {
		data, err := m.w.ReadRange(ctx, seek.Range{Offset: at, Length: min(maxHeader, size-at)}, seek.Index, "behind the Segment")
		if err != nil {
			return nil, err
		}
		if e, err := defaultLengths.parse(data, at); err != nil || e.id != idEBML && e.id != idSegment {
			return nil, nil
		}
	}
	if at == 0 || size >= 0 && at >= size {
		return nil, nil
	}
	return []fragment.Warning{warning("another Segment follows at byte %d: only the first is read, as players do; split the file there to use it", at)}, nil
}

// ofFirst returns what of some bytes at an offset can belong to a first Segment that
// states no size: what stands before the header of another.
func (m *media) ofFirst(off int64, data []byte) []byte {
	if m.segment.size != unknownSize {
		return data
	}
	known := m.second.Load()
	for at := 0; ; at++ {
		i := bytes.Index(data[at:], ebmlID)
		if i < 0 {
			break
		}
		at += i
		if _, n, err := parseDocHeader(data[at:]); err == nil && off+int64(at) > m.segment.offset {
			e, err := defaultLengths.parse(data[at+int(n):], 0)
			if err == nil && e.id == idSegment && (known == 0 || off+int64(at) < known) {
				known = off + int64(at)
				m.second.Store(known)
			}
		}
	}
	if known > 0 {
		return data[:max(0, min(known-off, int64(len(data))))]
	}
	return data
}

var ebmlID = []byte{0x1A, 0x45, 0xDF, 0xA3}
