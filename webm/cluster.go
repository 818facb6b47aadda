package webm

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// cluster is a Cluster whose beginning was read.
type cluster struct {
	element
	timestamp int64 // ticks
	timed     bool  // the Timestamp was seen
	first     int64 // where its first block or other element behind the Timestamp begins
	from, to  int   // its blocks in the stretch: [from, to)
}

// stretch is what a walk over clusters has seen.
type stretch struct {
	clusters []cluster
	blocks   []block
	others   []element // beside clusters
	gaps     []gap     // what was left out because it is damaged
	next     int64     // where the walk stands
	ended    bool      // nothing follows: the Segment or the file ends at next
	err      error     // what is wrong at next
}

// gap is a stretch of bytes that are no elements.
type gap struct {
	from, to int64
	err      error
}

// walk goes over clusters and their blocks from an offset at which an element
// of the Segment begins, as far as data reaches. A block of which only the
// header is at hand is the last.
func (m *media) walk(data []byte, base, from int64) *stretch {
	return m.walkOn(&stretch{next: from}, data, base)
}

// walkOn goes on from where a walk stands.
func (m *media) walkOn(s *stretch, data []byte, base int64) *stretch {
	data = m.ofSegment(base, data)
	limit := m.limit()
	for s.next < limit && !s.ended {
		if s.next-base >= int64(len(data)) {
			return s
		}
		e, err := m.doc.parse(data[s.next-base:], s.next)
		if err == errShort && base+int64(len(data)) < limit {
			return s
		}
		if err != nil {
			s.err = damaged("Segment/Cluster", s.next, err.Error())
		} else if !m.step(s, e, data[min(int64(len(data)), e.body()-base):]) {
			return s
		}
		if s.err != nil && !m.skipDamage(s, data, base) {
			return s
		}
	}
	s.ended = s.ended || s.next >= limit
	return s
}

// current is the cluster that the walk is in, nil between clusters.
func (s *stretch) current() *cluster {
	if len(s.clusters) == 0 {
		return nil
	}
	if c := &s.clusters[len(s.clusters)-1]; s.next < c.end() && c.to < 0 {
		return c
	}
	return nil
}

// leave ends the cluster that the walk is in.
func (s *stretch) leave() {
	if n := len(s.clusters); n > 0 && s.clusters[n-1].to < 0 {
		s.clusters[n-1].to = len(s.blocks)
	}
}

// step handles the element at s.next; b is what is at hand of its body. It
// reports false where more bytes are needed.
func (m *media) step(s *stretch, e element, b []byte) bool {
	c := s.current()
	if c != nil && isLevel1(e.id) {
		if c.size != unknownSize {
			s.err = damaged("Segment/Cluster", e.offset, e.String()+" stands inside a Cluster")
			return true
		}
		c = nil
	}
	if c == nil {
		s.leave()
		return m.stepSegment(s, e, b)
	}
	if e.size == unknownSize || e.end() > c.end() {
		s.err = damaged("Segment/Cluster/"+e.String(), e.offset, "it runs over the end of the Cluster")
		return true
	}
	if e.end() > m.limit() { // the file ends in it
		s.ended = true
		return true
	}
	switch e.id {
	case idTimestamp:
		if int64(len(b)) < e.size {
			return false
		}
		if c.timed && c.size != unknownSize && c.timestamp != m.clampTicks(ticksOf(b[:e.size])) {
			s.err = damaged("Segment/Cluster", e.offset, "another Timestamp stands in it")
			return true
		}
		c.timestamp, c.timed = m.clampTicks(ticksOf(b[:e.size])), true
		for i := range s.blocks[c.from:] { // those before it, which is unusual
			bl := &s.blocks[c.from+i]
			bl.ts = c.timestamp + int64(bl.rel)
		}
		if c.first == e.offset {
			c.first = e.end()
		}
	case idSimpleBlock:
		if len(s.blocks) >= maxBlocks {
			s.err = tooMany(e.offset)
			return true
		}
		bl, err := parseSimpleBlock(e, b, c.timestamp)
		if err != nil && int64(len(b)) < e.size {
			return false
		}
		if err != nil {
			s.err = damaged("Segment/Cluster/SimpleBlock", e.offset, err.Error())
			return true
		}
		s.blocks = append(s.blocks, bl)
	case idBlockGroup:
		if len(s.blocks) >= maxBlocks {
			s.err = tooMany(e.offset)
			return true
		}
		if int64(len(b)) < e.size {
			return false
		}
		bl, err := parseBlockGroup(m.doc.lengths, e, b[:e.size], c.timestamp)
		if err != nil {
			s.err = err
			return true
		}
		s.blocks = append(s.blocks, bl)
	case idEncryptedBlock:
		s.err = encryptedBlock(e.offset)
		return true
	default:
		if !m.doc.within(b, e, c.end()) {
			s.err = damaged("Segment/Cluster", e.offset, e.String()+" is none of a Cluster")
			return true
		}
	}
	s.next = e.end()
	return true
}

