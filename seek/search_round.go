package seek

import (
	"context"
	"fmt"
)

// finding is the state of one Find.
type finding struct {
	stream        int
	tick          int64
	reach         int64 // above 0: a mark so near before the tick will do
	rounds, looks int   // a look that finds all it wants held is no round
	bytes         int64
	grow          int64 // factor of the probes' size
	void          bool  // the last look waited for another Find's probe that failed
	before, after Mark
	guess         guess // where the tick lies between them
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
	done   chan struct{} // closed when its marks are known, or it failed
	failed bool
}

// step decides whether the search is over, and else what to look at next.
func (s *Search) step(f *finding) (r round, done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.b = s.known.around(f.stream, f.tick)
	landed := r.b.landed(f.tick)
	r.guess = s.model.guess(&s.known, r.b, f.tick, s.probeSize())
	if landed || f.near(r) {
		f.before, f.after, f.guess = r.b.before, r.b.after, r.guess
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
	if !f.void {
		f.looks++
	}
	f.void = false
	s.share(f, &r, s.place(f, r.b, r.guess))
	return r, false, nil
}

// near reports whether what is known will do for a caller that reads on from the
// mark before the tick.
func (f *finding) near(r round) bool {
	if f.reach == 0 || r.b.bare[0] || r.guess.blind {
		return false
	}
	before, at := r.b.before, int64(r.guess.at)
	return at < before.End || at+int64(r.guess.spread) <= before.Offset+f.reach
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
		own = append(own, &probe{Range: want, done: make(chan struct{}), failed: true})
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
		s.stats.Most = max(s.stats.Most, f.rounds)
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
			f.void = f.void || p.failed
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
		p.failed = false
		progress = s.learn(p.Offset, n, all[i].marks, all[i].next) || progress
		found = append(found, all[i].marks...)
	}
	s.model.learn(r.guess, found)
	if f.grow = min(2*f.grow, maxGrow); progress && len(found) > 0 {
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
