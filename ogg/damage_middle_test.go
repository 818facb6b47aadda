package ogg_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/formats/formatstest"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/ogg"
	"github.com/mediafrag/mediafrag/seek"
)

// rawPages cuts an undamaged file into its pages.
func rawPages(data []byte) (pages [][]byte) {
	for len(data) > 0 {
		n := 27 + int(data[26])
		for _, l := range data[27:n] {
			n += int(l)
		}
		pages, data = append(pages, data[:n]), data[n:]
	}
	return pages
}

// damagedMiddle are ways in which the middle of a file may be damaged, before page
// n of those that it has.
var damagedMiddle = []struct {
	name string
	make func(pages [][]byte, n int) [][]byte
	at   int  // a warning names the beginning of page n+at
	lost int  // pages
	hole bool // decoders notice one
	more bool // in a full run only
}{
	{"garbage", func(p [][]byte, n int) [][]byte { return slices.Insert(p, n, bytes.Repeat([]byte("Ogg?OggS"), 125)) }, 0, 0, false, false},
	{"much garbage", func(p [][]byte, n int) [][]byte { return slices.Insert(p, n, bytes.Repeat([]byte("junk"), 50_000)) }, 0, 0, false, true},
	{"much padding", func(p [][]byte, n int) [][]byte { return slices.Insert(p, n, make([]byte, 200_003)) }, 0, 0, false, false},
	{"zeroed page", func(p [][]byte, n int) [][]byte { p[n] = make([]byte, len(p[n])); return p }, 0, 1, true, true},
	{"bad checksum", func(p [][]byte, n int) [][]byte { p[n] = bytes.Clone(p[n]); p[n][300] ^= 1; return p }, 0, 1, true, false},
	{"lost sync", func(p [][]byte, n int) [][]byte { p[n] = p[n][40:]; return p }, 0, 1, true, true},
	{"missing page", func(p [][]byte, n int) [][]byte { return slices.Delete(p, n, n+1) }, 0, 1, true, false},
	{"page twice", func(p [][]byte, n int) [][]byte { return slices.Insert(p, n, p[n]) }, 1, 0, false, false},
	{"pages swapped", func(p [][]byte, n int) [][]byte { p[n], p[n+1] = p[n+1], p[n]; return p }, 1, 1, true, false},
	{"stray page", func(p [][]byte, n int) [][]byte { return slices.Insert(p, n, celtPage(99, 3)) }, 0, 0, false, true},
}

// celtPage is a page with a packet of a few bytes that a checksum fits.
func celtPage(serial, seq uint32) []byte {
	p := append([]byte("OggS\x00\x00"), make([]byte, 20)...)
	binary.LittleEndian.PutUint64(p[6:], 1)
	binary.LittleEndian.PutUint32(p[14:], serial)
	binary.LittleEndian.PutUint32(p[18:], seq)
	p = append(p, 1, 3, 'a', 'b', 'c')
	var sum uint32
	for _, b := range p {
		sum ^= uint32(b) << 24
		for range 8 {
			if sum>>31 == 1 {
				sum = sum<<1 ^ 0x04c11db7
			} else {
				sum <<= 1
			}
		}
	}
	binary.LittleEndian.PutUint32(p[22:], sum)
	return p
}

