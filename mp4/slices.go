package mp4

import "slices"

// Margins of a slice of sample tables.
const (
	sliceMargin = 2 * maxReorder // samples on either side
	runsSlack   = 512            // entries more than the average says
	runsShare   = 1.01           // times as many as it says
	chunksSlack = 1024           // chunks on either side of where the average says
	unevenness  = 64             // what is counted from an end by the average may be off by the 64th part
)

// table is a table in the file: entries of a fixed length.
type table struct {
	off    int64 // of the first entry
	count  int64
	stride int64
}

// tableOf returns where the entries of a table are whose count stands at the
// end of a header of so many bytes. Ok is false while the header is missing.
func (n *node) tableOf(d *demand, fields, stride int64) (t table, ok bool, err error) {
	head, ok := n.begin(d, fields)
	if !ok {
		return table{}, false, nil
	}
	t = table{n.off + int64(n.header) + fields, int64(be.Uint32(head[fields-4:])), stride}
	if t.count*stride > n.size-int64(n.header)-fields {
		return t, false, damaged(n.typ, n.off, "%d entries of %d bytes do not fit into its %d bytes", t.count, stride, n.size)
	}
	return t, true, nil
}

// begin returns the first bytes of a box behind its header: what is supposed of
// one that may be there, whose bytes are then wished for.
func (n *node) begin(d *demand, length int64) ([]byte, bool) {
	if n.supposed == nil {
		return d.need(n.off+int64(n.header), length, n.typ)
	}
	d.wish(n.off, min(headGuess, n.size), "boxes")
	return n.supposed[:min(length, int64(len(n.supposed)))], length <= int64(len(n.supposed))
}

// lastRuns returns what a run-length table says of its last samples: of so many
// of them, or all where there are fewer.
func (n *node) lastRuns(d *demand, samples int64) (runs []run, ok bool, err error) {
	table, ok, err := n.tableOf(d, 8, 8)
	if err != nil || !ok {
		return nil, false, err
	}
	for k := min(table.count, samples); ; k = min(table.count, 2*k) {
		data, ok := table.entries(d, table.count-k, table.count, n.typ)
		if !ok {
			return nil, false, nil
		}
		if k == table.count || sumRuns(data) >= samples {
			whole, bad := newRunTable(data, n.typ == "ctts")
			if bad >= 0 {
				return nil, false, errWhole
			}
			return sliceRuns(whole, n.typ == "ctts", max(0, whole.count-samples), whole.count), true, nil
		}
	}
}

// entries returns the entries [from, to) of a table.
func (t table) entries(d *demand, from, to int64, note string) ([]byte, bool) {
	if from >= to {
		return nil, true
	}
	return d.need(t.off+from*t.stride, (to-from)*t.stride, note)
}

// partRuns returns the values of the samples [from, to) of n by a run-length
// table.
func (t *track) partRuns(d *demand, n *node, total, from, to int64) (runs []run, ok bool, err error) {
	table, ok, err := n.tableOf(d, 8, 8)
	if err != nil || !ok {
		return nil, false, err
	}
	return table.runs(d, n.typ, total, from, to, false)
}

// runs returns the values of the samples [from, to) of total: it adds up the
// entries from the nearer end, or where that is asked for from the front, as far
// as it takes.
func (t table) runs(d *demand, note string, total, from, to int64, front bool) (runs []run, ok bool, err error) {
	if t.count == total { // an entry for each sample
		data, ok := t.entries(d, from, to, note)
		if runs, single := singles(data); ok && single {
			return runs, true, nil
		}
		if !ok {
			return nil, false, nil
		}
	}
	back := !front && total-from < to // fewer samples from the end on
	var first int64                   // sample of the first entry that was read
	var data []byte
	wanted := to
	if back {
		wanted = total - from
	}
	for try, k := 0, share(t.count, total, to, from, back); ; try++ {
		k = min(k, t.count)
		at := int64(0)
		if back {
			at = t.count - k
		}
		if data, ok = t.entries(d, at, at+k, note); !ok {
			return nil, false, nil
		}
		sum := sumRuns(data)
		switch {
		case k == t.count:
			if sum != total && back || sum > total {
				return nil, false, errWhole
			}
		case sum < wanted:
			k = more(try, k, sum, wanted)
			continue
		case back && total-sum < at: // an entry has a sample at least
			return nil, false, errWhole
		}
		if back {
			first = total - sum
		}
		break
	}
	whole, _ := newRunTable(data, true)
	runs = sliceRuns(whole, true, from-first, to-first)
	return runs, true, nil
}

