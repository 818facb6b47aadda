package ogg

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// Synthetic streams: pages and packets as an encoder lays them, sizes by a model
// of the sound, no sound in them. For tests of the search over hours of media.

// synthSerial is where serial numbers begin: as large as random ones are.
const synthSerial = 0x7d3a_94c1

// synth is one synthetic file.
type synth struct {
	name   string
	data   []byte
	length float64 // seconds
}

// opusHeaders are those of stereo sound with a pre-skip of 312.
var opusHeaders = [][]byte{
	append([]byte("OpusHead\x01\x02"), 0x38, 0x01, 0x80, 0xbb, 0, 0, 0, 0, 0),
	[]byte("OpusTags\x00\x00\x00\x00\x00\x00\x00\x00"),
}

// opusStream returns pages of 1 s of 20 ms packets; rate gives bytes a second.
func opusStream(name string, seconds int, seed uint64, rate func(second int, r *rand.Rand) float64) *synth {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &synth{name: name, length: float64(seconds)}
	w := &pageWriter{serial: synthSerial}
	s.data = appendHeaders(make([]byte, 0, min(seconds*16_500, 64<<20)), []headerStream{{w: w, packets: opusHeaders}}, nil)
	for second := range seconds {
		bytes := rate(second, r)
		for range 50 {
			n := max(3, int(bytes/50*(0.8+0.4*r.Float64())))
			s.data = w.add(s.data, piece{data: noise(r, n, 0xfc), begins: true, ends: true}, 0)
		}
		flags := byte(0)
		if second == seconds-1 {
			flags = flagEOS
		}
		s.data = w.flush(s.data, int64(second+1)*opusRate+0x138, flags)
	}
	return s
}

// noise returns a packet of n bytes that begins with first.
func noise(r *rand.Rand, n int, first byte) []byte {
	p := make([]byte, n+8)
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(p[i:], r.Uint64())
	}
	p[0] = first
	return p[:n]
}

// The models are those of the design, with the constants of the simulation in
// package seek: a steady rate, music whose rate varies by song and by passage, a
// podcast with silences, and a day of speech.
func steadyHour(seed uint64) *synth {
	return opusStream("steady Opus 1 h", 3600, seed, func(_ int, r *rand.Rand) float64 { return 12000 * (0.97 + 0.06*r.Float64()) })
}

// walk is a rate that varies around 1; the logarithm returns to 0 within about
// so many steps.
type walk struct{ sigma, steps, x float64 }

func (w *walk) next(r *rand.Rand) float64 {
	k := math.Exp(-1 / w.steps)
	w.x = w.x*k + r.NormFloat64()*w.sigma*math.Sqrt(1-k*k)
	return math.Exp(w.x)
}

func musicHour(seed uint64) *synth {
	song, left, passage := 1.0, 0, &walk{sigma: 0.3, steps: 10}
	return opusStream("VBR music 1 h", 3600, seed, func(_ int, r *rand.Rand) float64 {
		if left--; left < 0 {
			song, left = math.Exp(0.25*r.NormFloat64()), 120+r.IntN(200)
		}
		return 16000 * song * passage.next(r)
	})
}

func podcast(seed uint64) *synth {
	voice, talking, left := &walk{sigma: 0.15, steps: 5}, true, 0.0
	return opusStream("podcast 2 h", 7200, seed, func(_ int, r *rand.Rand) float64 {
		if left--; left < 0 {
			talking = !talking
			left = r.ExpFloat64() * 3
			if talking {
				left = r.ExpFloat64() * 12
			}
		}
		if talking {
			return 8000 * voice.next(r)
		}
		return 250
	})
}

