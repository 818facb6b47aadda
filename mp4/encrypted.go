package mp4

import (
	"bytes"
	"context"
	"math"
	"slices"

	"github.com/mediafrag/mediafrag/seek"
)

// auxInfo is what decryption needs to know of each sample: its initialization
// vector and which of its bytes are encrypted (ISO/IEC 23001-7 section 7).
type auxInfo struct {
	samples    [][]byte // nil where a sample has none
	subsamples bool     // each holds a table of subsamples
	apart      []auxPlace
}

// auxPlace is where the information of a sample of a fragment is that is not in
// its moof.
type auxPlace struct {
	sample  int64
	segment int // in a list of segments; 0 in a file
	seek.Range
}

// piffSenc is the extended type of the box that senc was made from.
var piffSenc = []byte{0xa2, 0x39, 0x4f, 0x52, 0x5a, 0x9b, 0x4f, 0x14, 0xa2, 0x44, 0x6c, 0x42, 0x7c, 0x64, 0x8d, 0xf4}

// auxTables are the boxes that hold or place the information of samples.
type auxTables struct {
	sizes   []byte // one each; nil where all are of one size
	oneSize int
	count   int64
	places  []int64 // where the information stands in the file, by chunk or once
	inline  []byte  // of a senc, behind its header
	flags   uint32  // of the senc
	found   bool
}

// readAux reads the saiz, saio and senc among the children of a box.
func readAux(parent box) (auxTables, error) {
	var a auxTables
	for c, err := range parent.children() {
		if err != nil {
			return a, err
		}
		p := c.payload()
		switch {
		case c.typ == "saiz" && aboutEncryption(p):
			err = a.readSizes(c)
		case c.typ == "saio" && aboutEncryption(p):
			err = a.readPlaces(c)
		case c.typ == "senc" && len(p) >= 8:
			a.flags, a.inline, a.found = be.Uint32(p)&0xffffff, p, true
		case c.typ == "uuid" && len(p) >= 24 && bytes.Equal(p[:16], piffSenc):
			if p = p[16:]; be.Uint32(p)&1 == 0 { // else it overrides the track's defaults
				a.flags, a.inline, a.found = be.Uint32(p)&0xffffff, p, true
			}
		}
		if err != nil {
			return a, err
		}
	}
	return a, nil
}

// addInline adds what a senc of the trak says, where the stbl has none: that is
// where ISO/IEC 23001-7 puts it.
func (s *sampleTables) addInline(senc box) {
	p := senc.payload()
	if len(p) < 8 || s.auxPlace != nil && s.auxPlace.inline != nil {
		return
	}
	if s.auxPlace == nil {
		s.auxPlace = &auxTables{}
	}
	s.auxPlace.flags, s.auxPlace.inline, s.auxPlace.found = be.Uint32(p)&0xffffff, p, true
}

// aboutEncryption reports whether a saiz or saio is of the information that
// encryption needs: its type says so, or it has none. Others may stand beside.
func aboutEncryption(p []byte) bool {
	if len(p) < 8 || p[3]&1 == 0 {
		return true
	}
	switch string(p[4:8]) {
	case "cenc", "cens", "cbc1", "cbcs":
		return true
	}
	return false
}

// auxFields skips version, flags and, where flagged, the type of information.
func auxFields(b box) ([]byte, error) {
	p := b.payload()
	skip := 4
	if len(p) >= 4 && p[3]&1 != 0 {
		skip = 12
	}
	if len(p) < skip {
		return nil, b.damaged(0, "cut off")
	}
	return p[skip:], nil
}

func (a *auxTables) readSizes(b box) error {
	p, err := auxFields(b)
	if err != nil {
		return err
	}
	if len(p) < 5 {
		return b.damaged(0, "cut off")
	}
	a.oneSize, a.count = int(p[0]), int64(be.Uint32(p[1:]))
	if a.oneSize == 0 {
		if a.count > int64(len(p)-5) {
			return b.damaged(4, "%d sizes do not fit into its %d bytes", a.count, len(p))
		}
		a.sizes = p[5 : 5+a.count]
	}
	a.found = true
	return nil
}