// singles returns entries of a run-length table as runs, if each is of one
// sample.
func singles(data []byte) (runs []run, ok bool) {
	for i := 0; i+8 <= len(data); i += 8 {
		if be.Uint32(data[i:]) != 1 {
			return nil, false
		}
		runs = appendRun(runs, run{1, int64(int32(be.Uint32(data[i+4:])))})
	}
	return runs, true
}

// share estimates how many entries of a table hold the samples [0, to), or
// from the end back to from.
func share(entries, total, to, from int64, back bool) int64 {
	part := to
	if back {
		part = total - from
	}
	if total == 0 {
		return entries
	}
	return int64(float64(entries)*float64(part)/float64(total)*runsShare) + runsSlack
}

// more returns how many entries to read where k of them, at the given try, tell
// of so many samples only: at first what those say, then ever more.
func more(try int, k, samples, wanted int64) int64 {
	if try > 0 || samples == 0 {
		return 2*k + 1
	}
	return k + k/64 + 1 + max(0, int64(float64(k)*(float64(wanted)/float64(samples)-1)*runsShare))
}

func sumRuns(data []byte) int64 {
	var n int64
	for i := 0; i+8 <= len(data); i += 8 {
		n += int64(be.Uint32(data[i:]))
	}
	return n
}

// slice returns the sample tables of a track around [from, to) of its media, in
// composition time, read out of the file. It is nil while bytes are missing.
func (t *track) slice(d *demand, from, to int64) (*sampleTables, error) {
	known := sampleRange{maxTicks, 0} // nothing so far
	for margin := int64(sliceMargin); ; {
		whole, told, err := t.times(d, from, to, known)
		if err != nil || whole == nil {
			return nil, err
		}
		total := whole.count
		lo := max(0, whole.atDecode(from)-margin)
		hi := min(total, whole.atDecode(to)+1+margin)
		if lo, err = t.syncInParts(d, lo, total); err != nil {
			return nil, err
		}
		if lo < known.from || hi > known.to {
			known = sampleRange{min(max(0, lo-sliceMargin), known.from), max(hi, known.to)} // a chunk may begin before
			continue
		}
		s, first, err := t.sliceOf(d, whole, lo, hi)
		switch {
		case err != nil || s == nil:
			return nil, err
		case first < told: // its times are not known
			known.from = first
			continue
		}
		with := *t
		with.tables = s
		early := lo > 0 && with.short(s, from)
		late := hi < total && s.end()+min(0, leastOf(s)) < to
		if !early && !late {
			return s, nil
		}
		margin *= 4
	}
}

func leastOf(s *sampleTables) int64 {
	least, _ := s.offsetsAround(s.count - 1)
	return least
}

// syncSlice is how many entries of a table of sync samples are read around a
// sample at first: all that most films have, whose sync samples lie closer together
// in one part than in another.
const syncSlice = 16 << 10

// syncEntries returns the entries of a large stss around the samples [from, to]
// of total: from one at or before them to one at or behind. It looks where they
// are if sync samples are evenly spread, and ever farther around.
func (t *track) syncEntries(d *demand, n *node, total, from, to int64) (data []byte, ok bool, err error) {
	table, ok, err := n.tableOf(d, 8, 4)
	if err != nil || !ok {
		return nil, false, err
	}
	if first, ok := table.entries(d, 0, min(1, table.count), n.typ); ok && !ascending(first) { // it counts from 0
		return nil, false, errWhole
	}
	entry := func(sample int64) int64 {
		return int64(float64(table.count) * float64(sample) / float64(max(1, total)))
	}
	for width := int64(syncSlice); ; width *= 8 {
		at := min(max(0, entry(from)-width/2), table.count)
		end := min(table.count, entry(to)+width/2)
		if data, ok = table.entries(d, at, end, n.typ); !ok {
			return nil, false, nil
		}
		if !ascending(data) {
			return nil, false, errWhole
		}
		before := at == 0 || len(data) > 0 && int64(be.Uint32(data))-1 <= from
		behind := end == table.count || len(data) > 0 && int64(be.Uint32(data[len(data)-4:]))-1 >= to
		if before && behind {
			return data, true, nil
		}
	}
}

