package formatstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// Case is a medium, and what to select of it.
type Case struct {
	Format formats.Format
	// Source is the medium's resource.
	Source seek.Source
	// Opener opens the other resources that the medium names; nil where it names
	// none.
	Opener     seek.Opener
	Env        formats.Env // its Opener is the Case's
	Selections []formats.Selection
}

// checks are what [Run] runs, in order.
var checks = []struct {
	name  string
	check func(ctx context.Context, c Case) error
}{
	{"detected", checkDetected},
	{"info", checkInfo},
	{"plan", checkPlans},
	{"same plan again", checkRepeated},
	{"same plan at another speed", checkDelayed},
	{"same plan beside others", checkConcurrent},
	{"same bytes however read", checkReading},
	{"past the end", checkPastEnd},
	{"unknown track", checkUnknownTrack},
	{"cancelled", checkCancelled},
	{"leaves nothing behind", checkLeaks},
}

// Run checks a container on a medium.
func Run(t *testing.T, c Case) {
	if len(c.Selections) == 0 {
		t.Fatal("no selections")
	}
	for _, check := range checks {
		t.Run(check.name, func(t *testing.T) {
			if err := check.check(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
	}
}

// medium is an opened medium with what opens its resources.
type medium struct {
	formats.Media
	window *seek.Window
	opener seek.Opener
}

// Sizes of what is read of a medium at first.
const edge = 64 << 10

// open opens the medium as a client does: its first and last bytes first. Slow
// wraps each Source.
func (c Case) open(ctx context.Context, slow func(seek.Source) seek.Source) (*medium, error) {
	m := &medium{window: seek.NewWindow(ctx, slow(c.Source), c.Env.Limits.WithDefaults().Window)}
	m.window.Prefetch(seek.Request{Range: seek.Suffix(edge), Purpose: seek.Tail})
	_, err := m.window.ReadRange(ctx, seek.Range{Length: edge}, seek.Head, "")
	if err != nil {
		m.close()
		return nil, err
	}
	m.opener = seek.OpenerFunc(func(ctx context.Context, name string) (seek.Source, error) {
		if name == m.window.Info().Name {
			return m.window, nil
		}
		if c.Opener == nil {
			return nil, fmt.Errorf("opening %q, another name than the medium's %q: %w", name, m.window.Info().Name, seek.ErrNotFound)
		}
		source, err := c.Opener.OpenSource(ctx, name)
		if err != nil {
			return nil, err
		}
		return slow(source), nil
	})
	env := c.Env
	env.Opener = m.opener
	if m.Media, err = c.Format.Open(ctx, m.window, env); err != nil {
		m.close()
		return nil, err
	}
	if o, ok := m.Media.(seek.Opener); ok {
		m.opener = o
	}
	return m, nil
}

func (m *medium) close() { m.window.Close() }

func (m *medium) read(ctx context.Context, p *formats.Plan) *seek.Reader {
	return seek.NewReader(ctx, p.Parts, m.opener, 0)
}

// opened runs f on the opened medium.
func (c Case) opened(ctx context.Context, f func(*medium) error) error {
	m, err := c.open(ctx, atOnce)
	if err != nil {
		return fmt.Errorf("opening: %w", err)
	}
	defer m.close()
	return f(m)
}

// each runs f for each selection's plan and gathers what is wrong. A form that
// the container does not have is no plan.
func (c Case) each(ctx context.Context, m *medium, f func(s formats.Selection, p *formats.Plan) error) error {
	var wrong []error
	planned := false
	for i, s := range c.Selections {
		p, err := m.Plan(ctx, s)
		if errors.Is(err, formats.ErrUnsupported) {
			continue
		}
		planned = true
		if err == nil {
			err = f(s, p)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("selection %d, %s: %w", i, s.Interval, err))
		}
	}
	if !planned {
		wrong = append(wrong, errors.New("no selection is supported"))
	}
	return errors.Join(wrong...)
}

func atOnce(s seek.Source) seek.Source { return s }

// dawdling delays each answer by a time that depends on how many came before,
// so that answers overtake each other.
func dawdling(s seek.Source) seek.Source { return &dawdler{Source: s} }

type dawdler struct {
	seek.Source
	requests atomic.Int64
}

func (d *dawdler) Open(ctx context.Context, r seek.Request) (*seek.Body, error) {
	select {
	case <-time.After(time.Duration(d.requests.Add(1)*5%8) * time.Millisecond):
	case <-ctx.Done():
	}
	return d.Source.Open(ctx, r)
}

// checkLeaks opens the medium, begins to read each clip and closes all.
func checkLeaks(ctx context.Context, c Case) error {
	before := goleak.IgnoreCurrent()
	err := c.opened(ctx, func(m *medium) error {
		return c.each(ctx, m, func(s formats.Selection, p *formats.Plan) error {
			r := m.read(ctx, p)
			defer r.Close()
			if _, err := r.Read(make([]byte, 100)); err != nil && err != io.EOF {
				return err
			}
			return nil
		})
	})
	return errors.Join(err, goleak.Find(before))
}

// checkCancelled asserts that a cancelled context ends planning and spoils
// nothing: afterwards the same medium plans as any other.
func checkCancelled(ctx context.Context, c Case) error {
	return c.opened(ctx, func(m *medium) error {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		for i, s := range c.Selections {
			_, err := m.Plan(ended, s)
			if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, formats.ErrUnsupported) {
				return fmt.Errorf("selection %d, %s, with a context that has ended: %w, want %w", i, s.Interval, err, context.Canceled)
			}
		}
		return c.opened(ctx, func(fresh *medium) error {
			return c.each(ctx, m, func(s formats.Selection, p *formats.Plan) error { return samePlan(ctx, fresh, s, p) })
		})
	})
}
