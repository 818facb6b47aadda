package hls

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/mpegts"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/mp4"
)

// TestWrongBefore: a duration before the interval is wrong, while those of its own
// segments are right: the clock of the first one does not agree with their sum,
// and one request finds out which of the two is wrong.
func TestWrongBefore(t *testing.T) {
	t.Parallel()
	for _, ext := range []string{".ts", ".m4s"} {
		for _, test := range []struct {
			name  string
			which int
			said  string
			a, b  float64
		}{
			{"the first is said to be longer", 0, "10", 17.1, 21.9},
			{"the first is said to be shorter", 0, "1", 13.1, 17.9},
			{"another is said to be longer", 2, "6.5", 25, 27.5},
			{"another is said to be shorter", 1, "2", 17.1, 21.9},
		} {
			if !tools.Full() && test.which > 0 {
				continue
			}
			seektest.Counted(t, ext+" "+test.name, func(t *testing.T) {
				dir := tsPresentation(t)
				text, need := head, 1
				if ext == ".m4s" {
					dir, need = fmp4Presentation(t), 2
					text += "#EXT-X-MAP:URI=\"init.mp4\"\n"
				}
				for i := range 10 {
					said := "4"
					if i == test.which {
						said = test.said
					}
					text += fmt.Sprintf("#EXTINF:%s,\ns%03d%s\n", said, i, ext)
				}
				o := newOrigin()
				o.putFolder(t, "https://host.test/w", dir)
				o.put("https://host.test/w/wrong.m3u8", []byte(text+"#EXT-X-ENDLIST\n"))
				m := o.mustOpen(t, "https://host.test/w/wrong.m3u8", formats.Env{})
				p := mustPlan(t, m, between(test.a, test.b))
				path := write(t, "clip"+ext, clip(t, m, p))
				if ext == ".ts" {
					original := joined(t, dir, numbered("s%03d.ts", 10)...)
					checkPackets(t, original, path, zeroOf(t, original), test.a, test.b)
					checkPictures(t, path, test.a, test.b)
				} else {
					checkClip(t, dir, path, test.a, test.b)
				}
				if !mentions(p.Warnings, "durations in the playlist are wrong") {
					t.Errorf("no warning: %v", p.Warnings)
				}
				need += int(test.b/4) - int(test.a/4) + 1
				if n := o.totals.Transfer().Requests; n > need+budget.HLSWrong+budget.HLSNeighbours {
					t.Errorf("%d requests for %d: %v", n, need, o.files())
				}
			})
		}
	}
}

