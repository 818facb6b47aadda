package hls

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/mpegts"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/seek"
)

// intervals are those that clips are made of: in the middle of segments, at
// their bounds, in one segment, at the beginning, to the end.
func intervals() [][2]float64 {
	all := [][2]float64{{12, 20}, {35.5, -1}}
	if tools.Full() {
		all = append(all, [2]float64{10, 21}, [2]float64{17.3, 18.1}, [2]float64{0, 3}, [2]float64{7.98, 8.02}, [2]float64{11.999, 24.001}, [2]float64{0, -1}, [2]float64{39.9, -1}, [2]float64{3.96, 4}, [2]float64{4, 4.04}, [2]float64{20, 24})
	}
	return all
}

// closedEnd replaces an open end.
func closedEnd(b float64) float64 {
	if b < 0 {
		return baseSeconds
	}
	return b
}

// TestTransportStream cuts a presentation of transport streams that ffmpeg made,
// in its three ways to lie at an origin, and compares every clip with the
// continuous original: coded frames, pictures, requests.
func TestTransportStream(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		dir  func(t *testing.T) string
		keys int
	}{
		{"segments", func(t *testing.T) string { return tsPresentation(t) }, 0},
		{"ranges of one file", func(t *testing.T) string { return rangePresentation(t) }, 0},
		{"AES-128", func(t *testing.T) string { return encryptedPresentation(t) }, 1},
	} {
		seektest.Counted(t, test.name, func(t *testing.T) {
			dir := test.dir(t)
			original := joined(t, tsPresentation(t), numbered("s%03d.ts", 10)...)
			for i, x := range intervals() {
				if i > 0 && test.name != "segments" && !tools.Full() {
					break
				}
				a, b := x[0], closedEnd(x[1])
				o := newOrigin()
				o.putFolder(t, "https://host.test/ts", dir)
				m := o.mustOpen(t, "https://host.test/ts/media.m3u8", formats.Env{})
				p := mustPlan(t, m, between(x[0], x[1]))
				data := clip(t, m, p)
				path := write(t, "clip.ts", data)
				checkPackets(t, original, path, zeroOf(t, original), a, b)
				checkPictures(t, path, a, b)
				if start, end := p.Covered.Start.Seconds(), p.Covered.End.Seconds(); start > a+1e-6 || end < b-1e-4 || start < a-4.1 || end > b+4.1 {
					t.Errorf("[%g, %g): covered is %s", a, b, p.Covered)
				}
				if p.MediaType != "video/mp2t" {
					t.Errorf("the media type is %q", p.MediaType)
				}
				trips := o.totals.Transfer()
				if want := 2; trips.FirstMediaTrips > want {
					t.Errorf("[%g, %g): %d round trips, want %d", a, b, trips.FirstMediaTrips, want)
				}
				first, last := int(a/4), int((b-1e-9)/4)
				if most := 1 + test.keys + last - first + 1 + budget.HLSNeighbours; trips.Requests > most {
					t.Errorf("[%g, %g): %d requests, want at most %d: %v", a, b, trips.Requests, most, o.files())
				}
			}
		})
	}
}

// TestHalfFrame: a frame of sound of which more than half lies in the interval is
// in the clip, though its segment has only that of it: the length of frames is
// taken from the sound itself.
func TestHalfFrame(t *testing.T) {
	dir := tsPresentation(t)
	original := joined(t, dir, numbered("s%03d.ts", 10)...)
	zero := zeroOf(t, original)
	const half = 512. / 48000
	n := 0
	for i := 1; i < 9 && n < 2; i++ {
		scan, err := mpegts.Scan(readFile(t, dir, fmt.Sprintf("s%03d.ts", i)), 0)
		if err != nil {
			t.Fatal(err)
		}
		sound, video := scan.Of(mpegts.Audio), scan.Of(mpegts.Video)
		b := float64(sound.End)/mpegts.Clock - zero + half + 0.0004
		if b > float64(video.End)/mpegts.Clock-zero {
			continue // all of it lies behind the segment
		}
		n++
		o := newOrigin()
		o.putFolder(t, "https://host.test/ts", dir)
		m := o.mustOpen(t, "https://host.test/ts/media.m3u8", formats.Env{})
		path := write(t, "clip.ts", clip(t, m, mustPlan(t, m, between(b-3, b))))
		checkPackets(t, original, path, zero, b-3, b)
	}
	if n == 0 {
		t.Fatal("sound ends with the pictures in all segments")
	}
}

