package hls

import (
	"context"
	"maps"
	"time"

	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/segments"
)

// Numbers of the correction of a selection by the timestamps in its segments.
const (
	// mostNeighbours is how often the selection's end is moved to a neighbour
	// because timestamps say so.
	mostNeighbours = 2
	// doubt is by how much the durations in a playlist may be wrong before the
	// beginning of its stream is looked at, and doubtAt by how much where that
	// is reckoned up to the interval.
	doubt   = 100 * time.Millisecond
	doubtAt = 250 * time.Millisecond
	// rounding is how far off a duration is that was rounded to milliseconds, and
	// clockError how far off one is that timestamps measure. Where all durations
	// are the same, what is rounded is the same, too, and adds up.
	rounding   = 2 * time.Millisecond
	clockError = 100 * time.Microsecond
	// usualDelay is how much later than its clock usually begins a stream's first
	// picture may be shown: by as much it is decoded before.
	usualDelay = doubtAt
	// slack is by how much a segment may begin late and still hold what begins
	// with it.
	slack = time.Millisecond
)

// wrongDurations is what a warning says where timestamps were believed instead.
const wrongDurations = "the durations in the playlist are wrong: the interval was found by the timestamps in the segments"

// times are when a segment presents: from start to end, and from decodable on
// without the segment before.
type times struct {
	start, end, decodable time.Duration
	known                 bool // the segment has timestamps
}

// locator finds the segments that an interval lies in by their own timestamps.
type locator struct {
	*cut
	// clock tells the times of a segment on its own clock, head only when it
	// begins, for less.
	clock func(ctx context.Context, i int) (times, error)
	head  func(ctx context.Context, i int) (start time.Duration, ok bool, err error)
	// join, where it is not nil, is called when the first segment is known: it
	// finds the zero of the stretches that follow.
	join func(ctx context.Context) error
	// zero is, for each stretch between discontinuities, what its clock shows at
	// time 0 of the timeline.
	zero map[int64]time.Duration
	// starts are what clocks usually show at the beginning of a stream.
	starts []time.Duration
	// scale is how many times longer segments are than the playlist says.
	scale float64
	// lowest and highest bound how far the selection may be moved.
	lowest, highest int
	// open says that the interval ends in what is yet to come.
	open bool
	// tolerance is by how much the last segment may end early.
	tolerance time.Duration
}

func newLocator(c *cut, clock func(context.Context, int) (times, error), head func(context.Context, int) (time.Duration, bool, error)) *locator {
	zero := map[int64]time.Duration{}
	maps.Copy(zero, c.clocks)
	return &locator{cut: c, clock: clock, head: head, zero: zero, scale: 1, highest: len(c.list.segments) - 1, tolerance: halfFrame, starts: []time.Duration{0}}
}

// times returns the times of a segment on the timeline. Where it has no
// timestamps the playlist is believed, and so it is about the first segment that
// is looked at between two discontinuities.
func (l *locator) times(ctx context.Context, i int) (times, error) {
	s := &l.list.segments[i]
	x, err := l.clock(ctx, i)
	if err != nil {
		return x, err
	}
	if !x.known || l.list.iframes { // a picture by itself does not tell how long it shows
		return times{start: s.start, end: s.end(), decodable: s.start}, nil
	}
	zero, known := l.zero[s.discontinuity]
	if !known {
		zero = x.start - s.start
		l.zero[s.discontinuity] = zero
	}
	x.start, x.end, x.decodable = x.start-zero, x.end-zero, x.decodable-zero
	return x, nil
}

// covered is what the selected segments present.
func (l *locator) covered(ctx context.Context) (i fragment.Interval, err error) {
	first, err := l.times(ctx, l.first)
	if err != nil {
		return i, err
	}
	last, err := l.times(ctx, l.last)
	return fragment.Between(segments.Time(first.start), segments.Time(last.end)), err
}

