package mp4

import "slices"

// groupsInParts adds to s the groupings of its samples [first, to) of total.
func (t *track) groupsInParts(d *demand, s *sampleTables, first, to, total int64) error {
	for _, g := range t.tables.groups {
		c := *g
		if g.samples != nil {
			c.samples = grouped(g.runsOf(first, to))
		}
		s.groups = append(s.groups, &c)
	}
	for _, n := range t.stblNode.children {
		if n.typ != "sbgp" || !n.large {
			continue
		}
		head, ok := n.begin(d, 12)
		if !ok {
			continue
		}
		fields, param, typ := int64(12), []byte(nil), string(head[4:8])
		if head[0] == 1 {
			fields, param = 16, head[8:12:12]
		}
		table, ok, err := n.tableOf(d, fields, 8)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		// A grouping may end before the last sample. What depends on one is counted
		// from the first sample on; the others only go along.
		runs, ok, err := table.runs(d, n.typ, total, first, to, slices.Contains(groupsActedOn, typ))
		if err != nil {
			return err
		}
		if ok {
			groupOf(&s.groups, typ, param).samples = grouped(filled(runs, to-first))
		}
	}
	return nil
}

// groupsActedOn are the types of groups that decide which samples a clip holds,
// or what is written of them.
var groupsActedOn = []string{groupRAP, groupSync, groupRoll, groupPreroll, groupKey}

// partsInParts adds to s what the large subs say of its samples [first, to) of
// total.
func (t *track) partsInParts(d *demand, s *sampleTables, first, to, total int64) error {
	for _, n := range t.stblNode.children {
		if n.typ != "subs" || !n.large {
			continue
		}
		p, err := n.partsOf(d, first, to, total)
		if err != nil {
			return err
		}
		if p != nil {
			s.extras.parts = append(s.extras.parts, p)
		}
	}
	return nil
}

// partsOf reads a large subs from the beginning up to its samples [first, to) of
// total, for only entries themselves tell how long they are. Where there is one for
// each sample it reads those alone if all are equally long, or from the end if that
// is nearer. It is nil while bytes are missing.
func (n *node) partsOf(d *demand, first, to, total int64) (*sampleParts, error) {
	table, ok, err := n.tableOf(d, 8, partsFields)
	if err != nil || !ok {
		return nil, err
	}
	head, _ := n.begin(d, 8)
	p := &sampleParts{version: head[0], flags: be.Uint32(head) & 0xffffff}
	length := n.off + n.size - table.off
	if total > 0 && table.count == total && length%total == 0 && length/total >= partsFields {
		each := length / total
		data, ok := d.need(table.off+first*each, (to-first)*each, n.typ)
		if !ok {
			return nil, nil
		}
		if uniform(data, each, p.stride()) {
			p.take(data, first, to)
			return p, nil
		}
	}
	part := func(samples int64) int64 { // of the length, if all are equally long
		return min(length, int64(float64(length)*float64(samples)/float64(max(1, total))*runsShare)+bigTable)
	}
	if table.count == total && total-first < to {
		for k := part(total - first); k < length; k = min(length, 2*k) {
			data, ok := d.need(table.off+length-k, k, n.typ)
			if !ok {
				return nil, nil
			}
			if data = p.fromEnd(data, total-first); data != nil {
				p.take(data, first, to)
				return p, nil
			}
		}
	}
	for k := part(to); ; k = min(length, 2*k) {
		if p.entries, ok = d.need(table.off, k, n.typ); !ok {
			return nil, nil
		}
		switch bad := p.mark(table.count, to); {
		case bad < 0:
			return p, nil
		case k == length:
			return nil, damaged(n.typ, table.off+int64(bad), "its entries do not fit into its %d bytes", n.size)
		}
	}
}

// take takes the entries of the samples [first, to) from the beginning of some with
// one for each sample.
func (s *sampleParts) take(entries []byte, first, to int64) {
	s.entries = slices.Concat(be.AppendUint32(nil, uint32(first+1)), entries[min(4, len(entries)):])
	s.mark(to-first, to)
}

// next returns where the entry ends that begins at an offset of some with one for
// each sample; ok is false where none can begin.
func (s *sampleParts) next(entries []byte, at int) (end int, ok bool) {
	if at+partsFields > len(entries) || be.Uint32(entries[at:]) != 1 {
		return 0, false
	}
	end = at + partsFields + int(be.Uint16(entries[at+4:]))*s.stride()
	return end, end <= len(entries)
}

// longestParts is how long an entry of a subs may be that is read from the end, in
// bytes.
const longestParts = 4 << 10

// fromEnd returns the last so many entries of a subs that has one for each sample,
// out of its last bytes; nil where those do not hold them. Where entries begin shows
// in that only a chain of them reaches the end: of all that begin at the first bytes
// it follows those that might be until a single one is left.
func (s *sampleParts) fromEnd(data []byte, samples int64) []byte {
	begins := make([]bool, len(data)+1)
	chains := min(longestParts, len(data))
	for i := range chains {
		begins[i] = true
	}
	at := 0
	for ; at < len(data); at++ {
		if !begins[at] {
			continue
		}
		if chains == 1 {
			break
		}
		chains--
		if end, ok := s.next(data, at); ok && !begins[end] {
			begins[end] = true
			chains++
		}
	}
	var starts []int
	for at < len(data) {
		end, ok := s.next(data, at)
		if !ok {
			return nil
		}
		starts = append(starts, at)
		at = end
	}
	if int64(len(starts)) < samples {
		return nil
	}
	return data[starts[int64(len(starts))-samples]:]
}

// uniform reports whether all entries of a subs are of a length, and each is for
// the sample behind the one before.
func uniform(entries []byte, each int64, part int) bool {
	for ; len(entries) > 0; entries = entries[each:] {
		if be.Uint32(entries) != 1 || int64(partsFields+int(be.Uint16(entries[4:]))*part) != each {
			return false
		}
	}
	return true
}
