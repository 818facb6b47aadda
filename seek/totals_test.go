package seek_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mediafrag/mediafrag/seek"
)

// step is an event of a request in a scripted job, 10 ms after the one before.
type step struct {
	id    uint64
	kind  seek.EventKind
	bytes int64
	media bool
	fresh bool // a new connection
}

func TestTotals(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name  string
		steps []step
		want  seek.Transfer
	}{
		{"nothing", nil, seek.Transfer{}},
		{
			"two in parallel are one round trip",
			[]step{
				{id: 1, kind: seek.Started},
				{id: 1, kind: seek.Connected, fresh: true},
				{id: 2, kind: seek.Started},
				{id: 2, kind: seek.Connected, fresh: true},
				{id: 1, kind: seek.Answered},
				{id: 2, kind: seek.Answered},
				{id: 2, kind: seek.Ended, bytes: 7},
				{id: 1, kind: seek.Ended, bytes: 5},
			},
			seek.Transfer{Requests: 2, Connections: 2, RoundTrips: 1, Bytes: 12, Duration: 70 * ms},
		},
		{
			"one that begins after an answer is a second round trip",
			[]step{
				{id: 1, kind: seek.Started},
				{id: 1, kind: seek.Connected, fresh: true},
				{id: 1, kind: seek.Answered},
				{id: 2, kind: seek.Started, media: true},
				{id: 2, kind: seek.Connected},
				{id: 1, kind: seek.Ended, bytes: 5},
				{id: 2, kind: seek.Answered, media: true},
				{id: 2, kind: seek.Ended, bytes: 5, media: true},
			},
			seek.Transfer{
				Requests: 2, Connections: 1, RoundTrips: 2, Bytes: 10, Duration: 70 * ms,
				FirstMediaTrips: 2, FirstMedia: 60 * ms,
			},
		},
		{
			"a slow request does not lengthen the chain of one that did not wait for it",
			[]step{
				{id: 1, kind: seek.Started}, // answers last
				{id: 2, kind: seek.Started},
				{id: 2, kind: seek.Answered},
				{id: 3, kind: seek.Started},
				{id: 3, kind: seek.Answered},
				{id: 1, kind: seek.Answered},
			},
			seek.Transfer{Requests: 3, RoundTrips: 2, Duration: 50 * ms},
		},
		{
			"a retry is a request and a round trip, its bytes go on",
			[]step{
				{id: 1, kind: seek.Started},
				{id: 1, kind: seek.Answered},
				{id: 1, kind: seek.Retried, bytes: 30},
				{id: 1, kind: seek.Connected, bytes: 30, fresh: true},
				{id: 1, kind: seek.Answered, bytes: 30},
				{id: 1, kind: seek.Ended, bytes: 100},
			},
			seek.Transfer{Requests: 2, Connections: 1, RoundTrips: 2, Bytes: 100, Duration: 50 * ms},
		},
		{
			"requests after the first media byte do not count for it",
			[]step{
				{id: 1, kind: seek.Started, media: true},
				{id: 1, kind: seek.Answered, media: true},
				{id: 2, kind: seek.Started, media: true},
				{id: 2, kind: seek.Answered, media: true},
			},
			seek.Transfer{Requests: 2, RoundTrips: 2, Duration: 30 * ms, FirstMediaTrips: 1, FirstMedia: 10 * ms},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var totals seek.Totals
			at := time.Unix(1000, 0)
			for _, s := range tt.steps {
				e := seek.Event{Kind: s.kind, Time: at, ID: s.id, Bytes: s.bytes, Reused: s.kind == seek.Connected && !s.fresh}
				if s.media {
					e.Request.Purpose = seek.Media
				}
				totals.Observe(t.Context(), e)
				at = at.Add(10 * ms)
			}
			if diff := cmp.Diff(tt.want, totals.Transfer()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Media that was read to resolve a plan does not count before it is handed over.
func TestTotalsFirstMediaByte(t *testing.T) {
	var totals seek.Totals
	now := time.Now()
	ask := func(id uint64, p seek.Purpose) {
		for _, k := range []seek.EventKind{seek.Started, seek.Answered, seek.Ended} {
			totals.Observe(t.Context(), seek.Event{Kind: k, ID: id, Time: now, Request: seek.Request{Purpose: p}})
		}
	}
	totals.FirstMediaByte() // nothing was asked: it cannot be a media byte of this job
	ask(1, seek.Head)
	ask(2, seek.Media)
	ask(3, seek.Index)
	totals.FirstMediaByte()
	ask(4, seek.Media)
	totals.FirstMediaByte()
	if got := totals.Transfer(); got.FirstMediaTrips != 3 || got.RoundTrips != 4 || got.FirstMedia <= 0 {
		t.Errorf("trips to the first media byte %d of %d after %v, want 3 of 4", got.FirstMediaTrips, got.RoundTrips, got.FirstMedia)
	} else if got.Duration < got.FirstMedia {
		t.Errorf("all took %v, the first media byte %v", got.Duration, got.FirstMedia)
	}
}
