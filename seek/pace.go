package seek

import "time"

// leastTransfer is the shortest time that is believed for the transfer of a
// body: much of a small one is there when the answer is.
const leastTransfer = time.Millisecond

// pace is how fast a source has answered so far.
type pace struct {
	latency time.Duration // the shortest until an answer; 0: none yet
	rate    float64       // the highest of one body, in bytes a second
}

// note adds a fetch: when it was asked, when it was answered, and when so many
// bytes had come.
func (p *pace) note(asked, answered, ended time.Time, bytes int) {
	if wait := answered.Sub(asked); p.latency == 0 || wait < p.latency {
		p.latency = wait
	}
	if bytes > 0 {
		p.rate = max(p.rate, float64(bytes)/max(ended.Sub(answered), leastTransfer).Seconds())
	}
}

// Pace returns how fast the source has been so far: the shortest wait for an
// answer, and the highest rate of one body in bytes a second. Both are 0 before
// the first answer. Only how something is fetched may depend on them, never
// what.
func (w *Window) Pace() (latency time.Duration, rate float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pace.latency, w.pace.rate
}