// locate moves both ends of the selection to where timestamps say that the
// interval lies.
func (l *locator) locate(ctx context.Context) error {
	if _, err := l.times(ctx, l.first); err != nil {
		return err
	}
	wrong, err := l.doubtful(ctx)
	if err != nil {
		return err
	}
	run := l.list.segments[l.first].discontinuity
	if _, known := l.clocks[run]; known {
		if wrong {
			l.warn(wrongDurations)
		}
	} else if wrong || l.odd() {
		zero := l.zero[run]
		if err := l.beginning(ctx, wrong); err != nil {
			return err
		}
		if wrong || l.zero[run] != zero {
			if err := l.reachEnd(ctx); err != nil {
				return err
			}
		}
	}
	if err := l.locateStart(ctx); err != nil {
		return err
	}
	if l.join != nil {
		if err := l.join(ctx); err != nil {
			return err
		}
	}
	if l.open {
		return nil
	}
	return l.locateEnd(ctx)
}

// reachEnd has an interval that goes on to the end of a playlist whose durations are
// wrong go on to that of its last segment.
func (l *locator) reachEnd(ctx context.Context) error {
	toEnd := l.asked.Open || !l.asked.End.Less(segments.Time(l.list.duration()))
	if l.open || !toEnd || l.last != len(l.list.segments)-1 || l.list.segments[l.last].discontinuity != l.list.segments[l.first].discontinuity {
		return nil
	}
	x, err := l.times(ctx, l.last)
	if err != nil {
		return err
	}
	l.interval.End = segments.Time(x.end)
	if !l.asked.Open {
		l.interval.End = l.interval.End.Min(l.asked.End)
	}
	return nil
}

// doubtful reports whether timestamps contradict the durations in the playlist
// so much that the sum of all before the interval can not be believed.
func (l *locator) doubtful(ctx context.Context) (bool, error) {
	first := &l.list.segments[l.first]
	from := l.run(l.first)
	if from == l.first {
		return false, nil // nothing before it
	}
	before := first.start - l.list.segments[from].start
	x, err := l.times(ctx, l.first)
	if err != nil {
		return false, err
	}
	measured, said, unsure := x.end-x.start, first.duration, rounding
	if last := &l.list.segments[l.last]; last.discontinuity == first.discontinuity && l.last > l.first && !l.open {
		y, err := l.times(ctx, l.last)
		if err != nil {
			return false, err
		}
		if !contradicts(measured, said, before, unsure) {
			measured, said, unsure = y.start-x.start, last.start-first.start, time.Duration(l.last-l.first)*rounding
			if l.list.uniform(from, l.last) {
				unsure = clockError
			}
		}
	}
	if !contradicts(measured, said, before, unsure) {
		return false, nil
	}
	if measured > 0 && said > 0 {
		l.scale = float64(measured) / float64(said)
	}
	return true, nil
}

// uniform reports whether segments are all said to be of the same length, but for
// the last.
func (m *media) uniform(from, last int) bool {
	for i := from; i < last; i++ {
		if m.segments[i].duration != m.segments[from].duration {
			return false
		}
	}
	return true
}

// contradicts reports whether a measured length and the one that a playlist
// says differ by so much, and by more than what is unsure of both, that a sum of
// such lengths, before, is not to be believed.
func contradicts(measured, said, before, unsure time.Duration) bool {
	wrong := measured - said
	if wrong < 0 {
		wrong = -wrong
	}
	if said <= 0 || wrong > doubt {
		return true
	}
	reckoned := float64(wrong) / float64(said) * float64(before)
	return wrong > unsure && reckoned > float64(doubtAt)
}

// run returns the first segment of the stretch between discontinuities that a
// segment lies in.
func (l *locator) run(i int) int {
	for i > 0 && l.list.segments[i-1].discontinuity == l.list.segments[i].discontinuity && !l.list.segments[i-1].gap {
		i--
	}
	return i
}

