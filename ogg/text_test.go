package ogg_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// The files of these tests are laid by the functions below, and their clips read by
// them: nothing here asks the package what an Ogg page, Kate or CMML looks like. They
// follow RFC 3533, the format pages of libkate, and CMML 2.1.

// oggPage is a page of a file.
type oggPage struct {
	flags   byte
	granule int64
	serial  uint32
	seq     uint32
	lacing  []byte
	body    []byte
}

const (
	pageContinued, pageFirst, pageLast = 1, 2, 4

	textSerial = 777
	textShift  = 32
	textRate   = 1000 // ticks a second
)

// crcs are the checksums of single bytes (RFC 3533, section 6).
var crcs = func() (out [256]uint32) {
	for i := range out {
		crc := uint32(i) << 24
		for range 8 {
			crc = crc<<1 ^ crc>>31*0x04c11db7
		}
		out[i] = crc
	}
	return out
}()

// bytes lays the page.
func (p oggPage) bytes() []byte {
	out := append([]byte("OggS\x00"), p.flags)
	out = binary.LittleEndian.AppendUint64(out, uint64(p.granule))
	out = binary.LittleEndian.AppendUint32(out, p.serial)
	out = binary.LittleEndian.AppendUint32(out, p.seq)
	out = append(out, 0, 0, 0, 0, byte(len(p.lacing)))
	out = append(append(out, p.lacing...), p.body...)
	var crc uint32
	for _, b := range out {
		crc = crc<<8 ^ crcs[byte(crc>>24)^b]
	}
	binary.LittleEndian.PutUint32(out[22:], crc)
	return out
}

// oggPages reads the pages of a file that is nothing but pages.
func oggPages(t testing.TB, data []byte) (out []oggPage) {
	t.Helper()
	for len(data) > 0 {
		if len(data) < 27 || string(data[:4]) != "OggS" {
			t.Fatalf("no page %d bytes before the end", len(data))
		}
		p := oggPage{flags: data[5], granule: int64(binary.LittleEndian.Uint64(data[6:])),
			serial: binary.LittleEndian.Uint32(data[14:]), seq: binary.LittleEndian.Uint32(data[18:])}
		n := 27 + int(data[26])
		p.lacing = data[27:n]
		size := 0
		for _, l := range p.lacing {
			size += int(l)
		}
		p.body = data[n : n+size]
		out, data = append(out, p), data[n+size:]
	}
	return out
}

// laid lays packets on pages of up to most segments; the granule position is that of
// the last.
func laid(granule int64, most int, packets ...[]byte) (out []oggPage) {
	p := oggPage{serial: textSerial, granule: -1}
	for _, packet := range packets {
		for more := true; more; {
			if len(p.lacing) == most {
				out = append(out, p)
				p = oggPage{serial: textSerial, granule: -1, flags: pageContinued}
				if len(packet) == 0 {
					p.flags = 0
				}
			}
			n := min(len(packet), 255)
			p.lacing, p.body = append(p.lacing, byte(n)), append(p.body, packet[:n]...)
			packet, more = packet[n:], n == 255
		}
	}
	p.granule = granule
	return append(out, p)
}

// cue is a text: it shows between two ticks; of CMML to is not written.
type cue struct {
	from, to int64
	text     string
	backlink int64 // so many ticks before it began the earliest that still shows
}

// textStream is a stream of text to be laid among the pages of others.
type textStream struct {
	kate  bool
	cues  []cue
	end   int64 // where the stream ends; -1: it does not say
	group int   // so many texts on one page; 0: one
	most  int   // so many segments on one page; 0: 255
	ahead int64 // so many ticks too early stand its pages
	apart int64 // so many ticks before the last page of a text stand those before it
	keeps bool  // of Kate, packets that show nothing every second, and texts again
}

func (x textStream) headers() [][]byte {
	if !x.kate {
		ident := append([]byte("CMML\x00\x00\x00\x00"), 2, 0, 1, 0)
		ident = binary.LittleEndian.AppendUint64(ident, textRate)
		ident = append(binary.LittleEndian.AppendUint64(ident, 1), textShift)
		return [][]byte{ident, []byte(`<?xml version="1.0"?><?cmml?>`), []byte(`<head><title>t</title></head>`)}
	}
	ident := append([]byte("\x80kate\x00\x00\x00"), 0, 0, 7, 9, 0, 0, 0, textShift, 0, 0, 0, 0, 0, 0, 0, 0)
	ident = binary.LittleEndian.AppendUint32(ident, textRate)
	ident = append(binary.LittleEndian.AppendUint32(ident, 1), make([]byte, 32)...)
	copy(ident[32:], "en")
	copy(ident[48:], "SUB")
	out := [][]byte{ident, append([]byte("\x81kate\x00\x00\x00"), make([]byte, 9)...)}
	for kind := byte(0x82); kind <= 0x88; kind++ { // nothing is defined
		out = append(out, append([]byte{kind}, "kate\x00\x00\x00\x00\x00"...))
	}
	out[8] = append(out[8], 0)
	return out
}

