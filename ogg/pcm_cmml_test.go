package ogg

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

// pcmAndCMML is 40 s of OggPCM, mono of 16 bits at 8 kHz in packets of 1,000
// samples, with clips of CMML that begin at 1, 13 and 30 s. It returns the sound,
// too.
func pcmAndCMML() (data, sound []byte) {
	head := append([]byte("PCM     "), 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0x1f, 0x40, 16, 1, 0, 0, 0, 0, 0, 0)
	comments := make([]byte, 8)
	ident := append([]byte("CMML\x00\x00\x00\x00"), 2, 0, 0, 0)
	ident = binary.LittleEndian.AppendUint64(ident, 1000)
	ident = append(binary.LittleEndian.AppendUint64(ident, 1), 32)
	w, text := &pageWriter{serial: 1}, &pageWriter{serial: 2}
	data = appendHeaders(nil, []headerStream{
		{w: w, packets: [][]byte{head, comments}},
		{w: text, packets: [][]byte{ident, []byte("<?cmml?>"), []byte("<head/>")}},
	}, nil)
	r := rand.New(rand.NewPCG(1, 1))
	cues := map[int]string{8: "<clip id='one'/>", 13 * 8: "<clip id='two'/>", 30 * 8: "<clip id='three'/>"}
	for n := range 40 * 8 {
		if cue, ok := cues[n]; ok {
			data = text.flush(text.add(data, piece{data: []byte(cue), begins: true, ends: true}, 0), int64(n)*125<<32, 0)
		}
		packet := noise(r, 2000, byte(n))
		sound = append(sound, packet...)
		data = w.flush(w.add(data, piece{data: packet, begins: true, ends: true}, 0), int64(n+1)*1000, eosIf(n == 40*8-1))
	}
	return text.flush(text.add(data, piece{begins: true, ends: true}, 0), 40000<<32, flagEOS), sound
}

// A clip of OggPCM holds the samples of the interval, and no other; the CMML that shows when it begins and that begins in it comes along.
func TestPCMAndCMML(t *testing.T) {
	data, sound := pcmAndCMML()
	o := over(t, seektest.New(data), formats.Env{})
	if i := o.Info(); len(i.Tracks) != 2 || i.Tracks[0].Codec != "pcm" || i.Tracks[1].Codec != "cmml" || i.Duration.Seconds() != 40 {
		t.Fatalf("%+v", i)
	}
	sel := formats.Selection{Interval: part(10.05, 20.03)}
	p, err := o.Plan(t.Context(), sel)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Covered.Start.Equal(sel.Interval.Start) || !p.Covered.End.Equal(sel.Interval.End) || !p.Presented.End.Equal(p.Covered.End) {
		t.Errorf("covered %v, want %v", p.Covered, sel.Interval)
	}
	clip := o.clip(t, sel.Interval)
	var got []byte
	var cues []string
	joins := map[uint32]*assembler{1: {limit: maxPacket}, 2: {limit: maxPacket}}
	skip := map[uint32]int{1: 2, 2: 3} // headers
	for _, page := range scanPages(clip, 0, true).pages {
		packets, _ := joins[page.serial].add(&page)
		for _, q := range packets {
			switch skip[page.serial]--; {
			case skip[page.serial] >= 0:
			case page.serial == 1:
				got = append(got, q.data...)
			case len(q.data) > 0:
				cues = append(cues, string(q.data))
			}
		}
	}
	if want := sound[10.05*16000 : 20.03*16000]; !bytes.Equal(got, want) {
		t.Errorf("%d bytes of sound that are not the %d wanted", len(got), len(want))
	}
	if want := []string{"<clip id='one'/>", "<clip id='two'/>"}; !slices.Equal(cues, want) {
		t.Errorf("cues %q, want %q", cues, want)
	}
}

