package hls

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/mp4"
)

var fmp4Args = []string{"-hls_segment_type", "fmp4", "-hls_fmp4_init_filename", "init.mp4", "-hls_segment_filename", "DIR/s%03d.m4s"}

// fmp4Presentation is the base in fragmented MP4 segments.
func fmp4Presentation(t testing.TB) string { return hlsOf(t, "fmp4", fmp4Args...) }

// masterPresentation is the base with pictures and sound apart, in two
// qualities.
func masterPresentation(t testing.TB) string {
	return made(t, "master", func(dir string) {
		low := filepath.Join(dir, "low.mp4")
		oracle.FFmpeg(t, "-i", base(t), "-map", "0:v", "-vf", "scale=96:54", "-c:v", "libx264", "-g", "50", "-keyint_min", "50", "-sc_threshold", "0", "-b:v", "60k", low)
		oracle.FFmpeg(t, "-i", base(t), "-i", low, "-map", "0:v", "-map", "1:v", "-map", "0:a", "-c", "copy", "-f", "hls", "-hls_time", "4", "-hls_list_size", "0",
			"-hls_playlist_type", "vod", "-hls_segment_type", "fmp4", "-hls_fmp4_init_filename", "init%v.mp4", "-master_pl_name", "master.m3u8",
			"-var_stream_map", "v:0,agroup:a v:1,agroup:a a:0,agroup:a,default:yes,language:en", "-b:v:0", "200k", "-b:v:1", "60k", "-b:a:0", "96k",
			"-hls_segment_filename", filepath.Join(dir, "v%v_%03d.m4s"), filepath.Join(dir, "media%v.m3u8"))
	})
}

// TestPicturesAlone: of a stream that has no sound, as CODECS says, no neighbour is
// read for some of it; the clip is the same.
func TestPicturesAlone(t *testing.T) {
	dir := masterPresentation(t)
	o := newOrigin()
	o.putFolder(t, "https://host.test/x", dir)
	m := o.mustOpen(t, "https://host.test/x/master.m3u8", formats.Env{})
	want := clip(t, m, mustPlan(t, m, between(12, 20)))
	o.put("https://host.test/x/master.m3u8", bytes.ReplaceAll(readFile(t, dir, "master.m3u8"), []byte("RESOLUTION"), []byte(`CODECS="avc1.64000b,mp4a.40.2",RESOLUTION`)))
	o.asked = nil
	m = o.mustOpen(t, "https://host.test/x/master.m3u8", formats.Env{})
	if got := clip(t, m, mustPlan(t, m, between(12, 20))); !bytes.Equal(got, want) {
		t.Errorf("the clip has %d bytes and is not the same, of %d", len(got), len(want))
	}
	if files := o.files(); slices.Contains(files, "v0_005.m4s") || !slices.Contains(files, "v2_005.m4s") {
		t.Errorf("asked for were %v", files)
	}
}

// checkClip compares a fragmented MP4 clip with [a, b) of the original: its
// pictures from time 0 on, and its sound to the sample.
// The sound's original are the segments themselves, one after the other: ffmpeg
// rounds where it begins when it makes them.
func checkClip(t *testing.T, dir, path string, a, b float64) {
	t.Helper()
	have := oracle.Decode(t, path)
	if have.Errors != "" {
		t.Errorf("[%g, %g): ffmpeg complains: %s", a, b, have.Errors)
	}
	if len(have.Video) != 1 || len(have.Audio) != 1 {
		t.Fatalf("[%g, %g): %d videos, %d sounds", a, b, len(have.Video), len(have.Audio))
	}
	original := oracle.Original(t, base(t))
	// ffmpeg shows what an edit list of a fragmented file hides at times before 0.
	pictures := oracle.Between(have.Video[0], 0, b-a)
	want := oracle.Between(original.Video[0], a, b)
	if r := oracle.CompareVideo(want, pictures); r.Missing != 0 || r.Lead != 0 || r.Tail != 0 {
		t.Errorf("[%g, %g): %s", a, b, r)
	}
	zero := oracle.Original(t, wholeOf(t, dir, "0")).Video[0][0].Time
	sound := oracle.Original(t, wholeOf(t, dir, "2")).Audio[0].Between(a+zero, b+zero)
	got := have.Audio[0].Between(0, b-a)
	// Decoding begins before: what comes out is the original's to the sample.
	if r := oracle.CompareAudio(sound, got, have.Audio[0].Rate, have.Audio[0].Channels); r.Offset != 0 || r.Residual > -60 || r.Excess < 0 {
		t.Errorf("[%g, %g): %s", a, b, r)
	}
}

