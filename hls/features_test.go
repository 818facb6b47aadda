package hls

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/mpegts"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/seek"
)

// failing is an origin's fault: one resource is not to be had.
func failing(url string) func(string, seek.Request) error {
	return func(name string, _ seek.Request) error {
		if name == url {
			return fmt.Errorf("%s: %w", name, seek.ErrUnavailable)
		}
		return nil
	}
}

// TestRefused: what cannot be decrypted is refused by its name, before any media
// is asked for; a trimmed playlist leaves it to the player.
func TestRefused(t *testing.T) {
	for tag, name := range map[string]string{
		`#EXT-X-KEY:METHOD=SAMPLE-AES,URI="k"`:                                                                          "SAMPLE-AES",
		`#EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://x",KEYFORMAT="com.apple.streamingkeydelivery"`:                         "FairPlay",
		`#EXT-X-KEY:METHOD=SAMPLE-AES-CTR,URI="data:x",KEYFORMAT="urn:uuid:edef8ba9-79d6-4ace-a3c8-27dcd51d21ed"`:       "Widevine",
		`#EXT-X-KEY:METHOD=SAMPLE-AES-CTR,URI="data:x",KEYFORMAT="com.microsoft.playready"`:                             "PlayReady",
		`#EXT-X-KEY:METHOD=AES-256,URI="k"`:                                                                             "AES-256",
		`#EXT-X-KEY:METHOD=AES-128,URI="k",KEYFORMAT="urn:other"` + "\n" + `#EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://y"`: "urn:other",
	} {
		o := newOrigin()
		o.put("https://host.test/l.m3u8", []byte(head+tag+"\n#EXTINF:4\na.ts\n#EXT-X-ENDLIST\n"))
		m := o.mustOpen(t, "https://host.test/l.m3u8", formats.Env{})
		_, err := m.Plan(t.Context(), between(0, 4))
		isError(t, err, formats.ErrUnsupported)
		if err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
		if files := o.files(); len(files) != 1 {
			t.Errorf("asked for %v", files)
		}
		texts, _ := trimmed(t, m, between(0, 4), "c.m3u8")
		if !strings.Contains(texts["c.m3u8"], "METHOD=") {
			t.Error("the trimmed playlist has no key")
		}
	}
}

// TestKeyRotation: each key is fetched once and used for its own segments.
func TestKeyRotation(t *testing.T) {
	dir := tsPresentation(t)
	o := newOrigin()
	text := head
	for i := range 10 {
		b := readFile(t, dir, fmt.Sprintf("s%03d.ts", i))
		key := []byte(fmt.Sprintf("key number %05d", i/3))
		o.put(fmt.Sprintf("https://host.test/k%d", i/3), key)
		o.put(fmt.Sprintf("https://host.test/s%d.ts", i), encrypt(t, key, int64(50+i), b))
		if i%3 == 0 {
			text += fmt.Sprintf("#EXT-X-KEY:METHOD=AES-128,URI=\"k%d\"\n", i/3)
		}
		text += fmt.Sprintf("#EXTINF:4,\ns%d.ts\n", i)
	}
	o.put("https://host.test/l.m3u8", []byte(strings.Replace(text, "#EXT-X-TARGET", "#EXT-X-MEDIA-SEQUENCE:50\n#EXT-X-TARGET", 1)+"#EXT-X-ENDLIST\n"))
	m := o.mustOpen(t, "https://host.test/l.m3u8", formats.Env{})
	p := mustPlan(t, m, between(5, 30))
	data := clip(t, m, p)
	var want []byte
	for i := 1; i <= 7; i++ {
		want = append(want, readFile(t, dir, fmt.Sprintf("s%03d.ts", i))...)
	}
	if string(data) != string(want) {
		t.Errorf("%d bytes, want %d: they are not the plain segments", len(data), len(want))
	}
	keys := 0
	for _, name := range o.files() {
		if strings.HasPrefix(name, "k") {
			keys++
		}
	}
	if keys != 3 {
		t.Errorf("keys were asked for %d times, want 3", keys)
	}
	if plan := fmt.Sprintf("%+v", p.Parts[1].Rewrite); strings.Contains(plan, "key number") || !strings.Contains(plan, "/k0") {
		t.Errorf("the plan holds a key, or not where it is: %s", plan)
	}
	// The wrong key: an error, and no garbage.
	o.put("https://host.test/k1", []byte("not the key here"))
	m = o.mustOpen(t, "https://host.test/l.m3u8", formats.Env{})
	if p, err := m.Plan(t.Context(), between(13, 14)); err == nil {
		t.Errorf("planned with the wrong key: %v", p.Covered)
	} else {
		isError(t, err, formats.ErrDamaged)
	}
}