func (a *auxTables) readPlaces(b box) error {
	p, err := auxFields(b)
	if err != nil {
		return err
	}
	stride := 4
	if b.payload()[0] == 1 {
		stride = 8
	}
	if len(p) < 4 || int64(be.Uint32(p))*int64(stride) > int64(len(p)-4) {
		return b.damaged(4, "its offsets do not fit into its %d bytes", len(p))
	}
	n := int(be.Uint32(p))
	for p = p[4:]; n > 0; n, p = n-1, p[stride:] {
		at := int64(be.Uint32(p))
		if stride == 8 {
			if at = int64(be.Uint64(p)); at < 0 {
				return b.damaged(4, "an offset beyond any file")
			}
		}
		a.places = append(a.places, at)
	}
	return nil
}

// sizeOf returns the length of a sample's information by the saiz.
func (a *auxTables) sizeOf(sample int64) int {
	switch {
	case sample >= a.count:
		return 0
	case a.sizes == nil:
		return a.oneSize
	}
	return int(a.sizes[sample])
}

// split divides the contents of a senc among its samples: by the sizes of the
// saiz, or by what they say themselves. Vector tells how long a sample's
// initialization vector is.
func (a *auxTables) split(n int64, vector func(sample int64) int) [][]byte {
	p := a.inline[8:]
	out := make([][]byte, 0, min(n, int64(len(p))+1))
	for i := range n {
		iv := vector(i)
		size := iv
		if a.sizes != nil || a.oneSize > 0 {
			size = a.sizeOf(i)
		} else if a.flags&2 != 0 && len(p) >= iv+2 {
			size += 2 + 6*int(be.Uint16(p[iv:]))
		}
		if size > len(p) {
			break
		}
		out, p = append(out, p[:size:size]), p[size:]
	}
	return out
}

// addAux adds the encryption information of the n samples of a track fragment.
func (b *stretch) addAux(t *trackFragment, f *moof, n int64) error {
	a, err := readAux(t.box)
	if err != nil || !a.found {
		return err
	}
	for int64(len(b.aux)) < b.count {
		b.aux = append(b.aux, nil)
	}
	vector := b.vectors()
	b.subsamples = b.subsamples || a.hasSubsamples(vector(0))
	if a.inline != nil {
		b.aux = append(b.aux, a.split(n, vector)...)
		return nil
	}
	places := a.places
	var at int64
	first := int64(0) // of the run
	for i, r := range t.runs {
		if i < len(places) { // one for each run, or one for all
			if at = places[i]; at > maxTicks-t.base {
				return t.box.damaged(0, "its encryption information is beyond any file")
			}
			at += t.base
		}
		for k := first; k < min(first+r.count, n) && len(places) > 0; k++ {
			size := int64(a.sizeOf(k))
			var info []byte
			if into := at - f.box.off; into >= 0 && into+size <= int64(len(f.box.raw)) {
				info = f.box.raw[into : into+size]
			} else if size > 0 {
				b.auxApart = append(b.auxApart, auxPlace{int64(len(b.aux)), f.segment, seek.Range{Offset: at, Length: size}})
			}
			b.aux = append(b.aux, info)
			at += size
		}
		first += r.count
	}
	return nil
}

// hasSubsamples reports whether the information of a sample is more than its
// vector: a senc says so, or else its length does.
func (a *auxTables) hasSubsamples(vector int) bool {
	if a.inline != nil {
		return a.flags&2 != 0
	}
	return a.sizes != nil || a.oneSize > vector
}

