package ogg_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// corpus is a folder of real files with facts about them, beside the
// repository; tests that need it are skipped where it is missing.
const corpus = "../../shared/corpus"

// truth is what is known of a file from other programs.
type truth struct {
	Timeline struct{ First, End float64 }
	Streams  []struct {
		Index     int
		Type      string
		Codec     string
		Intervals []truthInterval
	}
	ChainLinks []struct {
		ByteStart   int64   `json:"byte_start"`
		ByteEnd     int64   `json:"byte_end"`
		StartsAt    float64 `json:"starts_at"`
		PlayingTime float64 `json:"playing_time"`
	} `json:"chain_links"`
}

// truthInterval is an interval with the packets that overlap it.
type truthInterval struct {
	A, B     float64
	Packets  int
	SHA256   string   `json:"sha256"`
	Keyframe *float64 `json:"keyframe_at_or_before_a"`
}

func readTruth(t testing.TB) map[string]truth {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(corpus, "truth.json"))
	if err != nil {
		t.Skip("the corpus is not here: ", err)
	}
	var doc struct {
		Files map[string]truth
		Long  map[string]truth `json:"debian_long"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	maps.Copy(doc.Files, doc.Long)
	return doc.Files
}

// refused are the files that cannot be cut, and why.
var refused = map[string]error{
	"ogg/fx-dirac.ogg": formats.ErrUnsupported,
}

// traits are the files of the corpus that a short run cuts, one for each trait.
var traits = []string{
	"fx-bug482461.ogv", "fx-bug516323.indexed.ogv", "fx-chain.ogg", "fx-chain.opus", "fx-dirac.ogg", "fx-multiple-bos.ogg",
	"fx-seek_with_sound.ogg", "fx-variable-samplerate.ogg", "media3-bear_flac.ogg", "mutagen-multiplexed.spx",
	"vorbisjava-testKateVORBIS.ogg", "tmh-bunny.stereo.audio.opus", "wesnoth-silence.ogg", "fx-audio-gaps.ogg",
}

// TestCorpus cuts every Ogg file of the corpus at the intervals of which the
// packets are known.
func TestCorpus(t *testing.T) {
	all := readTruth(t)
	tools.Need(t, "ffprobe")
	for file, facts := range all {
		if !strings.HasPrefix(file, "ogg/") {
			continue
		}
		if !tools.Full() && !slices.Contains(traits, strings.TrimPrefix(file, "ogg/")) {
			continue
		}
		t.Run(strings.TrimPrefix(file, "ogg/"), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(corpus, file)
			if reason := refused[file]; reason != nil {
				_, err := open(t, seektest.New(mustRead(t, path)), formats.Env{})
				var e *formats.Error
				if !errors.Is(err, reason) || !errors.As(err, &e) || e.Offset < 0 || e.Container != "ogg" {
					t.Errorf("opened: %v, want a *formats.Error of %v", err, reason)
				}
				return
			}
			o := mustOpen(t, path)
			if len(facts.ChainLinks) > 0 {
				o.checkLinks(t, facts)
				return
			}
			o.checkIntervals(t, path, facts)
		})
	}
}

// checkLinks compares what is found of a chained file.
func (o *opened) checkLinks(t *testing.T, facts truth) {
	t.Helper()
	info, err := o.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Chapters) != len(facts.ChainLinks) {
		t.Fatalf("%d links, want %d", len(info.Chapters), len(facts.ChainLinks))
	}
	for i, want := range facts.ChainLinks {
		got := info.Chapters[i]
		if !near(got.Start.Seconds(), want.StartsAt, 1e-6) || !near(got.End.Sub(got.Start).Seconds(), want.PlayingTime, 1e-6) {
			t.Errorf("link %d: %v, want %g s from %g on", i, got.Interval, want.PlayingTime, want.StartsAt)
		}
	}
}

func near(a, b, by float64) bool { return a-b <= by && b-a <= by }

// checkIntervals cuts the intervals of the truth: the clip must hold all packets
// that overlap, in sequence, and pictures begin with the keyframe.
func (o *opened) checkIntervals(t *testing.T, path string, facts truth) {
	t.Helper()
	start := o.Info().StartTime.Seconds()
	for n := range facts.Streams[0].Intervals {
		if n > 0 && !tools.Full() {
			break
		}
		a, b := facts.Streams[0].Intervals[n].A, facts.Streams[0].Intervals[n].B
		t.Run(name(a, b), func(t *testing.T) {
			sel := between(max(0, a-start), b-start)
			for _, track := range o.Info().Tracks {
				sel.Tracks = append(sel.Tracks, track.ID)
			}
			_, clip := o.cut(t, sel)
			for _, kind := range []string{"video", "audio"} {
				number := 0
				for _, s := range facts.Streams {
					if s.Type != kind || s.Codec == "mjpeg" {
						continue
					}
					checkPackets(t, path, clip, kind[:1]+":"+strconv.Itoa(number), s.Intervals[n])
					number++
				}
			}
		})
	}
}

// checkPackets compares the packets of one stream.
func checkPackets(t *testing.T, path, clip, stream string, want truthInterval) {
	t.Helper()
	var hashes []string
	sum := sha256.New()
	for _, p := range frames(t, path, stream) {
		if p.from < want.B && (p.to > want.A || p.to == p.from && p.from >= want.A) {
			hashes = append(hashes, p.hash)
			sum.Write([]byte(p.hash))
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); len(hashes) != want.Packets || got != want.SHA256 {
		t.Logf("%s: ffprobe finds %d packets, the truth has %d", stream, len(hashes), want.Packets)
	}
	have := frames(t, clip, stream)
	var got []string
	for _, p := range have {
		got = append(got, p.hash)
	}
	if at := strings.Index(strings.Join(got, " "), strings.Join(hashes, " ")); at < 0 {
		t.Errorf("%s: not all %d packets of the interval are among the clip's %d", stream, len(hashes), len(got))
	}
	if want.Keyframe != nil && len(have) > 0 {
		for _, p := range frames(t, path, stream) {
			if p.key && near(p.from, *want.Keyframe, 1e-3) && p.hash != have[0].hash {
				t.Errorf("%s: the clip does not begin with the keyframe at %g", stream, *want.Keyframe)
			}
		}
	}
}

// TestLongFiles does the same with long files out of Debian packages, fetched by
// apt, in a full run.
func TestLongFiles(t *testing.T) {
	if !tools.Full() {
		t.Skip("in a full run only: it fetches packages")
	}
	all := readTruth(t)
	tools.Need(t, "apt-get", "dpkg-deb", "tar", "ffprobe")
	var doc struct {
		Files []struct {
			Package   string `json:"debian_package"`
			Version   string
			Path      string
			SHA256    string `json:"sha256"`
			Container string
		}
	}
	if err := json.Unmarshal(mustRead(t, filepath.Join(corpus, "debian-long.json")), &doc); err != nil {
		t.Fatal(err)
	}
	for _, f := range doc.Files {
		if f.Container != "ogg" {
			continue
		}
		t.Run(filepath.Base(f.Path), func(t *testing.T) {
			dir := t.TempDir()
			fetch := exec.Command("apt-get", "download", f.Package+"="+f.Version)
			fetch.Dir = dir
			if out, err := fetch.CombinedOutput(); err != nil {
				t.Skipf("%s cannot be had: %v: %s", f.Package, err, out)
			}
			path := filepath.Join(dir, "medium")
			unpack := exec.Command("sh", "-c", `dpkg-deb --fsys-tarfile *.deb | tar -xO "./$1" > "$2"`, "sh", f.Path, path)
			unpack.Dir = dir
			if out, err := unpack.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if sum := sha256.Sum256(mustRead(t, path)); hex.EncodeToString(sum[:]) != f.SHA256 {
				t.Fatalf("%s is another file", f.Path)
			}
			facts, ok := all["debian-long/"+filepath.Base(f.Path)]
			if !ok {
				t.Fatalf("no truth for %s", f.Path)
			}
			mustOpen(t, path).checkIntervals(t, path, facts)
		})
	}
}
