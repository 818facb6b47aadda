package mp4

import (
	"bytes"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

// userData returns a udta or meta for the clip: all of it, but for what states
// something of the whole that is not true of a part. The priming of iTunSMPB is
// the original's and is dropped; Nero chapters are cut and shifted.
func (c *clip) userData(b box) []byte {
	switch {
	case b.typ == "chpl":
		return c.writeChapters(b)
	case b.typ == "----" && bytes.Contains(b.raw, []byte("iTunSMPB")):
		return nil
	}
	skip := -1
	switch b.typ {
	case "udta", "ilst":
		skip = 0
	case "meta":
		skip = metaFields(b.payload())
	}
	if skip < 0 {
		return b.raw
	}
	w := &builder{}
	whole := true
	w.box(b.typ, func() {
		w.raw(b.payload()[:skip])
		end := skip
		for child, err := range b.childrenAt(skip) {
			if err != nil {
				whole = false
				return
			}
			w.raw(c.userData(child))
			end = int(child.off-b.payloadOff()) + len(child.raw)
		}
		w.raw(b.payload()[end:]) // QuickTime's terminator
	})
	if !whole {
		return b.raw // junk that is not ours to mend
	}
	return w.buf
}

// metaFields returns how many bytes stand before the boxes of a meta: version
// and flags, except in QuickTime.
func metaFields(p []byte) int {
	if len(p) >= 8 && string(p[4:8]) == "hdlr" || len(p) < 4 {
		return 0
	}
	return 4
}

// chapterTick is the unit of chpl: 100 ns.
const chapterTick = 10_000_000

// Lengths in a chpl, in bytes: in front of the entries, and of an entry
// without its title.
const (
	chplFields = 9 // version, flags, 4 reserved, count
	chplEntry  = 9 // start, length of the title
)

// chplEntryAt is one entry of a chpl.
type chplMark struct {
	start int64 // in 100 ns
	title []byte
}

// readChapters reads a chpl, the chapter list that Nero introduced: as many
// entries as are whole.
func readChapters(b box) []chplMark {
	p := b.payload()
	if len(p) < chplFields || p[0] != 1 {
		return nil
	}
	var out []chplMark
	count := int(p[8])
	for p = p[chplFields:]; len(out) < count && len(p) >= chplEntry; {
		n := int(p[8])
		if chplEntry+n > len(p) {
			break
		}
		out = append(out, chplMark{int64(be.Uint64(p) & (1<<62 - 1)), p[chplEntry : chplEntry+n]})
		p = p[chplEntry+n:]
	}
	return out
}

// writeChapters returns the chpl of the clip: the chapters that overlap it,
// the one under way at its beginning from 0 on.
func (c *clip) writeChapters(b box) []byte {
	marks := readChapters(b)
	from, to := c.want.Start.Floor(chapterTick), c.want.End.Ceil(chapterTick)
	var kept []chplMark
	for i, m := range marks {
		if m.start >= to || i+1 < len(marks) && marks[i+1].start <= from {
			continue
		}
		if m.start = max(m.start, from); !c.original {
			m.start -= from
		}
		kept = append(kept, m)
	}
	if len(kept) == 0 {
		return nil
	}
	w := &builder{}
	w.full("chpl", 1, 0, func() {
		w.u32(0)
		w.raw([]byte{byte(len(kept))})
		for _, m := range kept {
			w.u64(uint64(m.start))
			w.raw([]byte{byte(len(m.title))})
			w.raw(m.title)
		}
	})
	return w.buf
}

// readUserData takes the chapters out of a udta.
func (m *movie) readUserData(udta box) {
	chpl, ok, err := udta.child("chpl")
	if err != nil || !ok {
		return
	}
	for _, mark := range readChapters(chpl) {
		m.marks = append(m.marks, chapterMark{fragment.Ticks(mark.start, chapterTick), string(bytes.ToValidUTF8(mark.title, []byte("�")))})
	}
}

// chapterMark is where a chapter begins.
type chapterMark struct {
	start fragment.Time
	title string
}

// listChapters makes chapters of marks: each lasts to the next, the last to
// the end.
func listChapters(marks []chapterMark, end fragment.Time) []formats.Chapter {
	var out []formats.Chapter
	for i, m := range marks {
		until := end
		if i+1 < len(marks) {
			until = marks[i+1].start
		}
		if m.start.Less(until) {
			out = append(out, formats.Chapter{Title: m.title, Interval: fragment.Between(m.start, until)})
		}
	}
	return out
}
