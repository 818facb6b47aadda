package hls

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/segments"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/seek"
)

// ErrExpired: a segment of the interval has left a live playlist before it was
// fetched.
// It is a [seek.ErrChanged]: of the playlist.
var ErrExpired = fmt.Errorf("the segment has left the live window: %w", seek.ErrChanged)

// Limits on following a live playlist.
const (
	// mostStale is how many reloads in a row may bring nothing new.
	mostStale = 20
	// mostLate is how often a segment is asked for that the playlist names and
	// the origin does not have yet.
	mostLate = 4
	// shortestTarget is the least target duration that is believed: it is what
	// reloads are paced by.
	shortestTarget = time.Second
)

// clock is what the pace of reloading goes by.
type clock interface {
	Now() time.Time
	// Sleep waits, or ends with the context's error.
	Sleep(ctx context.Context, d time.Duration) error
}

// systemClock is the clock of the machine.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var (
	_ formats.Live     = (*Medium)(nil)
	_ formats.Packager = (*Medium)(nil)
	_ formats.Trimmer  = (*Medium)(nil)
	_ seek.Opener      = (*Medium)(nil)
)

// MediaType returns the media type of a clip of which not all has been published, by
// the initialization section of what the playlist has: "" where there is none.
func (m *Medium) MediaType(ctx context.Context, s formats.Selection) string {
	s, _ = m.forOneFile(s)
	streams, _, err := m.selected(s)
	if err != nil {
		return ""
	}
	waits := false
	for _, x := range streams {
		if err := m.load(ctx, x); err != nil {
			return ""
		}
		waits = waits || !m.media(x).published(s.Interval)
	}
	c := m.cutOf(streams[0], m.streamList(streams[0]), s.Interval)
	if !waits || len(c.list.segments) == 0 {
		return ""
	}
	section := c.list.segments[len(c.list.segments)-1].init
	if section == nil || section.uri == "" {
		return ""
	}
	init, err := c.readInit(ctx, section)
	if err != nil {
		return ""
	}
	container := containerOf(init.data)
	if container != fragmentedMP4 {
		return mediaTypes[container]
	}
	r, err := mp4.OpenRendition(init.data, nil, formats.Env{Limits: m.env.Limits})
	if err != nil {
		return ""
	}
	defer r.Close()
	mediaType, _ := r.MediaType(c.chosen(r, s)) // "" with an error
	return mediaType
}

// Parts yields the parts of a selection as they are published, until its end has
// been or the stream ends. Transport streams, packed audio and fragmented MP4, also
// of several streams, come segment by segment, the last segments of MP4 when the end
// has been published. What else has to be joined from several streams, has an index
// that tells of all of it, or has no end comes when all has been published.
//
// A segment that leaves the playlist before it was fetched is [ErrExpired]. P,
// which may be nil, is told what has been yielded.
func (m *Medium) Parts(ctx context.Context, s formats.Selection, p *formats.Plan) iter.Seq2[seek.Part, error] {
	if p == nil {
		p = &formats.Plan{}
	}
	return func(yield func(seek.Part, error) bool) {
		f := follower{m: m, selection: s, yield: yield, told: p, clocks: map[int64]time.Duration{}}
		if err := f.follow(ctx); err != nil {
			yield(seek.Part{}, err)
			return
		}
		m.sum(p)
	}
}

// follower delivers one selection of a live stream.
type follower struct {
	m         *Medium
	selection formats.Selection
	yield     func(seek.Part, error) bool
	told      *formats.Plan // of what has been yielded
	stream    *stream
	tracks    []formats.Track
	loaded    time.Time // when the last load began
	stale     int       // reloads in a row that brought nothing new

	next      int64 // the media sequence number to deliver, once begun
	begun     bool
	container string
	firstRun  int64                   // the stretch that the clip begins in
	clocks    map[int64]time.Duration // what each stretch's clock shows at time 0 of the timeline

	fragments *liveMP4 // of fragmented MP4
}

