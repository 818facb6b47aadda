package mp4

import (
	"math"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// stretch gathers samples in decode order, out of fragments or of other tables,
// and makes sample tables of them: what chooses and writes samples knows tables
// only.
type stretch struct {
	track *track
	limit int64 // samples

	count             int64
	start, end        int64 // decode times
	durations         []run
	offsets           []run
	sizes             []byte
	sync              []byte
	nonSync           bool
	depends           []byte // sdtp entries
	chunks            []byte // 8 bytes each
	stsc              []byte
	lastSamples       int64
	lastDescription   uint32
	groups            []*sampleGroup
	grouped           map[*sampleGroup][]run // which descriptions the samples have
	aux               [][]byte               // encryption information of each sample; nil: none has any
	auxApart          []auxPlace
	subsamples        bool
	gaps              map[int64]int64 // how much longer a sample lasts than it says, until the next
	fragments         []sampleRange   // the samples of each fragment that was added
	sizesDiffer       bool
	oneSize           int64
	dependsOnAnything bool
	padding           []byte                   // padb, a byte for each sample
	priorities        []byte                   // stdp
	padded, ranked    bool                     // any of them says anything
	parts             map[uint32]*partsBuilder // by the flags of their subs
}

// newStretch returns an empty stretch of a track.
func newStretch(t *track, limit int64) *stretch {
	b := &stretch{track: t, limit: limit, grouped: map[*sampleGroup][]run{}, gaps: map[int64]int64{}, parts: map[uint32]*partsBuilder{}}
	for _, g := range t.tables.groups { // a copy: descriptions of fragments are added
		c := *g
		c.entries = append([][]byte(nil), g.entries...)
		c.samples = nil
		b.groups = append(b.groups, &c)
	}
	return b
}

// at makes the next sample begin at a decode time: the one before lasts until
// then.
func (b *stretch) at(decode int64) error {
	if b.count == 0 {
		b.start, b.end = decode, decode
		return nil
	}
	last := len(b.durations) - 1
	gap := decode - b.end
	if gap == 0 || last < 0 {
		return nil
	}
	d := b.durations[last].value + gap
	if d < 0 { // times that run backwards by more than a sample are not believed
		d = 0
		gap = -b.durations[last].value
	}
	if d > math.MaxUint32 {
		return b.track.box.damaged(0, "track %d has a gap of %d ticks between fragments", b.track.id, gap)
	}
	b.durations[last].count--
	if b.durations[last].count == 0 {
		b.durations = b.durations[:last]
	}
	b.durations = appendRun(b.durations, run{1, d})
	b.gaps[b.count-1] += gap
	b.end += gap
	return nil
}

// addFragment adds the track's samples of a fragment. Where the fragment does
// not say when they begin, they follow those before.
func (b *stretch) addFragment(f *moof) error {
	from := b.count
	for _, t := range f.of(b.track.id) {
		if t.rejoins && b.end > t.decode {
			b.squeeze(t.decode)
		}
		if t.decode >= 0 {
			if err := b.at(t.decode); err != nil {
				return err
			}
		}
		n := t.samples()
		if n > b.limit-b.count {
			return &formats.Error{
				Container: Name, Element: t.box.path, Offset: t.box.off, Err: seek.ErrLimit,
				Problem: "more samples than the limit for a table", Hint: "raise Limits.Entries if the file is trusted",
			}
		}
		b.addGroups(t.box, n)
		if err := b.addAux(t, f, n); err != nil {
			return err
		}
		var x extras
		depends, err := t.readExtras(&x)
		if err != nil {
			return err
		}
		b.addParts(&x, n)
		first := b.count
		for i := range t.runs {
			b.addRun(&t.runs[i], t.description, func(sample int64, flags uint32) uint32 {
				if i := sample - first; i < int64(len(depends)) {
					flags = flags&^sampleDepends | uint32(depends[i])<<20
				}
				return flags | x.flags(sample-first)
			})
		}
	}
	b.fragments = append(b.fragments, sampleRange{from, b.count})
	return nil
}

// addRun adds the samples of a run. More adds to a sample's flags what other
// tables say.
func (b *stretch) addRun(r *trackRun, description uint32, more func(sample int64, flags uint32) uint32) {
	if r.count == 0 {
		return
	}
	b.addChunk(r.data, r.count, description)
	for i := range r.count {
		s := r.sample(i)
		b.addSample(int64(s.duration), int64(s.offset), int64(s.size), more(b.count, s.flags))
	}
}

// addTables adds the samples [from, to) of other tables of the track.
func (b *stretch) addTables(t *sampleTables, from, to int64) error {
	if to-from > b.limit-b.count {
		return b.track.box.damaged(0, "track %d has more samples than the limit", b.track.id)
	}
	if err := b.at(t.decode(from)); err != nil {
		return err
	}
	chunks, err := t.chunksOf(from, to)
	if err != nil {
		return err
	}
	for i, g := range t.groups { // the stretch's own begin with the same
		if g.samples != nil {
			b.addGroup(b.groups[i], g.runsOf(from, to), nil)
		}
	}
	for _, c := range chunks {
		b.addChunk(c.offset, c.samples, c.description)
	}
	durations, offsets := t.durations(from, to), t.offsets(from, to)
	x := t.extras.from(from)
	b.addParts(&x, to-from)
	for i := from; i < to; i++ {
		b.addSample(take(&durations), take(&offsets), t.size(i), t.flags(i))
	}
	b.fragments = append(b.fragments, sampleRange{b.count - (to - from), b.count})
	return nil
}

// take takes one value off runs; beyond their end it is 0.
func take(runs *[]run) int64 {
	for len(*runs) > 0 && (*runs)[0].count == 0 {
		*runs = (*runs)[1:]
	}
	if len(*runs) == 0 {
		return 0
	}
	(*runs)[0].count--
	return (*runs)[0].value
}

func (b *stretch) addChunk(offset, samples int64, description uint32) {
	b.chunks = be.AppendUint64(b.chunks, uint64(offset))
	if samples == b.lastSamples && description == b.lastDescription {
		return
	}
	b.stsc = be.AppendUint32(b.stsc, uint32(len(b.chunks)/8))
	b.stsc = be.AppendUint32(b.stsc, uint32(samples))
	b.stsc = be.AppendUint32(b.stsc, description)
	b.lastSamples, b.lastDescription = samples, description
}

// addSample adds a sample with flags as fragments have them.
func (b *stretch) addSample(duration, offset, size int64, flags uint32) {
	depends, padding, priority := byte(flags>>20), byte(flags>>17&7), uint16(flags)
	b.durations = appendRun(b.durations, run{1, duration})
	b.offsets = appendRun(b.offsets, run{1, offset})
	b.sizes = be.AppendUint32(b.sizes, uint32(size))
	if b.count == 0 {
		b.oneSize = size
	}
	b.sizesDiffer = b.sizesDiffer || size != b.oneSize
	b.depends = append(b.depends, depends)
	b.dependsOnAnything = b.dependsOnAnything || depends != 0
	b.padding, b.priorities = append(b.padding, padding), be.AppendUint16(b.priorities, priority)
	b.padded, b.ranked = b.padded || padding != 0, b.ranked || priority != 0
	b.count++
	b.end += duration
	if isSync(flags) {
		b.sync = be.AppendUint32(b.sync, uint32(b.count))
	} else {
		b.nonSync = true
	}
}

// tables returns what was gathered as sample tables.
func (b *stretch) tables() (*sampleTables, error) {
	s := &sampleTables{
		box: b.track.tables.box, count: b.count, start: b.start,
		sync: b.sync, all: !b.nonSync, chunks: b.chunks, wide: true, stsc: b.stsc, gaps: b.gaps, groups: b.groups,
	}
	if s.sizes, s.sizeBits = b.sizes, 32; !b.sizesDiffer && b.oneSize > 0 {
		s.sizes, s.oneSize = nil, b.oneSize
	}
	if b.dependsOnAnything {
		s.depends = b.depends
	}
	var bad int
	if s.stts, bad = newRunTable(encodeRuns(b.durations), false); bad >= 0 {
		return nil, b.track.box.damaged(0, "the durations of track %d add up to more than any medium lasts", b.track.id)
	}
	if len(b.offsets) > 1 || len(b.offsets) == 1 && b.offsets[0].value != 0 {
		s.ctts, _ = newRunTable(encodeRuns(b.offsets), true)
	}
	for g, runs := range b.grouped {
		g.samples = grouped(runs)
	}
	s.extras = b.extras()
	if b.aux != nil {
		s.aux = &auxInfo{samples: b.aux, subsamples: b.subsamples, apart: b.auxApart}
	}
	if s.count > 0 {
		return s, s.markChunks()
	}
	return s, nil
}

// encodeRuns writes runs as the entries of a table.
func encodeRuns(runs []run) []byte {
	out := make([]byte, 0, 8*len(runs))
	for _, r := range runs {
		out = be.AppendUint32(out, uint32(r.count))
		out = be.AppendUint32(out, uint32(r.value))
	}
	return out
}
