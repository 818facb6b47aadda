package mp4

import (
	"bytes"
	"slices"
)

// sampleGroup is a grouping of a track's samples: an sgpd, and the sbgp or csgp
// of the same type (ISO/IEC 14496-12 section 8.9); or an stps, which says the
// same of random access points.
type sampleGroup struct {
	typ      string
	param    []byte   // grouping_type_parameter, 4 bytes; nil where there is none
	entries  [][]byte // descriptions, counting from 1
	fallback uint32   // description of samples that are not named; 0: none
	samples  grouping // nil: names none
	stps     bool
}

// Grouping types that say where decoding may begin (section 10).
const (
	groupRoll    = "roll" // at a distance from where it is right
	groupPreroll = "prol" // the same, of samples that are for that only
	groupRAP     = "rap " // open groups of pictures
	groupSync    = "sync"
)

// localGroup is what indices into a track fragment's own sgpd begin behind
// (section 8.9.4).
const localGroup = 1 << 16

// maxGroups bounds the groupings of a track.
const maxGroups = 64

// index returns the description of a sample, 0 where it has none.
func (g *sampleGroup) index(sample int64) uint32 {
	if g.samples != nil {
		if i := g.samples.index(sample); i != 0 {
			return i
		}
	}
	return g.fallback
}

// distance is what a description of a roll group says (section 10.1): a number
// of samples. Before a sample where it is negative, else from it on, decoding
// takes so many until it is right.
func (g *sampleGroup) distance(index uint32) int64 {
	if i := int64(index); i >= 1 && i <= int64(len(g.entries)) && len(g.entries[i-1]) >= 2 {
		return int64(int16(be.Uint16(g.entries[i-1])))
	}
	return 0
}

// rollBack returns how many samples before another one decoding has to begin at
// most, by the groups that say so.
func (s *sampleTables) rollBack() int64 {
	var most int64
	for _, g := range s.groups {
		if g.typ == groupRoll || g.typ == groupPreroll {
			for i := range g.entries {
				most = max(most, -g.distance(uint32(i+1)))
			}
		}
	}
	return most
}

// groupOf returns the grouping of a type and parameter among groups, added to
// them where there is none.
func groupOf(groups *[]*sampleGroup, typ string, param []byte) *sampleGroup {
	for _, g := range *groups {
		if g.typ == typ && !g.stps && (param == nil || g.param == nil || bytes.Equal(g.param, param)) {
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
	case groupRoll, groupPreroll:
		return 2
	case groupRAP, groupSync, "tele":
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

// readGrouping reads an sbgp or a csgp: its type, its parameter and which
// samples it names.
func readGrouping(b box) (typ string, param []byte, samples grouping) {
	if b.typ == "csgp" {
		return readPatterns(b)
	}
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
	runs, bad := newRunTable(p[4:4+8*n], false)
	if bad >= 0 {
		return "", nil, nil
	}
	return typ, param, groupRuns{runs}
}

// readGroup reads an sgpd, an sbgp or a csgp of an stbl.
func (s *sampleTables) readGroup(b box) {
	if b.typ == "sgpd" {
		if typ, entries, fallback := readDescriptions(b); typ != "" {
			g := groupOf(&s.groups, typ, nil)
			g.entries, g.fallback = entries, fallback
		}
		return
	}
	if typ, param, samples := readGrouping(b); typ != "" {
		groupOf(&s.groups, typ, param).samples = samples
	}
}

// readPartialSync reads an stps.
func (s *sampleTables) readPartialSync(b box) error {
	list, err := b.entries(4)
	if err != nil {
		return err
	}
	s.groups = append(s.groups, &sampleGroup{typ: groupRAP, entries: [][]byte{{0}}, samples: partialSync(inOrder(list)), stps: true})
	return nil
}

// runsOf returns the descriptions of the samples [from, to) as runs.
func (g *sampleGroup) runsOf(from, to int64) []run {
	if g.samples == nil {
		return []run{{to - from, 0}}
	}
	return g.samples.slice(from, to)
}

// runsOfAll returns the descriptions of the samples in ranges as runs.
func (g *sampleGroup) runsOfAll(ranges []sampleRange) []run {
	var out []run
	for _, r := range ranges {
		for _, v := range g.runsOf(r.from, r.to) {
			out = appendRun(out, v)
		}
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
