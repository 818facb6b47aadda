package mp4

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// How long the fragments are that samples of a progressive file are divided
// into. They begin with sync samples where those are not too rare.
var (
	fragmentLength = fragment.Seconds(2)
	syncWait       = fragment.Seconds(8) // for a sync sample behind that
	// outOfStep is how far from the pictures' the border of another track may
	// be, so that fragments follow one another in the clip as in the file: then
	// they come by few requests.
	outOfStep = fragment.Seconds(1)
)

const (
	// farBack is from how many bytes on tracks lie apart in the file, rather than
	// somewhat out of step.
	farBack = 256 << 10
	// maxLongFragment is the most bytes of samples in fragments that are longer
	// for the tracks' sake: players hold one as a whole.
	maxLongFragment = 32 << 20
)

// border is where one fragment ends and the next begins.
type border struct {
	time   fragment.Time // of decoding, on the presentation's timeline
	offset int64         // of the first sample in the file; -1 where no sample begins it
}

// divide deals the samples of a progressive file to fragments: to ever longer
// ones as long as the clip goes back in the file for more than one of them, which
// takes a request for each track each time.
func (c *clip) divide(info *seek.Info) ([]section, error) {
	var out []section
	for length := fragmentLength; ; length = length.Add(length) {
		longer := c.divideBy(length, info)
		times, largest, err := c.goesBack(longer)
		switch {
		case err != nil:
			return nil, err
		case out != nil && largest > maxLongFragment:
			return out, nil
		case times < 2:
			return longer, nil
		}
		out = longer
	}
}

// goesBack tells how many of some fragments begin far before the end of the one
// before in the file, and how many bytes of samples the largest has.
func (c *clip) goesBack(sections []section) (times int, largest int64, err error) {
	end := int64(0)
	for _, s := range sections {
		trafs, err := c.trafs(s)
		if err != nil {
			return 0, 0, err
		}
		first, size, last := int64(math.MaxInt64), int64(0), end
		for _, t := range trafs {
			for _, ch := range t.chunks {
				first, last, size = min(first, ch.offset), max(last, ch.offset+ch.size), size+ch.size
			}
		}
		if first < end-farBack {
			times++
		}
		end, largest = last, max(largest, size)
	}
	return times, largest, nil
}

// divideBy deals the samples to fragments of a length.
func (c *clip) divideBy(length fragment.Time, info *seek.Info) []section {
	main := c.mainCut()
	lo, hi := c.decoding()
	var out []section
	last := border{time: lo, offset: -1}
	for {
		next := c.nextBorder(main, length, last.time, hi)
		s := section{number: uint32(len(out) + 1), samples: map[*cut]sampleRange{}, info: info}
		for _, cut := range c.cuts {
			from, to := c.bordering(cut, main, last), c.bordering(cut, main, next)
			if !next.time.Less(hi) {
				to = cut.track.tables.count
			}
			if len(out) == 0 {
				from = 0
			}
			s.samples[cut] = sampleRange{from, max(from, to)}
		}
		out = append(out, s)
		if !next.time.Less(hi) {
			return out
		}
		last = next
	}
}

// unreadNumbers are set aside for the fragments of a stretch that is passed on
// unread when those around it are numbered anew.
const unreadNumbers = 1 << 16

// divideRuns deals the samples of sections with several runs of samples to fragments
// of one run of one track, in the order of the file: of a track in a fragment,
// ffmpeg (5.1) decrypts what is in one trun alone.
func (c *clip) divideRuns() error {
	divided := false
	for i := range c.sections {
		s := &c.sections[i]
		all, err := c.chunksOf(s)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all[min(1, len(all)):], func(ch chunkOf) bool { return ch.cut != all[0].cut || ch.description != all[0].description }) {
			continue // one run
		}
		divided = true
		for n, ch := range all {
			if last := len(s.runs) - 1; n > 0 && ch.follows(all[n-1]) {
				r := s.runs[last].samples[ch.cut]
				s.runs[last].samples[ch.cut] = sampleRange{r.from, ch.of.to}
				continue
			}
			run := *s
			run.runs, run.samples = nil, map[*cut]sampleRange{ch.cut: ch.of}
			if n > 0 {
				run.systems = nil
			}
			s.runs = append(s.runs, run)
		}
	}
	if divided {
		c.renumber()
	}
	return nil
}

// renumber numbers all fragments anew.
func (c *clip) renumber() {
	number := uint32(1)
	for i := range c.sections {
		s := &c.sections[i]
		s.number = number
		for n := range s.runs {
			s.runs[n].number = number + uint32(n)
		}
		if number += uint32(max(1, len(s.runs))); s.hole != nil {
			number += unreadNumbers
		}
	}
}

// chunksOf returns the chunks of what the clip delivers of a section, in the order
// of the file.
func (c *clip) chunksOf(s *section) ([]chunkOf, error) {
	var all []chunkOf
	for _, cut := range c.cuts {
		chunks, err := cut.chunksWithin(s.samples[cut])
		if err != nil {
			return nil, err
		}
		all = append(all, chunks...)
	}
	slices.SortStableFunc(all, func(a, b chunkOf) int { return cmp.Compare(a.offset, b.offset) })
	return all, nil
}

