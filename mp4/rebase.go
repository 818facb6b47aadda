package mp4

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"

	"github.com/mediafrag/mediafrag/seek"
)

// Rebase is a [seek.Rewriter] of a stretch of fragments: it moves their decode
// times, renumbers their tracks and takes out of their description the tracks
// that it does not name. Segment indices and random access tables in the
// stretch, which would mislead, become free space. Every byte keeps its place.
type Rebase struct {
	Tracks []RebasedTrack
	// Moved is how many bytes later the stretch stands in the clip than in its
	// resource, for fragments that place their data absolutely.
	Moved int64
	// Number is the sequence number of the first fragment; 0 leaves all.
	Number uint32
}

// RebasedTrack is what becomes of one track.
type RebasedTrack struct {
	From, To uint32 // track IDs in the resource and in the clip
	Delta    int64  // added to decode times, in the track's timescale
	// Timescale is how many ticks a second has, where the Input is to be told of
	// gaps; 0: it is not. Duration, in ticks, is that of samples without one of
	// their own.
	Timescale int64
	Duration  uint32
	// After is the decode time in the resource at which the samples before the
	// stretch end, Until that at which those behind it begin; 0: not known.
	After, Until int64
}

var _ seek.Rewriter = Rebase{}

// Name returns "mp4-rebase".
func (Rebase) Name() string { return "mp4-rebase" }

// Rewrite returns the new bytes from off on. For an off beyond 0 it reads the
// headers of the boxes before it, one by one.
func (r Rebase) Rewrite(ctx context.Context, in seek.Input, off int64) (io.ReadCloser, error) {
	at := int64(0)
	number := r.Number
	for at < off {
		head, err := readInput(ctx, in, at, headerBytes)
		if err != nil {
			return nil, err
		}
		typ, _, size, ok := readHeader(head)
		if !ok || size == 0 {
			return nil, damaged(printable(typ), -1, "box size smaller than its header, %d bytes into a stretch of fragments", at)
		}
		if size == -1 || at+size > off || at+size < at {
			break
		}
		if typ == "moof" && number > 0 {
			number++
		}
		at += size
	}
	body, err := in.Open(ctx, at, seek.ToEnd)
	if err != nil {
		return nil, err
	}
	out := &rebased{Rebase: r, body: body, number: number, at: at, size: in.Size(), damaged: in.Damaged}
	if at == 0 {
		out.begin()
	}
	if _, err := io.CopyN(io.Discard, out, off-at); err != nil {
		body.Close()
		return nil, err
	}
	return out, nil
}

// apply returns the new bytes of a stretch that is in memory.
func (r Rebase) apply(stretch []byte) ([]byte, error) {
	return io.ReadAll(&rebased{Rebase: r, body: io.NopCloser(bytes.NewReader(stretch)), number: r.Number})
}

