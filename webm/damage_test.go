package webm_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/seek"
)

// TestDamageBetween: bytes that were put in between Clusters cost nothing of the
// clip but a warning that says where, at either end of the interval and amid it,
// whatever the lengths of Segment and Clusters say.
func TestDamageBetween(t *testing.T) {
	junk := content('j', 1, 9000)
	for name, f := range map[string]film{
		"cues":           {seconds: 40},
		"no cues":        {seconds: 40, index: "none"},
		"unknown sizes":  {seconds: 40, index: "none", segmentSize: 8, clusterSize: 8},
		"a large middle": {seconds: 60, bytes: 50_000, index: "none"},
	} {
		w := f.write()
		for _, n := range []int{5, 8, 14} { // clusters of 2 s: within 9.013 to 29.5 s
			t.Run(fmt.Sprint(name, " ", n), func(t *testing.T) {
				damaged := *w
				damaged.data = slices.Concat(w.data[:w.clusters[n]], junk, w.data[w.clusters[n]:])
				o := mustOpen(t, damaged.data)
				want := fmt.Sprintf("at byte %d: damaged", w.clusters[n])
				plan, data := o.Clip(t, seconds(9.013, 29.5))
				damaged.compare(t, readBack(t, data), 9013, 29500)
				r := seek.NewReader(t.Context(), plan.Parts, o, 0) // which passes on what the plan has not seen
				if _, err := io.Copy(io.Discard, r); err != nil || !strings.Contains(fmt.Sprint(r.Damage()), want) {
					t.Errorf("damage %v, want %s; %v", r.Damage(), want, err)
				}
				r.Close()
				plan, data = o.Clip(t, seconds(float64(2*n)-0.5, float64(2*n)+0.5))
				damaged.compare(t, readBack(t, data), int64(2000*n)-500, int64(2000*n)+500)
				if !strings.Contains(fmt.Sprint(plan.Warnings), want) && f.bytes == 0 {
					t.Errorf("warnings %v, want %s", plan.Warnings, want)
				}
			})
		}
		// The stated end of the Segment comes too early.
		data := slices.Concat(w.data[:w.clusters[3]], junk, w.data[w.clusters[3]:])
		_, clip := mustOpen(t, data).Clip(t, seconds(float64(w.seconds)-2.5, float64(w.seconds)))
		w.compare(t, readBack(t, clip), int64(w.seconds)*1000-2500, int64(w.seconds)*1000)
	}
}

// TestDamageInside: damage inside a Cluster costs the rest of that Cluster, and
// all that is delivered has its own time.
func TestDamageInside(t *testing.T) {
	for name, f := range map[string]film{
		"known sizes":    {seconds: 40},
		"unknown sizes":  {seconds: 40, index: "none", segmentSize: 8, clusterSize: 8},
		"a large middle": {seconds: 60, bytes: 50_000},
	} {
		w := f.write()
		for _, n := range []int{5, 8, 14} {
			t.Run(fmt.Sprint(name, " ", n), func(t *testing.T) {
				data := slices.Clone(w.data)
				half := w.pictures[n*w.gop+w.gop/2]
				at := bytes.Index(data, half.frame) - 40 // what stands before it of the cluster, too
				clear(data[at : at+80])
				_, clip := mustOpen(t, data).Clip(t, seconds(9.013, 29.5))
				got := readBack(t, clip)
				zero := w.pictures[4*w.gop].at
				want := slices.DeleteFunc(slices.Clone(w.pictures), func(p shot) bool {
					return p.at < zero || p.at >= 29500 || p.at >= half.at && p.at < w.pictures[(n+1)*w.gop].at
				})
				if len(got.pictures) > len(want) || len(got.pictures) < len(want)-1 {
					t.Fatalf("%d pictures, want %d", len(got.pictures), len(want))
				}
				for _, p := range got.pictures {
					i := slices.IndexFunc(want, func(q shot) bool { return bytes.Equal(p.frame, q.frame) })
					if i < 0 || p.at != want[i].at-zero {
						t.Fatalf("a picture at %d ms is another, or not at its time", p.at)
					}
				}
			})
		}
	}
}

