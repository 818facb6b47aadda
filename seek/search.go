package seek

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
)

// What a Search costs unless told otherwise.
const (
	// DefaultProbe is the size of one probe in bytes. A page of Ogg, the largest
	// element that carries no length of its own beyond 16 bits, fits in it.
	DefaultProbe = 64 << 10
	// DefaultRounds is the most rounds of one Find. The searches of this module
	// need 3 on the average and 6 at most; what needs more is damaged or hostile.
	DefaultRounds = 16
	// looksPerRound bounds how often a Find may look at bytes that are held,
	// which costs no request.
	looksPerRound = 4
)

// ErrDisorder: the times that a resource states contradict each other.
var ErrDisorder = errors.New("times do not ascend")

// Mark is a place in a resource whose time is known: the beginning of an
// element, such as a page, a fragment or a cluster, that a container recognises
// in raw bytes.
type Mark struct {
	// Stream tells apart streams that are interleaved. Within a stream ticks do
	// not descend; marks of other streams may be earlier or later than their
	// neighbours. Containers with one clock for all leave it 0.
	Stream int
	// Offset is where the element begins.
	Offset int64
	// End is the first byte after the element where the element states it, else
	// 0. No other mark begins before it, so that the next one is known to begin
	// at End or later without a look at what lies between.
	End int64
	// Tick is the mark's time on the container's own clock. Whether that is
	// when the element's media begins or ends is the container's choice, the
	// same for all its marks.
	Tick int64
	// Until, where it is above Tick, is the mark's time of what follows: no mark
	// with a Tick in (Tick, Until) exists. A container that knows how long an
	// element lasts states it and so saves the look at the next.
	Until int64
	// Value is the container's own, such as the parsed header.
	Value any
}

// Search finds a time in a resource that has no index, in few rounds of
// probes. It guesses where the time lies from the marks it knows, with an
// estimate of how wrong the guess may be, and looks at several places of that
// stretch at once; where a guess gained little it falls back to dividing the
// bytes evenly. It remembers marks: each Find starts from what all earlier ones
// saw, and Finds that run at the same time share their probes.
//
// The exported fields are set before the first use. All methods may be used
// concurrently.
type Search struct {
	// Window is what is read, with its cache: a probe that lands on wanted bytes
	// becomes part of them, and nothing is read twice.
	Window *Window
	// Recognize returns the marks that begin in data, whose first byte is at
	// off, in the order of their bytes. Data may begin and end within elements.
	// Next is how far that is known to be all: the beginning of an element that
	// the end of data cuts off, or the end of the last, or beyond data where an
	// element's length says that nothing begins before. It is called
	// concurrently, and must not keep data.
	Recognize func(off int64, data []byte) (marks []Mark, next int64)
	// Start and End are the bytes between which marks may lie.
	Start, End int64
	// Probe is the most bytes of one probe, 0 for [DefaultProbe]. Where elements
	// are larger than all probes of a round, a round may read one of them.
	Probe int64
	// Parallel is the number of probes in a round, 0 for [DefaultParallel].
	Parallel int
	// MaxRounds is the most rounds of one Find, 0 for [DefaultRounds].
	MaxRounds int

	mu      sync.Mutex
	known   atlas
	model   model
	flights []*probe
	stats   SearchStats
}

// SearchStats is what a Search has cost so far.
type SearchStats struct {
	Finds  int
	Rounds int   // waits for probes
	Probes int   // ranges looked at that were not held
	Bytes  int64 // of probes, as far as they were neither held nor on their way
}

// SearchError is a search that was given up. It wraps [ErrLimit] where its
// rounds were used up, and [ErrDisorder] where the marks contradict each other.
type SearchError struct {
	Tick   int64
	Rounds int
	Bytes  int64 // of the rounds' probes
	Range  Range // where the tick must lie
	Err    error
}

// Error states what was spent and where.
func (e *SearchError) Error() string {
	return fmt.Sprintf("searching tick %d in bytes %s: %v after %d rounds of probes, %d bytes", e.Tick, e.Range, e.Err, e.Rounds, e.Bytes)
}

// Unwrap returns the reason.
func (e *SearchError) Unwrap() error { return e.Err }

// Stats returns what the Search has cost so far.
func (s *Search) Stats() SearchStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Add tells the Search of marks that are known from elsewhere, such as an index.
func (s *Search) Add(marks ...Mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prepare()
	s.known.add(marks)
}

// Scan recognises marks in bytes that are at hand, such as the resource's first
// and last, before the first Find.
func (s *Search) Scan(off int64, data []byte) {
	marks, next := s.Recognize(off, data)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prepare()
	s.learn(off, int64(len(data)), marks, next)
}

// Find returns a stream's last mark with Tick ≤ tick and its next one, between
// which there is no other of that stream. The bytes from before to after have
// been read, or lie within the element of before.
//
// Where no mark is at or before tick, before is {Offset: Start, End: Start,
// Tick: math.MinInt64}; where none is after it, after is {Offset: End, End: End,
// Tick: math.MaxInt64}. Where before is known to last beyond tick, after may be
// a bare {Offset: before.End, Tick: before.Until}.
//
// A Find that needs more than MaxRounds fails with a [*SearchError].
func (s *Search) Find(ctx context.Context, stream int, tick int64) (before, after Mark, err error) {
	s.mu.Lock()
	s.prepare()
	s.stats.Finds++
	s.mu.Unlock()
	f := finding{stream: stream, tick: tick, grow: 1}
	for {
		r, done, err := s.step(&f)
		if err != nil || done {
			return f.before, f.after, err
		}
		if err := s.look(ctx, &f, r); err != nil {
			return Mark{}, Mark{}, err
		}
	}
}

