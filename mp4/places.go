package mp4

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// place is a stretch of the file that an index tells of: one fragment or a few.
type place struct{ start, end int64 }

// timed is when the media of a track begins in a place, as an index says.
type timed struct {
	time  fragment.Time // seconds on the media's own timeline
	place int
	opens fragment.Time // from when on decoding may begin in it, as far as the index tells: else time
}

// placeIndex says where the fragments of a file are, and when.
type placeIndex struct {
	places []place            // in the order of the file
	times  map[uint32][]timed // by track, ascending; not all tracks need have one
	end    fragment.Time      // of the media, where it is known
	known  bool

	// decodes is when the tracks' media begin in fragments, by where those are, in
	// decode time; nil where the index tells only what is in times.
	decodes map[int64]map[uint32]int64

	// Fragments that the index has not told of, though it could.
	before, after         bool          // before the first place, behind the last
	beforeEnd, afterStart fragment.Time // seconds until when, and from when on
	behind                map[int]bool  // behind a place in the middle

	cutOff bool // places beyond the file's end were left out
}

// within returns the index without the places that do not begin within so many
// bytes: of a file that is cut off. One that has none is returned as it is.
func (x *placeIndex) within(size int64) *placeIndex {
	n := sort.Search(len(x.places), func(i int) bool { return x.places[i].start+minMoof > size })
	if size < 0 || n == len(x.places) {
		return x
	}
	out := *x
	out.places, out.times, out.after, out.cutOff = x.places[:n], map[uint32][]timed{}, false, true
	for id, list := range x.times {
		for _, t := range list {
			if t.place < n {
				out.times[id] = append(out.times[id], t)
			}
		}
	}
	return &out
}

// sparse reports whether there are fragments between two places that the index
// has not told of.
func (x *placeIndex) sparse(first, last int) bool {
	for i := range x.behind {
		if i >= first && i < last {
			return true
		}
	}
	return false
}

// placesOfSidx makes a place index of segment indices, one or more for each
// track.
func placesOfSidx(roots []*segmentIndex) *placeIndex {
	x := &placeIndex{times: map[uint32][]timed{}, behind: map[int]bool{}}
	type start struct {
		reference
		root   *segmentIndex
		behind bool // other indices follow that were not read
	}
	var all []start
	told := map[*segmentIndex]bool{} // those that say at all where decoding may begin
	for _, s := range roots {
		var list []start
		for _, r := range s.references {
			told[s] = told[s] || r.access >= 0
			n := len(list)
			begin := fragment.Ticks(r.start, s.timescale)
			switch {
			case !r.index && r.size > 0:
				list = append(list, start{r, s, false})
			case !r.index:
			case n == 0:
				x.before, x.beforeEnd = true, x.beforeEnd.Max(fragment.Ticks(r.start+r.duration, s.timescale))
			case !list[n-1].behind:
				list[n-1].behind = true
				x.missing(begin)
			}
		}
		all = append(all, list...)
		x.end, x.known = x.end.Max(s.duration()), true
	}
	slices.SortStableFunc(all, func(a, b start) int { return cmp.Compare(a.offset, b.offset) })
	for _, s := range all {
		n := len(x.places)
		if n == 0 || x.places[n-1].start != s.offset {
			x.places = append(x.places, place{s.offset, s.offset + s.size})
			n++
		}
		x.places[n-1].end = max(x.places[n-1].end, s.offset+s.size)
		at := timed{time: fragment.Ticks(s.start, s.root.timescale), place: n - 1}
		if at.opens = at.time; told[s.root] {
			if at.opens = far; s.access >= 0 {
				at.opens = fragment.Ticks(s.access, s.root.timescale)
			}
		}
		x.times[s.root.track] = append(x.times[s.root.track], at)
		if s.behind {
			x.behind[n-1] = true
		}
	}
	return x
}

// missing notes that the index has not told of what begins at a time.
func (x *placeIndex) missing(start fragment.Time) {
	if !x.after || start.Less(x.afterStart) {
		x.after, x.afterStart = true, start
	}
}

