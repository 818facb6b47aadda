package hls

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/seek"
)

// twoPlaces serves a presentation at a.test, and as a redundant variant at b.test,
// of which the playlist gives everything another address. Change, which may be nil,
// makes of the second playlist and its files what they are to be.
func twoPlaces(t *testing.T, dir string, change func(list string, files map[string][]byte) string) *origin {
	t.Helper()
	o := newOrigin()
	o.put("https://a.test/master.m3u8", []byte("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000\nx/media.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=1000\nhttps://b.test/lists/2.m3u8\n"))
	o.putFolder(t, "https://a.test/x", dir)
	list := string(readFile(t, dir, "media.m3u8"))
	files := map[string][]byte{}
	rename := func(name string) string {
		files[name] = readFile(t, dir, name)
		return "https://cdn.test/2/" + name + "?t=b"
	}
	list = regexp.MustCompile(`URI="([^"]*)"`).ReplaceAllStringFunc(list, func(s string) string { return `URI="` + rename(s[5:len(s)-1]) + `"` })
	list = regexp.MustCompile(`(?m)^[^#\n].*$`).ReplaceAllStringFunc(list, rename)
	files = maps.Clone(files)
	if change != nil {
		list = change(list, files)
	}
	o.put("https://b.test/lists/2.m3u8", []byte(list))
	for name, data := range files {
		o.put("https://cdn.test/2/"+name+"?t=b", data)
	}
	return o
}

// failing fails what is at a.test under names.
func (o *origin) failing(err error, names string) {
	o.fail = func(name string, _ seek.Request) error {
		for suffix := range strings.FieldsSeq(names) {
			if name == "https://a.test/x/"+suffix {
				return err
			}
		}
		return nil
	}
}

// breakOff breaks the first answer for a file off after n bytes; later ones fail.
func (o *origin) breakOff(url string, n int64) {
	fault := o.sources[url].Fault
	first := true
	o.sources[url].Fault = func(ctx context.Context, i int, r seek.Request) seektest.Fault {
		f := fault(ctx, i, r)
		o.mu.Lock()
		defer o.mu.Unlock()
		if !first {
			return seektest.Fault{Err: seek.ErrUnavailable}
		}
		first = false
		f.Break, f.BreakErr = &n, seek.ErrUnavailable
		return f
	}
}

// ownFiles makes of the ranges of a playlist of one file a file each.
func ownFiles(list string, files map[string][]byte) string {
	whole := files["all.ts"]
	clear(files)
	i, at := 0, 0
	return regexp.MustCompile(`#EXT-X-BYTERANGE:(\d+)@(\d+)\n.*`).ReplaceAllStringFunc(list, func(s string) string {
		var n int
		fmt.Sscanf(s, "#EXT-X-BYTERANGE:%d@%d", &n, &at)
		name := fmt.Sprintf("own%d.ts", i)
		files[name] = whole[at : at+n]
		i++
		return "https://cdn.test/2/" + name + "?t=b"
	})
}

// TestRedundantSegments: what a host does not give comes from where a redundant
// playlist has it, whatever it is called there; the clip is the same.
func TestRedundantSegments(t *testing.T) {
	ts, fmp4 := tsPresentation(t), fmp4Presentation(t)
	for _, test := range []struct {
		name, dir string
		change    func(list string, files map[string][]byte) string
		err       error
		down      string
	}{
		{"no segment", ts, nil, seek.ErrUnavailable, strings.Join(numbered("s%03d.ts", 10), " ")},
		{"none of them found", ts, nil, seek.ErrNotFound, strings.Join(numbered("s%03d.ts", 10), " ")},
		{"one in the middle", ts, nil, seek.ErrUnavailable, "s003.ts"},
		{"one in the middle not found", ts, nil, seek.ErrNotFound, "s003.ts"},
		{"other numbers", ts, func(list string, _ map[string][]byte) string {
			return strings.Replace(list, "MEDIA-SEQUENCE:0", "MEDIA-SEQUENCE:70", 1)
		}, seek.ErrNotFound, "s002.ts s004.ts"},
		{"ranges", rangePresentation(t), nil, seek.ErrUnavailable, "all.ts"},
		{"ranges that are files there", rangePresentation(t), ownFiles, seek.ErrUnavailable, "all.ts"},
		{"fragments", fmp4, nil, seek.ErrUnavailable, strings.Join(numbered("s%03d.m4s", 10), " ")},
		{"a fragment in the middle", fmp4, nil, seek.ErrNotFound, "s003.m4s"},
		{"the initialization", fmp4, nil, seek.ErrForbidden, "init.mp4"},
		{"encrypted segments", encryptedPresentation(t), nil, seek.ErrUnavailable, "s002.ts s003.ts"},
		{"the key", encryptedPresentation(t), nil, seek.ErrUnavailable, "key.bin"},
	} {
		seektest.Counted(t, test.name, func(t *testing.T) {
			o := newOrigin()
			o.putFolder(t, "https://a.test/x", test.dir)
			m := o.mustOpen(t, "https://a.test/x/media.m3u8", formats.Env{})
			want := clip(t, m, mustPlan(t, m, between(9, 21)))
			o = twoPlaces(t, test.dir, test.change)
			o.failing(test.err, test.down)
			m = o.mustOpen(t, "https://a.test/master.m3u8", formats.Env{})
			if got := clip(t, m, mustPlan(t, m, between(9, 21))); !bytes.Equal(got, want) {
				t.Errorf("the clip has %d bytes and is not that of the first host, of %d", len(got), len(want))
			}
		})
	}
}

