package webm_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// row is films that were put one behind the other.
type row struct {
	films  []*written
	starts []int64 // ms
	at     []int64 // bytes
	whole  *written
}

func rowOf(films ...film) *row {
	r := &row{}
	var begin int64
	for _, f := range films {
		w := f.write()
		r.starts = append(r.starts, begin)
		if r.films = append(r.films, w); r.whole == nil {
			one := *w
			r.whole = &one
			r.whole.data = nil
			r.whole.pictures, r.whole.sounds = nil, nil
		}
		r.at = append(r.at, int64(len(r.whole.data)))
		r.whole.data = append(r.whole.data, w.data...)
		for _, p := range w.pictures {
			p.at += begin - f.start + films[0].start
			r.whole.pictures = append(r.whole.pictures, p)
		}
		for _, p := range w.sounds {
			p.at += begin - f.start + films[0].start
			r.whole.sounds = append(r.whole.sounds, p)
		}
		begin += int64(f.seconds) * 1000
	}
	r.starts = append(r.starts, begin)
	return r
}

// check compares a clip of [a, b), in ms, with what it must have of which films.
func (r *row) check(t *testing.T, clip []byte, a, b int64) {
	t.Helper()
	got := readBack(t, clip)
	for i, w := range r.films {
		if a >= r.starts[i] && b <= r.starts[i+1] {
			w.compare(t, got, a-r.starts[i], b-r.starts[i])
			return
		}
	}
	r.whole.compare(t, got, a, b)
}

func (f film) of(seconds, bytes int) film {
	f.seconds, f.bytes = seconds, bytes
	return f
}

// TestChain cuts files that were put one behind the other: within each, over each
// boundary, and over all. What lies in the first costs as much as if it stood alone.
func TestChain(t *testing.T) {
	for _, tt := range []struct {
		name        string
		film        film
		trips, over int // to the first media byte, within the first and over its end
	}{
		{"cues at the end", film{}, budget.TripsWebMFar, budget.TripsWebMFar + 2},
		{"cues in front", film{index: "front"}, budget.TripsWebM, budget.TripsWebMFar},
		{"no cues", film{index: "none"}, budget.TripsWebMSearch, budget.TripsWebMSearch + 1},
		{"keyframes inside clusters", film{midKey: true, laced: true, index: "front"}, budget.TripsWebM, budget.TripsWebMFar},
		{"sound alone", film{pictureless: true, index: "front"}, budget.TripsWebMFar, budget.TripsWebMFar + 1},
		{"pictures alone", film{soundless: true, index: "front"}, budget.TripsWebM, budget.TripsWebMFar},
	} {
		seektest.Counted(t, tt.name, func(t *testing.T) {
			r := rowOf(tt.film.of(20, 2000), tt.film.of(6, 1500), tt.film.of(9, 1800))
			for _, i := range []interval{{9.013, 13.513}, {0, 20}, {18.513, 23.5}, {20, 23}, {22.5, 25}, {22.5, 30.5}, {15.5, 31.013}, {19, 26}, {0, 35}, {28.013, -1}, {13, -1}, {33.5, 100}} {
				o := openSlow(t, r.whole.data)
				plan, data := o.Clip(t, i.selection())
				to := min(int64(i.b*1000), 35_000)
				if i.b < 0 {
					to = 35_000
				}
				r.check(t, data, int64(i.a*1000), to)
				if want := fragment.Between(fragment.FromSeconds(i.a), fragment.Ticks(to, 1000)); plan.Requested.String() != want.String() || !plan.Presented.End.Equal(want.End) {
					t.Errorf("%v: requested %v, presented %v", i, plan.Requested, plan.Presented)
				}
				got := o.Totals.Transfer()
				most := tt.trips
				if to > 20_000 {
					most = tt.over
				}
				if to > 26_000 { // each is opened once those before it are known
					most++
				}
				if got.FirstMediaTrips > most {
					t.Errorf("%v: %d round trips to the first media byte, want at most %d", i, got.FirstMediaTrips, most)
				}
				if most := budget.Bytes(plan.Needed) + probed(o) + 2*64<<10*int64(len(r.films)); got.Bytes > most {
					t.Errorf("%v: %d bytes, want at most %d", i, got.Bytes, most)
				}
				for _, q := range o.Source.Requests() {
					if end := r.at[1]; to <= 20_000 && q.Delivered > 0 && q.Offset > end && q.Offset < int64(len(r.whole.data))-64<<10 {
						t.Errorf("%v: %v was read behind the first", i, q.Range)
					}
				}
			}
			if _, err := mustOpen(t, r.whole.data).Plan(t.Context(), seconds(35, 36)); !pastEnd(err, 35) {
				t.Errorf("behind the end: %v", err)
			}
		})
	}
}

