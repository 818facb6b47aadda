package formatstest

import (
	"bytes"
	"context"
	"fmt"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// Fake is a container for tests: an index of text lines in front, then the
// samples. It has what real ones have: tracks, key samples, a stated start and
// end, times in the samples that a clip has to rewrite. A clip of a Fake is one.
//
//	fakemedia 1
//	track 1 video          the ID and the kind
//	show 0 12500           what is presented, in ms
//	sample 1 0 500 key 900 track, time and duration in ms, whether decoding can
//	                       begin there (else "-"), and size
//
// An empty line ends the index; the samples follow in its order. A sample
// begins with its time, in eight digits.
type Fake struct {
	// Unsized leaves the sizes of what it rewrites unknown.
	Unsized bool
}

var _ formats.Format = Fake{}

const fakeMagic = "fakemedia 1\n"

// Name returns "fake".
func (Fake) Name() string { return "fake" }

// Detect goes by the first line.
func (Fake) Detect(head []byte, _ seek.Info) bool { return bytes.HasPrefix(head, []byte(fakeMagic)) }

// Open reads the index.
func (f Fake) Open(ctx context.Context, w *seek.Window, env formats.Env) (formats.Media, error) {
	limits := env.Limits.WithDefaults()
	for n := int64(edge); ; n *= 2 {
		if n > limits.Index {
			return nil, fakeError(0, seek.ErrLimit, "the index has more than %d bytes", limits.Index)
		}
		data, err := w.ReadRange(ctx, seek.Range{Length: n}, seek.Index, "index")
		if err != nil {
			return nil, err
		}
		if end := bytes.Index(data, []byte("\n\n")); end >= 0 {
			file, err := parseFake(string(data[:end+1]), limits)
			if err != nil {
				return nil, err
			}
			return &fakeMedia{Fake: f, window: w, file: file}, nil
		}
		if int64(len(data)) < n {
			return nil, fakeError(int64(len(data)), formats.ErrDamaged, "the index does not end")
		}
	}
}

func fakeError(off int64, err error, format string, args ...any) error {
	return &formats.Error{Container: "fake", Element: "index", Offset: off, Problem: fmt.Sprintf(format, args...), Err: err}
}

// fakeMedia is an opened Fake.
type fakeMedia struct {
	Fake
	window *seek.Window
	file   *fakeFile
}

func (m *fakeMedia) Info() formats.Info {
	return formats.Info{
		Format: "fake", MediaType: "video/fake", Index: "front", Seekable: true,
		Timed: true, Duration: millis(m.file.end - m.file.start), StartTime: millis(m.file.start),
		Tracks: m.file.tracks,
	}
}

func (m *fakeMedia) Inspect(context.Context) (formats.Info, error) { return m.Info(), nil }

func millis(n int64) fragment.Time { return fragment.Ticks(n, 1000) }

// Plan cuts the file: from each track's last key sample at or before the start
// to its last sample that begins before the end.
func (m *fakeMedia) Plan(ctx context.Context, s formats.Selection) (*formats.Plan, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.Form == formats.Verbatim {
		return nil, &formats.Error{Container: "fake", Offset: -1, Problem: "a clip needs an index of its own", Hint: "use the standalone form", Err: formats.ErrUnsupported}
	}
	info := m.Info()
	tracks, err := formats.Chosen(info.Tracks, s)
	if err != nil {
		return nil, err
	}
	if !s.Interval.Start.Less(info.Duration) && (s.Interval.Start.Sign() > 0 || !s.Interval.Open) {
		return nil, &formats.PastEndError{Start: s.Interval.Start, Duration: info.Duration}
	}
	asked := s.Interval.Clamp(info.Duration)
	start, end := m.file.start+asked.Start.Floor(1000), m.file.start+asked.End.Ceil(1000)
	clip := m.file.cut(tracks, start, end)
	shift := int64(0)
	if s.Timeline != formats.Original && len(clip.samples) > 0 {
		shift = clip.first()
	}
	p := &formats.Plan{MediaType: info.MediaType, Requested: asked, Tracks: tracks}
	p.Presented = fragment.Between(millis(start-m.file.start), millis(end-m.file.start))
	p.Covered = fragment.Between(millis(clip.first()-m.file.start), millis(clip.last()-m.file.start))
	p.Parts = append([]seek.Part{seek.Literal(clip.shifted(shift).index(), "index")}, m.ranges(clip, shift)...)
	p.Needed = m.file.data
	for _, part := range p.Parts {
		if p.Size += part.Size; part.Size < 0 {
			p.Size = -1
			break
		}
	}
	if n := len(clip.samples); n > 0 {
		p.Needed += clip.samples[n-1].off + clip.samples[n-1].size - clip.samples[0].off
	}
	return p, nil
}

// ranges returns the parts that hold the samples of a clip, one for each stretch
// of the file.
func (m *fakeMedia) ranges(clip *fakeFile, shift int64) []seek.Part {
	var out []seek.Part
	resource := m.window.Info()
	for i := 0; i < len(clip.samples); {
		first := clip.samples[i]
		rewrite := Shift{By: shift}
		end := first.off
		for ; i < len(clip.samples) && clip.samples[i].off == end; i++ {
			rewrite.Sizes = append(rewrite.Sizes, clip.samples[i].size)
			end += clip.samples[i].size
		}
		part := seek.Bytes(&resource, seek.Range{Offset: first.off, Length: end - first.off}, "samples")
		if shift != 0 {
			part.Rewrite = rewrite
		}
		if m.Unsized {
			part.Size, part.Rewrite = -1, rewrite
		}
		out = append(out, part)
	}
	return out
}
