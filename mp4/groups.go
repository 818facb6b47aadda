package mp4

import (
	"bytes"
	"slices"
)

// sampleGroup is a grouping of a track's samples: an sgpd and the sbgp of the
// same type (ISO/IEC 14496-12 section 8.9).
type sampleGroup struct {
	typ      string
	param    []byte   // grouping_type_parameter, 4 bytes; nil where there is none
	entries  [][]byte // descriptions, counting from 1
	fallback uint32   // description of samples that no run names; 0: none
	runs     *runTable
}

// Grouping types that say where decoding may begin (section 10).
const (
	groupRoll = "roll"
	groupRAP  = "rap "
)

// localGroup is what indices into a track fragment's own sgpd begin behind
// (section 8.9.4).
const localGroup = 1 << 16

// maxGroups bounds the groupings of a track.
const maxGroups = 64

// index returns the description of a sample, 0 where it has none.
func (g *sampleGroup) index(sample int64) uint32 {
	out := g.fallback
	if g.runs == nil {
		return out
	}
	from := g.runs.markBefore(func(m runMark) bool { return m.sample > sample })
	g.runs.walk(from, false, func(at runMark, r run) bool {
		if sample >= at.sample+r.count {
			return true
		}
		if r.value != 0 {
			out = uint32(r.value)
		}
		return false
	})
	return out
}

// group returns the grouping of a type.
func (s *sampleTables) group(typ string) *sampleGroup {
	for _, g := range s.groups {
		if g.typ == typ {
			return g
		}
	}
	return nil
}

// groupOf returns the grouping of a type and parameter among groups, added to
// them where there is none.
func groupOf(groups *[]*sampleGroup, typ string, param []byte) *sampleGroup {
	for _, g := range *groups {
		if g.typ == typ && (param == nil || g.param == nil || bytes.Equal(g.param, param)) {
			if g.param == nil {
				g.param = param
			}
			return g
		}
	}
	g := &sampleGroup{typ: typ, param: param}
	if len(*groups) < maxGroups {
		*groups = append(*groups, g)
	}
	return g
}

// fixedDescription is the length of the descriptions of an sgpd of version 0,
// which does not tell it.
func fixedDescription(typ string, n, size int) int {
	switch typ {
	case groupRoll, "prol":
		return 2
	case groupRAP, "sync", "tele":
		return 1
	}
	if n > 0 && size%n == 0 {
		return size / n
	}
	return 0
}

// readDescriptions reads an sgpd: its type, its descriptions and the default
// one. What cannot be made out is left out: groups are advice.
func readDescriptions(b box) (typ string, entries [][]byte, fallback uint32) {
	p := b.payload()
	if len(p) < 12 {
		return "", nil, 0
	}
	version := p[0]
	typ, p = string(p[4:8]), p[8:]
	length := 0
	if version >= 1 {
		length, p = int(be.Uint32(p)), p[4:]
	}
	if version >= 2 && len(p) >= 4 {
		fallback, p = be.Uint32(p), p[4:]
	}
	if len(p) < 4 {
		return typ, nil, fallback
	}
	n := int(be.Uint32(p))
	p = p[4:]
	if version == 0 {
		if length = fixedDescription(typ, n, len(p)); length == 0 {
			return typ, nil, 0
		}
	}
	for range n {
		size := length
		if length == 0 {
			if len(p) < 4 {
				break
			}
			size, p = int(be.Uint32(p)), p[4:]
		}
		if size < 0 || size > len(p) || len(entries) == localGroup {
			break
		}
		entries, p = append(entries, p[:size:size]), p[size:]
	}
	return typ, entries, fallback
}

// groupRuns reads an sbgp: its type, its parameter and its table.
func groupRuns(b box) (typ string, param, table []byte) {
	p := b.payload()
	if len(p) < 12 {
		return "", nil, nil
	}
	version := p[0]
	typ, p = string(p[4:8]), p[8:]
	if version == 1 {
		param, p = p[:4:4], p[4:]
	}
	if len(p) < 4 {
		return typ, param, nil
	}
	n := int64(be.Uint32(p))
	if n*8 > int64(len(p)-4) {
		return typ, param, nil
	}
	return typ, param, p[4 : 4+8*n]
}

