package budget

// Requests of HLS beyond the playlists, keys, initialization sections and the
// segments that overlap the interval.
const (
	// HLSNeighbours is for the packets of sound that the neighbours have of an
	// interval that begins or ends at a segment's bound.
	HLSNeighbours = 2
	// HLSWrong is for durations in the playlist that are wrong.
	HLSWrong = 2
)

// TripsHLS returns how many dependent round trips a clip of HLS takes until its
// first media byte: one for each level of playlists, and one.
func TripsHLS(levels int) int { return levels + 1 }
