package mp4

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// Progressive is the layout with one moov in front of one mdat.
const Progressive = formats.Progressive

// Plan resolves a selection. It needs no requests where the index is in hand.
func (f *file) Plan(ctx context.Context, s formats.Selection) (*formats.Plan, error) {
	switch {
	case s.Form == formats.Verbatim:
		return f.planVerbatim(ctx, s)
	case s.Layout != "" && s.Layout != Progressive && s.Layout != Fragmented:
		return nil, unsupported("", -1, "leave the layout out", "layout %q", s.Layout)
	case s.Interval.Empty():
		return nil, fmt.Errorf("%w: the interval %v is empty", formats.ErrNoFragment, s.Interval)
	}
	chosen, err := f.movie.chosen(s)
	if err != nil {
		return nil, err
	}
	v, err := f.view(ctx, s.Interval, chosen)
	if err != nil {
		return nil, err
	}
	layout, err := v.layout(s.Layout)
	if err != nil {
		return nil, err
	}
	c, err := f.choose(ctx, v, chosen, s, layout)
	if err != nil {
		return nil, err
	}
	if len(s.Tracks) == 0 {
		c.warnOfTracksOff(f.movie)
	}
	if err := f.fetchAux(ctx, c.cuts); err != nil {
		return nil, err
	}
	if err := loadAux(ctx, c.cuts, f.readAux); err != nil {
		return nil, err
	}
	switch {
	case !c.fragmented:
		c.takeSystems(v.fragments)
		return c.plan()
	case v.fragments == nil:
		c.head = fragmentBrand(c.head)
		if c.sections, err = c.divide(c.info); err != nil {
			return nil, err
		}
	default:
		c.sections = v.sections(c.cuts, c.info)
	}
	return c.planFragmented()
}

// choose begins a clip with the cuts of the chosen tracks. Of a file that is cut
// off it is what is there: the interval ends where the first of the tracks does,
// and those that have nothing are left out.
func (f *file) choose(ctx context.Context, v *view, chosen []*track, s formats.Selection, layout formats.Layout) (*clip, error) {
	info := f.window.Info()
	var warnings []fragment.Warning
	if v.cutOff {
		warnings = []fragment.Warning{{Reason: fmt.Sprintf("the file is cut off at byte %d: what it has ends at %s s", info.Size, v.want.End)}}
	}
	for want := v.want; ; {
		c := &clip{
			head: f.ftyp, movie: v.movie, index: f.indexed, want: want, info: &info, mediaType: f.mediaType(),
			original: s.Timeline == formats.Original, fragmented: layout == Fragmented, warnings: slices.Clone(warnings),
		}
		for _, t := range chosen {
			if err := c.add(v, v.track(t.id), want); err != nil {
				return nil, err
			}
		}
		if len(c.cuts) == 0 {
			return nil, fmt.Errorf("%w: no selected track has anything in %v", formats.ErrNothing, want)
		}
		end, without, beyond, err := c.cutOff()
		if err == nil && beyond != nil {
			err = f.endsEarly(ctx, v, beyond)
		}
		switch {
		case err != nil:
			return nil, err
		case len(without) > 0:
			for _, t := range without {
				warnings = append(warnings, fragment.Warning{Reason: fmt.Sprintf("the file is cut off at byte %d: it has nothing of track %d in the interval", info.Size, t.id)})
			}
			chosen = slices.DeleteFunc(slices.Clone(chosen), func(t *track) bool {
				return slices.ContainsFunc(without, func(w *track) bool { return w.id == t.id })
			})
		case end.Less(want.End):
			want = fragment.Between(want.Start, end)
			warnings = append(warnings, fragment.Warning{Reason: fmt.Sprintf("the file is cut off at byte %d: what it has of the interval ends at %s s", info.Size, end)})
		default:
			return c, nil
		}
	}
}

// cutOff tells until when all of the clip's tracks are in the file, and which of
// them have nothing in it from the interval's beginning on. It is an error where
// none has any. Beyond is the error of samples that are not there.
func (c *clip) cutOff() (end fragment.Time, without []*track, beyond, err error) {
	end = c.want.End
	if c.info.Size < 0 {
		return end, nil, nil, nil
	}
	for _, cut := range c.cuts {
		ch, at, ok, err := cut.firstBeyond(c.info.Size)
		if err != nil {
			return end, nil, nil, err
		}
		if !ok {
			continue
		}
		beyond = cut.track.outside(ch, c.info.Size)
		if c.want.Start.Less(at) {
			end = end.Min(at)
		} else if without = append(without, cut.track); len(without) == len(c.cuts) {
			return end, nil, nil, beyond
		}
	}
	return end, without, beyond, nil
}

