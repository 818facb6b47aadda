package mp4

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// Segment is one media segment: moofs with their mdats, and whatever else
// stands between them, in a resource of its own or in a range of one.
type Segment struct {
	// Resource is where the segment is. Its Size may be -1. One without a name is
	// a gap: there is no such segment.
	Resource seek.Info
	// Range is the segment in the resource; Length ToEnd is all from Offset on.
	Range seek.Range
	// Data is the whole segment where it is in memory, such as one that had to
	// be decrypted. Nothing is read of the resource then.
	Data []byte
	// Init is the segment's initialization segment where it has another than the
	// rendition's: of a track that is coded the same.
	Init []byte
	// Start is when the segment begins, in seconds on whatever timeline all
	// renditions of a clip have in common, such as a playlist's. It orders the
	// segments of several renditions in the clip; nothing else depends on it.
	Start fragment.Time
}

// gap reports whether there is no such segment.
func (s *Segment) gap() bool { return s.Resource.Name == "" && s.Data == nil }

// Rendition is media whose fragments lie in segments that share one
// initialization segment, such as a rendition of HLS or a representation of
// DASH. Its times are those that the fragments and the edit list of the
// initialization segment say, in seconds; a playlist may number them otherwise:
// [Rendition.Times] tells them of one segment.
//
// To make a clip of a rendition, or of several that belong together (pictures
// and sound apart):
//
//	video, err := mp4.OpenRendition(initBytes, segments, env)
//	defer video.Close()
//	times, err := video.Times(ctx, i)      // where segment i lies on the rendition's own timeline
//	plan, err := mp4.PlanRenditions(ctx, []mp4.RenditionCut{
//		{Rendition: video, Interval: wanted, First: i, Last: j},
//		{Rendition: audio, Interval: wanted, First: k, Last: l},
//	}, formats.Selection{})
//
// Only the first and the last segment of each are looked at, their moofs alone,
// and those before the first that decoding has to begin in. What was read of
// their media is part of the plan. A Rendition may be used concurrently.
type Rendition struct {
	movie    *movie
	ftyp     []byte
	brand    string
	segments []Segment
	inits    map[*byte]*otherInit // by the first byte of a segment's Init
	env      formats.Env

	mu      sync.Mutex
	windows map[int]*seek.Window // of the segments that were read
	closed  bool
}

