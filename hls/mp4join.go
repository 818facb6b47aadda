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
			Shift:   t.offset().Sub(segments.Time(t.clockAt(run) - t.later[run])),
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

// place finds when the stretch begins of which segment i is the first: where the one
// before ends, or where the playlist says if there is a gap between the two. Where
// the one before lasts longer than the playlist says, what follows is where the
// playlist says, for whoever chooses by time; but in the clip it is shown later by as
// much, so that nothing overlaps.
func (t *mp4Cut) place(ctx context.Context, before, i int) error {
	last, x, err := t.joined(ctx, before, i)
	if err != nil {
		return err
	}
	s := &t.list.segments[i]
	at, run, runBefore := s.start, s.discontinuity, t.list.segments[before].discontinuity
	later := t.later[runBefore]
	over := segments.Duration(last.End) - t.clockAt(runBefore) - at
	switch {
	case over > roundedSum:
		later += over
		t.warn("%s ends %s s later than the playlist says: what follows is shown later by as much", t.note(&t.list.segments[before]), segments.Time(over))
	case over > -roundedSum:
		at += over
	default:
		later = max(0, later+over)
	}
	t.begins[run], t.later[run], t.zero[run] = at+later, later, segments.Duration(x.Start)-at
	return nil
}