// TestDamagedMiddle: damage between the ends of a clip, which planning does not
// see, is passed over while the clip is read and reported with its offset, what is
// left plays at its times, and the clip is the same however it is read.
func TestDamagedMiddle(t *testing.T) {
	tools.Need(t, "opusdec", "oggz-validate", "ffmpeg")
	m := madeNamed(t, "opus-music")
	good := rawPages(mustRead(t, m.path(t)))
	n := 2 + 7 // two of headers, and a page a second
	var off int
	for _, p := range good[:n] {
		off += len(p)
	}
	_, clean := mustOpen(t, m.path(t)).cut(t, between(2, 12))
	for _, tt := range damagedMiddle {
		if tt.more && !tools.Full() {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pages := tt.make(slices.Clone(good), n)
			data, at := bytes.Join(pages, nil), off
			for i := range tt.at {
				at += len(pages[n+i])
			}
			o := mustOpenBytes(t, data)
			plan, clip := o.cut(t, between(2, 12))
			if plan.Size < 0 {
				t.Errorf("a clip of unknown size")
			}
			for _, s := range []formats.Selection{between(2, 12), {Interval: between(2, 12).Interval, Form: formats.Verbatim}} {
				if tt.name == "stray page" && s.Form == formats.Verbatim {
					continue // nothing tells that the stream is not the file's
				}
				if text := o.damage(t, s); !strings.Contains(text, fmt.Sprintf("at byte %d:", at)) {
					t.Errorf("%s: nothing names byte %d: %q", s.Form, at, text)
				}
			}
			validate(t, clip)
			want, got := decodeOpus(t, clean), decodeOpus(t, clip)
			gone := tt.lost * 48000
			if tt.hole {
				gone += 3840 // which opusdec leaves out behind a hole
			}
			if lost := (len(want) - len(got)) / 4; lost != gone || gone == 0 && !bytes.Equal(got, want) {
				t.Errorf("opusdec: %d samples are missing, want %d; equal: %v", lost, gone, bytes.Equal(got, want))
			}
			if d := oracle.Decode(t, clip); complaints(d) != "" || len(d.Audio[0].Samples) < (10-tt.lost)*48000 {
				t.Errorf("ffmpeg: %d samples, %s", len(d.Audio[0].Samples), d.Errors)
			}
		})
	}
}

// TestDamagedConformance: a clip with damage in its middle is the same however it is
// read.
func TestDamagedConformance(t *testing.T) {
	m := madeNamed(t, "opus-music")
	good := rawPages(mustRead(t, m.path(t)))
	for _, tt := range damagedMiddle {
		if !tools.Full() && tt.name != "much padding" && tt.name != "page twice" {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			source := seektest.New(bytes.Join(tt.make(slices.Clone(good), 9), nil))
			formatstest.Run(t, formatstest.Case{Format: ogg.Format{}, Source: source, Selections: []formats.Selection{between(2, 12)}})
		})
	}
}

// complaints are ffmpeg's, but for those of pages with a wrong checksum, which keep
// it going where there are none for long.
func complaints(d *oracle.Decoded) (text string) {
	for line := range strings.Lines(d.Errors) {
		if !strings.Contains(line, "CRC mismatch!") && !strings.Contains(line, "Last message repeated") {
			text += line
		}
	}
	return text
}

// damage reads the clip of a selection and returns what was reported meanwhile.
func (o *opened) damage(t testing.TB, s formats.Selection) string {
	t.Helper()
	plan, err := o.Plan(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	r := seek.NewReader(t.Context(), plan.Parts, o, 0)
	defer r.Close()
	if _, err := r.WriteTo(new(bytes.Buffer)); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(r.Damage(), plan.Warnings)
}

func decodeOpus(t testing.TB, path string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "pcm")
	oracle.Run(t, "opusdec", "--quiet", "--force-wav", path, out)
	return mustRead(t, out)
}

// TestDamagedMiddleOfOneTrack: where other streams are left out, so is damage.
func TestDamagedMiddleOfOneTrack(t *testing.T) {
	tools.Need(t, "ffmpeg", "oggz-validate")
	m := madeNamed(t, "theora-vorbis")
	pages := rawPages(mustRead(t, m.path(t)))
	n := len(pages) / 2
	off := len(bytes.Join(pages[:n], nil))
	o := mustOpenBytes(t, bytes.Join(slices.Insert(pages, n, bytes.Repeat([]byte("junk"), 20_000)), nil))
	s := between(1, 12)
	s.Tracks = []string{"2"}
	if text := o.damage(t, s); !strings.Contains(text, fmt.Sprintf("at byte %d: 80000 bytes", off)) {
		t.Errorf("nothing names byte %d: %q", off, text)
	}
	_, clip := o.cut(t, s)
	_, clean := mustOpen(t, m.path(t)).cut(t, s)
	if !bytes.Equal(mustRead(t, clip), mustRead(t, clean)) {
		t.Error("the clip is not that of the undamaged file")
	}
}