// rangesOf returns where the information of a chunk's samples stands, for
// progressive files, whose saio names one place for each chunk or one for all.
func (a *auxTables) rangesOf(s *sampleTables, from, to int64) []seek.Range {
	if len(a.places) == 1 {
		at, size := a.places[0], int64(0)
		for i := range to {
			if i < from {
				at += int64(a.sizeOf(i))
			} else {
				size += int64(a.sizeOf(i))
			}
		}
		return []seek.Range{{Offset: at, Length: size}}
	}
	var out []seek.Range
	s.eachChunk(func(chunk, first, samples int64) bool {
		if first >= to {
			return false
		}
		if first+samples <= from || chunk >= int64(len(a.places)) {
			return true
		}
		r := seek.Range{Offset: a.places[chunk]}
		for i := first; i < min(first+samples, to); i++ {
			if i < from {
				r.Offset += int64(a.sizeOf(i))
			} else {
				r.Length += int64(a.sizeOf(i))
			}
		}
		out = append(out, r)
		return true
	})
	return out
}

// clear returns the information of a sample that has none beside others that
// have: a vector of its length, and all of the sample in the clear. ffmpeg and
// mp4ff read a vector of each sample, whatever its length by the saiz. It is nil
// where the table would be longer than a saiz can say.
func (a *auxInfo) clear(vector int, size int64) []byte {
	out := make([]byte, vector)
	if !a.subsamples {
		return out
	}
	n := (size + math.MaxUint16 - 1) / math.MaxUint16
	if int64(vector)+2+6*n > math.MaxUint8 {
		return nil
	}
	out = be.AppendUint16(out, uint16(n))
	for ; size > 0; size -= math.MaxUint16 {
		out = be.AppendUint16(out, uint16(min(size, math.MaxUint16)))
		out = be.AppendUint32(out, 0) // encrypted bytes
	}
	return out
}

// write writes the information of the samples in ranges of a track as senc, saiz
// and saio, where any has some. It goes at the end of w.
func (a *auxInfo) write(w *builder, t *track, ranges []sampleRange) {
	var samples [][]byte
	some := false
	vector := t.tables.vectors(&t.entry)
	for _, r := range ranges {
		for i := r.from; i < r.to; i++ {
			var s []byte
			if i < int64(len(a.samples)) {
				s = a.samples[i]
			}
			if len(s) > 0 {
				some = true
			} else {
				s = a.clear(vector(i), t.tables.size(i))
			}
			samples = append(samples, s)
		}
	}
	if !some {
		return
	}
	flags := uint32(0)
	if a.subsamples {
		flags = 2
	}
	at := len(w.buf) + 16
	w.full("senc", 0, flags, func() {
		w.u32(uint32(len(samples)))
		for _, s := range samples {
			w.raw(s)
		}
	})
	w.full("saiz", 0, 0, func() {
		same := !slices.ContainsFunc(samples, func(s []byte) bool { return len(s) != len(samples[0]) })
		if same && len(samples) > 0 && len(samples[0]) > 0 {
			w.raw([]byte{byte(len(samples[0]))})
			w.u32(uint32(len(samples)))
			return
		}
		w.raw([]byte{0})
		w.u32(uint32(len(samples)))
		for _, s := range samples {
			w.raw([]byte{byte(len(s))})
		}
	})
	w.full("saio", 1, 0, func() {
		w.u32(1)
		w.u64(uint64(at))
	})
}

// maxAux bounds the encryption information that is read for a clip, in bytes.
const maxAux = 16 << 20

