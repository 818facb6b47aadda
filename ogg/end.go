package ogg

import (
	"context"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// tail sizes: how many bytes are read at a time, from the end backwards, in
// search of the last granule positions, and how many in all.
const (
	tailChunk = 64 << 10
	tailMost  = 4 << 20
)

// close reads the end of a link whose end is known, and prepares its search.
func (l *link) close(ctx context.Context, w *seek.Window, limits formats.Limits) error {
	if l.search != nil {
		return nil
	}
	if err := l.readEnd(ctx, w); err != nil {
		return err
	}
	l.startSearch(w, limits)
	return nil
}

// readEnd reads the last granule positions of the link, whose end is known.
func (l *link) readEnd(ctx context.Context, w *seek.Window) error {
	for chunk := int64(tailChunk / 4); chunk < tailChunk && l.end < w.Info().Size; chunk *= 2 { // what is held of a link within may do
		from := max(l.data, l.end-chunk)
		if data, held := w.Held(seek.Range{Offset: from, Length: l.end - from}); held && l.endsIn(from, data) {
			return nil
		}
	}
	for to, chunk := l.end, int64(tailChunk); to > l.data && l.end-to < tailMost; chunk *= 2 {
		from := max(l.data, to-chunk)
		data, err := w.ReadRange(ctx, seek.Range{Offset: from, Length: l.end - from}, seek.Tail, "last pages")
		if err != nil {
			return err
		}
		if l.endsIn(from, data); l.ended {
			break
		}
		to = from
	}
	switch {
	case l.ended:
	case slices.ContainsFunc(l.streams, func(s *stream) bool { return s.text() && s.ended }):
		l.ended = true // all else ends so far before that it is not looked for: endsIn has taken the last text's end
	case l.end-l.data <= tailMost: // there is no data
		l.finish, l.ended = l.begin, true
	}
	return nil
}

// endsIn takes the link's last bytes, and reports whether all streams have a
// page in them but text, of which there may be none.
func (l *link) endsIn(from int64, data []byte) bool {
	found := scanPages(data, from, from == l.data)
	l.pageBytes = int64(len(data)) / int64(max(1, len(found.pages)))
	l.endDamage = found.damage
	texts := map[*stream]*timeline{}
	for i := range found.pages {
		p := &found.pages[i]
		switch s := l.stream(p.serial); {
		case s == nil || p.off < s.data:
		case s.text():
			if texts[s] == nil {
				texts[s] = newTimeline(s, false)
			}
			s.endsText(p, texts[s].add(p))
		default:
			s.ends(p)
		}
	}
	only, waiting, known := l.onlyText(), false, l.ended
	for _, s := range l.streams {
		waiting = waiting || !s.ended && (!s.text() || only)
		if s.ended && (!s.text() || only) {
			l.ended = true
		}
		if t := s.time(s.finish); s.ended && (!known || l.finish.Less(t)) {
			l.finish, known = t, true
		}
	}
	return l.ended && !waiting
}

// ends takes a page near the link's end.
func (s *stream) ends(p *page) {
	if !p.completes() {
		return
	}
	pos, ok := s.position(p.granule)
	if !ok {
		return
	}
	if !s.ended {
		s.finish = pos.end
	} else {
		s.pageTicks = max(s.pageTicks, satSub(pos.end, s.finish))
	}
	s.finish, s.ended = max(s.finish, pos.end), true
}

// endsText takes a page of text near the link's end, and the texts that end on it.
// Where the stream is ended by a page of its own, that says when. Else it ends with
// the last text; one that does not say how long it shows does so for a tick at
// least.
func (s *stream) endsText(p *page, texts []placed) {
	pos, ok := s.position(p.granule)
	if !ok {
		return
	}
	end, ends := pos.end, p.eos()
	for _, q := range texts {
		if !s.cue(q.data) {
			continue
		}
		ends = false
		if to := max(q.to, satAdd(q.from, 1)); to <= (1<<63-1)>>s.granuleShift() { // else it cannot be true
			end = max(end, to)
		}
	}
	if !ends && s.ended {
		end = max(end, s.finish)
	}
	s.finish, s.ended = end, true
}

// probe returns the most bytes of a probe: half of the usual for sound of less
// than 256 kbit/s, or what its pages need to show one; and five eighths more for
// pictures, whose search is followed by a look back to the keyframe.
func (l *link) probe() int64 {
	const slow = 256_000 / 8 // bytes a second
	if l.ended && l.mediaType() == "audio/ogg" && l.length().Seconds()*slow > float64(l.end-l.data) {
		return min(max(3*l.pageBytes, seek.DefaultProbe/2), max(seek.DefaultProbe*3/4, l.pageBytes))
	}
	return seek.DefaultProbe * 13 / 8
}

// startSearch prepares the search of the link.
func (l *link) startSearch(w *seek.Window, limits formats.Limits) {
	l.search = &seek.Search{Window: w, Recognize: l.recognize, Start: l.data, End: l.end, Probe: l.probe(), MaxRounds: limits.Rounds}
	for _, from := range []int64{l.off, max(l.off, l.end-tailChunk)} {
		if data, ok := w.Held(seek.Range{Offset: from, Length: min(tailChunk, l.end-from)}); ok {
			skip := max(0, l.data-from)
			if skip < int64(len(data)) {
				l.search.Scan(from+skip, data[skip:])
			}
		}
	}
}

// shared returns how much of the link all its streams have, as far as they were
// seen.
func (l *link) shared() fragment.Time {
	end := l.finish
	for _, s := range l.streams {
		switch {
		case s.text():
		case !s.ended:
			return fragment.Time{}
		default:
			end = end.Min(s.time(s.finish))
		}
	}
	return end.Sub(l.begin).Max(fragment.Time{})
}
