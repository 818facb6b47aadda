package mp4

import (
	"context"
	"errors"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// moofFields is how many bytes of a moof tell it from other bytes: its header,
// and all of the mfhd that it begins with but the sequence number (ISO/IEC
// 14496-12 sections 8.8.4 and 8.8.5).
const moofFields = 20

// minMoof is the least length of a moof: its header, an mfhd and a traf with a
// tfhd.
const minMoof = 8 + 16 + 8 + 16

// searched finds fragments in a file without an index of them: by recognising
// moof boxes in raw bytes.
type searched struct {
	file   *file
	search *seek.Search
	start  int64 // where the first fragment is
	reader *fragmentReader
}

var _ locator = (*searched)(nil)

// searcher returns what finds fragments without an index of them; nil where there
// are none.
func (f *file) searcher(ctx context.Context) (locator, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.search != nil {
		return f.search, nil
	}
	size := f.window.Info().Size
	if size < 0 {
		return nil, unsupported("moof", f.first, "save the resource to a file, or ask a server that states its length", "fragments without an index in a resource whose length is not known")
	}
	if f.first >= size {
		return nil, nil
	}
	begin, err := f.reader().first(ctx, f.first, size)
	if err != nil || begin == nil {
		return nil, err
	}
	if f.search = f.sum(size); begin.timed() {
		f.search = f.searched(begin, size)
	}
	return f.search, nil
}

// searched returns a search from the file's first fragment to its end. Other
// boxes may stand before that.
func (f *file) searched(begin *moof, size int64) *searched {
	x := &searched{file: f, start: begin.box.off, reader: f.reader()}
	x.search = &seek.Search{Window: f.window, Recognize: x.recognize, Start: x.start, End: size, MaxRounds: f.limits.Rounds}
	for _, r := range []seek.Range{{Offset: f.first, Length: tailBytes}, {Offset: max(0, size-tailBytes), Length: tailBytes}} {
		for ; r.Length > minMoof; r.Length /= 2 { // what is in hand of the two ends
			if data, ok := f.window.Held(r); ok {
				x.search.Scan(r.Offset, data)
				break
			}
		}
	}
	return x
}

// useMoov seeks by the moov alone: no fragment follows it, though it says that
// some may. First is where they would begin.
func (f *file) useMoov(first int64) error {
	if f.movie.hasSamples() {
		f.movie.fragmented = false
		f.index, f.end, f.ends = f.placed, f.movie.length(), true
		return nil
	}
	if first >= f.window.Info().Size {
		return unsupported("moov", f.movie.box.off, "open the playlist that names its segments, or join them behind it",
			"an initialization segment without the segments that hold its media")
	}
	return damaged("", first, "the file ends without a fragment")
}

// first reads the first fragment between two offsets; nil where there is none.
func (r *fragmentReader) first(ctx context.Context, start, end int64) (*moof, error) {
	w := &walker{at: start, end: end, want: r.guess, most: 1}
	for range maxWalk {
		data, err := r.window.ReadRange(ctx, seek.Range{Offset: w.at, Length: min(w.want, end-w.at)}, seek.Index, "moof")
		if err != nil {
			return nil, err
		}
		if err := w.step(data, int64(len(data)) < min(w.want, end-w.at), r); err != nil {
			return nil, err
		}
		if len(w.fragments) > 0 {
			return w.fragments[0], nil
		}
		if w.done {
			return nil, nil
		}
	}
	return nil, damaged("", w.at, "no moof among the first %d boxes behind the moov", maxWalk)
}

// timed reports whether the fragment says when it begins.
func (m *moof) timed() bool {
	for _, t := range m.trafs {
		if t.decode < 0 {
			return false
		}
	}
	return len(m.trafs) > 0
}

// recognize finds moofs in raw bytes: a mark for each track of each. A moof is
// believed if its boxes are as they have to be and a box follows it.
func (x *searched) recognize(off int64, data []byte) (marks []seek.Mark, next int64) {
	at := 0
	for ; at+moofFields <= len(data); at++ {
		if !isMoof(data[at:]) {
			continue
		}
		size := int(be.Uint32(data[at:]))
		if size > maxMoof {
			continue
		}
		if size+8 > len(data)-at { // cut off: what follows has to be seen
			if off+int64(at)+int64(size) < x.search.End {
				return marks, off + int64(at)
			}
			if size > len(data)-at {
				return marks, off + int64(at)
			}
		}
		raw := append([]byte(nil), data[at:at+size]...)
		m, err := readFragment(box{typ: "moof", off: off + int64(at), header: 8, raw: raw, path: "moof"}, x.reader.defaults)
		if err != nil || !followed(data[at+size:]) {
			continue
		}
		end := int64(at + size)
		if typ, _, length, ok := readHeader(data[at+size:]); ok && typ == "mdat" && length > 0 {
			end += length
		}
		end = min(off+end, x.search.End)
		for _, t := range m.trafs {
			if t.decode >= 0 && t.samples() > 0 {
				marks = append(marks, seek.Mark{Stream: int(t.id), Offset: m.box.off, End: end, Tick: t.decode, Until: t.decode + t.duration()})
			}
		}
		if end >= off+int64(len(data)) {
			return marks, end
		}
		at = int(end-off) - 1
	}
	return marks, off + int64(at)
}

// isMoof reports whether data begins as a moof does.
func isMoof(data []byte) bool {
	return string(data[4:8]) == "moof" && be.Uint32(data) >= minMoof &&
		be.Uint32(data[8:]) == 16 && string(data[12:16]) == "mfhd" && be.Uint32(data[16:]) == 0
}

// followed reports whether data, unless it is empty, begin with the header of
// a box.
func followed(data []byte) bool {
	if len(data) < 8 {
		return true
	}
	for _, c := range data[4:8] {
		if c < ' ' || c > '~' {
			return false
		}
	}
	n := be.Uint32(data)
	return n >= 8 || n <= 1
}

// streams returns the tracks to search by: the first of pictures, or of sound,
// and those that have their fragments to themselves.
func (x *searched) streams(ctx context.Context, tracks []*track) ([]*track, error) {
	begin, err := x.reader.first(ctx, x.start, x.search.End)
	if err != nil {
		return nil, err
	}
	var together, apart []*track
	for _, t := range tracks {
		switch {
		case len(begin.of(t.id)) > 0:
			together = append(together, t)
		case t.kind == formats.Audio || t.kind == formats.Video:
			apart = append(apart, t)
		}
	}
	var out []*track
	for _, t := range together {
		if len(out) == 0 || out[0].kind != formats.Video && t.kind == formats.Video {
			out = []*track{t}
		}
	}
	if out = append(out, apart...); len(out) == 0 {
		out = tracks[:1]
	}
	return out, nil
}

func (x *searched) find(ctx context.Context, tracks []*track, need needs) (*spread, error) {
	needed := slices.DeleteFunc(slices.Clone(tracks), func(t *track) bool {
		_, _, ok := need(t)
		return !ok
	})
	if len(needed) == 0 {
		return nil, errNothing
	}
	streams, err := x.streams(ctx, needed)
	if err != nil {
		return nil, err
	}
	heads, tails := make([]place, len(streams)), make([]place, len(streams))
	g, ctx := errgroup.WithContext(ctx)
	for i, t := range streams {
		from, to, _ := need(t)
		g.Go(func() (err error) {
			heads[i], err = x.around(ctx, t, from)
			return err
		})
		g.Go(func() (err error) {
			tails[i], err = x.around(ctx, t, to-1)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	head, tail := join(heads), join(tails)
	run := searchedRun{stream: streams[0], head: head, tail: tail}
	return x.read(ctx, run)
}

// searchedRun is which stretches of the file a spread has read.
type searchedRun struct {
	stream     *track // of the first fragment
	head, tail place
}

// join returns the stretch that holds all places.
func join(places []place) place {
	out := places[0]
	for _, p := range places[1:] {
		out = place{min(out.start, p.start), max(out.end, p.end)}
	}
	return out
}

// around returns where the fragments of a track are that hold a decode time:
// from the last that begins at or before it to the next. Before the first it is
// the first.
func (x *searched) around(ctx context.Context, t *track, tick int64) (place, error) {
	before, after, err := x.search.Find(ctx, int(t.id), tick)
	if err == nil && before.Tick == math.MinInt64 {
		if after.Tick == math.MaxInt64 {
			return place{x.start, min(x.search.End, x.start+x.reader.guess)}, nil
		}
		next, until, err := x.search.Find(ctx, int(t.id), after.Tick)
		return place{next.Offset, until.Offset}, x.explain(err)
	}
	return place{before.Offset, after.Offset}, x.explain(err)
}

// explain makes an error of a search one of the format.
func (x *searched) explain(err error) error {
	var failed *seek.SearchError
	if !errors.As(err, &failed) {
		return err
	}
	kind := formats.ErrDamaged
	if errors.Is(err, seek.ErrLimit) {
		kind = seek.ErrLimit
	}
	return &formats.Error{
		Container: Name, Element: "moof", Offset: failed.Range.Offset, Err: kind,
		Problem: failed.Error(), Hint: "the file has no index of its fragments; a remux gives it one",
	}
}

// read reads the fragments of a run.
func (x *searched) read(ctx context.Context, run searchedRun) (*spread, error) {
	places := []place{run.head, run.tail}
	if run.tail.start <= run.head.end {
		places = []place{join(places)}
	}
	fragments, cutOff, err := x.reader.read(ctx, places)
	if err != nil {
		return nil, err
	}
	if len(fragments) == 0 {
		return nil, damaged("moof", run.head.start, "no fragment where one was found")
	}
	s := &spread{head: fragments, first: run.head.start <= x.start, last: run.tail.end >= x.search.End, cutOff: cutOff, searched: run}
	if len(places) == 1 {
		s.last = places[0].end >= x.search.End
		return s, nil
	}
	n := 0
	for n < len(fragments) && fragments[n].box.off < run.tail.start {
		n++
	}
	s.head, s.tail = fragments[:n], fragments[n:]
	s.hole = &hole{before: n, stretches: x.file.stretches(run.head.end, run.tail.start, placeRun{index: &placeIndex{}})}
	return s, nil
}

func (x *searched) earlier(ctx context.Context, s *spread, n int) (*spread, error) {
	run := s.searched
	for range n {
		if run.head.start <= x.start {
			break
		}
		first := x.decodeOf(s.head, run.stream.id)
		if first < 0 {
			break
		}
		p, err := x.around(ctx, run.stream, first-1)
		if err != nil {
			return nil, err
		}
		run.head.start = min(p.start, run.head.start-1)
		if run.head.start < x.start || p.start <= x.start {
			run.head.start = x.start
		}
		if s, err = x.read(ctx, run); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// decodeOf returns when the first of fragments begins, by a track; -1 where
// none has it.
func (x *searched) decodeOf(fragments []*moof, id uint32) int64 {
	for _, m := range fragments {
		for _, t := range m.of(id) {
			return t.decode
		}
	}
	return -1
}

func (x *searched) later(ctx context.Context, s *spread) (*spread, error) {
	run := s.searched
	next, err := x.reader.first(ctx, run.tail.end, x.search.End)
	if errors.Is(err, formats.ErrDamaged) || err == nil && next == nil {
		return s, nil // nothing follows that can be read
	}
	if err != nil {
		return nil, err
	}
	run.tail.end = next.box.off + int64(len(next.box.raw))
	return x.read(ctx, run)
}