// wholeOf returns the segments of a rendition one after the other: of the given
// one where it is there, else of the only one.
func wholeOf(t testing.TB, dir, rendition string) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "init"+rendition+".mp4")); err == nil {
		return joined(t, dir, append([]string{"init" + rendition + ".mp4"}, numbered("v"+rendition+"_%03d.m4s", 10)...)...)
	}
	return joined(t, dir, append([]string{"init.mp4"}, numbered("s%03d.m4s", 10)...)...)
}

// TestFragmentedMP4 cuts presentations of fragmented MP4 to the sample: sound
// and pictures together, in ranges of one file, encrypted, and apart.
func TestFragmentedMP4(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, list string
		dir        func(t testing.TB) string
		trips      int
		extra      int // playlists, initialization sections, keys
		streams    int
		whole      func(t testing.TB) string
	}{
		{"together", "media.m3u8", fmp4Presentation, 2, 2, 1, fmp4Presentation},
		{"ranges of one file", "media.m3u8", func(t testing.TB) string {
			return hlsOf(t, "fmp4-range", "-hls_segment_type", "fmp4", "-hls_flags", "single_file", "-hls_segment_filename", "DIR/all.mp4")
		}, 2, 2, 1, fmp4Presentation},
		{"encrypted", "media.m3u8", encryptedMP4, 2, 3, 1, fmp4Presentation},
		{"apart", "master.m3u8", masterPresentation, 3, 5, 2, masterPresentation},
	} {
		seektest.Counted(t, test.name, func(t *testing.T) {
			dir := test.dir(t)
			for i, x := range intervals() {
				if !tools.Full() && i > 0 && test.name != "apart" {
					break
				}
				a, b := x[0], closedEnd(x[1])
				o := newOrigin()
				o.putFolder(t, "https://host.test/m", dir)
				m := o.mustOpen(t, "https://host.test/m/"+test.list, formats.Env{})
				p := mustPlan(t, m, between(x[0], x[1]))
				path := write(t, "clip.mp4", clip(t, m, p))
				checkClip(t, test.whole(t), path, a, b)
				// Presented states what players show that ignore edit lists.
				if start, end := p.Presented.Start.Seconds(), p.Presented.End.Seconds(); start > a+1e-3 || end < math.Min(b, baseSeconds)-1e-3 {
					t.Errorf("[%g, %g): presented is %s", a, b, p.Presented)
				}
				used := o.totals.Transfer()
				if used.FirstMediaTrips > test.trips {
					t.Errorf("[%g, %g): %d round trips, want %d", a, b, used.FirstMediaTrips, test.trips)
				}
				n := int((b-1e-9)/4) - int(a/4) + 1
				if most := test.extra + test.streams*(n+budget.HLSNeighbours); used.Requests > most {
					t.Errorf("[%g, %g): %d requests, want at most %d: %v", a, b, used.Requests, most, o.files())
				}
			}
		})
	}
}

// TestProgressive makes progressive files of presentations of fragmented MP4:
// they show the interval exactly, in every player, and their sizes are known.
func TestProgressive(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, list string
		dir        func(t testing.TB) string
		extra      int // playlists, initialization sections, keys
		streams    int
		whole      func(t testing.TB) string
	}{
		{"together", "media.m3u8", fmp4Presentation, 2, 1, fmp4Presentation},
		{"encrypted", "media.m3u8", encryptedMP4, 3, 1, fmp4Presentation},
		{"apart", "master.m3u8", masterPresentation, 5, 2, masterPresentation},
		{"apart and encrypted", "master.m3u8", encryptedMaster, 6, 2, masterPresentation},
	} {
		if !tools.Full() && test.name != "together" && test.name != "apart and encrypted" {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			dir := test.dir(t)
			for _, x := range [][2]float64{{9.5, 23}, {12, 20}, {17.3, 18.1}}[:full(3, 1)] {
				a, b := x[0], x[1]
				o := newOrigin()
				o.putFolder(t, "https://host.test/m", dir)
				m := o.mustOpen(t, "https://host.test/m/"+test.list, formats.Env{})
				s := between(a, b)
				s.Layout = mp4.Progressive
				p := mustPlan(t, m, s)
				if p.Size < 0 || p.Presented.String() != p.Requested.String() {
					t.Errorf("[%g, %g): %d bytes, presented is %s", a, b, p.Size, p.Presented)
				}
				path := write(t, "clip.mp4", clip(t, m, p))
				checkClip(t, test.whole(t), path, a, b)
				if first := oracle.Decode(t, path).Video[0][0].Time; first < 0 {
					t.Errorf("[%g, %g): it shows a picture of %g s", a, b, first)
				}
				// One request for each segment's moof, and one for its media.
				n := int((b-1e-9)/4) - int(a/4) + 1
				if used := o.totals.Transfer(); used.Requests > test.extra+test.streams*(2*n+budget.HLSNeighbours) {
					t.Errorf("[%g, %g): %d requests: %v", a, b, used.Requests, o.files())
				}
			}
		})
	}
}