// TestLowLatency: parts, hints and what the server says of itself are read.
func TestLowLatency(t *testing.T) {
	m := mustParse(t, head+`#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=24.0,PART-HOLD-BACK=3.0,HOLD-BACK=12
#EXT-X-PART-INF:PART-TARGET=1.0
#EXT-X-MEDIA-SEQUENCE:7
#EXT-X-PART:DURATION=1,URI="all.mp4",BYTERANGE="100@10",INDEPENDENT=YES
#EXT-X-PART:DURATION=1,URI="all.mp4",BYTERANGE="200"
#EXTINF:2,
seg7.mp4
#EXT-X-PART:DURATION=0.5,URI="p8.0.mp4",GAP=YES
#EXT-X-PRELOAD-HINT:TYPE=PART,URI="p8.1.mp4",BYTERANGE-START=20
#EXT-X-RENDITION-REPORT:URI="../other.m3u8",LAST-MSN=7
`).media
	parts := m.segments[0].parts
	if len(m.segments) != 1 || len(parts) != 2 || parts[0].bytes != (seek.Range{Offset: 10, Length: 100}) || !parts[0].independent || parts[1].bytes != (seek.Range{Offset: 110, Length: 200}) {
		t.Errorf("segment 7 has the parts %+v", parts)
	}
	if len(m.parts) != 1 || !m.parts[0].gap || m.parts[0].duration != 500*time.Millisecond {
		t.Errorf("the segment to come has the parts %+v", m.parts)
	}
	if m.hint == nil || m.hint.uri != "p8.1.mp4" || m.hint.bytes.Offset != 20 {
		t.Errorf("the hint is %+v", m.hint)
	}
	if !m.control.blocking || m.control.skipUntil != 24*time.Second || m.control.holdBack != 12*time.Second || m.partTarget != time.Second {
		t.Errorf("the server says %+v, parts of %v", m.control, m.partTarget)
	}
	// A trimmed playlist is of whole segments.
	o := newOrigin()
	o.put(testURL, []byte(head+"#EXT-X-PART:DURATION=1,URI=\"a\"\n#EXTINF:2,\nseg.ts\n#EXT-X-PART:DURATION=1,URI=\"b\"\n"))
	texts, _ := trimmed(t, o.mustOpen(t, testURL, formats.Env{}), between(0, 2), "c.m3u8")
	if strings.Contains(texts["c.m3u8"], "PART") {
		t.Errorf("parts are in a trimmed playlist:\n%s", texts["c.m3u8"])
	}
}

// TestPictures cuts an I-frame playlist: the pictures that show in the interval.
func TestPictures(t *testing.T) {
	t.Parallel()
	dir := tsPresentation(t)
	o := newOrigin()
	o.putFolder(t, "https://host.test/ts", dir)
	o.put("https://host.test/ts/i.m3u8", []byte(head+"#EXT-X-I-FRAMES-ONLY\n"+iframes(t, dir)+"#EXT-X-ENDLIST\n"))
	o.put("https://host.test/ts/master.m3u8", []byte("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nmedia.m3u8\n#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI=\"i.m3u8\"\n"))
	m := o.mustOpen(t, "https://host.test/ts/master.m3u8", formats.Env{Variant: "iframes"})
	p := mustPlan(t, m, between(9, 13))
	have := checkDecodes(t, write(t, "clip.ts", clip(t, m, p)))
	if n := len(have.Video[0]); n != 2 || p.Covered.String() != "[8, 16)" { // those of 8 s and 12 s
		t.Errorf("%d pictures, want 2; covered is %s", n, p.Covered)
	}
	for _, name := range o.files() {
		if name == "media.m3u8" || name == "s001.ts" {
			t.Errorf("asked for %s", name)
		}
	}
}