func (f *follower) follow(ctx context.Context) error {
	s, warnings := f.m.forOneFile(f.selection)
	streams, tracks, err := f.m.selected(s)
	if err != nil {
		return err
	}
	f.told.Requested, f.told.Warnings = s.Interval, warnings
	f.stream, f.tracks, f.loaded = streams[0], tracks, f.m.opened
	if err := f.m.load(ctx, f.stream); err != nil {
		return err
	}
	list := f.m.media(f.stream)
	if !list.growing() {
		return f.plan(ctx)
	}
	for _, x := range streams {
		if err := f.m.load(ctx, x); err != nil {
			return err
		}
	}
	if f.m.clock.Now().Sub(f.loaded) > f.pace(list) { // what was loaded is old
		if err := f.reload(ctx, streams); err != nil {
			return err
		}
	}
	for {
		list := f.m.media(f.stream)
		switch {
		case len(streams) > 1 || f.indexed(list):
			done, err := f.joined(ctx, s, streams)
			if done || err != nil {
				return err
			}
		default:
			done, err := f.deliver(ctx, list)
			if done || err != nil {
				return err
			}
		}
		if err := f.reload(ctx, streams); err != nil {
			return err
		}
	}
}

// indexed reports whether a clip of the stream's segments has an index of all of
// them.
func (f *follower) indexed(list *media) bool {
	if len(list.segments) == 0 {
		return false
	}
	init := list.segments[len(list.segments)-1].init
	return init != nil && init.uri != ""
}

// published reports whether the end of an interval has been published.
func (m *media) published(i fragment.Interval) bool {
	return !m.growing() || !i.Open && !segments.Time(m.edge()).Less(i.End)
}

// plan yields the parts of a plan of what is published.
func (f *follower) plan(ctx context.Context) error {
	list := f.m.media(f.stream)
	if len(list.segments) > 0 && f.selection.Interval.Start.Less(segments.Time(list.segments[0].start)) && list.segments[0].start > 0 {
		return f.expired(list)
	}
	p, err := f.m.Plan(ctx, f.selection)
	if err != nil {
		return err
	}
	*f.told = *p
	for _, part := range p.Parts {
		if !f.yield(part, nil) {
			return nil
		}
	}
	return nil
}

func (f *follower) expired(list *media) error {
	first := list.segments[0]
	return hasExpired(ErrExpired, "the interval %s begins before the playlist, which has segments from %s s on", f.selection.Interval, segments.Time(first.start))
}

// hasExpired is that a segment has left the playlist.
func hasExpired(err error, format string, args ...any) error {
	return &formats.Error{Container: Name, Element: "EXT-X-MEDIA-SEQUENCE", Offset: -1, Err: err,
		Problem: fmt.Sprintf(format, args...), Hint: "choose an interval that begins later"}
}

// deliver yields what the playlist has of the selection. Done is set when its
// end has come, or nobody wants more.
func (f *follower) deliver(ctx context.Context, list *media) (done bool, err error) {
	interval := f.selection.Interval
	if list.published(interval) { // perhaps by parts alone; elsewhere whole segments are waited for
		list = list.upTo(interval)
	}
	first, end := segments.Overlap(len(list.segments), list.bounds, interval)
	if !f.begun {
		if len(list.segments) > 0 && interval.Start.Less(segments.Time(list.segments[0].start)) && list.segments[0].start > 0 {
			return true, f.expired(list)
		}
		if first == end {
			if !list.growing() {
				return true, &formats.PastEndError{Start: interval.Start, Duration: segments.Time(list.duration())}
			}
			return false, nil
		}
		first = list.independent(first)
	} else {
		if len(list.segments) > 0 && f.next < list.segments[0].sequence {
			return true, hasExpired(ErrExpired, "number %d of the interval %s: the playlist begins with %d", f.next, interval, list.segments[0].sequence)
		}
		for first = 0; first < len(list.segments) && list.segments[first].sequence < f.next; first++ {
		}
	}
	for i := first; i < end; i++ {
		f.begun, f.next = true, list.segments[i].sequence+1
		if s := &list.segments[i]; s.gap {
			f.told.Warnings = append(f.told.Warnings, gapWarning(s, f.stream))
			continue
		}
		more, err := f.segment(ctx, list, i)
		if err != nil || !more {
			return true, err
		}
	}
	if !list.growing() {
		f.told.Requested = f.told.Requested.Clamp(segments.Time(list.duration()))
	}
	return list.published(interval), nil
}

