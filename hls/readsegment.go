package hls

import (
	"strconv"
	"strings"
	"time"

	"github.com/mediafrag/mediafrag/seek"
)

// byteRange is a byte range as a playlist writes it: n[@o].
type byteRange struct {
	length, offset int64 // offset -1: behind the range before
}

// parseByteRange reads "n@o" or "n"; ok is false for what is neither.
func parseByteRange(s string) (b byteRange, ok bool) {
	n, o, _ := strings.Cut(strings.TrimSpace(s), "@")
	length, err := strconv.ParseInt(strings.TrimSpace(n), 10, 62)
	if err != nil || length < 0 {
		return b, false
	}
	b = byteRange{length, -1}
	if o = strings.TrimSpace(o); o != "" {
		if b.offset, err = strconv.ParseInt(o, 10, 62); err != nil || b.offset < 0 {
			return b, false
		}
	}
	return b, true
}

// segmentTag reads a tag about the next segment, or about all that follow.
func (r *reader) segmentTag(name, value, line string) error {
	switch name {
	case "#EXTINF":
		length, _, _ := strings.Cut(value, ",")
		d, ok := parseSeconds(length)
		if !ok && isNumber(length) || d < 0 {
			return damaged("EXTINF", r.offset, "a segment lasts "+shorten(length)+" s")
		}
		r.duration, r.timed, r.broken = d, true, !ok
	case "#EXT-X-BYTERANGE":
		if b, ok := parseByteRange(value); ok {
			r.bytes = &b
		} else {
			r.bytes = &byteRange{-1, -1}
		}
	case "#EXT-X-DISCONTINUITY":
		r.discontinuity++
	case "#EXT-X-GAP":
		r.gap = true
	case "#EXT-X-PROGRAM-DATE-TIME":
		if date, ok := parseDate(value); ok {
			r.date, r.dateStart, r.dated = date, r.end, true
		}
	case "#EXT-X-KEY":
		r.setKey(parseAttributes(value))
	case "#EXT-X-MAP":
		a := parseAttributes(value)
		section := &initSection{uri: a.get("URI"), bytes: seek.Range{Length: seek.ToEnd}, keys: r.keys, attrs: a}
		if b, ok := parseByteRange(a.get("BYTERANGE")); ok {
			section.bytes = seek.Range{Offset: max(0, b.offset), Length: b.length}
		}
		r.init = section
	case "#EXT-X-PART":
		return r.part(parseAttributes(value))
	case "#EXT-X-DATERANGE":
		return r.dateRange(parseAttributes(value))
	}
	return r.keep(&r.lines, line)
}

// isNumber reports whether s is a decimal number, however large.
func isNumber(s string) bool {
	s = strings.TrimSpace(s)
	return s != "" && strings.Trim(s, "0123456789.") == ""
}