// withoutTables is an I-frame playlist's segments with the ranges of pictures alone:
// behind the three packets of tables that ffmpeg begins each segment with.
func withoutTables(t testing.TB, dir string) string {
	t.Helper()
	const tables = 3 * 188
	out := iframes(t, dir)
	for i := range 10 {
		var n int
		line := strings.Split(out, "\n")[3*i+1]
		if _, err := fmt.Sscanf(line, "#EXT-X-BYTERANGE:%d@0", &n); err != nil {
			t.Fatal(err)
		}
		out = strings.Replace(out, line+fmt.Sprintf("\ns%03d", i), fmt.Sprintf("#EXT-X-BYTERANGE:%d@%d\ns%03d", n-tables, tables, i), 1)
	}
	return out
}

// TestPicturesWithoutTables cuts I-frame playlists whose ranges leave the program
// tables out: these come from the EXT-X-MAP or, without one, from where the resource
// begins, at the price of one request for all pictures of one clock, together with the first.
func TestPicturesWithoutTables(t *testing.T) {
	t.Parallel()
	dir := tsPresentation(t)
	bare := withoutTables(t, dir)
	anew := strings.Split(bare, "#EXTINF") // the picture of 4 s, then those from 8 s on
	anew = append(append([]string{""}, anew[2]+"#EXT-X-DISCONTINUITY\n"), anew[5:]...)
	for _, test := range []struct {
		name, list string
		a, b       float64
		times      []float64 // of pictures of the original
		extra      string    // what is asked for beside the pictures
	}{
		{"in the resource", bare, 9, 21, []float64{8, 12, 16, 20}, "s002.ts"},
		{"with EXT-X-MAP", "#EXT-X-MAP:URI=\"s000.ts\",BYTERANGE=\"564@0\"\n" + bare, 9, 21, []float64{8, 12, 16, 20}, "s000.ts"},
		{"clocks begin anew", strings.Join(anew, "#EXTINF"), 1, 9, []float64{4, 16, 20}, "s001.ts s004.ts"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := newOrigin()
			o.putFolder(t, "https://host.test/ts", dir)
			o.put("https://host.test/ts/i.m3u8", []byte(head+"#EXT-X-I-FRAMES-ONLY\n"+test.list+"#EXT-X-ENDLIST\n"))
			m := o.mustOpen(t, "https://host.test/ts/i.m3u8", formats.Env{})
			p := mustPlan(t, m, between(test.a, test.b))
			data := clip(t, m, p)
			if at := mpegts.Tables(data); len(at) != 2*188 || bytes.Index(data, at) > 188 || bytes.Count(data, at) != 1 {
				t.Errorf("the clip does not begin with its tables, or has them %d times", bytes.Count(data, at))
			}
			have := checkDecodes(t, write(t, "clip.ts", data))
			if len(have.Video) != 1 || len(have.Video[0]) != len(test.times) {
				t.Fatalf("%d streams of pictures, want one of %d", len(have.Video), len(test.times))
			}
			original := oracle.Original(t, base(t)).Video[0]
			for i, at := range test.times {
				got := have.Video[0][i]
				if want := oracle.Between(original, at, at+0.01); len(want) != 1 || got.Hash != want[0].Hash {
					t.Errorf("picture %d is not that of %g s", i, at)
				}
				if since := got.Time - have.Video[0][0].Time; math.Abs(since-4*float64(i)) > 0.001 {
					t.Errorf("picture %d comes %g s behind the first, want %d s", i, since, 4*i)
				}
			}
			extra := o.files()
			for _, at := range append([]float64{-1}, test.times...) {
				name := "i.m3u8"
				if at >= 0 {
					name = fmt.Sprintf("s%03d.ts", int(at)/4)
				}
				if i := slices.Index(extra, name); i >= 0 {
					extra = slices.Delete(extra, i, i+1)
				}
			}
			if strings.Join(extra, " ") != test.extra {
				t.Errorf("asked for %v beside the pictures, want %s", extra, test.extra)
			}
		})
	}
	for _, test := range []struct{ name, list, says string }{
		{"nowhere", strings.ReplaceAll(bare, "s0", "bare0"), "the first"},
		{"not in EXT-X-MAP", "#EXT-X-MAP:URI=\"bare000.ts\",BYTERANGE=\"376@0\"\n" + bare, "EXT-X-MAP"},
		{"encrypted", "#EXT-X-KEY:METHOD=AES-128,URI=\"key\"\n" + strings.ReplaceAll(bare, "s0", "sealed0"), "encrypted otherwise"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := newOrigin()
			o.putFolder(t, "https://host.test", dir)
			o.put("https://host.test/key", []byte("0123456789abcdef"))
			list := test.list
			for i := range 3 {
				b := slices.Clone(readFile(t, dir, fmt.Sprintf("s%03d.ts", i)))
				for at := range 3 {
					copy(b[at*188:], nullPacket())
				}
				o.put(fmt.Sprintf("https://host.test/bare%03d.ts", i), b)
				one := strings.Split(list, "\n")
				for j, line := range one {
					if line != fmt.Sprintf("sealed%03d.ts", i) {
						continue
					}
					var n int
					fmt.Sscanf(one[j-1], "#EXT-X-BYTERANGE:%d@564", &n)
					sealed := encrypt(t, []byte("0123456789abcdef"), int64(i), b[564:564+n])
					one[j-1] = fmt.Sprintf("#EXT-X-BYTERANGE:%d@564", len(sealed))
					o.put("https://host.test/"+line, append(slices.Clone(b[:564]), sealed...))
				}
				list = strings.Join(one, "\n")
			}
			o.put("https://host.test/i.m3u8", []byte(head+"#EXT-X-I-FRAMES-ONLY\n"+list+"#EXT-X-ENDLIST\n"))
			_, err := o.mustOpen(t, "https://host.test/i.m3u8", formats.Env{}).Plan(t.Context(), between(1, 3))
			isError(t, err, formats.ErrDamaged)
			if err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v does not say %q", err, test.says)
			}
		})
	}
}

