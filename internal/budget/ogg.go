package budget

// Oracle of Ogg.
const (
	// PairsOgg is how many (file, interval) pairs are compared at least.
	PairsOgg = 150
	// SilkResidual is the most that Opus by its speech coder may differ from the
	// original, in dB: its state never quite forgets where decoding began. All
	// other Opus is the same to the bit, by 1 s of pre-roll.
	SilkResidual = -40
)
