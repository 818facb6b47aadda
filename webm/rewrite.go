package webm

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/mediafrag/mediafrag/seek"
)

// Rewrite changes clusters as they stream: their times, and what would be false
// in a clip. It keeps every length, unless tracks are dropped, and leaves the
// frames untouched.
//
//   - Timestamps of Clusters and of the blocks of single tracks are shifted.
//   - Position, PrevSize and CRC-32 of a Cluster become Void, and so do
//     elements between clusters that describe the original.
//   - Blocks of tracks that are dropped are left out; Clusters then state no
//     size.
type Rewrite struct {
	// Shift is added to the Timestamp of each Cluster, in ticks.
	Shift int64 `json:"shift"`
	// Tracks are those whose blocks change beyond that.
	Tracks []TrackRewrite `json:"tracks,omitempty"`
	// Follow says that a Cluster moves as far as its first block does.
	Follow bool `json:"follow,omitempty"`
	// Within is the Cluster in which the part begins; nil where it begins with
	// an element of the Segment.
	Within *Within `json:"within,omitempty"`
	// IDLength and SizeLength are the file's EBMLMaxIDLength and
	// EBMLMaxSizeLength.
	IDLength   int `json:"id_length"`
	SizeLength int `json:"size_length"`
}

// TrackRewrite says what happens to the blocks of a track.
type TrackRewrite struct {
	Number uint64 `json:"number"`
	// Shift is how many ticks its blocks move beyond their Cluster.
	Shift int64 `json:"shift,omitempty"`
	// From and To are offsets in the part: blocks that begin before From, or at
	// To or later, become Void. To is 0 where there is no end.
	From int64 `json:"from,omitempty"`
	To   int64 `json:"to,omitempty"`
	// Drop leaves all its blocks out.
	Drop bool `json:"drop,omitempty"`
}

// Within is the Cluster in which a part begins.
type Within struct {
	Timestamp int64 `json:"timestamp"` // of the original, in ticks
	Written   int64 `json:"written"`   // the Timestamp that the clip has for it
	Size      int64 `json:"size"`      // bytes of it in the part, -1: to the next Cluster
}

var _ seek.Rewriter = Rewrite{}

// Name returns "webm-clusters".
func (Rewrite) Name() string { return "webm-clusters" }

// Rewrite streams the part from its beginning, for elements can only be told
// from there, and gives what lies at off and later.
func (w Rewrite) Rewrite(ctx context.Context, in seek.Input, off int64) (io.ReadCloser, error) {
	body, err := in.Open(ctx, 0, seek.ToEnd)
	if err != nil {
		return nil, err
	}
	r := &rewriting{Rewrite: w, damaged: in.Damaged, in: bufio.NewReaderSize(body, rewriteBuffer), close: body, lengths: lengths{w.IDLength, w.SizeLength}}
	if r.length = in.Size(); r.length < 0 {
		r.length = maxOffset
	}
	for _, t := range w.Tracks {
		r.drops = r.drops || t.Drop
	}
	if w.Within != nil {
		r.enter(w.Within.Size)
		r.timestamp, r.written, r.timed = w.Within.Timestamp, w.Within.Written, true
	}
	if _, err := io.CopyN(io.Discard, r, off); err != nil {
		body.Close()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return r, nil
}

// rewriteBuffer bounds what is looked at before it is passed on: element
// headers, and a BlockGroup up to its Block's header.
const rewriteBuffer = 64 << 10

// rewriting is a part on its way.
type rewriting struct {
	Rewrite
	lengths
	damaged func(off int64, problem string)
	in      *bufio.Reader
	close   io.Closer
	drops   bool

	pos   int64  // in the part, of what is next in in
	ready []byte // bytes to give first
	pass  int64  // bytes of in to give then
	blank bool   // as zeros

	inside    bool  // a Cluster
	lost      bool  // damage: the next Cluster is looked for
	taken     int64 // where another ends that was found in a Cluster of stated size, 0: there is none
	length    int64 // of the part, far away where it is not known
	stray     bool  // a byte is left out that some header has to take up
	end       int64
	timed     bool
	timestamp int64
	written   int64
	err       error
}

// Close ends the part.
func (r *rewriting) Close() error { return r.close.Close() }

// Read gives the next bytes.
func (r *rewriting) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(r.ready) == 0 && r.pass == 0 {
		if r.err == nil {
			r.err = r.next()
		}
		if r.err != nil && len(r.ready) == 0 && r.pass == 0 {
			return 0, r.err
		}
	}
	if len(r.ready) > 0 {
		n := copy(p, r.ready)
		r.ready = r.ready[n:]
		return n, nil
	}
	n, err := r.in.Read(p[:min(int64(len(p)), r.pass)])
	r.pass -= int64(n)
	r.pos += int64(n)
	if r.blank {
		clear(p[:n])
	}
	if err == io.EOF && r.pass > 0 {
		err = r.wrong("the part ends inside an element")
		r.err = err
	} else if err == io.EOF {
		err = nil
	}
	return n, err
}

