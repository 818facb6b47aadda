package ogg_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/mediatest"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/ogg"
)

var tempDir string

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run gives the tests one folder for the files that they make.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ogg-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	tempDir = dir
	return m.Run()
}

// opened is a medium opened over a counting source in memory.
type opened struct{ *mediatest.Medium }

// open opens a source as the client does.
func open(t testing.TB, s *seektest.Source, env formats.Env) (*opened, error) {
	t.Helper()
	m, err := mediatest.Open(t, ogg.Format{}, s, env)
	return &opened{m}, err
}

// mustOpen is open of a file that has to be readable.
func mustOpen(t testing.TB, path string) *opened {
	t.Helper()
	return mustOpenBytes(t, mustRead(t, path))
}

func mustOpenBytes(t testing.TB, data []byte) *opened {
	t.Helper()
	return &opened{mediatest.MustOpen(t, ogg.Format{}, data)}
}

// cut writes the clip of a selection to a file in a folder of the test's own.
func (o *opened) cut(t testing.TB, s formats.Selection) (*formats.Plan, string) {
	t.Helper()
	return o.Cut(t, s, ".ogg")
}

var (
	mustRead = mediatest.ReadFile
	between  = mediatest.Between
	name     = mediatest.IntervalName
)

var makeOnce sync.Map

// cached makes a file, once in a test run, and returns its path.
func cached(file string, do func(path string)) string {
	path := filepath.Join(tempDir, file)
	once, _ := makeOnce.LoadOrStore(path, sync.OnceFunc(func() { do(path) }))
	once.(func())()
	return path
}

// sound makes a WAV file with music-like sound of the given rate, channels and
// length in seconds.
func sound(t testing.TB, rate, channels, seconds int) string {
	t.Helper()
	return cached(fmt.Sprintf("music-%d-%d-%d.wav", rate, channels, seconds), func(path string) {
		tone := func(base int) string {
			return fmt.Sprintf("0.25*sin(2*PI*(%d+20*t)*t)+0.15*sin(2*PI*%d*t)*gt(mod(t\\,0.7)\\,0.35)+0.04*random(%d)", base, 3*base, base)
		}
		exprs := tone(220)
		for c := 1; c < channels; c++ {
			exprs += "|" + tone(220+110*c)
		}
		oracle.FFmpeg(t, "-f", "lavfi", "-i", fmt.Sprintf("aevalsrc=%s:s=%d:d=%d", exprs, rate, seconds), "-bitexact", path)
	})
}

// speech makes a WAV file of a synthetic voice.
func speech(t testing.TB, rate int) string {
	t.Helper()
	return cached(fmt.Sprintf("speech-%d.wav", rate), func(path string) {
		words := strings.Repeat("the interval begins at the named second and ends before the other. ", 8)
		oracle.FFmpeg(t, "-f", "lavfi", "-i", "flite=text='"+words+"'", "-ar", fmt.Sprint(rate), "-t", "14", "-bitexact", path)
	})
}