// packet is a text as a packet.
func (x textStream) packet(c cue) []byte {
	if !x.kate {
		return fmt.Appendf(nil, "<clip id=%q><desc>%s</desc></clip>", c.text[:1], c.text)
	}
	p := binary.LittleEndian.AppendUint64([]byte{0}, uint64(c.from))
	p = binary.LittleEndian.AppendUint64(p, uint64(c.to-c.from))
	p = binary.LittleEndian.AppendUint64(p, uint64(c.backlink))
	p = append(binary.LittleEndian.AppendUint32(p, uint32(len(c.text))), c.text...)
	return append(p, 0x81|byte(c.from/100%15)<<1, 0x40, 0x10, 0) // an identity; no motions nor anything else
}

// pages returns the stream's pages with data, and the ticks at which they stand.
func (x textStream) pages() (out []oggPage, at []int64) {
	most, group := x.most, max(1, x.group)
	if most == 0 {
		most = 255
	}
	last := int64(0)
	for i := 0; i < len(x.cues); i += group {
		var packets [][]byte
		some := x.cues[i:min(i+group, len(x.cues))]
		for _, c := range some {
			packets = append(packets, x.packet(c))
		}
		c := some[len(some)-1]
		base := c.from - c.backlink
		if !x.kate { // it counts from the one before
			base, last = last, c.from
		}
		pages := laid(base<<textShift|(c.from-base), most, packets...)
		for n, p := range pages {
			out, at = append(out, p), append(at, max(0, c.from-x.ahead-int64(len(pages)-1-n)*x.apart))
		}
		for now := c.from + 1000; x.keeps && i+1 < len(x.cues) && now < x.cues[i+1].from; now += 1000 {
			packet, base := []byte{1}, now
			if now < c.to {
				packet, base = append([]byte{2}, x.packet(c)[1:]...), c.from
			}
			out, at = append(out, laid(base<<textShift|(now-base), 255, packet)...), append(at, now)
		}
	}
	if x.end >= 0 {
		var packet []byte
		if x.kate {
			packet = []byte{0x7f}
		}
		p := laid(x.end<<textShift, 255, packet)[0]
		p.flags = pageLast
		out, at = append(out, p), append(at, x.end)
	}
	return out, at
}

// alone lays a file of nothing else.
func (x textStream) alone() []byte {
	headers := x.headers()
	first := laid(0, 255, headers[0])[0]
	first.flags = pageFirst
	pages := append([]oggPage{first}, laid(0, 255, headers[1:]...)...)
	data, _ := x.pages()
	return number(append(pages, data...))
}

// number lays pages, those of the text with the numbers that they get.
func number(pages []oggPage) (out []byte) {
	seq := uint32(0)
	for _, p := range pages {
		if p.serial == textSerial {
			p.seq, seq = seq, seq+1
		}
		out = append(out, p.bytes()...)
	}
	return out
}

// beside lays the text among the pages of a file of one link: a page stands before
// those that end later. When tells where a page of the file ends, in seconds, -1
// where it does not say.
func (x textStream) beside(t testing.TB, file []byte, when func(oggPage) float64) []byte {
	t.Helper()
	headers := x.headers()
	first := laid(0, 255, headers[0])[0]
	first.flags = pageFirst
	text, at := x.pages()
	var out []oggPage
	stage, now := 0, -1.0
	for _, p := range oggPages(t, file) {
		if stage == 0 && p.flags&pageFirst == 0 {
			out, stage = append(out, first), 1
		}
		if stage == 1 && p.granule != 0 { // behind the headers
			out, stage = append(out, laid(0, 255, headers[1:]...)...), 2
		}
		if stage == 2 && p.granule > 0 {
			now = max(now, when(p))
			for len(at) > 0 && float64(at[0])/textRate < now {
				out, text, at = append(out, text[0]), text[1:], at[1:]
			}
		}
		out = append(out, p)
	}
	return number(append(out, text...))
}

