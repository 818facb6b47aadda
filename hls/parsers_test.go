package hls

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/seek"
)

// parsers are those of the npm registry that playlists are compared with.
var parsers = []string{"m3u8-parser@7.2.0", "hls-parser@0.16.1"}

// parsed is what a parser says of a playlist.
type parsed struct {
	Error    string
	Master   bool
	Variants []parsedVariant
	Ended    bool
	Sequence int64
	Target   float64
	Segments []parsedSegment
}

type parsedVariant struct {
	URI, Codecs string
	Bandwidth   int64
}

type parsedSegment struct {
	URI, Init, Key   string
	Duration         float64
	Range, InitRange *struct{ Offset, Length int64 }
	Discontinuity    bool
	Gap, Problem     bool
	Date             *int64 // milliseconds since 1970
}

// TestParsers compares what is read of every playlist of the collection, and of
// edge cases, with what two parsers of the npm registry read. A playlist on which
// those two differ is no dispute of ours: it has to agree with one of them, in
// each thing.
func TestParsers(t *testing.T) {
	if !tools.Full() {
		t.Skip("installs two parsers; MEDIAFRAG_FULL=1 runs it")
	}
	tools.Need(t, "node", "npm")
	var paths []string
	for _, dir := range []string{collection(), "testdata/playlists"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".m3u8" {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(paths) < 30 {
		t.Fatalf("only %d playlists", len(paths))
	}
	for path, all := range readByParsers(t, paths) {
		t.Run(filepath.Base(path), func(t *testing.T) { compareParsers(t, path, all) })
	}
}

// readByParsers has the parsers read playlists.
func readByParsers(t *testing.T, paths []string) map[string][]parsed {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	install := exec.CommandContext(ctx, "npm", append([]string{"install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts"}, parsers...)...)
	if out, err := install.CombinedOutput(); err != nil {
		if os.Getenv("MEDIAFRAG_REQUIRE_TOOLS") == "1" {
			t.Fatalf("%v: %v\n%s", parsers, err, out)
		}
		t.Skipf("%v are not to be had: %v", parsers, err)
	}
	cmd := exec.CommandContext(ctx, "node", append([]string{"testdata/parsers.mjs", filepath.Join(dir, "node_modules")}, paths...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]parsed{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var one struct {
			Path      string
			M3U8, HLS parsed
		}
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		all[one.Path] = []parsed{one.M3U8, one.HLS}
	}
	if len(all) != len(paths) {
		t.Fatalf("the parsers read %d of %d playlists", len(all), len(paths))
	}
	return all
}

func compareParsers(t *testing.T, path string, all []parsed) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ours := ourParse(string(text))
	var read []parsed // by those that can
	for _, p := range all {
		if p.Error == "" && (p.Master || len(p.Segments) > 0) {
			read = append(read, p)
		}
	}
	if len(read) == 0 {
		return
	}
	if ours.Error != "" {
		t.Errorf("it is not read: %s", ours.Error)
		return
	}
	var theirs []map[string]string
	for _, p := range read {
		theirs = append(theirs, p.says())
	}
	if said := eyevinnSays(string(text)); said != nil {
		theirs = append(theirs, said)
	}
	for name, got := range ours.says() {
		agree := got == ""
		var others []string
		for _, p := range theirs {
			said := p[name]
			if said != "" { // else it does not tell
				agree = agree || said == got
				others = append(others, said)
			}
		}
		if !agree && len(others) > 0 {
			t.Errorf("%s: %s; others have %s", name, got, strings.Join(others, " and "))
		}
	}
}

// ourParse is what this package says of a playlist.
func ourParse(text string) (out parsed) {
	p, err := parse(text, testURL, nil, formats.Limits{})
	if err != nil {
		out.Error = err.Error()
		return out
	}
	if p.master != nil {
		out.Master = true
		for _, v := range p.master.variants {
			out.Variants = append(out.Variants, parsedVariant{v.uri, v.codecs, v.bandwidth})
		}
		return out
	}
	m := p.media
	out.Ended, out.Sequence, out.Target = m.ended, m.sequence, m.target.Seconds()
	for i := range m.segments {
		s := &m.segments[i]
		x := parsedSegment{URI: s.uri, Duration: s.duration.Seconds(), Range: rangeOf(s.bytes), Gap: s.gap, Problem: s.problem != ""}
		if s.init != nil {
			x.Init, x.InitRange = s.init.uri, rangeOf(s.init.bytes)
		}
		if len(s.keys) > 0 {
			x.Key = s.keys[len(s.keys)-1].uri
		}
		if i > 0 {
			x.Discontinuity = s.discontinuity != m.segments[i-1].discontinuity
		}
		if !s.date.IsZero() {
			ms := s.date.UnixMilli()
			x.Date = &ms
		}
		out.Segments = append(out.Segments, x)
	}
	return out
}

func rangeOf(r seek.Range) *struct{ Offset, Length int64 } {
	if !r.Closed() {
		return nil
	}
	return &struct{ Offset, Length int64 }{r.Offset, r.Length}
}

// says is a parse by the name of each thing, "" where the parser does not tell.
func (p parsed) says() map[string]string {
	out := map[string]string{"kind": fmt.Sprintf("master %v", p.Master)}
	if p.Master {
		for i, v := range p.Variants {
			out[fmt.Sprintf("variant %d", i)] = fmt.Sprintf("%+v", v)
		}
		out["variants"] = fmt.Sprint(len(p.Variants))
		return out
	}
	out["ended"], out["sequence"], out["target"] = fmt.Sprint(p.Ended), fmt.Sprint(p.Sequence), fmt.Sprint(p.Target)
	out["segments"] = fmt.Sprint(len(p.Segments))
	for i, s := range p.Segments {
		name := fmt.Sprintf("segment %d: ", i)
		out[name+"URI"], out[name+"initialization"], out[name+"key"] = "="+s.URI, "="+s.Init, "="+s.Key
		out[name+"duration"] = fmt.Sprint(math.Round(s.Duration*1e4) / 1e4)
		out[name+"range"], out[name+"initialization range"] = "none", "none"
		if s.Problem { // the range is refused
			out[name+"range"] = ""
		} else if s.Range != nil {
			out[name+"range"] = fmt.Sprintf("%+v", *s.Range)
		}
		if s.InitRange != nil {
			out[name+"initialization range"] = fmt.Sprintf("%+v", *s.InitRange)
		}
		if i > 0 { // of the first it changes nothing
			out[name+"discontinuity"] = fmt.Sprint(s.Discontinuity)
		}
		if s.Date != nil {
			out[name+"date"] = fmt.Sprint(*s.Date)
		}
	}
	return out
}

// eyevinnSays is what a third parser says of a media playlist: only what it is
// known to read right. Nil: it does not read it.
func eyevinnSays(text string) map[string]string {
	p, err := eyevinn(text)
	if err != nil {
		return nil
	}
	q := parsed{Ended: p.Closed, Sequence: int64(p.SeqNo)}
	for _, s := range p.Segments {
		if s != nil {
			q.Segments = append(q.Segments, parsedSegment{URI: s.URI, Duration: s.Duration})
		}
	}
	all, out := q.says(), map[string]string{}
	for name, said := range all {
		if name == "ended" || name == "sequence" || name == "segments" || strings.HasSuffix(name, "URI") || strings.HasSuffix(name, "duration") {
			out[name] = said
		}
	}
	return out
}
