package webm

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// Tags are not read when a file is opened: a clip takes them along where they
// are small, Inspect reads them.
const (
	// tagsGuess is how much is read for a clip where Tags are known to be.
	tagsGuess = 16 << 10
	// maxTags is the most bytes of Tags that are read, and that a clip keeps.
	maxTags = 1 << 20
	// maxTagDepth bounds how deep tags are nested.
	maxTagDepth = 8
)

// prefetchTags begins to fetch the tags of a clip, beside its ends.
func (p *planner) prefetchTags() {
	for _, at := range p.m.tagsAt {
		if e, body := p.m.heldTags(at); body == nil && e.size <= tagsGuess {
			p.m.w.Prefetch(p.m.tagsRequest(e))
		}
	}
}

// takeTags reads the tags that still hold for the clip. They never cost a round
// trip of their own: those that are larger than was guessed are left out unless
// they are at hand.
func (p *planner) takeTags(ctx context.Context) error {
	for _, at := range p.m.tagsAt {
		e, body, err := p.m.readTags(ctx, at, tagsGuess)
		if err != nil {
			return err
		}
		if body == nil {
			p.warn("the Tags at byte %d are left out: they are damaged, or larger than %d bytes", at, tagsGuess)
			continue
		}
		each(p.m.doc.lengths, e, body, func(x element, b []byte) {
			if x.id == idTag {
				p.tags = append(p.tags, p.clipTag(x, b))
			}
		})
	}
	return nil
}

// heldTags returns what is at hand of a Tags element: its header, as far as it
// is known, and its body, nil where it is not all at hand or none.
func (m *media) heldTags(at int64) (element, []byte) {
	unknown := element{id: idTags, offset: at, size: unknownSize}
	head, ok := m.w.Held(seek.Range{Offset: at, Length: min(maxHeader, m.limit()-at)})
	if !ok {
		return unknown, nil
	}
	e, err := m.doc.parse(head, at)
	if err != nil || e.id != idTags || e.size < 0 || e.size > maxTags {
		return element{offset: at, size: maxOffset}, nil // none that is read
	}
	if body, ok := m.w.Held(seek.Range{Offset: e.body(), Length: e.size}); ok && int64(len(body)) == e.size {
		return e, body[:e.size:e.size]
	}
	return e, nil
}

// tagsRequest asks for a Tags element, or for what probably is one.
func (m *media) tagsRequest(e element) seek.Request {
	n := int64(tagsGuess)
	if e.size >= 0 {
		n = e.head + e.size
	}
	return seek.Request{Range: seek.Range{Offset: e.offset, Length: min(n, m.limit()-e.offset)}, Purpose: seek.Index, Note: "Tags"}
}

// readTags reads a Tags element of at most so many bytes, or one that is at
// hand. The body is nil for one that is larger, and for what is none.
func (m *media) readTags(ctx context.Context, at, most int64) (e element, body []byte, err error) {
	for range 2 { // its size, where that is not known, and the rest
		if e, body = m.heldTags(at); body != nil || e.size > most {
			return e, body, nil
		}
		if _, err := m.w.Read(ctx, m.tagsRequest(e)); err != nil {
			return e, nil, err
		}
	}
	e, body = m.heldTags(at)
	return e, body, nil
}

// tagsElement is the clip's Tags, nil where none are left.
func (p *planner) tagsElement() []byte {
	var body []byte
	told := map[string]bool{}
	for _, q := range p.all() {
		for _, tag := range q.tags {
			if !told[string(tag)] { // what all Segments say stands once
				told[string(tag)] = true
				body = append(body, tag...)
			}
		}
	}
	if len(body) == 0 {
		return nil
	}
	return appendElement(nil, idTags, body)
}

// clipTag returns a Tag without what counts the original, nil where nothing is
// left or it is of something that the clip does not have.
func (p *planner) clipTag(e element, body []byte) []byte {
	var kept []byte
	applies, values := true, 0
	each(p.m.doc.lengths, e, body, func(x element, b []byte) {
		switch x.id {
		case idTargets:
			each(p.m.doc.lengths, x, b, func(y element, b []byte) { applies = applies && p.targets(y.id, uintOf(b)) })
		case idSimpleTag:
			if isStatistic(p.m.childString(x, b, idTagName)) {
				return
			}
			values++
		}
		kept = appendElement(kept, x.id, b)
	})
	if !applies || values == 0 {
		return nil
	}
	return appendElement(nil, idTag, kept)
}

