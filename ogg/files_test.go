package ogg_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// made is a file that a test makes, and how its clips compare.
type made struct {
	name  string
	codec string   // of its sound: how its clips are compared
	needs []string // programs
	make  func(t testing.TB, path string)
	trait interval // the pair that is compared in a short run
	full  []interval
	more  bool // compared in a full run only: another file has the trait
	silk  bool // Opus by its speech coder, whose state never quite forgets
}

type interval struct{ a, b float64 } // b < 0: open

// seconds is how long the files are.
const seconds = 14

// soundIntervals are compared of every file without pictures in a full run.
var soundIntervals = []interval{
	{0, 1}, {0.005, 2}, {0.5, 0.75}, {3, 4.001}, {7.123, 12.457}, {10, 10.05}, {11.3451, -1}, {0, -1}, {12.999, 14}, {5.0005, 5.9},
}

// pictureIntervals are on the grid of 25 pictures a second; before, on and
// after keyframes (every 64 pictures, 2.56 s).
var pictureIntervals = []interval{
	{0, 1}, {2.56, 4}, {2.52, 4}, {2.6, 2.64}, {7.12, 12.44}, {11.36, -1}, {0, -1}, {13.4, 14}, {10.24, 10.28},
}

func oggenc(args ...string) func(t testing.TB, path string) {
	return func(t testing.TB, path string) {
		oracle.Run(t, "oggenc", append(append([]string{"-Q", "-s", "7"}, args[1:]...), "-o", path, args[0])...)
	}
}

func vorbisOf(rate, channels int, quality string) func(t testing.TB, path string) {
	return func(t testing.TB, path string) { oggenc(sound(t, rate, channels, seconds), "-q", quality)(t, path) }
}

func opusOf(args ...string) func(t testing.TB, path string) {
	return func(t testing.TB, path string) {
		oracle.Run(t, "opusenc", append(append([]string{"--quiet", "--serial", "9"}, args...), sound(t, 48000, 2, seconds), path)...)
	}
}

// ff makes a file with ffmpeg of pictures and sound of the given rate; 0 is none.
func ff(fps string, rate int, args ...string) func(t testing.TB, path string) {
	return func(t testing.TB, path string) {
		var in []string
		if fps != "" {
			in = append(in, "-f", "lavfi", "-i", fmt.Sprintf("testsrc2=s=96x64:r=%s:d=%d", fps, seconds))
		}
		if rate > 0 {
			in = append(in, "-i", sound(t, rate, 1, seconds))
		}
		oracle.FFmpeg(t, append(append(in, args...), "-serial_offset", "3", "-f", "ogg", path)...)
	}
}