// chunksWithin returns the chunks of the samples in a range that the cut delivers.
func (c *cut) chunksWithin(in sampleRange) ([]chunkOf, error) {
	var out []chunkOf
	for _, r := range c.ranges {
		r.from, r.to = max(r.from, in.from), min(r.to, in.to)
		if r.from >= r.to {
			continue
		}
		chunks, err := c.track.tables.chunksOf(r.from, r.to)
		if err != nil {
			return nil, err
		}
		for _, ch := range chunks {
			out = append(out, chunkOf{c, sampleRange{r.from, r.from + ch.samples}, ch})
			r.from += ch.samples
		}
	}
	return out, nil
}

// chunkOf is a chunk of a cut, and its samples.
type chunkOf struct {
	cut *cut
	of  sampleRange
	chunk
}

// follows reports whether a chunk goes on with what another ends with.
func (c chunkOf) follows(before chunkOf) bool {
	return c.cut == before.cut && c.of.from == before.of.to && c.offset == before.offset+before.size && c.description == before.description
}

// decoding returns when the first of the delivered samples is decoded and when
// the last ends, on the presentation's timeline.
func (c *clip) decoding() (lo, hi fragment.Time) {
	for i, cut := range c.cuts {
		first, last := cut.ranges[0].from, cut.ranges[len(cut.ranges)-1].to
		a, b := c.decodeTime(cut, first), c.decodeTime(cut, last)
		if i == 0 {
			lo, hi = a, b
		}
		lo, hi = lo.Min(a), hi.Max(b)
	}
	return lo, hi
}

// decodeTime returns when a sample is decoded, on the presentation's timeline
// by the track's first edit.
func (c *clip) decodeTime(cut *cut, sample int64) fragment.Time {
	return fragment.Ticks(cut.track.tables.decode(sample), cut.track.timescale).Add(c.movie.shift(cut.track))
}

// at returns the first sample of a cut that is decoded at or after a time.
func (c *clip) at(cut *cut, t fragment.Time) int64 {
	media := t.Sub(c.movie.shift(cut.track)).Ceil(cut.track.timescale)
	return cut.track.tables.atDecode(media-1) + 1
}

// nextBorder returns the border a length behind the one at a time: at a sync
// sample of the main track, or at any where those are rare. Before the track begins and
// behind its end it is anywhere.
func (c *clip) nextBorder(main *cut, length, last, hi fragment.Time) border {
	s := main.track.tables
	first, end := main.ranges[0].from, main.ranges[len(main.ranges)-1].to
	early, late := c.at(main, last.Add(length)), c.at(main, last.Add(length).Add(syncWait))
	if late <= first || c.at(main, last) >= end {
		return border{time: c.nextSample(last.Add(length), hi), offset: -1}
	}
	sample := s.syncFrom(max(early, first))
	if sample < 0 || sample > late {
		sample = late
	}
	if sample < end {
		return border{time: c.decodeTime(main, sample), offset: s.place(sample)}
	}
	if ends := c.decodeTime(main, end); last.Less(ends) && length.Less(hi.Sub(ends)) {
		return border{time: ends, offset: -1}
	}
	return border{time: hi, offset: -1}
}

// nextSample returns when the first sample at or after a time is decoded, hi
// where there is none.
func (c *clip) nextSample(t, hi fragment.Time) fragment.Time {
	for _, cut := range c.cuts {
		if sample := c.at(cut, t); sample < cut.track.tables.count {
			hi = hi.Min(c.decodeTime(cut, sample))
		}
	}
	return hi
}

// bordering returns the first sample of a cut behind a border: by its time, and
// near that by its place in the file.
func (c *clip) bordering(cut, main *cut, b border) int64 {
	sample := c.at(cut, b.time)
	if cut == main || b.offset < 0 {
		return sample
	}
	s := cut.track.tables
	from, to := c.at(cut, b.time.Sub(outOfStep)), min(s.count, c.at(cut, b.time.Add(outOfStep)))
	if from >= to {
		return sample
	}
	return from + int64(sort.Search(int(to-from), func(i int) bool { return s.place(from+int64(i)) >= b.offset }))
}

// syncFrom returns the first sync sample at or after a sample, -1 where there is
// none.
func (s *sampleTables) syncFrom(sample int64) int64 {
	if s.all {
		return sample
	}
	n := len(s.sync) / 4
	i := sort.Search(n, func(i int) bool { return int64(be.Uint32(s.sync[4*i:]))-1 >= sample })
	if i == n {
		return -1
	}
	return int64(be.Uint32(s.sync[4*i:])) - 1
}

// place returns where a sample is in the file, -1 where that is not known.
func (s *sampleTables) place(sample int64) int64 {
	chunks, err := s.chunksOf(sample, sample+1)
	if err != nil || len(chunks) == 0 {
		return -1
	}
	return chunks[0].offset
}

// fragmentBrand adds to an ftyp the brand that says that fragments count from
// their own beginning (ISO/IEC 14496-12 annex E). QuickTime has no such brand.
func fragmentBrand(ftyp []byte) []byte {
	const brand = "iso6"
	if len(ftyp) < 16 || string(ftyp[8:12]) == "qt  " {
		return ftyp
	}
	for at := 16; at+4 <= len(ftyp); at += 4 {
		if string(ftyp[at:at+4]) == brand {
			return ftyp
		}
	}
	out := append(append([]byte(nil), ftyp...), brand...)
	be.PutUint32(out, uint32(len(out)))
	return out
}
