package hls

import (
	"net/url"
	"time"

	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// playlist is one playlist, read: a master or a media playlist.
type playlist struct {
	base     *url.URL // what its URIs are relative to
	place    string   // which of the redundant places it was loaded from
	master   *master  // nil for a media playlist
	media    *media   // nil for a master playlist
	vars     variables
	warnings []fragment.Warning
}

// media is a media playlist (RFC 8216 section 4.3.3).
type media struct {
	version       int64
	target        time.Duration // 0 where there is none
	sequence      int64         // of the first segment
	discontinuity int64         // discontinuity sequence of the first segment
	kind          string        // "VOD", "EVENT" or ""
	ended         bool          // no segment will follow
	iframes       bool          // segments are single pictures
	start         *startPoint   // nil: none
	control       serverControl
	partTarget    time.Duration
	skipped       int64 // segments that a delta update leaves out

	segments []segment
	parts    []partial // of the segment that is not complete yet
	// tail are those parts as segments: what is published beyond the last
	// complete one. Encrypted parts are left until their segment is complete.
	tail   []segment
	hint   *partial // the part that will come next
	ranges []dateRange
	told   bool     // it has a tag that only media playlists have
	header []string // lines about the whole, other than what the fields above hold
}

// growing reports whether segments may follow.
func (m *media) growing() bool { return !m.ended && m.kind != "VOD" }

// duration is the sum of all segments' durations.
func (m *media) duration() time.Duration {
	if len(m.segments) == 0 {
		return 0
	}
	return m.segments[len(m.segments)-1].end()
}

// startPoint is EXT-X-START: where players begin.
type startPoint struct {
	offset  time.Duration // from the beginning, negative: from the end
	precise bool
}

// serverControl is EXT-X-SERVER-CONTROL.
type serverControl struct {
	blocking  bool // reloads may wait for what they ask for
	skipUntil time.Duration
	holdBack  time.Duration
}

// segment is a media segment.
type segment struct {
	uri      string // as in the playlist, variables replaced
	start    time.Duration
	duration time.Duration
	// bytes is the part of the resource; its Length is [seek.ToEnd] for all.
	bytes seek.Range
	keys  []*key // that apply to it, one for each key format; nil: not encrypted
	init  *initSection
	// sequence is its media sequence number, discontinuity how many
	// discontinuities lie before it in the whole stream.
	sequence, discontinuity int64
	gap                     bool // there is no such resource
	date                    time.Time
	parts                   []partial
	// dependent is a part that cannot be decoded without the one before.
	dependent bool
	// lines are those that stand before its URI, as they are.
	lines []string
	// problem, where it is set, says why it cannot be read.
	problem string
}

func (s *segment) end() time.Duration { return s.start + s.duration }

// partial is a partial segment or the hint of one (EXT-X-PART).
type partial struct {
	uri         string
	duration    time.Duration
	bytes       seek.Range
	independent bool
	gap         bool
}

// initSection is an EXT-X-MAP: what a decoder needs before the segment.
type initSection struct {
	uri   string
	bytes seek.Range
	keys  []*key
	attrs attributes
}

// same reports whether two sections are the same bytes.
func (i *initSection) same(j *initSection) bool {
	if i == nil || j == nil {
		return i == j
	}
	return i.uri == j.uri && i.bytes == j.bytes
}

// key is an EXT-X-KEY or EXT-X-SESSION-KEY.
type key struct {
	method string
	uri    string
	format string // KEYFORMAT; "" is "identity"
	iv     *[16]byte
	badIV  bool // it has one that cannot be read
	attrs  attributes
}

// dateRange is an EXT-X-DATERANGE.
type dateRange struct {
	id, class  string
	start, end time.Time // end is zero where it is not known
	attrs      attributes
}
