package hls

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/seek"
)

// rangesOfMP4 is the base in ranges of one fragmented MP4.
func rangesOfMP4(t testing.TB) string {
	return hlsOf(t, "fmp4-range", "-hls_segment_type", "fmp4", "-hls_flags", "single_file", "-hls_segment_filename", "DIR/all.mp4")
}

// reordered is the fragmented MP4 whose clock begins anew twice.
func reordered(t testing.TB) string {
	return made(t, "reordered", func(dir string) {
		put := func(name string, b []byte) {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		text := head + "#EXT-X-MAP:URI=\"init.mp4\"\n"
		for _, name := range strings.Fields("s004 s005 s006 s007 - s000 s001 s002 s003 - s008 s009") {
			if name == "-" {
				text += "#EXT-X-DISCONTINUITY\n"
				continue
			}
			text += "#EXTINF:4,\n" + name + ".m4s\n"
			put(name+".m4s", readFile(t, fmp4Presentation(t), name+".m4s"))
		}
		put("init.mp4", readFile(t, fmp4Presentation(t), "init.mp4"))
		put("media.m3u8", []byte(text+"#EXT-X-ENDLIST\n"))
	})
}

// started reads a clip whose media was asked for ahead.
func started(t testing.TB, m *Medium, s formats.Selection, parallel int, held int64) (*formats.Plan, []byte) {
	t.Helper()
	p, stop, err := m.start(t.Context(), s, parallel, held)
	if err != nil {
		t.Fatalf("planning %s: %v", s.Interval, err)
	}
	defer stop()
	r := seek.NewReader(t.Context(), p.Parts, m, parallel)
	defer r.Close()
	var b bytes.Buffer
	if _, err := r.WriteTo(&b); err != nil {
		t.Fatalf("reading the clip: %v", err)
	}
	return p, b.Bytes()
}

// TestOneWave: the segments of an interval are asked for in one wave, each by one
// request, and no byte of any resource twice. More than are fetched at a time come
// in as many waves as that takes.
func TestOneWave(t *testing.T) {
	for _, test := range []struct {
		name, list string
		dir        func(t testing.TB) string
		levels     int
		layout     formats.Layout
		form       formats.Form
		between    int // segments that are not read for the plan
		joined     bool
	}{
		{name: "together", list: "media.m3u8", dir: fmp4Presentation, levels: 1, between: 5},
		{name: "together, progressive", list: "media.m3u8", dir: fmp4Presentation, levels: 1, layout: mp4.Progressive, between: 5},
		{name: "together, verbatim", list: "media.m3u8", dir: fmp4Presentation, levels: 1, form: formats.Verbatim, between: 5},
		{name: "apart", list: "master.m3u8", dir: masterPresentation, levels: 2, between: 10},
		{name: "apart, progressive", list: "master.m3u8", dir: masterPresentation, levels: 2, layout: mp4.Progressive, between: 10},
		{name: "ranges", list: "media.m3u8", dir: rangesOfMP4, levels: 1, between: 5},
		{name: "ranges, progressive", list: "media.m3u8", dir: rangesOfMP4, levels: 1, layout: mp4.Progressive, between: 5},
		{name: "encrypted", list: "media.m3u8", dir: encryptedMP4, levels: 1, between: 5},
		{name: "encrypted, progressive", list: "media.m3u8", dir: encryptedMP4, levels: 1, layout: mp4.Progressive, between: 5},
		{name: "apart and encrypted", list: "master.m3u8", dir: encryptedMaster, levels: 2, between: 10},
		{name: "clocks begin anew", list: "media.m3u8", dir: reordered, levels: 1, between: 4},
		{name: "transport stream", list: "media.m3u8", dir: tsPresentation, levels: 1, between: 5},
		{name: "ranges of a transport stream", list: "media.m3u8", dir: rangePresentation, levels: 1, joined: true},
		{name: "encrypted transport stream", list: "media.m3u8", dir: encryptedPresentation, levels: 1, between: 5},
	} {
		seektest.Counted(t, test.name, func(t *testing.T) {
			dir := test.dir(t)
			s := between(6, 30)
			s.Layout, s.Form = test.layout, test.form
			open := func() (*origin, *Medium) {
				o := newOrigin()
				o.putFolder(t, "https://host.test/m", dir)
				return o, o.mustOpen(t, "https://host.test/m/"+test.list, formats.Env{})
			}
			_, m := open()
			want := clip(t, m, mustPlan(t, m, s))
			for _, parallel := range []int{16, 2}[:min(2, full(2, 1)+test.between/10)] {
				o, m := open()
				p, got := started(t, m, s, parallel, int64(parallel)*heldAhead)
				if !bytes.Equal(got, want) {
					t.Fatalf("%d at a time: the clip has %d bytes and is not the same, of %d", parallel, len(got), len(want))
				}
				if test.list == "media.m3u8" && strings.HasPrefix(test.name, "ranges") && p.Size != int64(len(want)) {
					t.Errorf("%d at a time: the size is %d, want %d", parallel, p.Size, len(want))
				}
				if used, most := o.totals.Transfer().RoundTrips, budget.WavesHLS(test.levels, test.between, parallel); used > most {
					t.Errorf("%d at a time: %d round trips, want %d", parallel, used, most)
				}
				checkOnce(t, o, !test.joined)
			}
		})
	}
}

// checkOnce checks that no byte of any resource came twice, and with single that
// each segment was asked for once. Neighbours, of which a little may be read, too.
func checkOnce(t *testing.T, o *origin, single bool) {
	t.Helper()
	for url, source := range o.sources {
		var all []seek.Range
		for _, r := range source.Requests() {
			if r.Delivered > 0 {
				all = append(all, seek.Range{Offset: max(0, r.Offset), Length: r.Delivered})
			}
		}
		slices.SortFunc(all, func(a, b seek.Range) int { return int(a.Offset - b.Offset) })
		for i := 1; i < len(all); i++ {
			if all[i].Offset < all[i-1].End() {
				t.Errorf("%s: %s and %s were both read", url, all[i-1], all[i])
			}
		}
		if n := len(source.Requests()); single && n > budget.HLSPerSegment && !strings.HasSuffix(url, "/all.mp4") {
			t.Errorf("%s was asked for %d times: %v", url, n, source.Ranges())
		}
		if source.Unfinished() > 0 {
			t.Errorf("%s: an answer was not closed", url)
		}
	}
}

// TestHeldAhead: what is held of answers that were asked for ahead is bounded. Those
// that are not held whole wait, as many as are fetched at a time; of others the
// beginnings are read, and no byte twice.
func TestHeldAhead(t *testing.T) {
	for _, test := range []struct {
		held int64
		once int // segments that are asked for once
	}{{0, 2}, {160 << 10, 3}, {1 << 20, 5}} {
		seektest.Counted(t, fmt.Sprint(test.held), func(t *testing.T) {
			o := newOrigin()
			o.putFolder(t, "https://host.test/m", fmp4Presentation(t))
			m := o.mustOpen(t, "https://host.test/m/media.m3u8", formats.Env{})
			s := between(6, 30)
			s.Layout = mp4.Progressive
			p, stop, err := m.start(t.Context(), s, 2, test.held)
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			var read int64
			once := 0
			for i := 2; i <= 6; i++ {
				source := o.sources[fmt.Sprintf("https://host.test/m/s%03d.m4s", i)]
				if r := source.Requests(); len(r) == 1 && r[0].Length == seek.ToEnd {
					once++
					read += r[0].Delivered
				}
			}
			if most := test.held + 2*16<<10; once != test.once || read > most {
				t.Errorf("%d segments were asked for whole, and %d bytes read of them; want %d, and at most %d", once, read, test.once, most)
			}
			r := seek.NewReader(t.Context(), p.Parts, m, 2)
			defer r.Close()
			var b bytes.Buffer
			if _, err := r.WriteTo(&b); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.Bytes(), clip(t, m, mustPlan(t, m, s))) {
				t.Error("the clip is not the same")
			}
			stop()
		})
	}
	o := newOrigin()
	o.putFolder(t, "https://host.test/m", fmp4Presentation(t))
	m := o.mustOpen(t, "https://host.test/m/media.m3u8", formats.Env{})
	s := between(6, 30)
	s.Layout = mp4.Progressive
	started(t, m, s, 2, 0)
	checkOnce(t, o, false)
}

