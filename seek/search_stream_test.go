package seek_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

// stream is a synthetic resource: elements one after the other, each with a
// header of headerSize bytes that holds a signature, its tick and its size.
type stream struct {
	name     string
	elements []element // by offset
	size     int64
	probe    int64
	whole    bool // an element is recognised only where all of it is there, as with a checksum
	unsized  bool // marks do not state where their element ends
	stated   bool // the duration is known beforehand
	lasting  bool // marks state how long their element lasts
}

type element struct {
	off, size int64
	tick      int64
	stream    int
	silent    bool // has no time, as a page on which no packet ends
}

const (
	edge       = 64 << 10 // what is read of both ends at first
	signature  = "\x01MaRk\x02\xff\x00"
	headerSize = 24
	second     = 1000 // ticks
)

func (s *stream) append(tick, size int64) {
	size = max(size, headerSize)
	s.elements = append(s.elements, element{off: s.size, size: size, tick: tick})
	s.size += size
}

// fill writes the stream's bytes.
func (s *stream) fill(p []byte, off int64) {
	clear(p)
	end := off + int64(len(p))
	i := sort.Search(len(s.elements), func(i int) bool { return s.elements[i].off+headerSize > off })
	for ; i < len(s.elements) && s.elements[i].off < end; i++ {
		e := s.elements[i]
		var h [headerSize]byte
		copy(h[:], signature)
		binary.BigEndian.PutUint64(h[8:], uint64(e.tick))
		binary.BigEndian.PutUint64(h[16:], uint64(e.size))
		h[17] = byte(e.stream)
		if e.silent {
			h[16] = 0x80
		}
		from := max(off, e.off)
		copy(p[from-off:], h[from-e.off:])
	}
}

// recognize finds elements by their signature.
func (s *stream) recognize(off int64, data []byte) (marks []seek.Mark, next int64) {
	at := 0
	for {
		i := bytes.Index(data[at:], []byte(signature))
		if i < 0 {
			return marks, max(off+int64(len(data))-int64(len(signature))+1, off+int64(at))
		}
		at += i
		if len(data)-at < headerSize {
			return marks, off + int64(at)
		}
		m := seek.Mark{Offset: off + int64(at), Tick: int64(binary.BigEndian.Uint64(data[at+8:]))}
		size := int64(binary.BigEndian.Uint64(data[at+16:]))
		silent := size < 0
		m.Stream = int(data[at+17])
		size &= 1<<48 - 1
		if s.whole && int64(len(data)-at) < size {
			return marks, m.Offset
		}
		if !s.unsized {
			m.End = m.Offset + size
		}
		if s.lasting {
			if j, ok := s.index(m.Offset); ok && j+1 < len(s.elements) {
				m.Until = s.elements[j+1].tick
			}
		}
		if !silent {
			marks = append(marks, m)
		}
		step := size
		if s.unsized {
			step = headerSize
		}
		if step >= int64(len(data)-at) {
			return marks, m.Offset + step
		}
		at += int(step)
	}
}

func (s *stream) index(off int64) (int, bool) {
	return slices.BinarySearchFunc(s.elements, off, func(e element, off int64) int {
		return int(min(1, max(-1, e.off-off)))
	})
}

// neighbours returns what a search for tick must find.
func (s *stream) neighbours(stream int, tick int64) (before, after element) {
	before, after = element{off: 0, tick: math.MinInt64}, element{off: s.size, tick: math.MaxInt64}
	for _, e := range s.elements {
		switch {
		case e.silent || e.stream != stream:
		case e.tick > tick:
			return before, e
		default:
			before = e
		}
	}
	return before, after
}

// mark returns the mark of an element.
func (s *stream) mark(i int) seek.Mark {
	e := s.elements[i]
	return seek.Mark{Stream: e.stream, Offset: e.off, End: e.off + e.size, Tick: e.tick}
}

func (s *stream) source() *seektest.Source { return seektest.Virtual(s.size, seektest.Fill(s.fill)) }

