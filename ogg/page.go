package ogg

import (
	"bytes"
	"encoding/binary"
)

// Sizes of a page in bytes (RFC 3533, section 6).
const (
	pageHeader  = 27                         // up to the segment table
	maxSegments = 255                        // lacing values of one page
	maxPage     = pageHeader + 255 + 255*255 // 65,307
	maxBody     = maxSegments * 255          // 65,025
	noGranule   = int64(-1)                  // no packet ends on the page
)

// Flags of a page.
const (
	flagContinued = 1 // its first segments belong to a packet that began earlier
	flagBOS       = 2 // first page of its stream
	flagEOS       = 4 // last page of its stream
)

var capture = []byte("OggS")

// page is one page. Lacing and body are slices of what was read.
type page struct {
	off     int64 // in the resource
	flags   byte
	granule int64
	serial  uint32
	seq     uint32
	lacing  []byte
	body    []byte
}

func (p *page) size() int64     { return int64(pageHeader + len(p.lacing) + len(p.body)) }
func (p *page) end() int64      { return p.off + p.size() }
func (p *page) continued() bool { return p.flags&flagContinued != 0 }
func (p *page) bos() bool       { return p.flags&flagBOS != 0 }
func (p *page) eos() bool       { return p.flags&flagEOS != 0 }

// completes reports whether a packet ends on the page.
func (p *page) completes() bool { return bytes.Count(p.lacing, []byte{255}) < len(p.lacing) }

// parsed says what parsePage found.
type parsed int

const (
	parsedPage  parsed = iota // a page
	parsedShort               // what may be a page, cut off by the end of the bytes
	parsedNot                 // no page
	parsedBad                 // a page whose checksum is wrong
)

// parsePage reads the page at the beginning of b.
func parsePage(b []byte, off int64) (page, parsed) {
	if len(b) < len(capture) {
		if bytes.HasPrefix(capture, b) {
			return page{}, parsedShort
		}
		return page{}, parsedNot
	}
	switch {
	case !bytes.HasPrefix(b, capture), len(b) > 4 && b[4] != 0, len(b) > 5 && b[5] > 7:
		return page{}, parsedNot
	case len(b) < pageHeader:
		return page{}, parsedShort
	}
	body := pageHeader + int(b[26])
	if len(b) < body {
		return page{}, parsedShort
	}
	end := body
	for _, l := range b[pageHeader:body] {
		end += int(l)
	}
	if len(b) < end {
		return page{}, parsedShort
	}
	p := page{
		off:     off,
		flags:   b[5],
		granule: int64(binary.LittleEndian.Uint64(b[6:])),
		serial:  binary.LittleEndian.Uint32(b[14:]),
		seq:     binary.LittleEndian.Uint32(b[18:]),
		lacing:  b[pageHeader:body:body],
		body:    b[body:end:end],
	}
	if pageChecksum(b[:end]) != binary.LittleEndian.Uint32(b[22:]) {
		return p, parsedBad
	}
	return p, parsedPage
}

// damage is a stretch of bytes that are no valid page, or where there is nothing,
// the place where something is missing.
type damage struct {
	off, end int64
	reason   string
}

// scanned is what a stretch of bytes holds.
type scanned struct {
	checked int // bytes of checksums that were computed
	pages   []page
	damage  []damage
	rest    int64 // offset where a page may begin that the end of the bytes cuts off
}

// checkFactor bounds the work of looking for pages in what is made to look like
// many: so many times the bytes are checksummed at most.
const checkFactor = 8

// scanPages finds the pages in data, which stands at off. After what is no page
// it goes on at the next capture pattern whose checksum is right. The first
// page may begin anywhere: bytes before it are damage only if aligned is set.
func scanPages(data []byte, off int64, aligned bool) scanned {
	var s scanned
	most := checkFactor*len(data) + 2*maxPage
	lost, reason := -1, ""
	if !aligned {
		lost = 0
	}
	lose := func(at int, why string) {
		if lost < 0 {
			lost, reason = at, why
		}
	}
	found := func(at int) {
		if lost >= 0 && at > lost && (aligned || len(s.pages) > 0) {
			s.damage = append(s.damage, damage{off + int64(lost), off + int64(at), reason})
		}
		lost = -1
	}
	at, short := 0, -1
	for at < len(data) && s.checked < most {
		p, kind := parsePage(data[at:], off+int64(at))
		switch kind {
		case parsedPage:
			found(at)
			s.pages = append(s.pages, p)
			s.checked += int(p.size())
			at += int(p.size())
			short = -1
			continue
		case parsedBad:
			lose(at, "page with a wrong checksum")
			s.checked += int(p.size())
		case parsedShort:
			if short < 0 {
				short = at
			}
		case parsedNot:
			lose(at, "bytes that are no page")
		}
		next := nextCapture(data[at+1:])
		at += 1 + next
	}
	s.rest = off + int64(len(data))
	if short >= 0 {
		s.rest = off + int64(short)
	}
	if lost >= 0 && int64(lost) < s.rest-off {
		found(int(s.rest - off))
	}
	return s
}

// nextCapture returns the index of the next capture pattern in b, or of what
// may be the beginning of one at its end, or the length of b.
func nextCapture(b []byte) int {
	if i := bytes.Index(b, capture); i >= 0 {
		return i
	}
	for n := min(len(capture)-1, len(b)); n > 0; n-- {
		if bytes.HasSuffix(b, capture[:n]) {
			return len(b) - n
		}
	}
	return len(b)
}