// Packets of OggPCM are split at the sample also where they lie across pages, and
// where the interval is within one.
func TestPCMSplit(t *testing.T) {
	head := append([]byte("PCM     "), 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0x1f, 0x40, 16, 2, 0, 0, 0, 0, 0, 0)
	w := &pageWriter{serial: 1}
	data := appendHeaders(nil, []headerStream{{w: w, packets: [][]byte{head, make([]byte, 8)}}}, nil)
	r := rand.New(rand.NewPCG(1, 1))
	var sound []byte
	for n := range 20 { // packets of 4 s, which take two pages and a half
		packet := noise(r, 4*32000, byte(n))
		sound = append(sound, packet...)
		data = w.flush(w.add(data, piece{data: packet, begins: true, ends: true}, int64(n+1)*32000), int64(n+1)*32000, eosIf(n == 19))
	}
	o := over(t, seektest.New(data), formats.Env{})
	for _, timeline := range []formats.Timeline{formats.Zero, formats.Original} {
		for _, i := range [][2]float64{{0, 80}, {1.5, 2.25}, {3.5, 4.5}, {5, 70.125}, {9.25, 33}, {76.5, 80}, {12, 16}, {0, 4}} {
			sel := formats.Selection{Interval: part(i[0], i[1]), Timeline: timeline}
			plan, err := o.Plan(t.Context(), sel)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := io.ReadAll(seek.NewReader(t.Context(), plan.Parts, o, 0))
			if err != nil {
				t.Fatal(err)
			}
			var got []byte
			join := assembler{limit: maxPacket}
			headers, last := 2, int64(0)
			for n, page := range scanPages(raw, 0, true).pages {
				if page.serial != 1 {
					continue
				}
				packets, gap := join.add(&page)
				if gap {
					t.Fatalf("%v: page %d does not follow", i, n)
				}
				for _, q := range packets {
					if headers--; headers < 0 {
						got = append(got, q.data...)
					}
				}
				if page.granule != noGranule {
					last = page.granule
				}
			}
			if want := sound[int(i[0]*32000):int(i[1]*32000)]; !bytes.Equal(got, want) {
				t.Errorf("%s %v: %d bytes of sound that are not the %d wanted", timeline, i, len(got), len(want))
			}
			want := int64((i[1] - i[0]) * 8000)
			if timeline == formats.Original {
				want = int64(i[1] * 8000)
			}
			if last != want {
				t.Errorf("%s %v: it ends at granule position %d, want %d", timeline, i, last, want)
			}
		}
	}
}

// A text that began more than is looked through before the interval, and still
// shows, comes along where a text within reach names it, at little cost; where none
// does, there is a warning.
func TestTextFarBefore(t *testing.T) {
	head := append([]byte("PCM     "), 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0x1f, 0x40, 16, 1, 0, 0, 0, 0, 0, 0)
	ident := append([]byte("CMML\x00\x00\x00\x00"), 2, 0, 0, 0)
	ident = binary.LittleEndian.AppendUint64(ident, 1000)
	ident = append(binary.LittleEndian.AppendUint64(ident, 1), 32)
	with := func(times ...int) []byte {
		w, text := &pageWriter{serial: 1}, &pageWriter{serial: 2}
		data := appendHeaders(nil, []headerStream{
			{w: w, packets: [][]byte{head, make([]byte, 8)}},
			{w: text, packets: [][]byte{ident, []byte("<?cmml?>"), []byte("<head/>")}},
		}, nil)
		r := rand.New(rand.NewPCG(1, 1))
		before := int64(0) // each names the one before it
		for second := range 1000 {
			if slices.Contains(times, second) {
				at := int64(second) * 1000
				cue := fmt.Sprintf("<clip id='%d'/>", second)
				data = text.flush(text.add(data, piece{data: []byte(cue), begins: true, ends: true}, 0), before<<32|(at-before), 0)
				before = at
			}
			data = w.flush(w.add(data, piece{data: noise(r, 16000, 1), begins: true, ends: true}, 0), int64(second+1)*8000, eosIf(second == 999))
		}
		return text.flush(text.add(data, piece{begins: true, ends: true}, 0), 1000_000<<32, flagEOS)
	}
	for _, tt := range []struct {
		name  string
		times []int
		a, b  float64
		want  []int // -1: a warning
	}{
		{"named by one in the clip", []int{10, 300, 540}, 500, 560, []int{300, 540}},
		{"named by one behind the clip", []int{10, 300, 540}, 500, 500.5, []int{300}},
		{"named by one before it", []int{10, 480, 540}, 500, 560, []int{480, 540}},
		{"named by none", []int{10, 300, 900}, 500, 560, []int{-1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := over(t, seektest.New(with(tt.times...)), formats.Env{})
			plan, err := o.Plan(t.Context(), formats.Selection{Interval: part(tt.a, tt.b)})
			if err != nil {
				t.Fatal(err)
			}
			raw := o.clip(t, part(tt.a, tt.b))
			for _, second := range []int{10, 300, 480, 540, 900} {
				cue := fmt.Sprintf("<clip id='%d'/>", second)
				if has, want := bytes.Contains(raw, []byte(cue)), slices.Contains(tt.want, second); has != want {
					t.Errorf("%s is carried: %v, want %v", cue, has, want)
				}
			}
			if warned := len(plan.Warnings) > 0; warned != slices.Contains(tt.want, -1) {
				t.Errorf("warnings: %v", plan.Warnings)
			}
			if n := o.source.Delivered(); n > 4<<20 {
				t.Errorf("%d bytes", n)
			}
		})
	}
}