// endsEarly returns an error unless the file is cut off: its last box, behind the
// moov or the last fragment that was read, says that it goes on.
func (f *file) endsEarly(ctx context.Context, v *view, beyond error) error {
	at := f.movie.box.off + f.movie.size
	if n := len(v.fragments); n > 0 {
		last := v.fragments[n-1].box
		at = last.off + int64(len(last.raw))
	}
	size := f.window.Info().Size
	for range maxBehindLast {
		head, err := f.window.ReadRange(ctx, seek.Range{Offset: at, Length: headerBytes}, seek.Index, "box header")
		if err != nil {
			return err
		}
		switch _, _, n, ok := readHeader(head); {
		case !ok || n == 0 || at+n < at:
			return beyond
		case n == -1 || at+n > size:
			return nil
		default:
			at += n
		}
	}
	return beyond
}

// maxBehindLast bounds the boxes that are looked at for the last one.
const maxBehindLast = 64

// firstBeyond returns the chunk with the first sample of a cut, in decode order,
// that does not lie within so many bytes, and when the earliest of those behind it
// is presented; ok is false where there is none.
func (c *cut) firstBeyond(size int64) (beyond chunk, at fragment.Time, ok bool, err error) {
	s := c.track.tables
	for _, r := range c.ranges {
		chunks, err := s.chunksOf(r.from, r.to)
		if err != nil {
			return chunk{}, at, false, err
		}
		sample := r.from
		for _, ch := range chunks {
			if ch.offset+ch.size <= size {
				sample += ch.samples
				continue
			}
			for end := ch.offset; ; sample++ {
				if end += s.size(sample); end > size || sample == r.to-1 {
					break
				}
			}
			return ch, c.presentedFrom(sample), true, nil
		}
	}
	return chunk{}, at, false, nil
}

// presentedFrom returns when the first of the samples from one on is presented,
// on the presentation's timeline.
func (c *cut) presentedFrom(sample int64) fragment.Time {
	first, _, _ := c.track.tables.span(sampleRange{sample, c.track.tables.count})
	out := c.want.End
	for _, p := range c.pieces {
		if sample >= p.samples.to {
			continue
		}
		at := p.start
		if into := first*c.refine - p.from; into > 0 && !p.still {
			at = at.Add(fragment.Ticks(into, c.timescale()))
		}
		out = out.Min(at)
	}
	return out
}

// warnOfTracksOff says which pictures and sounds the file has but does not play
// unless they are asked for: whoever wants all of it would miss them.
func (c *clip) warnOfTracksOff(m *movie) {
	for _, t := range m.playable() {
		if !t.info.Default && (t.kind == formats.Video || t.kind == formats.Audio) {
			c.warn("track %d (%s) is off by default in the file and is left out", t.id, t.kind)
		}
	}
}

// view returns what the plan of an interval is made of.
func (f *file) view(ctx context.Context, want fragment.Interval, chosen []*track) (*view, error) {
	v, err := f.viewOnce(ctx, want, chosen)
	if err != nil {
		return nil, err
	}
	if learned, err := f.learnRefresh(ctx, v, chosen); err != nil || !learned {
		return v, err
	}
	return f.viewOnce(ctx, want, chosen)
}

func (f *file) viewOnce(ctx context.Context, want fragment.Interval, chosen []*track) (*view, error) {
	if f.movie.fragmented {
		r := resolver{f.movie, f.locator, f.limits.Entries}
		return r.resolve(ctx, want, chosen)
	}
	m := f.movie
	if f.partial != nil {
		v, err := f.partial.view(ctx, want, chosen)
		if !errors.Is(err, errWhole) {
			return v, err
		}
		if m, err = f.readWhole(ctx); err != nil {
			return nil, err
		}
	}
	length := m.length()
	if !want.Start.Less(length) {
		return nil, &formats.PastEndError{Start: want.Start, Duration: length}
	}
	return &view{movie: m, want: want.Clamp(length)}, nil
}

// readWhole reads a moov whole that was opened in parts.
func (f *file) readWhole(ctx context.Context) (*movie, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.whole != nil {
		return f.whole, nil
	}
	raw, err := f.readMoov(ctx, f.partial.off, f.partial.size)
	if err != nil {
		return nil, err
	}
	whole, err := readMovie(box{typ: "moov", off: f.partial.off, header: f.partial.header, raw: raw, path: "moov"}, f.limits)
	if err != nil {
		return nil, err
	}
	whole.learned(f.movie)
	f.whole = whole
	return whole, nil
}

// layout decides how the clip is arranged: as one index with one stretch of
// media where the file is, or where all fragments are known by an index and few,
// else as fragments.
func (v *view) layout(asked formats.Layout) (formats.Layout, error) {
	switch {
	case asked == Progressive && v.hole == nil, asked == "" && v.fragments == nil:
		return Progressive, nil
	case asked == Progressive:
		return "", unsupported("", -1, "leave the layout out, or choose a shorter interval",
			"a progressive clip of more than %d fragments or of fragments without an index", maxFragments)
	case asked == Fragmented, v.hole != nil, !v.indexed:
		return Fragmented, nil
	}
	return Progressive, nil
}

