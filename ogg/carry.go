package ogg

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// maxRegion is how many bytes are read at each end of an interval, at most,
// to find where its packets begin and end.
const maxRegion = 32 << 20

// carried is what a clip holds of one stream.
type carried struct {
	s     *stream
	empty bool   // no packet
	first placed // packet
	pair  placed // of lapped codecs, the second: with it ends the first page
	last  placed

	// rest says that the stream ends by itself between the two ends of the
	// clip, with the page restMark.
	rest     bool
	restMark pageMark

	// early and inside are of text: what began before the clip and still shows,
	// and what begins in the regions that were read. Missed says that text that
	// began earlier may be left out.
	early, inside []placed
	missed        bool
	numbers       []numbered // pages of text

	start, end int64 // ticks that a player shows
	zero       int64 // the tick that is 0 in the clip's granule positions
	skip       int64 // Opus: the pre-skip of the clip
	final      int64 // granule position of the last page, not shifted
}

// cutting resolves what a clip of one link holds.
type cutting struct {
	w        *seek.Window
	l        *link
	streams  []*stream     // selected
	a, b     fragment.Time // on the file's own clock
	original bool          // granule positions are kept

	begin, finish map[*stream]stretch // of streams that are not text
	head, tail    *region
	t0            fragment.Time // clip time 0 on the file's own clock
	carried       []*carried
}

// resolve finds what is carried of each stream.
func (c *cutting) resolve(ctx context.Context) error {
	if err := c.seek(ctx); err != nil {
		return err
	}
	if err := c.read(ctx); err != nil {
		return err
	}
	for _, s := range c.streams {
		k, err := c.carry(ctx, s)
		if err != nil {
			return err
		}
		c.carried = append(c.carried, k)
	}
	return nil
}

