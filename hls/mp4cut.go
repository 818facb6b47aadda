package hls

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/segments"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/seek"
)

const (
	// around is how many segments on either side of the selection may turn out
	// to be needed.
	around = 64
	// sameZero is how far from the timeline's the zero of a stream's clock lies
	// at most where the two are the same but for rounded durations.
	sameZero = 2 * time.Millisecond
	// sampleTolerance is by how much a segment may end before the interval does
	// and still be its last: durations in playlists are rounded.
	sampleTolerance = 100 * time.Microsecond
)

// mp4Cut is a cut of fragmented MP4 segments.
type mp4Cut struct {
	*locator
	rendition *mp4.Rendition
	from      int // the rendition's first segment in the playlist
	// begins is, for each stretch between discontinuities behind the first, when it
	// begins in the clip, on the timeline of the clip's first stretch, and later how
	// much later that is than on the presentation's; joints are where.
	begins, later map[int64]time.Duration
	joints        []mp4.Joint
}

// openMP4 opens the rendition that the selected segments belong to, with open of an
// interval whose end is yet to come. Close its rendition when done.
func (c *cut) openMP4(ctx context.Context, open bool) (*mp4Cut, error) {
	section := c.list.segments[c.first].init
	if section == nil || section.uri == "" {
		return nil, c.noInit()
	}
	init, err := c.readInit(ctx, section)
	if err != nil {
		return nil, err
	}
	t := &mp4Cut{begins: map[int64]time.Duration{}, later: map[int64]time.Duration{}}
	t.locator = newLocator(c, t.clock, t.head)
	t.join, t.tolerance, t.open = t.findJoints, sampleTolerance, open
	t.bound()
	t.from = t.lowest
	list, err := t.describe(ctx, t.lowest, t.highest)
	if err != nil {
		return nil, err
	}
	t.rendition, err = mp4.OpenRendition(init.data, list, formats.Env{Opener: plainOpener{c}, Limits: c.m.env.Limits})
	var changed *segment
	for i := t.first; i <= t.last && changed == nil; i++ {
		if s := &t.list.segments[i]; !s.gap && !s.init.same(section) {
			changed = s
		}
	}
	return t, initChanges(err, changed)
}

// initChanges adds to an error of initializations that one file cannot hold what can,
// and where that of a segment is the first to differ from those before.
func initChanges(err error, s *segment) error {
	var e *formats.Error
	if errors.As(err, &e) && e.Hint == "" && errors.Is(err, formats.ErrUnsupported) {
		e.Hint = asFolder
		if s != nil {
			e.Problem = fmt.Sprintf("the initialization changes at %s s: %s", segments.Time(s.start), e.Problem)
		}
	}
	return err
}

// ownMoovs reports whether the first segment of fragmented MP4 has an initialization
// of its own instead of an EXT-X-MAP, as some packagers write all of them.
func (c *cut) ownMoovs() bool {
	s, p := &c.list.segments[c.first], c.pieces[c.first]
	return !s.hasInit() && p != nil && bytes.Contains(p.data[:min(sniffed, len(p.data))], []byte("moov"))
}

// noInit is that a segment of fragmented MP4 has no initialization section.
func (c *cut) noInit() error {
	if c.ownMoovs() {
		return unsupported("EXT-X-MAP", "the playlist has none: each segment of fragmented MP4 has a moov of its own, and one file cannot hold several", asFolder)
	}
	return damaged("EXT-X-MAP", -1, "segments of fragmented MP4 without an initialization section")
}

// asFolder is the hint of errors about what one file cannot hold.
const asFolder = "-o FOLDER/ writes a playlist with its segments"

// oneClock fails where the selection changes its initialization or its clock,
// for what is put into one file as it is.
func (c *cut) oneClock(section *initSection) error {
	for i := c.first; i <= c.last; i++ {
		s := &c.list.segments[i]
		switch {
		case s.gap:
		case !s.init.same(section):
			return unsupported("EXT-X-MAP", fmt.Sprintf("the initialization changes at %s s: one file cannot hold both", segments.Time(s.start)), asFolder)
		case s.discontinuity != c.list.segments[c.first].discontinuity:
			return unsupported("EXT-X-DISCONTINUITY", fmt.Sprintf("the clocks of segments begin anew at %s s: one file cannot hold both", segments.Time(s.start)), asFolder)
		}
	}
	return nil
}

