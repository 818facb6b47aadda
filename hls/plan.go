package hls

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/mp4"
)

// Plan resolves a selection to one file. Where no one file can hold it the error
// says what can; subtitles that only play along by default are left out with a
// warning.
func (m *Medium) Plan(ctx context.Context, s formats.Selection) (*formats.Plan, error) {
	return m.planWith(ctx, s, nil)
}

// planWith makes a plan, and where a is not nil asks for its media meanwhile.
func (m *Medium) planWith(ctx context.Context, s formats.Selection, a *ahead) (*formats.Plan, error) {
	s, warnings := m.forOneFile(s)
	cuts, tracks, err := m.cuts(ctx, s)
	if err != nil {
		return nil, err
	}
	g, gctx := errgroup.WithContext(ctx)
	for _, c := range cuts {
		if err := c.skipGaps(); err != nil {
			return nil, err
		}
		if _, _, err := c.needs(); err != nil { // before anything is asked for
			return nil, err
		}
	}
	if a != nil {
		a.ask(cuts, s)
	}
	for _, c := range cuts {
		g.Go(func() error { return c.readEnds(gctx) })
	}
	if c := cuts[0]; c.s != m.main {
		g.Go(func() error { return c.anchor(gctx) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	p, err := m.plan(ctx, cuts, s)
	if err != nil {
		return nil, err
	}
	if p.Tracks == nil && len(cuts) == 1 && !cuts[0].s.known() {
		if p.Tracks, err = cuts[0].tracks(ctx); err != nil {
			return nil, err
		}
	}
	p.Tracks = enrich(tracks, p.Tracks)
	p.Warnings = append(warnings, p.Warnings...)
	if a != nil {
		a.mark(p.Parts)
	}
	m.sum(p)
	return p, nil
}

// forOneFile is a selection without the subtitles that nobody asked for but that
// play by default, for a file that holds pictures and sound. The warnings tell of
// them.
func (m *Medium) forOneFile(s formats.Selection) (formats.Selection, []fragment.Warning) {
	if len(s.Tracks) > 0 {
		return s, nil
	}
	var others []string
	var warnings []fragment.Warning
	for _, x := range m.streams {
		for _, t := range x.tracks {
			switch {
			case !t.Default:
			case x.kind == formats.Subtitle:
				warnings = append(warnings, fragment.Warning{Reason: fmt.Sprintf("%s, which plays by default, is left out: it is separate; --track %s writes it to a file of its own, and %s", t.ID, t.ID, asFolder)})
			default:
				others = append(others, t.ID)
			}
		}
	}
	if len(warnings) > 0 {
		s.Tracks = others
	}
	return s, warnings
}

// onlyLayout refuses to lay out a clip that can be laid out in one way alone.
func onlyLayout(container string, asked formats.Layout) error {
	if asked == "" {
		return nil
	}
	return unsupported("", fmt.Sprintf("the layout %q", asked), "leave the layout out: a clip of "+container+" has only one")
}

// plan makes the plan of what was found, by its container.
func (m *Medium) plan(ctx context.Context, cuts []*cut, s formats.Selection) (*formats.Plan, error) {
	containers := make([]string, len(cuts))
	for i, c := range cuts {
		containers[i] = containerOf(c.pieces[c.first].data)
		if containers[i] == "" {
			return nil, notWhatItShould("media that HLS knows", c.pieces[c.first].data)
		}
	}
	if len(cuts) > 1 {
		if i := slices.IndexFunc(containers, func(c string) bool { return c != fragmentedMP4 }); i >= 0 {
			i = max(i, 1) // where the first is none itself, it goes with no other
			return nil, unsupported("EXT-X-MEDIA", fmt.Sprintf("%s (%s) and %s (%s) are separate: one file cannot hold both", cuts[0].s.id, containers[0], cuts[i].s.id, containers[i]), asFolder)
		}
	}
	first := cuts[0]
	verbatim := s.Form == formats.Verbatim
	if verbatim {
		if err := verbatimOf(cuts, containers[0]); err != nil {
			return nil, err
		}
	}
	if containers[0] != fragmentedMP4 || verbatim && s.Layout != mp4.Fragmented {
		if err := onlyLayout(containers[0], s.Layout); err != nil {
			return nil, err
		}
	}
	switch {
	case verbatim && (containers[0] == webMedia || containers[0] == fragmentedMP4):
		return first.planJoined(ctx, containers[0])
	case containers[0] == webMedia:
		return first.planWebM(ctx, s)
	case containers[0] == transportStream:
		return first.planTS(ctx, s)
	case containers[0] == fragmentedMP4:
		return m.planMP4(ctx, cuts, s, false)
	case containers[0] == packedAudio:
		return first.planPacked(ctx, s)
	default:
		return first.planVTT(ctx, s)
	}
}

// verbatimOf fails where a clip cannot be of the original's bytes alone.
func verbatimOf(cuts []*cut, container string) error {
	const hint = "ask for the standalone form"
	if len(cuts) > 1 {
		return unsupported("EXT-X-MEDIA", "a verbatim clip of sound and pictures that are separate", hint)
	}
	if container == webVTT {
		return unsupported("", "a verbatim clip of WebVTT, of which cues are cut and counted anew", hint)
	}
	c := cuts[0]
	for i := c.first; i <= c.last; i++ {
		if s := &c.list.segments[i]; c.wanted(i) && len(s.keys) > 0 {
			return unsupported("EXT-X-KEY", "a verbatim clip of encrypted segments, which are decrypted", hint)
		}
	}
	return nil
}

// cuts finds the segments of each stream that a selection wants.
func (m *Medium) cuts(ctx context.Context, s formats.Selection) ([]*cut, []formats.Track, error) {
	streams, tracks, err := m.selected(s)
	if err != nil {
		return nil, nil, err
	}
	g, gctx := errgroup.WithContext(ctx)
	missing := make([]error, len(streams))
	for i, x := range streams {
		g.Go(func() error {
			err := m.load(gctx, x)
			if x.dispensable(s) {
				missing[i], err = err, nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, nil, err
	}
	interval := s.Interval
	if interval.Start.Sign() < 0 {
		interval.Start = fragment.Time{}
	}
	var cuts []*cut
	for i, x := range streams {
		var c *cut
		err := missing[i]
		if err == nil {
			c, err = m.newCut(x, interval)
		}
		switch {
		case err == nil:
			cuts = append(cuts, c)
		case x.dispensable(s):
			cuts[0].warn("%s is left out: %v", x.id, err)
		default:
			return nil, nil, err
		}
	}
	return cuts, tracks, nil
}

// dispensable reports whether a selection does without a stream that cannot be
// had: subtitles that nobody asked for.
func (s *stream) dispensable(of formats.Selection) bool {
	return s.kind == formats.Subtitle && len(of.Tracks) == 0
}

// selected returns the streams that have the tracks of a selection, and those
// tracks.
func (m *Medium) selected(s formats.Selection) ([]*stream, []formats.Track, error) {
	tracks, err := formats.Chosen(m.allTracks(), s)
	if err != nil {
		return nil, nil, err
	}
	var out []*stream
	for _, x := range m.streams {
		wanted := len(x.tracks) == 0 // of a bare media playlist nothing is known
		for _, have := range x.tracks {
			for _, t := range tracks {
				wanted = wanted || t.ID == have.ID
			}
		}
		if !wanted {
			continue
		}
		if len(x.names) == 0 && x.list == nil { // multiplexed in the variant
			x = m.main
		}
		if len(out) == 0 || out[0] != x {
			out = append(out, x)
		}
	}
	return out, tracks, nil
}

// sum adds up a plan's sizes.
func (m *Medium) sum(p *formats.Plan) {
	m.mu.Lock()
	p.Needed = m.playlistBytes
	m.mu.Unlock()
	p.Size = 0
	for _, part := range p.Parts {
		if part.Size < 0 {
			p.Size, p.Needed = -1, 0
			return
		}
		p.Size += part.Size
		p.Needed += part.Size
	}
}