// segment yields one segment, once the origin has it.
func (f *follower) segment(ctx context.Context, list *media, i int) (more bool, err error) {
	f.m.mu.Lock()
	base := f.stream.list
	f.m.mu.Unlock()
	now := *base
	now.media = list
	c := f.m.cutOf(f.stream, &now, f.selection.Interval)
	c.first, c.last = i, i
	if f.selection.Form == formats.Verbatim {
		if err := verbatimOf([]*cut{c}, ""); err != nil {
			return false, err
		}
	}
	if err := f.read(ctx, c, i); err != nil {
		return false, err
	}
	if f.container == "" {
		if err := f.begin(ctx, c); err != nil {
			return false, err
		}
	} else if got := containerOf(c.pieces[i].data); got != f.container {
		return false, notWhatItShould(f.container, c.pieces[i].data)
	}
	r, err := f.place(ctx, c)
	if err != nil {
		return false, err
	}
	part, err := c.part(i, r)
	if err != nil {
		return false, err
	}
	if r.StripID3 {
		part.Size = -1
	}
	f.told.Parts = append(f.told.Parts, part)
	return f.yield(part, nil), nil
}

// read reads a segment of a cut, once the origin has it.
func (f *follower) read(ctx context.Context, c *cut, i int) (err error) {
	for late := 0; ; late++ {
		if _, err = c.read(ctx, i); err == nil || late == mostLate || !errors.Is(err, seek.ErrNotFound) {
			break
		}
		if err := f.m.clock.Sleep(ctx, f.pace(c.list)/2); err != nil {
			return err
		}
	}
	if errors.Is(err, seek.ErrNotFound) {
		return f.gone(ctx, c, i, err)
	}
	return err
}

// begin finds out what a clip is that begins with the segment of a cut.
func (f *follower) begin(ctx context.Context, c *cut) (err error) {
	container := containerOf(c.pieces[c.first].data)
	f.told.MediaType = mediaTypes[container]
	switch container {
	case transportStream:
	case packedAudio:
		p, err := newPackedCut(c).frames(ctx, c.first)
		if err != nil {
			return err
		}
		f.told.MediaType = mediaTypes[p.codec]
	default:
		return unsupported("segment", "a live stream of "+orUnknown(container)+" has no one file", asFolder)
	}
	if err := onlyLayout(container, f.selection.Layout); err != nil {
		return err
	}
	var found []formats.Track
	if !f.stream.known() {
		if found, err = c.tracks(ctx); err != nil {
			return err
		}
	}
	f.told.Tracks = enrich(f.tracks, found)
	f.container, f.firstRun = container, c.list.segments[c.first].discontinuity
	return nil
}

// place notes when the segment of a cut presents, and returns how it is changed to
// go on from those before it.
func (f *follower) place(ctx context.Context, c *cut) (r Rewriter, err error) {
	var l *locator
	if f.container == transportStream {
		l = newTSCut(c).locator
	} else {
		l = newPackedCut(c).locator
	}
	for run, zero := range f.clocks {
		l.zero[run] = zero
	}
	x, err := l.times(ctx, c.first)
	if err != nil {
		return r, err
	}
	if len(f.told.Parts) == 0 {
		f.told.Covered.Start = segments.Time(x.start)
	}
	f.told.Covered.End = segments.Time(x.end)
	f.told.Presented = f.told.Covered // nothing in such a file hides anything
	f.clocks = l.zero
	if f.container == packedAudio {
		return Rewriter{StripID3: true}, nil
	}
	if f.selection.Timeline == formats.Original || f.selection.Form == formats.Verbatim {
		return r, nil
	}
	zero, known := f.clocks[c.list.segments[c.first].discontinuity]
	if first, ok := f.clocks[f.firstRun]; ok && known {
		r.Shift = ticks(first) - ticks(zero)
	}
	return r, nil
}

// gone tells of a segment that the origin does not have: whether it has left the
// playlist.
func (f *follower) gone(ctx context.Context, c *cut, i int, err error) error {
	if _, again := f.m.reload(ctx, c.s, directives{part: -1}); again != nil {
		return err
	}
	now, number := f.m.media(c.s), c.list.segments[i].sequence
	if len(now.segments) > 0 && number < now.segments[0].sequence {
		return hasExpired(fmt.Errorf("%w: %w", ErrExpired, err), "number %d of the interval %s", number, f.selection.Interval)
	}
	return err
}

func orUnknown(container string) string {
	if container == "" {
		return "an unknown container"
	}
	return container
}

// pace is how long to wait between two loads of the playlist (RFC 8216 section
// 6.3.4): the target duration, or half of it where nothing was new.
func (f *follower) pace(list *media) time.Duration {
	target := max(list.target, shortestTarget)
	if f.stale > 0 {
		return target / 2
	}
	return target
}

// Before returns the interval of the last so many seconds that are published,
// for times that are counted back from there.
func (m *Medium) Before(seconds fragment.Time) fragment.Interval {
	end := m.Published()
	return fragment.Between(end.Sub(seconds).Max(fragment.Time{}), end)
}