// loadAux reads the encryption information of the samples that some cuts
// deliver, where it is not in hand. Read reads places of a resource.
func loadAux(ctx context.Context, cuts []*cut, read auxReader) error {
	for _, cut := range cuts {
		s := cut.track.tables
		var info *auxInfo
		var err error
		switch {
		case s.aux != nil && len(s.aux.apart) > 0:
			info, err = s.aux.loadApart(ctx, read, cut.ranges)
		case s.aux != nil || s.auxPlace == nil:
			continue
		case s.auxPlace.inline != nil:
			a := s.auxPlace
			vector := s.vectors(&cut.track.entry)
			info = &auxInfo{subsamples: a.hasSubsamples(vector(0)), samples: a.split(s.count, vector)}
		default:
			info, err = s.auxPlace.load(ctx, read, s, s.vectors(&cut.track.entry)(0), cut.ranges)
		}
		if err != nil {
			return err
		}
		own := *s
		own.aux = info
		of := *cut.track
		of.tables = &own
		cut.track = &of
	}
	return nil
}

// auxReader reads ranges of a resource, which is one of several where there are
// segments.
type auxReader func(ctx context.Context, segment int, ranges []seek.Range) ([][]byte, error)

// readAux reads ranges of the file.
func (f *file) readAux(ctx context.Context, _ int, ranges []seek.Range) ([][]byte, error) {
	requests := make([]seek.Request, len(ranges))
	for i, r := range ranges {
		requests[i] = seek.Request{Range: r, Purpose: seek.Index, Note: "encryption information"}
	}
	return f.window.Read(ctx, requests...)
}

// loadApart reads the information of the samples in ranges that is not in their
// moofs.
func (a *auxInfo) loadApart(ctx context.Context, read auxReader, ranges []sampleRange) (*auxInfo, error) {
	out := &auxInfo{samples: slices.Clone(a.samples), subsamples: a.subsamples}
	wanted := func(p auxPlace) bool {
		return slices.ContainsFunc(ranges, func(r sampleRange) bool { return p.sample >= r.from && p.sample < r.to })
	}
	var total int64
	for at := 0; at < len(a.apart); {
		p := a.apart[at]
		if !wanted(p) {
			at++
			continue
		}
		run := at + 1 // those that lie behind one another come at once
		for end := p.End(); run < len(a.apart) && a.apart[run].segment == p.segment && a.apart[run].Offset == end && wanted(a.apart[run]); run++ {
			end = a.apart[run].End()
		}
		all := seek.Range{Offset: p.Offset, Length: a.apart[run-1].End() - p.Offset}
		if total += all.Length; total > maxAux {
			return nil, damaged("saiz", p.Offset, "more encryption information than %d bytes", maxAux)
		}
		got, err := read(ctx, p.segment, []seek.Range{all})
		if err != nil {
			return nil, err
		}
		if int64(len(got[0])) < all.Length {
			return nil, damaged("saiz", p.Offset, "encryption information of %d bytes is cut off", all.Length)
		}
		for ; at < run; at++ {
			p, into := a.apart[at], a.apart[at].Offset-all.Offset
			out.samples[p.sample] = got[0][into : into+p.Length]
		}
	}
	return out, nil
}

// load reads the information of the samples in ranges out of the file. Vector is
// how long their initialization vectors are.
func (a *auxTables) load(ctx context.Context, read auxReader, s *sampleTables, vector int, ranges []sampleRange) (*auxInfo, error) {
	info := &auxInfo{}
	if len(a.places) == 0 {
		return info, nil
	}
	info.samples = make([][]byte, s.count)
	info.subsamples = a.hasSubsamples(vector)
	for _, r := range ranges {
		var total int64
		places := a.rangesOf(s, r.from, r.to)
		for _, at := range places {
			if total += at.Length; total > maxAux {
				return nil, damaged("saiz", at.Offset, "more encryption information than %d bytes", maxAux)
			}
		}
		got, err := read(ctx, 0, places)
		if err != nil {
			return nil, err
		}
		all := slices.Concat(got...)
		for i := r.from; i < r.to; i++ {
			n := a.sizeOf(i)
			if n > len(all) {
				return nil, damaged("saio", a.places[0], "%d places have encryption information of %d bytes, where sample %d has more", len(a.places), total, i)
			}
			info.samples[i], all = all[:n:n], all[n:]
		}
	}
	return info, nil
}
