package formatstest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func between(a, b int64) fragment.Interval { return fragment.Between(millis(a), millis(b)) }

// fakeCase is a Fake of 20 s and selections of every kind.
func fakeCase(f formats.Format) Case {
	return Case{
		Format: f,
		Source: seektest.New(FakeFile(20)),
		Selections: []formats.Selection{
			{Interval: between(5300, 9100)},
			{Interval: between(5300, 9100), Timeline: formats.Original},
			{Interval: between(4000, 6000), Tracks: []string{"2"}},
			{Interval: between(4001, 4002), Tracks: []string{"3", "1"}},
			{Interval: fragment.From(millis(19_900))},
			{Interval: fragment.From(fragment.Time{})},
			{Interval: between(0, 99_000), Form: formats.Standalone},
			{Interval: between(5300, 9100), Form: formats.Verbatim},
		},
	}
}

func TestFake(t *testing.T)        { Run(t, fakeCase(Fake{})) }
func TestFakeUnsized(t *testing.T) { Run(t, fakeCase(Fake{Unsized: true})) }

// The suite says what is wrong with containers that break a rule.
func TestSuiteNoticesBrokenContainers(t *testing.T) {
	tests := []struct {
		rule   string
		checks string // that must fail, at least; none if ""
		broken broken
	}{
		{"nothing is broken", "", broken{}},
		{"sizes add up", "plan, same bytes however read", broken{plan: func(p *formats.Plan) { p.Size++ }}},
		{"a part has the size of its range", "plan, same bytes however read", broken{plan: func(p *formats.Plan) {
			for i := range p.Parts {
				if p.Parts[i].Rewrite == nil && p.Parts[i].Resource != nil {
					p.Parts[i].Size--
					p.Size--
				}
			}
		}}},
		{"ranges are inside the resource", "plan, same bytes however read", broken{plan: func(p *formats.Plan) {
			p.Parts[len(p.Parts)-1].Range = seek.Range{Offset: 1 << 40, Length: p.Parts[len(p.Parts)-1].Length}
		}}},
		{"ranges are closed", "plan, same bytes however read", broken{plan: func(p *formats.Plan) {
			p.Parts[len(p.Parts)-1].Length = seek.ToEnd
		}}},
		{"ranges have a purpose", "plan", broken{plan: func(p *formats.Plan) { p.Parts[len(p.Parts)-1].Purpose = "" }}},
		{"the resource is the one that was opened", "plan, same bytes however read", broken{plan: func(p *formats.Plan) {
			other := *p.Parts[1].Resource
			other.Validator = `"2"`
			p.Parts[1].Resource = &other
		}}},
		{"a resource is known by one description", "plan", broken{plan: func(p *formats.Plan) {
			last := p.Parts[len(p.Parts)-1]
			other := *last.Resource
			other.MediaType = "text/plain"
			last.Resource = &other
			p.Parts = append(p.Parts, last)
			p.Size += last.Size
		}}},
		{"literals are small", "plan", broken{plan: func(p *formats.Plan) {
			p.Parts = append(p.Parts, seek.Literal(make([]byte, 3<<20), "copy"))
			p.Size += 3 << 20
		}}},
		{"requested is what was selected", "plan", broken{plan: func(p *formats.Plan) { p.Requested.End = p.Requested.End.Add(millis(1)) }}},
		{"covered covers what is requested", "plan", broken{plan: func(p *formats.Plan) {
			p.Covered.Start = p.Requested.Start.Add(millis(1))
		}}},
		{"intervals are in order", "plan", broken{plan: func(p *formats.Plan) {
			p.Presented = fragment.Between(p.Presented.End.Add(millis(1)), p.Presented.Start)
		}}},
		{"tracks are those selected", "plan", broken{plan: func(p *formats.Plan) { p.Tracks = append(p.Tracks[:0:0], formats.Track{ID: "4"}) }}},
		{"there are tracks", "plan", broken{plan: func(p *formats.Plan) { p.Tracks = nil }}},
		{"what is needed is stated", "plan", broken{plan: func(p *formats.Plan) { p.Needed = 0 }}},
		{"rewriters are plain data", "plan", broken{plan: func(p *formats.Plan) { rewrite(p, func(s Shift) seek.Rewriter { return hiding{Shift: s} }) }}},
		{"rewriters have no state", "same bytes however read", broken{plan: func(p *formats.Plan) { rewrite(p, func(s Shift) seek.Rewriter { return &forgetful{Shift: s} }) }}},
		{"rewriters give what they say", "same bytes however read", broken{plan: func(p *formats.Plan) {
			rewrite(p, func(s Shift) seek.Rewriter { return Shift{By: s.By, Sizes: s.Sizes[:1]} })
		}}},
		{"plans do not depend on what came before", "same plan again", broken{
			numbered: func(n int, p *formats.Plan) { p.Needed += int64(n) },
		}},
		{"plans do not depend on time", "same plan again, same plan at another speed, same plan beside others, cancelled", broken{plan: func(p *formats.Plan) {
			p.Warnings = append(p.Warnings, fragment.Warning{Reason: time.Now().String()})
		}}},
		{"plans stay as they are", "same plan again", broken{keep: true}},
		{"a start at the end is past it", "past the end", broken{lenient: true}},
		{"a track that does not exist is an error", "unknown track", broken{anyTrack: true}},
		{"a cancelled plan is cancelled", "cancelled", broken{err: func(ctx context.Context) error {
			if ctx.Err() != nil {
				return errors.New("something else")
			}
			return nil
		}}},
		{"nothing runs on", "leaves nothing behind", broken{leak: true}},
		{"info names the format", "info", broken{info: func(i *formats.Info) { i.Format = "other" }}},
		{"tracks have IDs", "info", broken{info: func(i *formats.Info) { i.Tracks = append(i.Tracks, formats.Track{Kind: formats.Audio}) }}},
		{"tracks have kinds", "info", broken{info: func(i *formats.Info) { i.Tracks = append(i.Tracks, formats.Track{ID: "9"}) }}},
		{"inspecting takes nothing back", "info", broken{inspected: func(i *formats.Info) { i.Duration = millis(1) }}},
		{"other files are not recognised", "detected", broken{greedy: true}},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			c := fakeCase(tt.broken)
			stop := make(chan struct{})
			tt.broken.stop = stop
			c.Format = tt.broken
			var failed []string
			for _, check := range checks {
				if tt.broken.keep && check.name == "same plan beside others" {
					continue // what changes plans that others read is a race, which the race detector ends
				}
				if err := check.check(t.Context(), c); err != nil {
					t.Logf("%s: %v", check.name, err)
					failed = append(failed, check.name)
				}
			}
			close(stop)
			if tt.checks == "" && failed != nil {
				t.Errorf("failed: %q", failed)
			}
			for want := range strings.SplitSeq(tt.checks, ", ") {
				if want != "" && !slices.Contains(failed, want) {
					t.Errorf("did not fail: %s; failed: %q", want, failed)
				}
			}
		})
	}
}