// cut shortens a text from a playlist for an error.
func shorten(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// setKey notes a key for all segments that follow. Keys of several formats stand
// side by side; NONE ends them all.
func (r *reader) setKey(a attributes) {
	k := &key{method: a.get("METHOD"), uri: a.get("URI"), format: a.get("KEYFORMAT"), attrs: a}
	if k.format == "identity" {
		k.format = ""
	}
	if iv, ok := parseIV(a.get("IV")); ok {
		k.iv = &iv
	} else {
		k.badIV = a.has("IV")
	}
	if k.method == "NONE" {
		r.keys = nil
		return
	}
	var keys []*key
	for _, other := range r.keys {
		if other.format != k.format {
			keys = append(keys, other)
		}
	}
	const formats = 16 // more than there are
	if len(keys) < formats {
		keys = append(keys, k)
	}
	r.keys = keys
}

// part reads EXT-X-PART.
func (r *reader) part(a attributes) error {
	if len(r.parts) >= maxParts {
		return limited("EXT-X-PART", r.offset, "too many partial segments")
	}
	p := partial{uri: a.get("URI"), bytes: seek.Range{Length: seek.ToEnd}, independent: a.yes("INDEPENDENT"), gap: a.yes("GAP")}
	p.duration, _ = a.seconds("DURATION")
	p.duration = max(0, p.duration)
	if b, ok := parseByteRange(a.get("BYTERANGE")); ok {
		if b.offset < 0 && r.partURI == p.uri {
			b.offset = r.partEnd
		}
		p.bytes = seek.Range{Offset: max(0, b.offset), Length: b.length}
		r.partURI, r.partEnd = p.uri, p.bytes.End()
	}
	r.parts = append(r.parts, p)
	return nil
}

// dateRange reads EXT-X-DATERANGE. Tags of one ID are one range.
func (r *reader) dateRange(a attributes) error {
	if len(r.m.ranges) >= maxRanges {
		return limited("EXT-X-DATERANGE", r.offset, "too many date ranges")
	}
	r.m.header = append(r.m.header, "#EXT-X-DATERANGE:"+a.String())
	d := dateRange{id: a.get("ID"), class: a.get("CLASS"), attrs: a}
	d.start, _ = a.date("START-DATE")
	if end, ok := a.date("END-DATE"); ok {
		d.end = end
	} else if length, ok := a.seconds("DURATION"); ok && !d.start.IsZero() {
		d.end = d.start.Add(length)
	} else if length, ok := a.seconds("PLANNED-DURATION"); ok && !d.start.IsZero() {
		d.end = d.start.Add(length)
	}
	r.m.ranges = append(r.m.ranges, d)
	return nil
}

// segment ends a segment's tags: its URI has come.
func (r *reader) segment(uri string) error {
	m := r.m
	if int64(len(m.segments)) >= r.limit {
		return limited("", r.offset, "a playlist has at most "+strconv.FormatInt(r.limit, 10)+" segments")
	}
	s := segment{
		uri: uri, start: r.end, duration: r.duration, bytes: seek.Range{Length: seek.ToEnd},
		keys: r.keys, init: r.init, discontinuity: r.discontinuity, gap: r.gap, parts: r.parts, lines: r.lines,
	}
	if !r.timed || r.broken {
		s.duration = m.target
		r.warn("segment %d has no duration that can be read: the target duration, %v, is taken for it", len(m.segments), m.target)
	}
	if r.end > longest-s.duration {
		return damaged("EXTINF", r.offset, "the segments last longer than a century")
	}
	if r.dated {
		s.date = r.date.Add(r.end - r.dateStart)
	}
	r.place(&s)
	if undefined(uri) {
		s.problem = "its URI names a variable that is not defined"
	}
	m.segments = append(m.segments, s)
	r.end = s.end()
	r.lines, r.bytes, r.parts, r.gap, r.timed, r.duration = nil, nil, nil, false, false, 0
	return nil
}

// place gives a segment its byte range. One without an offset begins where that
// of the segment before ends, in the same resource.
func (r *reader) place(s *segment) {
	b := r.bytes
	lastURI, lastEnd := r.lastURI, r.lastEnd
	r.lastURI, r.lastEnd = s.uri, -1
	switch {
	case b == nil:
		return
	case b.length < 0:
		s.problem = "its EXT-X-BYTERANGE cannot be read"
		return
	case b.offset < 0 && len(r.m.segments) == 0 && r.m.skipped == 0: // against the rules, but it can mean nothing else
		b.offset = 0
	case b.offset < 0 && (lastEnd < 0 || lastURI != s.uri):
		s.problem = "its EXT-X-BYTERANGE has no offset, and the segment before is no range of the same resource"
		return
	case b.offset < 0:
		b.offset = lastEnd
	}
	s.bytes = seek.Range{Offset: b.offset, Length: b.length}
	r.lastEnd = s.bytes.End()
}

// at returns the wall-clock time of a time on the timeline; ok is false where
// the playlist does not tell it.
func (m *media) at(t time.Duration) (date time.Time, ok bool) {
	for i := range m.segments {
		if s := &m.segments[i]; !s.date.IsZero() && (t < s.end() || i == len(m.segments)-1) {
			return s.date.Add(t - s.start), true
		}
	}
	return time.Time{}, false
}

// timeOf returns the time on the timeline of a date; ok is false where the
// playlist does not tell dates.
func (m *media) timeOf(date time.Time) (t time.Duration, ok bool) {
	found := false
	for i := range m.segments {
		s := &m.segments[i]
		if s.date.IsZero() {
			continue
		}
		if found && date.Before(s.date) {
			break
		}
		t, found = s.start+date.Sub(s.date), true
	}
	return t, found
}
