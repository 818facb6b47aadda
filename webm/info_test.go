package webm_test

import (
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
	"github.com/mediafrag/mediafrag/webm"
)

// infoFile is a header with the given Tracks and Chapters and one cluster.
func infoFile(tracks, chapters []byte) []byte {
	return head(el(0x1549A966, num(0x2AD7B1, 1e6), float(0x4489, 60000)), tracks, chapters, el(0x1F43B675, num(0xE7, 0), aBlock(1, 0x80, 0, 0)))
}

// TestTrackInfo reads what TrackEntries say.
func TestTrackInfo(t *testing.T) {
	video := func(more ...[]byte) []byte {
		return el(0xE0, append([][]byte{num(0xB0, 640), num(0xBA, 480)}, more...)...)
	}
	entry := func(kind uint64, codec string, more ...[]byte) []byte {
		return el(0xAE, append([][]byte{num(0xD7, 1), num(0x73C5, 7), num(0x83, kind), el(0x86, []byte(codec))}, more...)...)
	}
	tests := []struct {
		name  string
		entry []byte
		want  formats.Track
	}{
		{"plain", entry(1, "V_VP8", video()), formats.Track{Codec: "vp8", Language: "eng", Default: true, Width: 640, Height: 480}},
		{"display size", entry(1, "V_VP9", video(num(0x54B0, 853), num(0x54BA, 480))), formats.Track{Codec: "vp9", Language: "eng", Default: true, Width: 853, Height: 480}},
		{"aspect ratio", entry(1, "V_VP9", video(num(0x54B2, 3), num(0x54B0, 16), num(0x54BA, 9))), formats.Track{Codec: "vp9", Language: "eng", Default: true, Width: 853, Height: 480}},
		{"crop", entry(1, "V_VP8", video(num(0x54AA, 60), num(0x54BB, 60))), formats.Track{Codec: "vp8", Language: "eng", Default: true, Width: 640, Height: 360}},
		{"two views side by side", entry(1, "V_VP8", video(num(0x53B8, 1))), formats.Track{Codec: "vp8", Language: "eng", Default: true, Width: 320, Height: 480}},
		{"turned", entry(1, "V_VP8", video(el(0x7670, float(0x7675, -90)))), formats.Track{Codec: "vp8", Language: "eng", Default: true, Width: 480, Height: 640}},
		{"frame rate", entry(1, "V_VP8", num(0x23E383, 33366666), video()), formats.Track{Codec: "vp8", Language: "eng", Default: true, Width: 640, Height: 480, FrameRate: fragment.Ticks(30000, 1001)}},
		{"film rate", entry(1, "V_VP8", num(0x23E383, 41708333), video()), formats.Track{Codec: "vp8", Language: "eng", Default: true, Width: 640, Height: 480, FrameRate: fragment.Ticks(24000, 1001)}},
		{"25", entry(1, "V_VP8", num(0x23E383, 40e6), video()), formats.Track{Codec: "vp8", Language: "eng", Default: true, Width: 640, Height: 480, FrameRate: fragment.Seconds(25)}},
		{"H.264", entry(1, "V_MPEG4/ISO/AVC", el(0x63A2, []byte{1, 0x64, 0, 0x1F, 255}), video()), formats.Track{Codec: "avc1.64001f", Language: "eng", Default: true, Width: 640, Height: 480}},
		{"H.265", entry(1, "V_MPEGH/ISO/HEVC", el(0x63A2, []byte{1, 1, 0x60, 0, 0, 0, 0x90, 0, 0, 0, 0, 0, 93, 0}), video()), formats.Track{Codec: "hvc1.1.6.L93.90", Language: "eng", Default: true, Width: 640, Height: 480}},
		{"AV1", entry(1, "V_AV1", el(0x63A2, []byte{0x81, 0x08, 0x4C, 0}), video()), formats.Track{Codec: "av01.0.08M.10", Language: "eng", Default: true, Width: 640, Height: 480}},
		{"VP9 features", entry(1, "V_VP9", el(0x63A2, []byte{1, 1, 2, 2, 1, 31, 3, 1, 10}), video()), formats.Track{Codec: "vp09.02.31.10", Language: "eng", Default: true, Width: 640, Height: 480}},
		{"AAC", entry(2, "A_AAC", el(0x63A2, []byte{0x12, 0x10}), el(0xE1, float(0xB5, 44100), num(0x9F, 2))), formats.Track{Codec: "mp4a.40.2", Language: "eng", Default: true, Channels: 2, SampleRate: 44100}},
		{"HE-AAC", entry(2, "A_AAC", el(0x63A2, []byte{0x2B, 0x92, 0x08, 0}), el(0xE1, float(0xB5, 22050), float(0x78B5, 44100), num(0x9F, 2))), formats.Track{Codec: "mp4a.40.5", Language: "eng", Default: true, Channels: 2, SampleRate: 44100}},
		{"Opus of 16 kHz", entry(2, "A_OPUS", el(0xE1, float(0xB5, 16000), num(0x9F, 1))), formats.Track{Codec: "opus", Language: "eng", Default: true, Channels: 1, SampleRate: 48000}},
		{"names and flags", entry(2, "A_VORBIS", num(0x88, 0), el(0x22B59C, []byte("ger")), el(0x22B59D, []byte("de-CH")), el(0x536E, []byte("Director"))), formats.Track{Codec: "vorbis", Language: "de-CH", Name: "Director", Default: true, Channels: 1, SampleRate: 8000}},
		{"unknown codec", entry(17, "S_HDMV/PGS"), formats.Track{Codec: "S_HDMV/PGS", Language: "eng", Default: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := mustOpen(t, infoFile(el(0x1654AE6B, tt.entry), nil))
			got := o.Info().Tracks[0]
			rate := got.FrameRate.Equal(tt.want.FrameRate)
			tt.want.ID, tt.want.Kind, tt.want.CodedWidth, tt.want.CodedHeight = "1", got.Kind, got.CodedWidth, got.CodedHeight
			tt.want.FrameRate = got.FrameRate
			if got != tt.want || !rate {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

// chapter writes a ChapterAtom.
func chapter(uid, start, end uint64, title string, more ...[]byte) []byte {
	parts := [][]byte{num(0x73C4, uid), num(0x91, start*1e9), el(0x80, el(0x85, []byte(title)), el(0x437C, []byte("fre")))}
	if end > 0 {
		parts = append(parts, num(0x92, end*1e9))
	}
	return el(0xB6, append(parts, more...)...)
}

var someChapters = el(0x1043A770, el(0x45B9,
	chapter(1, 0, 0, "one", chapter(11, 2, 4, "inner", el(0x5654, []byte("cue-7")))),
	chapter(2, 10, 20, "two"),
	chapter(3, 20, 0, "hidden", num(0x98, 1)),
	chapter(4, 30, 0, "last"),
))

// TestChapters reads nested, hidden and open-ended chapters.
func TestChapters(t *testing.T) {
	o := mustOpen(t, infoFile(aTracks, someChapters))
	var got []string
	for _, c := range o.Info().Chapters {
		got = append(got, c.ID+" "+c.Title+" "+c.Language+" "+c.Interval.String())
	}
	want := "1 one fre [0, 10), cue-7 inner fre [2, 4), 2 two fre [10, 20), 4 last fre [30, 60)"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("%s, want %s", s, want)
	}
}

// TestClipChaptersAndTags cuts a film with chapters and tags: chapters are cut
// and shifted, and what counts the original is dropped.
func TestClipChaptersAndTags(t *testing.T) {
	tag := func(uid uint64, name, value string) []byte {
		targets := el(0x63C0)
		if uid != 0 {
			targets = el(0x63C0, num(0x63C5, uid))
		}
		return el(0x7373, targets, el(0x67C8, el(0x45A3, []byte(name)), el(0x4487, []byte(value))))
	}
	tags := func(*written) []byte {
		return el(0x1254C367, tag(0, "TITLE", "A film"), tag(11, "BPS", "1234567"), tag(11, "DURATION-eng", "00:00:40"),
			tag(12, "ARTIST", "Sound only"), tag(11, "_STATISTICS_TAGS", "BPS"))
	}
	w := film{seconds: 40, front: func(*written) []byte { return someChapters }, end: tags}.write()
	o := mustOpen(t, w.data)
	sel := seconds(9.013, 25)
	sel.Tracks = []string{"1"}
	plan, data := o.Clip(t, sel)
	if got := readBack(t, data); len(got.sound) > 0 || len(got.pictures) == 0 {
		t.Errorf("%d frames of a track that is not wanted, %d of the one that is", len(got.sound), len(got.pictures))
	}
	for _, text := range []string{"A film", "two", "one"} {
		if !strings.Contains(string(data[:2000]), text) {
			t.Errorf("%q is not in the clip", text)
		}
	}
	for _, text := range []string{"1234567", "00:00:40", "Sound only", "_STATISTICS", "inner", "last"} {
		if strings.Contains(string(data[:2000]), text) {
			t.Errorf("%q is in the clip", text)
		}
	}
	back, err := open(t, seektest.New(data), formats.Env{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range back.Info().Chapters {
		got = append(got, c.Title+" "+c.Interval.String())
	}
	if s := strings.Join(got, ", "); s != "one [0, 2), two [2, 12)" {
		t.Errorf("chapters %s of a clip from %v", s, plan.Presented)
	}
	if n := len(back.Info().Tracks); n != 1 {
		t.Errorf("%d tracks", n)
	}
}

// TestMediaTypes keeps a WebM a WebM.
func TestMediaTypes(t *testing.T) {
	sound := el(0x1654AE6B, aSound)
	for _, tt := range []struct {
		docType string
		tracks  []byte
		want    string
	}{
		{"webm", aTracks, "video/webm"}, {"webm", sound, "audio/webm"},
		{"matroska", aTracks, "video/x-matroska"}, {"matroska", sound, "audio/x-matroska"},
	} {
		h := el(0x1A45DFA3, el(0x4282, []byte(tt.docType)), num(0x4287, 2))
		body := append(append(append([]byte{}, anInfo...), tt.tracks...), el(0x1F43B675, num(0xE7, 0), aBlock(2, 0x80, 0, 0))...)
		o := mustOpen(t, append(append(h, append(id(0x18538067), size(-1, 8)...)...), body...))
		if got := o.Info().MediaType; got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
		_, clip := o.Clip(t, seconds(0, 1))
		if !strings.Contains(string(clip[:60]), tt.docType) {
			t.Errorf("a clip of %s has another DocType", tt.docType)
		}
	}
}

// TestDetect: files, and segments that are none.
func TestDetect(t *testing.T) {
	for begin, want := range map[string]bool{"\x1A\x45\xDF\xA3": true, "\x1F\x43\xB6\x75": true, "\x1C\x53\xBB\x6B": true, "\x1A\x45\xDF": false, "OggS": false, "": false} {
		if got := (webm.Format{}).Detect([]byte(begin), seek.Info{}); got != want {
			t.Errorf("%x: %v", begin, got)
		}
	}
}