func full(all, few int) int {
	if tools.Full() {
		return all
	}
	return few
}

// encryptedMaster is the presentation with sound and pictures apart, all of its
// segments encrypted by one key.
func encryptedMaster(t testing.TB) string {
	return made(t, "master-aes", func(dir string) {
		key := []byte("fedcba9876543210")
		if err := os.CopyFS(dir, os.DirFS(masterPresentation(t))); err != nil {
			t.Fatal(err)
		}
		os.WriteFile(filepath.Join(dir, "key"), key, 0o600)
		for _, stream := range []string{"0", "1", "2"} {
			for i := range 10 {
				name := fmt.Sprintf("v%s_%03d.m4s", stream, i)
				os.WriteFile(filepath.Join(dir, name), encrypt(t, key, int64(i), readFile(t, dir, name)), 0o600)
			}
			name := "media" + stream + ".m3u8"
			text := strings.Replace(string(readFile(t, dir, name)), "#EXTINF", "#EXT-X-KEY:METHOD=AES-128,URI=\"key\"\n#EXTINF", 1)
			os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)
		}
	})
}

// encryptedMP4 is the presentation of fragmented MP4 with every segment but the
// initialization encrypted by the key's own hand: ffmpeg's writer cannot.
func encryptedMP4(t testing.TB) string {
	return made(t, "fmp4-aes", func(dir string) {
		from := fmp4Presentation(t)
		key := []byte("fedcba9876543210")
		os.WriteFile(filepath.Join(dir, "key"), key, 0o600)
		for i := range 10 {
			name := fmt.Sprintf("s%03d.m4s", i)
			b, err := os.ReadFile(filepath.Join(from, name))
			if err != nil {
				t.Fatal(err)
			}
			os.WriteFile(filepath.Join(dir, name), encrypt(t, key, int64(i), b), 0o600)
		}
		init, _ := os.ReadFile(filepath.Join(from, "init.mp4"))
		os.WriteFile(filepath.Join(dir, "init.mp4"), init, 0o600)
		list, _ := os.ReadFile(filepath.Join(from, "media.m3u8"))
		text := strings.Replace(string(list), "#EXTINF", "#EXT-X-KEY:METHOD=AES-128,URI=\"key\"\n#EXTINF", 1)
		os.WriteFile(filepath.Join(dir, "media.m3u8"), []byte(text), 0o600)
	})
}

// encrypt encrypts a segment as RFC 8216 section 5.2 says.
func encrypt(t testing.TB, key []byte, sequence int64, b []byte) []byte {
	t.Helper()
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	var iv [16]byte
	binary.BigEndian.PutUint64(iv[8:], uint64(sequence))
	pad := 16 - len(b)%16
	b = append(bytes.Clone(b), bytes.Repeat([]byte{byte(pad)}, pad)...)
	cipher.NewCBCEncrypter(block, iv[:]).CryptBlocks(b, b)
	return b
}

// TestRenditionLanguage: a clip's sound has the language that the master playlist
// states, where its own media state none.
func TestRenditionLanguage(t *testing.T) {
	tools.Need(t, "ffmpeg", "ffprobe")
	dir := masterPresentation(t)
	for _, tt := range []struct{ tag, code string }{{"en", "eng"}, {"fr-CA", "fra"}, {"gsw", "gsw"}, {"?", ""}} {
		o := newOrigin()
		o.putFolder(t, "https://host.test/m", dir)
		text := strings.ReplaceAll(string(readFile(t, dir, "master.m3u8")), `LANGUAGE="en"`, `LANGUAGE="`+tt.tag+`"`)
		o.put("https://host.test/m/master.m3u8", []byte(text))
		m := o.mustOpen(t, "https://host.test/m/master.m3u8", formats.Env{})
		data := clip(t, m, mustPlan(t, m, between(5, 7)))
		path := write(t, "clip.mp4", data)
		have := strings.Fields(string(oracle.Run(t, "ffprobe", "-v", "error", "-show_entries", "stream=codec_type:stream_tags=language", "-of", "csv=p=0", path)))
		want := []string{"video", "audio"} // ffprobe shows no undetermined one
		if tt.code != "" {
			want[1] += "," + tt.code
		}
		for i := range have {
			have[i] = strings.TrimSuffix(strings.TrimSuffix(have[i], ","), ",und")
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%s: %s", tt.tag, diff)
		}
		if !bytes.Contains(data, []byte("elng\x00\x00\x00\x00"+tt.tag+"\x00")) {
			t.Errorf("%s: no tag of its own", tt.tag)
		}
	}
}