// TestTablesAtOnce: program tables that stand in front of the first picture cost no
// round trip of their own.
func TestTablesAtOnce(t *testing.T) {
	dir := tsPresentation(t)
	synctest.Test(t, func(t *testing.T) {
		var took [2]time.Duration
		for i, list := range []string{iframes(t, dir), withoutTables(t, dir)} {
			o := newOrigin()
			o.putFolder(t, "https://host.test", dir)
			o.put("https://host.test/i.m3u8", []byte(head+"#EXT-X-I-FRAMES-ONLY\n"+list+"#EXT-X-ENDLIST\n"))
			m := o.mustOpen(t, "https://host.test/i.m3u8", formats.Env{})
			begun := time.Now()
			mustPlan(t, m, between(9, 21))
			took[i] = time.Since(begun)
		}
		if took[0] == 0 || took[1] != took[0] {
			t.Errorf("a plan takes %v, and %v where tables are elsewhere", took[0], took[1])
		}
	})
}

// nullPacket is a transport packet that carries nothing.
func nullPacket() []byte {
	return append([]byte{0x47, 0x1f, 0xff, 0x10}, bytes.Repeat([]byte{0xff}, 184)...)
}

// TestOwnMoovs: segments of fragmented MP4 that each have a moov of their own are
// refused as one file, by an error that names the folder, which plays; segments that
// have none at all are damaged.
func TestOwnMoovs(t *testing.T) {
	dir := fmp4Presentation(t)
	o := newOrigin()
	text := head
	for i := range 3 {
		text += fmt.Sprintf("#EXTINF:4,\ns%03d.mp4\n", i)
		b := readFile(t, dir, fmt.Sprintf("s%03d.m4s", i))
		o.put(fmt.Sprintf("https://host.test/own/s%03d.mp4", i), slices.Concat(readFile(t, dir, "init.mp4"), b))
		o.put(fmt.Sprintf("https://host.test/none/s%03d.mp4", i), b)
	}
	for folder, want := range map[string]error{"own": formats.ErrUnsupported, "none": formats.ErrDamaged} {
		list := "https://host.test/" + folder + "/list.m3u8"
		o.put(list, []byte(text+"#EXT-X-ENDLIST\n"))
		m := o.mustOpen(t, list, formats.Env{})
		_, err := m.Plan(t.Context(), between(5, 9))
		isError(t, err, want)
		if err == nil || strings.Contains(err.Error(), "-o FOLDER/") != (folder == "own") {
			t.Errorf("%s: %v", folder, err)
		}
		if folder == "own" {
			out := writePackage(t, m, between(5, 9))
			if have := oracle.Decode(t, out+"/index.m3u8"); len(have.Video) != 1 || len(have.Video[0]) != 200 {
				t.Errorf("the package has %d videos: %s", len(have.Video), have.Errors)
			}
		}
	}
}

