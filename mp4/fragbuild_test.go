package mp4_test

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"testing"

	"github.com/Eyevinn/mp4ff/bits"
	ffmp4 "github.com/Eyevinn/mp4ff/mp4"
)

// fragmentedFile builds fragmented files, box by box. Each track's samples are
// dealt to fragments of one second.
type fragmentedFile struct {
	tracks []*testTrack
	index  indexForm
	form   fragmentForm
	limit  int  // fragments in one index of a chain, a hierarchy or a series; default 4
	later  int  // in those of a series but the first; default limit
	silent bool // the indices do not say where decoding may begin
}

// indexForm is how the fragments are indexed.
type indexForm string

const (
	flatIndex   indexForm = "one sidx"
	wideIndex   indexForm = "sidx of version 1 with a first offset"
	trackIndex  indexForm = "a sidx for each track"
	treeIndex   indexForm = "hierarchical sidx"
	chainIndex  indexForm = "daisy-chained sidx"
	seriesIndex indexForm = "a sidx for every few fragments"
	pairsIndex  indexForm = "a sidx for each track for every few fragments"
	frontSeries indexForm = "several sidx in front, one after another"
	eachIndex   indexForm = "a sidx for each fragment"
	tailIndex   indexForm = "mfra"
	wideTail    indexForm = "mfra of version 1"
	noIndex     indexForm = "no index"
)

// fragmentForm chooses between ways to write the same fragments.
type fragmentForm struct {
	absolute  bool // tfhd places the data in the file
	relative  bool // tfhd does not say what offsets count from
	untimed   bool // no tfdt
	smooth    bool // tfxd instead of tfdt
	oldTimes  bool // tfdt of version 0
	defaults  bool // durations and sizes stand in trex and tfhd where they can
	runs      int  // truns of a traf; default 1
	apart     bool // one moof for each track
	between   []byte
	empty     bool // a fragment without samples in the middle
	endless   bool // the last mdat has size 0
	secondHdr bool // another moov behind the first
	gap       int  // seconds that the times jump in the middle
	late      int  // seconds at which the times begin

	flags func(t *testTrack, sample int) uint32   // more flags of a sample
	more  func(t *testTrack, from, to int) []byte // boxes at the end of a traf

	atMoof func(second uint32) []byte // boxes behind the mfhd
}

// testFragment is a fragment while the file is written.
type testFragment struct {
	track    *testTrack // nil: all
	first    map[*testTrack][2]int
	start    uint32 // seconds
	at, size int

	media  []byte // of all tracks, once it is known
	starts map[*testTrack]int
}

// build writes the file and returns where its fragments are.
func (f *fragmentedFile) build() []byte {
	if f.limit == 0 {
		f.limit = 4
	}
	moov := f.moov()
	if f.form.secondHdr {
		moov = append(moov, mkbox("free", make([]byte, 8))...)
		moov = append(moov, f.moov()...)
	}
	head := append(mkbox("ftyp", []byte("iso6"), u32(0), []byte("iso6dash")), moov...)
	fragments := f.deal()
	var out []byte
	for moved := true; moved; { // until it is known where all fragments are
		moved = false
		out = append(make([]byte, 0, len(out)), head...)
		out = append(out, f.front(fragments, len(out))...)
		for i, fr := range fragments {
			at, size := fr.at, fr.size
			out = append(out, f.before(fragments[i:], i)...)
			if f.index == treeIndex && i%f.limit == 0 {
				out = append(out, f.sidx(fragments[i:min(i+f.limit, len(fragments))], 0, f.tracks[0], false)...)
			}
			if _, begins := f.group(i); f.index == chainIndex && begins && i > 0 {
				out = append(out, f.chain(fragments, i)...)
			}
			fr.at = len(out)
			out = append(out, f.form.between...)
			out = append(out, f.fragment(fr, i, len(out))...)
			fr.size = len(out) - fr.at
			moved = moved || fr.at != at || fr.size != size
		}
	}
	if f.index == tailIndex || f.index == wideTail {
		out = append(out, f.mfra(fragments)...)
	}
	if f.form.endless {
		last := bytes.LastIndex(out, []byte("mdat"))
		copy(out[last-4:], u32(0))
	}
	return out
}