// broken is a Fake that breaks a rule.
type broken struct {
	Fake
	plan      func(*formats.Plan)
	numbered  func(n int, p *formats.Plan)
	info      func(*formats.Info)
	inspected func(*formats.Info)
	err       func(context.Context) error
	keep      bool // gives the same plan out again, changed
	lenient   bool // plans from the beginning what is past the end
	anyTrack  bool // leaves out tracks that do not exist
	leak      bool
	greedy    bool
	stop      chan struct{}
}

func (b broken) Detect(head []byte, i seek.Info) bool { return b.greedy || b.Fake.Detect(head, i) }

func (b broken) Open(ctx context.Context, w *seek.Window, env formats.Env) (formats.Media, error) {
	m, err := b.Fake.Open(ctx, w, env)
	if err != nil {
		return nil, err
	}
	if b.leak {
		go func() { <-b.stop }()
	}
	return &brokenMedia{broken: b, Media: m, plans: make(chan int, 1), kept: make(chan *formats.Plan, 1)}, nil
}

type brokenMedia struct {
	broken
	formats.Media
	plans chan int
	kept  chan *formats.Plan
}

func (m *brokenMedia) Info() formats.Info {
	i := m.Media.Info()
	i.Tracks = i.Tracks[:len(i.Tracks):len(i.Tracks)]
	if m.info != nil {
		m.info(&i)
	}
	return i
}

func (m *brokenMedia) Inspect(context.Context) (formats.Info, error) {
	i := m.Info()
	if m.inspected != nil {
		m.inspected(&i)
	}
	return i, nil
}

func (m *brokenMedia) Plan(ctx context.Context, s formats.Selection) (*formats.Plan, error) {
	if m.err != nil {
		if err := m.err(ctx); err != nil {
			return nil, err
		}
	}
	p, err := m.Media.Plan(ctx, s)
	if m.lenient && errors.Is(err, formats.ErrPastEnd) || m.anyTrack && errors.Is(err, formats.ErrNoTrack) {
		return m.Media.Plan(ctx, formats.Selection{Interval: fragment.From(fragment.Time{})})
	}
	if err != nil {
		return nil, err
	}
	if m.plan != nil {
		m.plan(p)
	}
	if m.numbered != nil {
		n := 0
		select {
		case n = <-m.plans:
		default:
		}
		m.numbered(n, p)
		select {
		case m.plans <- n + 1:
		default:
		}
	}
	if m.keep {
		select {
		case old := <-m.kept:
			old.Needed++
		default:
		}
		select {
		case m.kept <- p:
		default:
		}
	}
	return p, nil
}

// rewrite replaces the rewriters of a plan.
func rewrite(p *formats.Plan, by func(Shift) seek.Rewriter) {
	for i, part := range p.Parts {
		if s, ok := part.Rewrite.(Shift); ok {
			p.Parts[i].Rewrite = by(s)
		}
	}
}

// hiding is a Rewriter with a field that is not exported.
type hiding struct {
	Shift
	_ int
}