// among is beside, when its pages end told by the first pages of its streams.
func (x textStream) among(t testing.TB, file []byte) []byte {
	t.Helper()
	clocks := map[uint32]func(g int64) float64{}
	for _, p := range oggPages(t, file) {
		if p.flags&pageFirst == 0 {
			break
		}
		switch {
		case bytes.HasPrefix(p.body, []byte("\x01vorbis")):
			rate := float64(binary.LittleEndian.Uint32(p.body[12:]))
			clocks[p.serial] = func(g int64) float64 { return float64(g) / rate }
		case bytes.HasPrefix(p.body, []byte("OpusHead")):
			skip := int64(binary.LittleEndian.Uint16(p.body[10:]))
			clocks[p.serial] = func(g int64) float64 { return float64(g-skip) / 48000 }
		case bytes.HasPrefix(p.body, []byte("\x80theora")):
			fps := float64(binary.BigEndian.Uint32(p.body[22:])) / float64(binary.BigEndian.Uint32(p.body[26:]))
			shift := p.body[40]&3<<3 | p.body[41]>>5
			clocks[p.serial] = func(g int64) float64 { return float64(g>>shift+g&(1<<shift-1)) / fps }
		case bytes.HasPrefix(p.body, []byte("PCM ")):
			clocks[p.serial] = func(g int64) float64 { return float64(g) / 8000 }
		}
	}
	return x.beside(t, file, func(p oggPage) float64 {
		if clock := clocks[p.serial]; clock != nil && p.granule >= 0 {
			return clock(p.granule)
		}
		return -1
	})
}

// pcmFile is silence of 8 kHz, a page a second.
func pcmFile(seconds int) []byte {
	head := append([]byte("PCM     "), 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0x1f, 0x40, 16, 1, 0, 0, 0, 0, 0, 0)
	pages := []oggPage{{flags: pageFirst, serial: 1, lacing: []byte{byte(len(head))}, body: head},
		{serial: 1, seq: 1, lacing: []byte{8}, body: make([]byte, 8)}}
	for n := range seconds {
		p := laid(int64(n+1)*8000, 255, make([]byte, 16000))[0]
		p.serial, p.seq = 1, uint32(n+2)
		if n == seconds-1 {
			p.flags = pageLast
		}
		pages = append(pages, p)
	}
	var out []byte
	for _, p := range pages {
		out = append(out, p.bytes()...)
	}
	return out
}

// readText returns the texts of a clip's link, and complains of pages that do not
// follow each other: their numbers, granule positions, flags.
func (x textStream) readText(t testing.TB, clip []byte, serial uint32) (out []cue, end int64) {
	t.Helper()
	skip, seq, last := len(x.headers()), uint32(0), int64(0)
	var packet []byte
	for _, p := range oggPages(t, clip) {
		if p.serial != serial {
			continue
		}
		if p.seq != seq || p.flags&pageFirst != 0 != (seq == 0) || p.flags&pageContinued != 0 != (len(packet) > 0) {
			t.Errorf("page %d of the text has the number %d and flags %d", seq, p.seq, p.flags)
		}
		if seq++; p.granule >= 0 && p.granule < last {
			t.Errorf("page %d of the text: granule position %d|%d behind %d|%d", p.seq, p.granule>>textShift, p.granule&(1<<textShift-1), last>>textShift, last&(1<<textShift-1))
		}
		if p.granule >= 0 {
			last = p.granule
		}
		begins := last>>textShift + last&(1<<textShift-1)
		alone := slices.IndexFunc(p.lacing, func(l byte) bool { return l < 255 }) == len(p.lacing)-1 // a packet is
		body := p.body
		for _, l := range p.lacing {
			packet, body = append(packet, body[:l]...), body[l:]
			if l == 255 {
				continue
			}
			q := packet
			if packet = nil; skip > 0 {
				skip--
				continue
			}
			if p.flags&pageLast != 0 && len(q) > 1 {
				t.Errorf("the last page holds the end of a packet of %d bytes", len(q))
				continue
			}
			switch {
			case x.kate && q[0] == 0x01:
				if len(q) != 1 {
					t.Errorf("a packet of %d bytes that shows nothing", len(q))
				}
			case x.kate && q[0] == 0x7f, len(q) == 0:
				if p.flags&pageLast == 0 && x.kate {
					t.Errorf("page %d ends the text and does not say so", p.seq)
				}
			case x.kate:
				c := cue{from: int64(binary.LittleEndian.Uint64(q[1:])), backlink: int64(binary.LittleEndian.Uint64(q[17:])), text: string(q[29 : 29+binary.LittleEndian.Uint32(q[25:])])}
				c.to = c.from + int64(binary.LittleEndian.Uint64(q[9:]))
				if q[0] == 2 { // what was there before, again
					if !slices.Contains(out, c) {
						t.Errorf("%+v again, which was not there before", c)
					}
					continue
				}
				if base := last >> textShift; (x.group <= 1 || alone && c.from == 0) && (begins != c.from || c.from-c.backlink != base) || c.backlink > c.from {
					t.Errorf("%+v on a page of %d|%d", c, base, begins-base)
				}
				out = append(out, c)
			default:
				_, text, _ := strings.Cut(string(q), "<desc>")
				text, _, _ = strings.Cut(text, "</desc>")
				out = append(out, cue{from: begins, to: begins, text: text})
			}
		}
		if ended := p.flags&pageLast != 0; ended {
			end, serial = begins, math.MaxUint32 // and no other
		}
	}
	if serial != math.MaxUint32 {
		t.Error("no page of the text says that it is the last")
	}
	return out, end
}