// TestStrayByte: a single byte between Clusters, for which no Void is short enough,
// becomes part of the next Cluster's header, and costs nothing but a warning.
func TestStrayByte(t *testing.T) {
	for name, f := range map[string]film{
		"known sizes":        {},
		"sizes of 8 bytes":   {clusterSize: 0, longSizes: true},
		"unknown sizes":      {clusterSize: 1, segmentSize: 8},
		"unknown sizes of 8": {clusterSize: 8, segmentSize: 8},
		"checksums":          {longSizes: true, crc: true, positions: true},
	} {
		f.seconds, f.bytes, f.index = 44, 8000, "none"
		w := f.write()
		for _, junk := range []byte{0, 0xEC, 0x1F} {
			data := slices.Concat(w.data[:w.clusters[8]], []byte{junk}, w.data[w.clusters[8]:])
			o := mustOpen(t, data)
			plan, err := o.Plan(t.Context(), seconds(4.5, 40.5))
			if err != nil {
				t.Fatal(err)
			}
			r := seek.NewReader(t.Context(), plan.Parts, o, 0)
			clip, err := io.ReadAll(r)
			if want := fmt.Sprintf("at byte %d: damaged", w.clusters[8]); err != nil || int64(len(clip)) != plan.Size || !strings.Contains(fmt.Sprint(r.Damage()), want) {
				t.Fatalf("%s: junk %x: %d bytes of %d, damage %v, %v", name, junk, len(clip), plan.Size, r.Damage(), err)
			}
			r.Close()
			w.compare(t, readBack(t, clip), 4500, 40_500)
		}
	}
}

// TestNoDamage: what stands behind the Clusters of a sound file is no damage.
func TestNoDamage(t *testing.T) {
	for name, f := range map[string]film{
		"index at the end": {seconds: 20},
		"unknown sizes":    {seconds: 20, segmentSize: 8, clusterSize: 8},
		"garbage":          {seconds: 20, after: content('j', 2, 5000)},
		"voids":            {seconds: 20, voids: true, crc: true, positions: true},
	} {
		for _, i := range []interval{{13.5, -1}, {3, 9}, {0, -1}} {
			o := mustOpen(t, f.write().data)
			plan, err := o.Plan(t.Context(), i.selection())
			if err != nil {
				t.Fatal(err)
			}
			r := seek.NewReader(t.Context(), plan.Parts, o, 0)
			if _, err := io.Copy(io.Discard, r); err != nil || len(r.Damage())+len(plan.Warnings) > 0 {
				t.Errorf("%s %v: damage %v, warnings %v, %v", name, i, r.Damage(), plan.Warnings, err)
			}
			r.Close()
		}
	}
}

// TestHole: where whole Clusters are gone, what is there has its time, and a warning
// says from when to when nothing is; a film whose pictures stand still has none.
func TestHole(t *testing.T) {
	for name, f := range map[string]film{
		"known sizes":   {seconds: 40, index: "none", heads: "none"},
		"unknown sizes": live(film{seconds: 40, index: "none", heads: "none"}),
		"sound alone":   live(film{seconds: 40, index: "none", heads: "none", pictureless: true}),
	} {
		w := f.write()
		for _, n := range []int{6, 7} { // clusters of 2 s
			data := slices.Concat(w.data[:w.clusters[n]], w.data[w.clusters[n+1]:])
			if f.segmentSize == 0 {
				data = slices.Concat(w.data[:w.clusters[n]], void(int(w.clusters[n+1]-w.clusters[n])), w.data[w.clusters[n+1]:])
			}
			plan, clip := mustOpen(t, data).Clip(t, seconds(10.5, 19))
			got, want := fmt.Sprint(plan.Warnings), fmt.Sprintf("to %d", 2*n+2)
			if len(plan.Warnings) != 1 || !strings.Contains(got, "nothing is there from") || !strings.Contains(got, want) {
				t.Errorf("%s: warnings %s, want %s", name, got, want)
			}
			for _, p := range readBack(t, clip).pictures {
				if i := slices.IndexFunc(w.pictures, func(q shot) bool { return bytes.Equal(p.frame, q.frame) }); i < 0 || w.pictures[i].at != p.at+10_000 {
					t.Fatalf("%s: a picture at %d ms is another, or not at its time", name, p.at)
				}
			}
		}
	}
	w := film{seconds: 40, index: "none", heads: "none"}.write()
	quiet := bytes.ReplaceAll(w.data[w.clusters[6]:w.clusters[8]], []byte{0xA3, 0x40, 0xA4, 0x82}, []byte{0xEC, 0x40, 0xA4, 0x82}) // blocks of sound become Void
	if plan, clip := mustOpen(t, slices.Concat(w.data[:w.clusters[6]], quiet, w.data[w.clusters[8]:])).Clip(t, seconds(10.5, 19)); len(plan.Warnings) > 0 || len(readBack(t, clip).sound) > 400 {
		t.Errorf("sound that pauses: warnings %v", plan.Warnings)
	}
	w = film{seconds: 40, soundless: true, index: "none", heads: "none"}.write()
	data := slices.Concat(w.data[:w.clusters[6]], void(int(w.clusters[7]-w.clusters[6])), w.data[w.clusters[7]:])
	if plan, _ := mustOpen(t, data).Clip(t, seconds(10.5, 19)); len(plan.Warnings) > 0 {
		t.Errorf("pictures that stand still: warnings %v", plan.Warnings)
	}
}

