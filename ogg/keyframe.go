package ogg

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// seekPictures finds where pictures begin, and sound with them: the keyframes
// that granule positions name, and then both those and sound at once. Where the
// granule positions lie, keyframes are looked for backwards and sound is
// searched anew.
func (c *cutting) seekPictures(ctx context.Context) error {
	var pictures []*stream
	for _, s := range c.streams {
		if s.video() {
			pictures = append(pictures, s)
		}
	}
	jobs := newJobs(ctx)
	for _, s := range pictures {
		key, err := c.nameKeyframe(ctx, s)
		if err != nil {
			return searchError(err)
		}
		c.t0 = c.t0.Min(s.time(key))
		jobs.find(c.l, s, key, c.begin)
	}
	c.findSounds(jobs)
	if err := jobs.wait(); err != nil {
		return err
	}
	named := c.t0
	c.t0 = c.a
	for _, s := range pictures {
		if c.begin[s].after == nil {
			continue
		}
		key, err := c.keyframe(ctx, s)
		if err != nil {
			return err
		}
		c.t0 = c.t0.Min(s.time(key))
	}
	if c.t0.Equal(named) {
		return nil
	}
	again := newJobs(ctx)
	c.findSounds(again)
	return again.wait()
}

// errNamed ends a search for a picture once its keyframe is known.
var errNamed = errors.New("keyframe named")

// nameKeyframe searches the picture at a and returns the keyframe that granule
// positions name for it. Any page behind the picture that counts from a keyframe
// at or before it names that one, so that the search need not come to its end.
// What lies between is read at once.
func (c *cutting) nameKeyframe(ctx context.Context, s *stream) (int64, error) {
	want := max(s.rate.floor(c.a), s.begin)
	until, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	around := &surroundings{s: s, want: want, named: stop}
	unwatch := c.l.watch(around.see)
	at, err := c.l.find(until, s, want)
	unwatch()
	if key, behind, ok := around.keyframe(); ok {
		return max(key, s.begin), c.readBack(ctx, s, behind, key, around)
	}
	if err != nil {
		return 0, err
	}
	key, found, err := c.keyIn(ctx, s, at, want)
	if found || err != nil {
		return key, err
	}
	for _, m := range []*pageMark{at.after, at.before} {
		if m == nil {
			continue
		}
		if pos, ok := s.position(m.granule); ok && pos.key <= want {
			return max(pos.key, s.begin), c.readBack(ctx, s, seek.Mark{Offset: at.from, Tick: s.nanos(want)}, pos.key, around)
		}
	}
	return want, nil
}

// surroundings are the pages of a stream that a search for a picture has seen.
type surroundings struct {
	s     *stream
	want  int64 // the picture
	named context.CancelCauseFunc

	mu     sync.Mutex
	behind *seek.Mark // the nearest behind the picture that names its keyframe
	before []seek.Mark
}

func (a *surroundings) see(m seek.Mark) {
	pos, ok := a.s.position(m.Value.(pageMark).granule)
	if !ok || m.Stream != a.s.index {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case pos.end <= a.want:
		a.before = append(a.before, m)
	case pos.key <= a.want && (a.behind == nil || m.Offset < a.behind.Offset):
		a.behind = &m
		a.named(errNamed)
	}
}

// keyframe returns the keyframe that was named, and where.
func (a *surroundings) keyframe() (key int64, behind seek.Mark, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.behind == nil {
		return 0, behind, false
	}
	pos, _ := a.s.position(a.behind.Value.(pageMark).granule)
	return pos.key, *a.behind, true
}

