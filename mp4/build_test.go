package mp4_test

import (
	"encoding/binary"
	"math"
)

// The builder of this file writes small MP4 files box by box, for tests of
// layouts that no program at hand writes.

// be is the byte order of a file.
var be = binary.BigEndian

// mkbox writes a box.
func mkbox(typ string, payload ...[]byte) []byte {
	n := 8
	for _, p := range payload {
		n += len(p)
	}
	out := append(be.AppendUint32(make([]byte, 0, n), uint32(n)), typ...)
	for _, p := range payload {
		out = append(out, p...)
	}
	return out
}

// wideBox writes a box with a 64-bit size.
func wideBox(typ string, payload []byte) []byte {
	out := append(be.AppendUint32(nil, 1), typ...)
	return append(be.AppendUint64(out, uint64(16+len(payload))), payload...)
}

// u32 writes numbers of 32 bits.
func u32(values ...uint32) []byte {
	var out []byte
	for _, v := range values {
		out = be.AppendUint32(out, v)
	}
	return out
}

// testTrack is a track to build. Its samples are numbered through: each holds
// its track's ID and number, so that any of them can be told again.
type testTrack struct {
	id        uint32
	handler   string // default "soun"
	timescale uint32 // default 1000
	flags     uint32 // of the tkhd; default enabled
	durations []uint32
	offsets   []int32 // composition offsets
	sync      []uint32
	sizes     []uint32
	perChunk  int // default 4
	edits     []testEdit
	tables    tableForm
	language  uint16
	more      []byte // boxes at the end of the trak
	within    []byte // bytes in each sample that is large enough
	entry     []byte // sample entry
}

type testEdit struct {
	duration, mediaTime int64
	rate                uint32 // 16.16; 0 means 1
	still               bool
}

// tableForm chooses between ways to write the same tables.
type tableForm struct {
	co64, editsV1, mdhdV1 bool
	compact               int // stz2 with so many bits
}

func (t *testTrack) payload(i int) []byte {
	out := make([]byte, t.sizes[i])
	first := byte(int(t.id)*31 + i*7)
	for n := range out {
		out[n] = first + byte(n)
	}
	if len(out) > 8+len(t.within) {
		copy(out[8:], t.within)
	}
	if len(out) >= 8 { // beyond 256 samples, too
		be.PutUint32(out[4:], uint32(i)*2654435761)
	}
	return out
}

// testFile is a file to build.
type testFile struct {
	tracks     []*testTrack
	timescale  uint32 // of the movie; default 600
	moovFirst  bool
	wideMdat   bool
	endlessEnd bool   // the last box has size 0
	brand      string // default "isom"
	udta       []byte
	before     []byte // boxes between ftyp and the rest
	noFtyp     bool
	apart      bool // all samples of a track before those of the next
	expectant  bool // the moov says that fragments may follow
}

// build writes the file.
func (f *testFile) build() []byte {
	if f.timescale == 0 {
		f.timescale = 600
	}
	if f.brand == "" {
		f.brand = "isom"
	}
	var head []byte
	if !f.noFtyp {
		head = mkbox("ftyp", []byte(f.brand), u32(512), []byte(f.brand))
	}
	head = append(head, f.before...)
	media, places := f.media()
	mdatHeader := 8
	if f.wideMdat {
		mdatHeader = 16
	}
	start := int64(len(head) + mdatHeader)
	if f.moovFirst {
		start += int64(len(f.moov(places, 0)))
	}
	moov := f.moov(places, start)
	mdat := mkbox("mdat", media)
	if f.wideMdat {
		mdat = wideBox("mdat", media)
	}
	if f.moovFirst {
		if f.endlessEnd {
			copy(mdat, u32(0))
		}
		return append(append(head, moov...), mdat...)
	}
	if f.endlessEnd {
		copy(moov, u32(0))
	}
	return append(append(head, mdat...), moov...)
}

// media lays the samples out, chunk by chunk in turn, and returns where each
// track's chunks begin.
func (f *testFile) media() (media []byte, places [][]int) {
	places = make([][]int, len(f.tracks))
	next := make([]int, len(f.tracks))
	for more := true; more; {
		more = false
		for n, t := range f.tracks {
			for next[n] < len(t.sizes) {
				places[n] = append(places[n], len(media))
				for range t.chunk() {
					if next[n] < len(t.sizes) {
						media = append(media, t.payload(next[n])...)
						next[n]++
					}
				}
				more = true
				if !f.apart {
					break
				}
			}
		}
	}
	return media, places
}

func (t *testTrack) chunk() int {
	if t.perChunk == 0 {
		return 4
	}
	return t.perChunk
}

func (f *testFile) moov(places [][]int, start int64) []byte {
	mvhd := mkbox("mvhd", u32(0, 0, 0, f.timescale, 0, 0x10000), make([]byte, 12), matrix(), make([]byte, 24), u32(99))
	parts := [][]byte{mvhd}
	for n, t := range f.tracks {
		parts = append(parts, t.trak(places[n], start))
	}
	if f.udta != nil {
		parts = append(parts, mkbox("udta", f.udta))
	}
	if f.expectant {
		parts = append(parts, mkbox("mvex", mkbox("trex", u32(0, 1, 1, 0, 0, 0))))
	}
	return mkbox("moov", parts...)
}

func matrix() []byte { return u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000) }