func (hiding) Equal(hiding) bool { return true } // for cmp

// forgetful is a Rewriter that counts how often it is used.
type forgetful struct {
	Shift
	Used int
}

func (f *forgetful) Equal(*forgetful) bool { return true } // for cmp

func (f *forgetful) Rewrite(ctx context.Context, in seek.Input, off int64) (io.ReadCloser, error) {
	if off > 0 {
		return Shift{By: f.By + 1, Sizes: f.Sizes}.Rewrite(ctx, in, off)
	}
	return f.Shift.Rewrite(ctx, in, off)
}

// A clip of a Fake is a Fake: it opens, lasts as long as was presented, and its
// own clips hold the same samples.
func TestFakeClipIsAFake(t *testing.T) {
	for _, timeline := range []formats.Timeline{formats.Zero, formats.Original} {
		data := clip(t, FakeFile(20), formats.Selection{Interval: between(5300, 9100), Timeline: timeline})
		m, err := Case{Format: Fake{}, Source: seektest.New(data)}.open(t.Context(), atOnce)
		if err != nil {
			t.Fatal(err)
		}
		defer m.close()
		if got := m.Info().Duration; !got.Equal(millis(3800)) {
			t.Errorf("%s: the clip lasts %s s, want 3.8", timeline, got)
		}
		// 6 to 8 s of the original, cut from it and from the clip.
		again := clip(t, data, formats.Selection{Interval: between(700, 2700), Timeline: timeline})
		want := clip(t, FakeFile(20), formats.Selection{Interval: between(6000, 8000), Timeline: timeline})
		if !bytes.Equal(again, want) {
			t.Errorf("%s: a clip of the clip has %d bytes, one of the original %d, or others", timeline, len(again), len(want))
		}
	}
}

func clip(t *testing.T, data []byte, s formats.Selection) []byte {
	t.Helper()
	var got []byte
	err := Case{Format: Fake{}, Source: seektest.New(data)}.opened(t.Context(), func(m *medium) error {
		p, err := m.Plan(t.Context(), s)
		if err != nil {
			return err
		}
		r := m.read(t.Context(), p)
		defer r.Close()
		got, err = io.ReadAll(r)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A clip of a Fake holds the samples it takes, with their times made earlier.
func TestFakeSamples(t *testing.T) {
	data := clip(t, FakeFile(20), formats.Selection{Interval: between(5300, 5600), Tracks: []string{"1"}})
	head, samples, _ := strings.Cut(string(data), "\n\n")
	want := strings.Join([]string{
		"fakemedia 1", "track 1 video", "show 1300 1600",
		"sample 1 0 500 key 3500", "sample 1 500 500 - 1000", "sample 1 1000 500 - 1100", "sample 1 1500 500 - 1000",
	}, "\n")
	want = strings.NewReplacer("key 3500", "key 3500", "- 1000", "- 1000").Replace(want)
	if got := shape(head); got != shape(want) {
		t.Errorf("index:\n%s\nwant:\n%s", head, want)
	}
	if !strings.HasPrefix(samples, "00000000") {
		t.Errorf("the first sample begins with %q", samples[:8])
	}
}

// shape leaves out the sizes of samples.
func shape(index string) string {
	var out []string
	for line := range strings.Lines(index) {
		if f := strings.Fields(line); f[0] == "sample" {
			line = strings.Join(f[:5], " ")
		}
		out = append(out, strings.TrimSpace(line))
	}
	return strings.Join(out, "\n")
}

func TestFakeDamage(t *testing.T) {
	good := string(FakeFile(2))
	tests := []struct {
		name, data string
		limits     formats.Limits
		want       error
	}{
		{"no end of the index", fakeMagic + "show 0 1\n", formats.Limits{}, formats.ErrDamaged},
		{"a line that says nothing", strings.Replace(good, "show", "shoe", 1), formats.Limits{}, formats.ErrDamaged},
		{"time runs backwards", strings.Replace(good, "show 0 2000", "show 9 2", 1), formats.Limits{}, formats.ErrDamaged},
		{"sizes that wrap", strings.Replace(good, "key 400", "key 9223372036854775807", 1), formats.Limits{}, formats.ErrDamaged},
		{"a sample without room for its time", strings.Replace(good, "key 400", "key 7", 1), formats.Limits{}, formats.ErrDamaged},
		{"too many entries", good, formats.Limits{Entries: 5}, seek.ErrLimit},
		{"too long an index", fakeMagic + strings.Repeat("sample 1 0 500 - 9\n", 9000), formats.Limits{Index: 1 << 16}, seek.ErrLimit},
	}
	for _, tt := range tests {
		c := Case{Format: Fake{}, Source: seektest.New([]byte(tt.data)), Env: formats.Env{Limits: tt.limits}}
		_, err := c.open(t.Context(), atOnce)
		var where *formats.Error
		if !errors.Is(err, tt.want) || !errors.As(err, &where) || where.Container != "fake" {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}
