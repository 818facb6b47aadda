// Package oracle compares clips with their originals by programs that nobody
// here wrote: both are decoded by ffmpeg, with their own time stamps kept, and
// compared picture by picture and sample by sample. It is for tests.
package oracle

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mediafrag/mediafrag/internal/tools"
)

// Picture is a decoded picture.
type Picture struct {
	Time float64 // presentation time in seconds
	Hash string
}

// Sound is a decoded sound track.
type Sound struct {
	Rate, Channels int
	First          int64     // time of the first sample, in samples
	Samples        []float32 // of all channels in turn; silence where the stream has a gap
}

// Decoded is a file, decoded.
type Decoded struct {
	Video  [][]Picture // by track, in the file's order, cover pictures left out
	Audio  []Sound
	Errors string // what ffmpeg complained of
}

// Run runs a program that has to succeed, and returns its standard output.
func Run(t testing.TB, name string, args ...string) []byte {
	t.Helper()
	out, complaints, err := run(name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, complaints)
	}
	return out
}

func run(name string, args ...string) (out []byte, complaints string, err error) {
	cmd := exec.Command(name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err = cmd.Output()
	return out, stderr.String(), err
}

// FFmpeg runs ffmpeg on one thread, quietly and without overwriting questions.
func FFmpeg(t testing.TB, args ...string) []byte {
	t.Helper()
	return Run(t, "ffmpeg", append([]string{"-nostdin", "-v", "error", "-y", "-threads", "1"}, args...)...)
}

// stream is what ffprobe says of a stream.
type stream struct {
	Index       int
	CodecType   string `json:"codec_type"`
	SampleRate  string `json:"sample_rate"`
	Channels    int
	Disposition struct {
		AttachedPic int `json:"attached_pic"`
	}
}

func streams(t testing.TB, path string) []stream {
	t.Helper()
	var doc struct{ Streams []stream }
	if err := json.Unmarshal(Run(t, "ffprobe", "-v", "error", "-show_streams", "-of", "json", path), &doc); err != nil {
		t.Fatalf("ffprobe %s: %v", path, err)
	}
	return doc.Streams
}

// Decode decodes all pictures and sounds of a file.
func Decode(t testing.TB, path string) *Decoded {
	t.Helper()
	tools.Need(t, "ffmpeg", "ffprobe")
	d := &Decoded{}
	for _, s := range streams(t, path) {
		switch {
		case s.Disposition.AttachedPic != 0:
		case s.CodecType == "video":
			d.Video = append(d.Video, d.pictures(t, path, s))
		case s.CodecType == "audio" && s.Channels > 0:
			d.Audio = append(d.Audio, d.sound(t, path, s))
		}
	}
	return d
}

// hashes decodes one stream and returns a line for each frame.
func (d *Decoded) hashes(path string, s stream, codec ...string) (lines [][]string, tb float64) {
	args := append([]string{"-nostdin", "-v", "error", "-threads", "1", "-copyts", "-i", path,
		"-map", "0:" + strconv.Itoa(s.Index)}, codec...)
	out, complaints, _ := run("ffmpeg", append(args, "-f", "framehash", "-hash", "md5", "-")...)
	d.Errors += complaints
	tb = 1
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "#tb 0: "); ok {
			num, den, _ := strings.Cut(rest, "/")
			n, _ := strconv.ParseFloat(num, 64)
			m, _ := strconv.ParseFloat(den, 64)
			tb = n / m
		}
		if line != "" && line[0] != '#' {
			fields := strings.Split(line, ",")
			for i := range fields {
				fields[i] = strings.TrimSpace(fields[i])
			}
			lines = append(lines, fields)
		}
	}
	return lines, tb
}

func (d *Decoded) pictures(t testing.TB, path string, s stream) []Picture {
	t.Helper()
	var out []Picture
	lines, tb := d.hashes(path, s, "-fps_mode", "passthrough", "-enc_time_base", "-1")
	for _, f := range lines {
		pts, _ := strconv.ParseInt(f[2], 10, 64)
		out = append(out, Picture{Time: float64(pts) * tb, Hash: f[len(f)-1]})
	}
	return out
}

func (d *Decoded) sound(t testing.TB, path string, s stream) Sound {
	t.Helper()
	rate, _ := strconv.Atoi(s.SampleRate)
	out := Sound{Rate: rate, Channels: s.Channels}
	lines, tb := d.hashes(path, s, "-c:a", "pcm_f32le")
	raw, _, _ := run("ffmpeg", "-nostdin", "-v", "error", "-threads", "1", "-copyts", "-i", path,
		"-map", "0:"+strconv.Itoa(s.Index), "-f", "f32le", "-")
	at := 0
	for i, f := range lines {
		pts, _ := strconv.ParseInt(f[2], 10, 64)
		size, _ := strconv.Atoi(f[4])
		first := int64(math.Round(float64(pts) * tb * float64(rate)))
		if i == 0 {
			out.First = first
		}
		if gap := int(first-out.First)*s.Channels - len(out.Samples); gap > s.Channels && gap < 1<<28 {
			out.Samples = append(out.Samples, make([]float32, gap)...)
		}
		for end := min(at+size, len(raw)); at+4 <= end; at += 4 {
			out.Samples = append(out.Samples, math.Float32frombits(binary.LittleEndian.Uint32(raw[at:])))
		}
	}
	return out
}

// cache keeps what originals decode to, for tests that cut many clips of one.
var cache sync.Map

// Original is Decode, once for each path.
func Original(t testing.TB, path string) *Decoded {
	t.Helper()
	once, _ := cache.LoadOrStore(path, sync.OnceValue(func() *Decoded { return Decode(t, path) }))
	return once.(func() *Decoded)()
}

// Overlapping returns the tracks that have something in [a, b).
func (d *Decoded) Overlapping(a, b float64) *Decoded {
	out := &Decoded{Errors: d.Errors}
	for _, v := range d.Video {
		if len(v) > 0 && v[0].Time < b {
			out.Video = append(out.Video, v)
		}
	}
	for _, s := range d.Audio {
		if float64(s.First) < b*float64(s.Rate) {
			out.Audio = append(out.Audio, s)
		}
	}
	return out
}

// Between returns the pictures with a ≤ time < b.
func Between(all []Picture, a, b float64) []Picture {
	const eps = 1e-7 // time stamps are multiples of a tick; this is none
	var out []Picture
	for _, p := range all {
		if p.Time >= a-eps && p.Time < b-eps {
			out = append(out, p)
		}
	}
	return out
}

// Between returns the samples of [a, b), each end at the sample nearest to it.
func (s Sound) Between(a, b float64) []float32 {
	from := (int64(math.Round(a*float64(s.Rate))) - s.First) * int64(s.Channels)
	to := int64(len(s.Samples))
	if end := math.Round(b*float64(s.Rate)) - float64(s.First); end*float64(s.Channels) < float64(to) {
		to = max(0, int64(end)*int64(s.Channels))
	}
	return s.Samples[min(max(0, from), to):to]
}
