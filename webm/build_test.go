package webm_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
)

// What follows writes Matroska files for tests, in every layout that the format
// allows, and shares nothing with the package.

func id(v uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, v)
	return bytes.TrimLeft(b, "\x00")
}

// size writes a data size of n bytes, 0 for the shortest; -1 is unknown.
func size(v int64, n int) []byte {
	if v < 0 {
		n = max(n, 1)
		v = 1<<(7*n) - 1
	}
	if n == 0 {
		for n = 1; v >= 1<<(7*n)-1; n++ {
		}
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(v)|1<<(7*n))
	return b[8-n:]
}

func el(v uint32, bodies ...[]byte) []byte {
	n := 0
	for _, b := range bodies {
		n += len(b)
	}
	return slices.Concat(append([][]byte{id(v), size(int64(n), 0)}, bodies...)...)
}

func num(v uint32, n uint64) []byte {
	b := bytes.TrimLeft(binary.BigEndian.AppendUint64(nil, n), "\x00")
	return el(v, b)
}

func fixed(v uint32, n uint64) []byte { return el(v, binary.BigEndian.AppendUint64(nil, n)) }

func float(v uint32, f float64) []byte {
	return el(v, binary.BigEndian.AppendUint64(nil, math.Float64bits(f)))
}

func void(n int) []byte { return slices.Concat([]byte{0xEC}, size(int64(n-9), 8), make([]byte, n-9)) }

// film describes a file of VP8 pictures and Opus sound.
type film struct {
	seconds int
	gop     int // pictures between keyframes, at 25 a second; default 50
	cluster int // pictures in a Cluster; default gop
	bytes   int // of a picture; default 2000
	scale   int64

	segmentSize, clusterSize int  // lengths of unknown sizes; 0: known
	longSizes                bool // sizes of 8 bytes
	midKey                   bool // clusters begin 5 pictures before a keyframe
	crc, voids, positions    bool
	twice                    bool // the Timestamp of each Cluster
	laced                    bool // sound in blocks of 4 frames
	laces                    int  // or of so many
	groups                   bool // BlockGroups
	negative                 bool // times of blocks count from the last of the cluster
	noDuration               bool
	start                    int64 // ms
	soundless, pictureless   bool
	extra                    func(cluster int) []byte // at the beginning of each
	second                   int                      // pictures between keyframes of a second track of them, which begin amid those of the first; 0: none
	coded                    []byte                   // ContentEncodings of the pictures
	bitmap                   []byte                   // a VobSub subtitle at 6 s, for 3 s

	front func(f *written) []byte // after Tracks
	end   func(f *written) []byte // after the clusters
	cues  func(points []point) []point
	index string // "front", "end", "none"; default "end"
	tell  uint32 // the ID under which the SeekHead tells of end
	date  int64  // DateUTC, 0: none
	heads string // SeekHead: "one", "none", "two", "chain", "lying"; default "one"
	after []byte // trailing garbage
	order []string
}

type point struct {
	time, cluster, relative int64
	track                   int
}

// written is a film and where things are in it.
type written struct {
	film
	data     []byte
	points   []point
	clusters []int64
	pictures []shot
	sounds   []shot
	placed   map[string]int64
	keys     []int64 // when the first keyframe of each cluster that has one is
	bitmapAt int64   // in the body of its cluster
}

// shot is a frame, its time in ms.
type shot struct {
	at    int64
	key   bool
	frame []byte
}

func (f film) ticks(ms int64) int64 {
	if f.scale == 0 {
		return ms
	}
	return ms * 1e6 / f.scale
}

// content fills frames with bytes that are the same in every run.
func content(kind byte, i, n int) []byte {
	r := rand.New(rand.NewPCG(uint64(kind), uint64(i)))
	b := make([]byte, n)
	for j := 0; j+8 <= n; j += 8 {
		binary.LittleEndian.PutUint64(b[j:], r.Uint64())
	}
	return b
}

