package webm_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/budget"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
)

const idTags, idAttachments = 0x1254C367, 0x1941A469

// simple writes a SimpleTag.
func simple(name, value string, more ...[]byte) []byte {
	return el(0x67C8, append([][]byte{el(0x45A3, []byte(name)), el(0x4487, []byte(value))}, more...)...)
}

// TestTagList reads tags of the whole, of a track, of a chapter, in each other,
// with languages; a binary one is left out.
func TestTagList(t *testing.T) {
	tags := el(idTags,
		el(0x7373, el(0x63C0), simple("TITLE", "A film", el(0x447A, []byte("eng"))), simple("ARTIST", "Someone", simple("INSTRUMENTS", "piano"))),
		el(0x7373, el(0x63C0, num(0x63C5, 11)), simple("ENCODER", "x", el(0x447A, []byte("und")), el(0x447B, []byte("de-CH")))),
		el(0x7373, el(0x63C0, num(0x63C4, 11), num(0x63C4, 2)), simple("PLACE", "Bern")),
		el(0x7373, el(0x63C0), el(0x67C8, el(0x45A3, []byte("BINARY")), el(0x4485, []byte{1, 2}))))
	w := film{seconds: 2, front: func(*written) []byte { return someChapters }, end: func(*written) []byte { return tags }}.write()
	want := []formats.Tag{
		{Name: "TITLE", Value: "A film", Language: "eng"},
		{Name: "ARTIST", Value: "Someone"},
		{Name: "ARTIST/INSTRUMENTS", Value: "piano"},
		{Name: "ENCODER", Value: "x", Language: "de-CH", Track: "1"},
		{Name: "PLACE", Value: "Bern", Chapter: "cue-7"},
		{Name: "PLACE", Value: "Bern", Chapter: "2"},
	}
	if got := mustOpen(t, w.data).Info().Tags; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestTagsOnce: tags that a SeekHead tells of and that are seen at their place as
// well, as in files of ffmpeg, are listed once.
func TestTagsOnce(t *testing.T) {
	tags := el(idTags, el(0x7373, el(0x63C0), simple("TITLE", "A film")))
	for _, f := range []film{{seconds: 2}, {seconds: 2, order: []string{"head", "info", "tracks", "end", "front", "clusters", "cues-end"}}} {
		f.tell, f.end = idTags, func(*written) []byte { return tags }
		if got := mustOpen(t, f.write().data).Info().Tags; len(got) != 1 {
			t.Errorf("%+v, want one", got)
		}
	}
}

// farTags is a film whose tags, of some bytes, are near neither end of the file;
// its SeekHead says where they are.
func farTags(n int) *written {
	tags := el(idTags, el(0x7373, el(0x63C0), simple("TITLE", "Far away"), simple("LYRICS", strings.Repeat("la ", n/3))))
	return film{seconds: 40, index: "front", tell: idTags, end: func(w *written) []byte {
		return slices.Concat(tags, el(idAttachments, make([]byte, 200<<10)))
	}}.write()
}

// TestTagsAreFetched: tags that are small come along at no round trip of their
// own, others are left out and a warning says so. Inspect reads both.
func TestTagsAreFetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			bytes int
			kept  bool
		}{{3000, true}, {40_000, false}} {
			o := openSlow(t, farTags(tt.bytes).data)
			if got := o.Info().Tags; len(got) != 0 {
				t.Errorf("%d bytes: tags without a request: %v", tt.bytes, got)
			}
			plan, data := o.Clip(t, seconds(9.013, 13.513))
			if kept := strings.Contains(string(data[:4000]), "Far away"); kept != tt.kept {
				t.Errorf("%d bytes: kept %v, want %v", tt.bytes, kept, tt.kept)
			}
			if warned := len(plan.Warnings) > 0; warned == tt.kept {
				t.Errorf("%d bytes: warnings %v", tt.bytes, plan.Warnings)
			}
			if got := o.Totals.Transfer().FirstMediaTrips; got > budget.TripsWebM {
				t.Errorf("%d bytes: %d round trips, want %d", tt.bytes, got, budget.TripsWebM)
			}
			info, err := o.Inspect(t.Context())
			if err != nil || len(info.Tags) != 2 || info.Tags[0].Value != "Far away" {
				t.Errorf("%d bytes: tags %v, %v", tt.bytes, info.Tags, err)
			}
		}
	})
}

// attachedFile writes an AttachedFile; its data stand first where asked.
func attachedFile(name string, data []byte, dataFirst bool) []byte {
	parts := [][]byte{el(0x467E, []byte("about "+name)), el(0x466E, []byte(name)), el(0x4660, []byte("font/ttf")), el(0x465C, data), num(0x46AE, 77)}
	if dataFirst {
		parts[0], parts[3] = parts[3], parts[0]
	}
	return el(0x61A7, parts...)
}

