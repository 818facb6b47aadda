package budget

// Oracle of Ogg.
const (
	// PairsOgg is how many (file, interval) pairs are compared at least.
	PairsOgg = 150
	// SilkResidual is the most that Opus by its speech coder may differ from the
	// original, in dB: its state never quite forgets where decoding began. All
	// other Opus is the same to the bit, by 1 s of pre-roll.
	SilkResidual = -40
	// SpeexResidual is the same of Speex, behind so many seconds in which its
	// decoder forgets where it began.
	SpeexResidual = -35
	SpeexForgets  = 0.75
)

// Search for a time in Ogg. A round is up to 4 probes in parallel; the one that
// lands counts.
const (
	OggSeeks        = 1000 // random seeks that each mean is over
	OggSteadyRounds = 1.5  // mean at a steady rate
	OggRounds       = 3.0  // mean at rates that vary, and of pictures
	OggMostRounds   = 6
	OggProbes       = 400 << 10 // bytes of probes on average
	OggChainRounds  = 4         // for each boundary between links
)
