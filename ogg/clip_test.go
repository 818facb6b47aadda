package ogg_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/formats/formatstest"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/mediatest"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/ogg"
	"github.com/mediafrag/mediafrag/seek"
)

// TestConformance runs the suite that every container passes.
func TestConformance(t *testing.T) {
	for _, file := range []string{"vorbis.ogg", "opus.opus", "flac.oga", "speex.spx", "theora-vorbis.ogv", "vp8.ogv", "kate-vorbis.ogg"} {
		t.Run(file, func(t *testing.T) {
			data := mustRead(t, "testdata/"+file)
			selections := []formats.Selection{
				between(0.2, 0.6), between(0, -1), between(0.7, 0.95), between(0.25, 0.26),
			}
			for _, s := range selections[:2] {
				s.Timeline = formats.Original
				selections = append(selections, s)
				s.Timeline, s.Form = "", formats.Verbatim
				selections = append(selections, s)
			}
			formatstest.Run(t, formatstest.Case{Format: ogg.Format{}, Source: seektest.New(data), Selections: selections})
		})
	}
}

// TestVerbatim: a verbatim clip is bytes of the original, the header and one run
// of whole pages, and plays.
func TestVerbatim(t *testing.T) {
	m := files[0]
	path := m.path(t)
	o, data := mustOpen(t, path), mustRead(t, path)
	sel := between(5.1, 7.3)
	sel.Form = formats.Verbatim
	plan, clip := o.cut(t, sel)
	at := 0
	got := mustRead(t, clip)
	for _, p := range plan.Parts {
		if p.Literal != nil || p.Rewrite != nil && p.Rewrite.Name() != "ogg-check" {
			t.Fatalf("%+v is no range of the original", p.Request)
		}
		if !bytes.Equal(got[at:at+int(p.Length)], data[p.Offset:p.End()]) {
			t.Errorf("%s differs from the original", p.Range)
		}
		at += int(p.Length)
	}
	if plan.Covered.Start.Seconds() > 5.1 || plan.Covered.End.Seconds() < 7.3 || !plan.Presented.Start.Equal(plan.Covered.Start) {
		t.Errorf("covered %v, presented %v", plan.Covered, plan.Presented)
	}
	if d := oracle.Decode(t, clip); d.Errors != "" || len(d.Audio[0].Samples) == 0 {
		t.Errorf("ffmpeg: %s", d.Errors)
	}
}

// TestOriginalTimeline: packets keep the times that they have in the original.
func TestOriginalTimeline(t *testing.T) {
	for _, m := range files {
		if m.more {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			path := m.path(t)
			sel := between(5.12, 7.36)
			sel.Timeline = formats.Original
			_, clip := mustOpen(t, path).cut(t, sel)
			streams := []string{"a:0"}
			if m.full != nil {
				streams = append(streams, "v:0")
			}
			for _, stream := range streams {
				times := map[string]float64{}
				for _, f := range frames(t, path, stream) {
					times[f.hash] = f.from
				}
				all := frames(t, clip, stream)
				if len(all) < 3 {
					t.Fatalf("%d packets", len(all))
				}
				if m.codec == "speex" || m.codec == "flac" && m.full != nil {
					continue // ffprobe counts their packets from 0
				}
				for _, f := range all[1:] { // of the first, ffmpeg guesses the length
					if want := times[f.hash]; math.Abs(f.from-want) > 0.0011 && stream == "a:0" && len(times) == len(frames(t, path, stream)) {
						t.Errorf("%s: a packet is at %g, in the original at %g", stream, f.from, want)
						break
					}
				}
			}
		})
	}
}

