package ogg

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

// Info says what the links that are known and the last pages tell. The duration
// of a chained file is known once all its links are: see Inspect.
func (m *media) Info() formats.Info {
	c := m.links()
	l := c.links[0]
	info := formats.Info{
		Format: Name, MediaType: l.mediaType(), StartTime: l.begin,
		Index: Granules, Seekable: true, Timed: c.timed(),
	}
	if info.Timed {
		info.Duration = c.length
	}
	if l.skeleton.indexed() {
		info.Index = Skeleton
	}
	for i, k := range c.links {
		chapter := ""
		if len(c.links) > 1 {
			chapter = chapterID(i)
		}
		k.describe(&info, chapter)
		for _, o := range k.others {
			info.Warnings = append(info.Warnings, fragment.Warning{Reason: fmt.Sprintf("at byte %d: stream %d is passed over: %s", o.off, o.serial, o.name)})
		}
		all := k.damage
		if i < c.closed {
			all = append(slices.Clip(all), k.endDamage...)
			slices.SortFunc(all, func(a, b damage) int { return cmp.Compare(a.off, b.off) })
			all = slices.Compact(all)
		}
		for _, d := range all {
			info.Warnings = append(info.Warnings, d.warning())
		}
	}
	for _, s := range l.streams {
		info.Tracks = append(info.Tracks, s.track)
	}
	info.Warnings = append(info.Warnings, c.warnings...)
	if len(c.links) > 1 {
		info.Chapters = c.chapters()
	}
	return info
}

// chapters lists the links of a chained file.
func (c *chain) chapters() []formats.Chapter {
	var out []formats.Chapter
	var at fragment.Time
	for i, l := range c.links {
		one := formats.Chapter{ID: chapterID(i), Title: l.title(), Interval: fragment.From(at)}
		if i < c.closed && (c.complete || i < len(c.links)-1) {
			at = at.Add(l.length())
			one.Interval = fragment.Between(one.Start, at)
		}
		out = append(out, one)
	}
	return out
}

func chapterID(link int) string { return fmt.Sprintf("link%d", link+1) }

// timed reports whether the duration is known.
func (c *chain) timed() bool {
	return c.complete && !slices.ContainsFunc(c.links, func(l *link) bool { return !l.ended })
}

// Inspect finds all links. A resource that can only be read from its beginning,
// and may never end, is not read for that.
func (m *media) Inspect(ctx context.Context) (formats.Info, error) {
	for {
		err := m.reach(ctx, func(fragment.Time) bool {
			i := m.window.Info()
			return i.Sequential && i.Size < 0
		})
		if err != nil {
			return formats.Info{}, err
		}
		revised, err := m.review(ctx, m.links()).wait(ctx)
		if err != nil {
			return formats.Info{}, err
		} else if !revised {
			return m.Info(), nil
		}
	}
}

// warning states damage and where it is.
func (d damage) warning() fragment.Warning {
	return fragment.Warning{Reason: fmt.Sprintf("at byte %d: %s", d.off, d.passedOver())}
}

// passedOver states damage but for where it is.
func (d damage) passedOver() string {
	if d.end == d.off {
		return d.reason
	}
	return fmt.Sprintf("%d bytes passed over: %s", d.end-d.off, d.reason)
}

// mediaType is the type of a file with the link's streams (RFC 5334).
func (l *link) mediaType() string {
	kind := "application/ogg"
	for _, s := range l.streams {
		switch {
		case s.video():
			return "video/ogg"
		case s.audio():
			kind = "audio/ogg"
		}
	}
	return kind
}
