package hls

import (
	"context"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/segments"
)

// planJoined makes one file of the selected segments as they are, behind their
// initialization section: what is wanted verbatim. Of the times in them it takes
// the playlist's word.
func (c *cut) planJoined(ctx context.Context, container string) (*formats.Plan, error) {
	section := c.list.segments[c.first].init
	if err := c.oneClock(section); err != nil {
		return nil, err
	}
	p := &formats.Plan{MediaType: mediaTypes[container], Requested: c.interval, Warnings: c.warnings}
	var err error
	if section != nil {
		if p.Parts, err = c.addInit(ctx, nil, section); err != nil {
			return nil, err
		}
	}
	for i := c.first; i <= c.last; i++ {
		if !c.wanted(i) {
			continue
		}
		part, err := c.part(i, Rewriter{Container: container})
		if err != nil {
			return nil, err
		}
		p.Parts = append(p.Parts, part)
	}
	p.Covered = fragment.Between(segments.Time(c.list.segments[c.first].start), segments.Time(c.list.segments[c.last].end()))
	p.Presented = p.Covered // what is left as it is hides nothing
	return p, nil
}
