package mp4

import (
	"context"
	"fmt"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// planVerbatim makes the plan of a clip that has bytes of the original only: its
// header and whole fragments, with all their tracks. A fragmented file alone
// plays that way: its moov tells of no samples.
func (f *file) planVerbatim(ctx context.Context, s formats.Selection) (*formats.Plan, error) {
	if !f.movie.fragmented {
		return nil, unsupported("", -1, "ask for the standalone form",
			"a verbatim clip: the moov describes the whole and would not fit a part")
	}
	if s.Interval.Empty() {
		return nil, fmt.Errorf("%w: the interval %v is empty", formats.ErrNoFragment, s.Interval)
	}
	v, err := f.view(ctx, s.Interval, f.movie.playable())
	if err != nil {
		return nil, err
	}
	first, last := v.fragments[0], v.fragments[len(v.fragments)-1]
	for _, m := range v.fragments {
		if err := m.movable(); err != nil {
			return nil, err
		}
	}
	p := &formats.Plan{MediaType: f.mediaType(), Requested: v.want, Tracks: v.movie.infos()}
	end := last.box.off + int64(len(last.box.raw))
	for _, t := range v.movie.tracks {
		spans := v.spans[t.id]
		if len(spans) == 0 {
			continue
		}
		if spans[0].from > 0 {
			return nil, unsupported("moov", f.movie.box.off, "ask for the standalone form", "a verbatim clip of a file with media outside its fragments")
		}
		chunks, err := t.tables.chunksOf(spans[len(spans)-1].from, spans[len(spans)-1].to)
		if err != nil {
			return nil, err
		}
		for _, c := range chunks {
			end = max(end, c.offset+c.size)
		}
		cover(p, t, f.movie.shift(t))
	}
	p.Presented = p.Covered // a player shows all of what it is given
	info := f.window.Info()
	header := seek.Bytes(&info, seek.Range{Length: f.movie.box.off + f.movie.size}, "header")
	header.Purpose = seek.Index
	p.Parts = []seek.Part{header, seek.Bytes(&info, seek.Range{Offset: first.box.off, Length: end - first.box.off}, "fragments")}
	p.Size = p.Parts[0].Size + p.Parts[1].Size
	p.Needed = p.Size
	return p, nil
}

// cover widens what a plan covers by the samples of a track.
func cover(p *formats.Plan, t *track, shift fragment.Time) {
	start, end, ok := t.tables.span(sampleRange{0, t.tables.count})
	if !ok {
		return
	}
	from, to := fragment.Ticks(start, t.timescale).Add(shift), fragment.Ticks(end, t.timescale).Add(shift)
	if p.Covered.Empty() {
		p.Covered = fragment.Between(from, to)
		return
	}
	p.Covered = fragment.Between(p.Covered.Start.Min(from), p.Covered.End.Max(to))
}

// movable fails for a fragment that says where in the file its media lie: it is
// right in its place alone.
func (m *moof) movable() error {
	for _, t := range m.trafs {
		head, ok, err := t.box.child("tfhd")
		if err != nil {
			return err
		}
		if p := head.payload(); ok && len(p) >= 4 && be.Uint32(p)&tfhdBaseOffset != 0 {
			return unsupported(head.path, head.off, "ask for the standalone form", "a verbatim clip of fragments that place their media absolutely")
		}
	}
	return nil
}
