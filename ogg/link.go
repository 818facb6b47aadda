package ogg

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// Limits on what one link may hold. Files have a handful of streams.
const (
	maxStreams = 256
	// firstPages is how many bytes are read, at most, in search of a first page,
	// and behind the headers in search of each stream's first granule position.
	firstPages = 1 << 20
	headChunk  = 64 << 10
)

// stream is one logical stream of a link.
type stream struct {
	*mapping
	serial  uint32
	off     int64    // of its first page
	packets [][]byte // header packets
	pages   uint32   // pages that they fill
	data    int64    // its first page with data; -1: none was seen
	begin   int64    // the tick of the first presented
	begun   bool     // begin is known
	finish  int64    // the tick at which it ends
	ended   bool     // finish is known
	// pageTicks is how long a page lasts at most, of those near the link's end.
	pageTicks int64
	index     int // number in the link's searches
}

// other is a stream that is passed over.
type other struct {
	serial uint32
	off    int64
	name   string // of its codec, or what is wrong with it
	broken bool   // its codec is known, and its headers are not all there
}

// link is one logical file: the streams between one group of first pages and
// the next (RFC 3533, section 4). A file that is not chained is one link.
type link struct {
	off      int64 // of its first page
	data     int64 // of its first page with data
	headers  int64 // one past the last page with header packets; it may hold data too
	end      int64 // one past its last page; -1: not known
	streams  []*stream
	others   []other
	skeleton *skeleton
	damage   []damage // in its head

	begin  fragment.Time // the file's own clock where it begins to present
	finish fragment.Time // and where it ends
	ended  bool          // finish is known
	search *seek.Search
	// pageBytes is what a page near the end takes.
	pageBytes int64
	endDamage []damage // near the end
	reviewed  atomic.Bool
	watchers
}

// stream returns the stream with a serial number, nil where there is none that
// is supported.
func (l *link) stream(serial uint32) *stream {
	for _, s := range l.streams {
		if s.serial == serial {
			return s
		}
	}
	return nil
}

// has reports whether a serial number is one of the link's.
func (l *link) has(serial uint32) bool {
	if l.stream(serial) != nil || l.skeleton != nil && l.skeleton.serial == serial {
		return true
	}
	for _, o := range l.others {
		if o.serial == serial {
			return true
		}
	}
	return false
}

// title returns the title that the comments of the link's first stream give.
func (l *link) title() string {
	for _, s := range l.streams {
		for _, c := range s.comments() {
			if name, value, ok := strings.Cut(c, "="); ok && strings.EqualFold(name, "TITLE") {
				return value
			}
		}
	}
	return ""
}

// commentsAt is where the Vorbis comments begin in the second header packet of
// codecs that have them there.
var commentsAt = map[string]int{"vorbis": 7, "opus": 8, "theora": 7, "speex": 0, "vp8": 7, "flac": 4, "kate": 9, "pcm": 0}

// commentsLength returns how long the second header packet is at least, of
// which the beginning is known; 0 where it holds no comments.
func (s *stream) commentsLength(begin []byte) int64 {
	at, ok := commentsAt[s.track.Codec]
	if !ok {
		return 0
	}
	length := func(p int64) (uint32, bool) {
		if p+4 > int64(len(begin)) {
			return 0, false
		}
		return binary.LittleEndian.Uint32(begin[p:]), true
	}
	vendor, ok := length(int64(at))
	if !ok {
		return 0
	}
	next := int64(at) + 4 + int64(vendor)
	count, ok := length(next)
	next += 4
	for n := uint32(0); ok && n < count; n++ {
		var comment uint32
		if comment, ok = length(next); ok {
			next += 4 + int64(comment)
		}
	}
	return next
}

// comments returns the user comments of a stream whose second header packet
// holds Vorbis comments.
func (s *stream) comments() []string {
	if len(s.packets) < 2 {
		return nil
	}
	at, ok := commentsAt[s.track.Codec]
	if p := s.packets[1]; ok && len(p) >= at {
		return readComments(p[at:])
	}
	return nil
}

// readComments reads Vorbis comments: the vendor, a number of comments, and
// each with its length before it.
func readComments(p []byte) (out []string) {
	next := func() (string, bool) {
		if len(p) < 4 {
			return "", false
		}
		n := uint64(binary.LittleEndian.Uint32(p))
		if n > uint64(len(p)-4) {
			return "", false
		}
		text := string(p[4 : 4+n])
		p = p[4+n:]
		return text, true
	}
	if _, ok := next(); !ok || len(p) < 4 {
		return nil
	}
	n := binary.LittleEndian.Uint32(p)
	p = p[4:]
	for range n {
		text, ok := next()
		if !ok {
			break
		}
		out = append(out, text)
	}
	return out
}

