package mp4_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// pictures is a video track of 100 samples of 100 ms, a sync sample every 10,
// in presentation order.
func pictures() *testTrack {
	t := &testTrack{id: 1, handler: "vide", durations: repeat(uint32(100), 100), sizes: sizesUpTo(15, 100)}
	for i := uint32(1); i <= 100; i += 10 {
		t.sync = append(t.sync, i)
	}
	return t
}

// reordered is pictures with B-frames: each sync sample and the two after it
// are presented in the order 1, 3, 2.
func reordered() *testTrack {
	t := pictures()
	for range 33 {
		t.offsets = append(t.offsets, 100, 200, 0)
	}
	t.offsets = append(t.offsets, 100)
	t.edits = []testEdit{{duration: 6000, mediaTime: 100}}
	return t
}

// tone is a sound track of 200 samples of 50 ms.
func tone() *testTrack {
	return &testTrack{id: 2, durations: repeat(uint32(50), 200), sizes: sizesUpTo(12, 200), perChunk: 5}
}

// cutBuilt cuts [a, b) seconds out of a built file and checks the clip's
// samples and their times by the written rule.
func cutBuilt(t *testing.T, data []byte, a, b float64) (*formats.Plan, []byte) {
	t.Helper()
	o := openBuilt(t, data)
	plan, path := o.cut(t, between(a, b))
	clip, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	checkTimeline(t, data, clip, a, plan.Requested.End.Seconds())
	return plan, clip
}

// TestLayouts cuts the same media out of files that say the same in different
// ways. mp4ff reads originals and clips where it knows the form; for stz2,
// which it does not, the clip must be the one of the same file with stsz.
func TestLayouts(t *testing.T) {
	plain := (&testFile{tracks: []*testTrack{reordered(), tone()}}).build()
	_, want := cutBuilt(t, plain, 6.55, 8.03)
	tests := []struct {
		name string
		make func(f *testFile)
		same bool // the clip is the plain one's to the byte
	}{
		{"moov in front", func(f *testFile) { f.moovFirst = true }, true},
		{"mdat of 64-bit size", func(f *testFile) { f.wideMdat = true }, true},
		{"mdat of size 0 at the end", func(f *testFile) { f.moovFirst, f.endlessEnd = true, true }, true},
		{"moov of size 0 at the end", func(f *testFile) { f.endlessEnd = true }, false},
		{"sync samples not in order", func(f *testFile) { slices.Reverse(f.tracks[0].sync) }, true},
		{"sync samples listed twice", func(f *testFile) { f.tracks[0].sync = append([]uint32{1}, f.tracks[0].sync...) }, true},
		{"sync samples count from 0", func(f *testFile) {
			for i := range f.tracks[0].sync {
				f.tracks[0].sync[i]--
			}
		}, true},
		{"co64", func(f *testFile) { f.each(func(t *testTrack) { t.tables.co64 = true }) }, true},
		{"stz2 of 4 bits", func(f *testFile) { f.each(func(t *testTrack) { t.tables.compact = 4 }) }, true},
		{"stz2 of 8 bits", func(f *testFile) { f.each(func(t *testTrack) { t.tables.compact = 8 }) }, true},
		{"stz2 of 16 bits", func(f *testFile) { f.each(func(t *testTrack) { t.tables.compact = 16 }) }, true},
		{"elst version 1", func(f *testFile) { f.each(func(t *testTrack) { t.tables.editsV1 = true }) }, true},
		{"mdhd version 1", func(f *testFile) { f.each(func(t *testTrack) { t.tables.mdhdV1 = true }) }, false},
		{"one sample a chunk", func(f *testFile) { f.each(func(t *testTrack) { t.perChunk = 1 }) }, false},
		{"one chunk", func(f *testFile) { f.each(func(t *testTrack) { t.perChunk = 1000 }) }, false},
		{"sound behind pictures", func(f *testFile) { f.apart = true }, false},
		{"boxes before", func(f *testFile) {
			f.before = slices.Concat(mkbox("free", make([]byte, 70000)), mkbox("wide"), mkbox("skip", u32(7)), mkbox("uuid", make([]byte, 16)))
		}, true},
		{"fragments expected, none there", func(f *testFile) { f.expectant = true }, true},
		{"fragments expected, none there, moov in front", func(f *testFile) { f.expectant, f.moovFirst = true, true }, true},
		{"movie timescale 1", func(f *testFile) { f.timescale = 1; f.tracks[0].edits = []testEdit{{10, 100, 0, false}} }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &testFile{tracks: []*testTrack{reordered(), tone()}}
			tt.make(f)
			data := f.build()
			o := openBuilt(t, data)
			_, path := o.cut(t, between(6.55, 8.03))
			clip, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if tt.same && !bytes.Equal(clip, want) {
				t.Errorf("the clip differs from that of the plain file")
			}
			checkTimeline(t, plain, clip, 6.55, 8.03)
		})
	}
}

