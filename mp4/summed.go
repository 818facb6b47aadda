package mp4

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// sumRounds bounds the rounds in which durations are added up for one interval.
const sumRounds = 4

// summed tells the places of fragments that neither an index names nor say when
// they begin: it adds up their durations from the file's first on, and goes on
// from there for later intervals. What so many rounds do not reach is an error:
// fragments need not be equally long, so that a guess could not be checked.
type summed struct {
	file   *file
	reader *fragmentReader
	size   int64 // of the file

	mu      sync.Mutex
	at      int64            // where the first box is that was not read
	ends    map[uint32]int64 // decode times at which the tracks' media end so far
	known   placeIndex
	sampled map[uint32]bool // tracks with samples in the fragments
}

// sum returns what finds fragments by adding up their durations.
func (f *file) sum(size int64) *indexed {
	x := &summed{file: f, reader: f.reader(), size: size, at: f.first, ends: map[uint32]int64{}, sampled: map[uint32]bool{}}
	x.known = placeIndex{times: map[uint32][]timed{}, decodes: map[int64]map[uint32]int64{}, after: true}
	for _, t := range f.movie.tracks {
		x.ends[t.id] = t.tables.end() // samples in the moov come first
	}
	return &indexed{file: f, index: x.index}
}

// index adds up until the tracks reach a time in seconds.
func (x *summed) index(ctx context.Context, _, to fragment.Time, _ int) (*placeIndex, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for round := 0; ; round++ {
		if err := x.advance(to); err != nil {
			return nil, err
		}
		if !x.known.after || !x.reached().Less(to) {
			break
		}
		if round == sumRounds {
			return nil, &formats.Error{
				Container: Name, Element: "moof", Offset: x.at, Err: seek.ErrLimit,
				Problem: fmt.Sprintf("the fragments do not say when they begin, and %d rounds of adding up their durations reach %s s", sumRounds, x.reached()),
				Hint:    "a remux gives the file an index; or choose an earlier interval",
			}
		}
		if _, err := x.file.window.Read(ctx, x.probes()...); err != nil {
			return nil, err
		}
	}
	out := x.known
	out.places, out.times, out.decodes = slices.Clone(out.places), maps.Clone(out.times), maps.Clone(out.decodes)
	out.afterStart = x.reached()
	return &out, nil
}

// reached returns until when the media of all pictures and sounds is known, in
// seconds.
func (x *summed) reached() fragment.Time {
	until, any := far, false
	for _, t := range x.file.movie.tracks {
		if x.sampled[t.id] && (t.kind == formats.Audio || t.kind == formats.Video) {
			until, any = until.Min(fragment.Ticks(x.ends[t.id], t.timescale)), true
		}
	}
	if !any {
		return fragment.Time{}
	}
	return until
}

// probes returns what a round reads: as much as a round of a search, from the
// first box on that is not known; where fragments are larger than a probe, also
// where the next ones are likely to be.
func (x *summed) probes() []seek.Request {
	const probe, n = seek.DefaultProbe, seek.DefaultParallel
	each := int64(probe)
	if k := len(x.known.places); k > 0 {
		each = max(each, (x.known.places[k-1].end-x.known.places[0].start)/int64(k))
	}
	var out []seek.Request
	for i := range int64(n) {
		at := x.at + i*each
		if i > 0 && each > probe { // it may be a little earlier
			at -= probe / 2
		}
		out = append(out, seek.Request{Range: seek.Range{Offset: at, Length: probe}, Purpose: seek.Probe, Note: "sums"})
	}
	if size, ok := x.moofAt(); ok { // one that is larger than a probe
		out[0].Length = max(out[0].Length, size)
	}
	return out
}

// moofAt returns the length of the moof that is next, where its header is held.
func (x *summed) moofAt() (size int64, ok bool) {
	head, ok := x.file.window.Held(seek.Range{Offset: x.at, Length: headerBytes})
	if !ok {
		return 0, false
	}
	typ, _, size, ok := readHeader(head)
	return size, ok && typ == "moof" && size > 0 && size <= maxMoof
}

// advance goes on through the boxes that are held, until the tracks reach a
// time. Each step takes it a box further.
func (x *summed) advance(to fragment.Time) error {
	for {
		if x.at >= x.size {
			x.known.after = false
		}
		if !x.known.after || !x.reached().Less(to) {
			return nil
		}
		head, ok := x.file.window.Held(seek.Range{Offset: x.at, Length: headerBytes})
		if !ok {
			return nil
		}
		typ, header, size, ok := readHeader(head)
		switch {
		case !ok && len(head) < headerBytes, size == -1, typ == "mfra":
			x.known.after = false
			return nil
		case !ok || size < int64(header):
			return damaged(printable(typ), x.at, "box size smaller than its header")
		case typ == "moof" && size > maxMoof:
			return damaged("moof", x.at, "%d bytes long", size)
		case typ == "moof":
			raw, ok := x.file.window.Held(seek.Range{Offset: x.at, Length: size})
			if !ok {
				return nil
			}
			if int64(len(raw)) < size {
				x.known.after, x.known.cutOff = false, true
				return nil
			}
			m, err := readFragment(box{typ: typ, off: x.at, header: header, raw: raw, path: "moof"}, x.reader.defaults)
			if err != nil {
				return err
			}
			x.add(m)
		}
		if x.at+size < x.at {
			return damaged(printable(typ), x.at, "box size wraps around")
		}
		x.at += size
		if k := len(x.known.places); k > 0 {
			x.known.places[k-1].end = min(x.at, x.size)
		}
	}
}

// add adds a fragment: its place, and when its media begin.
func (x *summed) add(m *moof) {
	starts := map[uint32]int64{}
	for i := range m.trafs {
		t := &m.trafs[i]
		track := x.file.movie.track(t.id)
		if track == nil || t.samples() == 0 {
			continue
		}
		if t.decode >= 0 {
			x.ends[t.id] = t.decode
		}
		if _, ok := starts[t.id]; !ok {
			starts[t.id] = x.ends[t.id]
			at := fragment.Ticks(x.ends[t.id]+firstOffsetOf(t), track.timescale)
			x.known.times[t.id] = append(x.known.times[t.id], timed{at, len(x.known.places), at})
		}
		x.ends[t.id] = min(x.ends[t.id]+t.duration(), maxTicks)
		x.sampled[t.id] = true
	}
	x.known.places = append(x.known.places, place{m.box.off, m.box.off})
	x.known.decodes[m.box.off] = starts
}

// firstOffsetOf returns the composition offset of a track fragment's first sample.
func firstOffsetOf(t *trackFragment) int64 {
	for i := range t.runs {
		if t.runs[i].count > 0 {
			return int64(t.runs[i].sample(0).offset)
		}
	}
	return 0
}