// bound finds how far the selection may be moved: to segments of the same clock
// and initialization that exist.
func (l *locator) bound() {
	fits := func(i, next int) bool {
		s, of := &l.list.segments[next], &l.list.segments[i]
		return s.discontinuity == of.discontinuity && !s.gap && s.init.same(of.init)
	}
	l.lowest, l.highest = l.first, l.last
	for l.lowest > 0 && l.lowest > l.first-around && fits(l.first, l.lowest-1) {
		l.lowest--
	}
	for l.highest < len(l.list.segments)-1 && l.highest < l.last+around && fits(l.last, l.highest+1) {
		l.highest++
	}
}

// describe tells package mp4 of a run of segments. A gap has no resource.
func (t *mp4Cut) describe(ctx context.Context, from, to int) ([]mp4.Segment, error) {
	first, err := t.readInit(ctx, t.list.segments[t.first].init)
	if err != nil {
		return nil, err
	}
	var out []mp4.Segment
	for i := from; i <= to; i++ {
		s := &t.list.segments[i]
		x := mp4.Segment{Range: s.bytes, Start: segments.Time(s.start)}
		if s.gap {
			out = append(out, x)
			continue
		}
		_, name, err := t.segment(i)
		if err != nil {
			return nil, err
		}
		k, err := usable(s.keys)
		if err != nil {
			return nil, err
		}
		x.Resource = seek.Info{Name: name, Size: -1}
		t.mu.Lock()
		if p := t.pieces[i]; p != nil && t.keeps {
			x.Data = p.data
		}
		t.mu.Unlock()
		if k != nil { // its plain bytes are a resource of their own
			x.Resource.Name = t.plainName(i)
			x.Range = seek.Range{Length: seek.ToEnd}
		}
		if s.init == nil || s.init.uri == "" {
			return nil, t.noInit()
		}
		init, err := t.readInit(ctx, s.init)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(init.data, first.data) {
			x.Init = init.data
		}
		out = append(out, x)
	}
	return out, nil
}

// clock returns what a segment presents on its own clock.
func (t *mp4Cut) clock(ctx context.Context, i int) (times, error) {
	if _, err := t.read(ctx, i); err != nil { // whole, once: it is wanted anyway
		return times{}, err
	}
	x, err := t.rendition.Times(ctx, i-t.from)
	if err != nil {
		return times{}, err
	}
	start := segments.Duration(x.Start)
	return times{start: start, end: segments.Duration(x.End), decodable: start, known: true}, nil
}

// head returns the clock at the beginning of a segment.
func (t *mp4Cut) head(ctx context.Context, i int) (start time.Duration, ok bool, err error) {
	list, err := t.describe(ctx, i, i)
	if err != nil {
		return 0, false, err
	}
	init, err := t.readInit(ctx, t.list.segments[t.first].init)
	if err != nil {
		return 0, false, err
	}
	r, err := mp4.OpenRendition(init.data, list, formats.Env{Opener: plainOpener{t.cut}, Limits: t.m.env.Limits})
	if err != nil {
		return 0, false, err
	}
	defer r.Close()
	x, err := r.Times(ctx, 0)
	return segments.Duration(x.Start), err == nil, err
}

// lastWith returns the last segment that has something of the interval: where
// the sound of the one with the last pictures ends before they do, the one
// behind it has the rest.
func (t *mp4Cut) lastWith(ctx context.Context) (int, error) {
	if t.last == t.highest {
		return t.last, nil
	}
	all, err := t.rendition.TrackTimes(ctx, t.last-t.from)
	if err != nil {
		return 0, err
	}
	run := t.list.segments[t.last].discontinuity
	end := t.interval.End.Add(segments.Time(t.clockAt(run) - t.tolerance))
	for _, x := range t.rendition.Tracks() {
		if times, ok := all[x.ID]; ok && x.Kind == formats.Audio && times.End.Less(end) {
			return t.last + 1, nil
		}
	}
	return t.last, nil
}