func (r *rewriting) wrong(problem string) error {
	return damaged("Segment/Cluster", -1, fmt.Sprintf("%s, %d bytes behind the clip's first byte of media", problem, r.pos))
}

func (r *rewriting) enter(size int64) {
	r.inside, r.timed, r.end, r.taken = true, false, maxOffset, 0
	if size >= 0 {
		r.end = r.pos + size
	}
}

// next handles one element.
func (r *rewriting) next() error {
	if r.inside && r.pos >= r.end {
		r.inside, r.lost = false, false
	}
	if r.lost {
		return r.skipDamage()
	}
	head, err := r.in.Peek(maxHeader)
	switch {
	case len(head) == 0 && err == io.EOF:
		return r.finish()
	case len(head) == 0:
		return err
	}
	e, perr := r.parse(head, r.pos)
	if perr != nil && err != nil && err != io.EOF {
		return err
	}
	if r.inside && perr == nil && isLevel1(e.id) && r.end == maxOffset {
		r.inside = false
	}
	switch {
	case perr == nil && r.inside && r.taken > r.pos && inCluster(e.id) && e.end() > r.end && r.reopen(e):
		return nil
	case perr == nil && r.inside && r.taken > 0 && e.id == idCluster && r.pos+e.head <= r.end:
		return r.takeIn(e)
	case perr != nil || r.inside && (e.size == unknownSize || e.end() > min(r.end, r.length) || isLevel1(e.id)):
		return r.damage()
	case !r.inside:
		return r.segmentChild(e)
	}
	switch e.id {
	case idTimestamp:
		if r.timed && e.size <= 8 {
			return r.laterTime(e)
		}
		return r.clusterTime(e)
	case idPosition, idPrevSize:
		return r.void(e)
	case idCRC32:
		if e.size == 4 {
			return r.void(e)
		}
	case idSimpleBlock, idBlockGroup:
		if r.swallows(e) {
			return r.damage()
		}
		if e.id == idBlockGroup {
			return r.group(e)
		}
		return r.block(e, e.head)
	case idEncryptedBlock:
		return encryptedBlock(-1)
	}
	if !r.within(r.behind(e), e, r.end) {
		return r.damage()
	}
	return r.keep(e.head+e.size, nil)
}

// behind is what is at hand of an element's body and of what follows it.
func (r *rewriting) behind(e element) []byte {
	b, _ := r.in.Peek(int(min(e.head+max(e.size, 0)+maxHeader, rewriteBuffer)))
	return b[min(e.head, int64(len(b))):]
}

// swallows reports whether a block of a Cluster of stated size holds the beginning
// of the next Cluster, as where bytes of it are missing: nothing that is right
// follows it then. Larger ones are not looked at.
func (r *rewriting) swallows(e element) bool {
	total := e.head + e.size
	if r.end == maxOffset || total+clusterHead > rewriteBuffer {
		return false
	}
	b, _ := r.in.Peek(int(total + clusterHead))
	if int64(len(b)) <= total {
		return false
	}
	next, err := r.parse(b[total:], e.end())
	right := err == errShort || err == nil && inCluster(next.id) && next.id != idTimestamp
	if e.end() == r.end {
		right = err == errShort || err == nil && r.beside(nil, next) || beginsSegment(b[total:], 0)
	}
	if right {
		return false
	}
	at := r.nextCluster(b[1:])
	return at >= 0 && int64(at+1) < total
}

