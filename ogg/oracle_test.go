package ogg_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// TestOracle cuts files and compares the clips with the originals: decoded by
// ffmpeg, by the reference decoder of the codec, and checked by oggz-validate.
func TestOracle(t *testing.T) {
	var pairs atomic.Int32
	t.Cleanup(func() { t.Logf("%d pairs", pairs.Load()) })
	for _, m := range files {
		if m.more && !tools.Full() {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			path := m.path(t)
			o := mustOpen(t, path)
			want := []interval{m.trait}
			switch {
			case tools.Full() && m.full != nil:
				want = append(want, m.full...)
			case tools.Full():
				want = append(want, soundIntervals...)
			}
			for _, i := range want {
				pairs.Add(1)
				t.Run(name(i.a, i.b), func(t *testing.T) { m.compare(t, o, path, i) })
			}
		})
	}
}

// TestPairs counts the pairs of a full run.
func TestPairs(t *testing.T) {
	pairs := 0
	for _, m := range files {
		if pairs++; m.full != nil {
			pairs += len(m.full)
		} else {
			pairs += len(soundIntervals)
		}
	}
	if pairs < budget.PairsOgg {
		t.Errorf("%d pairs, want at least %d", pairs, budget.PairsOgg)
	}
}

// compare cuts one interval and compares it.
func (m made) compare(t *testing.T, o *opened, path string, i interval) {
	plan, clip := o.cut(t, between(i.a, i.b))
	if i.b < 0 {
		i.b = plan.Requested.End.Seconds()
	}
	validate(t, clip)
	zero := m.comparePictures(t, path, clip, i)
	if zero < 0 {
		zero = i.a
	}
	switch m.codec {
	case "vorbis":
		m.compareVorbis(t, path, clip, zero, i.b)
	case "opus":
		m.compareOpus(t, path, clip, zero, i.b)
	case "flac", "speex":
		m.compareWhole(t, path, clip, zero, i.b)
	}
	if m.codec == "speex" {
		compareSpeex(t, path, clip, o.Info().Duration, plan.Covered)
	}
	if m.full != nil || m.codec == "flac" || m.codec == "speex" {
		return
	}
	if !plan.Presented.Start.Equal(plan.Requested.Start) || !plan.Presented.End.Equal(plan.Requested.End) {
		rate := float64(o.Info().Tracks[0].SampleRate)
		off := math.Max(math.Abs(plan.Presented.Start.Sub(plan.Requested.Start).Seconds()), math.Abs(plan.Presented.End.Sub(plan.Requested.End).Seconds()))
		if off*rate > 0.5 {
			t.Errorf("presented %v, want the requested %v", plan.Presented, plan.Requested)
		}
	}
}

// validate checks a clip by oggz-validate, which has to be silent.
func validate(t *testing.T, clip string) {
	t.Helper()
	tools.Need(t, "oggz-validate")
	if out := oracle.Run(t, "oggz-validate", clip); len(out) > 0 {
		t.Errorf("oggz-validate: %s", out)
	}
}

// comparePictures compares the pictures of a clip with those of the original
// from the keyframe at or before a on, and returns that keyframe's time; -1
// where there are none.
func (m made) comparePictures(t *testing.T, path, clip string, i interval) float64 {
	t.Helper()
	original := oracle.Original(t, path)
	if len(original.Video) == 0 {
		return -1
	}
	key := 0.0
	for _, p := range frames(t, path, "v:0") {
		if p.key && p.from <= i.a+1e-6 {
			key = p.from
		}
	}
	got := oracle.Decode(t, clip)
	if got.Errors != "" {
		t.Errorf("ffmpeg complains of the clip: %s", got.Errors)
	}
	want := oracle.Between(original.Video[0], key-1e-5, i.b-1e-5)
	if r := oracle.CompareVideo(want, got.Video[0]); r.Missing+r.Lead+r.Tail > 0 {
		t.Errorf("from the keyframe at %g: %v", key, r)
	}
	if first := got.Video[0][0].Time; math.Abs(first) > 1e-6 {
		t.Errorf("the first picture is at %g, want 0", first)
	}
	return key
}