// own returns the interval on the segments' own clock, of a clip that lasts so much
// longer.
func (t *mp4Cut) own(longer time.Duration) fragment.Interval {
	i := t.interval.Shift(t.offset())
	i.End = i.End.Add(segments.Time(longer))
	return i
}

// overrun is by how much the clip is longer than the interval, since segments in it
// last longer than the playlist says.
func (t *mp4Cut) overrun() time.Duration { return t.later[t.list.segments[t.last].discontinuity] }

// offset is what the first segment's clock shows at time 0 of the timeline.
func (t *mp4Cut) offset() fragment.Time {
	return segments.Time(t.clockAt(t.list.segments[t.first].discontinuity))
}

// clockAt is what the clock of a stretch between discontinuities shows at time 0
// of the timeline.
func (t *mp4Cut) clockAt(run int64) time.Duration {
	zero := t.zero[run]
	if -sameZero < zero && zero < sameZero {
		return 0 // the durations in the playlist are rounded
	}
	return zero
}

// planMP4 makes one MP4 of the selections of one or several streams. With open their
// ends are yet to come: the plan is that of the first segments and of those behind
// them, which are passed on.
func (m *Medium) planMP4(ctx context.Context, cuts []*cut, s formats.Selection, open bool) (*formats.Plan, error) {
	var renditions []mp4.RenditionCut
	var all []*mp4Cut
	moved := false // the interval's end, since durations in the first playlist are wrong
	for i, c := range cuts {
		if i > 0 { // the clocks of all streams are one (RFC 8216 section 6.2.4)
			c.clocks = all[0].zero
		}
		t, err := c.openMP4(ctx, open)
		if err != nil {
			return nil, err
		}
		defer t.rendition.Close()
		if i > 0 {
			maps.Copy(t.begins, all[0].begins)
			maps.Copy(t.later, all[0].later)
			if moved {
				t.interval.End = all[0].interval.End
			}
		}
		end := t.interval.End
		if err := t.locate(ctx); err != nil {
			return nil, err
		}
		if i == 0 {
			moved = !t.interval.End.Equal(end)
		}
		if open && i == 0 {
			c.clocks = t.zero // the plan of all is to go by the same
		}
		last := t.last
		if !open {
			if last, err = t.lastWith(ctx); err != nil {
				return nil, err
			}
		}
		all = append(all, t)
		renditions = append(renditions, mp4.RenditionCut{
			Rendition: t.rendition, Interval: t.own(all[0].overrun()), First: t.first - t.from, Last: last - t.from, Tracks: t.chosen(t.rendition, s),
			Joints: t.joints, Language: t.s.language(), Open: open, Given: max(0, t.given-t.from),
		})
	}
	p, err := mp4.PlanRenditions(ctx, renditions, s)
	if err != nil {
		return nil, err
	}
	back := fragment.Time{}.Sub(all[0].offset())
	p.Requested = all[0].interval
	p.Presented, p.Covered = p.Presented.Shift(back), p.Covered.Shift(back)
	for _, t := range all {
		p.Warnings = append(p.Warnings, t.warnings...)
		for i := range p.Parts {
			if err := t.encrypted(&p.Parts[i]); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// chosen returns the IDs of the stream's rendition's tracks that are selected; nil is
// those that play by default.
func (c *cut) chosen(r *mp4.Rendition, s formats.Selection) []string {
	if len(s.Tracks) == 0 || c.s != c.m.main || len(c.s.tracks) < 2 {
		return nil
	}
	kinds := map[formats.Kind]bool{}
	for _, have := range c.s.tracks {
		for _, id := range s.Tracks {
			if have.ID == id || have.Name != "" && have.Name == id {
				kinds[have.Kind] = true
			}
		}
	}
	var ids []string
	for _, x := range r.Tracks() {
		if kinds[x.Kind] {
			ids = append(ids, x.ID)
		}
	}
	return ids
}