// TestRedundantDocument: a page for people that comes instead of media, with a status
// that says nothing, is as good as nothing; the host is not taken for down.
func TestRedundantDocument(t *testing.T) {
	for _, test := range []struct {
		dir   string
		names []string
	}{
		{tsPresentation(t), []string{"s002.ts", "s003.ts", "s005.ts"}}, {fmp4Presentation(t), []string{"s002.m4s", "s003.m4s", "init.mp4"}},
		{encryptedPresentation(t), []string{"s003.ts", "key.bin"}},
	} {
		for i, page := range []string{"<!DOCTYPE html><title>404</title>", "\ufeff\n<html>", " <?xml version='1.0'?><Error/>"} {
			name := test.names[i%len(test.names)]
			o := newOrigin()
			o.putFolder(t, "https://a.test/x", test.dir)
			m := o.mustOpen(t, "https://a.test/x/media.m3u8", formats.Env{})
			want := clip(t, m, mustPlan(t, m, between(9, 21)))
			o = twoPlaces(t, test.dir, nil)
			o.put("https://a.test/x/"+name, []byte(page))
			m = o.mustOpen(t, "https://a.test/master.m3u8", formats.Env{})
			if got := clip(t, m, mustPlan(t, m, between(9, 21))); !bytes.Equal(got, want) {
				t.Errorf("%s: the clip has %d bytes and is not that of the first host, of %d", name, len(got), len(want))
			}
			if m.loader.isDown("a.test") {
				t.Errorf("%s: the host is taken for down", name)
			}
		}
	}
}

// TestDocument: where there is no other place, a page instead of a segment ends in
// an error that names the segment, wherever in the interval it is.
func TestDocument(t *testing.T) {
	for _, test := range []struct {
		dir, name string
		layout    formats.Layout
	}{
		{tsPresentation(t), "s003.ts", ""},
		{fmp4Presentation(t), "s002.m4s", ""},
		{fmp4Presentation(t), "s003.m4s", ""},
		{fmp4Presentation(t), "s003.m4s", mp4.Progressive},
		{fmp4Presentation(t), "init.mp4", ""},
		{encryptedPresentation(t), "s003.ts", ""},
	} {
		o := newOrigin()
		o.putFolder(t, "https://a.test/x", test.dir)
		o.put("https://a.test/x/"+test.name, []byte("<!DOCTYPE html><title>404</title>"))
		m := o.mustOpen(t, "https://a.test/x/media.m3u8", formats.Env{})
		s := between(9, 21)
		s.Layout = test.layout
		p, err := m.Plan(t.Context(), s)
		if err == nil {
			_, err = io.Copy(io.Discard, seek.NewReader(t.Context(), p.Parts, m, 4))
		}
		isError(t, err, formats.ErrDamaged)
		if err != nil && !strings.Contains(err.Error(), test.name) {
			t.Errorf("%s, %s: %v does not name it", test.name, test.layout, err)
		}
	}
}

