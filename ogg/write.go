package ogg

import "encoding/binary"

// pageWriter lays the pages of one stream.
type pageWriter struct {
	serial uint32
	seq    uint32 // of the next page
	lacing []byte
	body   []byte
	open   bool // the page continues a packet of the page before
	ended  bool // a packet ends on the page
	// granule is the granule position of the last packet that ended on the page,
	// for where it has to be closed because it is full.
	granule int64
}

// add appends a piece of a packet. Pages that are full on the way go to out. A
// piece that does not end its packet fills whole segments. Granule is the
// packet's, should it be the last to end on a page.
func (w *pageWriter) add(out []byte, f piece, granule int64) []byte {
	for rest := f.data; ; {
		if len(w.lacing) == maxSegments {
			out = w.flush(out, w.granule, 0)
		}
		n := min(len(rest), 255)
		if n == 0 && !f.ends {
			return out
		}
		w.lacing = append(w.lacing, byte(n))
		w.body = append(w.body, rest[:n]...)
		rest = rest[n:]
		if n < 255 {
			w.granule, w.ended = granule, true
			return out
		}
		if len(rest) == 0 && !f.ends {
			return out
		}
	}
}

// flush closes the page and appends it to out. A page on which no packet ends
// has no granule position.
func (w *pageWriter) flush(out []byte, granule int64, flags byte) []byte {
	if !w.ended && len(w.lacing) > 0 {
		granule = noGranule
	}
	if w.open {
		flags |= flagContinued
	}
	out = appendPage(out, flags, granule, w.serial, w.seq, w.lacing, w.body)
	w.open = len(w.lacing) > 0 && w.lacing[len(w.lacing)-1] == 255
	w.seq++
	w.lacing, w.body, w.ended, w.granule = w.lacing[:0], w.body[:0], false, noGranule
	return out
}

// appendPage appends one page with its checksum.
func appendPage(out []byte, flags byte, granule int64, serial, seq uint32, lacing, body []byte) []byte {
	at := len(out)
	out = append(out, "OggS\x00"...)
	out = append(out, flags)
	out = binary.LittleEndian.AppendUint64(out, uint64(granule))
	out = binary.LittleEndian.AppendUint32(out, serial)
	out = binary.LittleEndian.AppendUint32(out, seq)
	out = append(out, 0, 0, 0, 0, byte(len(lacing)))
	out = append(out, lacing...)
	out = append(out, body...)
	binary.LittleEndian.PutUint32(out[at+22:], pageChecksum(out[at:]))
	return out
}

// headerStream is a stream whose header packets are written.
type headerStream struct {
	w       *pageWriter
	packets [][]byte
	// alone says that each packet has pages of its own.
	alone bool
	// empty says that no data follows: the last header page is the last of all.
	empty bool
}

// appendHeaders appends all header pages: the first of every stream, then the
// rest, stream by stream; data begins on fresh pages. A Skeleton comes first
// and ends last.
func appendHeaders(out []byte, streams []headerStream, skeleton *headerStream) []byte {
	all := streams
	if skeleton != nil {
		all = append([]headerStream{*skeleton}, streams...)
	}
	for _, h := range all {
		out = h.w.add(out, piece{data: h.packets[0], begins: true, ends: true}, 0)
		out = h.w.flush(out, 0, flagBOS)
	}
	for _, h := range all {
		rest := h.packets[1:]
		for i, p := range rest {
			last := i == len(rest)-1
			out = h.w.add(out, piece{data: p, begins: true, ends: true}, 0)
			switch {
			case last && h.empty:
				out = h.w.flush(out, 0, flagEOS)
			case last || h.alone:
				out = h.w.flush(out, 0, 0)
			}
		}
	}
	if skeleton != nil {
		out = skeleton.w.add(out, piece{begins: true, ends: true}, 0)
		out = skeleton.w.flush(out, 0, flagEOS)
	}
	return out
}
