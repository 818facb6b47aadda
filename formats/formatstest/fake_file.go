package formatstest

import (
	"fmt"
	"math"
	"strings"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// fakeFile is the index of a Fake.
type fakeFile struct {
	tracks     []formats.Track
	start, end int64 // what is presented, in ms
	samples    []fakeSample
	data       int64 // where the samples begin
}

type fakeSample struct {
	track          string
	time, duration int64 // in ms
	key            string
	off, size      int64 // in the resource
}

// timeDigits is how many digits a sample begins with.
const timeDigits = 8

// parseFake reads an index with its first line and without its last, empty one.
func parseFake(text string, limits formats.Limits) (*fakeFile, error) {
	f := &fakeFile{data: int64(len(text)) + 1}
	at := int64(len(fakeMagic))
	off := f.data
	for line := range strings.Lines(text[len(fakeMagic):]) {
		var t formats.Track
		var s fakeSample
		switch line := strings.TrimSuffix(line, "\n"); {
		case scan(line, "track %s %s", &t.ID, &t.Kind):
			t.Codec, t.Default = "fake", t.Kind != formats.Subtitle
			f.tracks = append(f.tracks, t)
		case scan(line, "show %d %d", &f.start, &f.end) && 0 <= f.start && f.start <= f.end:
		case scan(line, "sample %s %d %d %s %d", &s.track, &s.time, &s.duration, &s.key, &s.size) &&
			s.size >= timeDigits && s.size < math.MaxInt64-off && s.time >= 0 && s.time < 1e8 && s.duration > 0 && s.duration < 1e8:
			s.off = off
			off += s.size
			f.samples = append(f.samples, s)
		default:
			return nil, fakeError(at, formats.ErrDamaged, "line %q", line)
		}
		if int64(len(f.samples)+len(f.tracks)) > limits.Entries {
			return nil, fakeError(at, seek.ErrLimit, "more than %d entries", limits.Entries)
		}
		at += int64(len(line))
	}
	return f, nil
}

// scan reads a line of the given form, and reports whether it is one.
func scan(line, form string, into ...any) bool {
	n, err := fmt.Sscanf(line, form, into...)
	return err == nil && n == len(into)
}

// cut returns the samples of tracks that it takes to present [start, end).
func (f *fakeFile) cut(tracks []formats.Track, start, end int64) *fakeFile {
	clip := &fakeFile{tracks: tracks, start: start, end: end}
	from := map[string]int64{} // by track: the time of its key sample
	for _, t := range tracks {
		from[t.ID] = start
		for _, s := range f.samples {
			if s.track == t.ID && s.key == "key" && s.time <= start {
				from[t.ID] = s.time
			}
		}
	}
	for _, s := range f.samples {
		if begin, ok := from[s.track]; ok && s.time+s.duration > begin && s.time < end {
			clip.samples = append(clip.samples, s)
		}
	}
	return clip
}

// first returns when the first sample begins, in ms.
func (f *fakeFile) first() int64 {
	t := f.start
	for _, s := range f.samples {
		t = min(t, s.time)
	}
	return t
}

// last returns when the last sample ends, in ms.
func (f *fakeFile) last() int64 {
	t := f.start
	for _, s := range f.samples {
		t = max(t, s.time+s.duration)
	}
	return t
}

// shifted returns the file with all times earlier by so many ms.
func (f *fakeFile) shifted(by int64) *fakeFile {
	g := *f
	g.start, g.end = f.start-by, f.end-by
	g.samples = nil
	for _, s := range f.samples {
		s.time -= by
		g.samples = append(g.samples, s)
	}
	return &g
}

// index returns the text of the index.
func (f *fakeFile) index() []byte {
	var b strings.Builder
	b.WriteString(fakeMagic)
	for _, t := range f.tracks {
		fmt.Fprintf(&b, "track %s %s\n", t.ID, t.Kind)
	}
	fmt.Fprintf(&b, "show %d %d\n", f.start, f.end)
	for _, s := range f.samples {
		fmt.Fprintf(&b, "sample %s %d %d %s %d\n", s.track, s.time, s.duration, s.key, s.size)
	}
	b.WriteString("\n")
	return []byte(b.String())
}

// FakeFile returns a Fake of so many seconds with a video track "1", with a key
// sample every 2 s, an audio track "2", and a subtitle track "3" that is off by
// default. A second has about 4 kB.
func FakeFile(seconds int) []byte {
	f := &fakeFile{end: int64(seconds) * 1000}
	for id, kind := range []formats.Kind{formats.Video, formats.Audio, formats.Subtitle} {
		f.tracks = append(f.tracks, formats.Track{ID: fmt.Sprint(id + 1), Kind: kind})
	}
	add := func(track string, time, duration int64, key string, size int64) {
		f.samples = append(f.samples, fakeSample{track: track, time: time, duration: duration, key: key, size: size})
	}
	for t := int64(0); t < f.end; t += 250 {
		switch {
		case t%2000 == 0:
			add("1", t, 500, "key", 3000+t%700)
		case t%500 == 0:
			add("1", t, 500, "-", 900+t%300)
		}
		if t%3000 == 0 {
			add("3", t, 2000, "key", 60)
		}
		add("2", t, 250, "key", 400)
	}
	out := f.index()
	for i, s := range f.samples {
		out = fmt.Appendf(out, "%0*d", timeDigits, s.time)
		for n := range s.size - timeDigits {
			out = append(out, byte(i)*31+byte(n)*7+byte(n>>8))
		}
	}
	return out
}