// TestSeparate: sound and pictures that one file cannot hold are an error that
// says what can.
func TestSeparate(t *testing.T) {
	t.Parallel()
	dir := tsPresentation(t)
	o := newOrigin()
	o.putFolder(t, "https://host.test/ts", dir)
	packedPresentation(t, o, "aac", ".aac", true)
	o.put("https://host.test/master.m3u8", []byte("#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"x\",DEFAULT=YES,URI=\"p/list.m3u8\"\n"+
		"#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS=\"avc1.4d,mp4a.40.2\",AUDIO=\"a\"\nts/media.m3u8\n"))
	m := o.mustOpen(t, "https://host.test/master.m3u8", formats.Env{})
	_, err := m.Plan(t.Context(), between(9, 13))
	isError(t, err, formats.ErrUnsupported)
	if err != nil && !strings.Contains(err.Error(), "-o FOLDER/") {
		t.Errorf("%v does not say what can", err)
	}
	out := writePackage(t, m, between(9, 13))
	have := checkDecodes(t, out+"/index.m3u8")
	if len(have.Video) == 0 || len(have.Audio) == 0 {
		t.Errorf("the package has %d videos and %d sounds", len(have.Video), len(have.Audio))
	}
}

// TestVerbatim: bytes of the original only.
func TestVerbatim(t *testing.T) {
	dir := fmp4Presentation(t)
	o := newOrigin()
	o.putFolder(t, "https://host.test/m", dir)
	m := o.mustOpen(t, "https://host.test/m/media.m3u8", formats.Env{})
	s := between(9, 13)
	s.Form = formats.Verbatim
	want := append(append(readFile(t, dir, "init.mp4"), readFile(t, dir, "s002.m4s")...), readFile(t, dir, "s003.m4s")...)
	if got := clip(t, m, mustPlan(t, m, s)); string(got) != string(want) {
		t.Errorf("%d bytes, want the %d of the initialization and two segments", len(got), len(want))
	}
}

// TestVerbatimRefused: what a clip has other bytes of than the original is not
// verbatim, and says so; nor is it written.
func TestVerbatimRefused(t *testing.T) {
	o := newOrigin()
	o.put("https://host.test/t.m3u8", []byte(head+"#EXTINF:10,\nt.vtt\n#EXT-X-ENDLIST\n"))
	o.put("https://host.test/t.vtt", []byte("WEBVTT\n\n00:01.000 --> 00:02.000\nx\n"))
	o.putFolder(t, "https://host.test/aes", encryptedPresentation(t))
	for uri, name := range map[string]string{"t.m3u8": "WebVTT", "aes/media.m3u8": "encrypted"} {
		m := o.mustOpen(t, "https://host.test/"+uri, formats.Env{})
		s := between(0, 3)
		mustPlan(t, m, s)
		s.Form = formats.Verbatim
		_, err := m.Plan(t.Context(), s)
		isError(t, err, formats.ErrUnsupported)
		for _, want := range []string{"verbatim", name, "standalone"} {
			if !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%v does not say %q", err, want)
			}
		}
	}
}

// TestChange: where the clock of fragments changes, or the initialization to one
// that says the same, one file holds both sides, and so does a package. Where the
// clock changes and the playlist does not say so, it is an error that says where.
func TestChange(t *testing.T) {
	t.Parallel()
	dir := fmp4Presentation(t)
	for _, change := range []string{"#EXT-X-DISCONTINUITY\n", "#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"init2.mp4\"\n", "#EXT-X-MAP:URI=\"init2.mp4\"\n"} {
		o := newOrigin()
		o.putFolder(t, "https://host.test/m", dir)
		o.put("https://host.test/m/init2.mp4", readFile(t, dir, "init.mp4"))
		o.put("https://host.test/m/l.m3u8", []byte(head+"#EXT-X-MAP:URI=\"init.mp4\"\n#EXTINF:4,\ns005.m4s\n#EXTINF:4,\ns006.m4s\n"+change+"#EXTINF:4,\ns001.m4s\n#EXTINF:4,\ns002.m4s\n#EXT-X-ENDLIST\n"))
		m := o.mustOpen(t, "https://host.test/m/l.m3u8", formats.Env{})
		if strings.Contains(change, "DISC") {
			path := write(t, "clip.mp4", clip(t, m, mustPlan(t, m, between(5, 11))))
			whole := wholeOf(t, dir, "0")
			checkParts(t, path, []part{{whole, 25, 0, 3}, {whole, 4, 3, 6}})
		} else {
			_, err := m.Plan(t.Context(), between(5, 11))
			isError(t, err, formats.ErrUnsupported)
			if err != nil && !strings.Contains(err.Error(), "8 s") {
				t.Errorf("%v does not say where", err)
			}
		}
		p := mustPlan(t, m, between(9, 13)) // on the second side: 5 s to 9 s of the base
		have := checkDecodes(t, write(t, "clip.mp4", clip(t, m, p)))
		want := oracle.Between(oracle.Original(t, base(t)).Video[0], 5, 9)
		if r := oracle.CompareVideo(want, oracle.Between(have.Video[0], 0, 4)); r.Missing != 0 || r.Lead != 0 {
			t.Errorf("%s", r)
		}
		out := writePackage(t, m, between(5, 11))
		text := string(readFile(t, out, indexName))
		if strings.Count(text, "#EXT-X-DISCONTINUITY\n") != strings.Count(change, "DISC") || strings.Count(text, "#EXT-X-MAP:") != 1+strings.Count(change, "MAP") {
			t.Errorf("the package's playlist is\n%s", text)
		}
		if string(readFile(t, out, "segment-00001.m4s")) != string(readFile(t, dir, "s001.m4s")) {
			t.Error("the package does not have the segment behind the change")
		}
	}
}

