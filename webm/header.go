package webm

import (
	"fmt"
	"time"

	"github.com/mediafrag/mediafrag/fragment"
)

// docHeader is what the EBML header says.
type docHeader struct {
	lengths
	docType              string
	version, readVersion uint64
}

// parseDocHeader reads the EBML header that b begins with (RFC 8794 section
// 11.2), at an offset, and returns it with the offset behind it.
func parseDocHeader(b []byte, off int64) (h docHeader, end int64, err error) {
	h = docHeader{lengths: defaultLengths, docType: "matroska", version: 1, readVersion: 1}
	e, err := h.parse(b, off)
	switch {
	case err == nil && (e.id == idCluster || e.id == idCues):
		return h, 0, unsupported(e.String(), off, "a segment of a stream without its header", "join the initialization segment and its segments to one file")
	case err != nil || e.id != idEBML:
		return h, 0, damaged("EBML", off, "it does not begin with an EBML header")
	case e.size == unknownSize || e.end()-off > int64(len(b)):
		return h, 0, damaged("EBML", off, "the header is too long or of unknown size")
	}
	c := children{lengths: h.lengths, data: b[e.head : e.end()-off], base: e.body(), path: "EBML"}
	l := h.lengths
	if err := c.all(func(x element, body []byte) error {
		switch x.id {
		case idDocType:
			h.docType = stringOf(body)
		case idDocTypeVersion:
			h.version = uintOf(body)
		case idDocTypeReadVersion:
			h.readVersion = uintOf(body)
		case idEBMLMaxIDLength:
			l.id = int(min(uintOf(body), 1<<8))
		case idEBMLMaxSizeLength:
			l.size = int(min(uintOf(body), 1<<8))
		}
		return nil
	}); err != nil {
		return h, 0, err
	}
	if l.id < maxIDLength || l.id > 8 || l.size < 1 || l.size > maxSizeLength {
		return h, 0, unsupported("EBML", off, fmt.Sprintf("IDs of %d and sizes of %d bytes", l.id, l.size), "write the file anew with mkvmerge: all others have IDs of 4 and sizes of 8 bytes at most")
	}
	h.lengths = l
	if h.docType != "webm" && h.docType != "matroska" {
		return h, 0, unsupported("EBML/DocType", off, fmt.Sprintf("%q is neither webm nor matroska", h.docType), "check that the address is that of a WebM or Matroska file")
	}
	return h, e.end(), nil
}

// segmentInfo is what the Info element says.
type segmentInfo struct {
	scale    int64 // ns in a tick
	duration float64
	title    string
	created  time.Time // zero where DateUTC does not say
	app      string    // MuxingApp
	writer   string    // WritingApp
}

// epoch is what a DateUTC counts from, in nanoseconds (RFC 8794 section 7.6).
var epoch = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

func parseInfo(l lengths, e element, body []byte) (segmentInfo, error) {
	i := segmentInfo{scale: 1e6}
	c := children{lengths: l, data: body, base: e.body(), path: "Segment/Info"}
	if err := c.all(func(x element, b []byte) error {
		switch x.id {
		case idTimestampScale:
			i.scale = ticksOf(b)
		case idDuration:
			i.duration = floatOf(b)
		case idMuxingApp:
			i.app = stringOf(b)
		case idWritingApp:
			i.writer = stringOf(b)
		case idTitle:
			i.title = stringOf(b)
		case idDateUTC:
			if len(b) > 0 {
				i.created = epoch.Add(time.Duration(intOf(b)))
			}
		}
		return nil
	}); err != nil {
		return i, err
	}
	if i.scale <= 0 || i.scale > 1e15 {
		return i, damaged("Segment/Info/TimestampScale", e.offset, fmt.Sprintf("%d ns", i.scale))
	}
	if !(i.duration > 0 && i.duration*float64(i.scale) < maxOffset) { // none, or nonsense
		i.duration = 0
	}
	return i, nil
}

// What a header may cost.
const (
	headSize = 64 << 10
	// guess is how much of an element that lies elsewhere is read before its
	// size is known.
	guess = 64 << 10
	// cueBytes is how large an index is guessed to be for each second.
	cueBytes = 48
	maxGuess = 1 << 20
	// maxTold is how many places SeekHeads may name for one kind of element.
	maxTold = 4
	// maxChapters is the most bytes of Chapters that are read.
	maxChapters = 8 << 20
)

// warn notes something that is wrong but did no harm, each once.
func (m *media) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, w := range m.warnings {
		if w.Reason == text {
			return
		}
	}
	if len(m.warnings) < 20 {
		m.warnings = append(m.warnings, fragment.Warning{Reason: text})
	}
}