// TestWrongToTheEnd: an interval that goes on to the end of a playlist whose durations
// are wrong has all of its last segment, where pictures and sound are apart, too, and
// no more than there is.
func TestWrongToTheEnd(t *testing.T) {
	ts, fmp4, apart := tsPresentation(t), fmp4Presentation(t), apartPresentation(t)
	for _, test := range []struct {
		name  string
		dir   string
		first string // said of the first segment, and of the others
		said  string
		a, b  float64 // b: 0 is open
	}{
		{"shorter", ts, "3.2", "3.2", 22, 0},
		{"shorter, fragments", fmp4, "3.2", "3.2", 22, 0},
		{"shorter, apart", apart, "3.2", "3.2", 22, 39.9},
		{"shorter, and an end beyond that", fmp4, "3.2", "3.2", 22, 38},
		{"the first alone", fmp4, "1", "4", 30, 0},
		{"longer", fmp4, "5", "5", 32, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := newOrigin()
			o.putFolder(t, "https://host.test/w", test.dir)
			list := func(folder, ext string) string {
				text := head
				if ext == ".m4s" {
					text += "#EXT-X-MAP:URI=\"" + folder + "init.mp4\"\n"
				}
				for i := range 10 {
					said := test.said
					if i == 0 {
						said = test.first
					}
					text += fmt.Sprintf("#EXTINF:%s,\n%ss%03d%s\n", said, folder, i, ext)
				}
				return text + "#EXT-X-ENDLIST\n"
			}
			ext := ".m4s"
			switch test.dir {
			case ts:
				ext = ".ts"
			case apart:
				o.putFolder(t, "https://host.test/w/v", test.dir+"/v")
				o.putFolder(t, "https://host.test/w/a", test.dir+"/a")
				o.put("https://host.test/w/vl.m3u8", []byte(list("v/", ext)))
				o.put("https://host.test/w/al.m3u8", []byte(list("a/", ext)))
			}
			o.put("https://host.test/w/wrong.m3u8", []byte(list("", ext)))
			if test.dir == apart {
				o.put("https://host.test/w/wrong.m3u8", []byte("#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"a\",DEFAULT=YES,URI=\"al.m3u8\"\n#EXT-X-STREAM-INF:BANDWIDTH=1000,CODECS=\"avc1.64000b,mp4a.40.2\",AUDIO=\"a\"\nvl.m3u8\n"))
			}
			s := between(test.a, test.b)
			if test.b == 0 {
				s = formats.Selection{Interval: fragment.From(fragment.FromSeconds(test.a))}
				test.b = 40
			}
			m := o.mustOpen(t, "https://host.test/w/wrong.m3u8", formats.Env{})
			p := mustPlan(t, m, s)
			path := write(t, "clip"+ext, clip(t, m, p))
			if ext == ".ts" {
				checkPictures(t, path, test.a, test.b)
			} else {
				checkClip(t, fmp4, path, test.a, test.b)
			}
			if end := p.Requested.End.Seconds(); end < test.b-0.1 || end > test.b+0.1 {
				t.Errorf("requested is %s, want up to %g", p.Requested, test.b)
			}
		})
	}
}

// TestSoundEndsFirst: sound that ends before the pictures do, by its playlist too, is
// said to last no longer than that playlist is, of an interval that touches the end.
func TestSoundEndsFirst(t *testing.T) {
	o := newOrigin()
	for folder, n := range map[string]int{"v": 10, "a": 9} {
		o.putFolder(t, "https://host.test/"+folder, apartPresentation(t)+"/"+folder)
		list := head + "#EXT-X-MAP:URI=\"init.mp4\"\n"
		for i := range n {
			list += fmt.Sprintf("#EXTINF:4,\ns%03d.m4s\n", i)
		}
		o.put("https://host.test/"+folder+"/list.m3u8", []byte(list+"#EXT-X-ENDLIST\n"))
	}
	o.put("https://host.test/master.m3u8", []byte("#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"a\",DEFAULT=YES,URI=\"a/list.m3u8\"\n#EXT-X-STREAM-INF:BANDWIDTH=1000,CODECS=\"avc1.64000b,mp4a.40.2\",AUDIO=\"a\"\nv/list.m3u8\n"))
	m := o.mustOpen(t, "https://host.test/master.m3u8", formats.Env{})
	s := between(33, 40)
	s.Layout = mp4.Progressive
	path := write(t, "clip.mp4", clip(t, m, mustPlan(t, m, s)))
	for kind, want := range map[string]float64{"v": 7, "a": 3} {
		got, err := strconv.ParseFloat(strings.TrimSpace(string(oracle.Run(t, "ffprobe", "-v", "error", "-select_streams", kind, "-show_entries", "stream=duration", "-of", "csv=p=0", path))), 64)
		if err != nil || got < want-0.01 || got > want+0.01 {
			t.Errorf("%s lasts %g s, %v; want %g", kind, got, err, want)
		}
	}
}