// maxBlocks is the most blocks, and frames of a track, that are looked at around
// each end of an interval.
const maxBlocks = 1 << 19

func tooMany(off int64) error {
	return &formats.Error{Container: "webm", Element: "Segment/Cluster", Offset: off, Err: seek.ErrLimit,
		Problem: fmt.Sprintf("more than %d blocks around an end of the interval", maxBlocks), Hint: "ask for another interval, or re-mux the file with an index"}
}

func encryptedBlock(off int64) error {
	return unsupported("Segment/Cluster/EncryptedBlock", off, "an EncryptedBlock cannot be cut: its times are encrypted", "decrypt the file first")
}

// stepSegment handles an element between clusters.
func (m *media) stepSegment(s *stretch, e element, b []byte) bool {
	switch {
	case e.id == idCluster:
		s.clusters = append(s.clusters, cluster{element: e, first: e.body(), from: len(s.blocks), to: -1})
		s.next = e.body()
	case e.id == idEBML || e.id == idSegment:
		s.ended = true // the next Segment
	case e.end() > m.limit() || !m.doc.beside(b, e):
		s.err = damaged("Segment", e.offset, "no Cluster begins there")
	default:
		s.others = append(s.others, e)
		s.next = e.end()
	}
	return true
}

// maxDamage is how many damaged bytes are looked through for what follows them.
const maxDamage = 4 << 20

// skipDamage goes on behind damage, as players do: at the next Cluster that is
// recognised, or where none is within the Cluster that the damage is in, behind that
// one, whose length may still be right. Bytes that are missing let the stated end lie
// in what follows, and so may that of the last block. Clusters state their own time,
// so that what follows is not misplaced. It reports false where it does not go on:
// then the walk has ended where no Cluster follows, waits for more bytes, or stands
// at its error.
func (m *media) skipDamage(s *stretch, data []byte, base int64) bool {
	if len(s.clusters) == 0 || !errors.Is(s.err, formats.ErrDamaged) {
		return false // it may never have been the place of a Cluster
	}
	from := s.next
	if n := len(s.blocks); n > s.clusters[len(s.clusters)-1].from {
		from = max(base, s.blocks[n-1].offset+1)
	}
	c := s.current()
	end := m.limit()
	known := c != nil && c.size != unknownSize
	if known {
		end = min(end, c.end())
	}
	have := data[from-base:]
	at := nextCluster(have, func(at int) bool {
		c, err := m.clusterAt(have[at:], from+int64(at))
		return err == nil && c.offset < end && m.recognized(c, have[at:])
	})
	switch {
	case at >= 0:
		s.leap(from + int64(at))
		return true
	case from+int64(len(have)) < end && len(have) < maxDamage:
		s.err = nil
	case known:
		s.leap(c.end())
		return true
	case c == nil: // trailing garbage
		s.ended, s.err = true, nil
	}
	return false
}

