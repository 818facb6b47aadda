package budget

// Dependent round trips until the first media byte of WebM and Matroska.
const (
	TripsWebM       = 2 // Cues within head or tail
	TripsWebMFar    = 3 // Cues elsewhere
	TripsWebMSearch = 5 // no Cues: 1 and at most 4 rounds
	AgainSearched   = 2 // another interval of an open resource without an index, at the median
)

// Oracle of WebM and Matroska.
const (
	// PairsWebM is how many (file, interval) pairs are compared at least.
	PairsWebM = 100
	// TickWebM is by how much sound may be off where the file states times in
	// milliseconds, in seconds.
	TickWebM = 0.0015
	// JitterWebM is the same where a recorder states when sound was captured,
	// so that frames do not follow each other exactly, in seconds.
	JitterWebM = 0.025
	// OpusResidual is the most that Opus may differ from the original's within
	// the interval, in dB, where its speech coder is used, whose state never quite
	// forgets where decoding began; CeltResidual is the same for all else.
	OpusResidual = -40
	CeltResidual = -150
	// RoundingResidual is the most that AC-3 and MPEG audio layer II may differ,
	// in dB, whose decoders carry dither on for ever.
	RoundingResidual = -80
)
