package webm

import "fmt"

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
	next     int64     // where the walk stands
	ended    bool      // nothing follows: the Segment or the file ends at next
	err      error     // what is wrong at next
}

// walk goes over clusters and their blocks from an offset at which an element
// of the Segment begins, as far as data reaches. A block of which only the
// header is at hand is the last.
func (m *media) walk(data []byte, base, from int64) *stretch {
	return m.walkOn(&stretch{next: from}, data, base)
}

// walkOn goes on from where a walk stands.
func (m *media) walkOn(s *stretch, data []byte, base int64) *stretch {
	limit := m.limit()
	for s.next < limit && !s.ended && s.err == nil {
		if s.next-base >= int64(len(data)) {
			return s
		}
		e, err := m.doc.parse(data[s.next-base:], s.next)
		if err == errShort && base+int64(len(data)) < limit {
			return s
		}
		if err != nil {
			s.err = damaged("Segment/Cluster", s.next, err.Error())
			break
		}
		if !m.step(s, e, data[min(int64(len(data)), e.body()-base):]) {
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
		return m.stepSegment(s, e)
	}
	if e.size == unknownSize || e.end() > c.end() {
		s.err = damaged("Segment/Cluster/"+e.String(), e.offset, "it runs over the end of the Cluster")
		return true
	}
	switch e.id {
	case idTimestamp:
		if int64(len(b)) < e.size {
			return false
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
	}
	s.next = e.end()
	return true
}

func encryptedBlock(off int64) error {
	return unsupported("Segment/Cluster/EncryptedBlock", off, "an EncryptedBlock cannot be cut: its times are encrypted", "decrypt the file first")
}

// stepSegment handles an element between clusters.
func (m *media) stepSegment(s *stretch, e element) bool {
	switch {
	case e.id == idCluster:
		s.clusters = append(s.clusters, cluster{element: e, first: e.body(), from: len(s.blocks), to: -1})
		s.next = e.body()
	case e.size == unknownSize || !isLevel1(e.id) && e.id != idVoid && e.id != idCRC32:
		s.ended = true // trailing garbage, or the next Segment
	default:
		s.others = append(s.others, e)
		s.next = e.end()
	}
	return true
}

// limit is the end of the Segment as far as it is known.
func (m *media) limit() int64 { return min(m.segment.end(), m.sizeOr(maxOffset)) }

// clusterAt reads a Cluster's header and Timestamp from its first bytes.
func (m *media) clusterAt(b []byte, off int64) (cluster, error) {
	e, err := m.doc.parse(b, off)
	if err != nil {
		return cluster{}, err
	}
	if e.id != idCluster || e.end() > m.segment.end() && e.size != unknownSize {
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

// before finds the blocks that end exactly where a cluster begins: data ends
// there, and begins somewhere in a cluster. EBML cannot be read backwards, but
// a chain of elements that are all right and meet the boundary is no accident.
// Their times are only known relative to each other, so that the cluster's
// timestamp counts as 0.
func (m *media) before(data []byte, base int64) []block {
	for i := range data {
		if blocks := m.chainTo(data, base, i); len(blocks) >= 3 {
			return blocks[1:] // a false beginning could have met a true one
		}
	}
	return nil
}

// chainTo returns the blocks from data[i] on if elements of a cluster follow
// each other to the end of data.
func (m *media) chainTo(data []byte, base int64, i int) (blocks []block) {
	for pos := i; pos < len(data); {
		e, err := m.doc.parse(data[pos:], base+int64(pos))
		if err != nil || e.size == unknownSize || !inCluster(e.id) || e.end() > base+int64(len(data)) {
			return nil
		}
		body := data[e.body()-base : e.end()-base]
		var bl block
		switch e.id {
		case idSimpleBlock:
			bl, err = parseSimpleBlock(e, body, 0)
		case idBlockGroup:
			bl, err = parseBlockGroup(m.doc.lengths, e, body, 0)
		}
		if err != nil {
			return nil
		}
		if bl.track != 0 {
			if m.byNumber[bl.track] == nil {
				return nil
			}
			blocks = append(blocks, bl)
		}
		pos = int(e.end() - base)
	}
	return blocks
}

// inside finds where an element begins in data that lies inside a cluster:
// where a chain of elements that are all right reaches the end of data or of
// the cluster. It returns -1 where there is none.
func (m *media) inside(c cluster, data []byte, base int64) int64 {
	for i := range data {
		s := m.walkOn(&stretch{next: base + int64(i), clusters: []cluster{c}}, data, base)
		if s.err != nil || len(s.blocks) < sureChain {
			continue
		}
		ok := true
		for _, b := range s.blocks {
			ok = ok && m.byNumber[b.track] != nil
		}
		if ok {
			return base + int64(i)
		}
	}
	return -1
}

// sureChain is how many blocks in a row are no accident.
const sureChain = 8

// recognized reports whether the bytes from a cluster's beginning on are those
// of a cluster: what follows its Timestamp, as far as it is at hand, is right.
func (m *media) recognized(c cluster, b []byte) bool {
	s := m.walk(b, c.offset, c.offset)
	if s.err != nil || len(s.clusters) == 0 {
		return false
	}
	for _, bl := range s.blocks[:min(len(s.blocks), 8)] {
		if m.byNumber[bl.track] == nil {
			return false
		}
	}
	return true
}

func (c cluster) String() string { return fmt.Sprintf("Cluster at byte %d", c.offset) }