// targets reports whether the clip has what a tag is about. A UID of 0 is all of
// that kind.
func (p *planner) targets(id uint32, uid uint64) bool {
	if uid == 0 {
		return true
	}
	switch id {
	case idTagTrackUID:
		return slices.ContainsFunc(p.leader.tracks, func(t *track) bool { return t.uid == uid })
	case idTagChapterUID:
		return slices.ContainsFunc(p.m.chapters, func(ed edition) bool { return p.keeps(ed.atoms, uid) })
	case idTagEditionUID:
		return slices.ContainsFunc(p.m.chapters, func(ed edition) bool { return ed.uid == uid && p.keeps(ed.atoms, 0) })
	case idTagAttachmentUID:
		return p.sel.Attachments
	}
	return true
}

// keeps reports whether the clip has a chapter of the given UID, 0 for any.
func (p *planner) keeps(atoms []atom, uid uint64) bool {
	return slices.ContainsFunc(atoms, func(a atom) bool {
		return (uid == 0 || a.uid == uid) && a.start < p.b && (a.end < 0 || a.end > p.zero) || p.keeps(a.atoms, uid)
	})
}

// isStatistic reports whether a tag counts what the original has, as mkvmerge
// and ffmpeg write them, perhaps with a language behind.
func isStatistic(name string) bool {
	name, _, _ = strings.Cut(strings.ToUpper(name), "-")
	switch name {
	case "DURATION", "BPS", "NUMBER_OF_FRAMES", "NUMBER_OF_BYTES", "SOURCE_OSHASH":
		return true
	}
	return strings.HasPrefix(name, "_STATISTICS_")
}

// childString returns the string of an element's first child of an ID.
func (m *media) childString(e element, body []byte, id uint32) (s string) {
	each(m.doc.lengths, e, body, func(x element, b []byte) {
		if x.id == id && s == "" {
			s = stringOf(b)
		}
	})
	return s
}

// tagList reads a Tags element for people. A Tag that is about several tracks
// or chapters stands there for each.
func (m *media) tagList(e element, body []byte) (out []formats.Tag) {
	each(m.doc.lengths, e, body, func(tag element, b []byte) {
		if tag.id != idTag {
			return
		}
		var about []formats.Tag
		each(m.doc.lengths, tag, b, func(x element, b []byte) {
			if x.id != idTargets {
				return
			}
			each(m.doc.lengths, x, b, func(y element, b []byte) {
				switch uid := uintOf(b); {
				case uid == 0:
				case y.id == idTagTrackUID:
					about = append(about, formats.Tag{Track: m.trackID(uid)})
				case y.id == idTagChapterUID:
					about = append(about, formats.Tag{Chapter: m.chapterID(uid)})
				}
			})
		})
		if len(about) == 0 {
			about = []formats.Tag{{}}
		}
		for _, of := range about {
			out = m.simpleTags(out, tag, b, of, 0)
		}
	})
	return out
}

// simpleTags appends the SimpleTags in an element, with those that they hold.
func (m *media) simpleTags(out []formats.Tag, e element, body []byte, of formats.Tag, depth int) []formats.Tag {
	each(m.doc.lengths, e, body, func(x element, b []byte) {
		if x.id != idSimpleTag || depth > maxTagDepth {
			return
		}
		t := of
		if t.Name = m.childString(x, b, idTagName); of.Name != "" {
			t.Name = of.Name + "/" + t.Name
		}
		t.Value = m.childString(x, b, idTagString)
		if t.Language = m.childString(x, b, idTagLanguageBCP47); t.Language == "" {
			t.Language = m.childString(x, b, idTagLanguage)
		}
		if t.Language == "und" {
			t.Language = ""
		}
		if t.Value != "" { // a binary one is nothing to read
			out = append(out, t)
		}
		out = m.simpleTags(out, x, b, t, depth+1)
	})
	return out
}

// trackID is the ID of the track of a UID; of one that is not there the UID.
func (m *media) trackID(uid uint64) string {
	for _, t := range m.tracks {
		if t.uid == uid {
			return t.ID
		}
	}
	return strconv.FormatUint(uid, 10)
}

// chapterID is the same of a chapter.
func (m *media) chapterID(uid uint64) string {
	var find func(atoms []atom) string
	find = func(atoms []atom) string {
		for _, a := range atoms {
			if a.uid == uid {
				return a.id()
			}
			if id := find(a.atoms); id != "" {
				return id
			}
		}
		return ""
	}
	for _, ed := range m.chapters {
		if id := find(ed.atoms); id != "" {
			return id
		}
	}
	return strconv.FormatUint(uid, 10)
}