// compareVorbis compares bit by bit by oggdec, and by ffmpeg with what presents
// before 0 left out. Beside pictures oggdec does not read the file.
func (m made) compareVorbis(t *testing.T, path, clip string, a, b float64) {
	t.Helper()
	compareFFmpeg(t, path, clip, a, b, oracle.Exact)
	if m.full != nil {
		return
	}
	tools.Need(t, "oggdec")
	original := cached(m.name+".pcm", func(out string) { oracle.Run(t, "oggdec", "-Q", "-R", "-o", out, path) })
	cut := filepath.Join(t.TempDir(), "clip.pcm")
	oracle.Run(t, "oggdec", "-Q", "-R", "-o", cut, clip)
	s := oracle.Original(t, path).Audio[0]
	frame := 2 * s.Channels
	from, to := int(math.Round(a*float64(s.Rate)))*frame, int(math.Round(b*float64(s.Rate)))*frame
	want, have := mustRead(t, original), mustRead(t, cut)
	if want = want[from:min(to, len(want))]; !bytes.Equal(want, have) {
		t.Errorf("oggdec: %d samples that differ from the %d wanted", len(have)/frame, len(want)/frame)
	}
}

// compareFFmpeg compares sound as ffmpeg decodes it, from the clip's time 0 on.
// It does not trim the end of Vorbis within the last packet.
func compareFFmpeg(t *testing.T, path, clip string, a, b, residual float64) {
	t.Helper()
	original, got := oracle.Original(t, path), oracle.Decode(t, clip)
	if got.Errors != "" {
		t.Errorf("ffmpeg complains of the clip: %s", got.Errors)
	}
	want := original.Audio[0].Between(a, b)
	sound := got.Audio[0]
	have := sound.Between(0, float64(len(want)/sound.Channels)/float64(sound.Rate))
	r := oracle.CompareAudio(want, have, got.Audio[0].Rate, got.Audio[0].Channels)
	if r.Offset != 0 || r.Excess != 0 || r.Residual > residual {
		t.Errorf("ffmpeg: %v, want a residual of at most %g dB", r, residual)
	}
}

// compareOpus compares by opusdec and by ffmpeg.
func (m made) compareOpus(t *testing.T, path, clip string, a, b float64) {
	t.Helper()
	residual := float64(oracle.Exact)
	if m.silk {
		residual = budget.SilkResidual
	}
	compareFFmpeg(t, path, clip, a, b, residual)
	if m.full != nil {
		return
	}
	tools.Need(t, "opusdec")
	decode := func(in, out string) { oracle.Run(t, "opusdec", "--quiet", "--float", "--rate", "48000", in, out) }
	original := cached(m.name+".f32", func(out string) { decode(path, out+".raw"); _ = os.Rename(out+".raw", out) })
	cut := filepath.Join(t.TempDir(), "clip.raw")
	decode(clip, cut)
	channels := oracle.Original(t, path).Audio[0].Channels
	want, have := floats(mustRead(t, original)), floats(mustRead(t, cut))
	from, to := int(math.Round(a*48000))*channels, int(math.Round(b*48000))*channels
	r := oracle.CompareAudio(want[from:min(to, len(want))], have, 48000, channels)
	if r.Offset != 0 || r.Excess != 0 || r.Residual > residual {
		t.Errorf("opusdec: %v, want a residual of at most %g dB", r, residual)
	}
}