// TestHoleLaced: of blocks of many frames right before a hole in which the interval
// ends, all frames are there, each at its time.
func TestHoleLaced(t *testing.T) {
	for name, f := range map[string]film{
		"pictures and sound": {},
		"sound alone":        {pictureless: true},
	} {
		f.seconds, f.index, f.heads, f.laced = 40, "none", "none", true
		w := f.write()
		gone, next := w.clusters[6], w.clusters[7] // from 12 s to 14
		data := slices.Concat(w.data[:gone], void(int(next-gone)), w.data[next:])
		hole := int64(12_080) // a Cluster has sound ahead of its pictures
		for _, b := range []float64{13.5, 15.5} {
			_, clip := mustOpen(t, data).Clip(t, seconds(10.5, b))
			got := readBack(t, clip)
			zero := got.sound[0].at - shotOf(t, w.sounds, got.sound[0]).at
			seen := 0
			for _, s := range got.sound {
				was := shotOf(t, w.sounds, s).at
				if s.at != was+zero {
					t.Errorf("%s: to %v s: the sound of %d ms is at %d", name, b, was, s.at-zero)
				}
				if was >= 10_500 && was < hole {
					seen++
				}
			}
			if want := int(hole-10_500) / 20; seen != want {
				t.Errorf("%s: to %v s: %d frames of sound before the hole, want %d", name, b, seen, want)
			}
		}
	}
}

// shotOf is the one among all that has the same frame as another.
func shotOf(t *testing.T, all []shot, s shot) shot {
	t.Helper()
	i := slices.IndexFunc(all, func(x shot) bool { return bytes.Equal(x.frame, s.frame) })
	if i < 0 {
		t.Fatalf("a frame at %d ms is none of the original", s.at)
	}
	return all[i]
}

// TestMissingBytes: bytes that are missing within a Cluster of stated size, which then
// ends amid the next, cost what is left of that Cluster and a frame or two of the next,
// in whatever part of the clip and in whatever element they are missing.
func TestMissingBytes(t *testing.T) {
	for name, f := range map[string]film{
		"cues":           {positions: true},
		"no cues":        {index: "none"},
		"groups":         {index: "none", groups: true, longSizes: true, crc: true},
		"a large middle": {index: "none", bytes: 8000},
		"a track less":   {index: "none"},
	} {
		f.seconds = 40
		w := f.write()
		sel := seconds(9.013, 29.5)
		if name == "a track less" {
			sel.Tracks = []string{"1"}
		}
		for _, n := range []int{4, 5, 8, 13, 14} { // clusters of 2 s: within the interval
			for _, missing := range []int{30, 700, 40 * w.bytes} {
				for _, i := range []int{3, w.gop - 1} { // a picture amid the Cluster, and its last
					t.Run(fmt.Sprint(name, " ", n, " ", missing, " ", i), func(t *testing.T) {
						damaged := w.pictures[n*w.gop+i]
						at := bytes.Index(w.data, damaged.frame) + 20
						if i == w.gop-1 {
							missing = min(missing, w.bytes/2)
						}
						_, clip := mustOpen(t, slices.Concat(w.data[:at], w.data[at+missing:])).Clip(t, sel)
						w.allBut(t, readBack(t, clip), 4*w.gop, 737, n*w.gop+i, (n+1)*w.gop)
					})
				}
			}
		}
	}
}

