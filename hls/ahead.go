package hls

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/mp4"
	"github.com/mediafrag/mediafrag/seek"
)

const (
	// heldAhead is how much is held of what was asked for ahead, in bytes for each
	// range that is fetched at a time: as much as a [seek.Reader] holds.
	heldAhead = 1 << 20
	// skipAhead is how many bytes of an answer in front of what is wanted are read
	// and dropped.
	skipAhead = 64 << 10
)

var _ formats.Starter = (*Medium)(nil)

// Start is [Medium.Plan] for a clip that is read at once. The segments between the
// first and the last are asked for along with these, as many as are fetched at a
// time. Their answers wait, unread, for the reader of the plan. Only where an index
// of all samples stands in front of the clip, or clocks begin anew within it, the
// plan takes the beginnings of those answers: what was read of them is held, up to
// 1 MiB for each range that is fetched at a time, and segments for which that is
// not enough come by two requests.
func (m *Medium) Start(ctx context.Context, s formats.Selection, parallel int) (p *formats.Plan, stop func(), err error) {
	if parallel <= 0 {
		parallel = seek.DefaultParallel
	}
	return m.start(ctx, s, parallel, int64(parallel)*heldAhead)
}

// start is [Medium.Start] with so many bytes to hold.
func (m *Medium) start(ctx context.Context, s formats.Selection, parallel int, held int64) (p *formats.Plan, stop func(), err error) {
	a := &ahead{loader: m.loader, parallel: parallel, full: make(chan struct{}), left: held}
	a.ctx, a.cancel = context.WithCancel(ctx)
	if p, err = m.planWith(ctx, s, a); err != nil {
		a.stop()
		return nil, nil, err
	}
	return p, a.stop, nil
}

// ahead is what was asked for before the plan was made that it is for.
type ahead struct {
	loader   *loader
	parallel int
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup

	mu    sync.Mutex
	all   []*answer
	left  int64         // bytes that may still be held
	stays int           // answers that wait on their connections
	full  chan struct{} // closed when those are as many as are fetched at a time
}

// answer is a request that was sent ahead, or will be when its turn comes.
type answer struct {
	extent
	note   string
	sent   chan struct{} // closed when it is known whether there will be a body
	ctx    context.Context
	cancel context.CancelFunc
	unlink func() bool // from whoever has asked

	mu   sync.Mutex // of what follows
	body *seek.Body // nil: there is none, or somebody has taken it
	head []byte     // what was read of it
	err  error      // what ended it; io.EOF: all of it is in head
}

// ask sends requests for the segments between the ends of cuts.
func (a *ahead) ask(cuts []*cut, s formats.Selection) {
	if slices.ContainsFunc(cuts, func(c *cut) bool { return c.indexes(s) }) {
		// Of segments that have more than is wanted, ranges are fetched.
		a.askInTurn(slices.DeleteFunc(slices.Clone(cuts), func(c *cut) bool { return c.s.partly(s.Tracks) }))
		return
	}
	var parts []seek.Part
	ends := map[extent]bool{}
	eachByTime(cuts, func(c *cut, i int, at extent, read bool) {
		p := seek.Part{Resource: &seek.Info{Name: at.name}, Request: seek.Request{Range: at.Range, Purpose: seek.Media, Note: c.note(&c.list.segments[i])}, Size: at.Length}
		x := &c.list.segments[i]
		cutToSamples := x.init != nil && x.init.uri != "" && s.Form != formats.Verbatim
		if read {
			ends[at] = true
			if cutToSamples { // the plan has their bytes
				return
			}
		}
		if cutToSamples || len(x.keys) > 0 || x.discontinuity != c.list.segments[c.first].discontinuity {
			p.Rewrite = Rewriter{} // by whatever
		}
		parts = append(parts, p)
	})
	requests, err := seek.First(parts, a.parallel)
	if err != nil {
		return // whoever reads the plan meets the error
	}
	for _, r := range requests {
		if at := (extent{r.Name, without(r.Range, r.Name, ends)}); at.Length != 0 && !ends[at] {
			x := a.add(at, r.Note)
			a.wg.Go(func() { a.send(x) })
		}
	}
}

// without returns a range without what of it was read, at either end.
func without(r seek.Range, name string, read map[extent]bool) seek.Range {
	for again := r.Length >= 0; again; {
		again = false
		for e := range read {
			if e.name != name || e.Length <= 0 || r.Length <= 0 || e.Offset >= r.End() || e.End() <= r.Offset {
				continue
			}
			switch {
			case e.Offset <= r.Offset:
				r = seek.Range{Offset: e.End(), Length: max(0, r.End()-e.End())}
			case e.End() >= r.End():
				r.Length = e.Offset - r.Offset
			default:
				continue
			}
			again = true
		}
	}
	return r
}

