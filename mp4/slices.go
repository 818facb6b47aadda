package mp4

// Margins of a slice of sample tables.
const (
	sliceMargin = 2 * maxReorder // samples on either side
	runsSlack   = 512            // entries more than the average says
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
	head, ok := d.need(n.off+int64(n.header), fields, n.typ)
	if !ok {
		return table{}, false, nil
	}
	t = table{n.off + int64(n.header) + fields, int64(be.Uint32(head[fields-4:])), stride}
	if t.count*stride > n.size-int64(n.header)-fields {
		return t, false, damaged(n.typ, n.off, "%d entries of %d bytes do not fit into its %d bytes", t.count, stride, n.size)
	}
	return t, true, nil
}

// entries returns the entries [from, to) of a table.
func (t table) entries(d *demand, from, to int64, note string) ([]byte, bool) {
	if from >= to {
		return nil, true
	}
	return d.need(t.off+from*t.stride, (to-from)*t.stride, note)
}

// partRuns returns the values of the samples [from, to) of n by a run-length
// table: it adds up the entries from the nearer end, as far as it takes.
func (t *track) partRuns(d *demand, n *node, total, from, to int64) (runs []run, ok bool, err error) {
	table, ok, err := n.tableOf(d, 8, 8)
	if err != nil || !ok {
		return nil, false, err
	}
	back := total-from < to // fewer samples from the end on
	var first int64         // sample of the first entry that was read
	var data []byte
	for k := min(table.count, share(table.count, total, to, from, back)); ; k = min(table.count, 2*k+1) {
		at := int64(0)
		if back {
			at = table.count - k
		}
		if data, ok = table.entries(d, at, at+k, n.typ); !ok {
			return nil, false, nil
		}
		sum := sumRuns(data)
		switch {
		case k == table.count:
			if sum != total && back || sum > total {
				return nil, false, errWhole
			}
		case back && sum < total-from || !back && sum < to:
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
	return int64(float64(entries)*float64(part)/float64(total)*1.06) + runsSlack
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
	stts := t.tables.stts
	whole := &sampleTables{stts: stts, count: stts.count}
	for margin := int64(sliceMargin); ; margin *= 4 {
		lo := max(0, whole.atDecode(from)-margin)
		hi := min(stts.count, whole.atDecode(to)+1+margin)
		lo = t.syncInParts(d, lo)
		s, err := t.sliceOf(d, whole, lo, hi)
		if err != nil || s == nil {
			return nil, err
		}
		with := *t
		with.tables = s
		early := lo > 0 && with.short(s, from)
		late := hi < stts.count && s.end()+min(0, leastOf(s)) < to
		if !early && !late {
			return s, nil
		}
	}
}

func leastOf(s *sampleTables) int64 {
	least, _ := s.offsetsAround(s.count - 1)
	return least
}

// syncInParts returns the last sync sample at or before one. While the table of
// sync samples is missing it guesses by their average distance.
func (t *track) syncInParts(d *demand, sample int64) int64 {
	n := t.stblNode.child("stss")
	if n == nil || n.raw != nil {
		s := &sampleTables{sync: t.tables.sync, all: n == nil}
		return max(0, s.syncBefore(sample))
	}
	table, ok, err := n.tableOf(d, 8, 4)
	if err != nil || !ok {
		return sample
	}
	data, ok := table.entries(d, 0, table.count, n.typ)
	if !ok {
		if table.count > 0 {
			sample -= 2 * t.tables.stts.count / table.count
		}
		return max(0, sample)
	}
	s := &sampleTables{sync: data}
	return max(0, s.syncBefore(sample))
}

// sliceOf returns the sample tables of the samples [lo, hi), and of those
// before lo in the same chunk. What is missing is asked for at once as far as
// it is known.
func (t *track) sliceOf(d *demand, whole *sampleTables, lo, hi int64) (*sampleTables, error) {
	stbl := t.stblNode
	s := &sampleTables{box: t.tables.box, all: true}
	total := whole.count
	if n := stbl.child("ctts"); n != nil { // the longest to fetch
		if _, _, err := t.partRuns(d, n, total, max(0, lo-sliceMargin), hi); err != nil {
			return nil, err
		}
	}
	sizes, ok, err := t.sizesInParts(d)
	if err != nil {
		return nil, err
	}
	if ok && sizes.table.count != total {
		return nil, errWhole
	}
	sizes.entriesWish(d, lo, hi)
	places, known, err := t.chunksInParts(d, total, lo, hi)
	if err != nil {
		return nil, err
	}
	if !ok || !known {
		return nil, nil
	}
	first := places.sample // of the first chunk
	n := hi - first
	s.count, s.start = n, whole.decode(first)
	s.stts, _ = newRunTable(encodeRuns(sliceRuns(whole.stts, false, first, hi)), false)
	if c := stbl.child("ctts"); c != nil {
		runs, got, err := t.partRuns(d, c, total, first, hi)
		if err != nil {
			return nil, err
		}
		if got {
			s.ctts, _ = newRunTable(encodeRuns(runs), true)
		}
	}
	if err := t.syncOf(d, s, first, hi); err != nil {
		return nil, err
	}
	if s.sizes, s.oneSize = nil, sizes.one; sizes.one == 0 {
		s.sizes, _ = sizes.table.entries(d, first, hi, "stsz")
		s.sizeBits = 32
	}
	s.stsc, s.wide = places.stsc, places.offsets.stride == 8
	s.chunks, _ = places.offsets.entries(d, places.chunk, places.chunk+places.chunks, "stco")
	if n := stbl.child("sdtp"); n != nil {
		t.dependsOf(d, n, s, first, hi, total)
	}
	for _, g := range t.tables.groups {
		c := *g
		if g.runs != nil {
			c.runs, _ = newRunTable(encodeRuns(g.runsOf(first, hi)), false)
		}
		s.groups = append(s.groups, &c)
	}
	if len(d.missing) > 0 {
		return nil, nil
	}
	if t.tables.auxPlace != nil {
		return nil, errWhole // information on encryption counts from the first sample
	}
	if err := s.markChunks(); err != nil {
		return nil, err
	}
	if s.overlapping() {
		return nil, errWhole
	}
	return s, nil
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

// syncOf cuts the table of sync samples to the samples [first, to).
func (t *track) syncOf(d *demand, s *sampleTables, first, to int64) error {
	n := t.stblNode.child("stss")
	if n == nil {
		return nil
	}
	s.all = false
	all := t.tables.sync
	if n.raw == nil {
		table, ok, err := n.tableOf(d, 8, 4)
		if err != nil || !ok {
			return err
		}
		if all, ok = table.entries(d, 0, table.count, n.typ); !ok {
			return nil
		}
		if !ascending(all) {
			return damaged("stss", n.off, "sync samples are not in order")
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

// sizeTable is an stsz.
type sizeTable struct {
	table
	one int64 // the size of all samples; 0: each has its own
}

func (t *track) sizesInParts(d *demand) (sizeTable, bool, error) {
	n := t.stblNode.child("stsz")
	if n == nil {
		if t.stblNode.done {
			return sizeTable{}, false, errWhole // a compact one, or none
		}
		var guess sizeTable
		if t.stblNode.has("stsc") { // it is likely to be next
			guess.table = table{off: t.stblNode.next + 20, stride: 4}
		}
		return guess, false, nil
	}
	head, ok := d.need(n.off+int64(n.header), 12, n.typ)
	if !ok {
		return sizeTable{}, false, nil
	}
	s := sizeTable{table{n.off + int64(n.header) + 12, int64(be.Uint32(head[8:])), 4}, int64(be.Uint32(head[4:]))}
	if s.one == 0 && s.table.count*4 > n.size-int64(n.header)-12 {
		return s, false, damaged("stsz", n.off, "%d sizes do not fit into its %d bytes", s.table.count, n.size)
	}
	return s, true, nil
}

// entriesWish asks for the sizes of samples along with what is needed.
func (s sizeTable) entriesWish(d *demand, lo, hi int64) {
	if s.one == 0 && s.table.off > 0 {
		lo = max(0, lo-sliceMargin)
		d.wish(s.off+4*lo, 4*(hi-lo), "stsz")
	}
}

// chunkSlice is the chunks that hold some samples.
type chunkSlice struct {
	chunk, chunks int64  // the first, and how many
	sample        int64  // the first of the first chunk
	stsc          []byte // with chunks counting from the first
	offsets       table
}

// chunksInParts finds the chunks of the samples [lo, hi), from the nearer end
// of the stsc.
func (t *track) chunksInParts(d *demand, total, lo, hi int64) (c chunkSlice, ok bool, err error) {
	n := t.stblNode.child("stsc")
	if n == nil {
		if t.stblNode.done {
			return c, false, errWhole
		}
		return c, false, nil
	}
	stsc, ok, err := n.tableOf(d, 8, 12)
	if err != nil || !ok {
		return c, false, err
	}
	back := total-lo < hi
	k := min(stsc.count, share(stsc.count, total, hi, lo, back))
	for {
		at := int64(0)
		if back {
			at = stsc.count - k
		}
		more := min(stsc.count, at+k+1) // where the last entry's chunks end
		data, got := stsc.entries(d, at, more, n.typ)
		co, wide := t.stblNode.child("stco"), false
		if co == nil {
			co, wide = t.stblNode.child("co64"), true
		}
		if co == nil && t.stblNode.done {
			return c, false, errWhole
		}
		if co == nil {
			return c, false, nil
		}
		stride := int64(4)
		if wide {
			stride = 8
		}
		offsets, have, err := co.tableOf(d, 8, stride)
		if err != nil || !got || !have {
			return c, false, err
		}
		c.offsets = offsets
		found, err := c.find(stscPart{data, at, back, stsc.count, offsets.count, total}, lo, hi)
		switch {
		case err != nil:
			return c, false, err
		case found:
			return c, true, nil
		case k == stsc.count:
			return c, false, errWhole
		}
		k = min(stsc.count, 2*k+1)
	}
}

// stscPart is the entries of an stsc from one on.
type stscPart struct {
	data    []byte
	at      int64 // the first entry
	back    bool  // the samples are counted from the end
	entries int64 // of the whole
	chunks  int64
	samples int64
}

// entry returns the i-th entry of the part; next is 0 where it is not known.
func (p stscPart) entry(i int) (first, next, samples int64) {
	e := p.data[12*i:]
	first, samples = int64(be.Uint32(e))-1, int64(be.Uint32(e[4:]))
	switch {
	case 12*(i+1) < len(p.data):
		next = int64(be.Uint32(e[12:])) - 1
	case p.at+int64(i)+1 == p.entries:
		next = p.chunks
	}
	return first, next, samples
}

// find finds the chunks of the samples [lo, hi) in a part of an stsc. Found is
// false where the part does not reach.
func (c *chunkSlice) find(p stscPart, lo, hi int64) (found bool, err error) {
	n := len(p.data) / 12
	starts := make([]int64, n+1) // the first sample of each entry
	if p.back {
		starts[n] = p.samples
		for i := n - 1; i >= 0; i-- {
			first, next, samples := p.entry(i)
			if samples == 0 || next <= first {
				return false, errWhole
			}
			starts[i] = starts[i+1] - (next-first)*samples
			if starts[i] < first { // a chunk before it has a sample at least
				return false, errWhole
			}
			if first == 0 && starts[i] != 0 {
				return false, errWhole
			}
		}
		if starts[0] > lo {
			return false, nil
		}
	} else {
		for i := range n {
			first, next, samples := p.entry(i)
			if i == 0 && first != 0 || samples == 0 || next != 0 && next <= first {
				return false, errWhole
			}
			starts[i+1] = starts[i] + max(0, next-first)*samples
		}
		if starts[n] < hi {
			return false, nil
		}
	}
	c.cut(p, starts, lo, hi)
	return true, nil
}

// cut takes the chunks of the samples [lo, hi) out of a part of an stsc whose
// entries begin with the samples starts.
func (c *chunkSlice) cut(p stscPart, starts []int64, lo, hi int64) {
	c.stsc = nil
	for i := range len(p.data) / 12 {
		if starts[i+1] <= lo || starts[i] >= hi {
			continue
		}
		first, _, samples := p.entry(i)
		if c.stsc == nil {
			into := max(0, lo-starts[i]) / samples
			c.chunk, c.sample = first+into, starts[i]+into*samples
		}
		last := first + (min(hi, starts[i+1])-1-starts[i])/samples
		c.chunks = last + 1 - c.chunk
		c.stsc = be.AppendUint32(c.stsc, uint32(max(0, first-c.chunk)+1))
		c.stsc = append(c.stsc, p.data[12*i+4:12*i+12]...)
	}
}
