package webm

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// Format is WebM and Matroska. The zero value is ready to use.
type Format struct{}

var _ formats.Format = Format{}

// Name returns "webm".
func (Format) Name() string { return "webm" }

// Detect looks for an EBML header, or for what a segment of a stream begins with.
// What that does not tell, the Open finds out.
func (Format) Detect(head []byte, _ seek.Info) bool {
	for _, id := range []uint32{idEBML, idCluster, idCues} {
		if bytes.HasPrefix(head, appendID(nil, id)) {
			return true
		}
	}
	return false
}

// Open reads the header, the tracks and the index, wherever they are. Of a file of
// several Segments it reads the first; the others once they are needed.
func (Format) Open(ctx context.Context, w *seek.Window, env formats.Env) (formats.Media, error) {
	m := &media{w: w, limits: env.Limits.WithDefaults(), growing: env.Growing}
	if err := m.open(ctx); err != nil {
		return nil, err
	}
	return newChain(m), nil
}

// open reads the header, the tracks and the index of the Segment.
func (m *media) open(ctx context.Context) error {
	m.extent = newExtent()
	o := &opening{m: m, found: map[uint32]element{}, told: map[int64]uint32{}, tells: map[uint32]int{}, seen: map[int64]bool{}}
	if err := o.open(ctx); err != nil {
		return err
	}
	m.byNumber = map[uint64]*track{}
	for _, t := range m.tracks {
		m.byNumber[t.number] = t
	}
	m.setDefaults()
	if i := slices.IndexFunc(m.tracks, func(t *track) bool { return t.kind == typeVideo }); i >= 0 {
		m.picture = m.tracks[i]
	}
	m.overrun.Store(o.overrun())
	if err := m.findStart(ctx, o); err != nil {
		return err
	}
	m.findDuration()
	if m.first.id != 0 {
		m.glimpse([]seek.Mark{{Offset: m.first.offset, Tick: m.start / m.info.scale}})
	}
	return nil
}

// media is an opened Segment, with the EBML header before it. Nothing but the
// search and warned changes after that.
type media struct {
	base    int64 // where it begins in the file: the EBML header, or the Segment without one
	w       *seek.Window
	limits  formats.Limits
	growing bool

	doc      docHeader
	segment  element
	overrun  atomic.Bool // it goes on behind the end that it states
	info     segmentInfo
	tracks   []*track
	byNumber map[uint64]*track
	chapters []edition

	cues        []cue
	subtitles   []subtitle // the points among them that say how long
	cuesElement element
	first       element   // the first Cluster; id 0 where there is none
	others      []int64   // where elements beside clusters begin behind the first
	unread      []element // those of which a SeekHead tells there and that are not read, by place

	tagsAt        []int64 // where Tags are, or are told to be
	attachmentsAt int64   // 0: there are none, or not told

	start    int64 // ns on the file's clock: the earliest presented sample
	timed    bool
	duration int64 // ns from start
	warnings []fragment.Warning

	mu     sync.Mutex
	search *seek.Search

	extent    extent
	glimpses  glimpses
	next      atomic.Int64 // where another Segment was seen behind one of unknown length, 0: nowhere
	confirmed atomic.Bool  // what follows it was looked at
	short     atomic.Bool  // it seems not to have all that it states: another may stand in its place
	measured  atomic.Int64 // where a resource of unknown length was found to end, 0: not yet

	ended *ending // once it was looked for

	clusterGuess int64        // about how many bytes a cluster has, as the first blocks tell
	headRate     float64      // of those blocks, in bytes a tick; 0: not known
	picture      *track       // the first track of pictures, nil without
	walked, keys atomic.Int64 // bytes in which the search saw blocks, and keyframes there
}