// damage goes on as the planner does where it sees damage: at the next Cluster, or
// behind the one that it is in. What is left out becomes Void.
func (r *rewriting) damage() error {
	r.damaged(r.pos, damagedBytes)
	r.inside, r.lost = r.inside && r.end != maxOffset, true
	return r.skipDamage()
}

// skipDamage leaves out what lies before the next Cluster, as far as is at hand.
func (r *rewriting) skipDamage() error {
	want := r.in.Buffered() // what is read already, not to move the rest at each step
	if want < rewriteBuffer/16 {
		want = rewriteBuffer
	}
	b, err := r.in.Peek(want)
	if err != nil && err != io.EOF {
		return err
	}
	n := r.nextCluster(b)
	switch {
	case n >= 0 && r.inside && !r.drops && r.pos+int64(n)+maxHeader > r.end: // its header does not fit in
		n = len(b)
	case n == 0 && r.inside && !r.drops:
		r.lost = false
		e, _ := r.parse(b, r.pos)
		return r.takeIn(e)
	case n == 0:
		r.inside, r.lost = false, false
		return r.next()
	case n > 0:
	case err == nil: // it may begin at the end
		n = len(b) - clusterHead
	case len(b) == 0:
		return r.finish()
	default:
		n = len(b)
	}
	if r.inside {
		n = int(min(int64(n), r.end-r.pos))
	}
	return r.blankOut(int64(n))
}

// takeIn makes what follows the header of a Cluster part of the one that it is in,
// whose stated end lies behind: its blocks then count from that one's Timestamp.
func (r *rewriting) takeIn(e element) error {
	r.taken = e.end()
	return r.void(element{size: e.head})
}

// laterTime notes a Timestamp behind the one that the Cluster has, such as that of
// another which was taken in, and makes it Void.
func (r *rewriting) laterTime(e element) error {
	b, err := r.in.Peek(int(e.head + e.size))
	if err != nil {
		return r.wrong("the part ends inside a Timestamp")
	}
	r.timestamp = ticksOf(b[e.head:])
	return r.void(e)
}

// reopen ends a Cluster where it states that it ends, amid an element of one that was
// taken in, and begins that one anew behind: both in place of the element. It
// reports false where there is too little room.
func (r *rewriting) reopen(e element) bool {
	const width = 8 // of size and Timestamp
	written := max(0, r.timestamp+r.Shift)
	time := appendUintWidth(nil, idTimestamp, uint64(written), width)
	head := appendID(nil, idCluster)
	begin, end := r.end+int64(len(head))+width, int64(maxOffset)
	if r.taken < maxOffset {
		end = r.taken
		head = appendSize(head, end-begin, width)
	} else {
		head = appendUnknownSize(head, width)
	}
	first := append(head, time...)
	before, left := r.end-r.pos, e.end()-r.end-int64(len(first))
	if before == 1 || left < 2 || e.end() > r.length || before > maxStep {
		return false
	}
	if before > 0 {
		void := voidHeader(before)
		first = slices.Concat(void, make([]byte, before-int64(len(void))), first)
	}
	void := voidHeader(left)
	r.damaged(r.pos, "the Cluster's stated end lies in this block of the next, it is left out")
	r.discard(int64(len(first) + len(void)))
	r.ready = append(first, void...)
	r.pass, r.blank = left-int64(len(void)), true
	r.written, r.end, r.taken = written, end, 0
	return true
}

// finish ends the part.
func (r *rewriting) finish() error {
	if r.stray {
		return r.wrong("a single damaged byte stands behind the last element")
	}
	return io.EOF
}

// nextCluster returns where a Cluster begins in b that has its Timestamp among
// its first elements, -1 without one.
func (r *rewriting) nextCluster(b []byte) int {
	m := media{doc: docHeader{lengths: r.lengths}, segment: element{size: unknownSize}, info: segmentInfo{scale: 1}}
	return nextCluster(b, func(at int) bool {
		_, err := m.clusterAt(b[at:], 0)
		return err == nil
	})
}