func (f film) write() *written {
	if f.gop == 0 {
		f.gop = 50
	}
	if f.bytes == 0 {
		f.bytes = 2000
	}
	if f.cluster == 0 {
		f.cluster = f.gop
	}
	w := &written{film: f}
	for i := range f.seconds * 25 {
		b := content('v', i, f.bytes)
		if i%f.gop == 0 {
			b = content('v', i, 4*f.bytes)
		}
		b[0] = b[0]&^1 | byte(min(i%f.gop, 1))
		w.pictures = append(w.pictures, shot{f.start + int64(i)*40, i%f.gop == 0, b})
	}
	for i := range f.seconds * 50 {
		b := content('a', i, 160)
		b[0] = 31 << 3 // CELT, 20 ms, one frame
		w.sounds = append(w.sounds, shot{f.start + int64(i)*20, true, b})
	}
	if f.soundless {
		w.sounds = nil
	}
	if f.pictureless {
		w.pictures = nil
	}

	clusters, relative := w.clustersData()
	header := el(0x1A45DFA3, num(0x4286, 1), num(0x42F7, 1), num(0x42F2, 4), num(0x42F3, 8), el(0x4282, []byte("matroska")), num(0x4287, 4), num(0x4285, 2))
	if f.voids {
		header = append(header, void(30)...)
	}
	info := []byte{}
	scale := f.scale
	if scale == 0 {
		scale = 1e6
	}
	info = append(info, num(0x2AD7B1, uint64(scale))...)
	if !f.noDuration {
		info = append(info, float(0x4489, float64(f.ticks(int64(f.seconds)*1000)))...)
	}
	if f.date != 0 {
		info = append(info, fixed(0x4461, uint64(f.date))...)
	}
	info = append(info, el(0x4D80, []byte("test libmatroska"))...)
	info = append(info, el(0x5741, []byte("test"))...)
	parts := map[string][]byte{"info": el(0x1549A966, info), "tracks": w.tracks()}
	if f.voids || f.crc {
		parts["tracks"] = el(0x1654AE6B, el(0xBF, []byte{1, 2, 3, 4}), parts["tracks"][headLen(parts["tracks"]):], void(20))
	}

	// Offsets depend on what stands before: lay out twice.
	for range 3 {
		w.layout(header, parts, clusters, relative)
	}
	return w
}

// headLen is the length of the header of an element with a 4-byte ID.
func headLen(b []byte) int {
	n := 1
	for b[4]&(0x80>>(n-1)) == 0 {
		n++
	}
	return 4 + n
}

func (w *written) layout(header []byte, parts map[string][]byte, clusters [][]byte, relative []int64) {
	f := w.film
	sizeLen := 8
	segmentHead := slices.Concat(id(0x18538067), size(0, 8))
	base := int64(len(header) + len(segmentHead))
	places := map[string]int64{}
	room := 1 << 20 // and what else there is
	for _, c := range clusters {
		room += len(c)
	}
	body := make([]byte, 0, room)
	add := func(name string, b []byte) {
		if len(b) > 0 {
			if _, ok := places[name]; !ok {
				places[name] = int64(len(body))
			}
			body = append(body, b...)
		}
	}
	points := slices.Clone(w.points)
	if f.cues != nil {
		points = f.cues(points)
	}
	order := f.order
	if order == nil {
		order = []string{"head", "void", "info", "tracks", "front", "cues-front", "clusters", "cues-end", "end"}
	}
	for _, name := range order {
		switch name {
		case "head":
			add(name, w.seekHead())
		case "void":
			if f.voids || f.heads == "chain" {
				add(name, void(40))
			}
		case "info", "tracks":
			add(name, parts[name])
		case "front":
			if f.front != nil {
				add(name, f.front(w))
			}
		case "end":
			if f.end != nil {
				add(name, f.end(w))
			}
			if f.order == nil && (f.heads == "two" || f.heads == "chain") {
				add("head2", w.secondHead())
			}
		case "head2":
			add(name, w.secondHead())
		case "cues-front", "cues-end":
			if f.index == name[5:] || f.index == "" && name == "cues-end" {
				add("cues", cuesOf(points))
			}
		case "clusters":
			w.points, w.clusters = nil, nil
			for i, c := range clusters {
				if f.voids {
					add("", void(25))
				}
				at := int64(len(body))
				w.clusters = append(w.clusters, base+at)
				add("cluster", c)
				if f.bitmap != nil && i == 3 {
					w.points = append(w.points, point{6000, at, w.bitmapAt, 3})
				}
				if relative[i] >= 0 && len(w.pictures) > 0 {
					w.points = append(w.points, point{f.ticks(w.keys[i]), at, relative[i], 1})
				} else if len(w.pictures) == 0 {
					w.points = append(w.points, point{f.ticks(w.sounds[i*100].at), at, -1, 2})
				}
			}
		}
	}
	w.placed = places
	total := int64(len(body))
	if f.segmentSize > 0 {
		total, sizeLen = -1, f.segmentSize
		base += int64(sizeLen) - 8
	}
	w.data = slices.Concat(header, id(0x18538067), size(total, sizeLen), body, f.after)
}