// add adds the cut of a track, if it has anything in the interval.
func (c *clip) add(v *view, t *track, want fragment.Interval) error {
	if v.fragments != nil && !c.fragmented {
		t = t.inFrames()
	}
	cut := v.choose(t, want, v.hole == nil) // fragments that are passed on keep their timescale
	if n := len(cut.ranges); n > 0 && !c.fragmented {
		if in := t.inUnits(sampleRange{cut.ranges[0].from, cut.ranges[n-1].to}); in != t {
			t, cut = in, v.choose(in, want, true)
		}
	}
	from, to, ok := v.needs(t, want)
	switch {
	case len(cut.ranges) > 0:
	case v.hole == nil || !ok:
		c.warn("track %d has nothing in the interval and is left out", t.id)
		return nil
	default: // it may have something among what was not read
		cut.pieces = []piece{{start: want.Start, end: want.End, from: from, to: to}}
	}
	cut.want, cut.base, cut.original = want, from, c.original
	if c.fragmented && t.handler != "tmcd" {
		cut.trimStart, cut.trimEnd = 0, 0
	}
	if v.hole != nil {
		cut.trimEnd = 0
	}
	if v.hole != nil && v.hole.before > 0 {
		cut.holed, cut.behind = true, v.spans[t.id][v.hole.before-1].to
	}
	if n := len(cut.ranges); n > 0 && (v.hole == nil || v.beforeHole(t, cut.ranges[0].from)) {
		cut.base = t.tables.decode(cut.ranges[0].from)
		if v.fragments != nil && c.fragmented { // what lies between may be unread
			cut.ranges = []sampleRange{{cut.ranges[0].from, cut.ranges[n-1].to}}
		}
		if c.fragmented {
			cut.dropLeading()
		}
	}
	if t.entry.encrypted {
		c.warn(encryptedWarning, t.id)
	}
	c.warnOfGaps(cut)
	c.cuts = append(c.cuts, cut)
	return nil
}

// longGap is how much of a track may be missing between two fragments before a
// clip says so, in seconds.
const longGap = 0.5

// warnOfGaps says where between the fragments of the clip media is missing.
func (c *clip) warnOfGaps(cut *cut) {
	t := cut.track
	if t.kind != formats.Audio && t.kind != formats.Video {
		return
	}
	for _, sample := range slices.Sorted(maps.Keys(t.tables.gaps)) {
		gap := t.tables.gaps[sample]
		in := slices.ContainsFunc(cut.ranges, func(r sampleRange) bool { return sample >= r.from && sample+1 < r.to })
		if in && float64(gap) >= longGap*float64(t.timescale) && !(cut.holed && sample+1 == cut.behind) {
			from := fragment.Ticks(t.tables.decode(sample+1)-gap, t.timescale).Add(c.movie.shift(t))
			c.warn("track %d has nothing between %.3f s and %.3f s", t.id, from.Seconds(), from.Add(fragment.Ticks(gap, t.timescale)).Seconds())
		}
	}
}

// chosen returns the tracks of a selection, in the file's order, and those that
// belong to them: chapters and time codes.
func (m *movie) chosen(s formats.Selection) ([]*track, error) {
	named, err := formats.Chosen(m.infos(), s)
	if err != nil {
		return nil, err
	}
	in := map[string]bool{}
	for _, t := range named {
		in[t.ID] = true
	}
	for _, t := range m.tracks {
		for _, id := range t.companions {
			in[fmt.Sprint(id)] = in[fmt.Sprint(id)] || in[t.info.ID]
		}
	}
	var out []*track
	for _, t := range m.playable() {
		if in[t.info.ID] {
			out = append(out, t)
		}
	}
	return out, nil
}

// clip is a clip being planned.
type clip struct {
	head       []byte // the source's ftyp
	movie      *movie
	index      int64      // bytes of the source's index beside the moov
	info       *seek.Info // of the resource
	mediaType  string
	want       fragment.Interval
	original   bool // keep the original's times
	fragmented bool
	cuts       []*cut
	chunks     []placed
	sections   []section // of a fragmented clip
	systems    [][]byte  // boxes of the fragments that belong to their keys
	open       bool      // fragments follow that are yet to come
	goesOn     bool      // the header and fragments before were given out already
	warnings   []fragment.Warning

	timescale int64 // of the clip's movie
}

// placed is a chunk of a cut and its place in the clip's mdat.
type placed struct {
	cut   int
	order int // among the cut's chunks
	chunk
	frames int64 // that its time code is later by
	at     int64 // from the beginning of the mdat's payload
}

