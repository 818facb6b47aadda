package webm

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

// edition is one EditionEntry.
type edition struct {
	raw    []byte // its elements that are not chapters
	uid    uint64
	hidden bool
	atoms  []atom
}

// atom is one ChapterAtom.
type atom struct {
	raw      []byte // its elements that are neither the UID, times nor chapters
	uid      uint64
	stringID string
	title    string
	language string
	start    int64 // ns
	end      int64 // ns, -1: not told
	shown    bool
	atoms    []atom
}

// id is what names the chapter: its ChapterStringUID, else its ChapterUID.
func (a *atom) id() string { return cmp.Or(a.stringID, strconv.FormatUint(a.uid, 10)) }

// maxChapterDepth bounds how deep chapters are nested.
const maxChapterDepth = 16

// parseChapters reads the body of a Chapters element, as far as it is sound.
func parseChapters(l lengths, e element, body []byte) []edition {
	var out []edition
	each(l, e, body, func(x element, b []byte) {
		if x.id != idEditionEntry {
			return
		}
		var ed edition
		each(l, x, b, func(y element, b []byte) {
			switch y.id {
			case idChapterAtom:
				ed.atoms = append(ed.atoms, parseAtom(l, y, b, 0))
				return
			case idEditionUID:
				ed.uid = uintOf(b)
			case idEditionFlagHidden:
				ed.hidden = uintOf(b) != 0
			case idEditionFlagOrdered:
				return // a clip's chapters describe, they do not arrange
			}
			ed.raw = appendElement(ed.raw, y.id, b)
		})
		out = append(out, ed)
	})
	return out
}

func parseAtom(l lengths, e element, body []byte, depth int) atom {
	a := atom{end: -1, shown: true}
	each(l, e, body, func(x element, b []byte) {
		switch x.id {
		case idChapterTimeStart:
			a.start = ticksOf(b)
			return
		case idChapterTimeEnd:
			a.end = ticksOf(b)
			return
		case idChapterAtom:
			if depth < maxChapterDepth {
				a.atoms = append(a.atoms, parseAtom(l, x, b, depth+1))
			}
			return
		case idChapterUID:
			a.uid = uintOf(b)
			return
		case idChapterStringUID:
			a.stringID = stringOf(b)
		case idChapterFlagHidden:
			a.shown = a.shown && uintOf(b) == 0
		case idChapterFlagEnabled:
			a.shown = a.shown && uintOf(b) != 0
		case idChapterDisplay:
			if a.title == "" {
				a.display(l, x, b)
			}
		}
		if x.id != 0 {
			a.raw = appendElement(a.raw, x.id, b)
		}
	})
	return a
}

func (a *atom) display(l lengths, e element, body []byte) {
	a.language = "eng" // the default
	bcp47 := ""
	each(l, e, body, func(x element, b []byte) {
		switch x.id {
		case idChapString:
			a.title = stringOf(b)
		case idChapLanguage:
			a.language = stringOf(b)
		case idChapLanguageBCP47:
			bcp47 = stringOf(b)
		}
	})
	if bcp47 != "" {
		a.language = bcp47
	}
}

// chapterList returns the chapters of all editions that are shown, parents
// before their children, on the presentation's timeline.
func (m *media) chapterList() []formats.Chapter {
	var out []formats.Chapter
	end := int64(maxOffset)
	if m.timed {
		end = m.start + m.duration
	}
	for _, ed := range m.chapters {
		if !ed.hidden {
			out = m.appendChapters(out, ed.atoms, end)
		}
	}
	return out
}

func (m *media) appendChapters(out []formats.Chapter, atoms []atom, parentEnd int64) []formats.Chapter {
	for i, a := range atoms {
		end := a.end
		if end < 0 { // up to the next, or to the end of what it is in
			end = parentEnd
			for _, next := range atoms[i+1:] {
				if next.start > a.start {
					end = min(end, next.start)
					break
				}
			}
		}
		if a.shown {
			c := formats.Chapter{ID: a.id(), Title: a.title, Language: a.language}
			c.Interval = fragment.Between(nanos(max(0, a.start-m.start)), nanos(max(0, end-m.start)))
			if end >= maxOffset {
				c.Interval = fragment.From(c.Interval.Start)
			}
			out = append(out, c)
		}
		out = m.appendChapters(out, a.atoms, end)
	}
	return out
}

// clipEditions are the editions of a clip. Each edition of a later Segment goes on
// with the chapters of the one in its place.
type clipEditions struct {
	raw   [][]byte // what stands in each beside its chapters
	atoms [][]byte
	uids  map[uint64]bool // of the Segments before
	own   map[uint64]bool
}

// add adds the chapters of a Segment in [from, to), in ns, less shift.
func (c *clipEditions) add(editions []edition, from, to, shift int64) {
	c.own = map[uint64]bool{}
	for i, ed := range editions {
		if i == len(c.raw) {
			c.raw, c.atoms = append(c.raw, ed.raw), append(c.atoms, nil)
		}
		c.atoms[i] = append(c.atoms[i], c.clip(ed.atoms, from, to, shift)...)
	}
	if c.uids == nil {
		c.uids = map[uint64]bool{}
	}
	maps.Copy(c.uids, c.own)
}

// bytes writes the editions that have chapters.
func (c *clipEditions) bytes() (out []byte) {
	for i, atoms := range c.atoms {
		if len(atoms) > 0 {
			out = appendElement(out, idEditionEntry, append(slices.Clip(c.raw[i]), atoms...))
		}
	}
	return out
}

func (c *clipEditions) clip(atoms []atom, from, to, shift int64) (out []byte) {
	for i, a := range atoms {
		end := a.end
		if end < 0 {
			end = to
			if i+1 < len(atoms) {
				end = min(end, max(atoms[i+1].start, a.start))
			}
		}
		if a.start >= to || end <= from && a.start < from {
			continue
		}
		var body []byte
		if uid := a.uid; uid != 0 {
			for c.uids[uid] {
				uid++
			}
			c.own[uid] = true
			body = appendUint(body, idChapterUID, uid)
		}
		body = append(body, a.raw...)
		body = appendUint(body, idChapterTimeStart, uint64(max(a.start, from)-shift))
		if a.end >= 0 {
			body = appendUint(body, idChapterTimeEnd, uint64(min(a.end, to)-shift))
		}
		body = append(body, c.clip(a.atoms, from, to, shift)...)
		out = appendElement(out, idChapterAtom, body)
	}
	return out
}

func nanos(ns int64) fragment.Time { return fragment.Ticks(ns, 1e9) }