// eachByTime calls f for the segments of cuts that exist, by the time at which they
// begin. Read says that the plan is made from all of it; what is held already is
// left out.
func eachByTime(cuts []*cut, f func(c *cut, i int, at extent, read bool)) {
	type place struct {
		*cut
		i    int
		read bool
	}
	var all []place
	for _, c := range cuts {
		read, between := c.ends(), c.begins()
		for i := c.first; i <= c.last; i++ {
			if c.wanted(i) && !between[i] {
				all = append(all, place{c, i, read[i]})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b place) int { return int(a.list.segments[a.i].start - b.list.segments[b.i].start) })
	for _, x := range all {
		s, name, err := x.segment(x.i)
		if err != nil {
			return
		}
		if at := (extent{name, s.bytes}); x.read || !x.m.loader.holds(at) {
			f(x.cut, x.i, at, x.read)
		}
	}
}

// indexes reports whether the plan of a cut is made from the index of each segment:
// for a clip that has one of all samples, or where clocks or initializations change.
func (c *cut) indexes(s formats.Selection) bool {
	first := &c.list.segments[c.first]
	if first.init == nil || first.init.uri == "" || s.Form == formats.Verbatim {
		return false
	}
	for i := c.first; i <= c.last; i++ {
		if x := &c.list.segments[i]; c.wanted(i) && (x.discontinuity != first.discontinuity || !x.init.same(first.init)) {
			return true
		}
	}
	return s.Layout == mp4.Progressive
}

// partly reports whether a stream has tracks that are not selected.
func (s *stream) partly(selected []string) bool {
	return len(selected) > 0 && slices.ContainsFunc(s.tracks, func(t formats.Track) bool {
		return !slices.Contains(selected, t.ID) && !slices.Contains(selected, t.Name)
	})
}

// askInTurn sends requests as slots become free. An answer that is held whole frees
// its own.
func (a *ahead) askInTurn(cuts []*cut) {
	var list []*answer
	eachByTime(cuts, func(c *cut, i int, at extent, read bool) {
		if !read {
			list = append(list, a.add(at, c.note(&c.list.segments[i])))
		}
	})
	a.wg.Go(func() {
		slots := make(chan struct{}, a.parallel)
		for i, x := range list {
			select {
			case slots <- struct{}{}:
				a.wg.Go(func() {
					if a.send(x); a.whole(x) {
						<-slots
					}
				})
				continue
			case <-a.full:
			case <-a.ctx.Done():
			}
			for _, x := range list[i:] {
				a.loader.drop(x)
				close(x.sent)
			}
			return
		}
	})
}

// add enters a request that is to be sent.
func (a *ahead) add(at extent, note string) *answer {
	x := &answer{extent: at, note: note, sent: make(chan struct{})}
	x.ctx, x.cancel = context.WithCancel(context.WithoutCancel(a.ctx)) // whoever takes it may go on
	x.unlink = context.AfterFunc(a.ctx, x.cancel)
	a.all = append(a.all, x)
	a.loader.enterAhead(x)
	return x
}

// send sends a request. Where it fails, whoever needs its bytes asks again.
func (a *ahead) send(x *answer) {
	defer close(x.sent)
	body, err := a.loader.requestAnew(x.ctx, x.name, seek.Request{Range: x.Range, Purpose: seek.Media, Note: x.note})
	if err != nil {
		a.loader.drop(x)
		return
	}
	x.body = body
}

// whole reads all of an answer where so much may be held, and reports whether its
// connection is free again.
func (a *ahead) whole(x *answer) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.body == nil {
		return true
	}
	size := x.Length
	if size < 0 && x.body.Size >= 0 {
		size = x.body.Size - x.Offset
	}
	a.mu.Lock()
	fits := size >= 0 && size <= a.left
	if fits {
		a.left -= size
	} else if a.stays++; a.stays == a.parallel {
		close(a.full)
	}
	a.mu.Unlock()
	if fits {
		x.fill(size)
	}
	return fits
}

// stop ends what nobody has taken, and waits for it.
func (a *ahead) stop() {
	a.cancel()
	a.wg.Wait()
	for _, x := range a.all {
		a.loader.drop(x)
		x.mu.Lock()
		if x.body != nil {
			x.body.Close()
			x.body = nil
		}
		x.mu.Unlock()
	}
}

