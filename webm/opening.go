package webm

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/mediafrag/mediafrag/seek"
)

// opening reads what stands in the Segment beside its clusters.
type opening struct {
	m      *media
	chunks []chunk            // bytes at hand
	found  map[uint32]element // the first of each kind, checked
	second []element          // further SeekHeads to read
	tells  map[uint32]int     // how many places SeekHeads name for each kind
	told   map[int64]uint32   // places that SeekHeads name, not looked at yet
	seen   map[int64]bool     // places that were looked at
	walk   int64              // how far the level below the Segment is known from its beginning
	stuck  bool               // the walk cannot go on
	tags   []int64            // where Tags are: there may be several
}

// chunk is a stretch of the resource at hand.
type chunk struct {
	off  int64
	data []byte
}

// peek returns the bytes at hand from off on.
func (o *opening) peek(off int64) []byte {
	var best []byte
	for _, c := range o.chunks {
		if off >= c.off && off < c.off+int64(len(c.data)) && len(c.data)-int(off-c.off) > len(best) {
			best = c.data[off-c.off:]
		}
	}
	return best
}

// open reads everything that is needed to answer selections.
func (o *opening) open(ctx context.Context) error {
	m := o.m
	head, err := m.w.ReadRange(ctx, seek.Range{Offset: m.base, Length: headSize}, seek.Head, "head")
	if err != nil {
		return err
	}
	after := m.base
	if m.base == 0 || !bytes.HasPrefix(head, segmentStart) { // a later one may have none of its own
		if m.doc, after, err = parseDocHeader(head, m.base); err != nil {
			return err
		}
	}
	o.chunks = append(o.chunks, chunk{m.base, head})
	if size := m.w.Info().Size; size > m.base+headSize {
		r := seek.Range{Offset: size - headSize, Length: headSize}
		if tail, ok := m.w.Arrived(ctx, r); ok {
			o.chunks = append(o.chunks, chunk{r.Offset, tail})
		}
	}
	if err := o.segment(head, after); err != nil {
		return err
	}
	o.walk = m.segment.body()
	for round := 0; ; round++ {
		o.walkOn()
		if o.complete() {
			break
		}
		if round == 0 && !o.ready() && o.tells[idTracks] == 0 { // it may stand at the end
			if o.searchTail(); o.complete() {
				break
			}
		}
		if round > m.limits.Rounds {
			break
		}
		more, err := o.readMore(ctx)
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if _, ok := o.found[idCues]; !ok || o.tells[idTags] == 0 {
		o.searchTail()
	}
	if !o.complete() { // a SeekHead at the end tells more
		if _, err := o.readMore(ctx); err != nil {
			return err
		}
		o.resolve()
	}
	return o.parseAll(ctx)
}

// segment finds the Segment behind the EBML header.
func (o *opening) segment(head []byte, off int64) error {
	for {
		if off-o.m.base >= int64(len(head)) {
			return damaged("Segment", off, "there is none")
		}
		e, err := o.m.doc.parse(head[off-o.m.base:], off)
		if err != nil {
			return damaged("Segment", off, err.Error())
		}
		if e.id == idSegment {
			o.m.segment = e
			return nil
		}
		if e.id != idVoid && e.id != idCRC32 || e.size == unknownSize {
			return damaged("Segment", off, e.String()+" stands in its place")
		}
		off = e.end()
	}
}

// limit is the end of the Segment as far as it is known.
func (o *opening) limit() int64 {
	end := o.m.segment.end()
	if size := o.m.w.Info().Size; size >= 0 {
		end = min(end, size)
	}
	return end
}

// overrun reports whether the Segment ends where nothing begins, as where bytes
// were put in: then it may go on, as far as what follows is at hand.
func (o *opening) overrun() bool {
	end := o.m.segment.end()
	b := o.peek(end)
	if o.m.segment.size == unknownSize || len(b) < maxHeader {
		return false
	}
	e, err := defaultLengths.parse(b, end)
	return err != nil || e.id != idEBML && e.id != idSegment && e.id != idVoid
}

// walkOn goes from element to element as far as headers are at hand.
func (o *opening) walkOn() {
	for !o.stuck && o.walk < o.limit() {
		b := o.peek(o.walk)
		e, err := o.m.doc.parse(b, o.walk)
		if err == errShort && o.walk+int64(len(b)) < o.limit() {
			return
		}
		if err != nil || !isLevel1(e.id) && e.size == unknownSize {
			o.stuck = true
			return
		}
		o.note(e)
		if e.id == idCluster && (o.ready() || e.size == unknownSize) {
			o.stuck = true
			return
		}
		o.walk = e.end()
	}
	o.stuck = true
}

// note remembers an element that was seen at its place.
func (o *opening) note(e element) {
	o.seen[e.offset] = true
	if e.id == idSeekHead {
		o.seekHead(e)
		return
	}
	if e.id == idTags && len(o.tags) < maxTold {
		o.tags = append(o.tags, e.offset)
	}
	if _, ok := o.found[e.id]; !ok {
		o.found[e.id] = e
	}
}

// ready reports whether what must be known is known.
func (o *opening) ready() bool {
	_, info := o.found[idInfo]
	_, tracks := o.found[idTracks]
	return info && tracks
}

// complete reports whether nothing more is worth a request.
func (o *opening) complete() bool {
	o.resolve()
	for at, id := range o.told {
		if o.wanted(at, id) {
			return false
		}
	}
	_, cluster := o.found[idCluster]
	return o.ready() && cluster && len(o.second) == 0
}

// wanted reports whether a place that a SeekHead tells is worth a request. Where a
// resource can only be read in order, what stands behind the Clusters would cost all
// of them, and clips can be made without; what stands before them the walk meets.
func (o *opening) wanted(at int64, id uint32) bool {
	switch id {
	case idCues, idChapters:
		if o.m.endless() {
			return false
		}
		fallthrough
	case idInfo, idTracks:
		_, ok := o.found[id]
		return !ok
	case idSeekHead:
		return true
	}
	return false
}

// readMore fetches, all at once, what is told and wanted, and where the walk
// stands. It reports whether anything was asked for.
func (o *opening) readMore(ctx context.Context) (bool, error) {
	var requests []seek.Request
	ask := func(at, n int64, note string) {
		n = min(n, o.limit()-at)
		if n > int64(len(o.peek(at))) {
			requests = append(requests, seek.Request{Range: seek.Range{Offset: at, Length: n}, Purpose: seek.Index, Note: note})
		}
	}
	for _, at := range slices.Sorted(maps.Keys(o.told)) {
		if id := o.told[at]; o.wanted(at, id) {
			ask(at, o.guess(at, id), element{id: id}.String())
		}
	}
	for _, e := range o.second {
		ask(e.offset, e.end()-e.offset, e.String())
	}
	if _, ok := o.found[idCluster]; !o.stuck && (!ok || !o.ready()) {
		n := int64(guess)
		if ok { // from cluster to cluster
			n = 4 << 10
		}
		ask(o.walk, n, "elements")
	}
	if len(requests) == 0 {
		return false, nil
	}
	seconds := o.second
	o.second = nil
	if err := o.read(ctx, requests); err != nil {
		return false, err
	}
	for _, e := range seconds {
		o.seekHead(e)
	}
	return true, nil
}

// guess is how much to read of an element whose size is not known yet: at most
// up to the next that is known.
func (o *opening) guess(at int64, id uint32) int64 {
	n := int64(guess)
	if id == idCues {
		n = min(max(n, cueBytes*o.seconds()), maxGuess)
		if size := o.m.w.Info().Size; size > 0 && size-at <= maxGuess {
			n = size - at
		}
	}
	for other := range o.told {
		if other > at {
			n = min(n, other-at+maxHeader)
		}
	}
	return n
}

// seconds is the duration in seconds where Info is at hand, else 0.
func (o *opening) seconds() int64 {
	e, ok := o.found[idInfo]
	b := o.peek(e.body())
	if !ok || e.size > int64(len(b)) || e.size < 0 {
		return 0
	}
	i, err := parseInfo(o.m.doc.lengths, e, b[:e.size])
	if err != nil {
		return 0
	}
	return int64(min(i.duration*float64(i.scale)/1e9, 1e9))
}

func (o *opening) read(ctx context.Context, requests []seek.Request) error {
	got, err := o.m.w.Read(ctx, requests...)
	if err != nil {
		return err
	}
	for i, data := range got {
		o.chunks = append(o.chunks, chunk{requests[i].Offset, data})
	}
	return nil
}