// TestLibrariesRefuse cuts files that libraries refuse or read wrongly: a moov of
// 64-bit size, media in several mdat boxes.
func TestLibrariesRefuse(t *testing.T) {
	f := &testFile{tracks: []*testTrack{reordered(), tone()}}
	plain := f.build()
	_, want := cutBuilt(t, plain, 6.55, 8.03)
	moov := bytes.LastIndex(plain, []byte("moov")) - 4
	wide := append(bytes.Clone(plain[:moov]), wideBox("moov", plain[moov+8:])...)
	several := bytes.Clone(plain)
	mdat := bytes.Index(several, []byte("mdat")) - 4
	size := be.Uint32(several[mdat:])
	half := size / 4 // another mdat's header stands there, in place of bytes that no clip compares
	be.PutUint32(several[mdat:], half)
	be.PutUint32(several[mdat+int(half):], size-half)
	copy(several[mdat+int(half)+4:], "mdat")
	for name, data := range map[string][]byte{"moov of 64-bit size": wide, "two mdat boxes": several} {
		_, path := openBuilt(t, data).cut(t, between(6.55, 8.03))
		clip, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(clip, want) {
			t.Errorf("%s: the clip differs from that of the plain file", name)
		}
	}
}

// TestNegativeOffsets cuts pictures whose composition offsets are below 0:
// ffprobe gives the clip's pictures the times that the written rule gives them.
func TestNegativeOffsets(t *testing.T) {
	tools.Need(t, "ffprobe")
	track := reordered()
	for i := range track.offsets {
		track.offsets[i] -= 150
	}
	track.edits = []testEdit{{duration: 6000, mediaTime: 0}}
	data := (&testFile{tracks: []*testTrack{track}}).build()
	for _, a := range []float64{0, 2.25, 3} {
		_, clip := cutBuilt(t, data, a, a+1.6)
		path := filepath.Join(t.TempDir(), "clip.mp4")
		if err := os.WriteFile(path, clip, 0o644); err != nil {
			t.Fatal(err)
		}
		var got, want []float64
		for _, p := range oracle.Packets(t, path) {
			got = append(got, p.Time)
		}
		for _, s := range isoTracks(t, clip)[0].samples {
			want = append(want, s.time)
		}
		if !cmp.Equal(got, want, cmpopts.EquateApprox(0, 1e-3)) {
			t.Errorf("from %g s on ffprobe has pictures at %.3f, want %.3f", a, got, want)
		}
	}
}

// TestLastOfNoDuration delivers a last sample whose duration a writer left at
// 0: with the tracks' end, whether the moov is read whole or in parts.
func TestLastOfNoDuration(t *testing.T) {
	for _, track := range []*testTrack{pictures(), reordered()} {
		track.durations[99], track.edits = 0, nil
		data := (&testFile{tracks: []*testTrack{track}}).build()
		_, path := openBuilt(t, data).cut(t, between(9.5, -1))
		clip, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		samples := isoTracks(t, clip)[0].samples
		if want := sha256.Sum256(track.payload(99)); samples[len(samples)-1].hash != want {
			t.Error("the last sample is missing")
		}
		samePlans(t, data, 10)
	}
}

func (f *testFile) each(do func(*testTrack)) {
	for _, t := range f.tracks {
		do(t)
	}
}