func cuesOf(points []point) []byte {
	var b []byte
	for _, p := range points {
		at := slices.Concat(num(0xF7, uint64(p.track)), fixed(0xF1, uint64(p.cluster)))
		if p.relative >= 0 {
			at = append(at, num(0xF0, uint64(p.relative))...)
		}
		if p.track == 3 {
			at = append(at, num(0xB2, 3000)...)
		}
		b = append(b, el(0xBB, num(0xB3, uint64(p.time)), el(0xB7, at))...)
	}
	return el(0x1C53BB6B, b)
}

func seekTo(v uint32, at int64) []byte {
	return el(0x4DBB, el(0x53AB, id(v)), fixed(0x53AC, uint64(at)))
}

func (w *written) seekHead() []byte {
	p := w.placed
	all := slices.Concat(seekTo(0x1549A966, p["info"]), seekTo(0x1654AE6B, p["tracks"]))
	cues := seekTo(0x1C53BB6B, p["cues"])
	switch w.heads {
	case "none":
		return nil
	case "chain", "two":
		all = append(all, seekTo(0x114D9B74, p["head2"])...)
	case "lying":
		all = append(slices.Concat(seekTo(0x1C53BB6B, p["info"]+3), seekTo(0x1C53BB6B, 1<<50), seekTo(0x1043A770, p["tracks"])), all...)
		cues = nil
	}
	if w.tell != 0 {
		all = append(all, seekTo(w.tell, p["end"])...)
	}
	if w.heads != "chain" && w.index != "none" {
		all = append(all, cues...)
	}
	return el(0x114D9B74, all)
}

func (w *written) secondHead() []byte {
	return el(0x114D9B74, seekTo(0x1C53BB6B, w.placed["cues"]))
}

func (w *written) tracks() []byte {
	var b []byte
	if !w.pictureless {
		b = append(b, el(0xAE, num(0xD7, 1), num(0x73C5, 11), num(0x83, 1), el(0x86, []byte("V_VP8")), num(0x23E383, 40e6),
			el(0xE0, num(0xB0, 320), num(0xBA, 240)), w.coded)...)
	}
	if !w.soundless {
		head := append([]byte("OpusHead\x01\x01"), 0, 0, 0x80, 0xBB, 0, 0, 0, 0, 0)
		b = append(b, el(0xAE, num(0xD7, 2), num(0x73C5, 12), num(0x83, 2), el(0x86, []byte("A_OPUS")), el(0x63A2, head),
			num(0x56BB, 80e6), el(0x536E, []byte("Sound")), el(0xE1, float(0xB5, 48000), num(0x9F, 1)))...)
	}
	if w.second > 0 {
		b = append(b, el(0xAE, num(0xD7, 3), num(0x73C5, 14), num(0x83, 1), el(0x86, []byte("V_VP8")), el(0xE0, num(0xB0, 160), num(0xBA, 120)))...)
	}
	if w.bitmap != nil {
		b = append(b, el(0xAE, num(0xD7, 3), num(0x73C5, 13), num(0x83, 17), el(0x86, []byte("S_VOBSUB")), el(0x63A2, []byte("size: 320x240\n")))...)
	}
	return el(0x1654AE6B, b)
}