// TestChained: intervals in one link, across a boundary and over whole links are
// the samples that the links give one after the other.
func TestChained(t *testing.T) {
	tools.Need(t, "ffmpeg", "oggenc", "oggdec")
	var chain, pcm []byte
	serials := []string{"7", "8", "9"}
	for i, s := range serials {
		part := cached("link"+s+string(rune('a'+i))+".ogg", func(path string) {
			wav := path + ".wav"
			oracle.FFmpeg(t, "-ss", string(rune('0'+i)), "-t", "4", "-i", sound(t, 48000, 2, seconds), "-bitexact", wav)
			oracle.Run(t, "oggenc", "-Q", "-s", s, "-q", "3", "-o", path, wav)
		})
		chain = append(chain, mustRead(t, part)...)
		out := filepath.Join(t.TempDir(), "pcm")
		oracle.Run(t, "oggdec", "-Q", "-R", "-o", out, part)
		pcm = append(pcm, mustRead(t, out)...)
	}
	for _, i := range []interval{{1, 2.5}, {3.5, 4.5}, {3.25, 8.75}, {9, -1}, {0, -1}} {
		t.Run(name(i.a, i.b), func(t *testing.T) {
			o := mustOpenBytes(t, chain)
			plan, clip := o.cut(t, between(i.a, i.b))
			out := filepath.Join(t.TempDir(), "pcm")
			oracle.Run(t, "oggdec", "-Q", "-R", "-o", out, clip)
			end := plan.Requested.End.Seconds()
			want := pcm[int(i.a*48000)*4 : int(math.Round(end*48000))*4]
			if got := mustRead(t, out); !bytes.Equal(got, want) {
				t.Errorf("oggdec: %d samples that differ from the %d wanted", len(got)/4, len(want)/4)
			}
			validate(t, clip)
		})
	}
	// The same file again: its serial numbers are used once more, but not in a clip.
	o := mustOpenBytes(t, append(bytes.Clone(chain), chain...))
	info, err := o.Inspect(t.Context())
	if err != nil || len(info.Chapters) != 6 || info.Duration.Seconds() != 24 {
		t.Errorf("%d links of %s s, %v", len(info.Chapters), info.Duration, err)
	}
	for _, i := range []interval{{3, 17}, {11.5, 23}, {5, 19}} {
		_, clip := o.cut(t, between(i.a, i.b))
		seen := map[string]bool{}
		for _, p := range rawPages(mustRead(t, clip)) {
			if p[5]&2 != 0 {
				if serial := string(p[14:18]); seen[serial] {
					t.Errorf("%v: two links have the serial number %x", i, serial)
				} else {
					seen[serial] = true
				}
			}
		}
		out := filepath.Join(t.TempDir(), "pcm")
		oracle.Run(t, "oggdec", "-Q", "-R", "-o", out, clip)
		all := slices.Concat(pcm, pcm)
		if want := all[int(i.a*48000)*4 : int(i.b*48000)*4]; !bytes.Equal(mustRead(t, out), want) {
			t.Errorf("%v: oggdec: not the %d samples wanted", i, len(want)/4)
		}
		validate(t, clip)
	}
}

// TestMixedChain: links with other kinds of streams than the first give theirs,
// unless tracks were chosen; where no link has any, that is an error.
func TestMixedChain(t *testing.T) {
	pictures := mustOpen(t, "testdata/vp8.ogv").Info().Duration
	chain := append(mustRead(t, "testdata/vp8.ogv"), mustRead(t, "testdata/vorbis.ogg")...)
	o := mustOpenBytes(t, chain)
	sel := formats.Selection{Interval: fragment.Between(pictures.Add(fragment.FromSeconds(0.25)), pictures.Add(fragment.FromSeconds(0.75)))}
	_, clip := o.cut(t, sel)
	_, want := mustOpen(t, "testdata/vorbis.ogg").cut(t, between(0.25, 0.75))
	if !bytes.Equal(mustRead(t, clip), mustRead(t, want)) {
		t.Error("the clip is not that of the second link alone")
	}
	sel.Tracks = []string{o.Info().Tracks[0].ID}
	if _, err := o.Plan(t.Context(), sel); !errors.Is(err, formats.ErrNothing) {
		t.Errorf("pictures where there is sound alone: %v", err)
	}
}

// TestChainRounds: the end of each link is found in few rounds.
func TestChainRounds(t *testing.T) {
	if !tools.Full() {
		t.Skip("in a full run only: TestChainBoundaries has more of the same without encoders")
	}
	synctest.Test(t, func(t *testing.T) {
		tools.Need(t, "ffmpeg", "opusenc")
		var chain []byte
		for _, serial := range []string{"1", "2", "3", "4"} {
			part := cached("chain"+serial+".opus", func(path string) {
				oracle.Run(t, "opusenc", "--quiet", "--serial", serial, "--bitrate", "256", sound(t, 48000, 2, seconds*2), path)
			})
			chain = append(chain, mustRead(t, part)...)
		}
		o := slowly(t, chain)
		opened := o.Totals.Transfer().RoundTrips
		if _, err := o.Inspect(t.Context()); err != nil {
			t.Fatal(err)
		}
		trips := o.Totals.Transfer().RoundTrips - opened
		t.Logf("%d bytes, %d round trips for 3 boundaries", len(chain), trips)
		if trips > 3*budget.OggChainRounds {
			t.Errorf("%d round trips, want at most %d for each boundary", trips, budget.OggChainRounds)
		}
	})
}