// TestEdits cuts through edit lists of every kind.
func TestEdits(t *testing.T) {
	tests := []struct {
		name     string
		edits    []testEdit
		a, b     float64
		duration string
		want     []testEdit // of the clip's track, in milliseconds
	}{
		{"media time", []testEdit{{6000, 500, 0, false}}, 1, 2, "9.5", []testEdit{{1000, 500, 0, false}}},
		{"empty edit before", []testEdit{{600, -1, 0, false}, {6000, 0, 0, false}}, 0.5, 2, "11", []testEdit{{500, -1, 0, false}, {1000, 0, 0, false}}},
		{"inside, after an empty edit", []testEdit{{600, -1, 0, false}, {6000, 0, 0, false}}, 3, 4, "11", []testEdit{{1000, 0, 0, false}}},
		{"two edits", []testEdit{{600, 5000, 0, false}, {600, 1000, 0, false}}, 0.5, 1.5, "2", []testEdit{{500, 1000, 0, false}, {500, 0, 0, false}}},
		{"edit and gap", []testEdit{{600, 2000, 0, false}, {600, -1, 0, false}, {600, 5000, 0, false}}, 0.5, 2.5, "3", []testEdit{{500, 500, 0, false}, {1000, -1, 0, false}, {500, 1000, 0, false}}},
		{"a picture that stands", []testEdit{{600, 2000, 0, true}, {600, 3000, 0, false}}, 0.25, 1.5, "2", []testEdit{{750, 0, 0, true}, {500, 100, 0, false}}},
		{"to the end", []testEdit{{0, 1000, 0, false}}, 8, 20, "9", []testEdit{{1000, 0, 0, false}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			video := pictures()
			video.edits = tt.edits
			o := openBuilt(t, (&testFile{tracks: []*testTrack{video}}).build())
			if got := o.Info().Duration.String(); got != tt.duration {
				t.Errorf("duration %s, want %s", got, tt.duration)
			}
			plan, path := o.cut(t, between(tt.a, tt.b))
			if !plan.Presented.Start.Equal(plan.Requested.Start) || plan.Covered.Start.Cmp(plan.Requested.Start) > 0 || plan.Covered.End.Cmp(plan.Requested.End) < 0 {
				t.Errorf("requested %v, presented %v, covered %v", plan.Requested, plan.Presented, plan.Covered)
			}
			clip, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := editsOf(t, clip); !slices.Equal(got, tt.want) {
				t.Errorf("edits %v, want %v", got, tt.want)
			}
		})
	}
}

// editsOf returns the edit list of a file's first track, in milliseconds (its
// samples' timescale is 1000).
func editsOf(t *testing.T, data []byte) []testEdit {
	t.Helper()
	at := bytes.Index(data, []byte("elst"))
	if at < 0 {
		t.Fatal("no elst")
	}
	scale := int64(be.Uint32(data[bytes.Index(data, []byte("mvhd"))+16:]))
	var out []testEdit
	for n := range int(be.Uint32(data[at+8:])) {
		e := data[at+12+12*n:]
		out = append(out, testEdit{
			duration:  int64(be.Uint32(e)) * 1000 / scale,
			mediaTime: int64(int32(be.Uint32(e[4:]))),
			still:     be.Uint32(e[8:]) == 0,
		})
	}
	return out
}

// TestBoundaries cuts between ticks that no timescale can name: a picture that
// is presented before a does not belong.
func TestBoundaries(t *testing.T) {
	data := (&testFile{tracks: []*testTrack{pictures()}}).build()
	tests := []struct {
		a    float64
		want []testEdit
	}{
		{1, []testEdit{{1000, 0, 0, false}}},
		{1.0000000001, []testEdit{{99, -1, 0, false}, {900, 100, 0, false}}}, // from the next picture on
	}
	for _, tt := range tests {
		o := openBuilt(t, data)
		_, path := o.cut(t, between(tt.a, 2))
		clip, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := editsOf(t, clip); !slices.Equal(got, tt.want) {
			t.Errorf("from %v: edits %v, want %v", tt.a, got, tt.want)
		}
	}
}

// TestSyncByPresentation begins with the sync sample that presents before a,
// also where it is decoded after.
func TestSyncByPresentation(t *testing.T) {
	video := pictures()
	video.offsets = repeat(int32(-200), 100)
	o := openBuilt(t, (&testFile{tracks: []*testTrack{video}}).build())
	_, path := o.cut(t, between(0.85, 1.5)) // the second sync sample: decoded at 1, presented at 0.8
	clip, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	samples := isoTracks(t, clip)[0].samples
	if len(samples) != 7 {
		t.Errorf("%d samples, want the 7 from 0.8 to 1.4", len(samples))
	}
}

// TestEditRate refuses edits that change the speed, by name.
func TestEditRate(t *testing.T) {
	video := pictures()
	video.edits = []testEdit{{600, 0, 0x20000, false}}
	_, err := open(t, seektest.New((&testFile{tracks: []*testTrack{video}}).build()))
	if !errors.Is(err, formats.ErrUnsupported) || !strings.Contains(err.Error(), "elst") {
		t.Errorf("%v, want an unsupported elst", err)
	}
}