// TestChainClocks: where a Segment's own clock begins, and how long its Clusters are,
// changes nothing of when it is shown.
func TestChainClocks(t *testing.T) {
	for name, films := range map[string][]film{
		"later":         {{}, {start: 7000}},
		"earlier":       {{start: 7000}, {start: 3000}},
		"long clusters": {{bytes: 2001}, {gop: 800, bytes: 100}},
	} {
		r := rowOf(films[0].of(20, films[0].bytes), films[1].of(64, cmp.Or(films[1].bytes, 1500)))
		for _, timeline := range []formats.Timeline{"", formats.Original} {
			s := seconds(18.513, 56.5)
			s.Timeline = timeline
			_, data := mustOpen(t, r.whole.data).Clip(t, s)
			got := readBack(t, data)
			if timeline == formats.Original {
				zero := int64(18_000) + films[0].start
				for _, frames := range [][]shot{got.pictures, got.sound} {
					for i := range frames {
						frames[i].at -= zero
					}
				}
				got.sound = slices.DeleteFunc(got.sound, func(p shot) bool { return p.at < -got.delay/1e6 })
				for at, pos := range got.cues {
					delete(got.cues, at)
					got.cues[at-zero] = pos
				}
			}
			t.Run(name+string(timeline), func(t *testing.T) { r.whole.compare(t, got, 18_513, 56_500) })
		}
	}
}

func pastEnd(err error, seconds int64) bool {
	past := (*formats.PastEndError)(nil)
	return errors.As(err, &past) && past.Duration.Equal(fragment.Seconds(seconds))
}

// TestChainInfo: the duration is that of all, and each is listed with its chapters
// and tags. What is known without a look behind the first is no promise.
func TestChainInfo(t *testing.T) {
	chapter := func(uid uint64, title string) func(*written) []byte {
		return func(*written) []byte {
			atom := el(0xB6, num(0x73C4, uid), num(0x91, 1e9), num(0x92, 3e9), el(0x80, el(0x85, []byte(title)), el(0x437C, []byte("eng"))))
			tag := el(0x1254C367, el(0x7373, el(0x63C0), el(0x67C8, el(0x45A3, []byte("ARTIST")), el(0x4487, []byte(title)))))
			return slices.Concat(el(0x1043A770, el(0x45B9, num(0x45BC, 5), atom)), tag)
		}
	}
	r := rowOf(film{seconds: 20, index: "front", front: chapter(7, "one")}, film{seconds: 6, index: "front", front: chapter(7, "two")})
	o := mustOpen(t, r.whole.data)
	if i := o.Info(); !i.Estimated || !i.Duration.Equal(fragment.Seconds(20)) {
		t.Errorf("%v s, estimated %v, before it is known", i.Duration, i.Estimated)
	}
	i, err := o.Inspect(t.Context())
	if err != nil || !i.Timed || i.Estimated || !i.Duration.Equal(fragment.Seconds(26)) || len(i.Warnings) > 0 {
		t.Errorf("%v s, %v, %v", i.Duration, i.Warnings, err)
	}
	var got []string
	for _, c := range i.Chapters {
		got = append(got, fmt.Sprint(c.ID, " ", c.Title, " ", c.Interval))
	}
	want := []string{"segment1 segment1 [0, 20)", "7 one [1, 3)", "segment2 segment2 [20, 26)", "7 two [21, 23)"}
	if !slices.Equal(got, want) {
		t.Errorf("chapters %q, want %q", got, want)
	}
	_, clip := o.Clip(t, seconds(0, 26))
	if n := bytes.Count(clip, []byte("ARTIST")); n != 2 {
		t.Errorf("%d tags, want those of both", n)
	}
	var chapters []string
	for _, c := range mustOpen(t, clip).Info().Chapters {
		chapters = append(chapters, fmt.Sprint(c.ID, " ", c.Title, " ", c.Interval))
	}
	if want := []string{"7 one [1, 3)", "8 two [21, 23)"}; !slices.Equal(chapters, want) {
		t.Errorf("chapters of the clip %q, want %q", chapters, want)
	}
}

