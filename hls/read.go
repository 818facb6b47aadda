package hls

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// Limits on what a playlist may cost, whatever it says of itself.
const (
	maxPlaylist = 64 << 20 // bytes of one playlist
	maxSegments = 200_000  // of one playlist: nine days of 4 s each
	maxEntries  = 10_000   // variants and renditions of a master playlist
	maxRanges   = 10_000   // date ranges
	maxParts    = 10_000   // partial segments
	maxLines    = 2_000_000
	maxWarnings = 20
)

// signature is what every playlist begins with.
const signature = "#EXTM3U"

// reader reads one playlist, line by line. What the next segment inherits stands
// in its fields.
type reader struct {
	*playlist
	imported variables
	known    *media // what a delta update is relative to; may be nil
	m        *media
	limit    int64 // of segments
	offset   int   // of the line that is read

	kept          int      // how many lines
	lines         []string // before the next segment's URI
	duration      time.Duration
	timed         bool // an EXTINF was read for the next segment
	broken        bool // … but not understood
	bytes         *byteRange
	lastURI       string // of the segment before
	lastEnd       int64  // of its byte range; -1: it has none
	keys          []*key
	init          *initSection
	gap           bool
	discontinuity int64
	date          time.Time
	dateStart     time.Duration // what date is counted on from
	dated         bool
	parts         []partial
	partURI       string
	partEnd       int64
	end           time.Duration // of the last segment
	variant       *variant      // waits for its URI
}

// parse reads a playlist. Base is its URL after redirects, imported are the
// variables of the master playlist that names it.
//
// Reading is lenient: unknown tags are kept as they are, and what is damaged
// about one segment is an error only when that segment is wanted.
func parse(text string, base string, imported variables, limits formats.Limits) (*playlist, error) {
	return parseUpdate(text, base, imported, limits, nil)
}

// parseUpdate is parse of a playlist that may be a delta update of a known one.
func parseUpdate(text string, base string, imported variables, limits formats.Limits, known *media) (*playlist, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, damaged("", 0, "its own name is not a valid URI")
	}
	r := &reader{
		playlist: &playlist{base: withoutDirectives(u), vars: variables{}},
		imported: imported, known: known, m: &media{}, lastEnd: -1, partEnd: -1,
		limit: min(limits.WithDefaults().Entries, maxSegments),
	}
	if len(text) > maxPlaylist {
		return nil, limited("", maxPlaylist, fmt.Sprintf("a playlist has at most %d bytes", maxPlaylist))
	}
	if err := r.read(text); err != nil {
		return nil, err
	}
	if r.master != nil {
		r.master.version = r.m.version
		return r.playlist, nil
	}
	r.m.parts, r.media = r.parts, r.m
	r.tail()
	r.number()
	return r.playlist, nil
}

// read goes through the lines.
func (r *reader) read(text string) error {
	rest := strings.TrimPrefix(text, "\ufeff")
	begun := false
	for rest != "" {
		r.offset = len(text) - len(rest)
		var line string
		line, rest = rest, ""
		if i := strings.IndexAny(line, "\r\n"); i >= 0 { // CR by itself is against RFC 8216 section 4.1, but players know it
			line, rest = line[:i], line[i+1:]
		}
		line = strings.TrimSpace(line)
		if !begun { // some writers put comments before the signature
			if begun = strings.HasPrefix(line, signature); !begun && line != "" && line[0] != '#' {
				break
			}
			continue
		}
		if err := r.line(line); err != nil {
			return err
		}
	}
	if !begun {
		return damaged("", 0, "it does not begin with "+signature)
	}
	return nil
}

func (r *reader) line(line string) error {
	switch {
	case line == "":
		return nil
	case strings.HasPrefix(line, "#EXT"):
		name, value, _ := strings.Cut(line, ":")
		if name != "#EXT-X-DEFINE" {
			line, value = r.vars.expand(line), r.vars.expand(value)
		}
		return r.tag(name, strings.TrimSpace(value), line)
	case line[0] == '#':
		return r.keep(&r.lines, line)
	case r.variant != nil:
		r.variant.uri = r.vars.expand(line)
		r.master.variants = append(r.master.variants, *r.variant)
		r.variant = nil
		return nil
	case r.master != nil:
		return nil // a URI that no tag describes
	}
	return r.segment(r.vars.expand(line))
}