// seek finds the stretches in which each stream's first and last packet lie.
// The searches for both ends run side by side.
func (c *cutting) seek(ctx context.Context) error {
	c.begin, c.finish = map[*stream]stretch{}, map[*stream]stretch{}
	c.t0 = c.a
	if err := c.useIndex(ctx); err != nil {
		return err
	}
	ends := newJobs(ctx)
	for _, s := range c.streams {
		if !s.text() {
			ends.find(c.l, s, satSub(s.firstFrom(c.b), 1), c.finish)
		}
	}
	ends.Go(func() error {
		if c.pictures() {
			return c.seekPictures(ends.ctx)
		}
		starts := newJobs(ends.ctx)
		c.findSounds(starts)
		return starts.wait()
	})
	return ends.wait()
}

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
	if key, off, ok := around.keyframe(); ok {
		return max(key, s.begin), c.readBack(ctx, s, off, key, around)
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
			return max(pos.key, s.begin), c.readBack(ctx, s, at.from, pos.key, around)
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
func (a *surroundings) keyframe() (key, off int64, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.behind == nil {
		return 0, 0, false
	}
	pos, _ := a.s.position(a.behind.Value.(pageMark).granule)
	return pos.key, a.behind.Offset, true
}

// readBack reads what lies between a keyframe and a place behind it, as far as
// one can tell: most of it is the clip's, and to have it at once is better than
// to search in it. Pages nearer to the keyframe that were seen make it less.
func (c *cutting) readBack(ctx context.Context, s *stream, to, key int64, around *surroundings) error {
	from, to := around.between(key, to)
	early := max(0, from-int64(backSound*c.l.byteRate()))
	from = max(early, c.backFrom(to, c.a.Sub(s.time(key))))
	if from >= to {
		return nil
	}
	data, err := c.w.ReadRange(ctx, seek.Range{Offset: from, Length: to - from}, seek.Probe, "back to the keyframe")
	if err == nil {
		c.l.search.Scan(from, data)
	}
	return err
}

// backFrom says where to begin to read so that so much time before a place is
// likely to be read.
func (c *cutting) backFrom(to int64, length fragment.Time) int64 {
	n := int64((length.Seconds()+backSound)*c.l.byteRate()*backShare) + backMore
	return max(c.l.data, to-min(n, backMost))
}

// between returns between which offsets a keyframe is known to lie, of which a
// page at to counts.
func (a *surroundings) between(key, to int64) (from, until int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	from, until = 0, to
	for _, m := range a.before {
		pos, _ := a.s.position(m.Value.(pageMark).granule)
		switch {
		case pos.end <= key:
			from = max(from, m.Offset)
		case pos.key == key:
			until = min(until, m.Offset)
		}
	}
	return from, until
}

// How much is read back to a keyframe: so many times the rate, and so many
// bytes more, since the keyframe itself is large.
const (
	backShare = 1.3
	backMore  = 48 << 10
	backMost  = 1 << 20
	// backSound is how many seconds of sound a page may hold, so that the one in
	// which sound begins lies before the keyframe.
	backSound = 0.75
)

// byteRate is the link's average rate, in bytes a second.
func (l *link) byteRate() float64 {
	if seconds := l.length().Seconds(); seconds > 0 {
		return float64(l.end-l.data) / seconds
	}
	return 0
}

func (c *cutting) findSounds(j *jobs) {
	for _, s := range c.streams {
		if s.audio() {
			c.findSound(j, s)
		}
	}
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

// pictures reports whether the clip must begin at a keyframe.
func (c *cutting) pictures() bool {
	return slices.ContainsFunc(c.streams, func(s *stream) bool { return s.video() })
}

// findSound searches where sound has to begin: from the packet that a decoder
// needs first. Of lapped codecs the first page holds two packets, so that the
// stretch goes on to the page of the second.
func (c *cutting) findSound(j *jobs, s *stream) {
	start := max(s.nearest(c.t0), s.begin)
	v, lapped := s.codec.(*vorbis)
	if !lapped {
		j.find(c.l, s, satSub(start, c.lead(s)), c.begin)
		return
	}
	second := map[*stream]stretch{}
	j.find(c.l, s, satSub(start, v.blocks[1]), c.begin)
	j.find(c.l, s, start, second)
	j.into = append(j.into, func() {
		at := c.begin[s]
		at.to, at.after = second[s].to, second[s].after
		c.begin[s] = at
	})
}

// lead is how many ticks before what is wanted a stream is carried. Where granule
// positions are kept, so is the pre-skip, and a player leaves out so much.
func (c *cutting) lead(s *stream) int64 {
	if c.original {
		return max(s.lead, s.origin)
	}
	return s.lead
}

// jobs are searches that run side by side.
type jobs struct {
	*errgroup.Group
	ctx  context.Context
	into []func()
}

func newJobs(ctx context.Context) *jobs {
	g, ctx := errgroup.WithContext(ctx)
	return &jobs{Group: g, ctx: ctx}
}

// find searches a tick and, once wait has returned, stores where it is.
func (j *jobs) find(l *link, s *stream, tick int64, into map[*stream]stretch) {
	found := new(stretch)
	j.into = append(j.into, func() { into[s] = *found })
	j.Go(func() (err error) {
		*found, err = l.find(j.ctx, s, tick)
		return err
	})
}

func (j *jobs) wait() error {
	if err := j.Wait(); err != nil {
		return searchError(err)
	}
	for _, store := range j.into {
		store()
	}
	return nil
}

// searchError names the container in the error of a search that was given up.
func searchError(err error) error {
	var e *seek.SearchError
	if !errors.As(err, &e) {
		return err
	}
	kind := seek.ErrLimit
	if errors.Is(err, seek.ErrDisorder) {
		kind = formats.ErrDamaged
	}
	return &formats.Error{Container: "ogg", Element: "pages", Offset: e.Range.Offset, Err: kind, Problem: e.Error(),
		Hint: "the file's granule positions contradict each other; a tool such as oggz-validate tells where"}
}

// read reads the regions in which the clip begins and ends; where they touch,
// the head is all. A stream that ends before b needs no cut at its end.
func (c *cutting) read(ctx context.Context) (err error) {
	head, cuts := bounds(c.begin, false)
	tail, ends := bounds(c.finish, true)
	if !cuts {
		return nil // nothing but text, or all has ended before a
	}
	if ends {
		for _, at := range c.finish {
			if at.after == nil && at.to > tail.from {
				tail.to = max(tail.to, at.to)
			}
		}
	}
	if ends && tail.from < head.to {
		head.from, head.to = min(head.from, tail.from), max(head.to, tail.to)
		ends = false
	}
	if c.head, err = c.readBound(ctx, head); err != nil || !ends {
		return err
	}
	c.tail, err = c.readBound(ctx, tail)
	return err
}

func (c *cutting) readBound(ctx context.Context, r stretch) (*region, error) {
	if r.to-r.from > maxRegion {
		return nil, &formats.Error{Container: "ogg", Element: "pages", Offset: r.from, Err: seek.ErrLimit,
			Problem: fmt.Sprintf("the streams lie %d bytes apart", r.to-r.from),
			Hint:    "select one track, or interleave the file anew"}
	}
	return c.l.readRegion(ctx, c.w, r.from, r.to)
}

// bounds returns the stretch that holds all of some; ok is false where there
// are none. Those without a page after them are left out: for a beginning that
// means that the stream has ended before, for an end that its last page needs
// no change, unless it has to be marked as the last.
func bounds(all map[*stream]stretch, ends bool) (out stretch, ok bool) {
	for _, r := range all {
		if r.after == nil && !(ends && r.before != nil && !r.before.eos) {
			continue
		}
		if !ok || r.from < out.from {
			out.from = r.from
		}
		out.to, ok = max(out.to, r.to), true
	}
	return out, ok
}

// carry decides what is carried of one stream.
func (c *cutting) carry(ctx context.Context, s *stream) (*carried, error) {
	k := &carried{s: s, empty: true}
	if s.text() {
		return k, c.carryText(ctx, k)
	}
	if c.head == nil || c.begin[s].after == nil {
		return k, nil
	}
	head := c.head.place(s, c.l)
	k.start, k.end = s.nearest(c.t0), s.firstFrom(c.b)
	if s.video() {
		k.start = s.rate.floor(c.a)
	}
	k.start = max(k.start, s.begin)
	first := k.choose(c, head)
	if first < 0 {
		return k, nil
	}
	k.first, k.empty = head[first], false
	if s.lapped() {
		k.pair = head[first+1]
	}
	tail := head
	if c.tail != nil {
		tail = c.tail.place(s, c.l)
	}
	k.ends(c, tail)
	if !k.rest && k.last.ends.before(k.first.begins) {
		k.empty = true
		return k, nil
	}
	k.zeroes(c)
	return k, nil
}

// ends finds the last packet among those of the tail. Where the stream has
// ended before, all of it that follows is carried.
func (k *carried) ends(c *cutting, tail []placed) {
	at := c.finish[k.s]
	if at.after == nil && c.inMiddle(at) {
		pos, _ := k.s.position(at.before.granule)
		k.rest, k.restMark = true, *at.before
		k.last.to, k.last.ends = pos.end, place{at.from, maxSegments}
		return
	}
	for i, q := range tail {
		switch {
		case q.from < k.end && q.to > q.from:
			k.last = q
			k.final = k.finalGranule(c, tail[:i+1])
		case k.behindHole(q):
			q.from, q.to = k.last.to, k.last.to
			k.last = q
		}
	}
	k.end = min(k.end, k.last.to)
	if k.last.data == nil && at.before != nil { // lost in a hole: what is before it ends the clip
		pos, _ := k.s.position(at.before.granule)
		k.last.to, k.last.ends, k.final = pos.end, place{at.from, maxSegments}, at.before.granule
	}
	if k.s.lapped() && k.last.ends.before(k.pair.ends) {
		k.last, k.final = k.pair, min(k.end, k.pair.to)
	}
}

// behindHole reports whether a packet is the first behind a hole in which the
// interval ends. Of lapped codecs it is carried too: decoders that do not
// notice holes have it follow at once, for others the last granule position
// leaves it out.
func (k *carried) behindHole(q placed) bool {
	return k.s.lapped() && k.last.data != nil && q.broken && q.to == q.from && q.from >= k.end && k.last.to < k.end
}

// inMiddle reports whether a stream's last page lies in neither region.
func (c *cutting) inMiddle(at stretch) bool {
	inside := func(r *region) bool { return r != nil && at.from >= r.from && at.from < r.to }
	return !inside(c.head) && !inside(c.tail)
}

// choose returns the number of the packet to begin with, -1 where there is none.
func (k *carried) choose(c *cutting, head []placed) int {
	first := -1
	want := satSub(k.start, c.lead(k.s))
	for i, q := range head {
		switch {
		case k.s.video():
			if q.key && q.from <= k.start {
				first = i
			}
		case k.s.lapped():
			if q.to > k.start && q.to > q.from && i > 0 {
				return i - 1
			}
		case first < 0 || q.from <= want || satSub(k.start, head[first].from) > opusMaxSkip && k.s.lead > 0 && !c.original:
			first = i
		}
	}
	if k.s.lapped() {
		return -1
	}
	return first
}

// zeroes sets what becomes tick 0, and what a player will show.
func (k *carried) zeroes(c *cutting) {
	s := k.s
	k.zero = s.nearest(c.t0)
	switch {
	case c.original:
		k.zero, k.skip = 0, s.origin
		k.start = max(satAdd(k.first.from, s.origin), s.begin)
		if s.lapped() {
			k.start = max(k.pair.from, s.begin)
		}
	case s.video():
		k.start = k.first.from
		k.zero = s.rate.ceil(c.t0)
	case s.track.Codec == "opus":
		k.start = max(k.start, k.first.from)
		k.skip = min(satSub(k.start, k.first.from), opusMaxSkip)
		k.zero = min(k.first.from, satSub(k.zero, k.skip))
	case s.lapped():
		k.start = max(k.start, k.pair.from)
	case !c.pictures(): // whole packets
		k.zero = max(0, k.first.from)
		k.start = max(k.first.from, s.begin)
	}
	switch {
	case s.audio() && !s.trims(), k.stuck():
		k.end = k.last.to
	default:
		k.end = min(k.end, k.last.to)
	}
}

// trims reports whether decoders cut sound at the last granule position.
func (s *stream) trims() bool { return s.lapped() || s.track.Codec == "opus" }

// stuck reports whether a lapped stream is so short that its only page of sound
// would be first and last at once: then the granule position cannot cut at both
// ends, and the end stays whole.
func (k *carried) stuck() bool {
	return k.s.lapped() && k.last.ends == k.pair.ends && k.zero > k.pair.from
}

// finalGranule returns the granule position of the clip's last page, before it
// is shifted. Tail ends with the last packet.
func (k *carried) finalGranule(c *cutting, tail []placed) int64 {
	if !k.s.video() {
		return min(k.end, k.last.to)
	}
	if k.last.last {
		return k.last.granule
	}
	pos, _ := k.s.position(k.last.granule)
	if pos.key > k.last.from { // a keyframe behind the last picture, on its page
		pos.key = k.first.from
		if m := c.finish[k.s].before; m != nil {
			if before, ok := k.s.position(m.granule); ok {
				pos.key = before.key
			}
		}
		for _, q := range tail {
			if q.key {
				pos.key = q.from
			}
		}
	}
	pos.end = k.last.to
	return k.s.granule(pos)
}

// shift returns what changes in the stream's pages, but for their numbers.
func (k *carried) shift() Shift {
	out := Shift{Serial: k.s.serial, Granule: k.zero}
	switch c := k.s.codec.(type) {
	case *theora:
		out.Granule = k.zero << c.shift
	case *vp8:
		out.Granule = k.zero << vp8Pictures
	case *kate:
		out.Granule, out.Ticks, out.Bits, out.Kate = 0, k.zero, c.shift, true
	case *cmml:
		out.Granule, out.Ticks, out.Bits = 0, k.zero, c.shift
	}
	return out
}
