package hls

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/segments"
	"github.com/mediafrag/mediafrag/seek"
)

const testURL = "https://host.test/dir/media.m3u8"

// mustParse reads a playlist that has to be readable.
func mustParse(t testing.TB, text string) *playlist {
	t.Helper()
	p, err := parse(text, testURL, nil, formats.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPlaylists compares what is read of each playlist of a collection with what
// m3u8-parser, which nobody here wrote, has read: counts, durations, ranges, and
// which segments an interval needs.
func TestPlaylists(t *testing.T) {
	n := 0
	for name, want := range playlistTruth(t) {
		n++
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(collection(), filepath.FromSlash(name))
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			p, err := parse(string(text), testURL, nil, formats.Limits{})
			if len(text) == 0 {
				isError(t, err, formats.ErrDamaged)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want.M3U8.Master {
				if p.master == nil || len(p.master.variants) != want.M3U8.Playlists {
					t.Errorf("it is a master playlist with %d variants; read %+v", want.M3U8.Playlists, p.master)
				}
				return
			}
			checkMedia(t, p, want)
		})
	}
	if n < 16 {
		t.Errorf("there are %d playlists, want 16 at least", n)
	}
}

func checkMedia(t *testing.T, p *playlist, want manifestTruth) {
	m := p.media
	if m == nil {
		t.Fatal("read as a master playlist")
	}
	if got := len(m.segments); got != want.M3U8.Segments {
		if !want.Agree { // the parsers do not agree about it either
			t.Skipf("%d segments; m3u8-parser has %d, others another number", got, want.M3U8.Segments)
		}
		t.Errorf("%d segments, want %d", got, want.M3U8.Segments)
	}
	if got := m.duration().Seconds(); math.Abs(got-want.M3U8.Duration) > 1e-6 {
		t.Errorf("duration %v, want %v", got, want.M3U8.Duration)
	}
	if want.M3U8.Sequence != nil && m.sequence != *want.M3U8.Sequence {
		t.Errorf("media sequence %d, want %d", m.sequence, *want.M3U8.Sequence)
	}
	if m.ended != want.M3U8.Ended {
		t.Errorf("ended %v", m.ended)
	}
	var starts []int
	for i := range m.segments {
		if i > 0 && m.segments[i].discontinuity != m.segments[i-1].discontinuity {
			starts = append(starts, i)
		}
	}
	if fmt.Sprint(starts) != fmt.Sprint(want.M3U8.Starts) {
		t.Errorf("discontinuities at %v, want %v", starts, want.M3U8.Starts)
	}
	for i, s := range want.Segments {
		got := m.segments[i]
		if got.uri != s.URI || math.Abs(got.duration.Seconds()-s.Duration) > 1e-6 && s.Duration > 0.011 {
			t.Errorf("segment %d is %s of %v, want %s of %v", i, got.uri, got.duration, s.URI, s.Duration)
		}
		if s.ByteRange != nil && got.problem == "" && got.bytes != (seek.Range{Offset: s.ByteRange.Offset, Length: s.ByteRange.Length}) {
			t.Errorf("segment %d is bytes %v, want %+v", i, got.bytes, *s.ByteRange)
		}
	}
	for _, x := range want.Intervals {
		first, end := segments.Overlap(len(m.segments), m.bounds, between(x.A, x.B).Interval)
		if first != x.First || end-1 != x.Last {
			t.Errorf("[%v, %v) needs segments %d to %d, want %d to %d", x.A, x.B, first, end-1, x.First, x.Last)
			continue
		}
		if start, stop := m.segments[first].start.Seconds(), m.segments[end-1].end().Seconds(); math.Abs(start-x.StartsAt) > 1e-3 || math.Abs(stop-x.EndsAt) > 1e-3 {
			t.Errorf("[%v, %v): they span [%v, %v), want [%v, %v)", x.A, x.B, start, stop, x.StartsAt, x.EndsAt)
		}
	}
}

const head = "#EXTM3U\n#EXT-X-VERSION:9\n#EXT-X-TARGETDURATION:4\n"

func TestSegments(t *testing.T) {
	type want struct {
		URI      string
		Duration time.Duration
		Bytes    seek.Range
		Problem  bool
		Gap      bool
		Sequence int64
		Disc     int64
	}
	whole := seek.Range{Length: seek.ToEnd}
	for _, test := range []struct {
		name, text string
		want       []want
	}{
		{"byte ranges with and without offset", head + "#EXTINF:1,\n#EXT-X-BYTERANGE:10@5\na\n#EXTINF:1,\n#EXT-X-BYTERANGE:7\na\n#EXTINF:1\n#EXT-X-BYTERANGE:3\nb\n#EXTINF:1\n#EXT-X-BYTERANGE:3@\nb\n",
			[]want{{"a", time.Second, seek.Range{Offset: 5, Length: 10}, false, false, 0, 0}, {"a", time.Second, seek.Range{Offset: 15, Length: 7}, false, false, 1, 0}, {"b", time.Second, whole, true, false, 2, 0}, {"b", time.Second, whole, true, false, 3, 0}}},
		{"a first range without offset", head + "#EXTINF:1,\n#EXT-X-BYTERANGE:10\na\n#EXTINF:1,\n#EXT-X-BYTERANGE:7\na\n",
			[]want{{"a", time.Second, seek.Range{Length: 10}, false, false, 0, 0}, {"a", time.Second, seek.Range{Offset: 10, Length: 7}, false, false, 1, 0}}},
		{"a whole resource between ranges", head + "#EXTINF:1,\n#EXT-X-BYTERANGE:10@5\na\n#EXTINF:1,\na\n#EXTINF:1\n#EXT-X-BYTERANGE:3\na\n",
			[]want{{"a", time.Second, seek.Range{Offset: 5, Length: 10}, false, false, 0, 0}, {"a", time.Second, whole, false, false, 1, 0}, {"a", time.Second, whole, true, false, 2, 0}}},
		{"BOM, CRLF, blank lines, unknown tags, comments", "\ufeff#EXTM3U\r\n\r\n#EXT-X-TARGETDURATION:4\r\n#EXT-FOO:bar\r\n# hello\r\n#EXTINF:2.5,a title, with a comma\r\n\r\nx y.ts\r\n",
			[]want{{"x y.ts", 2500 * time.Millisecond, whole, false, false, 0, 0}}},
		{"CR alone", "#EXTM3U\r#EXT-X-TARGETDURATION:4\r#EXTINF:2.5,\rx.ts\r#EXTINF:3,\ry.ts",
			[]want{{"x.ts", 2500 * time.Millisecond, whole, false, false, 0, 0}, {"y.ts", 3 * time.Second, whole, false, false, 1, 0}}},
		{"sequences", head + "#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-DISCONTINUITY-SEQUENCE:3\n#EXTINF:1\na\n#EXT-X-DISCONTINUITY\n#EXT-X-GAP\n#EXTINF:1\nb\n",
			[]want{{"a", time.Second, whole, false, false, 7, 3}, {"b", time.Second, whole, false, true, 8, 4}}},
		{"sequences behind the segments", head + "#EXTINF:1\na\n#EXT-X-MEDIA-SEQUENCE:7\n", []want{{"a", time.Second, whole, false, false, 7, 0}}},
		{"no durations", head + "a\n#EXTINF:x,\nb\n#EXTINF:0,\nc\n", []want{{"a", 4 * time.Second, whole, false, false, 0, 0}, {"b", 4 * time.Second, whole, false, false, 1, 0}, {"c", 0, whole, false, false, 2, 0}}},
		{"variables", "#EXTM3U\n#EXT-X-DEFINE:NAME=\"p\",VALUE=\"v1\"\n#EXTINF:1\n{$p}/{$p}.ts\n#EXTINF:1\n{$q}.ts\n", []want{{"v1/v1.ts", time.Second, whole, false, false, 0, 0}, {"{$q}.ts", time.Second, whole, true, false, 1, 0}}},
		{"delta update", head + "#EXT-X-MEDIA-SEQUENCE:100\n#EXT-X-SKIP:SKIPPED-SEGMENTS=3\n#EXTINF:1\na\n", []want{{"a", time.Second, whole, false, false, 103, 0}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []want
			for _, s := range mustParse(t, test.text).media.segments {
				got = append(got, want{s.uri, s.duration, s.bytes, s.problem != "", s.gap, s.sequence, s.discontinuity})
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestKeysAndMaps(t *testing.T) {
	m := mustParse(t, head+`#EXT-X-MAP:URI="i0",BYTERANGE="720@4"
#EXTINF:1
a
#EXT-X-KEY:METHOD=AES-128,URI="k1",IV=0X0102
#EXT-X-MAP:URI="i1"
#EXTINF:1
b
#EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://x",KEYFORMAT="com.apple.streamingkeydelivery"
#EXTINF:1
c
#EXT-X-KEY:METHOD=AES-128,URI="k2"
#EXTINF:1
d
#EXT-X-KEY:METHOD=NONE
#EXTINF:1
e
#EXT-X-KEY:METHOD=SAMPLE-AES-CTR,URI="data:x",KEYFORMAT="urn:uuid:edef8ba9-79d6-4ace-a3c8-27dcd51d21ed"
#EXTINF:1
f
`).media
	type want struct {
		URI, IV, Init string
		Bytes         seek.Range
	}
	var got []want
	for i := range m.segments {
		s := &m.segments[i]
		w := want{Init: s.init.uri, Bytes: s.init.bytes}
		k, err := usable(s.keys)
		switch {
		case err != nil:
			w.URI = err.Error()
		case k != nil:
			w.URI = k.uri
			w.IV = fmt.Sprintf("%x", k.ivOf(s.sequence))
		}
		got = append(got, w)
	}
	whole := seek.Range{Length: seek.ToEnd}
	expect := []want{
		{"", "", "i0", seek.Range{Offset: 4, Length: 720}},
		{"k1", "00000000000000000000000000000102", "i1", whole},
		{"k1", "00000000000000000000000000000102", "i1", whole},
		{"k2", "00000000000000000000000000000003", "i1", whole},
		{"", "", "i1", whole},
		{got[5].URI, "", "i1", whole},
	}
	if diff := cmp.Diff(expect, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(got[5].URI, "SAMPLE-AES-CTR for Widevine") {
		t.Errorf("the error is %q: it does not name the system", got[5].URI)
	}
	if m.segments[0].init.keys != nil || m.segments[1].init.keys == nil {
		t.Error("a key applies to the initialization sections behind it, not to those before")
	}
}

// TestDateJumps: where the clock of the wall jumps, a time and a date at the bound
// belong to what follows; behind the last segment it goes on.
func TestDateJumps(t *testing.T) {
	m := mustParse(t, head+"#EXT-X-PROGRAM-DATE-TIME:2026-01-02T03:00:00Z\n#EXTINF:4\na\n#EXT-X-PROGRAM-DATE-TIME:2026-01-02T04:00:00Z\n#EXTINF:4\nb\n").media
	hour := time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC)
	for at, want := range map[time.Duration]time.Time{
		3 * time.Second: hour.Add(-time.Hour + 3*time.Second), 4 * time.Second: hour, 8 * time.Second: hour.Add(4 * time.Second), 9 * time.Second: hour.Add(5 * time.Second),
	} {
		if got, ok := m.at(at); !ok || !got.Equal(want) {
			t.Errorf("%v is %v, %v, want %v", at, got, ok, want)
		}
	}
	if got, ok := m.timeOf(hour); !ok || got != 4*time.Second {
		t.Errorf("%v is at %v, %v, want 4 s", hour, got, ok)
	}
}

// TestDates reads what dates playlists tell.
func TestDates(t *testing.T) {
	p := mustParse(t, head+`#EXTINF:4
a
#EXT-X-PROGRAM-DATE-TIME:2026-01-02T03:04:05.500+0100
#EXTINF:4
b
#EXTINF:4
c
#EXT-X-DATERANGE:ID="ad",CLASS="spot",START-DATE="2026-01-02T02:04:06Z",DURATION=2.5
#EXT-X-DATERANGE:ID="later",START-DATE="2026-01-02T02:04:08Z"
#EXT-X-DATERANGE:ID="later",END-DATE="2026-01-02T02:04:10Z"
#EXT-X-DATERANGE:ID="planned",START-DATE="2026-01-02T02:04:06Z",PLANNED-DURATION=3
#EXT-X-DATERANGE:ID="was",START-DATE="2026-01-02T02:04:06Z",PLANNED-DURATION=3,DURATION=2
#EXT-X-DATERANGE:ID="ended",START-DATE="2026-01-02T02:04:06Z",PLANNED-DURATION=3,DURATION=2,END-DATE="2026-01-02T02:04:07Z"
#EXT-X-DATERANGE:ID="open",START-DATE="2026-01-02T02:04:06Z"
`)
	m := p.media
	date, ok := m.at(10 * time.Second)
	if want := time.Date(2026, 1, 2, 2, 4, 11, 5e8, time.UTC); !ok || !date.Equal(want) {
		t.Errorf("10 s is %v, want %v", date, want)
	}
	if d, ok := m.timeOf(time.Date(2026, 1, 2, 2, 4, 6, 5e8, time.UTC)); !ok || d != 5*time.Second {
		t.Errorf("the date is at %v, want 5 s", d)
	}
	if d, ok := m.timeOf(time.Date(2026, 1, 2, 2, 4, 2, 0, time.UTC)); !ok || d != 500*time.Millisecond {
		t.Errorf("a date before the first tag is at %v, want 0.5 s", d)
	}
	var got []string
	for _, c := range m.chapters() {
		got = append(got, c.ID+" "+c.Title+" "+c.Interval.String())
	}
	want := []string{"ad spot [4.5, 7)", "later  [6.5, 8.5)", "planned  [4.5, 7.5)", "was  [4.5, 6.5)", "ended  [4.5, 5.5)", "open  " + fragment.From(fragment.FromSeconds(4.5)).String()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestResolve(t *testing.T) {
	p, err := parse("#EXTM3U\n", "https://host.test/a/b/list.m3u8?token=secret", nil, formats.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"x.ts":                  "https://host.test/a/b/x.ts",
		"x.ts?sig=1%2F2":        "https://host.test/a/b/x.ts?sig=1%2F2",
		"../x.ts":               "https://host.test/a/x.ts",
		"/x.ts":                 "https://host.test/x.ts",
		"//cdn.test/x.ts":       "https://cdn.test/x.ts",
		"http://u:p@other/x.ts": "http://other/x.ts",
		"12:00.ts":              "https://host.test/a/b/12:00.ts",
		"100%.ts":               "https://host.test/a/b/100%25.ts",
		"a b.ts":                "https://host.test/a/b/a%20b.ts",
		"x.ts#frag":             "https://host.test/a/b/x.ts",
		"?y":                    "https://host.test/a/b/list.m3u8?y",
	} {
		if got, err := nameOf(p.base, ref); err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", ref, got, err, want)
		}
	}
}

func TestDefine(t *testing.T) {
	imported := variables{"auth": "abc"}
	p, err := parse("#EXTM3U\n#EXT-X-DEFINE:IMPORT=\"auth\"\n#EXT-X-DEFINE:QUERYPARAM=\"t\"\n#EXT-X-DEFINE:QUERYPARAM=\"none\"\n#EXT-X-KEY:METHOD=AES-128,URI=\"k?{$auth}&{$t}\"\n#EXTINF:1\n{$none}\n", testURL+"?t=7", imported, formats.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	s := p.media.segments[0]
	if s.keys[0].uri != "k?abc&7" {
		t.Errorf("the key is at %q", s.keys[0].uri)
	}
	if s.problem == "" {
		t.Error("a variable that is not defined was taken")
	}
	// A value is what stands in the tag; a segment before it knows nothing of it.
	p, err = parse("#EXTM3U\n#EXTINF:1\n{$dir}/0.ts\n#EXT-X-DEFINE:NAME=\"dir\",VALUE=\"x/y\"\n#EXTINF:1\n{$dir}/1.ts\n", testURL, nil, formats.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if s := p.media.segments; s[0].problem == "" || s[1].uri != "x/y/1.ts" {
		t.Errorf("the segments are %q (%s) and %q", s[0].uri, s[0].problem, s[1].uri)
	}
}

// TestDefineImport: a media playlist takes variables of the master playlist that names
// it, also when it is loaded again, and parameters of its own URI.
func TestDefineImport(t *testing.T) {
	o := newOrigin()
	o.put("https://host.test/master.m3u8", []byte("#EXTM3U\n#EXT-X-DEFINE:NAME=\"auth\",VALUE=\"abc\"\n#EXT-X-DEFINE:NAME=\"own\",VALUE=\"x\"\n"+
		"#EXT-X-STREAM-INF:BANDWIDTH=1\nmedia.m3u8?a={$auth}&t=7\n"))
	o.put("https://host.test/media.m3u8?a=abc&t=7", []byte(head+"#EXT-X-DEFINE:IMPORT=\"auth\"\n#EXT-X-DEFINE:QUERYPARAM=\"t\"\n#EXTINF:4,\n{$auth}/{$t}.ts\n#EXTINF:4,\n{$own}.ts\n"))
	m := o.mustOpen(t, "https://host.test/master.m3u8", formats.Env{})
	for range 2 {
		s := m.media(m.main).segments
		if len(s) != 2 || s[0].uri != "abc/7.ts" || s[1].problem == "" {
			t.Errorf("the segments are %+v: want abc/7.ts, and one whose variable was not imported", s)
		}
		if _, err := m.reload(t.Context(), m.main, directives{part: -1}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGrowing: what may still grow is what has no end, unless it is said to be whole.
func TestGrowing(t *testing.T) {
	for tag, want := range map[string]bool{
		"": true, "#EXT-X-PLAYLIST-TYPE:EVENT\n": true, "#EXT-X-PLAYLIST-TYPE:VOD\n": false,
		"#EXT-X-ENDLIST\n": false, "#EXT-X-PLAYLIST-TYPE:EVENT\n#EXT-X-ENDLIST\n": false,
	} {
		o := newOrigin()
		o.put(testURL, []byte(head+"#EXTINF:4,\na.ts\n"+tag))
		m := o.mustOpen(t, testURL, formats.Env{})
		if got := m.media(m.main).growing(); got != want || m.Info().Timed == want {
			t.Errorf("%q: growing is %v, want %v; the duration is known: %v", tag, got, want, m.Info().Timed)
		}
	}
}

// hangs is longer than any text here takes on a busy machine under the race
// detector; what grows with the square takes longer.
const hangs = time.Minute

// TestHostile feeds playlists that mean harm: each costs a typed error, or
// nothing, in bounded time and memory.
func TestHostile(t *testing.T) {
	attributes := `#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS="avc1.4d,mp4a.40.2",RESOLUTION=1x1,AUDIO="a"`
	var cuts strings.Builder
	cuts.WriteString("#EXTM3U\n")
	for i := range attributes {
		cuts.WriteString(attributes[:i+1] + "\nv\n")
	}
	for _, test := range []struct {
		name, text string
		want       error // nil: it is read
	}{
		{"a million segments", head + strings.Repeat("#EXTINF:1\na\n", 1_000_000), seek.ErrLimit},
		{"ten million lines", head + strings.Repeat("#a\n", 10_000_000), seek.ErrLimit},
		{"65 MiB", head + strings.Repeat("\n", 65<<20), seek.ErrLimit},
		{"a duration of 10^18 s", head + "#EXTINF:1000000000000000000,\na\n", formats.ErrDamaged},
		{"a duration below 0", head + "#EXTINF:-1,\na\n", formats.ErrDamaged},
		{"durations that add up to ages", head + strings.Repeat("#EXTINF:3000000000\na\n", 3), formats.ErrDamaged},
		{"sequences at the end of the range", head + "#EXT-X-MEDIA-SEQUENCE:4611686018427387903\n#EXT-X-DISCONTINUITY-SEQUENCE:4611686018427387903\n#EXT-X-SKIP:SKIPPED-SEGMENTS=4611686018427387903\n#EXTINF:1\na\n", nil},
		{"ranges that overflow", head + "#EXTINF:1\n#EXT-X-BYTERANGE:4000000000000000000@4000000000000000000\na\n#EXTINF:1\n#EXT-X-BYTERANGE:4000000000000000000\na\n", nil},
		{"attribute lists cut anywhere", cuts.String(), nil},
		{"a variable that grows", "#EXTM3U\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"" + strings.Repeat("x", 60_000) + "\"\n" + strings.Repeat("#EXTINF:1\n"+strings.Repeat("{$a}", 10)+"\n", 20), nil},
		{"too many variants", "#EXTM3U\n" + strings.Repeat("#EXT-X-STREAM-INF:BANDWIDTH=1\nv\n", 20_000), seek.ErrLimit},
		{"too many parts", head + strings.Repeat("#EXT-X-PART:DURATION=1,URI=\"a\"\n", 20_000), seek.ErrLimit},
		{"too many date ranges", head + strings.Repeat("#EXT-X-DATERANGE:ID=\"a\"\n", 20_000), seek.ErrLimit},
		{"keys without end", head + strings.Repeat("#EXT-X-KEY:METHOD=AES-128,URI=\"a\",KEYFORMAT=\"x\"\n", 100_000), nil},
		{"no playlist", "<html>", formats.ErrDamaged},
		{"nothing", "", formats.ErrDamaged},
	} {
		t.Run(test.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := parse(test.text, testURL, nil, formats.Limits{})
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, test.want) {
				t.Errorf("the error is %v, want %v", err, test.want)
			}
			var at *formats.Error
			if test.want != nil && (!errors.As(err, &at) || at.Container != Name) {
				t.Errorf("%v does not say where", err)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 400<<20 || took > hangs {
				t.Errorf("it took %v and %d MiB", took, grown>>20)
			}
		})
	}
}

// TestNoSegments: a playlist that has no segments, and does not say that it is
// one of media, is no live stream that has not begun.
func TestNoSegments(t *testing.T) {
	for text, ok := range map[string]bool{
		"#EXTM3U\n": false,
		"#EXTM3U\n#EXT-X-VERSION:3\n# a comment\n":         false,
		"#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-ENDLIST": false,
		"#EXTM3U\n#EXT-X-TARGETDURATION:4\n":               true,
		"#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:0\n":               true,
	} {
		o := newOrigin()
		o.put("https://host.test/l.m3u8", []byte(text))
		o.put("https://host.test/master.m3u8", []byte("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nl.m3u8\n"))
		for _, name := range []string{"l.m3u8", "master.m3u8"} {
			_, err := o.open(t, "https://host.test/"+name, formats.Env{})
			if ok && err != nil {
				t.Errorf("%q: %v", text, err)
			}
			if !ok {
				isError(t, err, formats.ErrDamaged)
			}
			if !ok && (err == nil || !strings.Contains(err.Error(), "no segments") || !strings.Contains(err.Error(), "URI")) {
				t.Errorf("%q: %v does not say what is wrong, or what to do", text, err)
			}
		}
	}
}

func FuzzPlaylist(f *testing.F) {
	for _, dir := range []string{owned + "/manifests", corpus + "/manifests"} {
		paths, _ := filepath.Glob(filepath.Join(dir, "*.m3u8"))
		for _, path := range paths {
			if text, err := os.ReadFile(path); err == nil && len(text) < 16<<10 {
				f.Add(string(text))
			}
		}
	}
	f.Add(head + "#EXT-X-KEY:METHOD=AES-128,URI=\"k\"\n#EXTINF:1\n#EXT-X-BYTERANGE:1@2\na\n#EXT-X-SKIP:SKIPPED-SEGMENTS=3\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parse(text, testURL, nil, formats.Limits{Entries: 1000})
		if err != nil {
			var at *formats.Error
			if !errors.As(err, &at) {
				t.Fatalf("%v does not say where", err)
			}
			return
		}
		if p.master != nil {
			p.master.choose("")
			return
		}
		var end time.Duration
		for i := range p.media.segments {
			s := &p.media.segments[i]
			if s.start != end || s.duration < 0 || s.bytes.Offset < 0 {
				t.Fatalf("segment %d begins at %v and lasts %v; the one before ended at %v", i, s.start, s.duration, end)
			}
			end = s.end()
		}
		first, last := segments.Overlap(len(p.media.segments), p.media.bounds, fragment.From(fragment.Time{}))
		if first < 0 || last > len(p.media.segments) {
			t.Fatalf("segments %d to %d of %d", first, last, len(p.media.segments))
		}
		p.media.chapters()
	})
}

// BenchmarkSelect reads a playlist of 24 hours in 21,600 segments and selects
// from it.
func BenchmarkSelect(b *testing.B) {
	var text strings.Builder
	text.WriteString(head)
	for i := range 21_600 {
		fmt.Fprintf(&text, "#EXTINF:4.000000,\nsegment%05d.ts\n", i)
	}
	text.WriteString("#EXT-X-ENDLIST\n")
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			mustParse(b, text.String())
		}
	})
	m := mustParse(b, text.String()).media
	i := between(80_000, 80_040).Interval
	b.Run("select", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if first, last := segments.Overlap(len(m.segments), m.bounds, i); first != 20_000 || last != 20_010 {
				b.Fatal(first, last)
			}
		}
	})
}
