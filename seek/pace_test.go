package seek

import (
	"testing"
	"time"
)

// TestPace keeps the best wait and the best rate, and does not believe in
// transfers that take no time.
func TestPace(t *testing.T) {
	var p pace
	at := time.Now()
	p.note(at, at.Add(80*time.Millisecond), at.Add(180*time.Millisecond), 100_000)
	p.note(at, at.Add(50*time.Millisecond), at.Add(450*time.Millisecond), 100_000)
	if p.latency != 50*time.Millisecond || p.rate < 999_999 || p.rate > 1_000_001 {
		t.Errorf("latency %v, rate %f; want 50 ms and 1 MB/s", p.latency, p.rate)
	}
	p.note(at, at.Add(60*time.Millisecond), at.Add(60*time.Millisecond), 2000)
	if p.rate > 2_000_001 {
		t.Errorf("rate %f of a body that took no time, want at most 2 MB/s", p.rate)
	}
}