// TestStop: what was asked for ahead and is not read ends with the clip, and is not
// read before the plan's ends are there; clips at the same time do not end one
// another.
func TestStop(t *testing.T) { synctest.Test(t, testStop) }

func testStop(t *testing.T) {
	o := newOrigin()
	o.putFolder(t, "https://host.test/m", fmp4Presentation(t))
	m := o.mustOpen(t, "https://host.test/m/media.m3u8", formats.Env{})
	s := between(6, 30)
	for i := 2; i <= 6; i++ {
		o.sources[fmt.Sprintf("https://host.test/m/s%03d.m4s", i)].Reset()
	}
	_, stop, err := m.Start(t.Context(), s, 8)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, stopOther, err := m.Start(ctx, s, 8); err != nil {
		t.Fatal(err)
	} else {
		cancel()
		stopOther()
	}
	stop()
	asked := 0
	for i := 2; i <= 6; i++ {
		source := o.sources[fmt.Sprintf("https://host.test/m/s%03d.m4s", i)]
		if n := source.Delivered(); n > 0 || source.Unfinished() > 0 {
			t.Errorf("segment %d: %d bytes were read, %d answers are open", i, n, source.Unfinished())
		}
		asked += len(source.Requests())
	}
	if asked == 0 {
		t.Error("nothing was asked for ahead")
	}
	if len(m.loader.ahead) > 0 {
		t.Errorf("%d answers wait for nobody", len(m.loader.ahead))
	}

	// One clip takes what the other has asked for, which ends.
	_, stop, err = m.Start(t.Context(), s, 8)
	if err != nil {
		t.Fatal(err)
	}
	name := "https://host.test/m/s004.m4s"
	body, err := m.loader.request(t.Context(), name, seek.Request{Range: seek.Range{Length: seek.ToEnd}, Purpose: seek.Media})
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	stop()
	synctest.Wait()
	got, err := io.ReadAll(body)
	if whole := readFile(t, fmp4Presentation(t), "s004.m4s"); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("%d bytes of %d, then %v", len(got), len(whole), err)
	}
	if n := len(o.sources[name].Requests()); n != asked/5+1 {
		t.Errorf("it was asked for %d times", n)
	}
}

