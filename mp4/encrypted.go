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

// addAux adds the encryption information of a track fragment's n samples.
func (b *stretch) addAux(traf, moof box, n int64) error {
	a, err := readAux(traf)
	if err != nil || !a.found {
		return err
	}
	for int64(len(b.aux)) < b.count {
		b.aux = append(b.aux, nil)
	}
	b.subsamples = b.subsamples || a.flags&2 != 0
	samples := [][]byte(nil)
	if a.inline != nil {
		samples = a.split(n, b.vectors())
	} else if len(a.places) > 0 {
		samples, err = a.placed(traf, moof, n)
	}
	b.aux = append(b.aux, samples...)
	return err
}

// placed takes the information out of the moof, where the saio says it stands.
func (a *auxTables) placed(traf, moof box, n int64) ([][]byte, error) {
	at := a.places[0] // from the moof on, as default-base-is-moof has it
	var out [][]byte
	for i := range n {
		size := int64(a.sizeOf(i))
		if at < 0 || at+size > int64(len(moof.raw)) {
			return nil, unsupported(traf.path+"/saio", traf.off, "repackage the file so that each fragment has a senc",
				"encryption information outside the moof")
		}
		out = append(out, moof.raw[at:at+size])
		at += size
	}
	return out, nil
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

// loadAux reads the encryption information of the samples that the clip
// delivers, where it is not in hand.
func (c *clip) loadAux(ctx context.Context, w *seek.Window) error {
	for _, cut := range c.cuts {
		s := cut.track.tables
		if s.auxPlace == nil || s.aux != nil {
			continue
		}
		a := s.auxPlace
		info := &auxInfo{subsamples: a.flags&2 != 0}
		if a.inline != nil {
			info.samples = a.split(s.count, s.vectors(&cut.track.entry))
		} else if err := a.load(ctx, w, info, s, cut.ranges); err != nil {
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

// load reads the information of the samples in ranges out of the file.
func (a *auxTables) load(ctx context.Context, w *seek.Window, info *auxInfo, s *sampleTables, ranges []sampleRange) error {
	if len(a.places) == 0 {
		return nil
	}
	info.samples = make([][]byte, s.count)
	info.subsamples = a.sizes != nil
	for _, r := range ranges {
		var requests []seek.Request
		var total int64
		for _, at := range a.rangesOf(s, r.from, r.to) {
			if total += at.Length; total > maxAux {
				return damaged("saiz", at.Offset, "more encryption information than %d bytes", maxAux)
			}
			requests = append(requests, seek.Request{Range: at, Purpose: seek.Index, Note: "encryption information"})
		}
		got, err := w.Read(ctx, requests...)
		if err != nil {
			return err
		}
		all := slices.Concat(got...)
		for i := r.from; i < r.to; i++ {
			n := a.sizeOf(i)
			if n > len(all) {
				return damaged("saiz", requests[0].Offset, "encryption information of %d bytes is cut off", total)
			}
			info.samples[i], all = all[:n:n], all[n:]
		}
	}
	return nil
}
