package hls

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	m3u8 "github.com/Eyevinn/hls-m3u8/m3u8"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/seek"
)

// trimmed returns the playlists of a selection by their names.
func trimmed(t testing.TB, m *Medium, s formats.Selection, name string) (map[string]string, []formats.File) {
	t.Helper()
	files, err := m.Trim(t.Context(), s, name)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range files {
		if f.Plan.Size != int64(len(f.Plan.Parts[0].Literal)) {
			t.Errorf("%s has %d bytes, the plan says %d", f.Name, len(f.Plan.Parts[0].Literal), f.Plan.Size)
		}
		out[f.Name] = string(f.Plan.Parts[0].Literal)
	}
	return out, files
}

// TestTrim writes trimmed playlists of what is difficult: implicit byte ranges,
// keys that count by the media sequence, maps, discontinuities, dates, unknown
// tags.
func TestTrim(t *testing.T) {
	o := newOrigin()
	o.put("https://host.test/a/list.m3u8?token=1", []byte("\ufeff#EXTM3U\r\n"+strings.ReplaceAll(`#EXT-X-VERSION:7
#EXT-X-TARGETDURATION:4
#EXT-X-MEDIA-SEQUENCE:100
#EXT-X-DISCONTINUITY-SEQUENCE:7
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-DEFINE:NAME="v",VALUE="x"
#EXT-X-DATERANGE:ID="in",START-DATE="2026-01-01T00:00:09Z",DURATION=1,X-ASSET-URI="ad.m3u8"
#EXT-X-DATERANGE:ID="out",START-DATE="2026-01-01T01:00:00Z",DURATION=1
#EXT-X-KEY:METHOD=AES-128,URI="key?sig=1"
#EXT-X-MAP:URI="init.mp4",BYTERANGE="100@0"
#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00.000Z
#EXTINF:4,first
#EXT-X-BYTERANGE:1000@100
all.mp4
#EXT-CUSTOM:kept
#EXTINF:4.004,a title, here
#EXT-X-BYTERANGE:1100
all.mp4
#EXT-X-DISCONTINUITY
#EXT-X-KEY:METHOD=NONE
#EXT-X-MAP:URI="https://cdn.test/{$v}.mp4"
#EXTINF:3.996,
other.mp4?sig=2
#EXT-X-GAP
#EXTINF:4,
gone.mp4
#EXTINF:4,
last.mp4
`, "\n", "\r\n")+"#EXT-X-ENDLIST"))
	m := o.mustOpen(t, "https://host.test/a/list.m3u8?token=1", formats.Env{})
	texts, files := trimmed(t, m, between(5.5, 13), "clip.m3u8")
	want := `#EXTM3U
#EXT-X-VERSION:7
#EXT-X-TARGETDURATION:4
#EXT-X-MEDIA-SEQUENCE:101
#EXT-X-DISCONTINUITY-SEQUENCE:7
#EXT-X-PLAYLIST-TYPE:VOD
#EXT-X-START:TIME-OFFSET=1.5,PRECISE=YES
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-DATERANGE:ID="in",START-DATE="2026-01-01T00:00:09Z",DURATION=1,X-ASSET-URI="https://host.test/a/ad.m3u8"
#EXT-X-KEY:METHOD=AES-128,URI="https://host.test/a/key?sig=1"
#EXT-X-MAP:URI="https://host.test/a/init.mp4",BYTERANGE="100@0"
#EXT-CUSTOM:kept
#EXTINF:4.004,a title, here
#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:04.000Z
#EXT-X-BYTERANGE:1100@1100
https://host.test/a/all.mp4
#EXT-X-DISCONTINUITY
#EXT-X-KEY:METHOD=NONE
#EXT-X-MAP:URI="https://cdn.test/x.mp4"
#EXTINF:3.996,
https://host.test/a/other.mp4?sig=2
#EXT-X-GAP
#EXTINF:4,
https://host.test/a/gone.mp4
#EXT-X-ENDLIST
`
	if diff := cmp.Diff(want, texts["clip.m3u8"]); diff != "" {
		t.Error(diff)
	}
	p := files[0].Plan
	if p.Covered.String() != "[4, 16)" || p.Presented.String() != "[5.5, 16)" || p.Requested.String() != "[5.5, 13)" {
		t.Errorf("requested %s, presented %s, covered %s", p.Requested, p.Presented, p.Covered)
	}
	if got := o.files(); len(got) != 1 {
		t.Errorf("asked for %v: a trimmed playlist needs no media", got)
	}
	_, err := m.Trim(t.Context(), between(12.5, 15), "clip.m3u8") // all of it is a gap
	isError(t, err, formats.ErrUnsupported)
}

