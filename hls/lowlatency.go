package hls

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/segments"
)

// skip takes from the known playlist the segments that a delta update leaves
// out, and goes on with what applies behind them (RFC 8216bis section 6.2.5.1).
// Where they are not known the playlist stays one that leaves them out.
func (r *reader) skip(n int64) {
	m := r.m
	m.skipped = min(n, 1<<61)
	if r.known == nil || len(r.known.segments) == 0 || n == 0 || len(m.segments) > 0 {
		return
	}
	from := m.sequence - r.known.segments[0].sequence
	if from < 0 || n > int64(len(r.known.segments)) || from > int64(len(r.known.segments))-n {
		return
	}
	kept := slices.Clone(r.known.segments[from : from+n])
	run := kept[0].discontinuity
	for i := range kept {
		kept[i].discontinuity -= run // counted from the playlist's own first
	}
	last := &kept[n-1]
	m.segments, m.skipped = kept, 0
	r.keys, r.init, r.discontinuity, r.end = last.keys, last.init, last.discontinuity, last.end()
	r.lastURI, r.lastEnd = last.uri, -1
	if last.bytes.Closed() {
		r.lastEnd = last.bytes.End()
	}
	if !last.date.IsZero() {
		r.date, r.dateStart, r.dated = last.date, last.start, true
	}
}

// tail makes segments of the parts that stand behind the last complete segment.
func (r *reader) tail() {
	if len(r.keys) > 0 || r.m.iframes {
		return
	}
	end := r.end
	for i, p := range r.m.parts {
		if p.duration <= 0 || p.uri == "" || end > longest-p.duration {
			return
		}
		s := segment{
			uri: p.uri, start: end, duration: p.duration, bytes: p.bytes, init: r.init,
			discontinuity: r.discontinuity, gap: p.gap, dependent: i > 0 && !p.independent,
		}
		if r.dated {
			s.date = r.date.Add(end - r.dateStart)
		}
		if undefined(p.uri) {
			s.problem = "its URI names a variable that is not defined"
		}
		r.m.tail = append(r.m.tail, s)
		end = s.end()
	}
}

// edge is the end of what is published: of the last segment, or of the last part
// behind it.
func (m *media) edge() time.Duration {
	if n := len(m.tail); n > 0 {
		return m.tail[n-1].end()
	}
	return m.duration()
}

// upTo returns the playlist by which an interval is cut: with the parts behind
// its last segment where the interval reaches beyond that.
func (m *media) upTo(i fragment.Interval) *media {
	if len(m.tail) == 0 || !i.Open && !segments.Time(m.duration()).Less(i.End) {
		return m
	}
	all := *m
	all.segments = slices.Concat(m.segments, m.tail)
	all.tail = nil
	return &all
}

// independent returns the segment to begin with so that one can be decoded: a
// part may need those before it.
func (m *media) independent(i int) int {
	for i > 0 && m.segments[i].dependent {
		i--
	}
	return i
}

// directives are what a request for a playlist asks of a server that can do more
// than send it (RFC 8216bis section 6.2.5).
type directives struct {
	// wait asks for the playlist that has this segment, or with part >= 0 this
	// part of it: the server answers when it has.
	wait     bool
	sequence int64
	part     int
	skip     bool // leave out the older segments
}

// directives are those by which a playlist is loaded again for an interval.
func (m *media) directives(i fragment.Interval, age time.Duration) directives {
	d := directives{part: -1}
	// The known playlist must not be older than half of the skip boundary.
	d.skip = m.control.skipUntil > 0 && age < m.control.skipUntil/2
	if !m.control.blocking || len(m.segments) == 0 {
		return d
	}
	d.wait, d.sequence = true, m.segments[len(m.segments)-1].sequence+1
	if parts := m.partTarget > 0 && !i.Open; parts && segments.Duration(i.End) < m.duration()+max(m.target, m.partTarget) {
		d.part = len(m.parts)
	}
	return d
}

// on adds the directives to the query of a playlist's name; nothing of that
// changes.
func (d directives) on(name string) string {
	var all []string
	if d.wait {
		all = append(all, "_HLS_msn="+strconv.FormatInt(d.sequence, 10))
		if d.part >= 0 {
			all = append(all, "_HLS_part="+strconv.Itoa(d.part))
		}
	}
	if d.skip {
		all = append(all, "_HLS_skip=YES")
	}
	if len(all) == 0 {
		return name
	}
	separator := "?"
	if strings.Contains(name, "?") {
		separator = "&"
	}
	return name + separator + strings.Join(all, "&")
}

// withoutDirectives is the name of a playlist without what was asked of its
// server: the name that it goes by.
func withoutDirectives(u *url.URL) *url.URL {
	if !strings.Contains(u.RawQuery, "_HLS_") {
		return u
	}
	out := *u
	out.RawQuery = strings.Join(slices.DeleteFunc(strings.Split(u.RawQuery, "&"), func(pair string) bool {
		return strings.HasPrefix(pair, "_HLS_msn=") || strings.HasPrefix(pair, "_HLS_part=") || strings.HasPrefix(pair, "_HLS_skip=")
	}), "&")
	return &out
}