// TestHole: of an interval where pages are missing there is nothing, and one that
// begins there begins behind them.
func TestHole(t *testing.T) {
	for _, name := range []string{"vorbis-page-per-packet", "opus-music", "speex"} {
		t.Run(name, func(t *testing.T) {
			m := madeNamed(t, name)
			rate := float64(mustOpen(t, m.path(t)).Info().Tracks[0].SampleRate)
			var pages [][]byte
			for i, p := range rawPages(mustRead(t, m.path(t))) {
				at := float64(int64(binary.LittleEndian.Uint64(p[6:]))) / rate
				if i < 3 || at < 4.5 || at > 9 {
					pages = append(pages, p)
				}
			}
			o := mustOpenBytes(t, bytes.Join(pages, nil))
			if plan, err := o.Plan(t.Context(), between(6, 7)); !errors.Is(err, formats.ErrNothing) {
				t.Errorf("within the hole: %+v, %v", plan, err)
			}
			plan, clip := o.cut(t, between(3.2, 6))
			if to := plan.Presented.End.Seconds(); to < 3.9 || to > 4.6 {
				t.Errorf("where the hole begins: presented %v", plan.Presented)
			}
			validate(t, clip)
			if d := oracle.Decode(t, clip); d.Errors != "" || float64(len(d.Audio[0].Samples)) < 0.7*float64(d.Audio[0].Rate) {
				t.Errorf("where the hole begins: %d samples, %s", len(d.Audio[0].Samples), d.Errors)
			}
			plan, clip = o.cut(t, between(6, 12))
			if from := plan.Presented.Start.Seconds(); from < 7 || from > 10.1 || plan.Presented.End.Seconds() < 11.9 {
				t.Errorf("presented %v", plan.Presented)
			}
			validate(t, clip)
		})
	}
}

// TestLargePages: pages may be so large that hardly any probe shows a whole one.
// What stands behind the last, or instead of it, costs a few looks; what stands
// between them, so that programs find none in 64 KiB, does not end the clip.
func TestLargePages(t *testing.T) {
	m := madeNamed(t, "flac-ffmpeg")
	whole := mustRead(t, m.path(t))
	pages := rawPages(whole)
	if n := len(pages[5]); n < 50_000 {
		t.Fatalf("a page has %d bytes", n)
	}
	junk := bytes.Repeat([]byte("junk"), 2250)
	for name, data := range map[string][]byte{
		"last page cut off":   whole[:len(whole)-100],
		"garbage behind":      slices.Concat(whole, junk),
		"padding behind":      slices.Concat(whole, make([]byte, 70_000)),
		"much padding behind": slices.Concat(whole, make([]byte, 300_000)),
	} {
		seektest.Counted(t, name, func(t *testing.T) {
			o := slowly(t, data)
			if trips := o.Totals.Transfer().RoundTrips; trips > 1+budget.OggChainRounds {
				t.Errorf("opening took %d round trips: %v", trips, o.Source.Requests())
			}
			_, clip := o.cut(t, between(3, 4.001))
			m.compareWhole(t, m.path(t), clip, 3, 4.001)
		})
	}
	n := 7
	for name, damaged := range map[string][][]byte{
		"garbage":    slices.Insert(slices.Clone(pages), n, junk),
		"page twice": slices.Insert(slices.Clone(pages), n, pages[n-1]),
	} {
		t.Run(name, func(t *testing.T) {
			_, clip := mustOpenBytes(t, bytes.Join(damaged, nil)).cut(t, between(1, 12))
			m.compareWhole(t, m.path(t), clip, 1, 12)
			if d := oracle.Decode(t, clip); complaints(d) != "" || len(d.Audio[0].Samples) < 11*48000 {
				t.Errorf("ffmpeg: %d samples, %s", len(d.Audio[0].Samples), d.Errors)
			}
		})
	}
}