// TestChainRefused: an interval over files that do not go together is refused by
// the place and time at which they meet; in each of them, and verbatim, it is not.
func TestChainRefused(t *testing.T) {
	r := rowOf(film{seconds: 20, index: "front"}, film{seconds: 6, index: "front", soundless: true}, film{seconds: 6, index: "front", scale: 500_000})
	o := mustOpen(t, r.whole.data)
	for n, i := range []interval{{18, 22}, {24, 30}} {
		_, err := o.Plan(t.Context(), i.selection())
		var e *formats.Error
		if !errors.As(err, &e) || !errors.Is(err, formats.ErrUnsupported) || e.Offset != r.at[n+1] || !strings.Contains(e.Hint, fmt.Sprint(r.starts[n+1]/1000)) {
			t.Errorf("%v: %v", i, err)
		}
	}
	for _, i := range []interval{{18, 20}, {20, 22}, {26, 29}} {
		_, data := o.Clip(t, i.selection())
		r.check(t, data, int64(i.a*1000), int64(i.b*1000))
	}
	s := seconds(18, 22)
	s.Form = formats.Verbatim
	plan, data := o.Clip(t, s)
	w := r.films[0]
	want := slices.Concat(w.data[:w.clusters[0]], w.data[w.clusters[9]:], r.films[1].data[:r.films[1].clusters[1]])
	if !bytes.Equal(data, want) {
		t.Errorf("verbatim: %d bytes, want %d", len(data), len(want))
	}
	if len(plan.Warnings) != 1 {
		t.Errorf("verbatim: warnings %v", plan.Warnings)
	}
	s = seconds(20.5, 21)
	s.Form = formats.Verbatim
	if _, data := o.Clip(t, s); !bytes.Equal(data, r.films[1].data[:r.films[1].clusters[1]]) {
		t.Errorf("verbatim of the second: %d bytes", len(data))
	}
}

// TestChainForms: a Segment without an EBML header goes on with the one before;
// what is none is left out.
func TestChainForms(t *testing.T) {
	first, second := film{seconds: 20, index: "front"}.write(), film{seconds: 6, index: "front"}.write()
	segment := bytes.Index(second.data, []byte{0x18, 0x53, 0x80, 0x67})
	tests := []struct {
		name    string
		behind  []byte
		seconds int64
		warns   string
	}{
		{"no header of its own", second.data[segment:], 26, ""},
		{"garbage", bytes.Repeat([]byte("garbage!"), 20_000), 20, ""},
		{"a header alone", second.data[:segment], 20, "left out"},
		{"a header of another kind", el(0x1A45DFA3, el(0x4282, []byte("mine"))), 20, "left out"},
		{"cut off", second.data[:len(second.data)/2], 26, "outside the file"},
		{"nothing", nil, 20, ""},
	}
	for _, tt := range tests {
		o := mustOpen(t, slices.Concat(first.data, tt.behind))
		_, data := o.Clip(t, seconds(18, 19))
		first.compare(t, readBack(t, data), 18_000, 19_000)
		o.Clip(t, formats.Selection{Interval: fragment.From(fragment.Seconds(18))})
		i, err := o.Inspect(t.Context())
		if err != nil || !i.Duration.Equal(fragment.Seconds(tt.seconds)) || i.Estimated {
			t.Errorf("%s: %v s, %v", tt.name, i.Duration, err)
		}
		if got := fmt.Sprint(i.Warnings); (len(i.Warnings) > 0) != (tt.warns != "") || !strings.Contains(got, tt.warns) {
			t.Errorf("%s: warnings %s, want %q", tt.name, got, tt.warns)
		}
	}
}

// stated is a film whose Segment states its duration nevertheless, as ffmpeg writes it
// into a pipe.
func (f film) stated() film {
	f.noDuration = false
	return f
}

