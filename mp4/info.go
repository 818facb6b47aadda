package mp4

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// Info says what the index tells.
func (f *file) Info() formats.Info {
	i := formats.Info{
		Format:    Name,
		MediaType: f.mediaType(),
		Duration:  f.end,
		Timed:     f.ends,
		Estimated: f.movie.fragmented && f.ends,
		Index:     f.index,
		Seekable:  true,
		Tracks:    f.movie.infos(),
		Created:   f.movie.created(),
		Tags:      f.movie.tags,
	}
	i.Chapters = listChapters(f.movie.marks, f.end)
	return i
}

// Inspect says the same as Info, and what takes a look at the media: the exact
// duration of a fragmented file, and the chapters of a chapter track.
func (f *file) Inspect(ctx context.Context) (formats.Info, error) {
	i := f.Info()
	if f.movie.fragmented {
		end, err := f.lastEnd(ctx)
		switch {
		case err == nil:
			i.Duration, i.Timed, i.Estimated = end, true, false
		case !errors.Is(err, seek.ErrLimit): // where the end is too far away, what the header says stands
			return i, err
		}
	}
	marks := f.movie.marks
	if len(marks) == 0 {
		var err error
		if marks, err = f.textChapters(ctx); err != nil {
			return i, err
		}
	}
	i.Chapters = listChapters(marks, i.Duration)
	return i, nil
}

// lastEnd reads the last fragments of pictures and sound and returns when they
// end.
func (f *file) lastEnd(ctx context.Context) (fragment.Time, error) {
	tracks := slices.DeleteFunc(f.movie.playable(), func(t *track) bool { return t.kind != formats.Video && t.kind != formats.Audio })
	if len(tracks) == 0 {
		tracks = f.movie.playable()
	}
	s, err := f.locator.find(ctx, tracks, func(*track) (from, to int64, ok bool) { return maxTicks - 1, maxTicks, true })
	if err != nil {
		return fragment.Time{}, err
	}
	return f.endOf(tracks, s)
}

// endOf returns when the media of tracks ends, of which a spread has the last
// fragments.
func (f *file) endOf(tracks []*track, s *spread) (fragment.Time, error) {
	tables, _, err := f.movie.gather(tracks, s.all(), s.first, f.limits.Entries)
	if err != nil {
		return fragment.Time{}, err
	}
	v := f.movie.viewOf(tables, false)
	var end fragment.Time
	for _, t := range tracks {
		if tables[t].count > 0 {
			end = end.Max(v.presentation(v.track(t.id)))
		}
	}
	return end, nil
}

// learn takes out of the fragments that are in hand what the moov of a
// fragmented file does not tell: frame rates by the first, and by the last,
// where no index says it, when the presentation ends.
func (f *file) learn(first int64) {
	if m := f.heldFragment(first); m != nil {
		for _, t := range m.trafs {
			if track := f.movie.track(t.id); track != nil && track.kind == formats.Video {
				track.info.FrameRate = t.rate(track.timescale)
			}
		}
	}
	if !f.ends && f.movie.extends > 0 {
		f.end, f.ends = fragment.Ticks(f.movie.extends, f.movie.timescale), true
	}
}

// rate returns how many samples a second there are, 0 where it varies.
func (t *trackFragment) rate(timescale int64) fragment.Time {
	each := int64(-1)
	for n := range t.runs {
		for i := range t.runs[n].count {
			d := int64(t.runs[n].sample(i).duration)
			if each >= 0 && d != each || d == 0 {
				return fragment.Time{}
			}
			each = d
		}
	}
	if each <= 0 {
		return fragment.Time{}
	}
	return fragment.Ticks(timescale, each)
}

// epoch is what times in a file count from, in seconds before 1970.
const epoch = 2_082_844_800

// created returns when the file says that it was made; the zero time where it
// does not.
func (m *movie) created() time.Time {
	p := m.mvhd.payload()
	var seconds uint64
	if p[0] == 1 {
		seconds = be.Uint64(p[4:])
	} else {
		seconds = uint64(be.Uint32(p[4:]))
	}
	if seconds == 0 || seconds > 1<<34 {
		return time.Time{}
	}
	return time.Unix(int64(seconds)-epoch, 0).UTC()
}

// infos returns what is said of the tracks that can be delivered.
func (m *movie) infos() []formats.Track {
	var out []formats.Track
	for _, t := range m.playable() {
		out = append(out, t.info)
	}
	return out
}

// mediaType returns the file's media type: by its brand and by whether it has
// pictures (RFC 4337, RFC 3839).
func (f *file) mediaType() string {
	kind := "audio"
	for _, t := range f.movie.playable() {
		if t.kind == formats.Video {
			kind = "video"
		}
	}
	switch {
	case f.ftyp == nil, f.brand == "qt  ":
		return "video/quicktime"
	case strings.HasPrefix(f.brand, "3gp"):
		return kind + "/3gpp"
	case strings.HasPrefix(f.brand, "3g2"):
		return kind + "/3gpp2"
	}
	return kind + "/mp4"
}
