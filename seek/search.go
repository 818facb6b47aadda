package seek

import (
	"cmp"
	"context"
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
// stretch at once; the more rounds it took, the less it trusts its guesses and
// divides the bytes evenly. It remembers marks: each Find starts from what all earlier ones
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
	// EndTick is the tick at End where it is stated somewhere, such as by a
	// duration in a header, else 0. Only guesses use it.
	EndTick int64
	// Probe is the most bytes of one probe, 0 for [DefaultProbe]. Where elements
	// are larger than all probes of a round, a round may read one of them.
	Probe int64
	// Element is about how many bytes elements have, as far as the container can
	// tell beforehand, else 0. It counts until marks tell more.
	Element int64
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
	Rounds int   // waits for probes, of all Finds
	Most   int   // waits of the Find that waited most often
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
	f := finding{stream: stream, tick: tick, grow: 1}
	err = s.find(ctx, &f)
	return f.before, f.after, err
}

func (s *Search) find(ctx context.Context, f *finding) error {
	s.mu.Lock()
	s.prepare()
	s.stats.Finds++
	s.mu.Unlock()
	for {
		r, done, err := s.step(f)
		if err != nil || done {
			return err
		}
		if err := s.look(ctx, f, r); err != nil {
			return err
		}
	}
}

// Place is where a tick lies, as nearly as [Search.Near] found out.
type Place struct {
	// Before and After are the nearest marks that are known around the tick, as
	// Find returns them; others may lie between.
	Before, After Mark
	// At is where the tick is thought to lie, and Spread the standard deviation of
	// that, in bytes.
	At, Spread int64
}

// Near is Find for a caller that reads on from before whatever comes: it ends as
// soon as the tick is thought to lie within the element of before, or no more
// than reach bytes behind its beginning, and so saves the round that would make
// sure.
func (s *Search) Near(ctx context.Context, stream int, tick, reach int64) (Place, error) {
	f := finding{stream: stream, tick: tick, grow: 1, reach: max(reach, 1)}
	err := s.find(ctx, &f)
	return Place{f.before, f.after, int64(f.guess.at), int64(f.guess.spread)}, err
}

// prepare sets what the zero value leaves open. The lock is held.
func (s *Search) prepare() {
	s.known.start, s.known.end, s.known.endTick = s.Start, s.End, s.EndTick
}

func (s *Search) probeSize() int64 { return max(cmp.Or(s.Probe, DefaultProbe), 1) }
func (s *Search) parallel() int    { return max(cmp.Or(s.Parallel, DefaultParallel), 1) }
func (s *Search) maxRounds() int   { return max(cmp.Or(s.MaxRounds, DefaultRounds), 1) }