// readInput reads at most n bytes of an input.
func readInput(ctx context.Context, in seek.Input, at, n int64) ([]byte, error) {
	if size := in.Size(); size >= 0 {
		n = min(n, size-at)
	}
	body, err := in.Open(ctx, at, n)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// rebased is the new bytes of a stretch of fragments.
type rebased struct {
	Rebase
	body   io.ReadCloser
	number uint32
	ready  []byte // rewritten, not yet read
	pass   int64  // bytes that follow and stay as they are; -1: all

	at      int64                           // where the next box begins in the stretch
	size    int64                           // of the stretch; -1: not known
	ends    map[uint32]int64                // decode times at which the tracks end so far
	damaged func(off int64, problem string) // nil: nobody is told
}

func (r *rebased) Close() error { return r.body.Close() }

func (r *rebased) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(r.ready) == 0 && r.pass == 0 {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	if len(r.ready) > 0 {
		n := copy(p, r.ready)
		r.ready = r.ready[n:]
		return n, nil
	}
	if r.pass > 0 {
		p = p[:min(int64(len(p)), r.pass)]
	}
	n, err := r.body.Read(p)
	if r.pass > 0 {
		r.pass -= int64(n)
	}
	return n, err
}

// next reads the next box: its header, or all of a moof.
func (r *rebased) next() error {
	head := make([]byte, headerBytes)
	n, err := io.ReadFull(r.body, head)
	head = head[:n]
	if err == io.ErrUnexpectedEOF && n >= 8 {
		err = nil
	}
	if err != nil {
		r.ready, r.pass = head, -1
		if n > 0 { // less than a header at the end
			return nil
		}
		return err
	}
	typ, header, size, ok := readHeader(head)
	switch {
	case !ok || size == 0:
		return damaged(printable(typ), -1, "box size smaller than its header in a stretch of fragments")
	case size == -1:
		r.ready, r.pass = head, -1
		return nil
	case typ == "moof":
		return r.nextMoof(head, header, size)
	}
	switch typ {
	case "sidx", "ssix", "mfra":
		copy(head[4:], "free")
	}
	if size < int64(n) { // a box of 8 bytes, and the beginning of the next
		r.body = joined{io.MultiReader(bytes.NewReader(head[size:]), r.body), r.body}
		head = head[:size]
	}
	r.ready, r.pass = head, size-int64(len(head))
	r.went(size)
	return nil
}

type joined struct {
	io.Reader
	io.Closer
}

func (r *rebased) nextMoof(head []byte, header int, size int64) error {
	if size > maxMoof || size < int64(len(head)) {
		return damaged("moof", -1, "%d bytes long", size)
	}
	raw := make([]byte, size)
	copy(raw, head)
	if _, err := io.ReadFull(r.body, raw[len(head):]); err != nil {
		return fmt.Errorf("reading a moof of %d bytes: %w", size, err)
	}
	if err := r.rewrite(box{typ: "moof", off: -1 << 40, header: header, raw: raw, path: "moof"}); err != nil {
		return err
	}
	r.ready, r.pass = raw, 0
	r.went(size)
	return nil
}

// begin notes when the tracks end that go on in the stretch.
func (r *rebased) begin() {
	r.ends = map[uint32]int64{}
	for _, t := range r.Tracks {
		if t.After > 0 {
			r.ends[t.From] = t.After
		}
	}
}

// went goes on behind a box. At the end of the stretch it tells of tracks of which
// what follows begins much later.
func (r *rebased) went(size int64) {
	if r.at += size; r.at != r.size {
		return
	}
	for i, t := range r.Tracks {
		if t.Until > 0 {
			r.goesOn(&r.Tracks[i], t.Until)
		}
	}
}

// goesOn tells where a track goes on much later than it ended before.
func (r *rebased) goesOn(track *RebasedTrack, decode int64) {
	end, ok := r.ends[track.From]
	if ok && track.Timescale > 0 && r.damaged != nil && float64(decode-end) >= longGap*float64(track.Timescale) {
		r.damaged(r.at, fmt.Sprintf("track %d has nothing for %.3f s before this fragment", track.From, float64(decode-end)/float64(track.Timescale)))
	}
}

// checkGap tells where a fragment begins much later than the one before it ended.
func (r *rebased) checkGap(traf box, track *RebasedTrack) {
	t := trackFragment{box: traf, decode: -1}
	defaults := map[uint32]fragmentDefaults{track.From: {duration: track.Duration}}
	if _, err := t.read(1<<40, 1<<40, defaults); err != nil || t.decode < 0 || track.Timescale == 0 || r.damaged == nil {
		delete(r.ends, track.From)
		return // what cannot be read is told of where it matters
	}
	r.goesOn(track, t.decode)
	if r.ends == nil {
		r.ends = map[uint32]int64{}
	}
	r.ends[track.From] = t.decode + t.duration()
}

// rewrite changes a moof in place.
func (r *rebased) rewrite(moof box) error {
	for c, err := range moof.children() {
		if err != nil {
			return err
		}
		switch c.typ {
		case "mfhd":
			if p := c.payload(); len(p) >= 8 && r.number > 0 {
				be.PutUint32(p[4:], r.number)
				r.number++
			}
		case "traf":
			if err := r.rewriteTraf(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *rebased) rewriteTraf(traf box) error {
	head, ok, err := traf.child("tfhd")
	if err != nil {
		return err
	}
	p := head.payload()
	if !ok || len(p) < 8 {
		return traf.damaged(0, "no tfhd")
	}
	flags := be.Uint32(p)
	var to *RebasedTrack
	for i := range r.Tracks {
		if r.Tracks[i].From == be.Uint32(p[4:]) {
			to = &r.Tracks[i]
		}
	}
	if to == nil {
		copy(traf.raw[4:], "free")
		return nil
	}
	r.checkGap(traf, to)
	be.PutUint32(p[4:], to.To)
	if flags&tfhdBaseOffset != 0 && len(p) >= 16 {
		be.PutUint64(p[8:], be.Uint64(p[8:])+uint64(r.Moved))
	}
	tfdt, ok, err := traf.child("tfdt")
	if err != nil {
		return err
	}
	if !ok {
		return traf.stateTime(to.Delta)
	}
	decode, err := readDecodeTime(tfdt)
	if err != nil {
		return err
	}
	decode = max(0, decode+to.Delta)
	if p = tfdt.payload(); p[0] == 1 {
		be.PutUint64(p[4:], uint64(decode))
	} else if decode <= math.MaxUint32 {
		be.PutUint32(p[4:], uint32(decode))
	} else {
		return tfdt.damaged(4, "a decode time that does not fit")
	}
	return nil
}

// stateTime gives a traf that has a tfxd a tfdt instead, moved by so much: it
// takes up the same bytes, but players know it. It stands before the samples
// (ISO/IEC 14496-12 section 8.8.12), what is left over at the end. A traf without
// either, or whose boxes must not move because others point into them, stays as
// it is.
func (b box) stateTime(delta int64) error {
	t := trackFragment{box: b, decode: -1}
	if _, err := t.read(1<<40, 1<<40, nil); err != nil || t.decode < 0 {
		return err
	}
	var head, rest builder
	left := 0
	for c, err := range b.children() {
		switch {
		case err != nil:
			return err
		case c.typ == "saio":
			return nil
		case c.typ == "tfhd":
			head.raw(c.raw)
			head.full("tfdt", 1, 0, func() { head.u64(uint64(max(0, t.decode+delta))) })
		case left == 0 && isAbsoluteTime(c):
			left = len(c.raw)
		default:
			rest.raw(c.raw)
		}
	}
	const tfdt = 20
	rest.box("free", func() { rest.raw(make([]byte, left-tfdt-8)) })
	copy(b.payload(), append(head.buf, rest.buf...))
	return nil
}