// before writes the indices that stand before a fragment, of which others are
// the rest, in a series.
func (f *fragmentedFile) before(rest []*testFragment, i int) []byte {
	n, begins := f.group(i)
	group := rest[:min(n, len(rest))]
	switch {
	case f.index == eachIndex:
		return f.sidx(rest[:1], 0, f.tracks[0], false)
	case !begins:
	case f.index == seriesIndex:
		return f.sidx(group, 0, f.tracks[0], false)
	case f.index == pairsIndex:
		second := f.sidx(group, 0, f.tracks[1], false)
		return append(f.sidx(group, len(second), f.tracks[0], false), second...)
	}
	return nil
}

// group returns how many fragments the group of the i-th has, and whether that is
// its first.
func (f *fragmentedFile) group(i int) (n int, begins bool) {
	n = f.limit
	if i > 0 && f.later > 0 {
		i, n = i-f.limit, f.later
	}
	return n, i >= 0 && i%n == 0
}

// deal deals the samples to fragments of one second.
func (f *fragmentedFile) deal() []*testFragment {
	var out []*testFragment
	for second := uint32(0); ; second++ {
		start := second + uint32(f.form.late)
		if first := f.tracks[0]; f.form.gap > 0 && second >= uint32(len(first.sizes)/2)*first.durations[0]/first.timescale {
			start += uint32(f.form.gap)
		}
		fr := &testFragment{first: map[*testTrack][2]int{}, start: start}
		more := false
		for _, t := range f.tracks {
			from, to, at := len(t.sizes), len(t.sizes), uint32(0)
			for i, d := range t.durations {
				if at >= second*t.timescale && i < from {
					from = i
				}
				if at >= (second+1)*t.timescale && i < to {
					to = i
				}
				at += d
			}
			if from < to {
				fr.first[t], more = [2]int{from, to}, true
			}
		}
		if !more {
			return out
		}
		if f.form.empty && second == 3 {
			out = append(out, &testFragment{first: map[*testTrack][2]int{}, start: start})
		}
		if !f.form.apart {
			out = append(out, fr)
			continue
		}
		for _, t := range f.tracks {
			if r, ok := fr.first[t]; ok {
				out = append(out, &testFragment{track: t, first: map[*testTrack][2]int{t: r}, start: start})
			}
		}
	}
}

// moov writes a moov without samples.
func (f *fragmentedFile) moov() []byte {
	mvhd := mkbox("mvhd", u32(0, 0, 0, 1000, 0, 0x10000), make([]byte, 12), matrix(), make([]byte, 24), u32(99))
	parts := [][]byte{mvhd}
	var trexes [][]byte
	for _, t := range f.tracks {
		none := *t
		none.durations, none.offsets, none.sync, none.sizes = nil, nil, nil, nil
		if t.sync == nil {
			none.sync = nil
		}
		parts = append(parts, none.trak(nil, 0))
		t.timescale, t.handler, t.flags = none.timescale, none.handler, none.flags
		duration, size := uint32(0), uint32(0)
		if f.form.defaults {
			duration, size = t.durations[0], t.sizes[0]
		}
		trexes = append(trexes, mkbox("trex", u32(0, t.id, 1, duration, size, 0)))
	}
	return mkbox("moov", append(parts, mkbox("mvex", trexes...))...)
}