// TestAttachments lists attached files without reading them, and takes them
// along where that is asked for.
func TestAttachments(t *testing.T) {
	all := el(idAttachments, attachedFile("one.ttf", content('f', 1, 900<<10), false), attachedFile("two.ttf", content('f', 2, 700<<10), true))
	about := el(idTags, el(0x7373, el(0x63C0, num(0x63C6, 77)), simple("LICENCE", "of a font")))
	w := film{seconds: 40, front: func(*written) []byte { return slices.Concat(about, all) }, index: "front"}.write()

	o := mustOpen(t, w.data)
	before := o.Totals.Transfer().Bytes
	info, err := o.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []formats.Attachment{
		{Name: "one.ttf", MediaType: "font/ttf", Description: "about one.ttf", Size: 900 << 10},
		{Name: "two.ttf", MediaType: "font/ttf", Description: "about two.ttf", Size: 700 << 10},
	}
	if !slices.Equal(info.Attachments, want) {
		t.Errorf("%+v, want %+v", info.Attachments, want)
	}
	if n := o.Totals.Transfer().Bytes - before; n > 32<<10 {
		t.Errorf("%d bytes to list them", n)
	}

	sel := seconds(9.013, 13.513)
	_, without := o.Clip(t, sel)
	sel.Attachments = true
	_, with := o.Clip(t, sel)
	has := func(data []byte, id int64) (found []byte) {
		walk(t, data, 0, false, func(x, _ int64, body []byte) bool {
			if x == id {
				found = body
			}
			return x == 0x18538067
		})
		return found
	}
	if has(without, idAttachments) != nil || has(without, idTags) != nil {
		t.Error("attachments, or their tags, that nobody asked for")
	}
	if got := has(with, idAttachments); !slices.Equal(got, all[len(all)-len(got):]) || len(got) < 1600<<10 {
		t.Errorf("%d bytes of attachments, others than the original's", len(got))
	}
	if !strings.Contains(string(has(with, idTags)), "of a font") {
		t.Error("the attachments' tags are gone")
	}
	w.compare(t, readBack(t, with), 9013, 13513)
	again := mustOpen(t, with) // by its SeekHead
	if info, err := again.Inspect(t.Context()); err != nil || !slices.Equal(info.Attachments, want) || info.Index != "cues-front" {
		t.Errorf("of the clip: %+v, %v", info.Attachments, err)
	}
}

// TestNoAttachments: a warning says that there are none.
func TestNoAttachments(t *testing.T) {
	sel := seconds(1, 2)
	sel.Attachments = true
	if plan, _ := mustOpen(t, film{seconds: 4}.write().data).Clip(t, sel); len(plan.Warnings) != 1 {
		t.Errorf("warnings %v", plan.Warnings)
	}
}

// TestAttachmentsOracle asks mkvmerge what is attached to a clip.
func TestAttachmentsOracle(t *testing.T) {
	tools.Need(t, "ffmpeg", "mkvmerge", "mkvinfo")
	font := filepath.Join(tempDir, "some.ttf")
	if err := os.WriteFile(font, content('f', 3, 300<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	m := made{name: "attached", ext: "mkv", args: args(picture25, x264, s("-attach", font, "-metadata:s:t", "mimetype=font/ttf"))}
	path := m.path(t)
	sel := seconds(5, 7)
	sel.Attachments = true
	_, data := mustOpen(t, mustRead(t, path)).Clip(t, sel)
	clip := filepath.Join(t.TempDir(), "clip.mkv")
	if err := os.WriteFile(clip, data, 0o600); err != nil {
		t.Fatal(err)
	}
	accepted(t, path, clip)
	var seen struct {
		Attachments []struct {
			Size int64  `json:"size"`
			Type string `json:"content_type"`
			Name string `json:"file_name"`
		}
	}
	if err := json.Unmarshal(oracle.Run(t, "mkvmerge", "-J", clip), &seen); err != nil {
		t.Fatal(err)
	}
	if a := seen.Attachments; len(a) != 1 || a[0].Size != 300<<10 || a[0].Name != "some.ttf" || a[0].Type != "font/ttf" {
		t.Errorf("mkvmerge sees %+v", a)
	}
}

// TestDate: a clip was made so much later than the file as it begins later.
func TestDate(t *testing.T) {
	date := time.Date(2020, 2, 29, 12, 0, 0, 0, time.UTC)
	since := date.Sub(time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC))
	w := film{seconds: 20, start: 3000, date: int64(since)}.write()
	o := mustOpen(t, w.data)
	if got := o.Info().Created; !got.Equal(date) {
		t.Errorf("created %v, want %v", got, date)
	}
	for timeline, later := range map[formats.Timeline]time.Duration{formats.Zero: 8 * time.Second, formats.Original: 0} {
		sel := seconds(9.013, 11)
		sel.Timeline = timeline
		_, data := o.Clip(t, sel)
		back, err := open(t, seektest.New(data), formats.Env{})
		if err != nil {
			t.Fatal(err)
		}
		if got := back.Info().Created; !got.Equal(date.Add(later)) {
			t.Errorf("%s: created %v, want %v later", timeline, got, later)
		}
	}
}

// TestStatisticsOfPrograms: what mkvmerge and ffmpeg count of the original does not
// stand in a clip, and all else that they wrote does.
func TestStatisticsOfPrograms(t *testing.T) {
	path := madeNamed(t, "mp3-laced").path(t)
	tools.Need(t, "mkvmerge")
	tagged := filepath.Join(t.TempDir(), "tagged.mka")
	oracle.Run(t, "mkvmerge", "-q", "-o", tagged, "--global-tags", writeTags(t), path)
	original := mustRead(t, tagged)
	plan, clip := mustOpen(t, original).Clip(t, seconds(2, 4))
	for _, name := range []string{"BPS", "DURATION", "NUMBER_OF_FRAMES", "NUMBER_OF_BYTES", "_STATISTICS_WRITING_APP", "_STATISTICS_TAGS"} {
		if !bytes.Contains(original, []byte(name)) || bytes.Contains(clip, []byte(name)) {
			t.Errorf("%s: in the original %v, in the clip %v", name, bytes.Contains(original, []byte(name)), bytes.Contains(clip, []byte(name)))
		}
	}
	if !bytes.Contains(clip, []byte("Somebody")) {
		t.Errorf("the artist is lost; warnings %v", plan.Warnings)
	}
}

func writeTags(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "tags.xml")
	xml := `<?xml version="1.0"?><Tags><Tag><Targets/><Simple><Name>ARTIST</Name><String>Somebody</String></Simple></Tag></Tags>`
	if err := os.WriteFile(path, []byte(xml), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
