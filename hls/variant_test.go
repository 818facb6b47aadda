package hls

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mediafrag/mediafrag/formats"
)

const masterText = `#EXTM3U
#EXT-X-VERSION:6
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="en.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Français",LANGUAGE="fr",AUTOSELECT=YES,URI="fr.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="surround",NAME="English",LANGUAGE="en",CHANNELS="6",URI="en6.m3u8"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="English",LANGUAGE="en",DEFAULT=YES,URI="subs.m3u8"
#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="cc",NAME="CC",INSTREAM-ID="CC1"
#EXT-X-STREAM-INF:BANDWIDTH=2000000,AVERAGE-BANDWIDTH=1800000,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=1280x720,FRAME-RATE=29.970,AUDIO="a",SUBTITLES="s"
720.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=5000000,CODECS="avc1.640028,mp4a.40.2",RESOLUTION=1920x1080,AUDIO="a",NAME="full"
1080.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=4000000,CODECS="hvc1.2.4.L123,mp4a.40.2",RESOLUTION=1920x1080,AUDIO="surround"
hevc.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=64000,CODECS="mp4a.40.2"
audio.m3u8
#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=300000,CODECS="avc1.640028",RESOLUTION=1920x1080,URI="iframes.m3u8"
`

func TestVariants(t *testing.T) {
	m := mustParse(t, masterText).master
	for want, uri := range map[string]string{
		"": "1080.m3u8", "best": "1080.m3u8", "worst": "audio.m3u8", "720p": "720.m3u8", "720": "720.m3u8", "1280x720": "720.m3u8",
		"1080p": "1080.m3u8", "hvc1": "hevc.m3u8", "avc1.64001f": "720.m3u8", "full": "1080.m3u8", "3M": "720.m3u8", "4000000": "hevc.m3u8",
		"1800000": "720.m3u8", "100k": "audio.m3u8", "iframes": "iframes.m3u8", "hevc.m3u8": "hevc.m3u8",
	} {
		got, err := m.choose(want)
		if err != nil || got[0].uri != uri {
			t.Errorf("%q: %+v, %v; want %s", want, got, err, uri)
		}
	}
	for _, want := range []string{"4320p", "av01", "10", "nothing"} {
		_, err := m.choose(want)
		isError(t, err, formats.ErrNoTrack)
		if err != nil && !strings.Contains(err.Error(), "1080p (5000000)") {
			t.Errorf("%v does not say what there is", err)
		}
	}
	_, err := mustParse(t, "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=7\nx.m3u8\n").master.choose("iframes")
	isError(t, err, formats.ErrNoTrack)
	if want := "hls EXT-X-STREAM-INF: there is no I-frame playlist; there are 7"; err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestTracks opens a master playlist: only what plays by default is read, and
// tracks choose among the renditions.
func TestTracks(t *testing.T) {
	o := newOrigin()
	o.put("https://host.test/master.m3u8", []byte(masterText))
	for _, name := range []string{"720", "1080", "hevc", "audio", "en", "fr", "en6", "subs", "iframes"} {
		o.put("https://host.test/"+name+".m3u8", []byte(head+"#EXTINF:4\n"+name+"\n#EXT-X-ENDLIST\n"))
	}
	m := o.mustOpen(t, "https://host.test/master.m3u8", formats.Env{Variant: "720p"})
	if diff := cmp.Diff([]string{"720.m3u8", "en.m3u8", "master.m3u8"}, o.files()); diff != "" {
		t.Error(diff)
	}
	// What will be selected is read instead, with the variant's own: times are its.
	for names, want := range map[string][]string{
		"Français":       {"720.m3u8", "fr.m3u8", "master.m3u8"},
		"video":          {"720.m3u8", "master.m3u8"},
		"video,Français": {"720.m3u8", "fr.m3u8", "master.m3u8"},
		"nope":           {"720.m3u8", "en.m3u8", "master.m3u8"},
	} {
		o.asked = nil
		m := o.mustOpen(t, "https://host.test/master.m3u8", formats.Env{Variant: "720p", Tracks: strings.Split(names, ",")})
		if diff := cmp.Diff(want, o.files()); diff != "" {
			t.Errorf("%s: %s", names, diff)
		}
		o.asked = nil
		if _, _, err := m.cuts(t.Context(), between(0, 4)); err != nil || names == "video" && !slices.Contains(o.files(), "en.m3u8") {
			t.Errorf("%s: what plays by default cannot be selected, too: %v, %v", names, err, o.files())
		}
	}
	var tracks []string
	for _, x := range m.Info().Tracks {
		s := x.ID + " " + string(x.Kind) + " " + x.Codec + " " + x.Language
		if x.Default {
			s += " default"
		}
		tracks = append(tracks, s)
	}
	want := []string{"video video avc1.64001f  default", "audio/English audio mp4a.40.2 en default", "audio/Français audio mp4a.40.2 fr", "subtitle/English subtitle  en default"}
	if diff := cmp.Diff(want, tracks); diff != "" {
		t.Error(diff)
	}
	if v := m.Info().Tracks[0]; v.Width != 1280 || v.Height != 720 || v.FrameRate.Seconds() != 29.97 {
		t.Errorf("the video is %+v", v)
	}
	for names, want := range map[string]string{
		"":                         "main audio/English subtitle/English",
		"video":                    "main",
		"Français":                 "audio/Français",
		"video,audio/Français":     "main audio/Français",
		"subtitle/English":         "subtitle/English",
		"audio/English,audio/nope": "no such track",
	} {
		s := between(0, 4)
		if names != "" {
			s.Tracks = strings.Split(names, ",")
		}
		streams, _, err := m.selected(s)
		var got []string
		for _, x := range streams {
			got = append(got, x.id)
		}
		if err != nil {
			isError(t, err, formats.ErrNoTrack)
			got = []string{"no such track"}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q selects %v, want %s", names, got, want)
		}
	}
}

// TestRedundant reads variants and segments from a second host where the first
// fails.
func TestRedundant(t *testing.T) {
	t.Parallel()
	dir := tsPresentation(t)
	for _, steering := range []string{"", "#EXT-X-CONTENT-STEERING:SERVER-URI=\"steer\",PATHWAY-ID=\"B\"\n"} {
		for _, fails := range []string{"/media.m3u8", "/s003.ts", "/s004.ts"} {
			o := newOrigin()
			o.putFolder(t, "https://a.test/x", dir)
			o.putFolder(t, "https://b.test/y", dir)
			o.put("https://a.test/master.m3u8", []byte("#EXTM3U\n"+steering+`#EXT-X-STREAM-INF:BANDWIDTH=1000,CODECS="avc1.4d,mp4a.40.2",PATHWAY-ID="A"
x/media.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=1000,CODECS="avc1.4d,mp4a.40.2",PATHWAY-ID="B"
https://b.test/y/media.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=500,CODECS="avc1.4d,mp4a.40.2"
https://c.test/low.m3u8
`))
			first := "https://a.test/x"
			if steering != "" {
				first = "https://b.test/y"
			}
			o.fail = failing(first + fails)
			m := o.mustOpen(t, "https://a.test/master.m3u8", formats.Env{})
			p := mustPlan(t, m, between(12, 19))
			if path := write(t, "clip.ts", clip(t, m, p)); len(p.Parts) < 2 {
				t.Errorf("the clip %s has %d parts", path, len(p.Parts))
			} else {
				checkPackets(t, joined(t, dir, numbered("s%03d.ts", 10)...), path, zeroOf(t, joined(t, dir, numbered("s%03d.ts", 10)...)), 12, 19)
			}
			for _, name := range o.asked {
				if strings.Contains(name, "c.test") {
					t.Errorf("another variant was asked for: %s", name)
				}
			}
		}
	}
}
