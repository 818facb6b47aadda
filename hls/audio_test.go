package hls

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/audioframe"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// TestAudioFrames compares the frames that are found in files of each codec with
// the packets that ffprobe finds.
func TestAudioFrames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, codec, file, rate string }{
		{audioframe.AAC, "aac", "a.aac", "44100"},
		{audioframe.MPEGAudio, "libmp3lame", "a.mp3", "44100"},
		{audioframe.MPEGAudio, "libmp3lame", "b.mp3", "22050"},
		{audioframe.MPEGAudio, "libmp3lame", "c.mp3", "11025"},
		{audioframe.MPEGAudio, "mp2", "a.mp2", "48000"},
		{audioframe.AC3, "ac3", "a.ac3", "48000"},
		{audioframe.AC3, "ac3", "b.ac3", "44100"},
		{audioframe.EAC3, "eac3", "a.eac3", "48000"},
	} {
		t.Run(test.file, func(t *testing.T) {
			dir := made(t, "frames", func(string) {})
			path := filepath.Join(dir, test.file)
			oracle.FFmpeg(t, "-f", "lavfi", "-i", "sine=d=3:r="+test.rate, "-c:a", test.codec, "-write_xing", "0", "-id3v2_version", "0", path)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for at := 0; at < len(b); n++ {
				f, ok := audioframe.Parse(b[at:])
				if !ok || f.Codec != test.name || fmt.Sprint(f.Rate) != test.rate {
					t.Fatalf("byte %d: %+v, %v", at, f, ok)
				}
				at += f.Size
			}
			if want := len(oracle.Packets(t, path)); n != want {
				t.Errorf("%d frames, ffprobe has %d", n, want)
			}
		})
	}
}

// packedPresentation is sound in segments of packed audio, with or without the
// ID3 tags that tell their times. It returns the playlist, the original and how
// many samples a segment has.
func packedPresentation(t testing.TB, o *origin, codec, ext string, tagged bool) (original string) {
	t.Helper()
	dir := made(t, "packed"+ext, func(dir string) {
		oracle.FFmpeg(t, "-i", base(t), "-vn", "-c:a", codec, "-b:a", "96k", "-write_xing", "0", "-id3v2_version", "0", filepath.Join(dir, "whole"+ext))
	})
	original = filepath.Join(dir, "whole"+ext)
	b, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	text := head
	samples, segment, from, first := 0, 0, 0, 0
	put := func(to, rate int) {
		data := append([]byte(nil), b[from:to]...)
		if tagged {
			data = append(tag(int64(first)*90000/int64(rate)+126_000), data...)
		}
		name := fmt.Sprintf("a%d%s", segment, ext)
		o.put("https://host.test/p/"+name, data)
		text += fmt.Sprintf("#EXTINF:%.5f,\n%s\n", float64(samples-first)/float64(rate), name)
		segment, from, first = segment+1, to, samples
	}
	for at := 0; at < len(b); {
		f, ok := audioframe.Parse(b[at:])
		if !ok {
			t.Fatalf("no frame at %d", at)
		}
		at, samples = at+f.Size, samples+f.Samples
		if samples-first >= 5*f.Rate || at >= len(b) {
			put(at, f.Rate)
		}
	}
	o.put("https://host.test/p/list.m3u8", []byte(text+"#EXT-X-ENDLIST\n"))
	return original
}

// tag is an ID3 tag with a timestamp.
func tag(timestamp int64) []byte {
	body := append([]byte(timestampOwner+"\x00"), binary.BigEndian.AppendUint64(nil, uint64(timestamp))...)
	frame := append([]byte("PRIV\x00\x00\x00"), byte(len(body)), 0, 0)
	frame = append(frame, body...)
	return append([]byte("ID3\x04\x00\x00\x00\x00\x00"), append([]byte{byte(len(frame))}, frame...)...)
}

func TestPackedAudio(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		codec, ext, mediaType string
		tagged                bool
		lead                  int // frames that decoding needs before
	}{
		{"aac", ".aac", "audio/aac", true, 1},
		{"aac", ".aac", "audio/aac", false, 1},
		{"libmp3lame", ".mp3", "audio/mpeg", true, 12},
		{"ac3", ".ac3", "audio/ac3", true, 1},
	} {
		t.Run(fmt.Sprint(test.ext, test.tagged), func(t *testing.T) {
			tools.Need(t, "ffmpeg", "ffprobe")
			o := newOrigin()
			original := packedPresentation(t, o, test.codec, test.ext, test.tagged)
			for i, x := range [][2]float64{{11.3, 21.7}, {12, 12.5}} {
				if i > 0 && !tools.Full() {
					break
				}
				m := o.mustOpen(t, "https://host.test/p/list.m3u8", formats.Env{})
				p := mustPlan(t, m, between(x[0], x[1]))
				if p.MediaType != test.mediaType {
					t.Errorf("the media type is %s", p.MediaType)
				}
				data := clip(t, m, p)
				if strings.Contains(string(data), timestampOwner) {
					t.Error("a tag stands in the clip")
				}
				path := write(t, "clip"+test.ext, data)
				checkPackets(t, original, path, 0, x[0], x[1])
				want, have := 0, len(oracle.Packets(t, path))
				for _, q := range originalPackets(t, original) {
					if q.Time < x[1] && q.End > x[0] {
						want++
					}
				}
				if have > want+test.lead+1 {
					t.Errorf("[%g, %g): %d frames, want %d and at most %d before", x[0], x[1], have, want, test.lead)
				}
			}
		})
	}
}

