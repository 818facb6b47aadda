package mp4

import (
	"context"

	"github.com/mediafrag/mediafrag/seek"
)

// auxNodes are the boxes that tell of the encryption of a track's samples, in the
// file; those that there are none of are nil.
type auxNodes struct{ sizes, places, inline *node }

// auxNodes finds them among the boxes that are known. Ok is false while the
// beginning of one is missing.
func (t *track) auxNodes(d *demand) (a auxNodes, ok bool) {
	ok = true
	for _, n := range t.stblNode.children {
		to := map[string]**node{"saiz": &a.sizes, "saio": &a.places, "senc": &a.inline}[n.typ]
		if to == nil {
			continue
		}
		head, got := n.begin(d, min(8, n.size-int64(n.header)))
		if ok = ok && got; n.typ == "senc" || got && aboutEncryption(head) {
			*to = n
		}
	}
	if a.inline == nil {
		a.inline = t.sencNode
	}
	return a, ok
}

// auxFields returns the version of a saiz or saio, and how long its fields are
// with its type, if it has one.
func (n *node) auxFields(d *demand) (version byte, fields int64, ok bool) {
	head, ok := n.begin(d, 4)
	if !ok {
		return 0, 0, false
	}
	if fields = 4; head[3]&1 != 0 {
		fields = 12
	}
	return head[0], fields, true
}

// auxSizes is a saiz in the file.
type auxSizes struct {
	table
	one int64 // the size of all; 0: each has its own
}

func (n *node) auxSizes(d *demand) (s auxSizes, ok bool, err error) {
	_, fields, ok := n.auxFields(d)
	if !ok {
		return s, false, nil
	}
	head, ok := n.begin(d, fields+5)
	if !ok {
		return s, false, nil
	}
	head = head[fields:]
	s = auxSizes{table{n.off + int64(n.header) + fields + 5, int64(be.Uint32(head[1:])), 1}, int64(head[0])}
	if s.one == 0 && s.count > n.off+n.size-s.off {
		return s, false, damaged(n.typ, n.off, "%d sizes do not fit into its %d bytes", s.count, n.size)
	}
	return s, true, nil
}

// sum returns how long the information of the samples [from, to) is.
func (s auxSizes) sum(d *demand, from, to int64) (sum int64, ok bool) {
	to = min(to, s.count)
	if s.one > 0 {
		return s.one * max(0, to-from), true
	}
	data, ok := s.entries(d, from, to, "saiz")
	for _, n := range data {
		sum += int64(n)
	}
	return sum, ok
}

// auxInParts adds to s what is said of the encryption of its samples of total, in
// the given chunks.
func (t *track) auxInParts(d *demand, s *sampleTables, chunks, of sampleRange, total int64) error {
	n, ok := t.auxNodes(d)
	switch {
	case !ok:
		return nil
	case n == auxNodes{}:
		if t.tables.auxPlace != nil { // in a box of its own kind
			return errWhole
		}
		return nil
	}
	a := &auxTables{found: true}
	var sizes auxSizes
	if n.sizes != nil {
		var err error
		if sizes, ok, err = n.sizes.auxSizes(d); err != nil || !ok {
			return err
		}
		a.oneSize, a.count = int(sizes.one), max(0, min(of.to, sizes.count)-of.from)
		if sizes.one == 0 {
			a.sizes, _ = sizes.entries(d, of.from, min(of.to, sizes.count), "saiz")
		}
	}
	var err error
	if n.inline != nil {
		err = t.sencInParts(d, n, a, sizes, of, total)
	} else if n.places != nil {
		err = n.placesInParts(d, a, sizes, chunks, of.from)
	}
	s.auxPlace = a
	return err
}