// TestOnlyTheInterval checks which files are asked for: each once, and none that
// the interval does not need.
func TestOnlyTheInterval(t *testing.T) {
	o := newOrigin()
	o.putFolder(t, "https://host.test/ts", tsPresentation(t))
	m := o.mustOpen(t, "https://host.test/ts/media.m3u8", formats.Env{})
	p := mustPlan(t, m, between(10, 21))
	clip(t, m, p)
	want := []string{"media.m3u8", "s002.ts", "s003.ts", "s004.ts", "s005.ts"}
	if diff := cmp.Diff(want, o.files()); diff != "" {
		t.Error(diff)
	}
	var named []string
	for _, part := range p.Parts {
		if part.Resource != nil {
			named = append(named, filepath.Base(part.Resource.Name))
		}
	}
	if diff := cmp.Diff(want[1:], named); diff != "" {
		t.Errorf("the plan does not name the segments: %s", diff)
	}
	// A plan is data: read elsewhere, without what this medium holds, it gives
	// the same bytes.
	again := seek.NewReader(t.Context(), p.Parts, o, 4)
	defer again.Close()
	var b bytes.Buffer
	if _, err := again.WriteTo(&b); err != nil || !bytes.Equal(b.Bytes(), clip(t, m, p)) {
		t.Errorf("the plan read by another opener: %d bytes, %v", b.Len(), err)
	}
}

// TestWrongDurations cuts from playlists whose durations are wrong: the clip
// holds the interval all the same, for two requests more at most.
func TestWrongDurations(t *testing.T) {
	t.Parallel()
	dir := tsPresentation(t)
	original := joined(t, dir, numbered("s%03d.ts", 10)...)
	wrongs, intervals := []string{"3", "4.2"}, [][2]float64{{20.5, 27}, {24, 28}}
	if tools.Full() {
		wrongs, intervals = append(wrongs, "3.5", "3.9", "5"), append(intervals, [2]float64{9, 13})
	}
	for _, wrong := range wrongs {
		for _, x := range intervals {
			a, b := x[0], x[1]
			text := head
			for i := range 10 {
				text += fmt.Sprintf("#EXTINF:%s,\ns%03d.ts\n", wrong, i)
			}
			o := newOrigin()
			o.putFolder(t, "https://host.test/ts", dir)
			o.put("https://host.test/ts/wrong.m3u8", []byte(text+"#EXT-X-ENDLIST\n"))
			whole := map[string]bool{} // segments that were read, not only looked into
			o.fail = func(name string, r seek.Request) error {
				whole[name] = whole[name] || r.Purpose == seek.Media
				return nil
			}
			m := o.mustOpen(t, "https://host.test/ts/wrong.m3u8", formats.Env{})
			p := mustPlan(t, m, between(a, b))
			path := write(t, "clip.ts", clip(t, m, p))
			checkPackets(t, original, path, zeroOf(t, original), a, b)
			checkPictures(t, path, a, b)
			first, last := int(a/4), int((b-1e-9)/4)
			need := 1 + last - first + 1
			if n := o.totals.Transfer().Requests; n > need+budget.HLSWrong+budget.HLSNeighbours {
				t.Errorf("durations of %s, [%g, %g): %d requests for %d: %v", wrong, a, b, n, need, o.files())
			}
			maps.DeleteFunc(whole, func(_ string, read bool) bool { return !read })
			if n, most := len(whole), last-first+1+budget.HLSWrong; n > most {
				t.Errorf("durations of %s, [%g, %g): %d segments, want %d at most: %v", wrong, a, b, n, most, whole)
			}
		}
	}
}