// open returns a Search that knows what a container knows after the first
// round trip: the first and the last 64 KiB.
func (s *stream) open(tb testing.TB, src seek.Source) *seek.Search {
	w := seek.NewWindow(tb.Context(), src, 0)
	search := &seek.Search{Window: w, Recognize: s.recognize, End: s.size, Probe: s.probe}
	if s.stated {
		search.EndTick = s.duration()
	}
	tail := max(0, s.size-edge)
	data, err := w.Read(tb.Context(),
		seek.Request{Range: seek.Range{Length: edge}, Purpose: seek.Head},
		seek.Request{Range: seek.Range{Offset: tail, Length: edge}, Purpose: seek.Tail})
	if err != nil {
		tb.Fatal(err)
	}
	search.Scan(0, data[0])
	search.Scan(tail, data[1])
	return search
}

// somewhere returns a random tick: any time, or in a lopsided stream the time of
// any page.
func (s *stream) somewhere(rng *rand.Rand) int64 {
	if s.name == "lopsided" {
		return s.elements[rng.IntN(len(s.elements))].tick
	}
	return rng.Int64N(s.duration())
}

// duration is the tick of the last element.
func (s *stream) duration() int64 { return s.elements[len(s.elements)-1].tick }

// scale changes the sizes so that the bytes of a second are as many as given.
func (s *stream) scale(rate float64) *stream {
	factor := rate * float64(s.duration()) / second / float64(s.size)
	elements := s.elements
	s.elements, s.size = nil, 0
	for _, e := range elements {
		s.append(e.tick, int64(float64(e.size)*factor))
		last := &s.elements[len(s.elements)-1]
		last.stream, last.silent = e.stream, e.silent
	}
	return s
}

// walk is a rate that varies around 1: the logarithm returns to 0 within about
// the given number of steps.
type walk struct {
	rng          *rand.Rand
	sigma, steps float64
	x            float64
}

func newWalk(rng *rand.Rand, sigma, steps float64) *walk {
	return &walk{rng, sigma, steps, rng.NormFloat64() * sigma}
}

func (w *walk) next() float64 {
	k := math.Exp(-1 / w.steps)
	w.x = w.x*k + w.rng.NormFloat64()*w.sigma*math.Sqrt(1-k*k)
	return math.Exp(w.x)
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 42)) }

const audioProbe = 32 << 10

// steady is an hour of Opus at a constant 128 kbit/s, pages of a second.
func steady(seed uint64) *stream {
	s, rng := &stream{name: "steady", probe: audioProbe, whole: true}, seeded(seed)
	for t := 1; t <= 3600; t++ {
		s.append(int64(t)*second, int64(16000*(1+0.005*rng.NormFloat64())))
	}
	return s
}

// music is an hour of songs with a varying bit rate around 128 kbit/s.
func music(seed uint64) *stream {
	s, rng := &stream{name: "music", probe: audioProbe, whole: true}, seeded(seed)
	song, passage, left := 1.0, newWalk(rng, 0.3, 10), 0
	for t := 1; t <= 3600; t++ {
		if left--; left < 0 {
			song, left = math.Exp(0.25*rng.NormFloat64()), 120+rng.IntN(200)
		}
		s.append(int64(t)*second, int64(16000*song*passage.next()))
	}
	return s.scale(128e3 / 8)
}

// podcast is two hours of talk at 64 kbit/s; silences cost almost nothing.
func podcast(seed uint64) *stream {
	s, rng := &stream{name: "podcast", probe: audioProbe, whole: true}, seeded(seed)
	voice, talking, left := newWalk(rng, 0.15, 5), true, 0.0
	for t := 1; t <= 7200; t++ {
		if left--; left < 0 {
			talking = !talking
			left = rng.ExpFloat64() * 3
			if talking {
				left = rng.ExpFloat64() * 12
			}
		}
		size := 250.0
		if talking {
			size = 8000 * voice.next()
		}
		s.append(int64(t)*second, int64(size))
	}
	return s.scale(48e3 / 8)
}

// speech is an eight-hour recording of a meeting at 24 kbit/s: pauses between
// sentences, breaks between sessions, sessions of different density.
func speech(seed uint64) *stream {
	s, rng := &stream{name: "speech", probe: audioProbe, whole: true}, seeded(seed)
	session, sessionLeft, talking, left := 1.0, 0.0, true, 0.0
	for t := 1; t <= 8*3600; t++ {
		if sessionLeft--; sessionLeft < 0 {
			session, sessionLeft = math.Exp(0.25*rng.NormFloat64()), rng.ExpFloat64()*900
			if rng.IntN(12) == 0 {
				session, sessionLeft = 0.05, 600 // a break
			}
		}
		if left--; left < 0 {
			talking = !talking
			left = rng.ExpFloat64() * 4
			if talking {
				left = rng.ExpFloat64() * 8
			}
		}
		size := 120.0
		if talking {
			size = 3000 * session * (1 + 0.1*rng.NormFloat64())
		}
		s.append(int64(t)*second, int64(size))
	}
	return s.scale(16e3 / 8)
}