// mark numbers the parts of a plan that come by requests which were sent ahead, each
// by one.
func (a *ahead) mark(parts []seek.Part) {
	for i := range parts {
		p := &parts[i]
		if p.Resource == nil || p.Rewrite != nil {
			continue
		}
		p.Run = 1 + slices.IndexFunc(a.all, func(x *answer) bool { return x.name == p.Resource.Name && x.has(p.Range) && a.loader.isAhead(x) })
	}
}

// has reports whether a range is part of the answer's.
func (x *answer) has(r seek.Range) bool {
	return r.Offset >= x.Offset && (x.Length < 0 || r.Length >= 0 && r.End() <= x.End())
}

// fill reads an answer until so many bytes of it are held, or it ends. Its lock is
// held.
func (x *answer) fill(n int64) {
	if more := n - int64(len(x.head)); more > 0 && x.err == nil {
		b := make([]byte, more)
		got, err := io.ReadFull(x.body, b)
		x.head = append(x.head, b[:got]...)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF
		}
		x.err = err
	}
}

// enterAhead makes a request known that was sent ahead.
func (l *loader) enterAhead(x *answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ahead == nil {
		l.ahead = map[string][]*answer{}
	}
	l.ahead[x.name] = append(l.ahead[x.name], x)
}

// drop takes an answer out of those that wait to be read, and reports whether it
// was among them.
func (l *loader) drop(x *answer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.ahead[x.name], x)
	if i < 0 {
		return false
	}
	if l.ahead[x.name] = slices.Delete(l.ahead[x.name], i, i+1); len(l.ahead[x.name]) == 0 {
		delete(l.ahead, x.name)
	}
	return true
}

// isAhead reports whether an answer waits to be read.
func (l *loader) isAhead(x *answer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.ahead[x.name], x)
}

// fromAhead returns a range out of an answer that was asked for ahead, nil where
// there is none. What is wanted as media takes the answer; other ranges are read
// into memory, and the answer waits on.
func (l *loader) fromAhead(ctx context.Context, name string, r seek.Request) *seek.Body {
	l.mu.Lock()
	i := slices.IndexFunc(l.ahead[name], func(x *answer) bool { return x.has(r.Range) })
	if i < 0 {
		l.mu.Unlock()
		return nil
	}
	x := l.ahead[name][i]
	l.mu.Unlock()
	select {
	case <-x.sent:
	case <-ctx.Done():
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.body == nil || x.ctx.Err() != nil {
		return nil
	}
	if r.Purpose == seek.Media {
		return l.take(ctx, x, r.Range)
	}
	end := r.End() - x.Offset
	if !r.Closed() || end > heldAhead {
		return nil
	}
	x.fill(end)
	if x.err != nil && x.err != io.EOF {
		return nil
	}
	from := min(r.Offset-x.Offset, int64(len(x.head)))
	return &seek.Body{Info: x.body.Info, Offset: r.Offset, ReadCloser: io.NopCloser(bytes.NewReader(x.head[from:min(end, int64(len(x.head)))]))}
}

// take gives an answer, from a range's beginning on, to whoever reads it. The
// answer's lock is held.
func (l *loader) take(ctx context.Context, x *answer, r seek.Range) *seek.Body {
	from := r.Offset - x.Offset
	if from > int64(len(x.head))+skipAhead || x.err != nil && x.err != io.EOF || !l.drop(x) || !x.unlink() {
		return nil
	}
	body := x.body
	x.body = nil
	unlink := context.AfterFunc(ctx, x.cancel)
	in := io.MultiReader(bytes.NewReader(x.head), body)
	if from > 0 {
		in = &skipping{in, from}
	}
	if r.Length >= 0 {
		in = io.LimitReader(in, r.Length)
	}
	return &seek.Body{Info: body.Info, Offset: r.Offset, ReadCloser: readCloser{in, closerFunc(func() error {
		defer x.cancel()
		unlink()
		return body.Close()
	})}}
}

// skipping is a reader without its first bytes.
type skipping struct {
	in   io.Reader
	skip int64
}

func (s *skipping) Read(p []byte) (int, error) {
	if s.skip > 0 {
		n, err := io.CopyN(io.Discard, s.in, s.skip)
		if s.skip -= n; err != nil {
			return 0, err
		}
	}
	return s.in.Read(p)
}

// closerFunc is a function that closes something.
type closerFunc func() error

// Close calls f.
func (f closerFunc) Close() error { return f() }