// finding is the state of one Find.
type finding struct {
	stream        int
	tick          int64
	rounds, looks int
	bytes         int64
	unread        int64 // bytes of the bracket before the last round
	stalled       bool  // the last round gained little
	grow          int64 // factor of the probes' size
	before, after Mark
}

// round is what one round looks at.
type round struct {
	b       bracket
	guess   guess
	own     []*probe
	foreign []*probe // of other Finds
}

// probe is a range that is being looked at.
type probe struct {
	Range
	done chan struct{} // closed when its marks are known, or it failed
}

// prepare sets what the zero value leaves open. The lock is held.
func (s *Search) prepare() {
	s.known.start, s.known.end = s.Start, s.End
}

func (s *Search) probeSize() int64 { return max(cmp.Or(s.Probe, DefaultProbe), 1) }
func (s *Search) parallel() int    { return max(cmp.Or(s.Parallel, DefaultParallel), 1) }
func (s *Search) maxRounds() int   { return max(cmp.Or(s.MaxRounds, DefaultRounds), 1) }

// step decides whether the search is over, and else what to look at next.
func (s *Search) step(f *finding) (r round, done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.b = s.known.around(f.stream, f.tick)
	if r.b.landed(f.tick) {
		f.before, f.after = r.b.before, r.b.after
		return r, true, nil
	}
	fail := func(reason error) error {
		where := Range{r.b.before.Offset, r.b.after.Offset - r.b.before.Offset}
		return &SearchError{f.tick, f.rounds, f.bytes, where, reason}
	}
	switch {
	case s.known.line(f.stream).disordered():
		return r, false, fail(ErrDisorder)
	case f.rounds >= s.maxRounds() || f.looks >= looksPerRound*s.maxRounds():
		return r, false, fail(ErrLimit)
	}
	f.looks++
	r.guess = s.model.guess(&s.known, r.b, f.stream, f.tick, s.probeSize())
	f.stalled = f.looks > 1 && r.b.unread > f.unread/2
	f.unread = r.b.unread
	ranges := s.place(f, r.b, r.guess)
	s.share(f, &r, ranges)
	return r, false, nil
}

// share divides the ranges of a round into those that another Find is looking
// at, or as good as, and the round's own, which it registers.
func (s *Search) share(f *finding, r *round, ranges []Range) {
	near := max(s.probeSize(), int64(r.guess.spread/4))
	var own []*probe
	for _, want := range ranges {
		i := indexNear(s.flights, want, near)
		if i >= 0 {
			r.foreign = append(r.foreign, s.flights[i])
			continue
		}
		own = append(own, &probe{want, make(chan struct{})})
	}
	s.flights = append(s.flights, own...)
	r.own = own
	var bytes int64
	for _, p := range own {
		if n := s.Window.lacking(p.Range); n > 0 {
			bytes += n
			s.stats.Probes++
		}
	}
	if bytes > 0 || len(r.foreign) > 0 {
		f.rounds++
		s.stats.Rounds++
	}
	f.bytes += bytes
	s.stats.Bytes += bytes
}

// indexNear returns the flight that would serve as well as the wanted range.
func indexNear(flights []*probe, want Range, near int64) int {
	for i, p := range flights {
		between := (p.Offset + p.Length/2) - (want.Offset + want.Length/2)
		if between <= near && between >= -near && p.Length*2 >= want.Length {
			return i
		}
	}
	return -1
}

// look reads the ranges of a round and learns from them.
func (s *Search) look(ctx context.Context, f *finding, r round) error {
	if err := s.readOwn(ctx, f, r); err != nil {
		return err
	}
	for _, p := range r.foreign {
		select {
		case <-p.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (s *Search) readOwn(ctx context.Context, f *finding, r round) error {
	defer s.land(r.own)
	if len(r.own) == 0 {
		return nil
	}
	requests := make([]Request, len(r.own))
	for i, p := range r.own {
		requests[i] = Request{p.Range, Probe, fmt.Sprintf("round %d", f.rounds)}
	}
	data, err := s.Window.Read(ctx, requests...)
	if err != nil {
		return err
	}
	type seen struct {
		marks []Mark
		next  int64
	}
	all := make([]seen, len(data))
	for i, p := range r.own {
		all[i].marks, all[i].next = s.Recognize(p.Offset, data[i])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	progress := false
	var found []Mark
	for i, p := range r.own {
		n := int64(len(data[i]))
		if n < p.Length && p.Offset+n < s.End { // the resource ends early
			n = p.Length
		}
		progress = s.learn(p.Offset, n, all[i].marks, all[i].next) || progress
		found = append(found, all[i].marks...)
	}
	s.model.learn(r.guess, found)
	if f.grow *= 2; progress && len(found) > 0 {
		f.grow = 1
	}
	return nil
}

// land ends probes.
func (s *Search) land(own []*probe) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range own {
		for i, q := range s.flights {
			if p == q {
				s.flights = append(s.flights[:i:i], s.flights[i+1:]...)
				break
			}
		}
		close(p.done)
	}
}

// learn remembers what was recognised in [off, off+n), and reports whether that
// is news. The lock is held.
func (s *Search) learn(off, n int64, marks []Mark, next int64) bool {
	end := off + n
	if next <= off && n >= maxStretch {
		next = end // an element that no reading shows whole: go on behind it
	}
	return s.known.scanned(off, end, min(max(next, off), s.End), marks)
}

// lacking returns how many bytes of r are neither held nor on their way.
func (w *Window) lacking(r Range) (n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r = w.clip(r); !r.Closed() {
		return 0
	}
	for _, m := range w.missing(r) {
		n += m.Length
	}
	return n
}