// syncInParts returns the last sync sample at or before one of total. While what
// the table says of it is missing it guesses by their average distance.
func (t *track) syncInParts(d *demand, sample, total int64) (int64, error) {
	n := t.stblNode.child("stss")
	if n == nil || n.raw != nil {
		s := &sampleTables{sync: t.tables.sync, all: n == nil}
		return max(0, s.syncBefore(sample)), nil
	}
	data, ok, err := t.syncEntries(d, n, total, sample, sample)
	if err != nil {
		return 0, err
	}
	if !ok {
		if entries := (n.size - int64(n.header) - 8) / 4; entries > 0 {
			sample -= 2 * total / entries
		}
		return max(0, sample), nil
	}
	s := &sampleTables{sync: data}
	return max(0, s.syncBefore(sample)), nil
}

// sliceOf returns the sample tables of the samples [lo, hi), and of those
// before lo in the same chunk, which begins with the sample first. What is missing
// is asked for at once as far as it is known; nil is returned then.
func (t *track) sliceOf(d *demand, whole *sampleTables, lo, hi int64) (s *sampleTables, first int64, err error) {
	total := whole.count
	sizes, sized, err := t.sizesInParts(d)
	if err != nil {
		return nil, 0, err
	}
	places, placed, err := t.chunksInParts(d, total, lo, hi)
	switch {
	case err != nil:
		return nil, 0, err
	case sized && sizes.table.count != total:
		return nil, 0, errWhole
	case !sized || !placed:
		t.wishSlices(d, total, lo, hi)
		return nil, 0, nil
	}
	first = places.sample // of the first chunk
	s = &sampleTables{box: t.tables.box, refresh: t.common.refresh, all: true, count: hi - first, start: whole.decode(first)}
	s.stts, _ = newRunTable(encodeRuns(sliceRuns(whole.stts, false, first, hi)), false)
	s.sizes, s.sizeBits, s.oneSize = sizes.entriesOf(d, first, hi), max(8, sizes.bits), sizes.one
	s.stsc, s.wide = places.stsc, places.offsets.stride == 8
	s.chunks, _ = places.offsets.entries(d, places.chunk, places.chunk+places.chunks, "stco")
	if err := t.sliceMore(d, s, first, hi, total); err != nil {
		return nil, 0, err
	}
	chunks := sampleRange{places.chunk, places.chunk + places.chunks}
	if err := t.auxInParts(d, s, chunks, sampleRange{first, hi}, total); err != nil || len(d.missing) > 0 {
		return nil, 0, err
	}
	if err := s.markChunks(); err != nil {
		return nil, 0, err
	}
	if s.overlapping() {
		return nil, 0, errWhole
	}
	return s, first, nil
}

// wishSlices wishes for what the tables say of the samples [lo, hi) of total, and
// of some before them, since a chunk may begin there, while it is not known which
// chunks hold them.
func (t *track) wishSlices(d *demand, total, lo, hi int64) {
	lo = max(0, lo-sliceMargin)
	d.guess(func() {
		if sizes, sized, err := t.sizesInParts(d); sized && err == nil {
			sizes.entriesOf(d, lo, hi)
		}
	})
	d.guess(func() {
		places, _, _ := t.chunksInParts(d, total, lo, hi)
		_ = t.auxInParts(d, &sampleTables{}, sampleRange{places.chunk, places.chunk + places.chunks}, sampleRange{lo, hi}, total)
	})
	d.guess(func() { _ = t.sliceMore(d, &sampleTables{}, lo, hi, total) })
}

