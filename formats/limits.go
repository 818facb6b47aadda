package formats

// Limits bound what one resource may cost, in memory and requests, whatever it
// claims of itself. A zero field means its default.
type Limits struct {
	// Index is the most bytes of an index (a moov, Cues, a playlist) that are
	// read and held. Default 256 MiB.
	Index int64
	// Whole is the size in bytes from which on an index is read in parts where
	// the container can, as far as an interval needs. 0 leaves that to what
	// reading it whole would cost. It changes how a plan is found, not the plan.
	Whole int64
	// Window is the most bytes that are held of a resource beyond the index
	// element in use. Default 64 MiB.
	Window int64
	// Entries is the most entries of one table, list or playlist.
	// Default 20,000,000.
	Entries int64
	// Rounds is the most rounds of probes of one search. Default 16.
	Rounds int
}

// WithDefaults returns l with its zero fields set.
func (l Limits) WithDefaults() Limits {
	if l.Index <= 0 {
		l.Index = 256 << 20
	}
	if l.Window <= 0 {
		l.Window = 64 << 20
	}
	if l.Entries <= 0 {
		l.Entries = 20_000_000
	}
	if l.Rounds <= 0 {
		l.Rounds = 16
	}
	return l
}
