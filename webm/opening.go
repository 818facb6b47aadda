package webm

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
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
	head, err := m.w.ReadRange(ctx, seek.Range{Offset: 0, Length: headSize}, seek.Head, "head")
	if err != nil {
		return err
	}
	var after int64
	if m.doc, after, err = parseDocHeader(head); err != nil {
		return err
	}
	o.chunks = append(o.chunks, chunk{0, head})
	if size := m.w.Info().Size; size > headSize {
		r := seek.Range{Offset: max(0, size-headSize), Length: min(headSize, size)}
		if tail, ok := m.w.Held(r); ok {
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
		if off >= int64(len(head)) {
			return damaged("Segment", off, "there is none")
		}
		e, err := o.m.doc.parse(head[off:], off)
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

// seekHead reads a SeekHead whose body is at hand, or remembers it.
func (o *opening) seekHead(e element) {
	b := o.peek(e.body())
	if e.size == unknownSize || e.size > maxGuess {
		return
	}
	if int64(len(b)) < e.size {
		o.second = append(o.second, e)
		return
	}
	each(o.m.doc.lengths, e, b[:e.size], func(x element, b []byte) {
		if x.id != idSeek {
			return
		}
		var id uint32
		pos := int64(-1)
		each(o.m.doc.lengths, x, b, func(y element, b []byte) {
			switch y.id {
			case idSeekID:
				if len(b) <= 4 {
					id = uint32(uintOf(b))
				}
			case idSeekPosition:
				pos = ticksOf(b)
			}
		})
		at := o.m.segment.body() + pos
		if pos < 0 || !isLevel1(id) || id == idCluster || o.seen[at] || at >= o.limit() || o.tells[id] >= maxTold {
			return
		}
		o.told[at] = id
		o.tells[id]++
	})
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

// wanted reports whether a place that a SeekHead tells is worth a request.
func (o *opening) wanted(at int64, id uint32) bool {
	switch id {
	case idInfo, idTracks, idCues, idChapters:
		_, ok := o.found[id]
		return !ok
	case idSeekHead:
		return true
	}
	return false
}

// resolve looks at the told places that are at hand; those that lie are dropped.
func (o *opening) resolve() {
	for again := true; again; {
		again = false
		for _, at := range slices.Sorted(maps.Keys(o.told)) {
			id, b := o.told[at], o.peek(at)
			if len(b) < maxHeader && at+int64(len(b)) < o.limit() {
				continue
			}
			delete(o.told, at)
			e, err := o.m.doc.parse(b, at)
			if err != nil || e.id != id || e.size == unknownSize && e.id != idCluster || e.end() > o.m.segment.end() {
				o.m.warn("a SeekHead points to %s at byte %d, where there is none", element{id: id}, at)
				continue
			}
			again = true
			o.note(e)
		}
	}
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

// searchTail looks in the last bytes for elements that follow each other up to
// the end exactly, such as Cues that no SeekHead tells of.
func (o *opening) searchTail() {
	size := o.m.w.Info().Size
	if size <= headSize {
		return
	}
	data := o.peek(max(0, size-headSize))
	end := o.limit()
	base := size - int64(len(data))
	for i := 0; i+maxHeader < len(data) && base+int64(i) < end; i++ {
		e, err := o.m.doc.parse(data[i:], base+int64(i))
		if err != nil || !isLevel1(e.id) || e.id == idCluster || e.size == unknownSize {
			continue
		}
		if chain := o.chain(e, end); chain != nil {
			for _, e := range chain {
				if !o.seen[e.offset] && e.id != idVoid {
					o.note(e)
				}
			}
			return
		}
	}
}

// maxChain is the most elements that are looked for at the end of a file.
const maxChain = 32

// chain returns the elements from e on if they end at end exactly.
func (o *opening) chain(e element, end int64) []element {
	chain := []element{e}
	for e.end() < end {
		if len(chain) >= maxChain {
			return nil
		}
		next, err := o.m.doc.parse(o.peek(e.end()), e.end())
		if err != nil || !isLevel1(next.id) && next.id != idVoid || next.size == unknownSize {
			return nil
		}
		e = next
		chain = append(chain, e)
	}
	if e.end() != end {
		return nil
	}
	return chain
}

// parseAll fetches what is missing of the elements that were found, at once,
// and reads them.
func (o *opening) parseAll(ctx context.Context) error {
	m := o.m
	var requests []seek.Request
	wanted := []uint32{idInfo, idTracks, idCues, idChapters}
	for _, id := range wanted {
		e, ok := o.found[id]
		switch {
		case !ok && id == idTracks, !ok && id == idInfo && !o.stuck:
			return damaged("Segment/"+names[id], m.segment.offset, "there is none, or it lies behind more elements than are looked at")
		case !ok, id == idChapters && e.size > maxChapters:
			continue
		case e.size > m.limits.Index || e.size == unknownSize:
			return &formats.Error{Container: "webm", Element: "Segment/" + e.String(), Offset: e.offset,
				Problem: fmt.Sprintf("%d bytes, more than the limit of %d", e.size, m.limits.Index), Hint: "raise Limits.Index", Err: seek.ErrLimit}
		}
		if have := int64(len(o.peek(e.body()))); have < e.size {
			requests = append(requests, seek.Request{Range: seek.Range{Offset: e.body() + have, Length: e.size - have}, Purpose: seek.Index, Note: e.String()})
		}
	}
	if err := o.read(ctx, requests); err != nil {
		return err
	}
	bodies := map[uint32][]byte{}
	for id, e := range o.found {
		b := o.peek(e.body())
		if e.size > int64(len(b)) {
			b = o.join(e)
		}
		if e.size >= 0 && e.size <= int64(len(b)) {
			bodies[id] = b[:e.size:e.size]
		}
	}
	return o.parseBodies(bodies)
}

// join returns an element's body from two chunks that meet.
func (o *opening) join(e element) []byte {
	out := append([]byte(nil), o.peek(e.body())...)
	for int64(len(out)) < e.size {
		more := o.peek(e.body() + int64(len(out)))
		if len(more) == 0 {
			return nil
		}
		out = append(out, more...)
	}
	return out
}

func (o *opening) parseBodies(bodies map[uint32][]byte) (err error) {
	m := o.m
	m.info.scale = 1e6
	for _, id := range []uint32{idInfo, idTracks, idCues} { // those that must be whole where they are
		e, ok := o.found[id]
		if !ok {
			continue
		}
		body, ok := bodies[id]
		if !ok {
			if id == idCues {
				m.warn("the index at byte %d is cut off", e.offset)
				continue
			}
			return damaged("Segment/"+e.String(), e.offset, "the file ends in it")
		}
		switch id {
		case idInfo:
			m.info, err = parseInfo(m.doc.lengths, e, body)
		case idTracks:
			m.tracks, err = parseTracks(m.doc.lengths, e, body)
		case idCues:
			m.cuesElement = e
			m.cues, err = m.parseCues(e, body)
		}
		if err != nil {
			return err
		}
	}
	m.first = o.found[idCluster]
	for id, e := range o.found {
		if id != idCluster && m.first.id != 0 && e.offset > m.first.offset {
			m.others = append(m.others, e.offset)
		}
	}
	for at, id := range o.told {
		if id != idCluster && at > m.first.offset {
			m.others = append(m.others, at)
		}
		switch id {
		case idTags:
			o.tags = append(o.tags, at)
		case idAttachments:
			m.attachmentsAt = at
		}
	}
	slices.Sort(o.tags)
	m.tagsAt = o.tags
	if e, ok := o.found[idAttachments]; ok {
		m.attachmentsAt = e.offset
	}
	m.chapters = parseChapters(m.doc.lengths, o.found[idChapters], bodies[idChapters])
	return nil
}