// sliceMore adds to s what not every track has of its samples [first, to) of
// total.
func (t *track) sliceMore(d *demand, s *sampleTables, first, to, total int64) error {
	if n := t.stblNode.child("ctts"); n != nil {
		runs, ok, err := t.partRuns(d, n, total, first, to)
		if err != nil {
			return err
		}
		if ok {
			s.ctts, _ = newRunTable(encodeRuns(runs), true)
		}
	}
	if err := t.syncOf(d, s, first, to, total); err != nil {
		return err
	}
	if n := t.stblNode.child("sdtp"); n != nil {
		t.dependsOf(d, n, s, first, to, total)
	}
	s.extras = t.tables.extras.from(first)
	if err := t.partsInParts(d, s, first, to, total); err != nil {
		return err
	}
	return t.groupsInParts(d, s, first, to, total)
}

// overlapping reports whether chunks that lie one behind the other overlap:
// then the tables were taken for what they are not.
func (s *sampleTables) overlapping() bool {
	chunks, err := s.chunksOf(0, s.count)
	if err != nil {
		return true
	}
	for i := 1; i < len(chunks); i++ {
		if a, b := chunks[i-1], chunks[i]; b.offset >= a.offset && b.offset < a.offset+a.size {
			return true
		}
	}
	return false
}

// syncOf cuts the table of sync samples to the samples [first, to) of total.
func (t *track) syncOf(d *demand, s *sampleTables, first, to, total int64) error {
	n := t.stblNode.child("stss")
	if n == nil {
		return nil
	}
	s.all = false
	all := t.tables.sync
	if n.raw == nil {
		var ok bool
		var err error
		if all, ok, err = t.syncEntries(d, n, total, first, to); err != nil || !ok {
			return err
		}
	}
	s.sync = []byte{}
	for i := 0; i < len(all); i += 4 {
		if v := int64(be.Uint32(all[i:])) - 1; v >= first && v < to {
			s.sync = be.AppendUint32(s.sync, uint32(v-first+1))
		}
	}
	return nil
}

// dependsOf cuts an sdtp to the samples [first, to).
func (t *track) dependsOf(d *demand, n *node, s *sampleTables, first, to, total int64) {
	if n.size-int64(n.header)-4 < total {
		return // says nothing of some samples
	}
	if data, ok := d.need(n.off+int64(n.header)+4+first, to-first, n.typ); ok {
		s.depends = data
	}
}

// sizeTable is an stsz or an stz2. The entries of one of 4 bits are taken as
// bytes.
type sizeTable struct {
	table
	bits int   // of an entry: 4, 8, 16 or 32
	one  int64 // the size of all samples; 0: each has its own
}

func (t *track) sizesInParts(d *demand) (sizeTable, bool, error) {
	n := t.stblNode.child("stsz")
	if n == nil {
		n = t.stblNode.child("stz2")
	}
	if n == nil {
		return sizeTable{}, false, t.stblNode.lacks()
	}
	head, ok := n.begin(d, 12)
	if !ok {
		return sizeTable{}, false, nil
	}
	s := sizeTable{table: table{n.off + int64(n.header) + 12, int64(be.Uint32(head[8:])), 4}, bits: 32, one: int64(be.Uint32(head[4:]))}
	if n.typ == "stz2" {
		s.bits, s.one = int(head[7]), 0
		if !slices.Contains([]int{4, 8, 16}, s.bits) {
			return s, false, damaged("stz2", n.off, "sizes of %d bits", s.bits)
		}
		s.stride = max(1, int64(s.bits)/8)
	}
	if s.one == 0 && (s.table.count*int64(s.bits)+7)/8 > n.size-int64(n.header)-12 {
		return s, false, damaged(n.typ, n.off, "%d sizes do not fit into its %d bytes", s.table.count, n.size)
	}
	return s, true, nil
}

// entriesOf returns the sizes of the samples [lo, hi); nil where all have one
// size, or while they are missing.
func (s sizeTable) entriesOf(d *demand, lo, hi int64) []byte {
	if s.one != 0 {
		return nil
	}
	if s.bits != 4 {
		data, _ := s.entries(d, lo, hi, "stsz")
		return data
	}
	packed, ok := s.entries(d, lo/2, (hi+1)/2, "stz2")
	if !ok {
		return nil
	}
	out := make([]byte, hi-lo)
	for i := range out {
		if out[i] = packed[(lo+int64(i))/2-lo/2] >> 4; (lo+int64(i))%2 == 1 {
			out[i] = packed[(lo+int64(i))/2-lo/2] & 15
		}
	}
	return out
}