// files are the kinds of files whose clips are compared with the original.
var files = []made{
	{name: "vorbis-48k", codec: "vorbis", needs: []string{"oggenc"}, make: vorbisOf(48000, 2, "4"), trait: interval{7.123, 9.457}},
	{name: "vorbis-44k-low", more: true, codec: "vorbis", needs: []string{"oggenc"}, make: vorbisOf(44100, 1, "-1"), trait: interval{10, 10.05}},
	{name: "vorbis-8k", more: true, codec: "vorbis", needs: []string{"oggenc"}, make: vorbisOf(8000, 1, "2"), trait: interval{3, 4.001}},
	{name: "vorbis-ffmpeg", more: true, codec: "vorbis", make: ff("", 44100, "-c:a", "libvorbis", "-q:a", "3"), trait: interval{0.5, 0.75}},
	{name: "vorbis-long-pages", more: true, codec: "vorbis", make: ff("", 32000, "-c:a", "libvorbis", "-q:a", "1", "-page_duration", "8000000"), trait: interval{7.123, 12.457}},
	{name: "vorbis-page-per-packet", codec: "vorbis", make: ff("", 44100, "-c:a", "libvorbis", "-q:a", "1", "-page_duration", "1"), trait: interval{11.3451, -1}},
	{name: "opus-music", codec: "opus", make: opusOf("--music", "--bitrate", "96"), needs: []string{"opusenc"}, trait: interval{7.123, 9.457}},
	{name: "opus-5ms", more: true, codec: "opus", make: opusOf("--music", "--framesize", "5"), needs: []string{"opusenc"}, trait: interval{0.005, 2}},
	{name: "opus-2.5ms", more: true, codec: "opus", make: opusOf("--music", "--framesize", "2.5", "--bitrate", "160"), needs: []string{"opusenc"}, trait: interval{5.0005, 5.9}},
	{name: "opus-long-pages", more: true, codec: "opus", make: ff("", 48000, "-c:a", "libopus", "-application", "audio", "-b:a", "64k", "-page_duration", "5000000"), trait: interval{3, 4.001}},
	{name: "opus-speech", codec: "opus", silk: true, needs: []string{"opusenc"}, trait: interval{3, 4.001}, make: func(t testing.TB, path string) {
		oracle.Run(t, "opusenc", "--quiet", "--speech", "--bitrate", "14", speech(t, 16000), path)
	}},
	{name: "opus-60ms", more: true, codec: "opus", silk: true, needs: []string{"opusenc"}, trait: interval{7.123, 9.457}, make: func(t testing.TB, path string) {
		oracle.Run(t, "opusenc", "--quiet", "--speech", "--framesize", "60", "--bitrate", "20", speech(t, 48000), path)
	}},
	{name: "flac", codec: "flac", needs: []string{"flac"}, trait: interval{7.123, 9.457}, make: func(t testing.TB, path string) {
		oracle.Run(t, "flac", "--ogg", "-s", "-f", "--serial-number=5", "-S", "1s", "-o", path, sound(t, 44100, 2, seconds))
	}},
	{name: "flac-ffmpeg", more: true, codec: "flac", make: ff("", 48000, "-c:a", "flac"), trait: interval{3, 4.001}},
	{name: "speex", codec: "speex", make: ff("", 16000, "-c:a", "libspeex"), trait: interval{7.123, 9.457}},
	{name: "theora", more: true, make: ff("25", 0, "-c:v", "libtheora", "-q:v", "4", "-g", "64"), trait: interval{7.12, 9.44}, full: pictureIntervals},
	{name: "theora-vorbis", codec: "vorbis", make: ff("25", 48000, "-c:v", "libtheora", "-q:v", "4", "-g", "64", "-c:a", "libvorbis"), trait: interval{7.12, 9.44}, full: pictureIntervals},
	{name: "theora-opus", more: true, codec: "opus", make: ff("25", 48000, "-c:v", "libtheora", "-b:v", "300k", "-g", "64", "-c:a", "libopus"), trait: interval{10.24, 10.28}, full: pictureIntervals},
	{name: "theora-ntsc", more: true, codec: "vorbis", make: ff("30000/1001", 44100, "-c:v", "libtheora", "-q:v", "5", "-g", "64", "-c:a", "libvorbis"), trait: interval{8.008, 10.01}, full: []interval{{0, 1.001}, {4.004, 8.008}, {12.012, -1}}},
	{name: "vp8-vorbis", codec: "vorbis", make: ff("25", 48000, "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "-8", "-b:v", "200k", "-g", "64", "-c:a", "libvorbis"), trait: interval{7.12, 9.44}, full: pictureIntervals},
	{name: "theora-flac", codec: "flac", make: ff("25", 48000, "-c:v", "libtheora", "-q:v", "4", "-g", "64", "-c:a", "flac"), trait: interval{7.12, 9.44}, full: pictureIntervals[:4]},
}

// madeNamed is one of the files that are made.
func madeNamed(t testing.TB, name string) made {
	t.Helper()
	i := slices.IndexFunc(files, func(m made) bool { return m.name == name })
	if i < 0 {
		t.Fatalf("no file %s is made", name)
	}
	return files[i]
}

// path makes the file, once in a test run.
func (m made) path(t testing.TB) string {
	t.Helper()
	tools.Need(t, append([]string{"ffmpeg", "ffprobe"}, m.needs...)...)
	path := cached(m.name+".ogg", func(path string) { m.make(t, path) })
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s was not made", m.name)
	}
	return path
}
