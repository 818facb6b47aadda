package webm_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/webm"
)

// layout is a film, and what it may cost to cut it.
type layout struct {
	name  string
	film  film
	trips int
	waste int64 // bytes that lies of the index cost
	warns string
}

func fill(id uint32, n int) func(*written) []byte {
	return func(*written) []byte {
		return el(id, el(0x7373, el(0x67C8, el(0x45A3, []byte("X")), el(0x4487, make([]byte, n)))))
	}
}

// leading is a point that leads to where the i-th does, once places are known.
func leading(p []point, time int64, i int) []point {
	if i >= len(p) {
		return nil
	}
	return []point{{time, p[i].cluster, -1, 1}}
}

// layouts are the places in which everything may stand.
var layouts = []layout{
	{name: "cues at the end", film: film{}, trips: budget.TripsWebM},
	{name: "cues in front", film: film{index: "front"}, trips: budget.TripsWebM},
	{name: "no cues", film: film{index: "none"}, trips: budget.TripsWebMSearch},
	{name: "unknown sizes", film: film{index: "none", segmentSize: 8, clusterSize: 8, heads: "none", noDuration: true}, trips: budget.TripsWebMSearch},
	{name: "unknown sizes of 1 byte", film: film{index: "none", segmentSize: 1, clusterSize: 1, heads: "none", noDuration: true}, trips: budget.TripsWebMSearch},
	{name: "unknown sizes of 4 bytes", film: film{index: "none", segmentSize: 4, clusterSize: 4}, trips: budget.TripsWebMSearch},
	{name: "unknown sizes and cues", film: film{segmentSize: 8, clusterSize: 8}, trips: budget.TripsWebM},
	{name: "cues far from both ends", film: film{index: "end", end: fill(0x1254C367, 200<<10)}, trips: budget.TripsWebMFar},
	{name: "tags of 2 MB in front", film: film{front: fill(0x1254C367, 2<<20)}, trips: budget.TripsWebMFar},
	{name: "attachments of 2 MB in front", film: film{front: fill(0x1941A469, 2<<20), index: "front"}, trips: budget.TripsWebMFar},
	{name: "two seek heads", film: film{heads: "two"}, trips: budget.TripsWebM},
	{name: "seek head points to seek head", film: film{heads: "chain"}, trips: budget.TripsWebM},
	{name: "seek head points to seek head, cues far", film: film{heads: "chain", end: fill(0x1254C367, 200<<10), order: []string{"head", "info", "tracks", "clusters", "head2", "cues-end", "end"}}, trips: budget.TripsWebMFar},
	{name: "lying seek head", film: film{heads: "lying"}, trips: budget.TripsWebM, warns: "SeekHead"},
	{name: "no seek head", film: film{heads: "none"}, trips: budget.TripsWebM},
	{name: "void and checksums everywhere", film: film{voids: true, crc: true}, trips: budget.TripsWebM},
	{name: "position and previous size", film: film{positions: true}, trips: budget.TripsWebM},
	{name: "sizes of 8 bytes", film: film{longSizes: true}, trips: budget.TripsWebM},
	{name: "block groups", film: film{groups: true}, trips: budget.TripsWebM},
	{name: "laced sound", film: film{laced: true}, trips: budget.TripsWebM},
	{name: "negative times of blocks", film: film{negative: true}, trips: budget.TripsWebM},
	{name: "keyframes inside clusters", film: film{midKey: true}, trips: budget.TripsWebM},
	{name: "keyframes inside clusters, no cues", film: film{midKey: true, index: "none"}, trips: budget.TripsWebMSearch},
	{name: "begins at 7 s", film: film{start: 7000}, trips: budget.TripsWebM},
	{name: "no sound", film: film{soundless: true}, trips: budget.TripsWebM},
	{name: "ticks of a sample", film: film{scale: 20833, gop: 12}, trips: budget.TripsWebM},
	{name: "tracks behind the clusters", film: film{order: []string{"head", "void", "info", "clusters", "cues-end", "tracks", "end"}}, trips: budget.TripsWebM},
	{name: "tracks behind the clusters, no seek head", film: film{heads: "none", order: []string{"info", "clusters", "cues-end", "tracks", "end"}}, trips: budget.TripsWebM},
	{name: "trailing garbage", film: film{after: bytes.Repeat([]byte("garbage!"), 1000)}, trips: budget.TripsWebM},
	{name: "second segment", film: film{after: film{seconds: 2}.write().data}, trips: budget.TripsWebMFar},
	{name: "unsorted and double points", film: film{cues: func(p []point) []point {
		p = append(p, p...)
		slices.Reverse(p)
		return p
	}}, trips: budget.TripsWebM},
	{name: "points of sound alone", film: film{cues: func(p []point) []point {
		for i := range p {
			p[i].track = 2
		}
		return p
	}}, trips: budget.TripsWebM},
	{name: "points outside the file", film: film{cues: func(p []point) []point {
		return append(p, point{9000, 1 << 40, -1, 1}, point{9100, 1 << 61, -1, 1})
	}}, trips: budget.TripsWebM, warns: "outside"},
	{name: "a lying point", film: film{cues: func(p []point) []point {
		return append(p, point{8500, 31_000, -1, 1})
	}}, trips: budget.TripsWebMSearch, waste: 1 << 20},
	{name: "a point that leads far too much in front", film: film{bytes: 15_000, cues: func(p []point) []point {
		return append(p, leading(p, 8500, 1)...)
	}}, trips: budget.TripsWebMSearch, waste: 2 << 20},
	{name: "a point that leads far behind", film: film{bytes: 15_000, cues: func(p []point) []point {
		return append(p, leading(p, 8500, 15)...)
	}}, trips: budget.TripsWebMSearch, waste: 2 << 20},
	{name: "all points lie", film: film{cues: func(p []point) []point {
		for i := range p {
			p[i].cluster += 777
		}
		return p
	}}, trips: budget.TripsWebMSearch, waste: 1 << 20},
	{name: "sparse points", film: film{seconds: 120, cues: func(p []point) []point {
		return slices.DeleteFunc(slices.Clone(p), func(q point) bool { return q.time%20000 != 0 })
	}}, trips: budget.TripsWebM},
}