// clustersData writes each group of pictures, and sound as it falls due, as a
// Cluster.
func (w *written) clustersData() (out [][]byte, relative []int64) {
	f := w.film
	per := f.cluster
	a := 0
	early := 0
	if f.midKey {
		early = 5
	}
	n := len(w.pictures)
	if f.pictureless {
		per, n = 50, f.seconds*25
	}
	for from := 0; from < n; from += per {
		begin, end := max(0, from-early), min(from+per-early, n)
		if from+per >= n {
			end = n
		}
		first := f.start + int64(begin)*40
		base := first
		if f.negative {
			base = f.start + int64(end-1)*40
		}
		body := make([]byte, 0, (end-begin)*(f.bytes+500)) // about
		body = append(body, num(0xE7, uint64(f.ticks(base)))...)
		if f.twice {
			body = append(body, body...)
		}
		if f.crc {
			body = append(el(0xBF, []byte{9, 9, 9, 9}), body...)
		}
		if f.positions {
			body = append(body, num(0xA7, 1234)...)
			body = append(body, num(0xAB, 4321)...)
		}
		if f.bitmap != nil && first == 6000 {
			w.bitmapAt = int64(len(body))
			b := el(0xA1, []byte{0x83, 0, 0, 0}, f.bitmap)
			body = append(body, el(0xA0, b, num(0x9B, 3000))...)
		}
		if f.extra != nil {
			body = append(body, f.extra(len(out))...)
		}
		key, keyAt := int64(-1), int64(0)
		for i := begin; i < end; i++ {
			due := f.start + int64(i)*40
			for a < len(w.sounds) && w.sounds[a].at <= due+60 {
				n := 1
				if f.laced || f.laces > 0 {
					n = min(cmp.Or(f.laces, 4), len(w.sounds)-a)
				}
				body = append(body, w.sound(a, n, base)...)
				a += n
			}
			if f.pictureless {
				continue
			}
			if f.second > 0 {
				b := content('w', i, 100)
				key := i%f.second == f.second/2 || i == 0
				b[0] &^= 1
				if !key {
					b[0] |= 1
				}
				body = append(body, f.block(3, shot{f.start + int64(i)*40, key, b}, base)...)
			}
			p := w.pictures[i]
			if p.key && key < 0 {
				key, keyAt = int64(len(body)), p.at
			}
			body = append(body, f.block(1, p, base)...)
			if f.voids {
				body = append(body, void(12)...)
			}
		}
		for from+per >= n && a < len(w.sounds) {
			body = append(body, w.sound(a, 1, base)...)
			a++
		}
		n := 0
		if f.longSizes {
			n = 8
		}
		total := int64(len(body))
		if f.clusterSize > 0 {
			total, n = -1, f.clusterSize
		}
		out = append(out, slices.Concat(id(0x1F43B675), size(total, n), body))
		relative = append(relative, key)
		w.keys = append(w.keys, keyAt)
	}
	return out, relative
}

func (f film) block(track int, s shot, base int64) []byte {
	rel := f.ticks(s.at) - f.ticks(base)
	b := slices.Concat([]byte{0x80 | byte(track)}, binary.BigEndian.AppendUint16(nil, uint16(int16(rel))))
	if f.groups {
		g := el(0xA1, b, []byte{0}, s.frame)
		if !s.key {
			g = append(g, el(0xFB, []byte{0xD8})...)
		}
		return el(0xA0, g)
	}
	flags := byte(0)
	if s.key {
		flags = 0x80
	}
	e := el(0xA3, b, []byte{flags}, s.frame)
	if f.longSizes {
		body := len(b) + 1 + len(s.frame)
		e = slices.Concat([]byte{0xA3}, size(int64(body), 8), b, []byte{flags}, s.frame)
	}
	return e
}

// sound writes n frames of sound from the a-th on as one block.
func (w *written) sound(a, n int, base int64) []byte {
	if n == 1 {
		return w.block(2, w.sounds[a], base)
	}
	rel := w.ticks(w.sounds[a].at) - w.ticks(base)
	b := slices.Concat([]byte{0x82}, binary.BigEndian.AppendUint16(nil, uint16(int16(rel))), []byte{0x80 | 0x02, byte(n - 1)})
	for range n - 1 {
		b = append(b, 160)
	}
	for _, s := range w.sounds[a : a+n] {
		b = append(b, s.frame...)
	}
	return el(0xA3, b)
}
