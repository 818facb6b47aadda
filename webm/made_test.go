package webm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mediafrag/mediafrag/internal/mediatest"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// made is a file that a test makes, and how its clips compare.
type made struct {
	name  string
	ext   string // default "webm"
	args  []string
	from  string   // the file whose streams it copies
	full  bool     // only in a full run: others show the same traits
	live  bool     // through a pipe: unknown sizes, no Cues, no Duration
	merge []string // options of mkvmerge, which makes the file of ffmpeg's then
	sound soundRule
	trait interval
}

// soundRule is how exact the sound of a clip is.
type soundRule int

const (
	exact   soundRule = iota // to the bit, and the right number of samples
	opus                     // the right number of samples; to the bit but for rounding
	speech                   // the right number of samples; converges
	whole                    // whole frames
	frames                   // whole frames, to the bit but for dither
	rounded                  // the right number of samples; to the bit but for dither
	jitter                   // times of capture: frames do not follow each other exactly
)

type interval struct{ a, b float64 } // b < 0: open

// Common inputs: 12 s of moving pictures, and of sound that is never
// the same again, so that an offset shows.
var (
	picture25 = []string{"-f", "lavfi", "-i", "testsrc2=s=192x108:r=25:d=12"}
	tone441   = sweep("44100")
	tone48    = sweep("48000")
	noise     = []string{"-f", "lavfi", "-i", "anoisesrc=amplitude=0.3:sample_rate=48000:duration=12:seed=3"}
	vp8       = []string{"-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "-8", "-b:v", "200k", "-g", "50"}
	vp8alt    = []string{"-c:v", "libvpx", "-deadline", "good", "-cpu-used", "5", "-b:v", "200k", "-g", "60", "-auto-alt-ref", "1", "-lag-in-frames", "16"}
	vp9       = []string{"-c:v", "libvpx-vp9", "-deadline", "good", "-cpu-used", "5", "-b:v", "200k", "-g", "50", "-auto-alt-ref", "1", "-lag-in-frames", "16"}
	av1       = []string{"-c:v", "libsvtav1", "-preset", "12", "-g", "50", "-svtav1-params", "lp=1"}
	x264      = []string{"-c:v", "libx264", "-preset", "veryfast", "-g", "50", "-keyint_min", "50", "-sc_threshold", "0", "-bf", "3"}
	x265      = []string{"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "keyint=50:min-keyint=50:pools=1:log-level=error", "-bf", "3"}
	opusCodec = []string{"-c:a", "libopus", "-b:a", "64k"}
	vorbis    = []string{"-c:a", "libvorbis", "-q:a", "2"}
	aac       = []string{"-c:a", "aac", "-b:a", "64k", "-aac_pns", "0"}
)

// files are the kinds of files. The trait of each is the pair that is compared
// in a short run.
var files = []made{
	{name: "vp8-vorbis", args: args(picture25, tone441, vp8, vorbis), trait: interval{5.013, 7.5}},
	{name: "vp8-altref-vorbis", full: true, args: args(picture25, tone48, vp8alt, vorbis), trait: interval{6.5, 9.1}},
	{name: "vp9-opus", args: args(picture25, tone48, vp9, opusCodec), sound: opus, trait: interval{5.013, 7.5}},
	{name: "vp9-opus-front", from: "vp9-opus.webm", full: true, args: s("-cues_to_front", "1"), sound: opus, trait: interval{3.99, 6.01}},
	{name: "vp9-opus-live", from: "vp9-opus.webm", live: true, sound: opus, trait: interval{8.3, 11}},
	{name: "av1-opus", full: true, args: args(picture25, tone48, av1, opusCodec), sound: opus, trait: interval{4, 6}},
	{name: "h264-aac", ext: "mkv", args: args(picture25, tone441, x264, aac), trait: interval{5.013, 7.5}},
	{name: "h264-aac-live", ext: "mkv", from: "h264-aac.mkv", live: true, full: true, trait: interval{8.5, 11}},
	{name: "h264-ntsc-mp3", ext: "mkv", args: args(s("-f", "lavfi", "-i", "testsrc2=s=192x108:r=30000/1001:d=12"), tone441, x264, s("-c:a", "libmp3lame", "-b:a", "64k")), trait: interval{8.01, 10.345}},
	{name: "h265-flac", ext: "mkv", args: args(picture25, tone48, x265, s("-c:a", "flac")), trait: interval{7.123, 9.02}},
	{name: "h264-pcm", ext: "mkv", args: args(picture25, tone48, x264, s("-c:a", "pcm_s16le")), trait: interval{4.2, 6}},
	{name: "h264-ac3", ext: "mkv", args: args(picture25, tone48, x264, s("-c:a", "ac3", "-b:a", "128k")), sound: whole, trait: interval{4.2, 6}},
	{name: "ac3-only", ext: "mka", args: args(tone48, s("-c:a", "ac3", "-b:a", "192k")), sound: frames, trait: interval{5.0561, 6}},
	{name: "eac3-only", ext: "mka", full: true, args: args(sweep("44100"), s("-c:a", "eac3", "-b:a", "192k")), sound: frames, trait: interval{5.0885, 6}},
	{name: "dts-only", ext: "mka", args: args(tone48, s("-strict", "-2", "-ac", "2", "-c:a", "dca", "-b:a", "768k")), trait: interval{5.0561, 6}},
	{name: "h264-dts", ext: "mkv", full: true, args: args(picture25, tone48, x264, s("-strict", "-2", "-ac", "2", "-c:a", "dca", "-b:a", "768k")), trait: interval{5.013, 7.5}},
	{name: "truehd-only", ext: "mka", args: args(tone48, s("-strict", "-2", "-ac", "2", "-c:a", "truehd")), trait: interval{5.0561, 6}},
	{name: "h264-truehd", ext: "mkv", full: true, args: args(picture25, tone48, x264, s("-strict", "-2", "-ac", "2", "-c:a", "truehd")), trait: interval{5.013, 7.5}},
	{name: "mp2-only", ext: "mka", args: args(tone48, s("-c:a", "mp2", "-b:a", "128k")), sound: rounded, trait: interval{5.0885, 6}},
	{name: "alac-only", ext: "mka", full: true, args: args(tone48, s("-c:a", "alac")), trait: interval{5.0885, 6}},
	{name: "merged-h264-aac", ext: "mkv", full: true, from: "h264-aac.mkv", merge: s(), trait: interval{5.5, 8}},
	{name: "merged-vp9-opus", from: "vp9-opus.webm", full: true, merge: s("--webm"), sound: opus, trait: interval{6.6, 8}},
	{name: "merged-groups", ext: "mkv", from: "h264-aac.mkv", full: true, merge: s("--engage", "no_simpleblocks", "--cluster-length", "700ms"), trait: interval{5.5, 8}},
	{name: "opus-only", args: args(tone48, opusCodec), sound: opus, trait: interval{4.2345, 6}},
	{name: "opus-speech", args: args(noise, s("-c:a", "libopus", "-b:a", "24k", "-application", "voip", "-frame_duration", "60")), sound: speech, trait: interval{3.7, 4.1}},
	{name: "vorbis-only", full: true, args: args(tone441, vorbis), trait: interval{4.2345, 6}},
	{name: "mp3-laced", ext: "mka", merge: s(), args: args(tone441, s("-c:a", "libmp3lame", "-b:a", "64k")), trait: interval{4.2, 6}},
	{name: "flac-only", ext: "mka", full: true, args: args(tone441, s("-c:a", "flac")), trait: interval{4.2345, 6}},
	{name: "two-sounds", ext: "mkv", full: true, args: args(picture25, tone48, sweep("32000"), s("-map", "0", "-map", "1", "-map", "2"), x264, aac), trait: interval{8, 9}},
}

// intervals are compared of every file in a full run: on, just before and just
// after a keyframe, in mid-picture, the first and the last second, the whole
// and an open end.
var intervals = []interval{
	{4, 6}, {3.99, 6}, {4.01, 5.5}, {5.013, 5.9}, {0, 1}, {11, 12}, {0, 12}, {7.3, -1}, {10.345, 10.5},
}

// other is a file like another, of other pictures and tones.
func (m made) other() made {
	m.name += "-other"
	m.args = slices.Clone(m.args)
	for i, a := range m.args {
		m.args[i] = strings.NewReplacer("r=25:d=12", "r=25:d=12,negate", "1001:d=12", "1001:d=12,negate", "t*(300+25*t)", "t*(700+21*t)", "seed=3", "seed=4").Replace(a)
	}
	if m.from != "" {
		ext := filepath.Ext(m.from)
		m.from = strings.TrimSuffix(m.from, ext) + "-other" + ext
	}
	return m
}

// sweep is two tones that rise.
func sweep(rate string) []string {
	return []string{"-f", "lavfi", "-i", "aevalsrc=0.3*sin(2*PI*t*(300+25*t))+0.1*sin(2*PI*t*(1000+7*t)):s=" + rate + ":d=12"}
}

func s(args ...string) []string { return args }

var args = mediatest.Args

// madeNamed is one of the files that are made.
func madeNamed(t testing.TB, name string) made {
	t.Helper()
	i := slices.IndexFunc(files, func(m made) bool { return m.name == name })
	if i < 0 {
		t.Fatalf("no file %s is made", name)
	}
	return files[i]
}

var makeOnce sync.Map

// path makes the file, once in a test run.
func (m made) path(t testing.TB) string {
	t.Helper()
	tools.Need(t, "ffmpeg", "ffprobe")
	if m.merge != nil {
		tools.Need(t, "mkvmerge")
	}
	ext := m.ext
	if ext == "" {
		ext = "webm"
	}
	path := filepath.Join(tempDir, m.name+"."+ext)
	once, _ := makeOnce.LoadOrStore(path, sync.OnceFunc(func() { m.write(t, path) }))
	once.(func())()
	return path
}

func (m made) write(t testing.TB, path string) {
	all := append(slices.Clone(m.args), "-map_metadata", "-1", "-fflags", "+bitexact")
	if m.from != "" {
		base := filepath.Join(tempDir, m.from)
		for _, b := range files {
			switch strings.TrimSuffix(m.from, filepath.Ext(m.from)) {
			case b.name:
				base = b.path(t)
			case b.other().name:
				base = b.other().path(t)
			}
		}
		all = append([]string{"-i", base, "-map", "0", "-c", "copy"}, all...)
	}
	switch {
	case m.live:
		format := "webm"
		if m.ext == "mkv" {
			format = "matroska"
		}
		data := oracle.FFmpeg(t, append(all, "-f", format, "-live", "1", "-")...)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	case m.merge != nil:
		raw := path + ".mkv"
		oracle.FFmpeg(t, append(all, raw)...)
		oracle.Run(t, "mkvmerge", append(append([]string{"-q", "-o", path}, m.merge...), raw)...)
	default:
		oracle.FFmpeg(t, append(all, path)...)
	}
}

// accepted fails the test where mkvinfo or mkvmerge, which reads every block,
// finds something to say about a clip that it does not say about the original. It
// returns the file that mkvmerge wrote of the clip.
func accepted(t testing.TB, original, clip string) (again string) {
	t.Helper()
	tools.Need(t, "mkvinfo", "mkvmerge")
	known := originalAgain(t, original).complaints
	got := writeAgain(t, clip, t.TempDir())
	for _, c := range got.complaints {
		if !slices.Contains(known, c) {
			t.Errorf("of the clip, and not of the original: %s", c)
		}
	}
	return got.path
}

// remux is a file that mkvmerge wrote of another, and the warnings and errors
// about that, without its name.
type remux struct {
	path       string
	complaints []string
}

// originalAgain is writeAgain, once for each path.
func originalAgain(t testing.TB, path string) remux {
	t.Helper()
	once, _ := remuxes.LoadOrStore(path, sync.OnceValue(func() remux {
		dir, err := os.MkdirTemp(tempDir, "again-")
		if err != nil {
			t.Fatal(err)
		}
		return writeAgain(t, path, dir)
	}))
	return once.(func() remux)()
}

var remuxes sync.Map

func writeAgain(t testing.TB, path, dir string) (out remux) {
	t.Helper()
	out.path = filepath.Join(dir, "again.mkv")
	for _, args := range [][]string{{"mkvmerge", "-o", out.path, path}, {"mkvinfo", "-v", path}} {
		text, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		n := len(out.complaints)
		for line := range strings.Lines(string(text)) {
			if complains([]byte(line)) {
				out.complaints = append(out.complaints, args[0]+": "+strings.ReplaceAll(strings.TrimSpace(line), path, ""))
			}
		}
		if err != nil && len(out.complaints) == n {
			out.complaints = append(out.complaints, args[0]+": "+err.Error())
		}
	}
	return out
}
