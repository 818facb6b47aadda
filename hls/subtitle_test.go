package hls

import (
	"slices"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/mp4"
)

// subtitled is an origin with pictures and sound apart and subtitles that play by
// default.
func subtitled(t *testing.T) *origin {
	t.Helper()
	dir := masterPresentation(t)
	o := newOrigin()
	o.putFolder(t, "https://host.test/m", dir)
	master := strings.ReplaceAll(string(readFile(t, dir, "master.m3u8")), `,AUDIO="`, `,SUBTITLES="s",AUDIO="`)
	o.put("https://host.test/m/master.m3u8", []byte(master+`#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="Subs",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,URI="subs.m3u8"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="Sous",LANGUAGE="fr",AUTOSELECT=YES,URI="sous.m3u8"
`))
	for _, name := range []string{"subs", "sous"} {
		o.put("https://host.test/m/"+name+".m3u8", []byte(head+"#EXTINF:10,\nt0.vtt\n#EXTINF:10,\nt1.vtt\n#EXTINF:20,\nt2.vtt\n#EXT-X-ENDLIST\n"))
	}
	for _, name := range []string{"t0", "t1", "t2"} {
		o.put("https://host.test/m/"+name+".vtt", []byte("WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:0\n\n00:09.000 --> 00:11.000\n"+name+"\n"))
	}
	return o
}

// TestSubtitlesPackage packs the subtitles that play by default, and does without
// those that cannot be had.
func TestSubtitlesPackage(t *testing.T) {
	for _, test := range []struct {
		name, file, text string // what is put in the place of a file
		warned           bool
	}{
		{"", "", "", false},
		{"no playlist", "subs.m3u8", "nonsense", true},
		{"they end before", "subs.m3u8", head + "#EXTINF:2,\nt0.vtt\n#EXT-X-ENDLIST\n", true},
		{"no segment", "t1.vtt", "nonsense", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := subtitled(t)
			if test.file != "" {
				o.put("https://host.test/m/"+test.file, []byte(test.text))
			}
			m := o.mustOpen(t, "https://host.test/m/master.m3u8", formats.Env{})
			if i := slices.IndexFunc(m.Info().Tracks, func(x formats.Track) bool { return x.ID == "subtitle/Subs" }); i < 0 || !m.Info().Tracks[i].Default {
				t.Errorf("they do not play by default: %+v", m.Info().Tracks)
			}
			files, err := m.Package(t.Context(), between(12, 18))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, f := range files {
				names = append(names, f.Name)
			}
			master := string(clip(t, m, files[0].Plan))
			packed := slices.Contains(names, "subtitle-Subs/segment-00000.vtt") && strings.Contains(master, `URI="subtitle-Subs/index.m3u8"`) && strings.Contains(master, `SUBTITLES="s"`)
			trace := strings.Contains(master+strings.Join(names, " "), "Subs") || strings.Contains(master, "SUBTITLES")
			if packed == test.warned || trace == test.warned {
				t.Errorf("%v\n%s", names, master)
			}
			if warned := mentions(files[0].Plan.Warnings, "subtitle/Subs is left out"); warned != test.warned {
				t.Errorf("the warnings are %v", files[0].Plan.Warnings)
			}
			if strings.Contains(master, "Sous") || len(files[0].Plan.Tracks) < 2 {
				t.Errorf("tracks %v\n%s", files[0].Plan.Tracks, master)
			}
			s := between(12, 18)
			s.Tracks = []string{"video", "subtitle/Subs"}
			if _, err := m.Package(t.Context(), s); (err != nil) != test.warned {
				t.Errorf("asked for: %v", err)
			}
		})
	}
}

// mentions reports whether a warning has a text.
func mentions(warnings []fragment.Warning, text string) bool {
	return slices.ContainsFunc(warnings, func(w fragment.Warning) bool { return strings.Contains(w.Reason, text) })
}

