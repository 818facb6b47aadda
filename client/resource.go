package client

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// Resource is an open medium: its Info says what it is, Inspect all that can be
// found out, Plan resolves a selection without reading it (see [formats.Media]).
// It may be used concurrently until it is closed.
type Resource struct {
	formats.Media
	client  *Client
	window  *seek.Window
	sources *sources

	mu     sync.Mutex
	closed bool
	clips  map[*Clip]struct{} // those that are not closed
	// sequences are all that were followed.
	sequences []*seek.Sequence
}

// SourceInfo says what is known of the resource itself: name, type, validator, size.
func (r *Resource) SourceInfo() seek.Info { return r.window.Info() }

// Clip resolves a fragment against the medium and returns the clip. What the
// fragment asks for in vain is among the plan's warnings. A fragment that
// selects nothing by itself is [formats.ErrNoFragment]. The clip can be read
// until ctx ends.
func (r *Resource) Clip(ctx context.Context, f fragment.Fragment) (*Clip, error) {
	if !formats.Selects(f) {
		return nil, noFragment(r.sources.origin, f)
	}
	s, warnings, err := formats.Select(f, r.Info())
	if err != nil {
		return nil, err
	}
	clip, err := r.Select(ctx, s)
	if err != nil {
		return nil, err
	}
	p := *clip.Plan
	p.Warnings = append(append(append([]fragment.Warning(nil), f.Warnings...), warnings...), p.Warnings...)
	clip.Plan = &p
	return clip, nil
}

// Select resolves a selection and returns the clip. It can be read until ctx
// ends. Of a [formats.Starter] its media is asked for meanwhile: close the clip.
func (r *Resource) Select(ctx context.Context, s formats.Selection) (*Clip, error) {
	if r.isClosed() {
		return nil, fmt.Errorf("selecting from %s: %w", Redact(r.sources.origin), seek.ErrClosed)
	}
	starter, ok := r.Media.(formats.Starter)
	if !ok {
		p, err := r.Plan(ctx, s)
		if err != nil {
			return nil, err
		}
		return r.Deliver(ctx, p), nil
	}
	p, stop, err := starter.Start(ctx, s, r.client.Parallel)
	if err != nil {
		return nil, err
	}
	return r.deliver(ctx, p, stop), nil
}

// Deliver returns the clip of a plan, made from this resource earlier or
// elsewhere. It can be read until ctx ends.
func (r *Resource) Deliver(ctx context.Context, p *formats.Plan) *Clip {
	return r.deliver(ctx, p, func() {})
}

func (r *Resource) deliver(ctx context.Context, p *formats.Plan, stop func()) *Clip {
	clip := &Clip{Reader: seek.NewReader(ctx, p.Parts, r.opener(), r.client.Parallel), Plan: p, resource: r, stop: stop}
	r.mu.Lock()
	closed := r.closed
	if !closed {
		r.clips[clip] = struct{}{}
	}
	r.mu.Unlock()
	if closed {
		clip.end()
	}
	return clip
}

// LiveClip is a selection of a live medium, read as it comes.
type LiveClip struct {
	*seek.Sequence
	// Plan is what has been delivered. It is complete at the clip's end, and must
	// not be read while the clip is.
	Plan *formats.Plan
}

// Follow delivers a selection of a medium that is [formats.Live] as it comes, and
// ends when the selection's end has come. It can be read until ctx ends. A medium
// of another kind is [formats.ErrUnsupported].
func (r *Resource) Follow(ctx context.Context, s formats.Selection) (*LiveClip, error) {
	live, ok := r.Media.(formats.Live)
	if !ok {
		return nil, fmt.Errorf("following %s: %w: it is not live", Redact(r.sources.origin), formats.ErrUnsupported)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, fmt.Errorf("following %s: %w", Redact(r.sources.origin), seek.ErrClosed)
	}
	p := &formats.Plan{}
	parts := func(ctx context.Context) iter.Seq2[seek.Part, error] { return live.Parts(ctx, s, p) }
	q := seek.NewSequence(ctx, parts, r.opener(), r.client.Parallel)
	r.sequences = append(r.sequences, q)
	return &LiveClip{q, p}, nil
}

// opener opens what plans name: the medium itself where it is one.
func (r *Resource) opener() seek.Opener {
	if o, ok := r.Media.(seek.Opener); ok {
		return o
	}
	return r.sources
}

func (r *Resource) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// Close ends what the resource still does, and waits for it. Clips that are
// being read end with an error.
func (r *Resource) Close() error {
	r.mu.Lock()
	r.closed = true
	clips, sequences := r.clips, r.sequences
	r.clips, r.sequences = nil, nil
	r.mu.Unlock()
	for _, q := range sequences {
		q.Close()
	}
	for c := range clips {
		c.end()
	}
	return r.window.Close()
}

// Clip is a fragment of a medium, as a playable file: an io.Reader, io.WriterTo,
// io.Seeker and io.ReaderAt. Size is its length, -1 where no index states it, as of
// segments in files of their own: Seek from the end and ReadAt are
// [seek.ErrUnsized] then. Download writes it to a file in parallel. See [seek.Reader] for what may run side by side.
type Clip struct {
	*seek.Reader
	// Plan is what the Reader delivers.
	Plan *formats.Plan

	resource *Resource
	stop     func()    // ends what was asked for before the Reader was there
	whole    *Resource // closed along with the clip; nil where the caller closes it
}

// Warnings are the plan's, and those of damage that was met in what was read so
// far.
func (c *Clip) Warnings() []fragment.Warning { return withDamage(c.Plan, c.Damage()) }

// Warnings are as for a [Clip]. The clip must not be read meanwhile.
func (c *LiveClip) Warnings() []fragment.Warning { return withDamage(c.Plan, c.Damage()) }

func withDamage(p *formats.Plan, damage []seek.Damage) []fragment.Warning {
	all := slices.Clip(p.Warnings)
	for _, d := range damage {
		if w := (fragment.Warning{Reason: d.String()}); !slices.Contains(all, w) { // the plan may have seen it
			all = append(all, w)
		}
	}
	return all
}

// end ends what is fetched for the clip, and waits for it.
func (c *Clip) end() error {
	err := c.Reader.Close()
	c.stop()
	return err
}

// Close ends what the clip still does, and waits for it.
func (c *Clip) Close() error {
	err := c.end()
	c.resource.mu.Lock()
	delete(c.resource.clips, c)
	c.resource.mu.Unlock()
	if c.whole != nil {
		c.whole.Close()
	}
	return err
}