// TestDurationsThatAddUp: durations that are all off by as little as a rounding
// add up over a long playlist: the segment that the interval lies in is found by
// its timestamps, for one request more. Durations that are right cost none.
func TestDurationsThatAddUp(t *testing.T) {
	dir := tsPresentation(t)
	const n = 300
	for _, said := range []string{"3.999", "4.000"} {
		o := newOrigin()
		text := head
		for i := range n {
			name := fmt.Sprintf("s%03d.ts", i%10)
			if i >= 270 || i == 0 { // the others are never read
				b, err := io.ReadAll(mpegts.Shift(bytes.NewReader(readFile(t, dir, name)), int64(i/10*baseSeconds*mpegts.Clock)))
				if err != nil {
					t.Fatal(err)
				}
				o.put(fmt.Sprintf("https://host.test/l/x%03d.ts", i), b)
			}
			text += fmt.Sprintf("#EXTINF:%s,\nx%03d.ts\n", said, i)
		}
		o.put("https://host.test/l/l.m3u8", []byte(text+"#EXT-X-ENDLIST\n"))
		m := o.mustOpen(t, "https://host.test/l/l.m3u8", formats.Env{})
		const a, b = 1103.8, 1109 // in the segments 275, 276 and 277
		p := mustPlan(t, m, between(a, b))
		clip(t, m, p)
		if got := p.Covered; got.Start.Seconds() > a || got.Start.Seconds() < 1099.9 || got.End.Seconds() < b {
			t.Errorf("durations of %s s: covered is %s", said, got)
		}
		need, extra := 1+3, 0
		if said != "4.000" {
			extra = budget.HLSWrong
		}
		if files := o.files(); !slices.Contains(files, "x275.ts") || !slices.Contains(files, "x277.ts") {
			t.Errorf("durations of %s s: asked for %v", said, files)
		}
		if got := o.totals.Transfer().Requests; got > need+extra {
			t.Errorf("durations of %s s: %d requests, want %d at most: %v", said, got, need+extra, o.files())
		}
	}
}

// TestWrap cuts around the point where the 33 bits of the clock begin anew.
func TestWrap(t *testing.T) {
	t.Parallel()
	needCorpus(t)
	tools.Need(t, "ffmpeg", "ffprobe")
	dir := filepath.Join(corpus, "shaka-ts-rollover")
	var names []string
	for i := 24; i <= 33; i++ {
		names = append(names, fmt.Sprintf("360p30_h264_48k_160_aac_ts-%010d.ts", i))
	}
	original := joined(t, dir, names...)
	zero := zeroOf(t, original)
	cuts := [][2]float64{{9, 11}}
	if tools.Full() {
		cuts = append(cuts, [2]float64{4.5, 7.5}, [2]float64{13, 20})
	}
	for _, x := range cuts {
		o := newOrigin()
		o.putFolder(t, "https://host.test/w", dir)
		m := o.mustOpen(t, "https://host.test/w/playlist.m3u8", formats.Env{})
		p := mustPlan(t, m, between(x[0], x[1]))
		checkPackets(t, original, write(t, "clip.ts", clip(t, m, p)), zero, x[0], x[1])
		if start := p.Covered.Start.Seconds(); start > x[0] || start < x[0]-2.1 {
			t.Errorf("covered is %s for %v", p.Covered, x)
		}
	}
}

// TestGap cuts where the playlist says that a segment does not exist.
func TestGap(t *testing.T) {
	needCorpus(t)
	o := newOrigin()
	o.putFolder(t, "https://host.test/g", filepath.Join(corpus, "shaka-gap"))
	m := o.mustOpen(t, "https://host.test/g/playlist.m3u8", formats.Env{})
	p := mustPlan(t, m, between(13, 22))
	clip(t, m, p)
	if files := o.files(); slices.Contains(files, "5.ts") || !slices.Contains(files, "4.ts") || !slices.Contains(files, "6.ts") {
		t.Errorf("asked for %v", files)
	}
	if len(p.Warnings) == 0 || !strings.Contains(p.Warnings[0].Reason, "gap") {
		t.Errorf("no warning of the gap: %v", p.Warnings)
	}
	if _, err := m.Plan(t.Context(), between(17, 19)); err == nil {
		t.Error("an interval that lies in a gap was planned")
	} else {
		isError(t, err, formats.ErrUnsupported)
	}
}

