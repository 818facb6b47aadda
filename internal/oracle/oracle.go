// Package oracle compares clips with their originals by programs that nobody
// here wrote: both are decoded by ffmpeg, with their own time stamps kept, and
// compared picture by picture and sample by sample. It is for tests.
package oracle

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	Steady         []float32 // the same without that silence, which jitter of time stamps also puts in
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

// Decode decodes all pictures and sounds of a file.
func Decode(t testing.TB, path string) *Decoded {
	t.Helper()
	tools.Need(t, "ffmpeg", "ffprobe")
	d, err := decode(t, path, "0:V?", "0:a?")
	if err == nil {
		return d
	}
	all := &Decoded{} // a stream that cannot be decoded ends the others: each by itself
	for _, s := range streams(t, path) {
		d, _ := decode(t, path, fmt.Sprintf("0:%d", s.Index))
		all.Errors += d.Errors
		if s.CodecType == "video" {
			all.Video = append(all.Video, append(d.Video, nil)[0])
		} else {
			all.Audio = append(all.Audio, append(d.Audio, Sound{Channels: s.Channels})[0])
		}
	}
	return all
}

// streams returns a file's pictures and sounds, cover pictures left out.
func streams(t testing.TB, path string) []Stream {
	t.Helper()
	return slices.DeleteFunc(probe(t, path, "-show_streams").streams, func(s Stream) bool {
		return s.Disposition.AttachedPic != 0 || s.CodecType != "video" && (s.CodecType != "audio" || s.Channels == 0)
	})
}

// decode decodes streams of a file in one go, since a program costs more to
// start than a clip to decode: the times and hashes of all frames come as text,
// and the samples in an AVI file, which also says of whose sound they are. A
// moment of silence stands first in both, so that neither is without a stream.
func decode(t testing.TB, path string, streams ...string) (*Decoded, error) {
	t.Helper()
	hashes := filepath.Join(t.TempDir(), "hashes")
	var maps []string
	for _, s := range streams {
		maps = append(maps, "-map", s)
	}
	args := []string{"-nostdin", "-v", "error", "-threads", "1", "-copyts", "-i", path, "-f", "lavfi", "-t", "0.01", "-i", "anullsrc=r=8000:cl=mono"}
	args = append(append(args, "-map", "1"), maps...)
	args = append(args, "-fps_mode", "passthrough", "-enc_time_base:v", "-1", "-c:a", "pcm_f32le", "-f", "framehash", "-hash", "md5", hashes)
	args = append(append(args, "-map", "1"), maps...)
	args = append(args, "-vn", "-sn", "-dn", "-c:a", "pcm_f32le", "-f", "avi", "-")
	out, complaints, err := run("ffmpeg", args...)
	d := &Decoded{Errors: complaints}
	text, _ := os.ReadFile(hashes)
	sounds := aviSounds(out)
	for _, s := range frames(string(text)) {
		if !s.sound {
			d.Video = append(d.Video, s.pictures())
		} else if len(sounds) > 0 {
			d.Audio = append(d.Audio, s.samples(sounds[0]))
			sounds = sounds[1:]
		}
	}
	d.Audio = d.Audio[min(1, len(d.Audio)):]
	return d, err
}

// hashed is a stream as ffmpeg's framehash lists it.
type hashed struct {
	sound bool
	tb    float64    // seconds of a tick
	lines [][]string // of each frame: stream, dts, pts, duration, size, hash
}

func frames(text string) (out []hashed) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "#tb "); ok {
			_, rest, _ = strings.Cut(rest, ": ")
			num, den, _ := strings.Cut(rest, "/")
			n, _ := strconv.ParseFloat(num, 64)
			m, _ := strconv.ParseFloat(den, 64)
			out = append(out, hashed{tb: n / m})
		} else if strings.HasPrefix(line, "#media_type ") {
			out[len(out)-1].sound = strings.HasSuffix(line, "audio")
		} else if line != "" && line[0] != '#' {
			fields := strings.Split(line, ",")
			for i := range fields {
				fields[i] = strings.TrimSpace(fields[i])
			}
			n, _ := strconv.Atoi(fields[0])
			out[n].lines = append(out[n].lines, fields)
		}
	}
	return out
}

func (s hashed) pictures() (out []Picture) {
	for _, f := range s.lines {
		pts, _ := strconv.ParseInt(f[2], 10, 64)
		out = append(out, Picture{Time: float64(pts) * s.tb, Hash: f[len(f)-1]})
	}
	return out
}

// samples gives the sound of an AVI file's stream the times of its frames.
func (s hashed) samples(a aviSound) Sound {
	out := Sound{Rate: a.rate, Channels: a.channels}
	at := 0
	for i, f := range s.lines {
		pts, _ := strconv.ParseInt(f[2], 10, 64)
		size, _ := strconv.Atoi(f[4])
		first := int64(math.Round(float64(pts) * s.tb * float64(a.rate)))
		if i == 0 {
			out.First = first
		}
		if gap := int(first-out.First)*a.channels - len(out.Samples); gap > a.channels && gap < 1<<28 {
			out.Samples = append(out.Samples, make([]float32, gap)...)
		}
		from := len(out.Steady)
		for end := min(at+size, len(a.data)); at+4 <= end; at += 4 {
			out.Steady = append(out.Steady, math.Float32frombits(binary.LittleEndian.Uint32(a.data[at:])))
		}
		out.Samples = append(out.Samples, out.Steady[from:]...)
	}
	return out
}

// aviSound is a stream of sound in an AVI file.
type aviSound struct {
	channels, rate int
	data           []byte
}

// aviSounds reads the sounds of an AVI file that ffmpeg wrote to a pipe.
func aviSounds(file []byte) (out []aviSound) {
	for at := 0; at+12 <= len(file); {
		id, size := string(file[at:at+4]), int(binary.LittleEndian.Uint32(file[at+4:]))
		if id == "RIFF" || id == "LIST" {
			at += 12 // what is inside stands next
			continue
		}
		content := file[at+8 : min(at+8+size, len(file))]
		if id == "strf" && len(content) >= 8 {
			out = append(out, aviSound{channels: int(binary.LittleEndian.Uint16(content[2:])), rate: int(binary.LittleEndian.Uint32(content[4:]))})
		} else if n, err := strconv.Atoi(id[:2]); err == nil && id[2:] == "wb" && n < len(out) {
			out[n].data = append(out[n].data, content...)
		}
		at += 8 + size + size%2
	}
	return out
}

// decoded and listed keep what originals hold, for tests that cut many clips of
// one.
var decoded, listed sync.Map

// Original is Decode, once for each path.
func Original(t testing.TB, path string) *Decoded {
	t.Helper()
	once, _ := decoded.LoadOrStore(path, sync.OnceValue(func() *Decoded { return Decode(t, path) }))
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