// TestRightBefore: where the durations are right nothing is asked for beyond the
// interval: clocks begin as they usually do, or anywhere where segments are all
// alike. Where neither is so, it takes one request to know.
func TestRightBefore(t *testing.T) {
	t.Parallel()
	dir := tsPresentation(t)
	for _, test := range []struct {
		name   string
		moved  int64 // of the clock, in seconds
		uneven bool
		extra  int
	}{
		{"as usual", 0, false, 0},
		{"segments of different lengths", 0, true, 0},
		{"another clock", 1234, false, 0},
		{"another clock and different lengths", 1234, true, 1},
	} {
		seektest.Counted(t, test.name, func(t *testing.T) {
			o := newOrigin()
			text := head
			moved := func(i int) []byte {
				b, err := io.ReadAll(mpegts.Shift(bytes.NewReader(readFile(t, dir, fmt.Sprintf("s%03d.ts", i))), test.moved*mpegts.Clock))
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			for i := 0; i < 10; i++ {
				b, length, name := moved(i), 4, fmt.Sprintf("m%d.ts", i)
				if test.uneven && i == 1 { // with the next in one
					i++
					b, length = append(b, moved(i)...), 8
				}
				o.put("https://host.test/r/"+name, b)
				text += fmt.Sprintf("#EXTINF:%d,\n%s\n", length, name)
			}
			o.put("https://host.test/r/list.m3u8", []byte(text+"#EXT-X-ENDLIST\n"))
			m := o.mustOpen(t, "https://host.test/r/list.m3u8", formats.Env{})
			p := mustPlan(t, m, between(17.1, 21.9))
			checkPictures(t, write(t, "clip.ts", clip(t, m, p)), 17.1, 21.9)
			if len(p.Warnings) > 0 || p.Covered.String() != "[16, 24)" {
				t.Errorf("covered is %s, warnings %v", p.Covered, p.Warnings)
			}
			if got := o.files(); len(got) != 3+test.extra {
				t.Errorf("asked for %v", got)
			}
		})
	}
}

// TestNoBeginning: where the segment that would tell how wrong the durations are
// is not there, what the playlist says remains, and a warning says so.
func TestNoBeginning(t *testing.T) {
	o := newOrigin()
	o.putFolder(t, "https://host.test/ts", tsPresentation(t))
	text := head + "#EXTINF:5,\ngone.ts\n"
	for i := 1; i < 10; i++ {
		text += fmt.Sprintf("#EXTINF:5,\ns%03d.ts\n", i)
	}
	o.put("https://host.test/ts/wrong.m3u8", []byte(text+"#EXT-X-ENDLIST\n"))
	m := o.mustOpen(t, "https://host.test/ts/wrong.m3u8", formats.Env{})
	p := mustPlan(t, m, between(11, 13))
	clip(t, m, p)
	if !mentions(p.Warnings, "by the durations") || !strings.Contains(strings.Join(o.files(), " "), "s002.ts") {
		t.Errorf("asked for %v, warnings %v", o.files(), p.Warnings)
	}
}

// TestWrapWithin: the clock begins anew in the interval. Its times are exact, and
// nothing but its segments is asked for.
func TestWrapWithin(t *testing.T) {
	t.Parallel()
	dir := tsPresentation(t)
	for _, before := range []int64{1_108_592, 900_001, 720_000, 1_439_999} { // the wrap, in ticks from the beginning
		o := newOrigin()
		text := head
		for i := range 10 {
			name := fmt.Sprintf("s%03d.ts", i)
			b, err := io.ReadAll(mpegts.Shift(bytes.NewReader(readFile(t, dir, name)), mpegts.Wrap-before-133_200))
			if err != nil {
				t.Fatal(err)
			}
			o.put("https://host.test/w/"+name, b)
			text += "#EXTINF:4.000000,\n" + name + "\n"
		}
		o.put("https://host.test/w/list.m3u8", []byte(text+"#EXT-X-ENDLIST\n"))
		m := o.mustOpen(t, "https://host.test/w/list.m3u8", formats.Env{})
		p := mustPlan(t, m, between(10.1, 13.9))
		if p.Covered.String() != "[8, 16)" || p.Presented.String() != "[8, 16)" || len(p.Warnings) > 0 {
			t.Errorf("covered is %s, presented %s, warnings %v", p.Covered, p.Presented, p.Warnings)
		}
		checkPictures(t, write(t, "clip.ts", clip(t, m, p)), 10.1, 13.9)
		if got := strings.Join(o.files(), " "); got != "list.m3u8 s002.ts s003.ts" {
			t.Errorf("asked for %s", got)
		}
	}
}