// sencInParts takes the samples of a range out of a senc.
func (t *track) sencInParts(d *demand, n auxNodes, a *auxTables, sizes auxSizes, of sampleRange, total int64) error {
	box := n.inline
	table, ok, err := box.tableOf(d, 8, 0)
	if err != nil || !ok {
		return err
	}
	head, _ := box.begin(d, 8)
	a.flags = be.Uint32(head) & 0xffffff
	at, length := table.off, int64(0)
	switch vector := int64(t.entry.ivSize); {
	case n.sizes == nil && !t.stblNode.done: // one may follow
		return nil
	case n.sizes == nil:
		for _, g := range t.tables.groups {
			if g.typ == groupKey { // vectors of several lengths
				return errWhole
			}
		}
		if a.flags&2 != 0 { // each sample says itself how long
			return errWhole
		}
		at, length = at+of.from*vector, (of.to-of.from)*vector
	default:
		var before int64
		length, ok = sizes.sum(d, of.from, of.to)
		summed := ok
		if back := total-of.from < of.from && sizes.count == total && table.count == total; back {
			before, ok = sizes.sum(d, of.from, total)
			at = box.off + box.size - before
		} else {
			before, ok = sizes.sum(d, 0, of.from)
			at += before
		}
		if !ok || !summed {
			box.guessInfo(d, table, of)
			return nil
		}
	}
	if at < table.off || at+length > box.off+box.size {
		return errWhole
	}
	data, ok := d.need(at, length, box.typ)
	if ok {
		a.inline = append(head[:8:8], data...)
	}
	return nil
}

// guessInfo wishes for where the information of some samples would be in a senc if
// that of all were equally long, and for some more.
func (n *node) guessInfo(d *demand, t table, of sampleRange) {
	end := n.off + n.size
	at := func(sample int64) int64 {
		return t.off + int64(float64(end-t.off)*float64(sample)/float64(max(1, t.count)))
	}
	from, to := at(of.from), at(of.to)
	margin := headGuess + min(from-t.off, end-to)/unevenness
	from, to = max(t.off, from-margin), min(end, to+margin)
	d.wish(from, to-from, n.typ)
}

// placesInParts takes the places of the information of some chunks, which begin
// with a sample, out of a saio; or where there is one place for all, the place of
// that sample's.
func (n auxNodes) placesInParts(d *demand, a *auxTables, sizes auxSizes, chunks sampleRange, first int64) error {
	version, fields, ok := n.places.auxFields(d)
	if !ok {
		return nil
	}
	stride := int64(4)
	if version == 1 {
		stride = 8
	}
	table, ok, err := n.places.tableOf(d, fields+4, stride)
	if err != nil || !ok {
		return err
	}
	from, to, before := chunks.from, min(table.count, chunks.to), int64(0)
	if table.count == 1 {
		from, to = 0, 1
		if before, ok = sizes.sum(d, 0, first); !ok {
			return nil
		}
	}
	data, _ := table.entries(d, from, to, "saio")
	for ; len(data) > 0; data = data[stride:] {
		place := int64(be.Uint32(data))
		if stride == 8 {
			place = int64(be.Uint64(data))
		}
		if place < 0 || place > maxTicks {
			return damaged("saio", n.places.off, "an offset beyond any file")
		}
		a.places = append(a.places, place+before)
	}
	return nil
}

// fetchAux fetches the encryption information of all cuts that lies among the
// media or before it, by one round trip, and with it the beginning of the media:
// where that is the index has told, so that it need not wait.
func (f *file) fetchAux(ctx context.Context, cuts []*cut) error {
	var requests []seek.Request
	var total int64
	media := int64(-1)
	for _, cut := range cuts {
		s := cut.track.tables
		for _, r := range cut.ranges {
			if chunks, err := s.chunksOf(r.from, min(r.to, r.from+1)); err == nil && len(chunks) > 0 && (media < 0 || chunks[0].offset < media) {
				media = chunks[0].offset
			}
			if s.aux != nil || s.auxPlace == nil || s.auxPlace.inline != nil || len(s.auxPlace.places) == 0 {
				continue
			}
			for _, at := range s.auxPlace.rangesOf(s, r.from, r.to) {
				total += at.Length
				requests = append(requests, seek.Request{Range: at, Purpose: seek.Index, Note: "encryption information"})
			}
		}
	}
	if len(requests) == 0 || total > maxAux { // the latter is an error when it is read
		return nil
	}
	read := f.window.Read
	if len(requests) < atOnce {
		read = f.window.ReadAtOnce
	}
	if media >= 0 {
		requests = append(requests, seek.Request{Range: seek.Range{Offset: media, Length: lookBytes}, Purpose: seek.Media})
	}
	_, err := read(ctx, requests...)
	return err
}