// placesOfMfra makes a place index of random access points. Each place ends
// where the next begins, the last at end.
func placesOfMfra(points map[uint32][]accessPoint, m *movie, end int64) *placeIndex {
	x := &placeIndex{times: map[uint32][]timed{}}
	var starts []int64
	for _, list := range points {
		for _, p := range list {
			starts = append(starts, p.moof)
		}
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	for i, s := range starts {
		until := end
		if i+1 < len(starts) {
			until = starts[i+1]
		}
		x.places = append(x.places, place{s, until})
	}
	for id, list := range points {
		t := m.track(id)
		if t == nil {
			continue
		}
		for _, p := range list {
			i, _ := slices.BinarySearch(starts, p.moof)
			at := fragment.Ticks(p.time, t.timescale)
			x.times[id] = append(x.times[id], timed{at, i, at})
		}
	}
	return x
}

// around returns which places hold [from, to) of the given tracks: from the one
// that begins at or before from to the one that begins before to. Tracks
// without times of their own are where the others are.
func (x *placeIndex) around(tracks []*track, need func(*track) (from, to fragment.Time, ok bool)) (first, last int) {
	first, last = len(x.places), -1
	look := func(list []timed, from, to fragment.Time) {
		i := sort.Search(len(list), func(i int) bool { return from.Less(list[i].time) })
		j := sort.Search(len(list), func(i int) bool { return !list[i].time.Less(to) })
		first = min(first, list[opening(list, max(0, i-1), from)].place)
		last = max(last, list[max(0, j-1)].place)
	}
	for _, t := range tracks {
		from, to, ok := need(t)
		if !ok {
			continue
		}
		if list := x.times[t.id]; len(list) > 0 {
			look(list, from, to)
			continue
		}
		if list := x.main(); len(list) > 0 {
			look(list, from, to)
		}
	}
	return first, last
}

// opening returns which of some times, at or before the n-th, decoding has to
// begin at for a time in that, as far as the index tells and if that is not long
// before.
func opening(list []timed, n int, from fragment.Time) int {
	for i := n; i >= 0 && n-i < maxFragments && from.Less(list[i].time.Add(beside)); i-- {
		if !from.Less(list[i].opens) {
			return i
		}
	}
	return n
}

// main is the longest list of times.
func (x *placeIndex) main() []timed {
	var out []timed
	var of uint32
	for id, list := range x.times {
		if len(list) > len(out) || len(list) == len(out) && id < of {
			out, of = list, id
		}
	}
	return out
}

// at returns when the media of a track, or of the main one, begins in a place.
func (x *placeIndex) at(track uint32, place int) (fragment.Time, bool) {
	for _, list := range [][]timed{x.times[track], x.main()} {
		for _, t := range list {
			if t.place == place {
				return t.time, true
			}
		}
	}
	return fragment.Time{}, false
}

// later returns how much later the media of tracks begins in a place than in an
// earlier one, in seconds, where a segment index names both: its times are those of
// the earliest samples, while a tfra's are those of sync samples, which may come
// later.
func (x *placeIndex) later(place, than int) map[uint32]fragment.Time {
	out := map[uint32]fragment.Time{}
	for id, list := range x.times {
		i, ok := slices.BinarySearchFunc(list, than, func(t timed, place int) int { return cmp.Compare(t.place, place) })
		j, also := slices.BinarySearchFunc(list, place, func(t timed, place int) int { return cmp.Compare(t.place, place) })
		if ok && also && x.known {
			out[id] = list[j].time.Sub(list[i].time)
		}
	}
	return out
}

// share returns how much of a place comes before a time, somewhat too much
// rather than too little: 1 is all.
func (x *placeIndex) share(place int, to fragment.Time) float64 {
	start, ok := x.at(0, place)
	if !ok {
		return 1
	}
	end, ok := x.at(0, place+1)
	if !ok {
		if end = x.end; !x.known {
			return 1
		}
	}
	length := end.Sub(start).Seconds()
	if length <= 0 {
		return 1
	}
	return min(1, max(0, to.Sub(start).Seconds()/length*1.1+0.05))
}

// date tells fragments that do not say so themselves when they begin: of each
// track the first one from a place on, as the index has it, or where it knows
// better all of them.
func (x *placeIndex) date(m *movie, fragments []*moof, place int) {
	dated := map[uint32]bool{}
	for _, f := range fragments {
		i := sort.Search(len(x.places), func(i int) bool { return x.places[i].start > f.box.off }) - 1
		if i < place {
			continue
		}
		if x.decodes != nil {
			clear(dated)
		}
		for n := range f.trafs {
			t := &f.trafs[n]
			track := m.track(t.id)
			if dated[t.id] || track == nil || t.samples() == 0 {
				continue
			}
			dated[t.id] = true
			if start, ok := x.decodes[f.box.off][t.id]; ok {
				t.decode = start
			} else if at, ok := x.at(t.id, i); ok && t.decode < 0 {
				t.decode = max(0, at.Round(track.timescale)-firstOffsetOf(t))
			}
		}
	}
}

// walker reads the fragments between two offsets.
type walker struct {
	at, end   int64
	want      int64 // bytes of the next read
	most      int   // stop behind so many fragments; 0: no
	fragments []*moof
	done      bool
	cutOff    bool // the file ends within a moof
}

// Limits on reading fragments.
const (
	maxFragments = 64       // that are read for one clip; more are passed on unread
	moofGuess    = 16 << 10 // bytes read of a moof whose size is not known
	maxMoof      = 16 << 20 // bytes of a moof
	maxWalk      = 4096     // boxes in a place
)

// fragmentReader reads fragments.
type fragmentReader struct {
	window   *seek.Window
	defaults map[uint32]fragmentDefaults
	guess    int64 // bytes that a moof is likely to take
	size     int64 // of a file, which may be cut off; 0: unknown, or of a segment, which is whole
}

// reader returns the reader of the file's fragments. A moof is likely to be
// somewhat larger than the file's first.
func (f *file) reader() *fragmentReader {
	r := &fragmentReader{f.window, f.movie.fragmentDefaultsOf(), moofGuess, max(0, f.window.Info().Size)}
	if f.firstMoof > 0 {
		r.guess = min(f.firstMoof+f.firstMoof/4+256, maxMoof)
	}
	return r
}

// read reads the fragments in places, all places at once. A place with more
// than one fragment takes a round for each. CutOff says that the file ends within
// one, which is left out.
func (r *fragmentReader) read(ctx context.Context, places []place) (out []*moof, cutOff bool, err error) {
	walkers := make([]*walker, len(places))
	for i, p := range places {
		walkers[i] = &walker{at: p.start, end: p.end, want: r.guess}
	}
	for range 4 * maxFragments {
		var open []*walker
		var requests []seek.Request
		for _, w := range walkers {
			if w.done {
				continue
			}
			open = append(open, w)
			at := seek.Range{Offset: w.at, Length: w.want}
			if w.end >= 0 {
				at.Length = min(at.Length, w.end-w.at)
			}
			requests = append(requests, seek.Request{Range: at, Purpose: seek.Index, Note: "moof"})
		}
		if len(open) == 0 {
			for _, w := range walkers {
				out, cutOff = append(out, w.fragments...), cutOff || w.cutOff
			}
			return out, cutOff, nil
		}
		got, err := r.window.ReadAtOnce(ctx, requests...)
		if err != nil {
			return nil, false, err
		}
		for i, w := range open {
			if err := w.step(got[i], int64(len(got[i])) < requests[i].Length, r); err != nil {
				return nil, false, err
			}
		}
	}
	return nil, false, damaged("moof", places[0].start, "more fragments in one place of the index than are read")
}

// step goes through the boxes in data, which begin at w.at, as far as they
// reach. Whole says that the file ends with data.
func (w *walker) step(data []byte, whole bool, r *fragmentReader) error {
	w.want = r.guess
	for range maxWalk {
		if w.end >= 0 && w.at >= w.end || w.most > 0 && len(w.fragments) == w.most {
			w.done = true
			return nil
		}
		typ, header, size, ok := readHeader(data)
		switch {
		case !ok && len(data) >= headerBytes, size == 0 && ok:
			return damaged(printable(typ), w.at, "box size smaller than its header")
		case !ok: // too short for a header
			w.done = whole
			return nil
		case size == -1:
			w.done = true
			return nil
		case typ == "moof" && size > maxMoof:
			return damaged("moof", w.at, "%d bytes long", size)
		case typ == "moof" && r.size > 0 && w.at+size > r.size:
			w.done, w.cutOff = true, true
			return nil
		case typ == "moof" && size > int64(len(data)):
			if whole || w.end >= 0 && w.at+size > w.end {
				return damaged("moof", w.at, "cut off after %d of %d bytes", len(data), size)
			}
			w.want = size + headerBytes
			return nil
		case typ == "moof":
			fr, err := readFragment(box{typ: typ, off: w.at, header: header, raw: data[:size], path: "moof"}, r.defaults)
			if err != nil {
				return err
			}
			w.fragments = append(w.fragments, fr)
		}
		if w.at+size < w.at {
			return damaged(printable(typ), w.at, "box size wraps around")
		}
		w.at += size
		data = data[min(size, int64(len(data))):]
	}
	return damaged("", w.at, "more than %d boxes between fragments", maxWalk)
}
