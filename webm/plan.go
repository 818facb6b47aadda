package webm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

// How much is read around the ends of an interval before anything is known of
// what lies there, in bytes.
const (
	// oneRead is the most that is read whole, from the first to the last byte:
	// below, one request costs less than two.
	oneRead = 1 << 20
	// minEdge and maxEdge bound what is read behind the first keyframe's place.
	minEdge, maxEdge = 64 << 10, 1 << 20
	// minBefore and maxBefore bound what is read before it, for sound that
	// leads in; mostBefore is where the search for that ends.
	minBefore, maxBefore, mostBefore = 16 << 10, 512 << 10, 4 << 20
	// smallCluster is what is read whole rather than searched.
	smallCluster = 64 << 10
	// minBehind and maxBehind bound what is read behind the place at which the
	// end is guessed.
	minBehind, maxBehind = 8 << 10, 96 << 10
	// maxSpread bounds what is read more for a guess may be wrong.
	maxSpread = 256 << 10
	// step is how much more is read where that was not enough, and maxStep what
	// it grows to.
	step, maxStep = 64 << 10, 4 << 20
	// minBack and maxBack bound how far back a keyframe is looked for at a time,
	// and mostBack in all.
	minBack, maxBack, mostBack = 256 << 10, 12 << 20, 48 << 20
	// longMiddle is how much may lie between the ends before it is divided, into
	// parts of middlePart.
	longMiddle, middlePart = 32 << 20, 8 << 20
	maxParts               = 64
	// insideSlack is how far before its guessed place sound is looked for.
	insideSlack = 48 << 10
	// clusterHead is what is read of a Cluster to see that it is one.
	clusterHead = 64
)

const (
	// interleave is how far sound may lag behind pictures in the file, in ns.
	interleave = 350e6
	// lag is how far it mostly does.
	lag = 100e6
	// reorder is how many pictures may be decoded before one that they follow.
	reorder = 16
)

// planner resolves one selection.
type planner struct {
	m      *media
	sel    formats.Selection
	tracks []*track // of the clip
	main   *track   // whose index leads
	video  bool     // it has pictures
	a, b   int64    // ns on the file's clock; b is maxOffset for the end
	cues   []cue

	from, to   bracket // where a (less lead-in) and b lie
	tail       anchor  // where to read from so that all blocks around b are seen
	start, end *region // may be the same
	early      []block // blocks before the start region's first cluster, times from 0

	// searched: no index says that no keyframe stands between the place that was
	// found and a.
	searched bool
	middle   []int64 // clusters between that were seen, where ranges may be divided
	apart    *apart  // the segments that the file stands for; nil: it is one

	key      *block            // the main track's keyframe that the clip begins with, nil without
	keys     map[*track]*block // those of all tracks of pictures
	opening  *block            // the one of them that is first in the file
	zero     int64             // ns: what the clip begins with
	startOff int64             // the first byte of the original that stays in place
	endOff   int64             // behind the last
	lead     int64             // ns that sound leads in before zero without CodecDelay
	sounds   []*soundCut
	shown    []frame  // subtitles that are shown already when it begins
	tags     [][]byte // the Tag elements of the clip
	attached element  // the original's Attachments where the clip carries them
	first    int64    // ns: the first sample delivered

	// Of an interval over several Segments each has a planner; the first leads.
	leader    *planner   // itself for the first
	followers []*planner // of the first: those behind it
	clock     int64      // ns from the Segment's clock to that of the first

	warnings []fragment.Warning
}

// all are the planners of the clip that the first leads.
func (p *planner) all() []*planner { return append([]*planner{p}, p.followers...) }

// origin is what stands at the clip's time 0 but for what leads in, in ns on the
// Segment's clock.
func (p *planner) origin() int64 {
	if p.sel.Timeline == formats.Original {
		return -p.clock
	}
	return p.leader.zero - p.clock
}

// Plan resolves a selection.
func (m *media) Plan(ctx context.Context, s formats.Selection) (*formats.Plan, error) {
	if err := m.refresh(ctx); err != nil { // it may have more than when it was opened
		return nil, err
	}
	p, err := m.planner(s)
	if err != nil {
		return nil, err
	}
	if s.Form == formats.Verbatim {
		if err := p.gather(ctx); err != nil {
			return nil, err
		}
		return p.verbatim(ctx)
	}
	p.prefetchTags()
	if err := p.gatherAll(ctx); err != nil {
		return nil, err
	}
	if err := p.cut(); err != nil {
		return nil, err
	}
	return p.assemble(ctx)
}

