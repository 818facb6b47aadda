package mp4

import (
	"bytes"
	"slices"
)

// addGroups adds what a track fragment says of its n samples' groups. Indices
// into its own descriptions become indices into those of the whole.
func (b *stretch) addGroups(traf box, n int64) {
	local := map[string][][]byte{}
	var named []box
	for c, err := range traf.children() {
		if err != nil {
			break
		}
		switch c.typ {
		case "sgpd":
			typ, entries, _ := readDescriptions(c)
			local[typ] = entries
		case "sbgp", "csgp":
			named = append(named, c)
		}
	}
	for _, c := range named {
		if typ, param, samples := readGrouping(c); typ != "" && samples != nil {
			b.addGroup(groupOf(&b.groups, typ, param), samples.slice(0, n), local[typ])
		}
	}
}

// addGroup adds which descriptions of a group the next samples have.
func (b *stretch) addGroup(g *sampleGroup, runs []run, local [][]byte) {
	out := filled(b.grouped[g], b.count)
	for _, r := range runs {
		if at := r.value - localGroup; at > 0 {
			r.value = 0
			if at <= int64(len(local)) {
				r.value = g.describe(local[at-1])
			}
		}
		out = appendRun(out, r)
	}
	b.grouped[g] = out
}

// describe returns the index of a description, added where it is not there.
func (g *sampleGroup) describe(entry []byte) int64 {
	i := slices.IndexFunc(g.entries, func(e []byte) bool { return bytes.Equal(e, entry) })
	if i < 0 {
		i = len(g.entries)
		g.entries = append(g.entries, entry)
	}
	return int64(i + 1)
}

// writeGroups writes the groups of the traf's samples; descriptions that the
// moov does not have stand in the traf.
func (t *traf) writeGroups(w *builder) {
	for _, g := range t.cut.track.tables.groups {
		runs := g.runsOfAll(t.ranges)
		if !named(runs) {
			continue
		}
		common := t.cut.track.described(g)
		if common < len(g.entries) {
			g.writeDescriptions(w, g.entries[common:])
		}
		for i, r := range runs {
			if int(r.value) > common {
				runs[i].value = r.value - int64(common) + localGroup
			}
		}
		g.writeRuns(w, runs)
	}
}

// described returns how many descriptions of a group the moov of a fragmented
// clip has.
func (t *track) described(g *sampleGroup) int {
	for _, in := range t.common.groups {
		if in.typ == g.typ && in.stps == g.stps && bytes.Equal(in.param, g.param) {
			return len(in.entries)
		}
	}
	return 0
}
