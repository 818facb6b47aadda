package oracle

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/mediafrag/mediafrag/internal/tools"
)

// TestDecode decodes a file of one picture track and two sounds, of which the
// second begins late, and then the same where the first cannot be decoded.
func TestDecode(t *testing.T) {
	tools.Need(t, "ffmpeg", "ffprobe")
	path := filepath.Join(t.TempDir(), "a.mov")
	FFmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=64x36:r=25:d=1", "-f", "lavfi", "-i", "sine=f=440:r=44100:d=1",
		"-itsoffset", "0.5", "-f", "lavfi", "-i", "aevalsrc=sin(800*t)|sin(900*t):s=32000:d=0.5",
		"-map", "0", "-map", "1", "-map", "2", "-c:v", "mjpeg", "-c:a:0", "pcm_s16le", "-c:a:1", "pcm_f32le", path)
	check := func(d *Decoded, pictures int, first []int64, samples []int) {
		t.Helper()
		if len(d.Video) != 1 || len(d.Video[0]) != pictures || len(d.Audio) != 2 {
			t.Fatalf("%d videos, %d sounds; want 1 of %d pictures, and 2", len(d.Video), len(d.Audio), pictures)
		}
		for n, a := range d.Audio {
			if a.First != first[n] || len(a.Samples) != samples[n] || a.Channels != n+1 {
				t.Errorf("sound %d: %d samples of %d channels from %d on, want %d of %d from %d on", n, len(a.Samples), a.Channels, a.First, samples[n], n+1, first[n])
			}
		}
		var have []byte
		for _, f := range d.Audio[1].Samples {
			have = binary.LittleEndian.AppendUint32(have, math.Float32bits(f))
		}
		if want := FFmpeg(t, "-i", path, "-map", "0:a:1", "-f", "f32le", "-"); !bytes.Equal(have, want) {
			t.Error("the second sound has other samples than ffmpeg gives by itself")
		}
	}
	d := Decode(t, path)
	check(d, 25, []int64{0, 16000}, []int{44100, 32000})
	if p := d.Video[0][10]; math.Abs(p.Time-0.4) > 1e-6 || p.Hash == d.Video[0][11].Hash {
		t.Errorf("the picture at 0.4 s is %v, then %v", p, d.Video[0][11])
	}

	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(data, []byte("sowt"), []byte("????")), 0o600); err != nil {
		t.Fatal(err)
	}
	d = Decode(t, path)
	check(d, 25, []int64{0, 16000}, []int{0, 32000})
	if d.Errors == "" {
		t.Error("nobody complains of the sound that cannot be decoded")
	}
}