// readGroup reads an sgpd or an sbgp of an stbl.
func (s *sampleTables) readGroup(b box) {
	if b.typ == "sgpd" {
		if typ, entries, fallback := readDescriptions(b); typ != "" {
			g := groupOf(&s.groups, typ, nil)
			g.entries, g.fallback = entries, fallback
		}
		return
	}
	typ, param, table := groupRuns(b)
	if runs, bad := newRunTable(table, false); typ != "" && bad < 0 {
		groupOf(&s.groups, typ, param).runs = runs
	}
}

// runsOf returns the descriptions of the samples [from, to) as runs.
func (g *sampleGroup) runsOf(from, to int64) []run {
	var out []run
	have := int64(0)
	if g.runs != nil {
		for _, r := range sliceRuns(g.runs, false, from, to) {
			out = appendRun(out, r)
			have += r.count
		}
	}
	if have < to-from {
		out = appendRun(out, run{to - from - have, 0})
	}
	return out
}

// writeDescriptions writes an sgpd.
func (g *sampleGroup) writeDescriptions(w *builder, entries [][]byte) {
	length := 0
	if len(entries) > 0 {
		length = len(entries[0])
	}
	if slices.ContainsFunc(entries, func(e []byte) bool { return len(e) != length }) {
		length = 0
	}
	version := uint8(1)
	if g.fallback != 0 {
		version = 2
	}
	w.full("sgpd", version, 0, func() {
		w.raw([]byte(g.typ))
		w.u32(uint32(length))
		if version == 2 {
			w.u32(g.fallback)
		}
		w.u32(uint32(len(entries)))
		for _, e := range entries {
			if length == 0 {
				w.u32(uint32(len(e)))
			}
			w.raw(e)
		}
	})
}

// writeRuns writes an sbgp.
func (g *sampleGroup) writeRuns(w *builder, runs []run) {
	version := uint8(0)
	if g.param != nil {
		version = 1
	}
	w.full("sbgp", version, 0, func() {
		w.raw([]byte(g.typ))
		w.raw(g.param)
		w.u32(uint32(len(runs)))
		for _, r := range runs {
			w.u32(uint32(r.count))
			w.u32(uint32(r.value))
		}
	})
}

// named reports whether runs name any description.
func named(runs []run) bool {
	return slices.ContainsFunc(runs, func(r run) bool { return r.value != 0 })
}

// addGroups adds what a track fragment says of its n samples' groups. Indices
// into its own descriptions become indices into those of the whole.
func (b *stretch) addGroups(traf box, n int64) {
	local := map[string][][]byte{}
	var runs []box
	for c, err := range traf.children() {
		if err != nil {
			break
		}
		switch c.typ {
		case "sgpd":
			typ, entries, _ := readDescriptions(c)
			local[typ] = entries
		case "sbgp":
			runs = append(runs, c)
		}
	}
	for _, c := range runs {
		typ, param, table := groupRuns(c)
		if typ == "" {
			continue
		}
		b.addGroup(typ, param, table, local[typ], n)
	}
}

func (b *stretch) addGroup(typ string, param, table []byte, local [][]byte, n int64) {
	g := groupOf(&b.groups, typ, param)
	runs := b.groupRuns[g]
	if have := countRuns(runs); have < b.count {
		runs = appendRun(runs, run{b.count - have, 0})
	}
	for i := 0; i+8 <= len(table) && n > 0; i += 8 {
		r := run{min(int64(be.Uint32(table[i:])), n), int64(be.Uint32(table[i+4:]))}
		if at := r.value - localGroup; at > 0 {
			r.value = 0
			if at <= int64(len(local)) {
				r.value = g.describe(local[at-1])
			}
		}
		n -= r.count
		runs = appendRun(runs, r)
	}
	b.groupRuns[g] = runs
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

func countRuns(runs []run) int64 {
	var n int64
	for _, r := range runs {
		n += r.count
	}
	return n
}
