package ogg

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

// opening is a medium over a source in memory.
type opening struct {
	formats.Media
	window *seek.Window
	source *seektest.Source
	gate   *gate
}

// over opens a medium as the client does, over a gate that counts rounds.
func over(t testing.TB, s *seektest.Source, env formats.Env) *opening {
	t.Helper()
	o := &opening{source: s, gate: &gate{Source: s}}
	o.window = seek.NewWindow(t.Context(), o.gate, 0)
	t.Cleanup(func() { o.window.Close() })
	o.window.Prefetch(seek.Request{Range: seek.Suffix(tailChunk), Purpose: seek.Tail})
	if _, err := o.window.ReadRange(t.Context(), seek.Range{Length: headChunk}, seek.Head, ""); err != nil {
		t.Fatal(err)
	}
	m, err := Format{}.Open(t.Context(), o.window, env)
	if err != nil {
		t.Fatal(err)
	}
	o.Media = m
	return o
}

// OpenSource makes the medium the Opener of its own plans, as the client does.
func (o *opening) OpenSource(context.Context, string) (seek.Source, error) { return o.window, nil }

// clip returns the bytes of a clip.
func (o *opening) clip(t testing.TB, i fragment.Interval) []byte {
	t.Helper()
	p, err := o.Plan(t.Context(), formats.Selection{Interval: i})
	if err != nil {
		t.Fatalf("planning %v: %v", i, err)
	}
	r := seek.NewReader(t.Context(), p.Parts, o, 0)
	defer r.Close()
	var out bytes.Buffer
	if _, err := r.WriteTo(&out); err != nil {
		t.Fatalf("reading %v: %v", i, err)
	}
	return out.Bytes()
}

func part(a, b float64) fragment.Interval {
	if b < 0 {
		return fragment.From(fragment.FromSeconds(a))
	}
	return fragment.Between(fragment.FromSeconds(a), fragment.FromSeconds(b))
}

// unsized returns a source that tells no length and does not know its end.
func unsized(data []byte) *seektest.Source {
	s := seektest.New(data)
	s.Unsized, s.NoSuffix = true, true
	return s
}

// Clips of a resource of unknown length are those that it would have with one,
// and no more is looked at than they need.
func TestUnknownLength(t *testing.T) {
	steady := opusStream("", 1200, 1, func(int, *rand.Rand) float64 { return 8000 }).data
	pictures := theoraVorbis(t, 60, 1).data
	chained := append(bytes.Clone(steady), opusStream("", 300, 2, func(int, *rand.Rand) float64 { return 8000 }).data...)
	tests := []struct {
		name string
		data []byte
		part fragment.Interval
		far  int64 // beyond this byte nothing is asked for; 0: to the end
	}{
		{"at the beginning", steady, part(1, 3), headChunk},
		{"near the beginning", steady, part(20, 30.5), 16 * headChunk},
		{"far in", steady, part(900, 910), 0},
		{"beyond the end", steady, part(1195, 2000), 0},
		{"to the end", steady, part(1100, -1), 0},
		{"all", steady, part(0, -1), 0},
		{"pictures", pictures, part(20, 25), 0},
		{"pictures to the end", pictures, part(55.5, -1), 0},
		{"across links", chained, part(1190, 1210), 0},
		{"in the second link", chained, part(1400, 1410), 0},
	}
	for _, tt := range tests {
		seektest.Counted(t, tt.name, func(t *testing.T) {
			o := over(t, unsized(tt.data), formats.Env{})
			if i := o.Info(); i.Timed || i.Duration.Sign() != 0 {
				t.Errorf("the duration is %s s before anybody looked", i.Duration)
			}
			opened := o.gate.rounds
			got := o.clip(t, tt.part)
			sized := over(t, seektest.New(tt.data), formats.Env{})
			if most := sized.gate.rounds; opened > most {
				t.Errorf("%d rounds to open, %d where the length is known", opened, most)
			}
			if want := sized.clip(t, tt.part); !bytes.Equal(got, want) {
				t.Errorf("%d bytes, not the %d of a resource whose length is known", len(got), len(want))
			}
			t.Logf("%d rounds to open, %d in all; %d where the length is known", opened, o.gate.rounds, sized.gate.rounds)
			// Steps of 4 doublings and the rounds that divide the last by 5.
			if most := opened + 4 + 4 + 2*budget.OggMostRounds; o.gate.rounds > most {
				t.Errorf("%d rounds, want at most %d", o.gate.rounds, most)
			}
			for _, r := range o.source.Requests() {
				if tt.far > 0 && r.End() > tt.far {
					t.Errorf("asked for %s, beyond what is needed", r.Range)
				}
			}
		})
	}
	o := over(t, unsized(steady), formats.Env{})
	if i, err := o.Inspect(t.Context()); err != nil || !i.Timed || i.Duration.Round(1) != 1200 {
		t.Errorf("inspected: %s s, %v", i.Duration, err)
	}
	if _, err := o.Plan(t.Context(), formats.Selection{Interval: part(1300, 1400)}); !errors.Is(err, formats.ErrPastEnd) {
		t.Errorf("behind the end: %v", err)
	}
}

// Where what was looked at ends, one stream may have more than another: an
// interval that ends between needs more.
func TestUnknownLengthBetweenStreams(t *testing.T) {
	data := theoraVorbis(t, 60, 1).data
	for size := int64(2 * headChunk); size <= 32*headChunk; size *= 2 {
		seen := over(t, seektest.New(data[:size]), formats.Env{}).Media.(*media).links().last()
		less, most := seen.shared().Seconds(), seen.length().Seconds()
		if less >= most {
			t.Fatalf("in %d bytes the streams end together", size)
		}
		i := part(0, (less+most)/2)
		if got, want := over(t, unsized(data), formats.Env{}).clip(t, i), over(t, seektest.New(data), formats.Env{}).clip(t, i); !bytes.Equal(got, want) {
			t.Errorf("%v: %d bytes, want %d", i, len(got), len(want))
		}
	}
}