// TestLayouts cuts films of every layout. It reads the clips back and compares
// frames, times and what it cost.
func TestLayouts(t *testing.T) {
	for _, l := range layouts {
		seektest.Counted(t, l.name, func(t *testing.T) {
			if l.film.seconds == 0 {
				l.film.seconds = 40
			}
			w := l.film.write()
			l.check(t, w, 9.013, 13.513)
			_, data := mustOpen(t, w.data).Clip(t, seconds(0.5, 1.813)) // from the first keyframe on
			w.compare(t, readBack(t, data), 500, 1813)
		})
	}
}

// openSlow opens a file whose source answers after a while, so that what is
// asked at once can be told from what waits.
func openSlow(t testing.TB, data []byte) *opened {
	t.Helper()
	src := seektest.New(data)
	src.Latency = 15 * time.Millisecond
	o, err := open(t, src, formats.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (l layout) check(t *testing.T, w *written, a, b float64) {
	o := openSlow(t, w.data)
	opening := o.Totals.Transfer()
	if got := o.Info().Index; (got == webm.NoIndex) != (l.film.index == "none") {
		t.Errorf("index %s", got)
	}
	warned := false
	for _, warning := range o.Info().Warnings {
		warned = warned || l.warns != "" && strings.Contains(warning.Reason, l.warns)
	}
	if warned != (l.warns != "") {
		t.Errorf("warnings %v, want one of %q", o.Info().Warnings, l.warns)
	}
	plan, data := o.Clip(t, seconds(a, b))
	got := o.Totals.Transfer()
	if got.FirstMediaTrips > l.trips {
		t.Errorf("%d round trips to the first media byte (%d to open), want at most %d", got.FirstMediaTrips, opening.RoundTrips, l.trips)
	}
	if most := budget.Bytes(plan.Needed) + probed(o) + int64(w.gop*w.bytes) + l.waste; got.Bytes > most {
		t.Errorf("%d bytes, want at most %d", got.Bytes, most)
	}
	if t.Failed() {
		for _, r := range o.Source.Requests() {
			t.Log(r.Range, r.Purpose, r.Note, r.Delivered)
		}
	}
	w.compare(t, readBack(t, data), int64(a*1000), int64(b*1000))
}

// probed is how many bytes went into probes.
func probed(o *opened) (n int64) {
	for _, r := range o.Source.Requests() {
		if r.Purpose == "probe" {
			n += r.Delivered
		}
	}
	return n
}

// compare checks the frames of a clip of [a, b), in ms from the film's start.
func (w *written) compare(t *testing.T, got *back, a, b int64) {
	t.Helper()
	a, b = a+w.start, b+w.start
	zero := a
	if len(w.pictures) > 0 {
		for _, p := range w.pictures {
			if p.key && p.at <= a {
				zero = p.at
			}
		}
		want := slices.DeleteFunc(slices.Clone(w.pictures), func(p shot) bool { return p.at < zero || p.at >= b })
		sameShots(t, "picture", want, got.pictures, zero)
	}
	if len(w.sounds) > 0 {
		delay := got.delay / 1e6
		want := slices.DeleteFunc(slices.Clone(w.sounds), func(p shot) bool { return p.at+20 <= zero-delay || p.at >= b })
		sameShots(t, "sound", want, got.sound, zero-delay)
		least := min(980, zero-w.start)
		if w.bytes > 2000 || w.scale > 0 { // it would be too far in front, or has no room in clusters
			least = min(80, least)
		}
		if delay < least {
			t.Errorf("%d ms of sound lead in, want at least %d", delay, least)
		}
		if zero == w.start && delay != 0 {
			t.Errorf("CodecDelay of %d ms at the beginning", delay)
		}
	}
	if got.before > 0 && !w.negative {
		t.Errorf("%d blocks are earlier than their cluster, which MSE refuses", got.before)
	}
	if got.positions > 0 {
		t.Errorf("%d elements in clusters tell places of the original", got.positions)
	}
	for at, pos := range got.cues {
		if !slices.Contains(got.clusters, pos) {
			t.Errorf("the index points to %d for %d, where no cluster is: %v", pos, at, got.clusters)
		}
	}
	if len(got.cues) == 0 {
		t.Error("the clip has no index")
	}
}

func sameShots(t *testing.T, kind string, want, got []shot, zero int64) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%d frames of %s, want %d", len(got), kind, len(want))
	}
	byTime := func(a, b shot) int { return int(a.at - b.at) }
	got = slices.Clone(got)
	slices.SortStableFunc(got, byTime)
	for i := range want {
		if !bytes.Equal(want[i].frame, got[i].frame) {
			t.Fatalf("%s %d is another one", kind, i)
		}
		if d := got[i].at - (want[i].at - zero); d < -1 || d > 1 {
			t.Fatalf("%s %d is at %d ms, want %d", kind, i, got[i].at, want[i].at-zero)
		}
	}
}

// TestOpaqueKeys: frames that are encrypted or compressed as a whole do not tell whether
// they are keyframes; that a group refers to no other does.
func TestOpaqueKeys(t *testing.T) {
	encoding := func(b ...[]byte) []byte { return el(0x6D80, el(0x6240, b...)) }
	for name, coded := range map[string][]byte{
		"encrypted":  encoding(num(0x5033, 1), el(0x5035, num(0x47E1, 5), el(0x47E2, make([]byte, 16)))),
		"compressed": encoding(num(0x5033, 0), el(0x5034, num(0x4254, 0))),
	} {
		w := film{seconds: 20, groups: true, index: "none", coded: coded}.write()
		for _, p := range w.pictures {
			if at := bytes.Index(w.data, p.frame); p.key {
				p.frame[0] |= 1 // what VP8 has in other frames
				w.data[at] |= 1
			}
		}
		plan, data := mustOpen(t, w.data).Clip(t, seconds(9.3, 13))
		w.compare(t, readBack(t, data), 9300, 13_000)
		if !plan.Presented.Start.Equal(fragment.FromSeconds(8)) {
			t.Errorf("%s: presented %v, want it from 8 s", name, plan.Presented)
		}
	}
}