// leap goes on behind a gap, which ends before blocks that seemed to reach further.
func (s *stretch) leap(to int64) {
	from, n := s.next, len(s.blocks)
	for ; n > 0 && s.blocks[n-1].end > to; n-- {
		from = s.blocks[n-1].offset
	}
	s.blocks = s.blocks[:n]
	c := &s.clusters[len(s.clusters)-1]
	c.to = n
	s.gaps = append(s.gaps, gap{from, to, s.err})
	s.next, s.err = to, nil
}

// nextCluster returns where in b the first Cluster's ID stands that ok accepts, -1
// where there is none.
func nextCluster(b []byte, ok func(at int) bool) int {
	for at := 0; ; at++ {
		i := bytes.Index(b[at:], clusterID)
		if i < 0 {
			return -1
		}
		if at += i; ok(at) {
			return at
		}
	}
}

// within reports whether an element, whose body begins with b, stands in a
// Cluster that ends at end: one that is known there, or else one behind which
// another does or the Cluster ends, as far as that is at hand.
func (l lengths) within(b []byte, e element, end int64) bool {
	if inCluster(e.id) && (e.id != idCRC32 || e.size == 4) || e.end() == end || int64(len(b)) <= e.size {
		return true
	}
	next, err := l.parse(b[e.size:], e.end())
	return err == errShort || err == nil && (inCluster(next.id) || end == maxOffset && isLevel1(next.id))
}

// beside reports whether an element, whose body begins with b, stands between
// Clusters. A few random bytes, too, make a Void.
func (l lengths) beside(b []byte, e element) bool {
	switch {
	case e.size == unknownSize || e.id == idCRC32 && e.size != 4:
		return false
	case e.id != idVoid || int64(len(b)) <= e.size:
		return isLevel1(e.id) || e.id == idVoid || e.id == idCRC32
	}
	next, err := l.parse(b[e.size:], e.end())
	return err == errShort || err == nil && (isLevel1(next.id) || next.id == idVoid || next.id == idCRC32 || next.id == idEBML)
}

// limit is the end of the Segment as far as it is known.
func (m *media) limit() int64 {
	if second := m.next.Load(); second > 0 {
		return second
	}
	if m.overrun.Load() {
		return m.sizeOr(maxOffset)
	}
	return min(m.segment.end(), m.sizeOr(maxOffset))
}

// clusterAt reads a Cluster's header and Timestamp from its first bytes.
func (m *media) clusterAt(b []byte, off int64) (cluster, error) {
	e, err := m.doc.parse(b, off)
	if err != nil {
		return cluster{}, err
	}
	if e.id != idCluster || e.end() > m.segment.end() && e.size != unknownSize && !m.overrun.Load() {
		return cluster{}, errInvalid
	}
	c := cluster{element: e, first: e.body(), to: -1}
	at := e.body()
	for range 8 { // CRC-32, Void and the like may stand before the Timestamp
		if at-off >= int64(len(b)) {
			return c, errShort
		}
		x, err := m.doc.parse(b[at-off:], at)
		if err != nil {
			return c, err
		}
		if x.size == unknownSize || x.end() > e.end() || !inCluster(x.id) {
			return c, errInvalid
		}
		if x.id == idTimestamp {
			if x.size > 8 {
				return c, errInvalid
			}
			if x.end()-off > int64(len(b)) {
				return c, errShort
			}
			c.timestamp, c.timed = m.clampTicks(ticksOf(b[x.body()-off:x.end()-off])), true
			return c, nil
		}
		if x.id == idSimpleBlock || x.id == idBlockGroup {
			return c, errInvalid
		}
		at = x.end()
	}
	return c, errInvalid
}