// within returns the texts that a clip of [a, b) has to hold, zero at a tick.
func (x textStream) within(a, b, zero int64) (out []cue) {
	all := slices.Clone(x.cues)
	for i := range all {
		if c := &all[i]; !x.kate {
			if x.group > 1 { // all on a page begin with the last
				c.from = x.cues[min(i-i%x.group+x.group, len(x.cues))-1].from
			}
			c.to, c.backlink = c.from, 0
		}
	}
	for _, c := range all {
		shows := c.to > a
		if !x.kate { // until the next
			shows = !slices.ContainsFunc(all, func(o cue) bool { return o.from > c.from && o.from <= a })
		}
		if c.from < a && !shows || c.from >= b {
			continue
		}
		first := max(0, c.from-c.backlink-zero)
		c.from, c.to = max(0, c.from-zero), max(0, c.to-zero)
		c.backlink = c.from - first
		out = append(out, c)
	}
	return out
}

// lines are texts at 0, 3, 5.5, 8, 10.2 and 12 s, of which some end before the next,
// and some show together.
func lines() []cue {
	return []cue{
		{0, 2000, "one", 0}, {3000, 7000, "two", 0}, {5500, 6000, "three", 2500},
		{8000, 9000, "four", 0}, {10200, 12500, "five", 0}, {12000, 13000, "six", 1800},
	}
}

// textIntervals begin and end on texts, between them and within them.
var textIntervals = []interval{{5.03, 9.07}, {3, 8}, {4.95, 9.07}, {2.5, 2.8}, {0, 14}, {7, 10.2}, {12, 12.5}, {13.2, 13.9}, {5.7, 11.5}, {10.21, -1}}

// checkText cuts a file with a text stream at an interval and compares the texts of
// the clip with those that show in it.
func (x textStream) checkText(t *testing.T, o *opened, s formats.Selection, i interval, length float64) (plan *formats.Plan, path string) {
	t.Helper()
	sel := between(i.a, i.b)
	s.Interval = sel.Interval
	plan, path = o.cut(t, s)
	ticks := func(seconds float64) int64 { return int64(math.Ceil(seconds*textRate - 1e-6)) }
	a, b := ticks(i.a), ticks(i.b)
	if i.b < 0 || i.b > length {
		b = ticks(length)
	}
	for _, k := range plan.Tracks {
		if k.Kind == formats.Video { // it begins at the keyframe
			a = ticks(math.Floor(i.a/2.56+1e-6) * 2.56)
		}
	}
	zero := a
	if s.Timeline == formats.Original {
		zero = 0
	}
	got, end := x.readText(t, mustRead(t, path), textSerial)
	want := x.within(a, b, zero)
	if x.group > 1 && x.kate { // what is over already may pass by, and does not show
		got = slices.DeleteFunc(got, func(c cue) bool { return c.to <= a-zero })
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v %s %v: texts\n%v, want\n%v", i, s.Timeline, s.Tracks, got, want)
	}
	if end != b-zero {
		t.Errorf("%v %s %v: the text ends at %d, want %d", i, s.Timeline, s.Tracks, end, b-zero)
	}
	validate(t, path)
	return plan, path
}

// hosts are files among whose pages text is laid; nil is text alone.
func hosts(t testing.TB) map[string][]byte {
	return map[string][]byte{
		"alone": nil, "pcm": pcmFile(seconds),
		"vorbis": mustRead(t, madeNamed(t, "vorbis-48k").path(t)), "opus": mustRead(t, madeNamed(t, "opus-music").path(t)),
		"opus of long pages": mustRead(t, madeNamed(t, "opus-long-pages").path(t)),
		"theora-vorbis":      mustRead(t, madeNamed(t, "theora-vorbis").path(t)),
	}
}