// front writes the indices in front of the fragments.
func (f *fragmentedFile) front(fragments []*testFragment, at int) []byte {
	switch f.index {
	case flatIndex:
		return f.sidx(fragments, 0, f.tracks[0], false)
	case wideIndex:
		return append(f.sidx(fragments, 20, f.tracks[0], true), mkbox("free", make([]byte, 12))...)
	case trackIndex:
		second := f.sidx(fragments, 0, f.tracks[1], false)
		return append(f.sidx(fragments, len(second), f.tracks[0], false), second...)
	case frontSeries:
		var out []byte
		behind := 0 // bytes from the end of an index to its fragments
		for i := 0; i < len(fragments); i += f.limit {
			behind += len(f.sidx(fragments[i:min(i+f.limit, len(fragments))], 0, f.tracks[0], false))
		}
		for i := 0; i < len(fragments); i += f.limit {
			group := fragments[i:min(i+f.limit, len(fragments))]
			behind -= len(f.sidx(group, 0, f.tracks[0], false))
			out = append(out, f.sidx(group, behind, f.tracks[0], false)...)
			for _, fr := range group {
				behind += fr.size
			}
		}
		return out
	case treeIndex:
		var refs []testReference
		for i := 0; i < len(fragments); i += f.limit {
			leaf := fragments[i:min(i+f.limit, len(fragments))]
			size := len(f.sidx(leaf, 0, f.tracks[0], false))
			for _, fr := range leaf {
				size += fr.size
			}
			length := seconds(leaf)
			if i+f.limit < len(fragments) {
				length = fragments[i+f.limit].start - leaf[0].start
			}
			refs = append(refs, testReference{size, length, true, !f.opens(f.tracks[0], leaf[0])})
		}
		return writeSidx(f.tracks[0], 0, fragments[0].start, refs, false)
	case chainIndex:
		return f.chain(fragments, 0)
	}
	return nil
}

// chain writes one of a chain of indices: its fragments, and the next one.
func (f *fragmentedFile) chain(fragments []*testFragment, from int) []byte {
	n, _ := f.group(from)
	to := min(from+n, len(fragments))
	refs := f.references(f.tracks[0], fragments[from:to])
	if to < len(fragments) {
		refs[len(refs)-1].seconds = fragments[to].start - fragments[to-1].start
	}
	if to < len(fragments) {
		next, _ := f.group(to)
		rest := min(next, len(fragments)-to)
		length := 32 + 12*(rest+1)
		if to+rest == len(fragments) {
			length -= 12
		}
		refs = append(refs, testReference{length, seconds(fragments[to:]), true, false})
	}
	return writeSidx(f.tracks[0], 0, fragments[from].start, refs, false)
}

// testReference is an entry of a sidx.
type testReference struct {
	size    int
	seconds uint32
	index   bool
	closed  bool // it does not begin with a sync sample
}

func seconds(fragments []*testFragment) uint32 {
	return fragments[len(fragments)-1].start + 1 - fragments[0].start
}

// opens reports whether an index says that a fragment begins with a sync sample
// of a track.
func (f *fragmentedFile) opens(t *testTrack, fr *testFragment) bool {
	r, ok := fr.first[t]
	return ok && !f.silent && (t.sync == nil || slices.Contains(t.sync, uint32(r[0]+1)))
}

func (f *fragmentedFile) references(t *testTrack, fragments []*testFragment) []testReference {
	var out []testReference
	for i, fr := range fragments {
		length := uint32(1)
		if i+1 < len(fragments) {
			length = fragments[i+1].start - fr.start
		}
		out = append(out, testReference{fr.size, length, false, !f.opens(t, fr)})
	}
	return out
}

func (f *fragmentedFile) sidx(fragments []*testFragment, offset int, t *testTrack, wide bool) []byte {
	return writeSidx(t, offset, fragments[0].start, f.references(t, fragments), wide)
}

