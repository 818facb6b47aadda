package seek

import (
	"context"
	"time"
)

// EventKind is a step in the life of a request.
type EventKind int

// Steps of a request, in the order in which they happen. A request that is
// Retried is Connected and Answered again, but not Started; Connected is left
// out where a source has no connections.
const (
	Started   EventKind = iota // the request is about to be sent
	Connected                  // it has a connection; Reused says whether a warm one
	Answered                   // the source has answered: the body begins
	Retried                    // it is sent again: Err says what failed or broke off, nil is a redirect
	Ended                      // the body was read to its end, closed, or broke off (Err)
	// Waiting comes before Retried where an answer asks to be left alone: the next
	// attempt is put off by Wait. Err says what the answer was.
	Waiting
)

// Event is something a Source did.
type Event struct {
	Kind     EventKind
	Time     time.Time
	ID       uint64        // the same for all events of one request, unique among all that an Observer is told of
	Name     string        // the resource, without credentials and query values
	Request  Request       // what was asked
	Size     int64         // of the whole resource, from Answered on; -1 unknown
	Bytes    int64         // body bytes received so far, over all tries
	Reused   bool          // Connected: over a connection that was already open
	Wait     time.Duration // Waiting: how long
	NewTrips int           // Connected: round trips that setting the connection up took
	Status   string        // Answered: the protocol's status, such as "206 Partial Content"
	Err      error
}

// Observer is told what Sources do. Observe is called from many goroutines and
// must not block. Progress bars, totals, logs and traces are Observers.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// ObserverFunc is a function that is an Observer.
type ObserverFunc func(ctx context.Context, e Event)

// Observe calls f.
func (f ObserverFunc) Observe(ctx context.Context, e Event) { f(ctx, e) }

// Observers tells each of several Observers, in order; nil ones are left out.
func Observers(all ...Observer) Observer {
	return ObserverFunc(func(ctx context.Context, e Event) {
		for _, o := range all {
			if o != nil {
				o.Observe(ctx, e)
			}
		}
	})
}
