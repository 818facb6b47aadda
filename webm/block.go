package webm

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Flags of a block (RFC 9559 section 10.1 and 10.2).
const (
	flagKey       = 0x80 // SimpleBlock only
	flagInvisible = 0x08
)

var errBlock = errors.New("block header cut off")

// block is one SimpleBlock or BlockGroup.
type block struct {
	offset, end int64 // of the whole element
	header      int64 // where the block's own header (its track number) begins

	track    uint64
	rel      int16 // ticks after the cluster's timestamp
	ts       int64 // ticks, the sum
	flags    byte
	key      bool
	payload  []byte // behind the flags; nil where it is not wholly at hand
	group    bool
	duration int64  // BlockDuration in ticks, -1: none
	discard  int64  // DiscardPadding in ns
	extra    []byte // the other elements of a BlockGroup, as they are
}

// parseBlockHeader reads track number, relative timestamp and flags, n bytes.
func parseBlockHeader(b []byte) (track uint64, rel int16, flags byte, n int, err error) {
	track, n, err = parseVint(b, 8)
	switch {
	case err != nil:
		return 0, 0, 0, 0, err
	case len(b) < n+3:
		return 0, 0, 0, 0, errBlock
	}
	return track, int16(binary.BigEndian.Uint16(b[n:])), b[n+2], n + 3, nil
}

// parseSimpleBlock reads a SimpleBlock of which b are the first bytes of the
// body, perhaps not all.
func parseSimpleBlock(e element, b []byte, cluster int64) (block, error) {
	if e.size >= 0 {
		b = b[:min(int64(len(b)), e.size)] // a header that is longer is none
	}
	track, rel, flags, n, err := parseBlockHeader(b)
	if err != nil {
		return block{}, err
	}
	bl := block{
		offset: e.offset, end: e.end(), header: e.body(),
		track: track, rel: rel, ts: cluster + int64(rel), flags: flags, key: flags&flagKey != 0, duration: -1,
	}
	if int64(len(b)) >= e.size {
		bl.payload = b[n:len(b):len(b)]
	}
	return bl, nil
}

// parseBlockGroup reads a BlockGroup whose body is b, all of it.
func parseBlockGroup(l lengths, e element, b []byte, cluster int64) (block, error) {
	bl := block{offset: e.offset, end: e.end(), group: true, key: true, duration: -1}
	found := false
	c := children{lengths: l, data: b, base: e.body(), path: "Segment/Cluster/BlockGroup"}
	for {
		child, body, ok, err := c.next()
		switch {
		case err != nil:
			return block{}, err
		case !ok && !found:
			return block{}, damaged(c.path, e.offset, "no Block in it")
		case !ok:
			return bl, nil
		}
		switch child.id {
		case idBlock:
			track, rel, flags, n, err := parseBlockHeader(body)
			if err != nil {
				return block{}, damaged(c.path+"/Block", child.offset, err.Error())
			}
			found = true
			bl.header, bl.payload = child.body(), body[n:]
			bl.track, bl.rel, bl.ts, bl.flags = track, rel, cluster+int64(rel), flags
			continue
		case idBlockDuration:
			bl.duration = ticksOf(body)
			continue
		case idDiscardPadding:
			bl.discard = intOf(body)
			continue
		case idReferenceBlock:
			bl.key = false
		}
		from := child.offset - c.base
		bl.extra = append(bl.extra, b[from:from+child.head+child.size]...)
	}
}

// frames returns the block's frames.
func (b *block) frames(path string) ([][]byte, error) {
	f, err := unlace(b.flags, b.payload)
	if err != nil {
		return nil, damaged(path, b.offset, err.Error())
	}
	return f, nil
}

// frame is one frame of a clip that is written anew, as a block of its own.
type frame struct {
	track    uint64
	ts       int64 // ticks in the clip
	ns       int64 // presented, on the original's clock
	data     []byte
	key      bool
	flags    byte  // invisible, discardable
	duration int64 // BlockDuration in ticks, -1: none
	discard  int64 // DiscardPadding in ns, 0: none
	extra    []byte
}

// append appends the frame to a cluster of the given timestamp: a SimpleBlock
// where that can say everything, else a BlockGroup.
func (f *frame) append(b []byte, cluster int64) ([]byte, error) {
	rel := f.ts - cluster
	if rel != int64(int16(rel)) {
		return nil, fmt.Errorf("webm: a block at %d ticks does not fit a cluster at %d", f.ts, cluster)
	}
	body := appendSize(nil, int64(f.track), sizeLength(int64(f.track)))
	body = binary.BigEndian.AppendUint16(body, uint16(rel))
	flags := f.flags & (flagInvisible | 0x01)
	if f.discard == 0 && f.duration < 0 && len(f.extra) == 0 {
		if f.key {
			flags |= flagKey
		}
		return appendElement(b, idSimpleBlock, append(append(body, flags), f.data...)), nil
	}
	group := appendElement(nil, idBlock, append(append(body, flags&flagInvisible), f.data...))
	if f.duration >= 0 {
		group = appendUint(group, idBlockDuration, uint64(f.duration))
	}
	group = append(group, f.extra...)
	if f.discard != 0 {
		group = appendInt(group, idDiscardPadding, f.discard)
	}
	return appendElement(b, idBlockGroup, group), nil
}