// length returns how long the link presents; it needs ended.
func (l *link) length() fragment.Time { return l.finish.Sub(l.begin).Max(fragment.Time{}) }

// linkReader reads the head of a link.
type linkReader struct {
	link   *link
	pages  pageReader
	limit  int64
	joins  map[uint32]*assembler
	lines  map[uint32]*timeline
	closed bool  // a page that is no first page was seen
	next   int64 // the next link's first page was met there; 0: not
}

// readLink reads the headers of the link at off, and its first granule
// positions.
func readLink(ctx context.Context, w *seek.Window, off int64, limits formats.Limits) (*link, error) {
	r := &linkReader{
		link:  &link{off: off, data: -1, end: -1},
		pages: pageReader{w: w, at: off, to: -1, chunk: headChunk, most: firstPages, purpose: seek.Index, note: "headers"},
		limit: limits.Index,
		joins: map[uint32]*assembler{},
		lines: map[uint32]*timeline{},
	}
	for !r.done() {
		r.pages.chunk = headChunk + r.ahead()
		if r.link.data >= 0 { // a stream's first page may be far off: look as far again as before
			r.pages.chunk = max(r.pages.chunk, r.pages.at-r.link.data)
		}
		pages, err := r.pages.next(ctx)
		if err != nil {
			return nil, err
		}
		if len(pages) == 0 {
			break
		}
		for i := range pages {
			if err := r.add(&pages[i]); err != nil {
				return nil, err
			}
			if r.next > 0 || r.done() {
				break
			}
		}
	}
	return r.finish()
}

// done reports whether all is known that the head of the link tells.
func (r *linkReader) done() bool {
	if r.next > 0 {
		return true
	}
	if !r.closed {
		return len(r.joins) == 0 && r.pages.at > r.link.off+firstPages
	}
	waiting := false
	for _, s := range r.link.streams {
		if !s.complete() {
			return false
		}
		waiting = waiting || !s.begun && !s.text()
	}
	if r.link.data < 0 && r.link.onlyText() {
		return r.pages.at > r.link.headers+firstPages
	}
	return !waiting || r.link.data >= 0 && r.pages.at > r.link.data+firstPages
}

// headAhead is how many bytes of headers are read at once, at most.
const headAhead = 4 << 20

// ahead estimates how many bytes of header packets are still to come, as far as
// the comments say that were seen: pictures in them may take many pages.
func (r *linkReader) ahead() (n int64) {
	for _, s := range r.link.streams {
		if join := r.joins[s.serial]; !s.complete() && len(s.packets) == 1 && join.joining {
			missing := s.commentsLength(join.partial) - int64(len(join.partial))
			n += max(0, missing+missing/64) // and the headers of their pages
		}
	}
	return min(n, headAhead, r.limit)
}

// complete reports whether all header packets of the stream are there.
func (s *stream) complete() bool { return s.headers > 0 && len(s.packets) >= s.headers }

func (r *linkReader) add(p *page) error {
	if p.bos() && !r.link.has(p.serial) || p.bos() && p.seq == 0 && r.closed {
		if r.closed {
			r.next, r.link.end = p.off, p.off
			return nil
		}
		if len(r.joins) == 0 { // what stands before it is passed over
			r.link.off = p.off
		}
		return r.begin(p)
	}
	if !r.link.has(p.serial) { // nobody introduced it
		return nil
	}
	if p.bos() && p.seq == 0 && !r.closed { // it stands twice
		return nil
	}
	if !p.bos() {
		r.closed = true
	}
	s := r.link.stream(p.serial)
	switch {
	case s != nil && !s.complete():
		return r.header(s, p)
	case s != nil:
		r.first(s, p)
	case r.link.skeleton != nil && r.link.skeleton.serial == p.serial:
		packets, _ := r.joins[p.serial].add(p)
		for _, q := range packets {
			r.link.skeleton.add(q.data)
		}
		r.link.skeleton.ended = r.link.skeleton.ended || p.eos()
		return nil
	}
	return nil
}

// begin adds a stream by its first page.
func (r *linkReader) begin(p *page) error {
	if len(r.joins) >= maxStreams {
		return &formats.Error{Container: "ogg", Element: "first pages", Offset: p.off, Err: seek.ErrLimit,
			Problem: fmt.Sprintf("more than %d streams", maxStreams)}
	}
	join := &assembler{limit: int(min(r.limit, 1<<30))}
	r.joins[p.serial] = join
	packets, _ := join.add(p)
	if len(packets) == 0 {
		r.link.others = append(r.link.others, other{p.serial, p.off, "a first page without a packet", true})
		return nil
	}
	first := packets[0].data
	if isFishead(first) {
		if r.link.skeleton == nil {
			r.link.skeleton = newSkeleton(p.serial, first)
			return nil
		}
		r.link.others = append(r.link.others, other{p.serial, p.off, "a second Skeleton", true})
		return nil
	}
	m, err := newMapping(first)
	if err != nil {
		name := err.Error()
		if errors.Is(err, errNotMine) {
			name = foreign(first)
		}
		r.link.others = append(r.link.others, other{p.serial, p.off, name, !errors.Is(err, errNotMine) && !errors.Is(err, errVersion)})
		return nil
	}
	s := &stream{mapping: m, serial: p.serial, off: p.off, packets: [][]byte{first}, pages: 1, data: -1, index: len(r.link.streams)}
	m.track.ID = strconv.Itoa(len(r.joins))
	m.track.Default = true
	r.link.streams = append(r.link.streams, s)
	return nil
}

