package budget

// The search for a time in a resource without an index. A round is up to 4
// probes in parallel; the round that lands counts.
const (
	SearchSeeks  = 1000      // random seeks that each mean is taken over, at least
	SearchSteady = 1.5       // mean rounds of a seek at a steady rate
	SearchVaried = 3.0       // mean rounds where rates vary, and with pictures
	SearchMost   = 6         // rounds of one search
	SearchBytes  = 400 << 10 // of probes, mean of a seek
	SearchLater  = 2         // median rounds of another search in an open resource
	// SearchLarge is the most rounds where elements are fragments or clusters
	// without an index.
	SearchLarge = 4
	// SearchShared is what two searches that run side by side for the two ends
	// of an interval of some seconds may read, as a multiple of one.
	SearchShared = 1.8
)
