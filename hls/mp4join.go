package hls

import (
	"context"
	"fmt"
	"time"

	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/segments"
	"github.com/mediafrag/mediafrag/mp4"
)

// roundedSum is how far the end of a stretch of segments, by their timestamps,
// lies at most from where the playlist says that the next one begins for the two
// to be meant as one point. Its durations are rounded, and sound does not end
// with the pictures.
const roundedSum = 100 * time.Millisecond

// findJoints finds where in the selection clocks begin anew, and by how much
// each is moved so that it goes on from the one before. Of the first and the
// last segment of each stretch the moofs are read.
func (t *mp4Cut) findJoints(ctx context.Context) error {
	t.joints = nil
	before := t.first // the last segment that exists
	for i := t.first + 1; i <= t.last; i++ {
		s := &t.list.segments[i]
		if s.gap {
			continue
		}
		run := s.discontinuity
		if last := &t.list.segments[before]; run == last.discontinuity {
			if !s.init.same(last.init) {
				if err := t.goesOn(ctx, before, i); err != nil {
					return err
				}
			}
			before = i
			continue
		}
		if _, known := t.begins[run]; !known {
			if err := t.place(ctx, before, i); err != nil {
				return err
			}
		}
		t.joints = append(t.joints, mp4.Joint{
			Segment: i - t.from,
			Shift:   t.offset().Sub(segments.Time(t.clockAt(run))),
			Start:   segments.Time(t.begins[run]).Add(t.offset()),
		})
		before = i
	}
	return nil
}

// joined returns when two segments, one behind the other, are by their own clocks.
func (t *mp4Cut) joined(ctx context.Context, before, i int) (last, next fragment.Interval, err error) {
	if last, err = t.rendition.Times(ctx, before-t.from); err != nil {
		return last, next, err
	}
	next, err = t.rendition.Times(ctx, i-t.from)
	return last, next, err
}

// goesOn fails where the clock jumps at a change of the initialization that no
// EXT-X-DISCONTINUITY tells of.
func (t *mp4Cut) goesOn(ctx context.Context, before, i int) error {
	last, x, err := t.joined(ctx, before, i)
	if err != nil {
		return err
	}
	if jump := segments.Duration(x.Start.Sub(last.End)); jump < -roundedSum || jump > roundedSum {
		return unsupported("EXT-X-MAP", fmt.Sprintf("the initialization changes at %s s, and the clock jumps without an EXT-X-DISCONTINUITY", segments.Time(t.list.segments[i].start)), asFolder)
	}
	return nil
}

// place finds where on the timeline the stretch begins of which segment i is the
// first: where the one before ends, or where the playlist says if there is a gap
// between the two.
func (t *mp4Cut) place(ctx context.Context, before, i int) error {
	last, x, err := t.joined(ctx, before, i)
	if err != nil {
		return err
	}
	s := &t.list.segments[i]
	at := s.start
	end := segments.Duration(last.End) - t.clockAt(t.list.segments[before].discontinuity)
	if end > at-roundedSum {
		at = end
	}
	run := s.discontinuity
	t.begins[run], t.zero[run] = at, segments.Duration(x.Start)-at
	return nil
}