// gatherAll reads the ends of the interval, and beside them what else the clip
// has of the original.
func (p *planner) gatherAll(ctx context.Context) error {
	g, within := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		p.attached, err = p.attachments(within)
		return err
	})
	g.Go(func() error { return p.gather(within) })
	if err := g.Wait(); err != nil {
		return err
	}
	unread := p.unread()
	if len(unread) > 0 {
		p.warn("left out, for they stand behind the Clusters of a resource that can only be read in order: %s", namesOf(unread))
	}
	if p.sel.Attachments && p.attached.id == 0 && !slices.ContainsFunc(unread, isAttachments) {
		p.warn("the file has no attachments, or does not say where")
	}
	return p.takeTags(ctx)
}

// unread are the elements that the clip would take from, were they read.
func (p *planner) unread() []element {
	return slices.DeleteFunc(slices.Clone(p.m.unread), func(e element) bool {
		return e.id != idTags && e.id != idChapters && !(isAttachments(e) && p.sel.Attachments)
	})
}

func isAttachments(e element) bool { return e.id == idAttachments }

// namesOf names elements and their places.
func namesOf(elements []element) string {
	var all []string
	for _, e := range elements {
		all = append(all, fmt.Sprintf("%v at byte %d", e, e.offset))
	}
	return strings.Join(all, ", ")
}

func (m *media) planner(s formats.Selection) (*planner, error) {
	p := &planner{m: m, sel: s, a: maxOffset, b: maxOffset}
	p.leader = p
	switch {
	case s.Form != "" && s.Form != formats.Standalone && s.Form != formats.Verbatim:
		return nil, unsupported("", -1, fmt.Sprintf("the form %q", s.Form), "use standalone or verbatim")
	case s.Layout != "" && s.Layout != formats.Exact:
		return nil, unsupported("", -1, fmt.Sprintf("the layout %q", s.Layout), "leave the layout out, or use "+string(formats.Exact))
	case s.Layout == formats.Exact && (m.doc.docType != "matroska" || s.Form == formats.Verbatim):
		return nil, unsupported("", -1, "an ordered edition in WebM or in verbatim form, which have none", "leave it out: the clip begins at the keyframe, and 'presented' says where that is")
	case m.first.id == 0:
		return nil, damaged("Segment", m.segment.offset, "there is no Cluster in it")
	case s.Interval.Empty():
		return nil, formats.ErrNoFragment
	}
	a := max(0, s.Interval.Start.Round(1e9))
	if m.timed && a > 0 && a >= m.duration {
		return nil, &formats.PastEndError{Start: s.Interval.Start, Duration: nanos(m.duration)}
	}
	p.a = m.start + min(a, maxOffset/4)
	if !s.Interval.Open {
		b := min(s.Interval.End.Round(1e9), maxOffset/4)
		if !m.timed || b < m.duration {
			p.b = m.start + b
		}
	}
	if err := p.choose(); err != nil {
		return nil, err
	}
	p.cues = m.pointsOf(p.main.number)
	p.searched = len(p.cues) == 0
	return p, nil
}

// choose finds the tracks of the clip: those that are named, or all that the
// file has enabled, for which of them is played its flags still say.
func (p *planner) choose() error {
	if len(p.sel.Tracks) == 0 {
		for _, t := range p.m.tracks {
			if t.enabled {
				p.tracks = append(p.tracks, t)
			}
		}
		if len(p.tracks) == 0 {
			p.tracks = p.m.tracks
		}
	} else {
		var all []formats.Track
		for _, t := range p.m.tracks {
			all = append(all, t.Track)
		}
		chosen, err := formats.Chosen(all, p.sel)
		if err != nil {
			return err
		}
		for _, t := range p.m.tracks {
			if slices.ContainsFunc(chosen, func(c formats.Track) bool { return c.ID == t.ID }) {
				p.tracks = append(p.tracks, t)
			}
		}
	}
	for _, kind := range []uint64{typeVideo, typeAudio} {
		for _, t := range p.tracks {
			if t.kind == kind && (p.main == nil || t.Default && !p.main.Default) {
				p.main = t
			}
		}
		if p.main != nil {
			break
		}
	}
	if p.main == nil {
		p.main = p.tracks[0]
	}
	p.video = p.main.kind == typeVideo
	return nil
}

func (p *planner) has(number uint64) *track {
	for _, t := range p.tracks {
		if t.number == number {
			return t
		}
	}
	return nil
}

// leadIn is how much sound before the clip's beginning decoders need to be
// right, and to be right to the bit, in ns.
func (p *planner) leadIn() (warm, ideal int64) {
	for _, t := range p.tracks {
		if t.kind == typeAudio {
			warm, ideal = max(warm, t.sound.warmUp+t.sound.longest), max(ideal, t.sound.ideal+t.sound.longest)
		}
	}
	return warm, ideal
}

// time is when a block of a track is presented, in ns.
func (p *planner) time(ticks int64, t *track) int64 { return p.m.ns(ticks) - t.codecDelay }

func (p *planner) warn(format string, args ...any) {
	p.warnings = append(p.warnings, warning(format, args...))
}

func warning(format string, args ...any) fragment.Warning {
	return fragment.Warning{Reason: fmt.Sprintf(format, args...)}
}