func speechDay(seed uint64) *synth {
	session, sessionLeft, talking, left := 1.0, 0.0, true, 0.0
	return opusStream("speech 8 h", 8*3600, seed, func(_ int, r *rand.Rand) float64 {
		if sessionLeft--; sessionLeft < 0 {
			session, sessionLeft = math.Exp(0.25*r.NormFloat64()), r.ExpFloat64()*900
			if r.IntN(12) == 0 {
				session, sessionLeft = 0.05, 600 // a break
			}
		}
		if left--; left < 0 {
			talking = !talking
			left = r.ExpFloat64() * 4
			if talking {
				left = r.ExpFloat64() * 8
			}
		}
		if talking {
			return 3000 * session * (1 + 0.1*r.NormFloat64())
		}
		return 150
	})
}

// theoraVorbis returns pictures and sound of about 1.2 Mbit/s, in pages of 4 KiB
// or one large picture, as libogg lays them; a keyframe every 64 pictures.
func theoraVorbis(t testing.TB, seconds int, seed uint64) *synth {
	t.Helper()
	const fps, shift, every = 25, 6, 64
	r := rand.New(rand.NewPCG(seed, 1))
	s := &synth{name: "Theora+Vorbis 10 min", length: float64(seconds)}
	pictures, sound := realHeaders(t, "testdata/theora-vorbis.ogv")
	pictures[0][40], pictures[0][41] = pictures[0][40]&^3|shift>>3, pictures[0][41]&0x1f|shift&7<<5
	binary.BigEndian.PutUint32(pictures[0][22:], fps)
	binary.BigEndian.PutUint32(pictures[0][26:], 1)
	v, a := &pageWriter{serial: synthSerial + 1}, &pageWriter{serial: synthSerial + 2}
	s.data = appendHeaders(make([]byte, 0, seconds*160_000), []headerStream{{w: v, packets: pictures}, {w: a, packets: sound}}, nil)
	scene, left := 1.0, 0.0
	var key, samples, blocks int64
	last := int64(seconds*fps) - 1
	for n := range last + 1 {
		if left--; left < 0 {
			scene, left = math.Exp(0.5*r.NormFloat64()), r.ExpFloat64()*fps*6
		}
		size, first := int(4000*scene*(1+0.3*r.Float64())), byte(0x40)
		if n%every == 0 {
			key, size, first = n, 6*size, 0
		}
		granule := (key+1)<<shift | (n - key)
		s.data = v.add(s.data, piece{data: noise(r, size, first), begins: true, ends: true}, granule)
		if len(v.body) >= 4096 || n == last {
			s.data = v.flush(s.data, granule, eosIf(n == last))
		}
		for float64(samples) < float64(n+1)/fps*44100 {
			if blocks > 0 {
				samples += 1024
			}
			blocks++
			s.data = a.add(s.data, piece{data: noise(r, 220+r.IntN(60), sound[3][0]), begins: true, ends: true}, samples)
			if len(a.body) >= 4096 {
				s.data = a.flush(s.data, samples, 0)
			}
		}
	}
	s.data = a.flush(s.data, samples, flagEOS)
	return s
}

func eosIf(last bool) byte {
	if last {
		return flagEOS
	}
	return 0
}

// realHeaders returns the header packets of a file's pictures and of its sound,
// of the sound followed by one long block.
func realHeaders(t testing.TB, path string) (pictures, sound [][]byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	joins := map[uint32]*assembler{}
	all := map[uint32][][]byte{}
	for _, p := range scanPages(data, 0, true).pages {
		if joins[p.serial] == nil {
			joins[p.serial] = &assembler{limit: maxPacket}
		}
		packets, _ := joins[p.serial].add(&p)
		for _, q := range packets {
			all[p.serial] = append(all[p.serial], append([]byte(nil), q.data...))
		}
	}
	for _, packets := range all {
		if packets[0][0] == 0x80 {
			pictures = packets[:3]
			continue
		}
		m, err := newMapping(packets[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.header(2, packets[2], m); err != nil {
			t.Fatal(err)
		}
		sound = packets[:3]
		for _, q := range packets[3:] {
			if m.length(q) == m.codec.(*vorbis).blocks[1] {
				sound = append(sound[:3:3], q)
				break
			}
		}
	}
	return pictures, sound
}
