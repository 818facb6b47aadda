package mp4

// chunkSlice is the chunks that hold some samples.
type chunkSlice struct {
	chunk, chunks int64  // the first, and how many
	sample        int64  // the first of the first chunk
	stsc          []byte // with chunks counting from the first
	offsets       table
}

// chunksInParts finds the chunks of the samples [lo, hi), from the nearer end
// of the stsc. While that is missing, ok is false and they are where chunks of
// evenly many samples would be: of those it wishes for the offsets.
func (t *track) chunksInParts(d *demand, total, lo, hi int64) (c chunkSlice, ok bool, err error) {
	n := t.stblNode.child("stsc")
	if n == nil {
		return c, false, t.stblNode.lacks()
	}
	stsc, ok, err := n.tableOf(d, 8, 12)
	if err != nil || !ok {
		return c, false, err
	}
	offsets, placed, err := t.offsetsInParts(d)
	if err != nil {
		return c, false, err
	}
	back, wanted := false, hi
	if total-lo < hi {
		back, wanted = true, total-lo
	}
	for try, k := 0, share(stsc.count, total, hi, lo, back); ; try++ {
		k = min(k, stsc.count)
		at := int64(0)
		if back {
			at = stsc.count - k
		}
		end := min(stsc.count, at+k+1) // where the last entry's chunks end
		data, got := stsc.entries(d, at, end, n.typ)
		if !got || !placed {
			if placed {
				c = offsets.evenChunks(total, lo, hi)
				d.guess(func() { offsets.entries(d, c.chunk, c.chunk+c.chunks, "stco") })
			}
			return c, false, nil
		}
		c.offsets = offsets
		reached, err := c.find(stscPart{data, at, back, stsc.count, offsets.count, total}, lo, hi)
		switch {
		case err != nil:
			return c, false, err
		case reached >= wanted:
			return c, true, nil
		case k == stsc.count:
			return c, false, errWhole
		}
		k = more(try, k, reached, wanted)
	}
}

// evenChunks returns where the chunks of the samples [lo, hi) of total are likely
// to be in a table of offsets: some more than if all had as many samples.
func (t table) evenChunks(total, lo, hi int64) chunkSlice {
	chunk := func(sample int64) int64 { return int64(float64(t.count) * float64(sample) / float64(max(1, total))) }
	from, to := chunk(lo), chunk(hi)
	margin := chunksSlack + min(from, t.count-to)/unevenness
	from, to = max(0, from-margin), min(t.count, to+margin)
	return chunkSlice{chunk: from, chunks: to - from, offsets: t}
}

// offsetsInParts finds the table of chunk offsets.
func (t *track) offsetsInParts(d *demand) (table, bool, error) {
	if n := t.stblNode.child("stco"); n != nil {
		return n.tableOf(d, 8, 4)
	}
	if n := t.stblNode.child("co64"); n != nil {
		return n.tableOf(d, 8, 8)
	}
	return table{}, false, t.stblNode.lacks()
}

// lacks is the error that a table is not there, once all of them are known.
func (n *node) lacks() error {
	if n.done {
		return errWhole
	}
	return nil
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

// find finds the chunks of the samples [lo, hi) in a part of an stsc, if it
// reaches so far. It returns of how many samples the part tells.
func (c *chunkSlice) find(p stscPart, lo, hi int64) (reached int64, err error) {
	n := len(p.data) / 12
	starts := make([]int64, n+1) // the first sample of each entry
	if p.back {
		starts[n] = p.samples
		for i := n - 1; i >= 0; i-- {
			first, next, samples := p.entry(i)
			if samples == 0 || next <= first {
				return 0, errWhole
			}
			starts[i] = starts[i+1] - (next-first)*samples
			if starts[i] < first { // a chunk before it has a sample at least
				return 0, errWhole
			}
			if first == 0 && starts[i] != 0 {
				return 0, errWhole
			}
		}
		if starts[0] > lo {
			return p.samples - starts[0], nil
		}
		reached = p.samples - starts[0]
	} else {
		for i := range n {
			first, next, samples := p.entry(i)
			if i == 0 && first != 0 || samples == 0 || next != 0 && next <= first {
				return 0, errWhole
			}
			starts[i+1] = starts[i] + max(0, next-first)*samples
		}
		if reached = starts[n]; reached < hi {
			return reached, nil
		}
	}
	c.cut(p, starts, lo, hi)
	return reached, nil
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