// readBack reads what lies between a keyframe and a mark behind it, as far as
// one can tell: most of it is the clip's, and to have it at once is better than
// to search in it. Pages nearer to the keyframe that were seen make it less.
func (c *cutting) readBack(ctx context.Context, s *stream, behind seek.Mark, key int64, around *surroundings) error {
	before, behind := around.between(key, behind)
	rate := c.l.byteRate()
	sound := min(1.1*c.l.soundPage(), backSound)
	if seconds := float64(behind.Tick-before.Tick) / searchClock; before.Offset > 0 && 0 < seconds && seconds < backLocal {
		rate = float64(behind.Offset-before.Offset) / seconds
	}
	seconds := float64(behind.Tick-s.nanos(key))/searchClock + sound
	from := behind.Offset - min(int64(seconds*rate*backShare)+backMore, backMost)
	from = max(from, before.Offset-int64(sound*rate), c.l.data)
	if from >= behind.Offset {
		return nil
	}
	data, err := c.w.ReadRange(ctx, seek.Range{Offset: from, Length: behind.Offset - from}, seek.Probe, "back to the keyframe")
	if err == nil {
		c.l.search.Scan(from, data)
	}
	return err
}

// between returns the nearest marks that were seen before and behind a keyframe,
// the one before empty where there is none. One behind counts from it.
func (a *surroundings) between(key int64, behind seek.Mark) (before, nearest seek.Mark) {
	a.mu.Lock()
	defer a.mu.Unlock()
	nearest = behind
	for _, m := range a.before {
		pos, _ := a.s.position(m.Value.(pageMark).granule)
		switch {
		case pos.end <= key && m.Offset > before.Offset:
			before = m
		case pos.end > key && pos.key == key && m.Offset < nearest.Offset:
			nearest = m
		}
	}
	return before, nearest
}

// How much is read back to a keyframe: so many times the rate, and so many
// bytes more, since the keyframe itself is large.
const (
	backShare = 1.15
	backMore  = 32 << 10
	backMost  = 1 << 20
	// backSound is how many seconds of sound a page may hold, so that the one in
	// which sound begins lies before the keyframe.
	backSound = 0.75
	// backLocal is within how many seconds around a keyframe the rate of what was
	// seen counts, not that of the whole.
	backLocal = 8.0
)

// soundPage is how many seconds a page of sound lasts at most, of those at the
// link's ends.
func (l *link) soundPage() (seconds float64) {
	for _, s := range l.streams {
		if s.audio() {
			seconds = max(seconds, s.rate.time(s.pageTicks).Seconds())
		}
	}
	if seconds == 0 {
		return backSound
	}
	return seconds
}

// byteRate is the link's average rate, in bytes a second.
func (l *link) byteRate() float64 {
	if seconds := l.length().Seconds(); seconds > 0 {
		return float64(l.end-l.data) / seconds
	}
	return 0
}

// keyframe finds the picture at which decoding must begin to show the one at a,
// in the stretch at hand or else before it, and moves the stream's beginning
// there.
func (c *cutting) keyframe(ctx context.Context, s *stream) (int64, error) {
	want := max(s.rate.floor(c.a), s.begin)
	at := c.begin[s]
	for back := int64(0); ; back = max(keyBack, 2*back) {
		look := at
		look.from = max(c.l.data, at.from-back)
		if key, found, err := c.keyIn(ctx, s, look, want); found || err != nil {
			return key, err
		}
		if look.from == c.l.data {
			c.begin[s] = look
			return s.begin, nil // begins without a keyframe
		}
		if back > maxRegion {
			return 0, &formats.Error{Container: Name, Element: s.String(), Offset: look.from, Err: seek.ErrLimit,
				Problem: fmt.Sprintf("no keyframe in %d bytes", back), Hint: "choose an earlier start"}
		}
	}
}

// keyBack is how far the first look back for a keyframe reaches, in bytes, that
// is not where granule positions say.
const keyBack = 128 << 10

// keyIn looks for the last keyframe at or before the picture wanted that lies
// in a stretch, and moves the stream's beginning to it.
func (c *cutting) keyIn(ctx context.Context, s *stream, at stretch, want int64) (key int64, found bool, err error) {
	r, err := c.l.readRegion(ctx, c.w, at.from, at.to)
	if err != nil {
		return 0, false, err
	}
	for _, q := range r.place(s, c.l) {
		if q.key && q.from <= want {
			key, found = q.from, true
			at.from, at.to = q.begins.off, r.pageEnd(q.ends.off)
		}
	}
	if found {
		c.begin[s] = at
	}
	return key, found, nil
}
