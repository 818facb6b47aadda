// Package budget holds the numbers that tests hold the project to, each once.
// They come from the design (ARCHITECTURE.md, Budgets) and from the issues
// that asked for them. None is ever loosened to make a test pass.
package budget

// Bytes of a job beyond what it needs: at most Share × needed + Fixed, with
// the probes of a search and one fragment or cluster on top where there is no
// index. Needed is index elements read whole and the file from the first to the
// last needed sample.
const (
	Share = 1.05
	Fixed = 192 << 10 // bytes
)

// Bytes returns what a job that needs so many bytes may fetch.
func Bytes(needed int64) int64 { return int64(Share*float64(needed)) + Fixed }

// ReadAhead is the memory that each parallel range beyond the current one may
// hold, in bytes.
const ReadAhead = 1 << 20

// OneWave is the size of a clip up to which no request waits for another's
// answer after the first media byte, in bytes.
const OneWave = 32 << 20

// Dependent round trips until the first media byte, connection set-up apart.
const (
	TripsOpen    = 1 // another interval of an open resource, index in hand
	TripsMP4     = 2 // moov within head or tail
	TripsMP4Far  = 3 // moov elsewhere or larger
	TripsMP4Big  = 5 // a very large moov read in parts, in front
	TripsMP4Tail = 6 // a very large moov read in parts, at the end
)