func writeSidx(t *testTrack, offset int, start uint32, refs []testReference, wide bool) []byte {
	out := u32(0, t.id, t.timescale, start*t.timescale, uint32(offset))
	if wide {
		out = u32(1<<24, t.id, t.timescale, 0, start*t.timescale, 0, uint32(offset))
	}
	out = append(out, u32(uint32(len(refs)))...)
	for _, r := range refs {
		size := uint32(r.size)
		if r.index {
			size |= 1 << 31
		}
		sap := uint32(1<<31 | 1<<28)
		if r.closed {
			sap = 0
		}
		out = append(out, u32(size, r.seconds*t.timescale, sap)...)
	}
	return mkbox("sidx", out)
}

// fragment writes a moof that stands at an offset, and its mdat.
func (f *fragmentedFile) fragment(fr *testFragment, number, at int) []byte {
	if fr.starts == nil {
		fr.starts = map[*testTrack]int{}
		for _, t := range f.tracks {
			if r, ok := fr.first[t]; ok {
				fr.starts[t] = len(fr.media)
				for i := r[0]; i < r[1]; i++ {
					fr.media = append(fr.media, t.payload(i)...)
				}
			}
		}
	}
	var moof []byte
	for range 2 {
		boxes := [][]byte{mkbox("mfhd", u32(0, uint32(number+1)))}
		if f.form.atMoof != nil {
			boxes = append(boxes, f.form.atMoof(fr.start))
		}
		length := len(moof) + 8
		ended := 0
		for _, t := range f.tracks {
			if r, ok := fr.first[t]; ok {
				boxes = append(boxes, f.traf(t, r[0], r[1], at, length+fr.starts[t], ended))
				ended = length + fr.starts[t]
				for i := r[0]; i < r[1]; i++ {
					ended += int(t.sizes[i])
				}
			}
		}
		moof = mkbox("moof", boxes...)
	}
	return slices.Concat(moof, u32(uint32(8+len(fr.media))), []byte("mdat"), fr.media)
}

// traf writes the samples [from, to) of a track, whose data begin at an offset
// from a moof that stands at moof. Ended is where the data of the traf before
// ended.
func (f *fragmentedFile) traf(t *testTrack, from, to, moof, data, ended int) []byte {
	flags, fields := uint32(0x020000), []byte(nil)
	base := 0
	switch {
	case f.form.absolute:
		flags, fields, base = 1, be.AppendUint64(nil, uint64(moof+100)), 100
	case f.form.relative:
		flags, base = 0, ended
	}
	boxes := [][]byte{mkbox("tfhd", u32(flags, t.id), fields)}
	if !f.form.untimed {
		decode := uint64(f.form.late) * uint64(t.timescale)
		for _, d := range t.durations[:from] {
			decode += uint64(d)
		}
		if from >= len(t.sizes)/2 {
			decode += uint64(f.form.gap) * uint64(t.timescale)
		}
		if f.form.smooth {
			if t.offsets != nil {
				decode += uint64(t.offsets[from])
			}
			id := []byte{0x6d, 0x1d, 0x9b, 0x05, 0x42, 0xd5, 0x44, 0xe6, 0x80, 0xe2, 0x14, 0x1d, 0xaf, 0xf7, 0x57, 0xb2}
			boxes = append(boxes, mkbox("uuid", id, u32(1<<24), be.AppendUint64(be.AppendUint64(nil, decode), 1000)))
		} else if f.form.oldTimes {
			boxes = append(boxes, mkbox("tfdt", u32(0, uint32(decode))))
		} else {
			boxes = append(boxes, mkbox("tfdt", u32(1<<24), be.AppendUint64(nil, decode)))
		}
	}
	runs := max(1, f.form.runs)
	for run := range runs {
		a, b := from+(to-from)*run/runs, from+(to-from)*(run+1)/runs
		boxes = append(boxes, f.trun(t, a, b, data-base, run == 0))
		for i := a; i < b; i++ {
			data += int(t.sizes[i])
		}
	}
	if f.form.more != nil {
		boxes = append(boxes, f.form.more(t, from, to))
	}
	return mkbox("traf", boxes...)
}