// OpenRendition reads an initialization segment. Segments are all of the
// rendition's, or a run of them, in order; env's Opener opens their resources.
// It fails with a [*formats.Error].
func OpenRendition(init []byte, segments []Segment, env formats.Env) (*Rendition, error) {
	env.Limits = env.Limits.WithDefaults()
	r := &Rendition{segments: segments, env: env, windows: map[int]*seek.Window{}}
	for c, err := range children("", 0, init) {
		if err != nil {
			return nil, err
		}
		switch c.typ {
		case "ftyp":
			if len(c.payload()) >= 4 {
				r.ftyp, r.brand = c.raw, string(c.payload()[:4])
			}
		case "moov":
			if r.movie, err = readMovie(c, env.Limits); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case r.movie == nil:
		return nil, damaged("", 0, "an initialization segment without a moov")
	case !r.movie.fragmented:
		return nil, damaged("moov", r.movie.box.off, "an initialization segment without an mvex")
	}
	return r, r.readInits()
}

// Close ends the reads that are still on their way.
func (r *Rendition) Close() error {
	r.mu.Lock()
	r.closed = true
	windows := r.windows
	r.windows = nil
	r.mu.Unlock()
	for _, w := range windows {
		w.Close()
	}
	return nil
}

// Tracks returns the tracks of the initialization segment.
func (r *Rendition) Tracks() []formats.Track { return r.movie.infos() }

// MediaType returns the media type of a clip of the tracks with these IDs; none means
// those that are on by default, as in a [RenditionCut].
func (r *Rendition) MediaType(ids []string) (string, error) {
	chosen, err := r.movie.chosen(formats.Selection{Tracks: ids})
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(chosen, func(t *track) bool { return t.kind == formats.Video }) {
		return "video/mp4", nil
	}
	return "audio/mp4", nil
}

// Times returns when a segment begins and ends on the rendition's timeline, by
// its pictures or, where it has none, its first track: from the earliest
// presented sample to the end of the latest. It reads the segment's moofs.
func (r *Rendition) Times(ctx context.Context, segment int) (fragment.Interval, error) {
	all, err := r.TrackTimes(ctx, segment)
	if err != nil {
		return fragment.Interval{}, err
	}
	tracks := r.movie.playable()
	slices.SortStableFunc(tracks, func(a, b *track) int { return order(a) - order(b) })
	for _, t := range tracks {
		if times, ok := all[t.info.ID]; ok {
			return times, nil
		}
	}
	return fragment.Interval{}, damaged("moof", -1, "segment %d has no samples", segment)
}

// TrackTimes is [Rendition.Times] of each track that has samples in the segment,
// by its ID.
func (r *Rendition) TrackTimes(ctx context.Context, segment int) (map[string]fragment.Interval, error) {
	moofs, err := r.read(ctx, segment)
	if err != nil {
		return nil, err
	}
	out := map[string]fragment.Interval{}
	for _, t := range r.movie.playable() {
		tables, _, err := r.movie.gather([]*track{t}, moofs, false, r.env.Limits.Entries)
		if err != nil {
			return nil, err
		}
		if s := tables[t]; s.count > 0 {
			start, end, _ := s.span(sampleRange{0, s.count})
			shift := r.shift(segment, t)
			out[t.info.ID] = fragment.Between(fragment.Ticks(start, t.timescale).Add(shift), fragment.Ticks(end, t.timescale).Add(shift))
		}
	}
	return out, nil
}

// order puts pictures before everything else.
func order(t *track) int {
	if t.kind == formats.Video {
		return 0
	}
	return 1
}

// shift is how much later a track's media presents than its composition times
// say, by its first edit that shows any.
func (m *movie) shift(t *track) fragment.Time {
	open := *t
	open.end = maxTicks
	for _, s := range m.segments(&open) {
		return s.start.Sub(fragment.Ticks(s.mediaTime, t.timescale))
	}
	return fragment.Time{}
}

// read reads the moofs of a segment.
func (r *Rendition) read(ctx context.Context, i int) ([]*moof, error) {
	s := r.segments[i]
	movie, ids := r.movieOf(i)
	reader := &fragmentReader{defaults: movie.fragmentDefaultsOf(), guess: moofGuess}
	var moofs []*moof
	if s.Data != nil {
		w := &walker{end: int64(len(s.Data))}
		if err := w.step(s.Data, true, reader); err != nil {
			return nil, err
		}
		moofs = w.fragments
	} else {
		w, err := r.window(ctx, i)
		if err != nil {
			return nil, err
		}
		reader.window = w
		p := place{s.Range.Offset, -1}
		if s.Range.Length >= 0 {
			p.end = s.Range.End()
		}
		if moofs, _, err = reader.read(ctx, []place{p}); err != nil {
			return nil, err
		}
	}
	for _, m := range moofs {
		m.segment = i
		for k := range m.trafs {
			if f := &m.trafs[k]; ids != nil {
				f.id = ids[f.id] // 0 is no track
			}
		}
	}
	return moofs, nil
}

// window returns the window of a segment's resource.
func (r *Rendition) window(ctx context.Context, i int) (*seek.Window, error) {
	r.mu.Lock()
	w := r.windows[i]
	r.mu.Unlock()
	if w != nil {
		return w, nil
	}
	source, err := r.env.Opener.OpenSource(ctx, r.segments[i].Resource.Name)
	if err != nil {
		return nil, err
	}
	w = seek.NewWindow(ctx, source, r.env.Limits.Window)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		w.Close()
		return nil, seek.ErrClosed
	case r.windows[i] != nil: // another was faster
		w.Close()
		return r.windows[i], nil
	}
	r.windows[i] = w
	return w, nil
}