// links tells of each byte of data whether an element of a cluster could begin
// there that leads, element by element, to the end of data: exactly, or where
// cut is set also over it. It counts the blocks on the way; 0 means no.
//
// EBML cannot be read backwards or from the middle, but a chain of elements that
// are all right and meet a boundary is no accident.
func (m *media) links(data []byte, base int64, cut bool) []int32 {
	n := len(data)
	count := make([]int32, n+1) // 1 more than the number of blocks
	count[n] = 1
	for i := n - 1; i >= 0; i-- { // from the end on, so that each is looked at once
		e, err := m.doc.parse(data[i:], base+int64(i))
		if err != nil || e.size == unknownSize || !inCluster(e.id) {
			continue
		}
		end := e.end() - base
		if end > int64(n) && !cut {
			continue
		}
		rest := count[min(end, int64(n))]
		if rest == 0 {
			continue
		}
		if e.id == idSimpleBlock || e.id == idBlockGroup {
			if e.id == idSimpleBlock && !m.blockOf(data[e.body()-base:min(end, int64(n))]) {
				continue
			}
			rest++
		}
		count[i] = rest
	}
	return count[:n]
}

// blockOf reports whether a block of a known track begins with b.
func (m *media) blockOf(b []byte) bool {
	track, _, _, _, err := parseBlockHeader(b)
	return err == nil && m.byNumber[track] != nil
}

// sureChain is how many blocks in a row are no accident, where a boundary is
// met exactly, and looseChain where it is not.
const (
	sureChain  = 3
	looseChain = 8
)

// before finds the blocks that end exactly where a cluster begins: data ends
// there, and begins somewhere in a cluster. Their times are only known relative
// to each other, so that the cluster's timestamp counts as 0.
func (m *media) before(data []byte, base int64) []block {
	for i, n := range m.links(data, base, false) {
		if n <= sureChain {
			continue
		}
		s := &stretch{next: base + int64(i), clusters: []cluster{{element: element{id: idCluster, head: 1, size: maxOffset}, timed: true, to: -1}}}
		m.walkOn(s, data, base)
		if len(s.blocks) == int(n)-1 && s.err == nil {
			return s.blocks[1:] // a false beginning could have met a true one
		}
	}
	return nil
}

// inside finds where an element begins in data that lies inside a cluster. It
// returns -1 where no chain of blocks leads to the end of data.
func (m *media) inside(c cluster, data []byte, base int64) int64 {
	if end := c.end() - base; end < int64(len(data)) {
		data = data[:max(0, end)]
	}
	for i, n := range m.links(data, base, true) {
		if n <= looseChain {
			continue
		}
		s := m.walkOn(&stretch{next: base + int64(i), clusters: []cluster{c}}, data, base)
		if s.err == nil && len(s.blocks) >= looseChain {
			return base + int64(i)
		}
	}
	return -1
}

// recognized reports whether the bytes from a cluster's beginning on are those
// of a cluster: its first elements, as far as they are at hand, are right, and
// so is what follows it.
func (m *media) recognized(c cluster, b []byte) bool {
	at := c.head
	for range looseChain {
		if at >= int64(len(b)) || c.offset+at >= c.end() {
			break
		}
		e, err := m.doc.parse(b[at:], c.offset+at)
		if err == errShort || err == nil && c.size == unknownSize && isLevel1(e.id) {
			break
		}
		if err != nil || e.size == unknownSize || e.end() > c.end() || !inCluster(e.id) {
			return false
		}
		body := b[min(e.body()-c.offset, int64(len(b))):]
		if e.id == idSimpleBlock && len(body) > maxHeader && !m.blockOf(body[:min(e.size, int64(len(body)))]) {
			return false
		}
		at = e.end() - c.offset
	}
	if end := c.end() - c.offset; end < int64(len(b)) && c.end() < m.limit() {
		next, err := m.doc.parse(b[end:], c.end())
		return err == errShort || err == nil && (isLevel1(next.id) || next.id == idVoid)
	}
	return true
}

func (c cluster) String() string { return fmt.Sprintf("Cluster at byte %d", c.offset) }
