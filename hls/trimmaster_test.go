package hls

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// putMaster publishes the master playlist of the tests, with what only a part of
// all have: keys and data of the session, and content steering.
func putMaster(o *origin) {
	o.put("https://host.test/v/master.m3u8", []byte(strings.Replace(masterText, "#EXT-X-VERSION:6\n", `#EXT-X-VERSION:6
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-CONTENT-STEERING:SERVER-URI="steer"
#EXT-X-SESSION-DATA:DATA-ID="x",URI="data.json"
#EXT-X-SESSION-KEY:METHOD=AES-128,URI="key"
`, 1)+`#EXT-X-STREAM-INF:BANDWIDTH=1900000,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=1280x720,AUDIO="surround",PATHWAY-ID="x",CLOSED-CAPTIONS="cc"
720.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=900000,RESOLUTION=1280x720,CLOSED-CAPTIONS=NONE
https://cdn.test/more/720.m3u8?token=1
`))
	for i, name := range []string{"720", "1080", "hevc", "audio", "en", "fr", "en6", "subs", "iframes"} {
		o.put("https://host.test/v/"+name+".m3u8", []byte(fmt.Sprintf("%s#EXT-X-MEDIA-SEQUENCE:%d\n#EXTINF:4\n%[3]s0\n#EXTINF:4\n%[3]s1\n#EXTINF:4\n%[3]s2\n#EXT-X-ENDLIST\n", head, 10*i, name)))
	}
	o.put("https://cdn.test/more/720.m3u8?token=1", []byte(head+"#EXTINF:4\na\n#EXTINF:4\nb\n#EXT-X-ENDLIST\n"))
}

// TestTrimMaster trims a master playlist with all that it names: each media
// playlist once, and no media.
func TestTrimMaster(t *testing.T) {
	o := newOrigin()
	putMaster(o)
	m := o.mustOpen(t, "https://host.test/v/master.m3u8", formats.Env{})
	texts, files := trimmed(t, m, between(5, 7), "clip.m3u8")
	want := `#EXTM3U
#EXT-X-VERSION:6
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-SESSION-DATA:DATA-ID="x",URI="https://host.test/v/data.json"
#EXT-X-SESSION-KEY:METHOD=AES-128,URI="https://host.test/v/key"
#EXT-X-CONTENT-STEERING:SERVER-URI="https://host.test/v/steer"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="clip.audio-English.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Français",LANGUAGE="fr",AUTOSELECT=YES,URI="clip.audio-Fran-ais.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="surround",NAME="English",LANGUAGE="en",CHANNELS="6",URI="clip.audio-English-2.m3u8"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="English",LANGUAGE="en",DEFAULT=YES,URI="clip.subtitle-English.m3u8"
#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="cc",NAME="CC",INSTREAM-ID="CC1"
#EXT-X-STREAM-INF:BANDWIDTH=2000000,AVERAGE-BANDWIDTH=1800000,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=1280x720,FRAME-RATE=29.970,AUDIO="a",SUBTITLES="s"
clip.720p.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=5000000,CODECS="avc1.640028,mp4a.40.2",RESOLUTION=1920x1080,AUDIO="a",NAME="full"
clip.main.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=4000000,CODECS="hvc1.2.4.L123,mp4a.40.2",RESOLUTION=1920x1080,AUDIO="surround"
clip.1080p.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=64000,CODECS="mp4a.40.2"
clip.64000.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=1900000,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=1280x720,AUDIO="surround",PATHWAY-ID="x",CLOSED-CAPTIONS="cc"
clip.720p.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=900000,RESOLUTION=1280x720,CLOSED-CAPTIONS=NONE
clip.720p-2.m3u8
#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=300000,CODECS="avc1.640028",RESOLUTION=1920x1080,URI="clip.1080p-2.m3u8"
`
	if diff := cmp.Diff(want, texts["clip.m3u8"]); diff != "" {
		t.Error(diff)
	}
	if files[0].Name != "clip.m3u8" || len(files) != 11 || len(texts) != 11 {
		t.Errorf("%d files, %d texts, the first is %s", len(files), len(texts), files[0].Name)
	}
	for name, segment := range map[string]string{"main": "v/10801", "720p": "v/7201", "720p-2": "more/b", "1080p": "v/hevc1", "1080p-2": "v/iframes1", "audio-English-2": "v/en61", "subtitle-English": "v/subs1"} {
		text := texts["clip."+name+".m3u8"]
		if !strings.Contains(text, "test/"+segment+"\n") || strings.Count(text, "#EXTINF") != 1 || !strings.Contains(text, "TIME-OFFSET=1,PRECISE=YES") {
			t.Errorf("%s is not the second segment from its first second on:\n%s", name, text)
		}
	}
	if p := files[0].Plan; p.Covered.String() != "[4, 8)" || p.Presented.String() != "[5, 8)" || len(p.Warnings) != 0 {
		t.Errorf("covered %s, presented %s, %v", p.Covered, p.Presented, p.Warnings)
	}
	asked := o.files()
	if len(asked) != 11 || len(slices.Compact(slices.Clone(asked))) != 11 {
		t.Errorf("asked for %v", asked)
	}
}

