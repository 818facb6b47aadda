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
// total. They are read up to there, for nothing tells how long their entries are;
// but where there is one of the same length for each sample, those alone.
func (t *track) partsInParts(d *demand, s *sampleTables, first, to, total int64) error {
	for _, n := range t.stblNode.children {
		if n.typ != "subs" || !n.large {
			continue
		}
		table, ok, err := n.tableOf(d, 8, partsFields)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		head, _ := n.begin(d, 8)
		p := &sampleParts{version: head[0], flags: be.Uint32(head) & 0xffffff}
		length := n.off + n.size - table.off
		if table.count == total && length%total == 0 && length/total >= partsFields {
			each := length / total
			data, ok := d.need(table.off+first*each, (to-first)*each, n.typ)
			if !ok {
				continue
			}
			if uniform(data, each, p.stride()) {
				p.entries = slices.Concat(be.AppendUint32(nil, uint32(first+1)), data[min(4, len(data)):])
				p.mark(to-first, to)
				s.extras.parts = append(s.extras.parts, p)
				continue
			}
		}
		for k := min(length, int64(float64(length)*float64(to)/float64(max(1, total))*1.06)+bigTable); ; k = min(length, 2*k) {
			if p.entries, ok = d.need(table.off, k, n.typ); !ok {
				break
			}
			bad := p.mark(table.count, to)
			if bad >= 0 && k == length {
				return damaged(n.typ, table.off+int64(bad), "its entries do not fit into its %d bytes", n.size)
			}
			if bad < 0 {
				s.extras.parts = append(s.extras.parts, p)
				break
			}
		}
	}
	return nil
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