// blankOut makes n bytes Void. One byte alone cannot be one: the next Cluster's
// header, or an element in it that is written anew, is longer by it.
func (r *rewriting) blankOut(n int64) error {
	if n == 1 && !r.drops {
		r.discard(1)
		r.stray = true
		return nil
	}
	return r.void(element{size: n})
}

// segmentChild handles an element beside clusters.
func (r *rewriting) segmentChild(e element) error {
	switch {
	case e.id == idCluster && r.drops:
		r.discard(e.head)
		r.enter(e.size)
		r.ready = appendUnknownSize(appendID(nil, idCluster), 8)
		return nil
	case e.id == idCluster:
		r.inside, r.timed, r.end, r.taken = true, false, e.end(), 0
		return r.clusterHead(e)
	case e.size != unknownSize && isLevel1(e.id):
		return r.void(e)
	case !r.beside(r.behind(e), e) || e.end() > r.length: // parts end where elements do
		return r.damage()
	}
	return r.keep(e.head+e.size, nil)
}

// clusterHead passes a Cluster's header on, longer by a stray byte: its size, or
// where that is as long as it can be, something in the Cluster.
func (r *rewriting) clusterHead(e element) error {
	head, n := appendID(nil, idCluster), int(e.head)-len(clusterID)
	if !r.stray {
		if r.end > r.length && e.size != unknownSize { // bytes of it are missing
			r.end = max(r.length, e.body())
			return r.keep(e.head, appendSize(head, r.end-e.body(), n))
		}
		return r.keep(e.head, nil)
	}
	switch {
	case n < maxSizeLength:
		r.stray = false
		n++
		if e.size == unknownSize {
			head = appendUnknownSize(head, n)
		} else {
			head = appendSize(head, e.size, n)
		}
	case e.size == unknownSize:
		head = appendUnknownSize(head, n)
	default:
		head = appendSize(head, e.size+1, n)
	}
	r.discard(e.head)
	r.ready = head
	return nil
}

// takeStray is the byte that an element takes up which is written anew.
func (r *rewriting) takeStray() (n int64) {
	if r.stray {
		n, r.stray = 1, false
	}
	return n
}

// keep passes n bytes on, of which the first are replaced by others.
func (r *rewriting) keep(n int64, first []byte) error {
	r.discard(int64(len(first)))
	r.ready = first
	r.pass, r.blank = n-int64(len(first)), false
	return nil
}

// discard leaves out bytes that were peeked at.
func (r *rewriting) discard(n int64) {
	m, _ := r.in.Discard(int(n))
	r.pos += int64(m)
}

// void replaces an element by a Void of the same length, or leaves it out where
// lengths do not count.
func (r *rewriting) void(e element) error {
	total := e.head + e.size
	if r.drops {
		return r.skip(total)
	}
	more := r.takeStray()
	first := voidHeader(total + more)
	replaced := len(first) - int(more)
	if b, _ := r.in.Peek(replaced); len(b) < replaced {
		return r.wrong("the part ends inside an element")
	}
	r.discard(int64(replaced))
	r.ready = first
	r.pass, r.blank = total-int64(replaced), true
	return nil
}

// voidHeader returns the header of a Void that takes n bytes, n ≥ 2.
func voidHeader(n int64) []byte {
	m := 1
	if n-2 >= 1<<7-1 {
		m = 8
	}
	return appendSize([]byte{idVoid}, n-1-int64(m), m)
}

// skip leaves out n bytes.
func (r *rewriting) skip(n int64) error {
	m, err := io.CopyN(io.Discard, r.in, n)
	r.pos += m
	if err == io.EOF {
		return r.wrong("the part ends inside an element")
	}
	return err
}

