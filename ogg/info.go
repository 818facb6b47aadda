package ogg

import (
	"context"
	"fmt"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

// Info says what the links that are known and the last pages tell. The duration
// of a chained file is known once all its links are: see Inspect.
func (m *media) Info() formats.Info {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.links[0]
	info := formats.Info{
		Format: Name, MediaType: l.mediaType(), StartTime: l.begin,
		Index: Granules, Seekable: true, Timed: m.complete,
	}
	if l.skeleton.indexed() {
		info.Index = Skeleton
	}
	for _, k := range m.links {
		info.Timed = info.Timed && k.ended
		info.Duration = info.Duration.Add(k.length())
		for _, o := range k.others {
			info.Warnings = append(info.Warnings, fragment.Warning{Reason: fmt.Sprintf("at byte %d: stream %d is passed over: %s", o.off, o.serial, o.name)})
		}
		for _, d := range k.damage {
			info.Warnings = append(info.Warnings, d.warning())
		}
	}
	if !info.Timed {
		info.Duration = fragment.Time{}
	}
	for _, s := range l.streams {
		info.Tracks = append(info.Tracks, s.track)
	}
	info.Warnings = append(info.Warnings, m.warnings...)
	if len(m.links) > 1 {
		info.Chapters = m.chapters()
	}
	return info
}

// chapters lists the links of a chained file.
func (m *media) chapters() []formats.Chapter {
	var out []formats.Chapter
	var at fragment.Time
	for i, l := range m.links {
		c := formats.Chapter{ID: fmt.Sprintf("link%d", i+1), Title: l.title(), Interval: fragment.From(at)}
		if l.ended {
			at = at.Add(l.length())
			c.Interval = fragment.Between(c.Start, at)
		}
		out = append(out, c)
	}
	return out
}

// Inspect finds all links.
func (m *media) Inspect(ctx context.Context) (formats.Info, error) {
	if err := m.reach(ctx, func(fragment.Time) bool { return false }); err != nil {
		return formats.Info{}, err
	}
	return m.Info(), nil
}

// reach finds links until enough is known: until far, told how much the links
// that are known present in all, says so, or there are no more.
func (m *media) reach(ctx context.Context, enough func(known fragment.Time) bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		var known fragment.Time
		for _, l := range m.links {
			if l.end >= 0 && l.search != nil {
				known = known.Add(l.length())
			}
		}
		if enough(known) {
			return nil
		}
		if done, err := m.extend(ctx); done || err != nil {
			return err
		}
	}
}

// warning states damage and where it is.
func (d damage) warning() fragment.Warning {
	return fragment.Warning{Reason: fmt.Sprintf("at byte %d: %d bytes passed over: %s", d.off, d.end-d.off, d.reason)}
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