// TestTrimRanges: date ranges are kept that lie in what is kept, with all tags of
// their ID; one ends where another tag of it says, or where the next of its class
// begins.
func TestTrimRanges(t *testing.T) {
	date := func(second int) string { return fmt.Sprintf(`START-DATE="2026-01-01T00:00:%02dZ"`, second) }
	o := newOrigin()
	o.put(testURL, []byte(head+"#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00Z\n"+
		"#EXT-X-DATERANGE:ID=\"over\","+date(1)+",X-A=1\n"+
		"#EXT-X-DATERANGE:ID=\"over\","+date(1)+",END-DATE=\"2026-01-01T00:00:03Z\"\n"+
		"#EXT-X-DATERANGE:ID=\"reaches in\","+date(1)+"\n"+
		"#EXT-X-DATERANGE:ID=\"reaches in\","+date(1)+",DURATION=4\n"+
		"#EXT-X-DATERANGE:ID=\"next\",CLASS=\"c\",END-ON-NEXT=YES,"+date(2)+"\n"+
		"#EXT-X-DATERANGE:ID=\"last\",CLASS=\"c\",END-ON-NEXT=YES,"+date(3)+"\n"+
		"#EXT-X-DATERANGE:ID=\"point\","+date(4)+",DURATION=0\n"+
		"#EXT-X-DATERANGE:ID=\"behind\","+date(8)+"\n"+
		"#EXTINF:4,\na\n#EXTINF:4,\nb\n#EXTINF:4,\nc\n#EXT-X-ENDLIST\n"))
	texts, _ := trimmed(t, o.mustOpen(t, testURL, formats.Env{}), between(5, 6), "clip.m3u8")
	var got []string
	for line := range strings.Lines(texts["clip.m3u8"]) {
		if list, ok := strings.CutPrefix(line, "#EXT-X-DATERANGE:"); ok {
			got = append(got, parseAttributes(list).get("ID"))
		}
	}
	if diff := cmp.Diff([]string{"reaches in", "reaches in", "last", "point"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestTrimVersion: what is written says the version that it needs, whatever the
// original says.
func TestTrimVersion(t *testing.T) {
	for text, want := range map[string]string{
		"#EXTINF:4\na\n":                       "3",
		"#EXTINF:4\n#EXT-X-BYTERANGE:1@0\na\n": "4",
		"#EXT-X-I-FRAMES-ONLY\n#EXTINF:4\na\n": "4",
		"#EXT-X-MAP:URI=\"i\"\n#EXTINF:4\na\n": "6",
		"#EXT-X-VERSION:8\n#EXTINF:4\na\n":     "8",
		"#EXT-X-KEY:METHOD=SAMPLE-AES,URI=\"skd://x\",KEYFORMAT=\"com.apple.streamingkeydelivery\"\n#EXTINF:4\na\n": "5",
	} {
		o := newOrigin()
		o.put(testURL, []byte("#EXTM3U\n#EXT-X-TARGETDURATION:4\n"+text+"#EXT-X-ENDLIST\n"))
		texts, _ := trimmed(t, o.mustOpen(t, testURL, formats.Env{}), between(1, 2), "clip.m3u8")
		if !strings.Contains(texts["clip.m3u8"], "\n#EXT-X-VERSION:"+want+"\n") {
			t.Errorf("%q: want version %s:\n%s", text, want, texts["clip.m3u8"])
		}
	}
}

// TestTrimCounts trims every media playlist of a collection and has Eyevinn's
// parser, which nobody here wrote, count what is left.
func TestTrimCounts(t *testing.T) {
	n := 0
	for name, truth := range playlistTruth(t) {
		text, err := os.ReadFile(filepath.Join(collection(), filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if truth.M3U8.Master || !truth.Agree {
			continue
		}
		for _, x := range truth.Intervals {
			o := newOrigin()
			o.put(testURL, text)
			m, err := o.open(t, testURL, formats.Env{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			files, err := m.Trim(t.Context(), between(x.A, x.B), "clip.m3u8")
			if err != nil {
				t.Errorf("%s [%v, %v): %v", name, x.A, x.B, err)
				continue
			}
			n++
			out := string(files[0].Plan.Parts[0].Literal)
			got, err := eyevinn(out)
			if err != nil {
				t.Errorf("%s [%v, %v): %v\n%s", name, x.A, x.B, err, out)
				continue
			}
			if want := x.Last - x.First + 1; int(got.Count()) != want {
				t.Errorf("%s [%v, %v): %d segments, want %d", name, x.A, x.B, got.Count(), want)
			}
			if again, err := parse(out, testURL, nil, formats.Limits{}); err != nil || got.SeqNo != uint64(again.media.sequence) {
				t.Errorf("%s: read again: %v", name, err)
			}
		}
	}
	if n < 20 {
		t.Errorf("%d intervals, want 20 at least", n)
	}
}

// eyevinn reads a playlist by Eyevinn's parser, which panics on some.
func eyevinn(text string) (p *m3u8.MediaPlaylist, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	list, kind, err := m3u8.DecodeFrom(strings.NewReader(text), true)
	if err != nil {
		return nil, err
	}
	if kind != m3u8.MEDIA {
		return nil, fmt.Errorf("not a media playlist")
	}
	return list.(*m3u8.MediaPlaylist), nil
}

// writePackage writes a package as the command does.
func writePackage(t testing.TB, m *Medium, s formats.Selection) string {
	t.Helper()
	files, err := m.Package(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range files {
		if !filepath.IsLocal(f.Name) || strings.Contains(f.Name, "..") {
			t.Fatalf("a file is called %q", f.Name)
		}
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, clip(t, m, f.Plan), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestPackageNames: a package's segments have extensions of what they are, which
// players look at, whatever the origin calls them.
func TestPackageNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ dir, from, to, want string }{
		{tsPresentation(t), ".ts", ".ts", ".ts"},
		{tsPresentation(t), ".ts", ".bin", ".ts"},
		{tsPresentation(t), ".ts", ".php?id=1", ".ts"},
		{fmp4Presentation(t), ".m4s", ".mp4", ".mp4"},
		{fmp4Presentation(t), ".m4s", ".bin", ".m4s"},
		{fmp4Presentation(t), ".m4s", "", ".m4s"},
	} {
		o := newOrigin()
		o.putFolder(t, "https://host.test/x", test.dir)
		o.put("https://host.test/x/media.m3u8", bytes.ReplaceAll(readFile(t, test.dir, "media.m3u8"), []byte(test.from+"\n"), []byte(test.to+"\n")))
		for i := range 10 {
			name := fmt.Sprintf("s%03d", i)
			o.put("https://host.test/x/"+name+test.to, readFile(t, test.dir, name+test.from))
		}
		m := o.mustOpen(t, "https://host.test/x/media.m3u8", formats.Env{})
		out := writePackage(t, m, between(12, 20))
		if files, _ := filepath.Glob(filepath.Join(out, "segment-*"+test.want)); len(files) < 2 {
			t.Errorf("%q: %d segments are called %s", test.to, len(files), test.want)
		}
		checkDecodes(t, filepath.Join(out, indexName))
	}
}

// TestUnreadableIV: an initialization vector that is none is damage, and not as
// if there were none.
func TestUnreadableIV(t *testing.T) {
	dir := encryptedPresentation(t)
	for _, iv := range []string{"0xZZ", "0x" + strings.Repeat("0", 33), "0x", `""`} {
		o := newOrigin()
		o.putFolder(t, "https://host.test/x", dir)
		list := regexp.MustCompile(`IV=\w+`).ReplaceAllString(string(readFile(t, dir, "media.m3u8")), "IV="+iv)
		o.put("https://host.test/x/media.m3u8", []byte(list))
		m := o.mustOpen(t, "https://host.test/x/media.m3u8", formats.Env{})
		_, err := m.Plan(t.Context(), between(9, 11))
		isError(t, err, formats.ErrDamaged)
		if !strings.Contains(fmt.Sprint(err), "IV") {
			t.Errorf("%s: %v", iv, err)
		}
	}
}

// TestPackage writes packages and has ffmpeg play them: every picture of the
// interval is there, and nothing but the files of the package is needed.
func TestPackage(t *testing.T) {
	x := [2]float64{12, 20}
	for _, dir := range []string{tsPresentation(t), encryptedPresentation(t)} {
		o := newOrigin()
		o.putFolder(t, "https://host.test/ts", dir)
		m := o.mustOpen(t, "https://host.test/ts/media.m3u8", formats.Env{})
		out := writePackage(t, m, between(x[0], x[1]))
		index := filepath.Join(out, indexName)
		got := oracle.Decode(t, index)
		want := oracle.Between(oracle.Original(t, base(t)).Video[0], x[0], x[1])
		if r := oracle.CompareVideo(want, got.Video[0]); r.Missing != 0 || got.Errors != "" {
			t.Errorf("%v: %s; %s", x, r, got.Errors)
		}
		text, _ := os.ReadFile(index)
		p, err := parse(string(text), testURL, nil, formats.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.media.segments {
			if len(s.keys) > 0 {
				t.Error("the package needs a key")
			}
			if strings.ContainsAny(s.uri, ":/") {
				t.Errorf("the package names %s", s.uri)
			}
		}
	}
}

// TestKeys checks that a key is fetched once, however many segments want it at a
// time, and that it stands in no plan and no error.
func TestKeys(t *testing.T) {
	o := newOrigin()
	key := []byte("0123456789abcdef")
	o.put("https://host.test/k", key)
	m := newMedium(formats.Env{Opener: o}, testURL)
	done := make(chan error, 50)
	for range cap(done) {
		go func() {
			_, err := readKey(context.Background(), m, "https://host.test/k")
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if n := len(o.files()); n != 1 {
		t.Errorf("the key was asked for %d times", n)
	}
	o.put("https://host.test/bad", []byte("no key of sixteen bytes at all"))
	_, err := readKey(t.Context(), m, "https://host.test/bad")
	isError(t, err, formats.ErrDamaged)
	if strings.Contains(err.Error(), "sixteen") {
		t.Errorf("%v tells what came", err)
	}
}

// TestDecryptAnywhere reads an encrypted part from any offset.
func TestDecryptAnywhere(t *testing.T) {
	dir := encryptedPresentation(t)
	o := newOrigin()
	o.putFolder(t, "https://host.test/ts", dir)
	m := o.mustOpen(t, "https://host.test/ts/media.m3u8", formats.Env{})
	c, err := m.newCut(m.main, between(9, 10).Interval)
	if err != nil {
		t.Fatal(err)
	}
	piece, err := c.read(t.Context(), c.first)
	if err != nil {
		t.Fatal(err)
	}
	part, err := c.part(c.first, Rewriter{})
	if err != nil {
		t.Fatal(err)
	}
	r := seek.NewReader(t.Context(), []seek.Part{part}, m, 1)
	defer r.Close()
	for _, off := range []int64{0, 1, 15, 16, 17, 31, 32, 4095, 4096, 4097, 70_001, r.Size() - 17, r.Size() - 1} {
		b := make([]byte, 40)
		n, err := r.ReadAt(b, off)
		if n < len(b) && off+40 <= r.Size() {
			t.Fatalf("at %d: %d bytes, %v", off, n, err)
		}
		if string(b[:n]) != string(piece.data[off:off+int64(n)]) {
			t.Errorf("at %d the bytes are not those of the segment", off)
		}
	}
}

// TestDeadlines: a source that never answers ends with the context.
func TestDeadlines(t *testing.T) { synctest.Test(t, testDeadlines) }

func testDeadlines(t *testing.T) {
	o := newOrigin()
	o.putFolder(t, "https://host.test/ts", tsPresentation(t))
	m := o.mustOpen(t, "https://host.test/ts/media.m3u8", formats.Env{})
	o.sources["https://host.test/ts/s003.ts"].Latency = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := m.Plan(ctx, between(10, 13)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a plan without its last segment: %v", err)
	}
}