// TestSubtitlesApart makes one file, which has no place for subtitles: those that
// play by default are left out with a warning, and not fetched; those that were
// asked for are what the error is about.
func TestSubtitlesApart(t *testing.T) {
	o := subtitled(t)
	m := o.mustOpen(t, "https://host.test/m/master.m3u8", formats.Env{})
	p := mustPlan(t, m, between(12, 18))
	if !mentions(p.Warnings, "--track subtitle/Subs") || len(p.Warnings) != 1 || len(p.Tracks) != 2 {
		t.Errorf("tracks %v, warnings %v", p.Tracks, p.Warnings)
	}
	if asked := strings.Join(o.files(), " "); strings.Contains(asked, "subs.m3u8") || strings.Contains(asked, ".vtt") {
		t.Errorf("asked for %s", asked)
	}
	var parts int
	told := &formats.Plan{}
	for _, err := range m.Parts(t.Context(), between(12, 18), told) {
		if err != nil {
			t.Fatal(err)
		}
		parts++
	}
	if !mentions(told.Warnings, "--track subtitle/Subs") || parts == 0 || parts != len(told.Parts) {
		t.Errorf("%d parts, told of %d, warnings %v", parts, len(told.Parts), told.Warnings)
	}
	s := between(12, 18)
	for _, test := range []struct{ tracks, want string }{
		{"video " + p.Tracks[1].ID + " subtitle/Subs", "main (fragmented MP4) and subtitle/Subs (WebVTT)"},
		{"video subtitle/Subs", "main (fragmented MP4) and subtitle/Subs (WebVTT)"},
		{p.Tracks[1].ID + " subtitle/Subs", p.Tracks[1].ID + " (fragmented MP4) and subtitle/Subs (WebVTT)"},
		{"subtitle/Subs subtitle/Sous", "subtitle/Subs (WebVTT) and subtitle/Sous (WebVTT)"},
	} {
		s.Tracks = strings.Fields(test.tracks)
		_, err := m.Plan(t.Context(), s)
		isError(t, err, formats.ErrUnsupported)
		if err != nil && !strings.Contains(err.Error(), test.want+" are separate") {
			t.Errorf("%s: %v, want %s", test.tracks, err, test.want)
		}
	}
	s.Tracks = []string{"subtitle/Subs"}
	if p := mustPlan(t, m, s); p.MediaType != "text/vtt" || len(p.Warnings) != 0 {
		t.Errorf("by themselves: %s, %v", p.MediaType, p.Warnings)
	}
}

// TestTextCodec gives the codec of text to the rendition that has it.
func TestTextCodec(t *testing.T) {
	o := newOrigin()
	o.put("https://host.test/master.m3u8", []byte("#EXTM3U\n#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"s\",NAME=\"Subs\",URI=\"s.m3u8\"\n#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS=\"avc1.64001f,wvtt\",SUBTITLES=\"s\"\nv.m3u8\n"))
	o.put("https://host.test/v.m3u8", []byte(head+"#EXTINF:4\nv\n#EXT-X-ENDLIST\n"))
	tracks := o.mustOpen(t, "https://host.test/master.m3u8", formats.Env{}).Info().Tracks
	if len(tracks) != 2 || tracks[0].Codec != "avc1.64001f" || tracks[1].ID != "subtitle/Subs" || tracks[1].Codec != "wvtt" || tracks[1].Default {
		t.Errorf("the tracks are %+v", tracks)
	}
}

// TestLayouts refuses layouts that a clip cannot have.
func TestLayouts(t *testing.T) {
	o := subtitled(t)
	o.putFolder(t, "https://host.test/ts", tsPresentation(t))
	o.putFolder(t, "https://host.test/mp4", fmp4Presentation(t))
	for _, test := range []struct {
		url, track string
		layout     formats.Layout
		form       formats.Form
		fine       bool
	}{
		{"ts/media.m3u8", "", "", "", true},
		{"ts/media.m3u8", "", "foo", "", false},
		{"ts/media.m3u8", "", mp4.Progressive, "", false},
		{"ts/media.m3u8", "", mp4.Fragmented, "", false},
		{"ts/media.m3u8", "", formats.Exact, formats.Verbatim, false},
		{"mp4/media.m3u8", "", mp4.Progressive, "", true},
		{"mp4/media.m3u8", "", mp4.Fragmented, "", true},
		{"mp4/media.m3u8", "", "foo", "", false},
		{"mp4/media.m3u8", "", mp4.Fragmented, formats.Verbatim, true},
		{"mp4/media.m3u8", "", mp4.Progressive, formats.Verbatim, false},
		{"m/master.m3u8", "subtitle/Subs", "foo", "", false},
	} {
		m := o.mustOpen(t, "https://host.test/"+test.url, formats.Env{})
		s := between(12, 18)
		s.Layout, s.Form = test.layout, test.form
		if test.track != "" {
			s.Tracks = []string{test.track}
		}
		_, err := m.Plan(t.Context(), s)
		if test.fine && err != nil {
			t.Errorf("%+v: %v", test, err)
		} else if !test.fine {
			isError(t, err, formats.ErrUnsupported)
		}
	}
}