// TestPackedAudioLead: an interval that begins with the first frames of a segment
// sounds as the original from its beginning on, for the segment before has what
// decoding them takes. It is read along with the others.
func TestPackedAudioLead(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ codec, ext string }{{"aac", ".aac"}, {"libmp3lame", ".mp3"}, {"ac3", ".ac3"}} {
		seektest.Counted(t, test.ext, func(t *testing.T) {
			tools.Need(t, "ffmpeg", "ffprobe")
			o := newOrigin()
			original := oracle.Original(t, packedPresentation(t, o, test.codec, test.ext, true)).Audio[0]
			m := o.mustOpen(t, "https://host.test/p/list.m3u8", formats.Env{})
			bound := m.media(m.main).segments[2].start.Seconds()
			a := bound + 0.004
			p := mustPlan(t, m, between(a, a+1))
			have := checkDecodes(t, write(t, "clip"+test.ext, clip(t, m, p))).Audio[0]
			at, zero := a-p.Covered.Start.Seconds(), float64(have.First)/float64(have.Rate)
			first := float64(original.First) / float64(original.Rate)
			want := original.Between(a+first, a+first+0.3)
			if r := oracle.CompareAudio(want, have.Between(at+zero, at+zero+0.3), have.Rate, have.Channels); r.Offset != 0 || r.Residual > -40 {
				t.Errorf("from %g s on: %s; covered is %s", a, r, p.Covered)
			}
			if p.Covered.Start.Seconds() > bound-0.02 {
				t.Errorf("covered is %s: nothing of the segment before, which ends at %g s", p.Covered, bound)
			}
			if used := o.totals.Transfer(); used.FirstMediaTrips > 2 || used.Requests != 3 {
				t.Errorf("%d round trips for %v", used.FirstMediaTrips, o.files())
			}
		})
	}
}

func TestWebVTT(t *testing.T) {
	o := newOrigin()
	o.put("https://host.test/s/list.m3u8", []byte(head+"#EXTINF:10,\n0.vtt\n#EXTINF:10,\n1.vtt\n#EXTINF:10,\n2.vtt\n#EXT-X-ENDLIST\n"))
	o.put("https://host.test/s/0.vtt", []byte("WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000\n\nSTYLE\n::cue { color: red }\n\n1\n00:01.000 --> 00:02.000\nbefore\n\n2\n00:08.500 --> 00:11.000 align:start\nover\nthe bound\n"))
	o.put("https://host.test/s/1.vtt", []byte("\ufeffWEBVTT\r\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000\r\n\r\n2\r\n00:08.500 --> 00:11.000 align:start\r\nover\r\nthe bound\r\n\r\nNOTE a comment\r\n\r\n00:00:15.000 --> 00:00:16.000\r\ninside\r\n"))
	o.put("https://host.test/s/2.vtt", []byte("WEBVTT\n\n00:29.000 --> 00:30.000\nafter\n"))
	m := o.mustOpen(t, "https://host.test/s/list.m3u8", formats.Env{})
	p := mustPlan(t, m, between(9, 15.5))
	want := "WEBVTT\n\nSTYLE\n::cue { color: red }\n\n2\n00:00:00.000 --> 00:00:02.000 align:start\nover\nthe bound\n\n00:00:06.000 --> 00:00:06.500\ninside\n"
	if got := string(clip(t, m, p)); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	s := between(9, 15.5)
	s.Timeline = formats.Original
	if got := string(clip(t, m, mustPlan(t, m, s))); !strings.Contains(got, "00:00:08.500 --> 00:00:11.000") {
		t.Errorf("with the original timeline: %q", got)
	}
	if got := o.files(); strings.Contains(strings.Join(got, " "), "2.vtt") {
		t.Errorf("asked for %v", got)
	}
	// Cues that count from the beginning of their segment.
	v := readVTT([]byte("WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:1234,LOCAL:00:00:00.000\n\n00:01.000 --> 00:02.000\nx\n"))
	if got := v.offset(&segment{start: time.Hour, duration: 10 * time.Second}, nil); got != time.Hour {
		t.Errorf("cues are moved by %v, want an hour", got)
	}
}