// odd reports whether the sum of the durations before the interval may be wrong
// although those of its own segments are right: by it the stretch would have
// begun at a time at which clocks usually do not, and its segments differ in
// length. Where they do not, whoever wrote the playlist has measured them all
// alike, and a clock may begin anywhere.
func (l *locator) odd() bool {
	from := l.run(l.first)
	s := &l.list.segments[from]
	zero, known := l.zero[s.discontinuity]
	if !known || from == l.first {
		return false
	}
	began := s.start + zero
	for _, at := range l.starts {
		if began > at-doubt && began < at+usualDelay {
			return false
		}
	}
	return !l.list.even(from, l.first)
}

// even reports whether segments are said to be about as long as one another. The
// last of a playlist does not count: it is what is left.
func (m *media) even(from, last int) bool {
	if last == len(m.segments)-1 && last > from+1 {
		last--
	}
	shortest, longest := m.segments[from].duration, m.segments[from].duration
	for _, s := range m.segments[from : last+1] {
		shortest, longest = min(shortest, s.duration), max(longest, s.duration)
	}
	return longest-shortest <= shortest/10
}

// beginning reads where the clock of the first segment's stretch begins, so that
// nothing depends on the sum of durations. Where that only may be wrong, it
// stays unless it is.
func (l *locator) beginning(ctx context.Context, wrong bool) error {
	from := l.run(l.first)
	s := &l.list.segments[from]
	start, ok, err := l.head(ctx, from)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil || !ok {
		if wrong {
			l.warn("the durations in the playlist are wrong, and %s, which tells by how much, has no timestamps or cannot be read: the interval was found by the durations", l.note(s))
		}
		return nil
	}
	zero := start - s.start
	if off := zero - l.zero[s.discontinuity]; !wrong && off > -doubt && off < doubt {
		return nil
	}
	l.zero[s.discontinuity] = zero
	l.warn(wrongDurations)
	return nil
}

// locateStart moves the selection's first segment.
func (l *locator) locateStart(ctx context.Context) error {
	a := segments.Duration(l.interval.Start)
	for range mostNeighbours + 1 {
		x, err := l.times(ctx, l.first)
		if err != nil {
			return err
		}
		next := l.first
		switch {
		case a < x.start-slack:
			next = l.far(l.first, a-x.start)
		case a >= x.end && l.first < l.highest:
			next = l.far(l.first, a-x.end+1)
		case a < x.decodable-slack:
			next = l.far(l.first, -1)
		}
		if next == l.first {
			return nil
		}
		l.first = next
		l.last = max(l.last, l.first)
	}
	return nil
}

// locateEnd moves the selection's last segment.
func (l *locator) locateEnd(ctx context.Context) error {
	b := segments.Duration(l.interval.End)
	came := -1 // from where the selection was made longer
	for range mostNeighbours + 1 {
		x, err := l.times(ctx, l.last)
		if err != nil {
			return err
		}
		next := l.last
		switch {
		case x.start >= b && l.last > l.first && came >= 0:
			l.last = came // b lies between that one and this
			return nil
		case x.start >= b && l.last > l.first:
			next = max(l.first, l.far(l.last, b-1-x.start))
		case x.end < b-l.tolerance:
			next, came = l.far(l.last, b-x.end), l.last
		}
		if next == l.last {
			return nil
		}
		l.last = next
	}
	return nil
}

// far returns the segment in which a time lies that is a distance before a
// segment's start or behind its end, or the last on the way there that is of the
// same stretch and exists.
func (l *locator) far(i int, distance time.Duration) int {
	step := 1
	if distance < 0 {
		step, distance = -1, -distance
	}
	for {
		next := i + step
		if next < l.lowest || next > l.highest {
			return i
		}
		s := &l.list.segments[next]
		if s.gap || s.discontinuity != l.list.segments[i].discontinuity {
			return i
		}
		i = next
		if distance -= time.Duration(float64(s.duration) * l.scale); distance <= 0 {
			return i
		}
	}
}