// findStart finds the earliest presented sample: the presentation's time 0.
func (m *media) findStart(ctx context.Context, o *opening) error {
	if m.first.id == 0 {
		return nil
	}
	data := o.peek(m.first.offset)
	for n := int64(headSize); ; n *= 4 {
		s := m.walk(data, m.first.offset, m.first.offset)
		m.guessCluster(s)
		var sure bool
		m.start, sure = m.earliest(s)
		whole := s.ended || len(s.clusters) > 1 || s.err != nil
		if sure || whole || n > maxGuess || len(s.blocks) > 0 && n > headSize {
			return nil
		}
		more, err := m.w.ReadRange(ctx, seek.Range{Offset: m.first.offset, Length: min(n, m.limit()-m.first.offset)}, seek.Index, "first cluster")
		if err != nil {
			return err
		}
		if len(more) <= len(data) {
			return nil
		}
		data = more
	}
}

// guessCluster guesses the size of clusters by the rate of the first blocks
// behind the first picture, which is a large one.
func (m *media) guessCluster(s *stretch) {
	m.clusterGuess = mostCluster
	if n := len(s.blocks); n > 2 {
		first, last := s.blocks[1], s.blocks[n-1]
		if perSecond := rate(m, anchor{first.offset, first.ts}, anchor{last.offset, last.ts}); perSecond > 0 {
			m.clusterGuess = min(usualCluster*perSecond, mostCluster)
			m.headRate = float64(perSecond) * float64(m.info.scale) / 1e9
		}
	}
}

// Clusters of programs that write no sizes last for usualCluster seconds or
// less, and have mostCluster bytes at most, as a rule.
const usualCluster, mostCluster = 3, 4 << 20

// earliest returns when the first sample presents, in ns. It is sure where all
// tracks were seen, or where nothing that follows in the cluster can be earlier.
func (m *media) earliest(s *stretch) (start int64, sure bool) {
	if len(s.clusters) == 0 {
		return 0, false
	}
	first := int64(maxOffset)
	seen := map[uint64]bool{}
	for _, b := range s.blocks {
		t := m.byNumber[b.track]
		if t == nil || t.kind != typeVideo && t.kind != typeAudio && m.hasMedia() || t.kind == typeAudio && seen[b.track] {
			continue
		}
		if !seen[b.track] {
			t.begun, t.firstTick, t.firstEnd = true, b.ts, b.end
		}
		seen[b.track] = true
		ns := m.ns(b.ts)
		if b.discard < 0 && t.kind == typeAudio {
			ns -= max(b.discard, -maxOffset)
		}
		first = min(first, ns)
	}
	if first == maxOffset {
		return max(0, m.ns(s.clusters[0].timestamp)), false
	}
	all := true
	for _, t := range m.tracks {
		if (t.kind == typeVideo || t.kind == typeAudio) && !seen[t.number] {
			all = false
		}
	}
	return first, all || first <= m.ns(s.clusters[0].timestamp)
}

// hasMedia reports whether there is a picture or a sound track.
func (m *media) hasMedia() bool {
	for _, t := range m.tracks {
		if t.kind == typeVideo || t.kind == typeAudio {
			return true
		}
	}
	return false
}

// findDuration reads Info's Duration. Where the file does not begin at 0 some
// write its end there and some its length; libmatroska's programs write the
// length.
func (m *media) findDuration() {
	if m.info.duration == 0 {
		return
	}
	m.timed = true
	m.duration = int64(m.info.duration * float64(m.info.scale))
	if m.start == 0 || strings.Contains(m.info.app, "libmatroska") {
		return
	}
	last := int64(0)
	for _, c := range m.cues {
		last = max(last, m.ns(c.time))
	}
	if m.duration > last && m.duration > m.start {
		m.duration -= m.start
	}
}