// TestRedundantOtherwise: what is not the same at the other host does not come
// from there: the error is that of the first.
func TestRedundantOtherwise(t *testing.T) {
	changed := func(name string, at int) func(string, map[string][]byte) string {
		return func(list string, files map[string][]byte) string {
			files[name] = bytes.Clone(files[name])
			files[name][at] ^= 0xff
			return list
		}
	}
	for _, test := range []struct {
		name, dir string
		change    func(list string, files map[string][]byte) string
		down      string
	}{
		{"another key", encryptedPresentation(t), changed("key.bin", 3), "s003.ts"},
		{"implicit vectors of other numbers", encryptedPresentation(t), func(list string, _ map[string][]byte) string {
			return regexp.MustCompile(`,IV=\w+`).ReplaceAllString(strings.Replace(list, "MEDIA-SEQUENCE:0", "MEDIA-SEQUENCE:1", 1), "")
		}, "s003.ts"},
		{"another initialization", fmp4Presentation(t), changed("init.mp4", 200), "s003.m4s"},
		{"other lengths of ranges", rangePresentation(t), func(list string, _ map[string][]byte) string {
			return regexp.MustCompile(`BYTERANGE:(\d+)`).ReplaceAllString(list, "BYTERANGE:1$1")
		}, "all.ts"},
		{"other durations", tsPresentation(t), func(list string, _ map[string][]byte) string {
			return strings.ReplaceAll(list, "#EXTINF:4", "#EXTINF:3")
		}, "s003.ts"},
		{"a gap", tsPresentation(t), func(list string, _ map[string][]byte) string {
			return strings.ReplaceAll(list, "#EXTINF", "#EXT-X-GAP\n#EXTINF")
		}, "s003.ts"},
	} {
		seektest.Counted(t, test.name, func(t *testing.T) {
			o := twoPlaces(t, test.dir, test.change)
			o.failing(seek.ErrUnavailable, test.down)
			m := o.mustOpen(t, "https://a.test/master.m3u8", formats.Env{})
			p, err := m.Plan(t.Context(), between(9, 21))
			if err == nil {
				r := seek.NewReader(t.Context(), p.Parts, m, 4)
				defer r.Close()
				_, err = r.WriteTo(&bytes.Buffer{})
			}
			isError(t, err, seek.ErrUnavailable)
		})
	}
}

// TestBreaksOff: a segment that breaks off is never made of the bytes of two that
// are different. What nothing is made of yet begins again; what has been given
// out has to be the same at the other host.
func TestBreaksOff(t *testing.T) {
	const at = 20_000 // where it breaks off
	other := func(name string, at int) func(string, map[string][]byte) string {
		return func(list string, files map[string][]byte) string {
			files[name] = bytes.Clone(files[name])
			files[name][at/188*188+187] ^= 0x55 // the last byte of a packet
			return list
		}
	}
	dir := tsPresentation(t)
	segment := func(o *origin, name string) []byte {
		t.Helper()
		return readSource(t, o.sources["https://cdn.test/2/"+name+"?t=b"])
	}
	for _, test := range []struct {
		name, file string
		change     func(string, map[string][]byte) string
		fails      bool
	}{
		{"between, and is the same", "s003.ts", nil, false},
		{"between, and is another before", "s003.ts", other("s003.ts", at/2), true},
		{"between, and is another behind", "s003.ts", other("s003.ts", at*2), false},
		{"at the beginning, and is another before", "s002.ts", other("s002.ts", at/2), false},
		{"at the end, and is another before", "s005.ts", other("s005.ts", at/2), false},
	} {
		seektest.Counted(t, test.name, func(t *testing.T) {
			o := twoPlaces(t, dir, test.change)
			o.breakOff("https://a.test/x/"+test.file, at)
			m := o.mustOpen(t, "https://a.test/master.m3u8", formats.Env{})
			p := mustPlan(t, m, between(9, 21))
			r := seek.NewReader(t.Context(), p.Parts, m, 4)
			defer r.Close()
			var got bytes.Buffer
			_, err := r.WriteTo(&got)
			if test.fails {
				isError(t, err, seek.ErrUnavailable)
				if want := append(bytes.Clone(segment(o, "s002.ts")), readFile(t, dir, test.file)[:at]...); !bytes.Equal(got.Bytes(), want) {
					t.Errorf("it gave %d bytes, want %d of the first host", got.Len(), len(want))
				}
				return
			}
			var want []byte
			for i := 2; i <= 5; i++ {
				want = append(want, segment(o, fmt.Sprintf("s%03d.ts", i))...)
			}
			if err != nil || !bytes.Equal(got.Bytes(), want) {
				t.Errorf("it gave %d bytes, want %d of the second host: %v", got.Len(), len(want), err)
			}
		})
	}
}