// TestNothingAhead: where nothing can be fetched nothing is asked for ahead, and of
// what fails once the reader asks again.
func TestNothingAhead(t *testing.T) {
	o := newOrigin()
	o.put("https://host.test/l.m3u8", []byte(head+"#EXT-X-KEY:METHOD=SAMPLE-AES,URI=\"k\"\n"+strings.Repeat("#EXTINF:4,\na.ts\n#EXTINF:4,\nb.ts\n#EXTINF:4,\nc.ts\n", 2)+"#EXT-X-ENDLIST\n"))
	m := o.mustOpen(t, "https://host.test/l.m3u8", formats.Env{})
	_, _, err := m.Start(t.Context(), between(0, 20), 4)
	isError(t, err, formats.ErrUnsupported)
	if files := o.files(); len(files) != 1 {
		t.Errorf("asked for %v", files)
	}

	o = newOrigin()
	o.putFolder(t, "https://host.test/m", tsPresentation(t))
	m = o.mustOpen(t, "https://host.test/m/media.m3u8", formats.Env{})
	failed := false
	o.fail = func(name string, _ seek.Request) error {
		if strings.HasSuffix(name, "s003.ts") && !failed {
			failed = true
			return seek.ErrUnavailable
		}
		return nil
	}
	_, got := started(t, m, between(6, 30), 4, 4*heldAhead)
	if want := clip(t, m, mustPlan(t, m, between(6, 30))); !failed || !bytes.Equal(got, want) {
		t.Errorf("failed %v: the clip has %d bytes and is not the same, of %d", failed, len(got), len(want))
	}
}