// Info says what the header and the index tell.
func (m *media) Info() formats.Info {
	i := formats.Info{
		Format:    "webm",
		MediaType: m.mediaType(m.tracks),
		StartTime: nanos(m.start),
		Index:     m.indexKind(),
		Seekable:  true,
		Chapters:  m.chapterList(),
		Created:   m.info.created,
		Warnings:  slices.Clip(m.warnings),
	}
	second := m.next.Load()
	if end, ok := m.lastSample(); second > 0 && m.segment.size != unknownSize {
		i.Warnings = append(i.Warnings, warning("the Segment at byte %d is cut off: another begins at byte %d, before it should end at byte %d", m.base, second, m.segment.end()))
	} else if ok && m.timed && m.segment.size == unknownSize && !m.growing && end < m.duration-outlastSlack {
		i.Warnings = append(i.Warnings, warning("the Segment at byte %d is cut off: its media end at %v s, not at %v", m.base, nanos(end), nanos(m.duration)))
	} else if size := m.sizeOr(-1); size >= 0 && !m.growing && m.segment.size != unknownSize && m.segment.end() > size {
		i.Warnings = append(i.Warnings, warning("the file is cut off: its Segment should end at byte %d, the file ends at %d", m.segment.end(), size))
	}
	if len(m.unread) > 0 {
		i.Warnings = append(i.Warnings, warning("not read, for the resource can only be read in order: %s", namesOf(m.unread)))
	}
	if m.info.title != "" {
		i.Tags = append(i.Tags, formats.Tag{Name: "TITLE", Value: m.info.title})
	}
	for _, at := range m.tagsAt {
		if e, body := m.heldTags(at); body != nil {
			i.Tags = append(i.Tags, m.tagList(e, body)...)
		}
	}
	if m.timed {
		i.Duration, i.Timed = nanos(m.duration), true
	}
	for _, t := range m.tracks {
		i.Tracks = append(i.Tracks, t.Track)
	}
	return i
}

// setDefaults makes tracks the default where their flag says so. Where it says
// so of none of a kind, as ffmpeg writes WebM, all of that kind are.
func (m *media) setDefaults() {
	flagged := map[uint64]bool{}
	for _, t := range m.tracks {
		flagged[t.kind] = flagged[t.kind] || t.Default && t.enabled
	}
	for _, t := range m.tracks {
		t.Default = t.enabled && (t.Default || !flagged[t.kind] && t.kind != typeSubtitle)
	}
}

// holdsDuration reports whether the file has all of the duration that it states:
// one that is cut off has not.
func (m *media) holdsDuration() bool {
	size := m.w.Info().Size
	if second := m.next.Load(); second > 0 {
		size = second
	}
	return m.timed && (size < 0 || m.growing || m.segment.size < 0 || m.segment.end() <= size)
}

// Inspect adds the tags, the attachments, and the duration where Info does not
// state it. A resource that can only be read from its beginning, and may never
// end, is not read for that.
func (m *media) Inspect(ctx context.Context) (formats.Info, error) {
	for _, at := range m.tagsAt { // Info takes them from the window
		if _, _, err := m.readTags(ctx, at, maxTags); err != nil {
			return m.Info(), err
		}
	}
	i := m.Info()
	if err := m.listAttachments(ctx, &i); err != nil {
		return i, err
	}
	if !i.Timed && m.first.id != 0 && !m.endless() {
		d, err := m.findEnd(ctx)
		switch {
		case errors.Is(err, seek.ErrLimit) && !m.bounded(): // it does not end
			return i, nil
		case err != nil:
			return i, err
		}
		i.Duration, i.Timed = nanos(d), true
	}
	return i, nil
}

// Kinds of index.
const (
	CuesFront formats.Index = "cues-front"
	CuesEnd   formats.Index = "cues-end"
	NoIndex   formats.Index = "none"
)

// indexKind is where the Cues are, also where they are told of and not read.
func (m *media) indexKind() formats.Index {
	switch {
	case slices.ContainsFunc(m.unread, func(e element) bool { return e.id == idCues }):
		return CuesEnd
	case len(m.cues) == 0:
		return NoIndex
	case m.first.id == 0 || m.cuesElement.offset < m.first.offset:
		return CuesFront
	}
	return CuesEnd
}

// mediaType is that of a file of the given tracks.
func (m *media) mediaType(tracks []*track) string {
	kind := ""
	for _, t := range tracks {
		if t.kind == typeAudio && kind == "" {
			kind = "audio"
		}
		if t.kind == typeVideo {
			kind = "video"
		}
	}
	switch {
	case m.doc.docType == "webm" && kind == "audio":
		return "audio/webm"
	case m.doc.docType == "webm":
		return "video/webm"
	case kind == "audio":
		return "audio/x-matroska"
	}
	return "video/x-matroska"
}
