package mp4

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
		return c, false, t.stblNode.lacks()
	}
	stsc, ok, err := n.tableOf(d, 8, 12)
	if err != nil || !ok {
		return c, false, err
	}
	back := total-lo < hi
	for k := min(stsc.count, share(stsc.count, total, hi, lo, back)); ; k = min(stsc.count, 2*k+1) {
		at := int64(0)
		if back {
			at = stsc.count - k
		}
		more := min(stsc.count, at+k+1) // where the last entry's chunks end
		data, got := stsc.entries(d, at, more, n.typ)
		if c.offsets, ok, err = t.offsetsInParts(d); err != nil || !got || !ok {
			return c, false, err
		}
		found, err := c.find(stscPart{data, at, back, stsc.count, c.offsets.count, total}, lo, hi)
		if err == nil && !found && k == stsc.count {
			err = errWhole
		}
		if err != nil || found {
			return c, found, err
		}
	}
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
