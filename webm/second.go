package webm

import (
	"context"

	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// secondSegment warns of a Segment that follows the first, as in files that were
// put one behind the other. Its times begin anew, so that players and mkvmerge
// read the first alone, and so does this package.
func (m *media) secondSegment(ctx context.Context) ([]fragment.Warning, error) {
	at, size := m.segment.end(), m.w.Info().Size
	if at >= size {
		return nil, nil
	}
	data, err := m.w.ReadRange(ctx, seek.Range{Offset: at, Length: min(maxHeader, size-at)}, seek.Index, "behind the Segment")
	if err != nil {
		return nil, err
	}
	if e, err := defaultLengths.parse(data, at); err == nil && (e.id == idEBML || e.id == idSegment) {
		return []fragment.Warning{warning("another Segment follows at byte %d: only the first is read, as players do; split the file there to use it", at)}, nil
	}
	return nil, nil
}
