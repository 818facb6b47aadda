package seek

import (
	"context"
	"sync"
	"time"
)

// Totals is an Observer that adds up what one job cost. The zero value is ready
// to use.
type Totals struct {
	mu       sync.Mutex
	requests map[uint64]*requestTotals // those on their way
	sum      Transfer
	started  time.Time // the first request
	media    bool      // sum's FirstMedia fields are set for good
}

// requestTotals is what counts of one request.
type requestTotals struct {
	depth int   // the longest chain of requests that ends with this one
	bytes int64 // already in the sum
}

// Transfer is what a job cost.
type Transfer struct {
	// Requests is how many were sent, retries and redirects included.
	Requests int
	// Connections is how many were opened.
	Connections int
	// RoundTrips is the longest chain of requests of which each began after the
	// one before had answered. Setting up connections is apart.
	RoundTrips int
	// Bytes is how many bytes of bodies were received.
	Bytes int64
	// Duration is from the first request to the last event, or to the first media
	// byte where that was read later.
	Duration time.Duration

	// FirstMediaTrips is RoundTrips up to the first media byte, and FirstMedia
	// the time from the first request to there; 0 where it has not come.
	FirstMediaTrips int
	FirstMedia      time.Duration
}

// Observe adds an event.
func (t *Totals) Observe(_ context.Context, e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.requests == nil {
		t.requests = make(map[uint64]*requestTotals)
		t.started = e.Time
	}
	r := t.requests[e.ID]
	if r == nil {
		r = &requestTotals{}
		t.requests[e.ID] = r
	}
	t.sum.Duration = max(t.sum.Duration, e.Time.Sub(t.started))
	t.sum.Bytes += max(0, e.Bytes-r.bytes)
	r.bytes = max(r.bytes, e.Bytes)

	switch e.Kind {
	case Started:
		t.sum.Requests++
		r.depth = t.sum.RoundTrips + 1
	case Connected:
		if !e.Reused {
			t.sum.Connections++
		}
	case Answered:
		t.sum.RoundTrips = max(t.sum.RoundTrips, r.depth)
		if e.Request.Purpose == Media && t.sum.FirstMediaTrips == 0 {
			t.sum.FirstMediaTrips, t.sum.FirstMedia = t.sum.RoundTrips, e.Time.Sub(t.started)
		}
	case Retried: // the try before it was a round trip, too
		t.sum.Requests++
		r.depth = max(t.sum.RoundTrips, r.depth) + 1
	case Ended:
		delete(t.requests, e.ID)
	}
}

// FirstMediaByte notes that the first media byte reaches the caller now. Only
// the first call counts. Without one, the first answer to a request for media
// stands for it.
func (t *Totals) FirstMediaByte() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.media && t.requests != nil {
		t.media = true
		t.sum.FirstMediaTrips, t.sum.FirstMedia = t.sum.RoundTrips, time.Since(t.started)
		t.sum.Duration = max(t.sum.Duration, t.sum.FirstMedia)
	}
}

// Transfer returns the totals so far.
func (t *Totals) Transfer() Transfer {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sum
}