// header takes a page of a stream whose headers are not complete. A stream with
// a bad header is passed over.
func (r *linkReader) header(s *stream, p *page) error {
	if p.off-r.link.off > r.limit {
		return &formats.Error{Container: "ogg", Element: "headers", Offset: s.off, Err: seek.ErrLimit,
			Problem: fmt.Sprintf("header packets of more than %d bytes", r.limit)}
	}
	packets, _ := r.joins[s.serial].add(p)
	s.pages++
	for _, q := range packets {
		if s.complete() { // data on the page of the last header
			r.first(s, p)
			break
		}
		more, err := s.mapping.header(len(s.packets), q.data, s.mapping)
		if errors.Is(err, errNoHeader) {
			s.headers, s.pages = len(s.packets), s.pages-1
			r.first(s, p)
			return nil
		}
		if err == nil && !more && s.headers == 0 {
			s.headers = len(s.packets) + 1
		}
		if err != nil {
			r.drop(s, err)
			return nil
		}
		s.packets = append(s.packets, q.data)
		r.link.headers = p.end()
	}
	return nil
}

func (r *linkReader) dataAt(off int64) int64 {
	if r.link.data < 0 || off < r.link.data {
		return off
	}
	return r.link.data
}

// drop makes a stream one that is passed over.
func (r *linkReader) drop(s *stream, err error) {
	for i, t := range r.link.streams {
		if t == s {
			r.link.streams = append(r.link.streams[:i], r.link.streams[i+1:]...)
			break
		}
	}
	for i, t := range r.link.streams {
		t.index = i
	}
	r.link.others = append(r.link.others, other{s.serial, s.off, s.track.Codec + ": " + err.Error(), true})
}

// first takes a page of data until the stream's first granule position.
func (r *linkReader) first(s *stream, p *page) {
	if s.data < 0 {
		s.data = p.off
		r.link.data = r.dataAt(p.off)
	}
	if s.begun || s.text() {
		return
	}
	line := r.lines[s.serial]
	if line == nil {
		line = newTimeline(s, true)
		r.lines[s.serial] = line
	}
	if out := line.add(p); len(out) > 0 {
		s.begin, s.begun = out[0].from, true
		if s.track.Codec != "opus" && s.audio() {
			s.begin = max(0, s.begin) // less is cut off by every decoder
		}
		s.begin = satAdd(s.begin, s.origin)
	}
}

// finish checks what was read.
func (r *linkReader) finish() (*link, error) {
	l := r.link
	l.damage = r.pages.damage
	for _, s := range append([]*stream(nil), l.streams...) {
		if !s.complete() {
			r.drop(s, errors.New("its header packets are not all there"))
		}
	}
	if len(l.streams) == 0 {
		return nil, r.nothing()
	}
	if l.skeleton != nil {
		l.skeleton.describe(l)
	}
	if l.data < 0 {
		l.data = r.pages.at
	}
	first := true
	for _, s := range l.streams {
		if s.data < 0 {
			s.data = l.data
		}
		if !s.begun {
			s.begin = s.origin
			if s.text() {
				continue
			}
		}
		if t := s.time(s.begin); first || t.Less(l.begin) {
			l.begin, first = t, false
		}
	}
	return l, nil
}

// nothing is the error for a link without a stream that is supported: what is
// wrong with the first of those that were passed over, or with its bytes.
func (r *linkReader) nothing() error {
	e := &formats.Error{Container: "ogg", Element: "first pages", Offset: r.link.off, Err: formats.ErrDamaged, Problem: "no stream"}
	if len(r.link.others) > 0 {
		o := r.link.others[0]
		e.Element, e.Offset, e.Problem = fmt.Sprintf("stream %d", o.serial), o.off, o.name
		if !o.broken {
			e.Err = formats.ErrUnsupported
			e.Hint = "the streams that can be cut are Vorbis, Opus, FLAC, Speex, Theora, VP8, PCM, Kate and CMML"
		}
	} else if len(r.link.damage) > 0 {
		d := r.link.damage[0]
		e.Offset, e.Problem = d.off, "no stream begins: "+d.reason
	}
	return e
}