func (c *clip) warn(format string, args ...any) {
	c.warnings = append(c.warnings, fragment.Warning{Reason: fmt.Sprintf(format, args...)})
}

// plan lays the clip out: the header, then the ranges of the original in file
// order.
func (c *clip) plan() (*formats.Plan, error) {
	media, err := c.place()
	if err != nil {
		return nil, err
	}
	c.raiseOffsets()
	c.timescale = c.movieTimescale()
	header := c.header(media)
	p := &formats.Plan{
		MediaType: c.mediaType,
		Requested: c.want,
		Presented: c.want,
		Covered:   c.covered(),
		Parts:     append([]seek.Part{seek.Literal(header, "header")}, c.ranges(c.info)...),
		Size:      int64(len(header)) + media,
		Needed:    int64(len(c.head)) + c.movie.size + c.index + c.span(),
		Warnings:  c.warnings,
	}
	for _, cut := range c.cuts {
		p.Tracks = append(p.Tracks, cut.info())
	}
	return p, nil
}

// place finds the chunks of all cuts, orders them as they stand in the file and
// gives each its place. It returns the length of all.
func (c *clip) place() (int64, error) {
	size := c.info.Size
	for i, cut := range c.cuts {
		for _, r := range cut.ranges {
			chunks, err := cut.track.tables.chunksOf(r.from, r.to)
			if err != nil {
				return 0, err
			}
			sample := r.from
			for _, ch := range chunks {
				if size >= 0 && ch.offset+ch.size > size {
					return 0, cut.track.outside(ch, size)
				}
				for _, p := range cut.placed(ch, sample) {
					p.cut, p.order = i, len(c.chunks)
					c.chunks = append(c.chunks, p)
				}
				sample += ch.samples
			}
		}
	}
	slices.SortFunc(c.chunks, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.order, b.order))
	})
	var at int64
	for i := range c.chunks {
		c.chunks[i].at = at
		at += c.chunks[i].size
	}
	if size >= 0 && at > size {
		return 0, c.movie.box.damaged(0, "the samples of the interval overlap: %d bytes out of a file of %d", at, size)
	}
	return at, nil
}

// outside is the error that media lies beyond the file's end.
func (t *track) outside(ch chunk, size int64) error {
	return &formats.Error{
		Container: Name, Element: t.stbl.path, Offset: ch.offset, Err: formats.ErrDamaged,
		Problem: fmt.Sprintf("track %d has samples up to byte %d, but the file ends at %d", t.id, ch.offset+ch.size, size),
		Hint:    "the file is cut off: an earlier interval may still be there",
	}
}

// ranges returns the parts of the mdat, each as long as the original goes on
// without a gap.
func (c *clip) ranges(info *seek.Info) []seek.Part {
	var out []seek.Part
	for _, ch := range c.chunks {
		if ch.frames > 0 {
			part := seek.Bytes(info, seek.Range{Offset: ch.offset, Length: ch.size}, "time code")
			part.Rewrite = Timecode{ch.frames}
			out = append(out, part)
			continue
		}
		if n := len(out) - 1; n >= 0 && out[n].Rewrite == nil && out[n].End() == ch.offset {
			out[n].Length += ch.size
			out[n].Size += ch.size
			continue
		}
		if ch.size > 0 {
			out = append(out, seek.Bytes(info, seek.Range{Offset: ch.offset, Length: ch.size}, "samples"))
		}
	}
	return out
}

// span is the length of the file from the first to the last needed byte.
func (c *clip) span() int64 {
	first, last := int64(math.MaxInt64), int64(0)
	for _, ch := range c.chunks {
		first, last = min(first, ch.offset), max(last, ch.offset+ch.size)
	}
	return max(0, last-first)
}

// covered is what the clip's samples span, and the interval itself, of which a
// track may leave a beginning or an end empty.
func (c *clip) covered() fragment.Interval {
	out := c.want
	for _, cut := range c.cuts {
		i := cut.covered().Shift(c.want.Start.Sub(cut.want.Start))
		out = fragment.Between(out.Start.Min(i.Start), out.End.Max(i.End))
	}
	return out
}

// movieTimescale returns a timescale in which the clip's edits are exact: a
// common multiple of its tracks', or the finest of them where that is too large.
func (c *clip) movieTimescale() int64 {
	all, finest := int64(1), int64(1)
	for _, cut := range c.cuts {
		all = min(lcm(all, cut.timescale()), maxTicks)
		finest = max(finest, cut.timescale())
	}
	if all > max(maxTimescale, finest) {
		return finest
	}
	if den := c.want.Start.Rat().Denom(); c.original && den.IsInt64() {
		if with := lcm(all, den.Int64()); with <= maxTimescale {
			return with
		}
	}
	return all
}