// TestChainUnsized is the same where no size tells where one ends and another
// begins, as of browsers' recordings that were put together.
func TestChainUnsized(t *testing.T) {
	plain := live(film{index: "none", heads: "none"})
	for _, tt := range []struct {
		name string
		film film
		secs []int
		more int // bytes that a picture of each has more than one of the film before
	}{
		{"long before short", plain, []int{60, 20}, 0},
		{"alike", plain, []int{40, 40}, 0},
		{"short before long", plain, []int{20, 60}, 0},
		{"four", plain, []int{20, 30, 10, 25}, 0},
		{"sound alone", live(film{index: "none", heads: "none", pictureless: true}), []int{60, 30}, 0},
		{"a short one first", plain, []int{8, 41, 46}, 0},
		{"large clusters", live(film{index: "none", heads: "none", bytes: 25_000}), []int{30, 20}, 0},
		{"other rates", plain, []int{40, 50}, 1500},
		{"durations stated", plain.stated(), []int{20, 30, 10, 25}, 0},
		{"durations stated, alike", plain.stated(), []int{40, 40}, 0},
		{"durations stated, sound alone", live(film{index: "none", heads: "none", pictureless: true}).stated(), []int{60, 30}, 0},
	} {
		if !tools.Full() && (strings.HasSuffix(tt.name, "alike") || tt.name == "four") {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			var films []film
			for n, s := range tt.secs {
				f := tt.film
				films = append(films, f.of(s, max(f.bytes, 2000)-100*n+tt.more*n))
			}
			r := rowOf(films...)
			var intervals []interval
			for n := range films {
				from, to := float64(r.starts[n])/1000, float64(r.starts[n+1])/1000
				intervals = append(intervals, interval{from + 1.02, from + 3}, interval{(from + to) / 2, (from+to)/2 + 1.5}, interval{to - 3.5, to - 1})
				if n > 0 {
					intervals = append(intervals, interval{from - 1.5, from + 2.5})
				}
			}
			total := r.starts[len(films)]
			intervals = append(intervals, interval{float64(total)/1000 - 2, -1})
			for _, i := range intervals {
				o := mustOpen(t, r.whole.data)
				plan, data := o.Clip(t, i.selection())
				to := int64(i.b * 1000)
				if i.b < 0 {
					to = total
				}
				if looks := fmt.Sprint(o.Source.Requests()); !tt.film.noDuration && to < r.starts[1]/2 && strings.Contains(looks, "one Segment") {
					t.Errorf("%v is within the first: %s", i, looks)
				}
				ok := t.Run(i.String(), func(t *testing.T) { r.check(t, data, int64(i.a*1000), to) })
				if !ok {
					t.Log(plan.Requested, plan.Presented)
				}
			}
			o := mustOpen(t, r.whole.data) // what is found out later corrects what was thought
			for _, i := range slices.Backward(intervals[:len(intervals)-1]) {
				_, data := o.Clip(t, i.selection())
				t.Run("again "+i.String(), func(t *testing.T) { r.check(t, data, int64(i.a*1000), int64(i.b*1000)) })
			}
			i, err := mustOpen(t, r.whole.data).Inspect(t.Context())
			if err != nil || !i.Duration.Equal(fragment.Ticks(total, 1000)) || len(i.Chapters) != len(films) {
				t.Errorf("%v s, %v, %v", i.Duration, i.Chapters, err)
			}
		})
	}
}