// TestDiscontinuity cuts across a point where the clocks begin anew: they go on
// in the clip, and nothing is lost.
func TestDiscontinuity(t *testing.T) {
	dir := tsPresentation(t)
	text := head + "#EXT-X-DISCONTINUITY-SEQUENCE:5\n"
	// Segments 5 and 6 first, then 1 and 2, then 8.
	for i, n := range []int{5, 6, 1, 2, 8} {
		if i == 2 || i == 4 {
			text += "#EXT-X-DISCONTINUITY\n"
		}
		text += fmt.Sprintf("#EXTINF:4,\ns%03d.ts\n", n)
	}
	o := newOrigin()
	o.putFolder(t, "https://host.test/d", dir)
	o.put("https://host.test/d/d.m3u8", []byte(text+"#EXT-X-ENDLIST\n"))
	m := o.mustOpen(t, "https://host.test/d/d.m3u8", formats.Env{})
	p := mustPlan(t, m, between(5, 17))
	path := write(t, "clip.ts", clip(t, m, p))
	have := oracle.Decode(t, path)
	var want []string
	all := oracle.Original(t, base(t)).Video[0]
	for _, x := range [][2]float64{{24, 28}, {4, 12}, {32, 36}} {
		for _, picture := range oracle.Between(all, x[0], x[1]) {
			want = append(want, picture.Hash)
		}
	}
	var got []string
	for i, picture := range have.Video[0] {
		got = append(got, picture.Hash)
		if i > 0 && (picture.Time-have.Video[0][i-1].Time > 0.0401 || picture.Time-have.Video[0][i-1].Time < 0.0399) {
			t.Errorf("picture %d comes %.3f s after the one before", i, picture.Time-have.Video[0][i-1].Time)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d pictures, want %d", len(got), len(want))
	}
	if have.Errors != "" {
		t.Errorf("ffmpeg complains: %s", have.Errors)
	}
}

// TestNoStream checks what comes where a segment is something else: an error
// that says what, for the first segment and for one in the middle.
func TestNoStream(t *testing.T) {
	for _, bad := range []string{"s002.ts", "s003.ts"} {
		o := newOrigin()
		o.putFolder(t, "https://host.test/ts", tsPresentation(t))
		o.put("https://host.test/ts/"+bad, []byte("<html>sorry</html>"))
		m := o.mustOpen(t, "https://host.test/ts/media.m3u8", formats.Env{})
		p, err := m.Plan(t.Context(), between(10, 21))
		if err == nil {
			r := seek.NewReader(t.Context(), p.Parts, m, 4)
			var b bytes.Buffer
			_, err = r.WriteTo(&b)
			r.Close()
		}
		isError(t, err, formats.ErrDamaged)
		if err != nil && !strings.Contains(err.Error(), "<html>") {
			t.Errorf("%v does not say what came", err)
		}
	}
}

// TestRangesOfSeveralFiles: each file of which ranges are taken is looked at, also
// one that lies between those of the interval's ends; of one that is good the
// ranges come together.
func TestRangesOfSeveralFiles(t *testing.T) {
	dir := tsPresentation(t)
	files := [][]byte{nil, nil, nil}
	text := head
	for i := range 9 {
		b := readFile(t, dir, fmt.Sprintf("s%03d.ts", i))
		text += fmt.Sprintf("#EXTINF:4,\n#EXT-X-BYTERANGE:%d@%d\nf%d.ts\n", len(b), len(files[i/3]), i/3)
		files[i/3] = append(files[i/3], b...)
	}
	for _, bad := range []int{-1, 1} {
		o := newOrigin()
		for i, b := range files {
			if i == bad {
				b = bytes.Repeat([]byte("<html>sorry</html>"), len(b)/18+1)[:len(b)]
			}
			o.put(fmt.Sprintf("https://host.test/f%d.ts", i), b)
		}
		o.put("https://host.test/l.m3u8", []byte(text+"#EXT-X-ENDLIST\n"))
		m := o.mustOpen(t, "https://host.test/l.m3u8", formats.Env{})
		p := mustPlan(t, m, between(5, 31))
		r := seek.NewReader(t.Context(), p.Parts, m, 4)
		var b bytes.Buffer
		_, err := r.WriteTo(&b)
		r.Close()
		if bad < 0 {
			if err != nil || !bytes.Contains(b.Bytes(), files[1]) {
				t.Errorf("%d bytes, %v", b.Len(), err)
			}
			if n := len(o.files()); n > 7 {
				t.Errorf("%d requests: ranges that lie side by side do not come together: %v", n, o.files())
			}
			continue
		}
		isError(t, err, formats.ErrDamaged)
	}
}

func TestPastEnd(t *testing.T) {
	o := newOrigin()
	o.put("https://host.test/a.m3u8", []byte(head+"#EXTINF:4\na\n#EXT-X-ENDLIST\n"))
	m := o.mustOpen(t, "https://host.test/a.m3u8", formats.Env{})
	if i := m.Info(); !i.Timed || i.Duration.Seconds() != 4 {
		t.Errorf("the duration is %s", i.Duration)
	}
	_, err := m.Plan(t.Context(), between(4, 5))
	isError(t, err, formats.ErrPastEnd)
}