// TestOriginalTimeline keeps the original's times: an empty edit in front.
func TestOriginalTimeline(t *testing.T) {
	o := openBuilt(t, (&testFile{tracks: []*testTrack{pictures(), tone()}}).build())
	s := between(3, 4)
	s.Timeline = formats.Original
	_, path := o.cut(t, s)
	clip, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []testEdit{{3000, -1, 0, false}, {1000, 0, 0, false}}
	if got := editsOf(t, clip); !slices.Equal(got, want) {
		t.Errorf("edits %v, want %v", got, want)
	}
	if again := openBuilt(t, clip); again.Info().Duration.String() != "4" {
		t.Errorf("the clip lasts %s s, want 4", again.Info().Duration)
	}
}

// TestTracks says which tracks go into a clip.
func TestTracks(t *testing.T) {
	chapters := &testTrack{id: 3, handler: "text", flags: 2, durations: repeat(uint32(5000), 2), sizes: []uint32{5, 6}}
	hint := &testTrack{id: 4, handler: "hint", durations: repeat(uint32(100), 100), sizes: sizesUpTo(9, 100)}
	off := &testTrack{id: 5, flags: 2, durations: repeat(uint32(50), 200), sizes: sizesUpTo(9, 200)}
	video := pictures()
	video.more = mkbox("tref", mkbox("chap", u32(3)), mkbox("hint", u32(4)))
	data := (&testFile{tracks: []*testTrack{video, tone(), chapters, hint, off}}).build()
	o := openBuilt(t, data)
	tests := []struct {
		tracks []string
		want   string
		tref   bool
	}{
		{nil, "1 2 3", true}, // chapters belong to the video, though off by themselves
		{[]string{"2"}, "2", false},
		{[]string{"5", "2", "5"}, "2 5", false},
		{[]string{"1"}, "1 3", true},
	}
	for _, tt := range tests {
		s := between(3, 6)
		s.Tracks = tt.tracks
		plan, path := o.cut(t, s)
		var ids []string
		for _, track := range plan.Tracks {
			ids = append(ids, track.ID)
		}
		if got := strings.Join(ids, " "); got != tt.want {
			t.Errorf("tracks %v: the clip has %s, want %s", tt.tracks, got, tt.want)
		}
		clip, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Contains(clip, []byte("chap")); got != tt.tref {
			t.Errorf("tracks %v: chapter reference %v, want %v", tt.tracks, got, tt.tref)
		}
		if bytes.Contains(clip, mkbox("hint", u32(4))) {
			t.Errorf("tracks %v: a reference to a track that the clip lacks", tt.tracks)
		}
	}
	s := between(3, 6)
	s.Tracks = []string{"9"}
	if _, err := o.Plan(t.Context(), s); !errors.Is(err, formats.ErrNoTrack) {
		t.Errorf("track 9: %v, want ErrNoTrack", err)
	}
}

// TestRefusals names what a selection cannot have.
func TestRefusals(t *testing.T) {
	o := openBuilt(t, (&testFile{tracks: []*testTrack{pictures()}}).build())
	whole := fragment.From(fragment.Time{})
	tests := []struct {
		name string
		s    formats.Selection
		want error
	}{
		{"verbatim", formats.Selection{Interval: whole, Form: formats.Verbatim}, formats.ErrUnsupported},
		{"unknown layout", formats.Selection{Interval: whole, Layout: "diagonal"}, formats.ErrUnsupported},
		{"empty", formats.Selection{}, formats.ErrNoFragment},
		{"at the end", between(10, 11), formats.ErrPastEnd},
		{"past the end", between(99, -1), formats.ErrPastEnd},
	}
	for _, tt := range tests {
		if _, err := o.Plan(t.Context(), tt.s); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

// TestSoundComposedLater cuts sound whose first sample has a composition offset,
// as some writers of AAC state their priming: ffprobe gives each sample out when it
// does so in the original.
func TestSoundComposedLater(t *testing.T) {
	tools.Need(t, "ffprobe")
	sound := tone()
	sound.offsets = append([]int32{50}, make([]int32, len(sound.sizes)-1)...)
	data := (&testFile{tracks: []*testTrack{sound}}).build()
	path := filepath.Join(t.TempDir(), "original.mp4")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	_, clip := openBuilt(t, data).cut(t, between(0, 3))
	want, got := oracle.Packets(t, path), oracle.Packets(t, clip)
	for i := range min(10, len(want), len(got)) {
		if got[i].Time != want[i].Time || got[i].Hash != want[i].Hash {
			t.Errorf("packet %d of the clip is at %g s, in the original at %g", i, got[i].Time, want[i].Time)
		}
	}
	if len(got) < 60 {
		t.Errorf("%d packets", len(got))
	}
}