// slowly opens data over a source that takes its time, so that what is asked for
// at once is on its way at once.
func slowly(t testing.TB, data []byte) *opened {
	t.Helper()
	source := seektest.New(data)
	source.Latency = 5 * time.Millisecond
	o, err := open(t, source, formats.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestDamage: what is no page is passed over, with a warning that states where,
// and what is cut is right.
func TestDamage(t *testing.T) {
	tools.Need(t, "ffmpeg", "oggdec")
	path := files[0].path(t)
	data := mustRead(t, path)
	out := filepath.Join(t.TempDir(), "pcm")
	oracle.Run(t, "oggdec", "-Q", "-R", "-o", out, path)
	pcm := mustRead(t, out)
	tag := append([]byte("ID3\x04\x00\x00\x00\x00\x08\x00"), make([]byte, 1024)...)
	art := append([]byte("ID3\x04\x00\x00\x00\x0c\x00\x00"), make([]byte, 12<<14)...) // 192 KiB
	middle := bytes.Index(data[len(data)/2:], []byte("OggS")) + len(data)/2
	tests := []struct {
		name string
		data []byte
		info seek.Info
		at   int // a warning names this byte; -1: none is needed
	}{
		{"ID3 tag in front", append(bytes.Clone(tag), data...), seek.Info{}, -1},
		{"ID3 tag longer than the head", append(art, data...), seek.Info{Name: "http://h/a.ogg"}, -1},
		{"garbage in front", append(bytes.Repeat([]byte("junk"), 50), data...), seek.Info{Name: "http://h/a.ogg"}, 0},
		{"much garbage in front", append(bytes.Repeat([]byte("junk"), 50_000), data...), seek.Info{Name: "http://h/a.ogg"}, 0},
		{"padding behind", append(bytes.Clone(data), make([]byte, 3000)...), seek.Info{}, -1},
		{"no last page", data[:bytes.LastIndex(data, []byte("OggS"))], seek.Info{}, -1},
		{"last page cut off", data[:len(data)-100], seek.Info{}, -1},
		{"garbage in the middle", append(append(bytes.Clone(data[:middle]), make([]byte, 500)...), data[middle:]...), seek.Info{}, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !(ogg.Format{}).Detect(tt.data[:min(len(tt.data), mediatest.Ends)], tt.info) {
				t.Fatal("not recognised")
			}
			o := mustOpenBytes(t, tt.data)
			plan, clip := o.cut(t, between(2.5, 4.25))
			cut := filepath.Join(t.TempDir(), "pcm")
			oracle.Run(t, "oggdec", "-Q", "-R", "-o", cut, clip)
			if want := pcm[int(2.5*48000)*4 : int(4.25*48000)*4]; !bytes.Equal(mustRead(t, cut), want) {
				t.Errorf("the clip is not [2.5, 4.25)")
			}
			warnings := ""
			for _, w := range append(plan.Warnings, o.Info().Warnings...) {
				warnings += w.String() + "\n"
			}
			if tt.at >= 0 && !strings.Contains(warnings, "at byte 0") {
				t.Errorf("no warning names byte %d: %q", tt.at, warnings)
			}
		})
	}
}

// TestLateStart: a stream whose granule positions begin far from 0 is cut on its
// own timeline, and its clock is stated.
func TestLateStart(t *testing.T) {
	path := files[0].path(t)
	sel := between(6, -1)
	sel.Timeline = formats.Original
	_, late := mustOpen(t, path).cut(t, sel)
	o := mustOpenBytes(t, mustRead(t, late))
	if start := o.Info().StartTime.Seconds(); math.Abs(start-6) > 0.1 || start == 0 {
		t.Fatalf("start time %g, want about 6", start)
	}
	start := o.Info().StartTime
	_, clip := o.cut(t, formats.Selection{Interval: fragment.Between(fragment.Seconds(8).Sub(start), fragment.Seconds(9).Sub(start))})
	compareFFmpeg(t, path, clip, 8, 9, oracle.Exact)
}

// TestCosts: what a clip may cost on a medium in a file that is not small.
func TestCosts(t *testing.T) {
	for _, m := range files {
		if m.more || m.silk {
			continue
		}
		seektest.Counted(t, m.name, func(t *testing.T) {
			o := slowly(t, mustRead(t, m.path(t)))
			opened := o.Totals.Transfer()
			most := 1
			if m.codec == "flac" && m.full != nil {
				most = 2 // its first page of sound ends behind the first 64 KiB
			}
			if opened.RoundTrips > most || opened.Requests > most+1 {
				t.Errorf("opening took %d round trips, %d requests; want 1, 2: %v", opened.RoundTrips, opened.Requests, o.Source.Requests())
			}
			plan, _ := o.cut(t, between(5.5, 8))
			got := o.Totals.Transfer()
			probes := int64(0)
			for _, r := range o.Source.Requests() {
				if r.Purpose == seek.Probe {
					probes += r.Delivered
				}
			}
			if most := budget.Bytes(plan.Needed) + probes; got.Bytes > most {
				t.Errorf("%d bytes for %d needed and %d of probes, want at most %d", got.Bytes, plan.Needed, probes, most)
			}
			if got.RoundTrips > 2+budget.OggMostRounds {
				t.Errorf("%d round trips", got.RoundTrips)
			}
		})
	}
}

// TestKate: the last cue before a clip and those in it are carried, with the
// times of the clip.
func TestKate(t *testing.T) {
	o := mustOpen(t, "testdata/kate-vorbis.ogg")
	if k := o.Info().Tracks[0]; k.Kind != formats.Subtitle || k.Codec != "kate" {
		t.Fatalf("%+v", k)
	}
	_, clip := o.cut(t, between(0.5, 0.95))
	data := mustRead(t, clip)
	at := bytes.Index(data, []byte("Hello"))
	if at < 0 {
		t.Fatal("the cue that shows at the beginning is missing")
	}
	cue := data[at-29:]
	if from, length := binary.LittleEndian.Uint64(cue[1:]), binary.LittleEndian.Uint64(cue[9:]); cue[0] != 0 || from != 0 || length != 400 {
		t.Errorf("it shows at %d for %d ms, want 0 for 400", from, length)
	}
	if bytes.Contains(data, []byte("World")) {
		t.Error("a cue behind the clip is in it")
	}
	validate(t, clip)
	// The times inside the text stay where granule positions do.
	sel := between(0.5, 0.95)
	sel.Timeline = formats.Original
	_, clip = o.cut(t, sel)
	packet := func(data []byte) []byte {
		at := bytes.Index(data, []byte("Hello"))
		return data[at-29 : at+5]
	}
	if got, want := packet(mustRead(t, clip)), packet(mustRead(t, "testdata/kate-vorbis.ogg")); !bytes.Equal(got, want) {
		t.Errorf("with the original's times the text is %x, want %x", got, want)
	}
	validate(t, clip)
}

// TestRefusals: the errors for what cannot be selected.
func TestRefusals(t *testing.T) {
	o := mustOpen(t, "testdata/vorbis.ogg")
	if _, err := o.Plan(t.Context(), between(99, 100)); !errors.Is(err, formats.ErrPastEnd) {
		t.Errorf("past the end: %v", err)
	}
	sel := between(0, 1)
	sel.Tracks = []string{"9"}
	if _, err := o.Plan(t.Context(), sel); !errors.Is(err, formats.ErrNoTrack) {
		t.Errorf("unknown track: %v", err)
	}
	sel = between(0, 1)
	sel.Layout = "nonsense"
	if _, err := o.Plan(t.Context(), sel); !errors.Is(err, formats.ErrUnsupported) {
		t.Errorf("unknown layout: %v", err)
	}
	celt := []byte("OggS\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x08CELT    ")
	_, err := open(t, seektest.New(celt), formats.Env{})
	if !errors.Is(err, formats.ErrDamaged) { // its checksum is wrong, too
		t.Errorf("CELT: %v", err)
	}
}

// TestPicturesFirst: the first pages of pictures come before those of sound, also
// where the original has them behind.
func TestPicturesFirst(t *testing.T) {
	data := mustRead(t, "testdata/theora-vorbis.ogv")
	length := func(page []byte) (n int) {
		n = 27 + int(page[26])
		for _, l := range page[27:n] {
			n += int(l)
		}
		return n
	}
	first := length(data)
	second := length(data[first:])
	swapped := slices.Concat(data[first:first+second], data[:first], data[first+second:])
	_, clip := mustOpenBytes(t, swapped).cut(t, between(0.2, 1.2))
	validate(t, clip)
	if !bytes.Contains(mustRead(t, clip)[:200], []byte("\x80theora")) {
		t.Error("the first pages are not there")
	}
}

// TestUnsized: of a clip that leaves out a stream's pages nobody knows the length
// before it was read; what needs it says so.
func TestUnsized(t *testing.T) {
	tools.Need(t, "ffmpeg")
	o := mustOpen(t, madeNamed(t, "theora-vorbis").path(t))
	sel := between(1, 12)
	sel.Tracks = []string{"2"}
	plan, _ := o.cut(t, sel)
	if plan.Size >= 0 {
		t.Fatalf("a size of %d", plan.Size)
	}
	r := seek.NewReader(t.Context(), plan.Parts, o, 0)
	defer r.Close()
	if _, err := r.Seek(0, io.SeekEnd); !errors.Is(err, seek.ErrUnsized) {
		t.Errorf("Seek from the end: %v", err)
	}
	if _, err := r.ReadAt(make([]byte, 1), 1<<40); !errors.Is(err, seek.ErrUnsized) {
		t.Errorf("ReadAt: %v", err)
	}
}

// TestOneTrack: the pages of streams that are not selected are left out.
func TestOneTrack(t *testing.T) {
	path := "testdata/theora-vorbis.ogv"
	o := mustOpen(t, path)
	for _, track := range o.Info().Tracks {
		sel := between(0.2, 1.2)
		sel.Tracks = []string{track.ID}
		plan, clip := o.cut(t, sel)
		validate(t, clip)
		if len(plan.Tracks) != 1 || len(mustOpen(t, clip).Info().Tracks) != 1 {
			t.Errorf("%s: not one track", track.Codec)
		}
	}
}

// TestWithinOnePacket: of an interval within one packet of Vorbis the clip begins at
// the sample and ends with the packet, and decoders have nothing to complain of.
func TestWithinOnePacket(t *testing.T) {
	tools.Need(t, "ffmpeg", "oggdec")
	path := files[0].path(t)
	out := filepath.Join(t.TempDir(), "pcm")
	oracle.Run(t, "oggdec", "-Q", "-R", "-o", out, path)
	pcm := mustRead(t, out)
	o := mustOpen(t, path)
	stuck := 0
	for _, a := range []float64{1.5, 5.001, 7.7, 9.25} {
		plan, clip := o.cut(t, between(a, a+0.001))
		validate(t, clip)
		if d := oracle.Decode(t, clip); d.Errors != "" {
			t.Errorf("at %g, ffmpeg: %s", a, d.Errors)
		}
		oracle.Run(t, "oggdec", "-Q", "-R", "-o", out, clip)
		got := mustRead(t, out)
		from, to := int(math.Round(a*48000)), int(plan.Presented.End.Round(48000))
		if want := pcm[from*4 : to*4]; !bytes.Equal(got, want) || to < from+48 {
			t.Errorf("at %g, oggdec: %d samples that are not the %d presented", a, len(got)/4, to-from)
		}
		if to > from+48 {
			stuck++
		}
	}
	if stuck == 0 {
		t.Error("no interval is within one packet")
	}
}

// TestGarbageInFront: a first page behind as much as 200 KB of something else takes
// one more look; where there is none at all, that is soon found out.
func TestGarbageInFront(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		front := bytes.Repeat([]byte("junk"), 50_000)
		o := slowly(t, append(front, mustRead(t, "testdata/vorbis.ogg")...))
		if got := o.Totals.Transfer(); got.RoundTrips > 2 {
			t.Errorf("opening took %d round trips: %v", got.RoundTrips, o.Source.Requests())
		}
		w := o.Info().Warnings
		if len(w) != 1 || !strings.Contains(w[0].Reason, "at byte 0: 200000 bytes") {
			t.Errorf("%v", w)
		}
		source := seektest.Virtual(1<<30, seektest.Fill(func(p []byte, _ int64) { clear(p) }))
		if _, err := open(t, source, formats.Env{}); !errors.Is(err, formats.ErrDamaged) || source.Delivered() > 4<<20 {
			t.Errorf("a gigabyte without a page: %v after %d bytes", err, source.Delivered())
		}
	})
}