// kinds are streams of text as they are laid in different ways. Length is what the
// texts of a file alone last.
func kinds() map[string]textStream {
	long := lines()
	for i := range long {
		long[i].text += strings.Repeat(" and so on", 40)
	}
	large := lines()
	for i := range large {
		large[i].text += strings.Repeat(" and so on", 15_000)
	}
	return map[string]textStream{
		"kate":                 {kate: true, cues: lines(), end: 14000},
		"kate over pages":      {kate: true, cues: long, end: 14000, most: 1},
		"kate, ended before":   {kate: true, cues: lines()[:3], end: 7000},
		"kate without an end":  {kate: true, cues: lines(), end: -1},
		"cmml":                 {cues: lines(), end: 14000},
		"cmml over pages":      {cues: long, end: 14000, most: 1},
		"cmml, ended before":   {cues: lines()[:3], end: 7000},
		"cmml without an end":  {cues: lines(), end: -1},
		"kate, nothing in it":  {kate: true, end: 14000},
		"kate, pages apart":    {kate: true, cues: long, end: 14000, most: 1, apart: 600},
		"cmml, two on a page":  {cues: lines(), end: 14000, group: 2},
		"kate, said again":     {kate: true, cues: lines(), end: 14000, keeps: true},
		"kate, large":          {kate: true, cues: large, end: 14000},
		"cmml, pages apart":    {cues: long, end: 14000, most: 1, apart: 600},
		"cmml, large":          {cues: large, end: 14000},
		"cmml, begins at last": {cues: []cue{{13500, 13500, "late", 0}}, end: 14000},
	}
}

// Text is cut beside sound and pictures and alone: what shows at a and what begins
// before b, with the times of the clip inside the packets too, and one last page.
func TestText(t *testing.T) {
	for host, file := range hosts(t) {
		for kind, x := range kinds() {
			t.Run(host+", "+kind, func(t *testing.T) {
				t.Parallel()
				data, length := []byte(nil), float64(seconds)
				if file != nil {
					data = x.among(t, file)
				} else if data = x.alone(); x.end >= 0 {
					length = float64(x.end) / textRate
				} else if length = 13; !x.kate {
					length = 12.001
				}
				o := mustOpenBytes(t, data)
				if got := o.Info().Duration.Seconds(); math.Abs(got-length) > 0.03 {
					t.Errorf("it lasts %g s, want %g", got, length)
				}
				length = o.Info().Duration.Seconds()
				text := ""
				for _, k := range o.Info().Tracks {
					if k.Kind == formats.Subtitle {
						text = k.ID
					}
				}
				for n, i := range textIntervals {
					if i.a >= length || n > 2 && !tools.Full() {
						continue
					}
					for _, timeline := range []formats.Timeline{formats.Zero, formats.Original} {
						x.checkText(t, o, formats.Selection{Timeline: timeline}, i, length)
						if file != nil {
							x.checkText(t, o, formats.Selection{Timeline: timeline, Tracks: []string{text}}, i, length)
						}
					}
				}
			})
		}
	}
}

// Kate is to have one text on a page. Where a page has more, those in front of its
// last, which stand there too late, come along with it, also where that begins behind
// the clip.
func TestTextCrowded(t *testing.T) {
	x := textStream{kate: true, cues: lines(), end: 14000, group: 2}
	for host, file := range hosts(t) {
		if file == nil {
			continue
		}
		o := mustOpenBytes(t, x.among(t, file))
		for _, i := range []interval{{5.03, 9.07}, {2.5, 13}, {7, 10.2}, {5.03, 7}, {9, 11}, {2.5, 11}, {1, 4}, {5.7, 11.5}} {
			for _, timeline := range []formats.Timeline{formats.Zero, formats.Original} {
				t.Run(fmt.Sprintf("%s %s %v", host, timeline, i), func(t *testing.T) {
					x.checkText(t, o, formats.Selection{Timeline: timeline}, i, seconds)
				})
			}
		}
	}
}

// What is beside the text decodes as that of the original does.
func TestTextBeside(t *testing.T) {
	for _, host := range []string{"vorbis-48k", "opus-music", "theora-vorbis"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			m := madeNamed(t, host)
			x := kinds()["kate"]
			path := filepath.Join(t.TempDir(), "text.ogg")
			if err := os.WriteFile(path, x.among(t, mustRead(t, m.path(t))), 0o666); err != nil {
				t.Fatal(err)
			}
			validate(t, path)
			o := mustOpen(t, path)
			i := interval{5.03, 9.07}
			if m.full != nil {
				i = m.trait
			}
			_, clip := x.checkText(t, o, formats.Selection{}, i, seconds)
			a := i.a
			if m.full != nil {
				a = m.comparePictures(t, m.path(t), clip, i)
			}
			compareFFmpeg(t, m.path(t), clip, a, i.b, oracle.Exact)
		})
	}
}