// TestInspect: where the playlist does not say what is in the segments, the first
// one is looked at; a plan says it, too.
func TestInspect(t *testing.T) {
	for _, test := range []struct{ dir, want string }{
		{tsPresentation(t), "video avc1,mp4a.40.2"},
		{fmp4Presentation(t), "video avc1.64000c,mp4a.40.2"},
	} {
		o := newOrigin()
		o.putFolder(t, "https://host.test/x", test.dir)
		m := o.mustOpen(t, "https://host.test/x/media.m3u8", formats.Env{})
		info, err := m.Inspect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		text := func(all []formats.Track) string {
			var out []string
			for _, x := range all {
				out = append(out, string(x.Kind), x.Codec)
			}
			return strings.Join(out, " ")
		}
		if got := text(info.Tracks); got != test.want {
			t.Errorf("%s: %q", test.want, got)
		}
		if got := text(mustPlan(t, m, between(1, 3)).Tracks); got != test.want {
			t.Errorf("the plan: %q, want %q", got, test.want)
		}
	}
}

// TestManyStretches: what a plan reads and holds is bounded, whatever a playlist
// has of discontinuities and keys.
func TestManyStretches(t *testing.T) {
	t.Parallel()
	o := newOrigin()
	o.put("https://host.test/s.ts", readFile(t, tsPresentation(t), "s000.ts"))
	o.put("https://host.test/many.m3u8", []byte(head+strings.Repeat("#EXT-X-DISCONTINUITY\n#EXTINF:4,\ns.ts\n", 3000)+"#EXT-X-ENDLIST\n"))
	m := o.mustOpen(t, "https://host.test/many.m3u8", formats.Env{})
	_, err := m.Plan(t.Context(), between(0, -1))
	isError(t, err, seek.ErrLimit)
	if n := len(o.files()); n > 2 {
		t.Errorf("%d requests", n)
	}
	p := mustPlan(t, m, between(2, 398)) // a hundred
	for _, part := range p.Parts {
		if part.Size < 0 || len(part.Literal) > 0 {
			t.Errorf("a part is %d bytes, %d of them in the plan", part.Size, len(part.Literal))
		}
	}
	c, err := m.newCut(m.main, between(2, 398).Interval)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.readEnds(t.Context()); err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, x := range c.pieces {
		if x.data != nil {
			held++
		}
	}
	if len(c.pieces) != 100 || held > 2 {
		t.Errorf("of %d segments that were read %d are held, want those at the ends", len(c.pieces), held)
	}
	n := full(100, 20) // that are decoded
	pictures := checkDecodes(t, write(t, "clip.ts", clip(t, m, mustPlan(t, m, between(2, float64(4*n-2)))))).Video[0]
	if len(pictures) != 100*n {
		t.Errorf("%d pictures, want %d", len(pictures), 100*n)
	}
	for i := 1; i < len(pictures); i++ { // the clocks of all stretches go on from the first's
		if step := pictures[i].Time - pictures[i-1].Time; step < 0.0399 || step > 0.0401 {
			t.Fatalf("picture %d comes %.3f s after the one before", i, step)
		}
	}
}