func floats(raw []byte) []float32 {
	out := make([]float32, len(raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out
}

// compareWhole compares codecs of which a clip holds whole frames: exactly those
// that overlap the interval, to the bit.
func (m made) compareWhole(t *testing.T, path, clip string, a, b float64) {
	t.Helper()
	want, have := frames(t, path, "a:0"), frames(t, clip, "a:0")
	var hashes []string
	for _, f := range want {
		if f.from < b-1e-6 && f.to > a+1e-6 {
			hashes = append(hashes, f.hash)
		}
	}
	var got []string
	for _, f := range have {
		got = append(got, f.hash)
	}
	if !slices.Equal(hashes, got) {
		t.Errorf("the clip holds %d frames, want the %d that overlap [%g, %g)", len(got), len(hashes), a, b)
	}
	if m.codec == "flac" && m.full == nil {
		cut := oracle.Run(t, "flac", "-d", "-s", "-c", "--force-raw-format", "--endian=little", "--sign=signed", clip)
		all := oracle.Run(t, "flac", "-d", "-s", "-c", "--force-raw-format", "--endian=little", "--sign=signed", path)
		if !bytes.Contains(all, cut) || len(cut) == 0 {
			t.Errorf("flac: the clip's %d bytes of sound are not a part of the original's", len(cut))
		}
	}
}

// compareSpeex compares what speexdec decodes, once the decoder has forgotten
// where it began: the clip's first sample is that at which covered begins. Of the
// original, the decoder leaves out the encoder's delay at the beginning.
func compareSpeex(t *testing.T, path, clip string, duration fragment.Time, covered fragment.Interval) {
	t.Helper()
	tools.Need(t, "speexdec")
	const rate = 16000
	decode := func(in string) []float32 {
		out := filepath.Join(t.TempDir(), "pcm")
		oracle.Run(t, "speexdec", in, out)
		var samples []float32
		for raw := mustRead(t, out); len(raw) >= 2; raw = raw[2:] {
			samples = append(samples, float32(int16(binary.LittleEndian.Uint16(raw)))/(1<<15))
		}
		return samples
	}
	all, have := decode(path), decode(clip)
	from := int(covered.Start.Round(rate)) - (int(duration.Round(rate)) - len(all))
	want := all[max(0, from):min(from+len(have), len(all))]
	if lost := int(covered.End.Sub(covered.Start.Max(fragment.Time{})).Round(rate)) - len(have); lost < 0 || lost > rate/100 {
		t.Errorf("speexdec: %d samples of %v", len(have), covered)
	}
	forgets := 0
	if from > 0 {
		forgets = min(int(budget.SpeexForgets*rate), len(want))
	}
	r := oracle.CompareAudio(want[forgets:], have[min(forgets, len(have)):], rate, 1)
	if len(want) > forgets && (r.Offset != 0 || r.Residual > budget.SpeexResidual) {
		t.Errorf("speexdec: %v, want a residual of at most %d dB", r, budget.SpeexResidual)
	}
}

// frame is a coded frame of sound.
type frame struct {
	from, to float64 // seconds
	hash     string
	key      bool
}

// frames returns the frames of a stream as ffprobe lists them, which must not be
// changed. A file is asked of once.
func frames(t *testing.T, path, stream string) []frame {
	t.Helper()
	known, _ := frameLists.LoadOrStore(path+" "+stream, sync.OnceValue(func() []frame { return listFrames(t, path, stream) }))
	return known.(func() []frame)()
}

var frameLists sync.Map

func listFrames(t *testing.T, path, stream string) []frame {
	t.Helper()
	var doc struct {
		Packets []struct {
			Time     string `json:"pts_time"`
			Duration string `json:"duration_time"`
			Flags    string
			Hash     string `json:"data_hash"`
		}
	}
	raw := oracle.Run(t, "ffprobe", "-v", "error", "-select_streams", stream, "-show_packets", "-show_data_hash", "MD5", "-of", "json", path)
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatalf("ffprobe %s: %v", path, err)
	}
	var out []frame
	for _, p := range doc.Packets {
		from, _ := strconv.ParseFloat(p.Time, 64)
		length, _ := strconv.ParseFloat(p.Duration, 64)
		out = append(out, frame{from, from + length, strings.TrimPrefix(p.Hash, "MD5:"), strings.HasPrefix(p.Flags, "K")})
	}
	return out
}