// libkate reads the times and texts of clips as they are meant.
func TestTextByLibkate(t *testing.T) {
	tools.Need(t, "gst-launch-1.0")
	if !strings.Contains(string(oracle.Run(t, "gst-inspect-1.0", "kate")), "katedec") {
		t.Fatal("GStreamer has no katedec")
	}
	x := kinds()["kate"]
	o := mustOpenBytes(t, x.among(t, mustRead(t, madeNamed(t, "vorbis-48k").path(t))))
	for _, tt := range []struct {
		part   interval
		tracks []string
		want   []string // time, duration in ms, bytes
	}{
		{interval{5.03, 9.07}, nil, []string{"0 1970 3", "470 500 5", "2970 1000 4"}},
		{interval{12.1, 13}, []string{"2"}, []string{"0 400 4", "0 900 3"}},
	} {
		_, clip := x.checkText(t, o, formats.Selection{Tracks: tt.tracks}, tt.part, seconds)
		out := string(oracle.Run(t, "gst-launch-1.0", "-v", "filesrc", "location="+clip, "!", "oggdemux", "!", "application/x-kate;subtitle/x-kate", "!", "katedec", "!",
			"fakesink", "silent=false", "sync=false"))
		var got []string
		for _, m := range regexp.MustCompile(`chain.*?\((\d+) bytes.*?pts: (\S+),.*?duration: (\S+?),`).FindAllStringSubmatch(out, -1) {
			got = append(got, fmt.Sprintf("%d %d %s", milliseconds(m[2]), milliseconds(m[3]), m[1]))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%v: %q, want %q\n%s", tt.part, got, tt.want, out)
		}
	}
}

// milliseconds reads a time of GStreamer, h:mm:ss.nanoseconds.
func milliseconds(s string) int64 {
	var total float64
	for part := range strings.SplitSeq(s, ":") {
		n, _ := strconv.ParseFloat(part, 64)
		total = 60*total + n
	}
	return int64(math.Round(total * 1000))
}

// Text that goes on behind the end of the sound counts for the duration, and can be
// cut there.
func TestTextBehindSound(t *testing.T) {
	for kind, x := range map[string]textStream{"kate": {kate: true, cues: lines(), end: 14000}, "cmml": {cues: lines(), end: 14000}} {
		t.Run(kind, func(t *testing.T) {
			o := mustOpenBytes(t, x.among(t, pcmFile(4)))
			if got := o.Info().Duration.Seconds(); got != 14 {
				t.Errorf("it lasts %g s, want 14", got)
			}
			for _, i := range textIntervals {
				plan, _ := x.checkText(t, o, formats.Selection{}, i, 14)
				if end := plan.Presented.End.Seconds(); i.b > 0 && end != i.b || i.b < 0 && end != 14 {
					t.Errorf("%v: presented until %g s", i, end)
				}
				x.checkText(t, o, formats.Selection{Tracks: []string{"2"}}, i, 14)
			}
		})
	}
}

// Text is carried as far as 8 MiB behind the end of all else; where there is more, a
// warning says so, and nothing else is said of the page at which that is.
func TestTextFarBehindSound(t *testing.T) {
	for large, warned := range map[int]bool{120_000: false, 250_000: true} {
		x := textStream{kate: true, end: 124_000}
		for n := range int64(60) {
			x.cues = append(x.cues, cue{4000 + n*2000, 5500 + n*2000, fmt.Sprint("text ", n, strings.Repeat(" ", large)), 0})
		}
		o := mustOpenBytes(t, x.among(t, pcmFile(4)))
		if i := o.Info(); !i.Timed || i.Duration.Seconds() != 124 {
			t.Errorf("texts of %d bytes: it lasts %v s", large, i.Duration)
		}
		plan, clip := o.cut(t, between(2, 20))
		if got, _ := x.readText(t, mustRead(t, clip), textSerial); !slices.Equal(got, x.within(2000, 20_000, 2000)) {
			t.Errorf("%d texts of those near the sound", len(got))
		}
		switch warnings := fmt.Sprint(plan.Warnings); {
		case !warned && len(plan.Warnings) > 0, warned && (len(plan.Warnings) != 1 || !strings.Contains(warnings, "is not carried")):
			t.Errorf("texts of %d bytes: warnings %s", large, warnings)
		}
	}
}

