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

// HLSPerSegment is how often a segment is asked for that lies within the interval.
const HLSPerSegment = 1

// WavesHLS returns how many dependent round trips a clip of HLS takes in all: those
// until its first media byte, by when as many of the segments between the ends are
// asked for as are fetched at a time, and one for as many of the others.
func WavesHLS(levels, between, parallel int) int {
	return TripsHLS(levels) + (max(0, between-parallel)+parallel-1)/parallel
}
