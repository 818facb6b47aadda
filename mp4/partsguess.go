package mp4

import (
	"math"
	"slices"
)

// samples returns how many samples the track of an stbl has, as far as its boxes
// in hand tell: of a large stts it is supposed that each sample has an entry.
func (n *node) samples(d *demand) (samples int64, ok bool) {
	t := &track{stblNode: n}
	var sized bool
	d.guess(func() {
		if sizes, known, err := t.sizesInParts(d); known && err == nil {
			samples, sized = sizes.count, true
		}
	})
	stts := n.child("stts")
	switch {
	case sized:
		return samples, true
	case stts == nil:
		return 0, false
	case stts.raw == nil:
		return (stts.size - int64(stts.header) - 8) / 8, stts.large
	}
	runs, err := readRuns(stts.box(""), false)
	if err != nil {
		return 0, false
	}
	return runs.count, true
}

// guessTables wishes for what the track's tables say of media between two times
// where those are likely to be that are not known yet. That makes the difference
// between one round trip and one for each table: where a table begins only the
// header of the one before tells.
func (t *track) guessTables(d *demand, from, to int64) {
	for _, boxes := range t.suppositions(d) {
		supposed := *t
		stbl := *t.stblNode
		stbl.children, stbl.done = slices.Concat(stbl.children, boxes), true
		supposed.stblNode = &stbl
		d.guess(func() { _, _ = supposed.slice(d, from, to) })
		last := int64(headGuess) // small boxes may stand behind
		d.wish(max(stbl.next, stbl.off+stbl.size-last), min(last, stbl.off+stbl.size-stbl.next), "boxes")
	}
}

// suppositions returns what boxes may follow the known ones of the track's stbl,
// as muxers lay them out: they are as long as the number of samples makes them,
// and the last one takes what is left.
func (t *track) suppositions(d *demand) [][]*node {
	stbl := t.stblNode
	if stbl.done || stbl.next == 0 || !stbl.has("stsc") {
		return nil
	}
	samples, ok := stbl.samples(d)
	if !ok || samples == 0 {
		return nil
	}
	offsets := stbl.child("stco")
	if offsets == nil {
		offsets = stbl.child("co64")
	}
	switch {
	case offsets == nil:
		return t.supposedChunks(samples, d.window.Info().Size > math.MaxUint32)
	case t.entry.encrypted:
		return t.supposedAux(samples, (offsets.size-int64(offsets.header)-8)/strideOf(offsets.typ))
	}
	return t.supposedExtras(d, samples)
}

// supposedBox returns a large box that may be at an offset, with the fields that it
// begins with.
func supposedBox(typ string, at, size int64, fields ...[]byte) *node {
	return &node{typ: typ, off: at, header: 8, size: size, large: true, supposed: slices.Concat(fields...)}
}

// words returns fields of 4 bytes.
func words(values ...int64) []byte {
	var out []byte
	for _, v := range values {
		out = be.AppendUint32(out, uint32(v))
	}
	return out
}

func strideOf(offsets string) int64 {
	if offsets == "co64" {
		return 8
	}
	return 4
}

// supposedChunks are the sizes of samples, unless they are known, and the offsets
// of chunks up to the end of the stbl: as many as there are entries in the stsc at
// least, and samples at most.
func (t *track) supposedChunks(samples int64, wide bool) (out [][]*node) {
	stbl := t.stblNode
	at, end := stbl.next, stbl.off+stbl.size
	forms := [][]*node{nil}
	if !stbl.has("stsz") && !stbl.has("stz2") {
		forms = [][]*node{
			{supposedBox("stsz", at, 20+4*samples, words(0, 0, samples))},
			{supposedBox("stz2", at, 20+2*samples, words(0, 16, samples))},
			{supposedBox("stsz", at, 20, words(0, 1, samples))},
		}
	}
	typ := "stco"
	if wide {
		typ = "co64"
	}
	stsc := stbl.child("stsc")
	for _, sizes := range forms {
		from := at
		if sizes != nil {
			from += sizes[0].size
		}
		chunks := (end - from - 16) / strideOf(typ)
		if chunks < (stsc.size-int64(stsc.header)-8)/12 || chunks > samples {
			continue
		}
		out = append(out, append(sizes, supposedBox(typ, from, 16+chunks*strideOf(typ), words(0, chunks))))
	}
	return out
}

// supposedAux is what tells of the encryption of samples: vectors alone, or their
// sizes with the places of the information, or both with a senc.
func (t *track) supposedAux(samples, chunks int64) (out [][]*node) {
	stbl := t.stblNode
	at, end := stbl.next, stbl.off+stbl.size
	sizes := 17 + samples
	add := func(boxes ...*node) {
		for i, next := 0, at; i < len(boxes); i++ {
			boxes[i].off = next
			next += boxes[i].size
		}
		out = append(out, boxes)
	}
	saiz := func() *node { return supposedBox("saiz", 0, sizes, words(0), []byte{0}, words(samples)) }
	if vectors := 16 + int64(t.entry.ivSize)*samples; end-at == vectors {
		add(supposedBox("senc", 0, vectors, words(0, samples)))
	}
	for _, count := range []int64{1, chunks} {
		for version, stride := range []int64{4, 8} {
			saio := func() *node { return supposedBox("saio", 0, 16+count*stride, words(int64(version)<<24, count)) }
			if end-at == sizes+saio().size {
				add(saio(), saiz())
				add(saiz(), saio())
			}
		}
	}
	if left := end - at - sizes - 20; out == nil && left > 16 && t.sencNode == nil {
		add(supposedBox("senc", 0, left, words(2, samples)), supposedBox("saio", 0, 20, words(0, 1)), saiz())
	}
	return out
}

// supposedExtras is what else is said of samples at the end of the stbl: groups with
// entries as long as there is room, or parts where that is more than groups take, or
// the same for each sample.
func (t *track) supposedExtras(d *demand, samples int64) [][]*node {
	stbl := t.stblNode
	at, left := stbl.next, stbl.off+stbl.size-stbl.next
	entries := (left - 24) / 8
	if each := (left - 16) / samples; (left-16)%samples == 0 && each >= partsFields || entries > samples+samples/unevenness {
		return [][]*node{{supposedBox("subs", at, left, words(0, samples))}}
	}
	// Others may stand before, with descriptions, and be shorter.
	d.wish(at, min(left, groupsGuess), "boxes")
	size := 24 + 8*entries
	return [][]*node{{supposedBox("sbgp", at+left-size, size, words(1<<24, 0, 0, entries))}}
}