// Of texts that stand far too early, those behind the clip do not show in it, and
// nothing that ends the stream stands in its middle.
func TestTextTooEarly(t *testing.T) {
	x := textStream{kate: true, end: 400_000, ahead: 100_000}
	for n := range int64(39) {
		x.cues = append(x.cues, cue{5000 + n*10_000, 9000 + n*10_000, fmt.Sprint("text ", n), 0})
	}
	o := mustOpenBytes(t, x.among(t, pcmFile(400)))
	for _, i := range []interval{{10, 50}, {30, 220}} {
		for _, timeline := range []formats.Timeline{formats.Zero, formats.Original} {
			s := between(i.a, i.b)
			s.Timeline = timeline
			_, clip := o.cut(t, s)
			got, end := x.readText(t, mustRead(t, clip), textSerial)
			zero := int64(i.a * textRate)
			if timeline == formats.Original {
				zero = 0
			}
			never := slices.DeleteFunc(slices.Clone(got), func(c cue) bool { return c.from != end || c.to != end })
			got = slices.DeleteFunc(got, func(c cue) bool { return slices.Contains(never, c) })
			if i.b > 200 && len(never) == 0 {
				t.Errorf("%v: nothing that is too early passes by", i)
			}
			if want := x.within(int64(i.a*textRate), int64(i.b*textRate), zero); !slices.Equal(got, want) {
				t.Errorf("%v %s: %v, want %v", i, timeline, got, want)
			}
		}
	}
}

// The pages of text are numbered without gaps where most of them pass by unseen.
func TestTextNumbers(t *testing.T) {
	for _, kate := range []bool{true, false} {
		x := textStream{kate: kate, end: 1_000_000}
		for n := range int64(39) {
			x.cues = append(x.cues, cue{5000 + n*25_000, 9000 + n*25_000, fmt.Sprint("text ", n), 0})
		}
		o := mustOpenBytes(t, x.among(t, pcmFile(1000)))
		for _, i := range []interval{{100, 900}, {400, 700.5}, {0, -1}, {505, 530}} {
			x.checkText(t, o, formats.Selection{}, i, 1000)
		}
		x.checkText(t, o, formats.Selection{Tracks: []string{"2"}}, interval{400, 700.5}, 1000)
	}
}

// Each link of a chained file has its own text.
func TestTextChained(t *testing.T) {
	x := kinds()["kate"]
	link := x.among(t, pcmFile(14))
	other := bytes.Clone(link)
	var second []byte
	for _, p := range oggPages(t, other) {
		p.serial += 100
		second = append(second, p.bytes()...)
	}
	o := mustOpenBytes(t, append(bytes.Clone(link), second...))
	for _, tracks := range [][]string{nil, {"2"}} {
		s := between(5.03, 14+9.07)
		s.Tracks = tracks
		_, clip := o.cut(t, s)
		validate(t, clip)
		first, _ := x.readText(t, mustRead(t, clip), textSerial)
		then, _ := x.readText(t, mustRead(t, clip), textSerial+100)
		if want := x.within(5030, 14_000, 5030); !slices.Equal(first, want) {
			t.Errorf("%v: the first link has %v, want %v", tracks, first, want)
		}
		if want := x.within(0, 9070, 0); !slices.Equal(then, want) {
			t.Errorf("%v: the second link has %v, want %v", tracks, then, want)
		}
	}
}

// A file that was cut off in its recording has no last pages; its clips do.
func TestTextUnfinished(t *testing.T) {
	for kind, x := range map[string]textStream{"kate": {kate: true, cues: lines(), end: 14000}, "cmml": {cues: lines(), end: 14000}} {
		data := x.among(t, mustRead(t, madeNamed(t, "opus-music").path(t)))
		data = data[:len(data)*13/14]
		o, err := open(t, seektest.New(data), formats.Env{})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range []interval{{5.03, 9.07}, {10.21, -1}} {
			for _, tracks := range [][]string{nil, {"2"}} {
				t.Run(fmt.Sprint(kind, i, tracks), func(t *testing.T) {
					x.checkText(t, o, formats.Selection{Tracks: tracks}, i, o.Info().Duration.Seconds())
				})
			}
		}
	}
}

// A verbatim clip of text alone holds the pages on which it stands.
func TestTextVerbatim(t *testing.T) {
	for _, kate := range []bool{true, false} {
		x := textStream{kate: kate, cues: lines(), end: 14000}
		o := mustOpenBytes(t, x.among(t, pcmFile(14)))
		s := between(7.5, 11)
		s.Form, s.Tracks = formats.Verbatim, []string{"2"}
		_, clip := o.cut(t, s)
		data := mustRead(t, clip)
		for n, c := range lines() {
			want := n == 3 || n == 4 || n == 2 && !kate // what shows, and what begins
			if has := bytes.Contains(data, x.packet(c)); want && !has {
				t.Errorf("kate %v: %q is not in it", kate, c.text)
			}
		}
	}
}

