package mp4

import (
	"bytes"
	"math"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

// Joint is where in a rendition a clock begins anew, such as behind an
// EXT-X-DISCONTINUITY.
type Joint struct {
	// Segment is the first one of the new clock.
	Segment int
	// Shift is added to the times of that segment and those behind it, up to the
	// next joint: so they go on from those before.
	Shift fragment.Time
	// Start is when the segment begins, shifted. Sound that the segments before
	// have from there on, and those behind have of before (priming), is left out,
	// to the nearest frame.
	Start fragment.Time
}

// otherInit is an initialization segment beside the rendition's own.
type otherInit struct {
	movie *movie
	ids   map[uint32]uint32 // of its tracks: those of the rendition's
}

// movieOf returns the movie that a segment belongs to, and which track of the
// rendition each of its tracks is; nil: the same.
func (r *Rendition) movieOf(i int) (*movie, map[uint32]uint32) {
	if init := r.segments[i].Init; len(init) > 0 {
		if other := r.inits[&init[0]]; other != nil {
			return other.movie, other.ids
		}
	}
	return r.movie, nil
}

// readInits reads the initialization segments that segments have of their own.
// One file can hold what they describe where that is the same.
func (r *Rendition) readInits() error {
	r.inits = map[*byte]*otherInit{}
	for i := range r.segments {
		init := r.segments[i].Init
		if len(init) == 0 || r.inits[&init[0]] != nil {
			continue
		}
		other, err := OpenRendition(init, nil, r.env)
		if err != nil {
			return err
		}
		ids, err := r.movie.match(other.movie)
		if err != nil {
			return err
		}
		r.inits[&init[0]] = &otherInit{other.movie, ids}
	}
	return nil
}

// match finds for each track of another movie the one of m that it goes on: the
// first pictures go on the first, and so on. It has to be coded and counted
// alike; a movie may lack tracks, but have no more.
func (m *movie) match(other *movie) (map[uint32]uint32, error) {
	ids := map[uint32]uint32{}
	mine := m.playable()
	for _, t := range other.playable() {
		i := slices.IndexFunc(mine, func(x *track) bool { return x.handler == t.handler })
		switch {
		case i < 0:
			return nil, unsupported(t.box.path, t.box.off, "", "an initialization with more tracks of %s than the one before", t.kind)
		case mine[i].timescale != t.timescale:
			return nil, unsupported(t.mdhd.path, t.mdhd.off, "", "track %d counts %d ticks a second, before it was %d", t.id, t.timescale, mine[i].timescale)
		case !bytes.Equal(mine[i].coding(), t.coding()):
			return nil, unsupported(t.stsd.path, t.stsd.off, "", "track %d is coded otherwise than before: its sample descriptions differ", t.id)
		}
		ids[t.id] = mine[i].id
		mine = slices.Delete(slices.Clone(mine), i, i+1)
	}
	return ids, nil
}

// coding is what a decoder has to know of a track: its sample descriptions and
// the descriptions of sample groups, without the bit rates in them and the
// track's number, which decoders ignore.
func (t *track) coding() []byte {
	out := bytes.Clone(t.stsd.raw)
	blank := func(typ string, bits func(payload []byte)) {
		for at := 0; ; at += 4 {
			i := bytes.Index(out[at:], []byte(typ))
			if i < 4 {
				return
			}
			at += i
			if end := at - 4 + int(be.Uint32(out[at-4:])); end > at+4 && end <= len(out) {
				bits(out[at+4 : end])
			}
		}
	}
	blank("btrt", func(p []byte) { clear(p) })
	blank("esds", func(p []byte) {
		if config, ok := decoderConfig(p); ok {
			es, _ := descriptor(p[4:], 0x03)
			clear(es[:2])       // ES_ID
			clear(config[2:13]) // bufferSizeDB, maxBitrate, avgBitrate
		}
	})
	for c := range t.stbl.children() {
		if c.typ == "sgpd" {
			out = append(out, c.raw...)
		}
	}
	return out
}

// joined changes fragments of a segment so that they go on from those before
// the joint that they lie behind.
func (r *Rendition) joined(i int, moofs []*moof, joints []Joint) []*moof {
	n := 0 // how many joints lie before
	for n < len(joints) && joints[n].Segment <= i {
		n++
	}
	first := map[uint32]bool{} // tracks of which the first fragment was seen
	for _, m := range moofs {
		for k := range m.trafs {
			f := &m.trafs[k]
			t := r.movie.track(f.id)
			if t == nil || f.decode < 0 {
				continue
			}
			own := r.movie.shift(t)
			ticks := func(at fragment.Time) int64 { return at.Sub(own).Round(t.timescale) }
			moved, from, to := r.shift(i, t), int64(math.MinInt64), int64(math.MaxInt64)
			if n > 0 {
				moved, from = moved.Add(joints[n-1].Shift), ticks(joints[n-1].Start)
				f.rejoins = joints[n-1].Segment == i && !first[f.id]
				first[f.id] = true
			}
			if n < len(joints) {
				to = ticks(joints[n].Start)
			}
			f.decode = max(0, f.decode+ticks(moved))
			if t.kind == formats.Audio && !t.entry.encrypted {
				f.within(from, to)
			}
		}
	}
	return moofs
}

// mixed reports whether some segments have other initialization segments than
// the rendition.
func (r *Rendition) mixed(first, last int) bool {
	return slices.ContainsFunc(r.segments[first:last+1], func(s Segment) bool { return len(s.Init) > 0 })
}

// squeeze makes the samples at the end of a stretch be decoded sooner, so that
// all of them are before a decode time at which what follows begins. They are
// presented when they were. Where pictures are decoded earlier before they are
// shown than in what came before, the two would overlap.
func (b *stretch) squeeze(decode int64) {
	type sample struct{ duration, offset int64 }
	var tail []sample // the last first
	start := b.end
	for n := int64(0); start > decode-n && n < maxReorder && b.count > n; n++ {
		s := sample{pop(&b.durations), pop(&b.offsets)}
		start -= s.duration
		tail = append(tail, s)
		delete(b.gaps, b.count-1-n)
	}
	if n := int64(len(tail)); n > 0 && start > decode-n { // there is no room
		decode = start + n
	}
	at, old := start, start
	for i := len(tail) - 1; i >= 0; i-- {
		s := tail[i]
		to := decode - (decode-at)*int64(i)/int64(i+1)
		b.durations = appendRun(b.durations, run{1, to - at})
		b.offsets = appendRun(b.offsets, run{1, s.offset + old - at})
		at, old = to, old+s.duration
	}
	if len(tail) > 0 {
		b.end = at
	}
}

// pop takes the last value off runs.
func pop(runs *[]run) int64 {
	n := len(*runs) - 1
	last := &(*runs)[n]
	v := last.value
	if last.count--; last.count == 0 {
		*runs = (*runs)[:n]
	}
	return v
}

// shift is how much later a track's media presents in a segment than its
// composition times say.
func (r *Rendition) shift(i int, t *track) fragment.Time {
	movie, ids := r.movieOf(i)
	if ids == nil {
		return movie.shift(t)
	}
	for from, to := range ids {
		if to == t.id {
			return movie.shift(movie.track(from))
		}
	}
	return fragment.Time{}
}

// within leaves out the samples at both ends of which more than half lies
// outside of [from, to), in composition time.
func (t *trackFragment) within(from, to int64) {
	at := t.decode
	var kept []trackRun
	for _, r := range t.runs {
		first, end := int64(0), int64(0)
		for i := range r.count {
			s := r.sample(i)
			middle := at + int64(s.offset) + int64(s.duration)/2
			at += int64(s.duration)
			switch {
			case middle < from:
				first, t.decode = i+1, at
			case middle < to:
				end = i + 1
			}
		}
		if first < end {
			kept = append(kept, r.slice(first, end))
		}
	}
	t.runs = kept
}

// slice returns the samples [from, to) of a run.
func (r trackRun) slice(from, to int64) trackRun {
	for i := range from {
		r.data += int64(r.sample(i).size)
	}
	if from > 0 {
		r.fields &^= trunFirstFlags
	}
	if r.stride > 0 {
		r.entries = r.entries[from*int64(r.stride) : to*int64(r.stride)]
	}
	r.count = to - from
	return r
}