func (t *testTrack) trak(places []int, start int64) []byte {
	if t.handler == "" {
		t.handler = "soun"
	}
	if t.timescale == 0 {
		t.timescale = 1000
	}
	if t.flags == 0 {
		t.flags = 3
	}
	tkhd := mkbox("tkhd", u32(t.flags, 0, 0, t.id, 0, 0), make([]byte, 16), matrix(), u32(64<<16, 48<<16))
	lang := be.AppendUint16(nil, t.language)
	mdhd := mkbox("mdhd", u32(0, 0, 0, t.timescale, 0), lang, make([]byte, 2))
	if t.tables.mdhdV1 {
		mdhd = mkbox("mdhd", u32(1<<24, 0, 0, 0, 0, t.timescale, 0, 0), lang, make([]byte, 2))
	}
	hdlr := mkbox("hdlr", u32(0, 0), []byte(t.handler), make([]byte, 12), []byte("test\x00"))
	minf := mkbox("minf", mkbox("dinf", mkbox("dref", u32(0, 1), mkbox("url ", u32(1)))), t.stbl(places, start))
	parts := [][]byte{tkhd}
	if t.edits != nil {
		parts = append(parts, mkbox("edts", t.elst()))
	}
	return mkbox("trak", append(parts, mkbox("mdia", mdhd, hdlr, minf), t.more)...)
}

func (t *testTrack) elst() []byte {
	out := u32(0, uint32(len(t.edits)))
	if t.tables.editsV1 {
		out[0] = 1
	}
	for _, e := range t.edits {
		rate := e.rate
		if rate == 0 && !e.still {
			rate = 0x10000
		}
		if t.tables.editsV1 {
			out = be.AppendUint64(be.AppendUint64(out, uint64(e.duration)), uint64(e.mediaTime))
		} else {
			out = append(out, u32(uint32(e.duration), uint32(e.mediaTime))...)
		}
		out = append(out, u32(rate)...)
	}
	return mkbox("elst", out)
}

func (t *testTrack) stbl(places []int, start int64) []byte {
	entry := t.entry
	if entry == nil {
		entry = mkbox("test", make([]byte, 6), []byte{0, 1})
		if t.handler == "vide" {
			entry = mkbox("test", make([]byte, 6), []byte{0, 1}, make([]byte, 70))
		} else if t.handler == "soun" {
			entry = mkbox("test", make([]byte, 6), []byte{0, 1}, make([]byte, 8), []byte{0, 2, 0, 16, 0, 0, 0, 0}, u32(48000<<16))
		}
	}
	parts := [][]byte{mkbox("stsd", u32(0, 1), entry), runBox("stts", 0, t.durations)}
	if t.offsets != nil {
		var raw []uint32
		for _, o := range t.offsets {
			raw = append(raw, uint32(o))
		}
		parts = append(parts, runBox("ctts", 0, raw))
	}
	if t.sync != nil {
		parts = append(parts, mkbox("stss", u32(0, uint32(len(t.sync))), u32(t.sync...)))
	}
	parts = append(parts, t.sizeBox())
	full, rest := len(t.sizes)/t.chunk(), len(t.sizes)%t.chunk()
	var stsc []uint32
	if full > 0 {
		stsc = append(stsc, 1, uint32(t.chunk()), 1)
	}
	if rest > 0 {
		stsc = append(stsc, uint32(full+1), uint32(rest), 1)
	}
	parts = append(parts, mkbox("stsc", u32(0, uint32(len(stsc)/3)), u32(stsc...)))
	offsets := u32(0, uint32(len(places)))
	for _, p := range places {
		if t.tables.co64 {
			offsets = be.AppendUint64(offsets, uint64(start+int64(p)))
		} else {
			offsets = be.AppendUint32(offsets, uint32(start+int64(p)))
		}
	}
	typ := "stco"
	if t.tables.co64 {
		typ = "co64"
	}
	return mkbox("stbl", append(parts, mkbox(typ, offsets))...)
}

func (t *testTrack) sizeBox() []byte {
	n := uint32(len(t.sizes))
	switch t.tables.compact {
	case 4:
		var packed []byte
		for i, s := range t.sizes {
			if i%2 == 0 {
				packed = append(packed, byte(s<<4))
			} else {
				packed[i/2] |= byte(s)
			}
		}
		return mkbox("stz2", u32(0, 4, n), packed)
	case 8:
		var packed []byte
		for _, s := range t.sizes {
			packed = append(packed, byte(s))
		}
		return mkbox("stz2", u32(0, 8, n), packed)
	case 16:
		var packed []byte
		for _, s := range t.sizes {
			packed = be.AppendUint16(packed, uint16(s))
		}
		return mkbox("stz2", u32(0, 16, n), packed)
	}
	return mkbox("stsz", u32(0, 0, n), u32(t.sizes...))
}

// runBox writes a table of runs.
func runBox(typ string, version uint32, values []uint32) []byte {
	var runs []uint32
	for _, v := range values {
		if n := len(runs); n > 0 && runs[n-1] == v {
			runs[n-2]++
			continue
		}
		runs = append(runs, 1, v)
	}
	return mkbox(typ, u32(version<<24, uint32(len(runs)/2)), u32(runs...))
}

// repeat returns n times v.
func repeat[T any](v T, n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// sizesUpTo returns n sizes between 1 and most.
func sizesUpTo(most, n int) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = uint32(1 + int(math.Abs(float64(i*37)))%most)
	}
	return out
}