// endless is an Opus stream of one page of so many bytes a second, computed
// where it is read: it goes on as far as anybody looks.
func endless(page int) seektest.Fill {
	w := &pageWriter{serial: 3}
	head := appendHeaders(nil, []headerStream{{w: w, packets: opusHeaders}}, nil)
	body := make([]byte, page-pageHeader-50*1)
	lacing := bytes.Repeat([]byte{byte(len(body) / 50)}, 50)
	for i := range 50 {
		body[i*len(body)/50] = 0xfc
	}
	return func(p []byte, off int64) {
		n := 0
		if off < int64(len(head)) {
			n = copy(p, head[off:])
		}
		for n < len(p) {
			at := off + int64(n) - int64(len(head))
			i := at / int64(page)
			raw := appendPage(nil, 0, (i+1)*opusRate, 3, uint32(i)+2, lacing, body)
			n += copy(p[n:], raw[at%int64(page):])
		}
	}
}

// A resource that never ends costs few requests: what is early in it is found,
// also after days of it; its end is given up.
func TestEndless(t *testing.T) {
	s := seektest.Virtual(1<<62, endless(pageHeader+50+50*200))
	s.Unsized, s.NoSuffix = true, true
	o := over(t, s, formats.Env{})
	for _, a := range []float64{10, 3600, 35 * 3600, 1e6} {
		p, err := o.Plan(t.Context(), formats.Selection{Interval: part(a, a+10)})
		if err != nil {
			t.Fatalf("at %g: %v", a, err)
		}
		if !p.Presented.Start.Equal(fragment.FromSeconds(a)) || !p.Presented.End.Equal(fragment.FromSeconds(a+10)) {
			t.Errorf("at %g: presented %v", a, p.Presented)
		}
	}
	_, err := o.Plan(t.Context(), formats.Selection{Interval: part(10, -1)})
	var e *formats.Error
	if !errors.As(err, &e) || !errors.Is(err, seek.ErrLimit) || e.Offset <= 0 || e.Hint == "" {
		t.Errorf("%v, want a limit with its offset and a hint", err)
	}
	if n := len(s.Requests()); n > 100 {
		t.Errorf("%d requests", n)
	}
}

// Pages of streams that no first page introduced are not looked through for ever.
func TestNothingIntroduced(t *testing.T) {
	pages := endless(pageHeader + 50 + 50*200)
	s := seektest.Virtual(1<<40, seektest.Fill(func(p []byte, off int64) { pages(p, off+1<<20) }))
	w := seek.NewWindow(t.Context(), s, 0)
	defer w.Close()
	if _, err := (Format{}).Open(t.Context(), w, formats.Env{}); !errors.Is(err, formats.ErrDamaged) {
		t.Errorf("%v, want damage", err)
	}
	if n := len(s.Requests()); n > 40 {
		t.Errorf("%d requests", n)
	}
}

// What is appended to a growing resource is there for the next selection, also
// where a page was cut off or a link has begun.
func TestGrowing(t *testing.T) {
	whole := opusStream("", 600, 1, func(int, *rand.Rand) float64 { return 8000 }).data
	more := append(bytes.Clone(whole), opusStream("", 100, 2, func(int, *rand.Rand) float64 { return 8000 }).data...)
	for _, sized := range []bool{true, false} {
		s := seektest.Virtual(1_500_000, bytes.NewReader(whole))
		s.Growing, s.Unsized = true, !sized
		o := over(t, s, formats.Env{Growing: true})
		if _, err := o.Plan(t.Context(), formats.Selection{Interval: part(400, 410)}); !errors.Is(err, formats.ErrPastEnd) {
			t.Errorf("behind the end: %v", err)
		}
		before := o.clip(t, part(100, 110))
		n := len(s.Requests())
		o.clip(t, part(100, 110))
		for _, r := range s.Requests()[n:] {
			if r.Purpose == seek.Tail {
				t.Error("asked for the length although the interval is known")
			}
		}
		for _, size := range []int{3_000_000, len(whole), len(whole) + 10, len(whole) + 100, len(more)} {
			s.Change(int64(size), bytes.NewReader(more[:size]), `"2"`)
			fixed := over(t, seektest.New(more[:size]), formats.Env{})
			want, err := fixed.Inspect(t.Context())
			if err != nil || !want.Timed {
				t.Fatalf("%d bytes: a duration of %s s, %v", size, want.Duration, err)
			}
			got, err := o.Inspect(t.Context())
			if err != nil || !got.Duration.Equal(want.Duration) || len(got.Chapters) != len(want.Chapters) {
				t.Errorf("%d bytes: %s s in %d links, %v; want %s in %d", size, got.Duration, len(got.Chapters), err, want.Duration, len(want.Chapters))
			}
			last := want.Duration.Seconds()
			for _, i := range []fragment.Interval{part(last-20, -1), part(last-30, last-20), part(100, 110)} {
				if !bytes.Equal(o.clip(t, i), fixed.clip(t, i)) {
					t.Errorf("%d bytes: the clip of %v is not that of a file of that length", size, i)
				}
			}
		}
		if !bytes.Equal(o.clip(t, part(100, 110)), before) {
			t.Error("a clip from before has changed")
		}
	}
}