// resource returns what plans say of a segment's resource: what its answers
// told, where it was read.
func (r *Rendition) resource(i int) *seek.Info {
	info := r.segments[i].Resource
	if data := r.segments[i].Data; data != nil {
		info.Size = int64(len(data))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.windows[i]; w != nil && w.Info().Size >= 0 {
		info = w.Info()
		info.Name = r.segments[i].Resource.Name // as the Opener knows it
	}
	return &info
}

// segmented finds the fragments of a rendition: which segments hold an interval
// is known beforehand.
type segmented struct {
	rendition   *Rendition
	first, last int
	joints      []Joint
	all         bool // every fragment is looked at
	open        bool // others follow the last
	given       int  // those before, but for the first, are not looked at
}

const (
	// maxRead is how many segments are looked at for a clip that has to know all
	// its samples.
	maxRead = 2048
	// readAtOnce is how many of them at a time.
	readAtOnce = 32
)

var _ locator = (*segmented)(nil)

func (x *segmented) find(ctx context.Context, _ []*track, _ needs) (*spread, error) {
	run := placeRun{from: x.first, headEnd: x.first + 1, tailStart: max(x.first+1, x.last), end: x.last + 1}
	switch {
	case x.all && x.given > run.headEnd:
		run.tailStart = min(x.given, run.end)
	case x.all:
		run.headEnd, run.tailStart = run.end, run.end
	case x.open:
		run.tailStart = run.end
	}
	return x.read(ctx, run)
}

// read reads the segments of a run, all at once.
func (x *segmented) read(ctx context.Context, run placeRun) (*spread, error) {
	s := &spread{run: run, first: run.from == 0}
	var which []int
	for i := run.from; i < run.end; i++ {
		if (i < run.headEnd || i >= run.tailStart) && !x.rendition.segments[i].gap() {
			which = append(which, i)
		}
	}
	if len(which) > maxRead {
		return nil, unsupported("moof", -1, "choose a shorter interval", "a clip for which %d segments have to be looked at, more than %d", len(which), maxRead)
	}
	got := make([][]*moof, len(which))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(readAtOnce)
	for n, i := range which {
		g.Go(func() error {
			moofs, err := x.rendition.read(gctx, i)
			if err != nil {
				return fmt.Errorf("segment %d: %w", i, err)
			}
			got[n] = x.rendition.joined(i, moofs, x.joints)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for n, i := range which {
		switch {
		case i < run.headEnd:
			s.head = append(s.head, got[n]...)
		default:
			s.tail = append(s.tail, got[n]...)
		}
	}
	if len(s.head) == 0 {
		return nil, damaged("moof", -1, "segment %d has no fragment", run.from)
	}
	if run.headEnd < run.tailStart || x.open {
		s.hole = &hole{before: len(s.head), apart: true}
	}
	for i := run.headEnd; i < run.tailStart; i++ {
		segment := x.rendition.segments[i]
		if segment.gap() {
			continue
		}
		at := segment.Range
		if segment.Data != nil {
			at = seek.Range{Length: int64(len(segment.Data))}
		} else if at.Length < 0 && segment.Resource.Size >= 0 {
			at.Length = segment.Resource.Size - at.Offset
		}
		s.hole.stretches = append(s.hole.stretches, stretchOf{segment: i, Range: at})
	}
	return s, nil
}

func (x *segmented) earlier(ctx context.Context, s *spread, n int) (*spread, error) {
	run := s.run
	run.from = max(0, run.from-n)
	return x.read(ctx, run)
}

// later has nothing to give: the caller has said where the interval ends.
func (x *segmented) later(_ context.Context, s *spread) (*spread, error) { return s, nil }