// TestChainSearched: of recordings that state no sizes, of about the same rate and
// of lengths that are not too different, an interval anywhere is found, whatever was
// asked for before.
func TestChainSearched(t *testing.T) {
	n := 8
	if tools.Full() {
		n = 80
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range n {
		var films []film
		for range 2 + r.IntN(4) {
			f := live(film{index: "none", heads: "none", soundless: true})
			films = append(films, f.of(20+r.IntN(40), 1500+r.IntN(500)))
		}
		row := rowOf(films...)
		o := mustOpen(t, row.whole.data)
		for q := range 8 {
			a := r.Int64N(row.starts[len(films)] - 3000)
			b := a + 500 + r.Int64N(2500)
			if q < 4 {
				o = mustOpen(t, row.whole.data)
			}
			plan, err := o.Plan(t.Context(), seconds(float64(a)/1000, float64(b)/1000))
			if err != nil {
				t.Errorf("%v [%d, %d): %v", row.starts, a, b, err)
				continue
			}
			got := readBack(t, o.Read(t, plan)).pictures
			want := slices.DeleteFunc(slices.Clone(row.whole.pictures), func(p shot) bool { return p.at < a || p.at >= b })
			same := func(p, q shot) bool { return bytes.Equal(p.frame, q.frame) }
			if len(got) < len(want) || !slices.EqualFunc(want, got[len(got)-len(want):], same) {
				t.Errorf("%v [%d, %d): other pictures", row.starts, a, b)
			}
		}
	}
}

// TestChainOfOne: a film that states its duration and no size costs no more rounds
// than one without an index may, up to its end too.
func TestChainOfOne(t *testing.T) {
	seektest.Counted(t, "one", func(t *testing.T) {
		w := live(film{seconds: 120, index: "none", heads: "none"}).stated().write()
		for _, i := range []interval{{60.5, 62}, {100.5, -1}, {100.5, 130}} {
			o := openSlow(t, w.data)
			if !o.Info().Estimated {
				t.Error("the duration is said to be sure before anything behind it was looked at")
			}
			_, data := o.Clip(t, i.selection())
			to := int64(i.b * 1000)
			if i.b < 0 {
				to = 120_000
			}
			w.compare(t, readBack(t, data), int64(i.a*1000), min(to, 120_000))
			if got := o.Totals.Transfer(); got.FirstMediaTrips > budget.TripsWebMSearch {
				t.Errorf("%v: %d round trips to the first media byte, want at most %d", i, got.FirstMediaTrips, budget.TripsWebMSearch)
			}
		}
	})
}

// TestChainCut: what stands behind a Segment that was cut off is found, though the
// size of that runs over it, and nothing that is missing is passed over in silence.
func TestChainCut(t *testing.T) {
	for _, tt := range []struct {
		name   string
		film   film
		keep   float64 // of the first
		second int     // seconds
	}{
		{"cues at the end", film{}, 0.6, 26},
		{"cues in front", film{index: "front"}, 0.6, 26},
		{"a short one behind", film{index: "front"}, 0.7, 4},
		{"hardly begun", film{index: "none", heads: "none"}, 0.2, 30},
		{"no size", live(film{index: "none", heads: "none"}).stated(), 0.6, 26},
		{"sound alone", film{pictureless: true}, 0.6, 26},
	} {
		t.Run(tt.name, func(t *testing.T) {
			first, second := tt.film.of(20, 2000).write(), tt.film.of(tt.second, 1800).write()
			at := int(float64(len(first.data)) * tt.keep)
			data := slices.Concat(first.data[:at], second.data)
			_, clip := mustOpen(t, data).Clip(t, seconds(1.5, 3))
			first.compare(t, readBack(t, clip), 1500, 3000)
			want := fmt.Sprintf("cut off at byte %d", at)
			intervals := []interval{{20*tt.keep + 3, 20*tt.keep + 4.5}, {3, 19}, {3, 22}, {10, -1}}
			for a := 20*tt.keep + 0.25; a < min(18, 20*tt.keep+float64(tt.second)-1); a++ { // whatever the search happens to see
				intervals = append(intervals, interval{a, a + 0.5})
			}
			for _, i := range intervals {
				plan, clip := mustOpen(t, data).Clip(t, i.selection())
				if !strings.Contains(fmt.Sprint(plan.Warnings), want) {
					t.Errorf("%v: warnings %v, want %s", i, plan.Warnings, want)
				}
				behind := max(0, i.b-20)
				if i.b < 0 {
					behind = float64(tt.second)
				}
				got := readBack(t, clip)
				frames, all := got.pictures, second.pictures
				if tt.film.pictureless {
					frames, all = got.sound, second.sounds
				}
				n := 0
				for _, p := range frames {
					if slices.ContainsFunc(all, func(q shot) bool { return bytes.Equal(p.frame, q.frame) && float64(q.at) < behind*1000 }) {
						n++
					}
				}
				if least := int(behind * 20); n < least || behind == 0 && n > 0 {
					t.Errorf("%v: %d frames of the second, want %d", i, n, least)
				}
			}
			_, clip = mustOpen(t, data).Clip(t, seconds(21.5, 23))
			second.compare(t, readBack(t, clip), 1500, 3000)
			i, err := mustOpen(t, data).Inspect(t.Context())
			if err != nil || !i.Duration.Equal(fragment.Seconds(int64(20+tt.second))) || len(i.Chapters) != 2 || !strings.Contains(fmt.Sprint(i.Warnings), "is cut off") {
				t.Errorf("%v s, %v, %v, %v", i.Duration, i.Chapters, i.Warnings, err)
			}
		})
	}
}

// TestChainLooksNoFurther: an interval in the first of whole files in a row costs no
// look at what stands behind that one.
func TestChainLooksNoFurther(t *testing.T) {
	for name, f := range map[string]film{"cues in front": {index: "front"}, "no cues": {index: "none", heads: "none"}} {
		t.Run(name, func(t *testing.T) {
			first := f.of(20, 2000).write().data
			o := mustOpen(t, slices.Concat(first, f.of(20, 2000).write().data))
			if _, err := o.Media.Plan(t.Context(), seconds(9, 12)); err != nil {
				t.Fatal(err)
			}
			for _, r := range o.Source.Requests() {
				if r.Offset == int64(len(first)) {
					t.Errorf("%v was asked for: %s", r.Range, r.Note)
				}
			}
		})
	}
}