func (f *fragmentedFile) trun(t *testTrack, from, to, data int, first bool) []byte {
	flags := uint32(0x000001 | 0x000400 | 0x000800)
	if !first {
		flags &^= 1 // it goes on behind the one before
	}
	if !f.form.defaults {
		flags |= 0x000100 | 0x000200
	}
	out := u32(1<<24|flags, uint32(to-from))
	if first {
		out = append(out, u32(uint32(data))...)
	}
	for i := from; i < to; i++ {
		if !f.form.defaults {
			out = append(out, u32(t.durations[i], t.sizes[i])...)
		}
		sample, offset := uint32(0), int32(0)
		if _, ok := slices.BinarySearch(t.sync, uint32(i+1)); t.sync != nil && !ok {
			sample = 0x010000
		}
		if f.form.flags != nil {
			sample |= f.form.flags(t, i)
		}
		if t.offsets != nil {
			offset = t.offsets[i]
		}
		out = append(out, u32(sample, uint32(offset))...)
	}
	return mkbox("trun", out)
}

// mfra writes the random access points of the fragments.
func (f *fragmentedFile) mfra(fragments []*testFragment) []byte {
	var boxes [][]byte
	for _, t := range f.tracks {
		var entries []byte
		n := uint32(0)
		for _, fr := range fragments {
			if _, ok := fr.first[t]; !ok {
				continue
			}
			at := uint32(fr.at + len(f.form.between))
			if f.index == wideTail {
				entries = append(entries, u32(0, fr.start*t.timescale, 0, at)...)
			} else {
				entries = append(entries, u32(fr.start*t.timescale, at)...)
			}
			entries = append(entries, 1, 1, 1)
			n++
		}
		version := uint32(0)
		if f.index == wideTail {
			version = 1 << 24
		}
		boxes = append(boxes, mkbox("tfra", u32(version, t.id, 0, n), entries))
	}
	size := 8 + 16
	for _, b := range boxes {
		size += len(b)
	}
	return mkbox("mfra", append(boxes, mkbox("mfro", u32(0, uint32(size))))...)
}

// isoFragments reads all samples of a fragmented file with mp4ff, by the
// written rule.
func isoFragments(t testing.TB, data []byte) []isoTrack {
	t.Helper()
	file, err := ffmp4.DecodeFileSR(bits.NewFixedSliceReader(data))
	if err != nil {
		t.Fatalf("mp4ff: %v", err)
	}
	var out []isoTrack
	for _, trak := range file.Init.Moov.Traks {
		track := isoTrack{id: trak.Tkhd.TrackID, handler: trak.Mdia.Hdlr.HandlerType}
		scale, movie := float64(trak.Mdia.Mdhd.Timescale), float64(file.Init.Moov.Mvhd.Timescale)
		var empty, mediaTime float64
		if trak.Edts != nil {
			for _, e := range trak.Edts.Elst[0].Entries {
				track.shown += float64(e.SegmentDuration) / movie
				if e.MediaTime < 0 {
					empty += float64(e.SegmentDuration) / movie
				} else {
					mediaTime = float64(e.MediaTime)
				}
			}
		}
		trex, _ := file.Init.Moov.Mvex.GetTrex(track.id)
		for _, segment := range file.Segments {
			for _, fr := range segment.Fragments {
				if !hasTrack(fr, track.id) {
					continue
				}
				all, err := fr.GetFullSamples(trex)
				if err != nil {
					t.Fatalf("mp4ff: %v", err)
				}
				for _, s := range all {
					at := (float64(s.DecodeTime)+float64(s.CompositionTimeOffset)-mediaTime)/scale + empty
					track.samples = append(track.samples, isoSample{at, at + float64(s.Dur)/scale, sha256.Sum256(s.Data)})
				}
			}
		}
		out = append(out, track)
	}
	return out
}

func hasTrack(f *ffmp4.Fragment, id uint32) bool {
	for _, t := range f.Moof.Trafs {
		if t.Tfhd.TrackID == id {
			return true
		}
	}
	return false
}