// video is ten minutes of Theora at about 1.5 Mbit/s with Vorbis, in pages of
// 4 KiB or a large frame, interleaved within half a second.
func video(seed uint64) *stream {
	s, rng := &stream{name: "video", probe: 64 << 10, whole: true}, seeded(seed)
	type page struct {
		tick, size, order int64
		stream            int
	}
	var pages []page
	scene, left, fill := 1.0, 0.0, int64(0)
	for n := range int64(600 * 25) {
		if left--; left < 0 {
			scene, left = math.Exp(0.5*rng.NormFloat64()), rng.ExpFloat64()*25*6
		}
		size := int64(5000 * scene * (1 + 0.3*rng.Float64()))
		if n%64 == 0 {
			size *= 6
		}
		tick := (n + 1) * second / 25
		for fill += size; fill >= 4096; {
			take := min(fill, 65000)
			pages = append(pages, page{tick, take, tick, 0})
			fill -= take
		}
	}
	for t := int64(250); t <= 600*second; t += 250 {
		pages = append(pages, page{t, 3500, t + int64(250*math.Sin(float64(t)/9000)), 1})
	}
	slices.SortStableFunc(pages, func(a, b page) int { return int(a.order - b.order) })
	for _, p := range pages {
		s.append(p.tick, p.size)
		s.elements[len(s.elements)-1].stream = p.stream
	}
	return s.scale(1.2e6 / 8)
}

// bursty alternates minutes of almost nothing with minutes of a lot.
func bursty(seed uint64) *stream {
	s, rng := &stream{name: "bursty", probe: audioProbe, whole: true}, seeded(seed)
	for t := 1; t <= 7200; t++ {
		size := 100.0
		if (t/97)%3 == 0 {
			size = 40000
		}
		s.append(int64(t)*second, int64(size*(1+0.2*rng.NormFloat64())))
	}
	return s
}

// sparse has a mark only every few hundred kilobytes: pages between have no
// time.
func sparse(seed uint64) *stream {
	s, rng := &stream{name: "sparse", probe: 64 << 10, whole: true}, seeded(seed)
	rate := newWalk(rng, 0.4, 20)
	for t := 1; t <= 3600; t++ {
		s.append(int64(t)*second, int64(60000*rate.next())%65000)
		s.elements[len(s.elements)-1].silent = t%6 != 0
	}
	return s
}

// holes is damaged: after every fifth page come bytes that belong to nothing.
func holes(seed uint64) *stream {
	s, rng := &stream{name: "holes", probe: audioProbe, whole: true}, seeded(seed)
	for t := 1; t <= 3600; t++ {
		s.append(int64(t)*second, 16000+rng.Int64N(100))
		if t%5 == 0 {
			s.size += rng.Int64N(90_000)
		}
	}
	return s
}

// lopsided deceives every interpolation: each page lasts longer than the one
// before, the first a millisecond and the last a day.
func lopsided() *stream {
	s := &stream{name: "lopsided", probe: audioProbe, whole: true}
	tick := 0.0
	for n := range 3600 {
		tick += math.Pow(86_400_000, float64(n)/3600)
		s.append(int64(tick), 16000)
	}
	return s
}

// fragments is twenty minutes of fragments of about the given size, two seconds
// each, as in a fragmented MP4 (lasting) or a WebM file.
func fragments(name string, size float64, sigma float64, lasting, unsized bool) *stream {
	s, rng := &stream{name: name, probe: 64 << 10, lasting: lasting, unsized: unsized, stated: lasting}, seeded(8)
	rate := newWalk(rng, sigma, 10)
	for t := range int64(600) {
		s.append(t*2*second, int64(size*rate.next()))
	}
	return s
}

// streams returns how many streams there are.
func (s *stream) streams() int {
	return 1 + slices.MaxFunc(s.elements, func(a, b element) int { return a.stream - b.stream }).stream
}