// tag reads one tag.
func (r *reader) tag(name, value, line string) error {
	m := r.m
	switch name {
	case signature, "#EXT-X-VERSION", "#EXT-X-INDEPENDENT-SEGMENTS", "#EXT-X-START", "#EXT-X-DEFINE": // of either kind
	default:
		m.told = m.told || strings.HasPrefix(name, "#EXT-X-") || name == "#EXTINF"
	}
	switch name {
	case "#EXTINF", "#EXT-X-BYTERANGE", "#EXT-X-DISCONTINUITY", "#EXT-X-KEY", "#EXT-X-MAP", "#EXT-X-GAP",
		"#EXT-X-PROGRAM-DATE-TIME", "#EXT-X-PART", "#EXT-X-DATERANGE", "#EXT-X-BITRATE":
		return r.segmentTag(name, value, line)
	case "#EXT-X-STREAM-INF", "#EXT-X-MEDIA", "#EXT-X-I-FRAME-STREAM-INF", "#EXT-X-SESSION-DATA", "#EXT-X-SESSION-KEY", "#EXT-X-CONTENT-STEERING":
		return r.masterTag(name, parseAttributes(value), line)
	case "#EXT-X-VERSION":
		m.version = integer(value)
	case "#EXT-X-TARGETDURATION":
		m.target, _ = parseSeconds(value)
	case "#EXT-X-MEDIA-SEQUENCE":
		m.sequence = integer(value)
	case "#EXT-X-DISCONTINUITY-SEQUENCE":
		m.discontinuity = integer(value)
	case "#EXT-X-ENDLIST":
		m.ended = true
	case "#EXT-X-PLAYLIST-TYPE":
		m.kind = value
	case "#EXT-X-I-FRAMES-ONLY":
		m.iframes = true
		return r.keep(&m.header, line)
	case "#EXT-X-START":
		a := parseAttributes(value)
		if at, ok := a.seconds("TIME-OFFSET"); ok {
			m.start = &startPoint{at, a.yes("PRECISE")}
		}
	case "#EXT-X-DEFINE":
		r.vars.define(parseAttributes(value), r.imported, r.base)
	case "#EXT-X-SERVER-CONTROL":
		a := parseAttributes(value)
		m.control.blocking = a.yes("CAN-BLOCK-RELOAD")
		m.control.skipUntil, _ = a.seconds("CAN-SKIP-UNTIL")
		m.control.holdBack, _ = a.seconds("HOLD-BACK")
	case "#EXT-X-PART-INF":
		m.partTarget, _ = parseAttributes(value).seconds("PART-TARGET")
	case "#EXT-X-PRELOAD-HINT":
		if a := parseAttributes(value); a.get("TYPE") == "PART" {
			hint := partial{uri: a.get("URI"), bytes: seek.Range{Offset: a.number("BYTERANGE-START"), Length: seek.ToEnd}}
			if a.has("BYTERANGE-LENGTH") {
				hint.bytes.Length = a.number("BYTERANGE-LENGTH")
			}
			m.hint = &hint
		}
	case "#EXT-X-SKIP":
		r.skip(parseAttributes(value).number("SKIPPED-SEGMENTS"))
	case "#EXT-X-RENDITION-REPORT":
	case "#EXT-X-INDEPENDENT-SEGMENTS", "#EXT-X-ALLOW-CACHE":
		if r.master != nil {
			return r.keep(&r.master.header, line)
		}
		return r.keep(&m.header, line)
	case signature:
	default:
		return r.keep(&r.lines, line)
	}
	return nil
}

// keep notes a line as it is.
func (r *reader) keep(to *[]string, line string) error {
	if r.kept++; r.kept > maxLines {
		return limited("", r.offset, "too many lines")
	}
	*to = append(*to, line)
	return nil
}

// integer reads a decimal integer; what is none, or negative, is 0.
func integer(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 62)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// number gives the segments their sequence numbers, which a tag anywhere in the
// playlist may set.
func (r *reader) number() {
	m := r.m
	m.sequence = min(m.sequence, 1<<61) // so that counting on is no overflow
	m.discontinuity = min(m.discontinuity, 1<<61)
	for i := range m.segments {
		m.segments[i].sequence = m.sequence + m.skipped + int64(i)
		m.segments[i].discontinuity += m.discontinuity
	}
	for i := range m.tail {
		m.tail[i].sequence = m.sequence + m.skipped + int64(len(m.segments))
		m.tail[i].discontinuity += m.discontinuity
	}
}

// warn notes something that was taken otherwise than it is written.
func (r *reader) warn(format string, args ...any) {
	if len(r.warnings) < maxWarnings {
		r.warnings = append(r.warnings, fragment.Warning{Reason: fmt.Sprintf(format, args...)})
	}
}

// damaged is that a playlist contradicts the format.
func damaged(element string, offset int, problem string) error {
	return &formats.Error{Container: Name, Element: element, Offset: int64(offset), Problem: problem, Err: formats.ErrDamaged}
}

// limited is that a playlist has more of something than is read.
func limited(element string, offset int, problem string) error {
	return &formats.Error{Container: Name, Element: element, Offset: int64(offset), Problem: problem, Err: seek.ErrLimit}
}

// unsupported is that a playlist has a feature that is not supported.
func unsupported(element, problem, hint string) error {
	return &formats.Error{Container: Name, Element: element, Offset: -1, Problem: problem, Hint: hint, Err: formats.ErrUnsupported}
}