// TestMissingBytesKey: bytes that are missing in a Cluster of stated size, where the
// planner sees it, do not cost the keyframe that the next begins with.
func TestMissingBytesKey(t *testing.T) {
	w := film{seconds: 40, index: "none", heads: "none"}.write()
	for _, n := range []int{5, 6} { // clusters of 2 s: the last before the end, and the one before
		at := bytes.Index(w.data, w.pictures[n*w.gop+3].frame) + 20
		data := slices.Concat(w.data[:at], w.data[at+1500:])
		_, clip := mustOpen(t, data).Clip(t, seconds(9.013, 15.5))
		key := w.pictures[(n+1)*w.gop]
		if !slices.ContainsFunc(readBack(t, clip).pictures, func(p shot) bool { return bytes.Equal(p.frame, key.frame) && p.at == key.at-8000 }) {
			t.Errorf("cluster %d: the keyframe at %d ms is missing", n, key.at)
		}
	}
}

// TestOneTimestamp: a clip's Clusters have one Timestamp each, also where something
// stands before it in the original's; one that is stated twice is read.
func TestOneTimestamp(t *testing.T) {
	w := film{seconds: 40, index: "none", crc: true}.write()
	_, clip := mustOpen(t, w.data).Clip(t, seconds(9.013, 29.5))
	got := readBack(t, clip)
	if got.stamps != len(got.clusters) {
		t.Errorf("%d Timestamps in %d Clusters", got.stamps, len(got.clusters))
	}
	f := film{seconds: 40, index: "none", twice: true}
	w = f.write()
	_, clip = mustOpen(t, w.data).Clip(t, seconds(9.013, 29.5))
	w.compare(t, readBack(t, clip), 9013, 29_500)
}

// TestDamageAtEnd: damage that costs the end of an interval is told of, damage behind
// the interval is not.
func TestDamageAtEnd(t *testing.T) {
	w := film{seconds: 40, index: "none"}.write()
	at := bytes.Index(w.data, w.pictures[13*w.gop+10].frame) + 20 // at 26.4 s
	data := slices.Concat(w.data[:at], w.data[at+700:])
	for _, b := range []float64{25.9, 27.5} {
		plan, _ := mustOpen(t, data).Clip(t, seconds(20.5, b))
		if got := fmt.Sprint(plan.Warnings); strings.Contains(got, "damaged") != (b > 26) {
			t.Errorf("to %v s: warnings %s", b, got)
		}
	}
}

// allBut checks that a clip has the pictures from one to another, each at its time, but
// those between two others, and of the 50 that follow at most two.
func (w *written) allBut(t *testing.T, got *back, from, to, gone, next int) {
	t.Helper()
	zero := w.pictures[from].at
	seen := map[int]bool{}
	for _, p := range got.pictures {
		i := slices.IndexFunc(w.pictures, func(q shot) bool { return bytes.Equal(p.frame, q.frame) })
		if i < 0 {
			continue // it is damaged
		}
		if seen[i] = true; p.at != w.pictures[i].at-zero {
			t.Errorf("the picture of %d ms is at %d", w.pictures[i].at-zero, p.at)
		}
	}
	var missing []int
	for i := from; i < to; i++ {
		if !seen[i] && (i < gone || i >= next) {
			missing = append(missing, i-next)
		}
	}
	if n := len(missing); n > 2 || n > 0 && (missing[0] < 0 || missing[n-1] > 50) {
		t.Errorf("pictures are missing, counted from the next Cluster: %v", missing)
	}
}