// readSource reads a source whole, past its faults.
func readSource(t *testing.T, s *seektest.Source) []byte {
	t.Helper()
	b, err := io.ReadAll(io.NewSectionReader(s.Content, 0, s.Info.Size))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestHeadIsHeld: the rest of a fragment whose index made the plan only comes from
// a host that has the same index.
func TestHeadIsHeld(t *testing.T) {
	for _, same := range []bool{true, false} {
		seektest.Counted(t, fmt.Sprint(same), func(t *testing.T) {
			o := twoPlaces(t, fmp4Presentation(t), func(list string, files map[string][]byte) string {
				b := bytes.Clone(files["s003.m4s"])
				if i := bytes.Index(b, []byte("tfhd")); !same {
					b[i+30] ^= 1
				}
				files["s003.m4s"] = b
				return list
			})
			m := o.mustOpen(t, "https://a.test/master.m3u8", formats.Env{})
			sel := between(9, 21)
			sel.Layout = mp4.Progressive // which needs the index of every fragment
			p := mustPlan(t, m, sel)
			o.failing(seek.ErrUnavailable, "s003.m4s")
			r := seek.NewReader(t.Context(), p.Parts, m, 4)
			defer r.Close()
			_, err := r.WriteTo(&bytes.Buffer{})
			if same && err != nil {
				t.Error(err)
			} else if !same {
				isError(t, err, seek.ErrUnavailable)
			}
		})
	}
}

// TestRedundantLive: what a live playlist has named comes from another place, too,
// when it has left the playlist, and so do the parts of a segment that has become
// whole. Pieces of 2 s are the parts and, at first, the segments.
func TestRedundantLive(t *testing.T) {
	dir := partsPresentation(t, ".ts")
	list := func(prefix string, from, to int) string {
		text := fmt.Sprintf("#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:%d\n", from)
		for i := from; i < to; i++ {
			text += fmt.Sprintf("#EXTINF:2,\n%sp%03d.ts\n", prefix, i)
		}
		return text
	}
	// A segment of 4 s that is two parts, of which there are so many.
	parts := func(prefix string, count int, whole bool) string {
		text := list(prefix, 0, 2)
		for i := range count {
			text += fmt.Sprintf("#EXT-X-PART:DURATION=2,URI=\"%sp%03d.ts\",INDEPENDENT=YES\n", prefix, 2+i)
		}
		if whole {
			text += fmt.Sprintf("#EXTINF:4,\n%swhole.ts\n", prefix)
		}
		return text
	}
	dated := func(text string) string {
		return strings.Replace(text, "#EXTINF", "#EXT-X-PROGRAM-DATE-TIME:2026-05-01T10:00:00Z\n#EXTINF", 1)
	}
	const other = "https://cdn.test/2/"
	for _, test := range []struct {
		name   string
		a      string
		others []string // playlists of the other place, one after the other
		gone   bool     // the first place's own is gone, and then the other's is the stream's
		b      float64
		down   string
	}{
		{"a segment that has left", list("", 0, 4), []string{list(other, 1, 5)}, true, 8, "p001.ts"},
		{"one that has left at the other place, too", list("", 0, 4), []string{list(other, 1, 5), list(other, 3, 7)}, true, 8, "p001.ts"},
		{"a part", parts("", 1, false), []string{parts(other, 1, false)}, false, 6, "p002.ts"},
		{"a part of what is whole at the other place", parts("", 1, false), []string{parts(other, 2, true)}, false, 6, "p002.ts"},
		{"the second part", parts("", 2, false), []string{parts(other, 2, true)}, false, 8, "p003.ts"},
		{"the second part, with dates", dated(parts("", 2, false)), []string{dated(parts(other, 2, true))}, false, 8, "p003.ts"},
		{"a part of what has become whole", parts("", 1, false), []string{parts(other, 2, true)}, true, 6, "p002.ts"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := newOrigin()
			o.putFolder(t, "https://a.test/x", dir)
			o.put("https://a.test/x/media.m3u8", []byte(test.a))
			m := o.mustOpen(t, "https://a.test/x/media.m3u8", formats.Env{})
			want := clip(t, m, mustPlan(t, m, between(0, test.b)))

			o = twoPlaces(t, dir, nil)
			for i := range 20 {
				name := fmt.Sprintf("p%03d.ts", i)
				o.put(other+name, readFile(t, dir, name))
			}
			o.put("https://a.test/x/media.m3u8", []byte(test.a))
			m = o.mustOpen(t, "https://a.test/master.m3u8", formats.Env{})
			p := mustPlan(t, m, between(0, test.b))
			m.loader.held, m.loader.order, m.loader.size = nil, nil, 0 // what was read is asked for again
			o.failing(seek.ErrUnavailable, test.down)
			if test.gone {
				o.failing(seek.ErrUnavailable, test.down+" media.m3u8")
			}
			for _, text := range test.others {
				o.put("https://b.test/lists/2.m3u8", []byte(text))
				if !test.gone {
					continue
				}
				if _, err := m.reload(t.Context(), m.main, directives{part: -1}); err != nil {
					t.Fatal(err)
				}
			}
			if got := clip(t, m, p); !bytes.Equal(got, want) {
				t.Errorf("%d bytes, want %d", len(got), len(want))
			}
			if n := strings.Count(strings.Join(o.files(), " "), "2.m3u8"); n > 1+len(test.others) {
				t.Errorf("the other playlist was asked for %d times: %v", n, o.files())
			}
		})
	}
}
