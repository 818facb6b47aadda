package mp4_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mediafrag/mediafrag/internal/mediatest"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// made is a file that a test makes with ffmpeg, and how its clips compare.
type made struct {
	name  string
	ext   string   // default "mp4"
	args  []string // inputs and codings
	mux   string   // options of what writes the file, as ffmpeg's tee takes them
	noise bool     // its decoder adds noise: compare coded frames and the residual
	frame int      // samples that the sound may run over: the coded frame of its decoder
	trait interval

	// complaint is what ffmpeg says of pictures that refer to what was cut, and
	// that are hidden.
	complaint string
}

type interval struct{ a, b float64 } // b < 0: open

// Common inputs: 20 s of moving pictures and a tone with beeps.
var (
	picture25 = []string{"-f", "lavfi", "-i", "testsrc2=s=96x54:r=25:d=20"}
	tone441   = []string{"-f", "lavfi", "-i", "sine=f=440:b=3:r=44100:d=20"}
	tone48    = []string{"-f", "lavfi", "-i", "sine=f=440:b=3:r=48000:d=20"}
	x264      = []string{"-c:v", "libx264", "-preset", "veryfast", "-g", "50", "-keyint_min", "50", "-sc_threshold", "0", "-bf", "3", "-threads", "1"}
	aac       = []string{"-c:a", "aac", "-b:a", "64k", "-aac_coder", "fast", "-aac_pns", "0"}
)

func s(args ...string) []string { return args }

var args = mediatest.Args

// fragmentOptions make ffmpeg write the same media in fragments.
var fragmentOptions = map[string]string{
	"indexed": "movflags=+frag_keyframe+delay_moov+default_base_moof+dash+global_sidx",
	"bare":    "movflags=+frag_keyframe+delay_moov+default_base_moof+skip_trailer",
}

// in is the same media in fragments of a kind.
func (m made) in(kind string) made {
	m.name, m.mux = m.name+"-"+kind, fragmentOptions[kind]
	return m
}

// compared are the intervals that are cut: the one that shows the file's trait,
// and all in a full run.
func (m made) compared() []interval {
	if tools.Full() {
		return append([]interval{m.trait}, intervals...)
	}
	return []interval{m.trait}
}

// everyMade are the files of all lists.
var everyMade = sync.OnceValue(func() []made {
	all := append(slices.Concat(files, fragmentedCodings, longFiles), locked)
	for _, f := range fragmentedFiles {
		all = append(all, f.made)
	}
	open := slices.Clone(openGroups)
	for _, c := range codecs {
		open = append(open, c.made)
	}
	for _, m := range open {
		all = append(all, m, m.in("indexed"), m.in("bare"))
	}
	return all
})

// madeNamed is one of the files that are made.
func madeNamed(t testing.TB, name string) made {
	t.Helper()
	i := slices.IndexFunc(everyMade(), func(m made) bool { return m.name == name })
	if i < 0 {
		t.Fatalf("no file %s is made", name)
	}
	return everyMade()[i]
}

// makers make files, by the name of the first.
var makers sync.Map

// path makes the file, once in a test run, and with it all that hold the same
// media: to encode takes longer than to write.
func (m made) path(t testing.TB) string {
	t.Helper()
	tools.Need(t, "ffmpeg", "ffprobe")
	same := func(o made) bool { return slices.Equal(o.args, m.args) }
	var together []made
	for _, o := range everyMade() {
		if same(o) {
			together = append(together, o)
		}
	}
	if !slices.ContainsFunc(together, func(o made) bool { return o.name == m.name }) {
		together = []made{m}
	}
	once, _ := makers.LoadOrStore(together[0].name, sync.OnceFunc(func() { makeFiles(t, together) }))
	once.(func())()
	return m.file()
}

// file is where the file will be.
func (m made) file() string {
	ext := m.ext
	if ext == "" {
		ext = "mp4"
	}
	return filepath.Join(tempDir, m.name+"."+ext)
}

// makeFiles encodes media once and writes them to several files.
func makeFiles(t testing.TB, together []made) {
	t.Helper()
	args := slices.Clone(together[0].args)
	if !slices.Contains(args, "-map") { // pictures before sounds
		for _, kind := range []string{"V", "a"} {
			for n := range strings.Count(strings.Join(args, " "), " -i ") {
				args = append(args, "-map", fmt.Sprintf("%d:%s?", n, kind))
			}
		}
	}
	args = append(args, "-map_metadata", "-1")
	if m := together[0]; len(together) == 1 {
		for option := range strings.SplitSeq(m.mux, ":") {
			if key, value, ok := strings.Cut(option, "="); ok {
				args = append(args, "-"+key, value)
			}
		}
		oracle.FFmpeg(t, append(args, "-fflags", "+bitexact", m.file())...)
		return
	}
	var outputs []string
	for _, m := range together {
		outputs = append(outputs, "["+strings.Trim("fflags=+bitexact:"+m.mux, ":")+"]"+m.file())
	}
	oracle.FFmpeg(t, append(args, "-flags", "+global_header", "-f", "tee", strings.Join(outputs, "|"))...)
}