// TestTrimMasterChosen trims a master playlist of which a variant or tracks were
// asked for: those are kept, and nothing else is read.
func TestTrimMasterChosen(t *testing.T) {
	for _, test := range []struct {
		variant string
		tracks  []string
		want    string // of the lines that name playlists
		asked   int
	}{
		{"720p", nil, "clip.audio-English.m3u8 clip.audio-Fran-ais.m3u8 clip.subtitle-English.m3u8 clip.main.m3u8", 5},
		{"", []string{"video", "Français"}, "clip.audio-Fran-ais.m3u8 clip.main.m3u8", 4},
		{"", []string{"audio/English"}, "clip.audio-English.m3u8", 3},
		{"iframes", nil, "clip.main.m3u8", 2},
	} {
		o := newOrigin()
		putMaster(o)
		m := o.mustOpen(t, "https://host.test/v/master.m3u8", formats.Env{Variant: test.variant})
		s := between(5, 7)
		s.Tracks = test.tracks
		texts, _ := trimmed(t, m, s, "clip.m3u8")
		var got []string
		for line := range strings.Lines(texts["clip.m3u8"]) {
			line = strings.TrimSpace(line)
			if _, uri, ok := strings.Cut(line, `URI="clip.`); ok {
				line = "clip." + strings.TrimSuffix(uri, `"`)
			}
			if texts[line] != "" {
				got = append(got, line)
			}
		}
		if strings.Join(got, " ") != test.want || len(texts) != len(got)+1 {
			t.Errorf("%q %v: %v, want %s\n%s", test.variant, test.tracks, got, test.want, texts["clip.m3u8"])
		}
		if asked := o.files(); len(asked) != test.asked {
			t.Errorf("%q %v: asked for %v", test.variant, test.tracks, asked)
		}
	}
}

// TestTrimMasterOfSound: where only sound or text is left, nothing is said of the
// variant's pictures.
func TestTrimMasterOfSound(t *testing.T) {
	for track, want := range map[string]string{
		"audio/English":    `#EXT-X-STREAM-INF:BANDWIDTH=2000000,AVERAGE-BANDWIDTH=1800000,CODECS="mp4a.40.2"` + "\nclip.audio-English.m3u8\n",
		"subtitle/English": `#EXT-X-STREAM-INF:BANDWIDTH=2000000,AVERAGE-BANDWIDTH=1800000` + "\nclip.subtitle-English.m3u8\n",
	} {
		o := newOrigin()
		putMaster(o)
		m := o.mustOpen(t, "https://host.test/v/master.m3u8", formats.Env{Variant: "720p"})
		s := between(5, 7)
		s.Tracks = []string{track}
		texts, _ := trimmed(t, m, s, "clip.m3u8")
		if main := texts["clip.m3u8"]; !strings.HasSuffix(main, want) {
			t.Errorf("%s: want %s in\n%s", track, want, main)
		}
	}
}

// TestTrimMasterLacks leaves out of a trimmed master playlist what cannot be
// read, and says so.
func TestTrimMasterLacks(t *testing.T) {
	o := newOrigin()
	putMaster(o)
	o.fail = func(name string, _ seek.Request) error {
		if strings.HasSuffix(name, "/hevc.m3u8") || strings.HasSuffix(name, "/en6.m3u8") {
			return seek.ErrNotFound
		}
		return nil
	}
	m := o.mustOpen(t, "https://host.test/v/master.m3u8", formats.Env{})
	texts, files := trimmed(t, m, between(9, 11), "clip.m3u8") // the one on cdn.test is shorter
	main := texts["clip.m3u8"]
	if strings.Contains(main, "hvc1") || strings.Contains(main, `"surround"`) || strings.Contains(main, "BANDWIDTH=1900000") || strings.Contains(main, "BANDWIDTH=900000") || !strings.Contains(main, "BANDWIDTH=64000,") {
		t.Errorf("it names what is not there:\n%s", main)
	}
	if w := files[0].Plan.Warnings; len(w) != 4 {
		t.Errorf("%d warnings: %v", len(w), w)
	}
	_, err := m.Trim(t.Context(), between(13, 14), "clip.m3u8")
	isError(t, err, formats.ErrPastEnd)
	_, err = m.Trim(t.Context(), between(5, 7), "clip.mpd")
	isError(t, err, formats.ErrUnsupported)
	if err == nil || !strings.Contains(err.Error(), "m3u8") {
		t.Errorf("%v does not say what to do", err)
	}
}

// TestTrimSteered: the pathway that content steering begins with is kept as long as
// one of its variants is.
func TestTrimSteered(t *testing.T) {
	for _, first := range []string{"A", "B"} {
		o := newOrigin()
		o.put("https://host.test/m.m3u8", []byte(`#EXTM3U
#EXT-X-CONTENT-STEERING:SERVER-URI="steer?a=b",PATHWAY-ID="`+first+`"
#EXT-X-STREAM-INF:BANDWIDTH=1000,PATHWAY-ID="B"
b.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=2000,PATHWAY-ID="A"
a.m3u8
`))
		o.put("https://host.test/steer?a=b", []byte(`{"VERSION":1,"PATHWAY-PRIORITY":["B"]}`))
		o.put("https://host.test/a.m3u8", []byte(head+"#EXTINF:4\na0\n#EXTINF:4\na1\n#EXT-X-ENDLIST\n"))
		o.put("https://host.test/b.m3u8", []byte(head+"#EXTINF:4\nb0\n#EXT-X-ENDLIST\n"))
		m := o.mustOpen(t, "https://host.test/m.m3u8", formats.Env{})
		texts, _ := trimmed(t, m, between(5, 6), "c.m3u8") // B has nothing of that
		want := "#EXT-X-CONTENT-STEERING:SERVER-URI=\"https://host.test/steer?a=b\""
		if first == "A" {
			want += ",PATHWAY-ID=\"A\""
		}
		if text := texts["c.m3u8"]; !strings.Contains(text, want+"\n") || !strings.Contains(text, "BANDWIDTH=2000,PATHWAY-ID=\"A\"\n") || strings.Contains(text, "=1000") {
			t.Errorf("%s first: %q", first, text)
		}
	}
}