// Text costs no round trips of its own: it is read where the search for what is
// beside it ends.
func TestTextRounds(t *testing.T) {
	x := textStream{kate: true, end: 1_000_000}
	for n := range int64(39) {
		x.cues = append(x.cues, cue{5000 + n*25_000, 9000 + n*25_000, fmt.Sprint("text ", n), 0})
	}
	data := x.among(t, pcmFile(1000))
	for _, i := range []interval{{505, 530}, {700.5, 710}, {31, 900}} {
		seektest.Counted(t, name(i.a, i.b), func(t *testing.T) {
			trips := func(tracks ...string) int {
				o := slowly(t, data)
				s := between(i.a, i.b)
				s.Tracks = tracks
				o.cut(t, s)
				return o.Totals.Transfer().RoundTrips
			}
			sound, both, text := trips("1"), trips(), trips("2")
			t.Logf("round trips: %d for the sound, %d with text, %d for the text", sound, both, text)
			if both > sound+1 || text > sound+1 {
				t.Errorf("%d round trips with text and %d for text alone, %d without", both, text, sound)
			}
		})
	}
}

// Text of a resource of unknown length is that of one whose length is told, as far as
// the interval reaches, and to its end.
func TestTextUnknownLength(t *testing.T) {
	for host, file := range map[string][]byte{"alone": nil, "pcm": pcmFile(seconds), "opus": mustRead(t, madeNamed(t, "opus-music").path(t))} {
		for kind, x := range map[string]textStream{"kate": kinds()["kate"], "cmml": kinds()["cmml"], "kate, large": kinds()["kate, large"], "cmml, large": kinds()["cmml, large"]} {
			data := x.alone()
			if file != nil {
				data = x.among(t, file)
			}
			for _, i := range []interval{{5.03, 9.07}, {12, 12.5}, {10.21, -1}} {
				t.Run(fmt.Sprint(host, " ", kind, i), func(t *testing.T) {
					t.Parallel()
					source := seektest.New(data)
					source.Unsized = true
					o, err := open(t, source, formats.Env{})
					if err != nil {
						t.Fatal(err)
					}
					x.checkText(t, o, formats.Selection{}, i, 14)
				})
			}
		}
	}
}

// Text that is appended to a growing resource is there for the next selection.
func TestTextGrowing(t *testing.T) {
	for host, file := range map[string][]byte{"alone": nil, "pcm": pcmFile(seconds), "opus": mustRead(t, madeNamed(t, "opus-music").path(t))} {
		for _, kate := range []bool{true, false} {
			for _, sized := range []bool{true, false} {
				t.Run(fmt.Sprint(host, " kate ", kate, " sized ", sized), func(t *testing.T) {
					t.Parallel()
					x := textStream{kate: kate, cues: lines(), end: 14000}
					data := x.alone()
					if file != nil {
						data = x.among(t, file)
					}
					var ends []int // of pages
					at := 0
					for _, p := range oggPages(t, data) {
						at += len(p.bytes())
						ends = append(ends, at)
					}
					half := ends[len(ends)*2/3]
					source := seektest.Virtual(int64(half), bytes.NewReader(data))
					source.Growing, source.Unsized = true, !sized
					o, err := open(t, source, formats.Env{Growing: true})
					if err != nil {
						t.Fatal(err)
					}
					o.Plan(t.Context(), between(12.2, 12.6)) // not there yet
					for _, size := range []int{half + 10, ends[len(ends)-2], len(data)} {
						source.Change(int64(size), bytes.NewReader(data), `"2"`)
						fixed := mustOpenBytes(t, data[:size])
						want, err := fixed.Inspect(t.Context())
						if err != nil {
							t.Fatal(err)
						}
						got, err := o.Inspect(t.Context())
						if err != nil || !got.Duration.Equal(want.Duration) {
							t.Errorf("%d bytes: %s s, %v, want %s", size, got.Duration, err, want.Duration)
						}
						for _, i := range []interval{{2.5, 2.8}, {5.03, want.Duration.Seconds() - 0.5}, {5.7, -1}} {
							_, clip := o.cut(t, between(i.a, i.b))
							_, same := fixed.cut(t, between(i.a, i.b))
							if !bytes.Equal(mustRead(t, clip), mustRead(t, same)) {
								t.Errorf("%d bytes: the clip of %v is not that of a file of that length", size, i)
							}
						}
					}
					for _, i := range textIntervals[:4] {
						x.checkText(t, o, formats.Selection{}, i, 14)
					}
				})
			}
		}
	}
}