// clusterTime writes a Cluster's new Timestamp at the width of the old.
func (r *rewriting) clusterTime(e element) error {
	if e.size > 8 {
		return r.damage()
	}
	b, err := r.in.Peek(int(e.head + e.size))
	if err != nil {
		return r.wrong("the part ends inside a Timestamp")
	}
	r.timestamp = ticksOf(b[e.head:])
	r.written = max(0, r.timestamp+r.Shift)
	if r.Follow {
		r.written = max(0, r.written+r.firstShift(e.head+e.size))
	}
	r.timed = true
	r.discard(int64(len(b)))
	width := e.size
	if width < 8 {
		width += r.takeStray()
	}
	if width < 8 { // what does not fit there its blocks move instead
		r.written = min(r.written, 1<<(8*width)-1)
	}
	out := appendSize(appendID(nil, idTimestamp), width, int(e.head)-1)
	for shift := 8 * (width - 1); shift >= 0; shift -= 8 {
		out = append(out, byte(r.written>>shift))
	}
	r.ready = out
	return nil
}

// firstShift is how far the first block moves beyond the Cluster, as far as the
// elements before it show it; at is where what follows the Timestamp begins.
func (r *rewriting) firstShift(at int64) int64 {
	b, _ := r.in.Peek(int(at) + clusterHead)
	for range 4 {
		x, err := r.parse(b[min(at, int64(len(b))):], r.pos+at)
		if err != nil || x.size == unknownSize {
			return 0
		}
		switch x.id {
		case idBlockGroup:
			at += x.head
			continue
		case idSimpleBlock, idBlock:
			track, _, _, _, err := parseBlockHeader(b[min(at+x.head, int64(len(b))):])
			for _, t := range r.Tracks {
				if err == nil && t.Number == track {
					return t.Shift
				}
			}
			return 0
		}
		at += x.head + x.size
	}
	return 0
}

// block handles a SimpleBlock, or a Block whose own header is at bytes into e.
func (r *rewriting) block(e element, at int64) error {
	b, err := r.in.Peek(int(min(at+8+3, e.head+e.size)))
	if err != nil {
		return r.wrong("the part ends inside a block")
	}
	track, rel, _, n, perr := parseBlockHeader(b[at:])
	if perr != nil {
		return r.damage()
	}
	if !r.timed {
		return r.wrong("a block stands before its Cluster's Timestamp")
	}
	move := r.timestamp + r.Shift - r.written
	for _, t := range r.Tracks {
		if t.Number != track {
			continue
		}
		if t.Drop {
			return r.skip(e.head + e.size)
		}
		if e.offset < t.From || t.To > 0 && e.offset >= t.To {
			return r.void(e)
		}
		move += t.Shift
	}
	if move == 0 {
		return r.keep(e.head+e.size, nil)
	}
	b = append([]byte(nil), b...)
	if r.taken > 0 && int64(rel)+move > 1<<15-1 {
		return r.void(e)
	}
	if int64(rel)+move > 1<<15-1 && r.written < r.timestamp+r.Shift {
		return r.wrong("a shifted Timestamp does not fit")
	}
	// Another block that would leave the range of 16 bits stays at its end.
	moved := max(-1<<15, min(int64(rel)+move, 1<<15-1))
	binary.BigEndian.PutUint16(b[int(at)+n-3:], uint16(moved))
	return r.keep(e.head+e.size, b)
}

// group finds the Block in a BlockGroup.
func (r *rewriting) group(e element) error {
	b, err := r.in.Peek(int(min(e.head+e.size, rewriteBuffer)))
	if err != nil {
		return r.wrong("the part ends inside a BlockGroup")
	}
	block := int64(-1) // where the Block's own header is
	for at := e.head; at < e.head+e.size && (block < 0 || at < int64(len(b))); {
		if at >= int64(len(b)) {
			return r.wrong("a BlockGroup has no Block in its first 64 KiB")
		}
		x, err := r.parse(b[at:], e.offset+at)
		if err == errShort && block >= 0 && int64(len(b)) < e.head+e.size {
			break
		}
		if err != nil || x.size == unknownSize || x.end() > e.end() {
			return r.damage()
		}
		if x.id == idBlock && block < 0 {
			block = at + x.head
		}
		at += x.head + x.size
	}
	if block < 0 {
		return r.damage()
	}
	return r.block(e, block)
}
