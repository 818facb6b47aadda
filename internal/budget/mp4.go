package budget

// Oracle of progressive MP4.
const (
	// PairsMP4 is how many (file, interval) pairs are compared at least.
	PairsMP4 = 40
	// NoiseResidual is the most that sound may differ from the original's, in
	// dB, where the decoder adds noise of its own (AAC with noise substitution,
	// AC-3). All other sound is the same to the bit.
	NoiseResidual = -20
)

// Handful is how many requests an interval of a badly interleaved file, or one
// track of an interleaved one, may take.
const Handful = 6

// TenHours is the most bytes that ten seconds near the end of a ten-hour film
// cost, whose moov is of 40 MB and more.
const TenHours = 4 << 20

// The most bytes where the sums alone that say where those ten seconds are would
// be more, or nearly: tables without runs are added up from an end of the film, and
// 3,490 of its 36,000 seconds lie behind. That is 8 bytes for each of 132,000
// entries of the ctts, and 12 for each of 70,000 and 61,000 of the stsc of pictures
// and sound: 2.64 MB, with head and tail of the file, box headers and 0.2 to 0.3 MB
// of media 3.2 MB. On top comes
//
//   - for an stts with an entry for each of 60 pictures a second: 8 × 60 × 3,490,
//     which is 1.68 MB;
//   - for groups: 8 bytes for each of 140,000 entries, and what stands in front of
//     the interval of those that say where decoding can begin, 0.14 MB, which no
//     total tells the end of: 1.26 MB;
//   - for encryption information that is all in one place outside the moov, which
//     begins there and ends nobody knows where: its sizes, of a byte for each of
//     the 60 pictures and 46.9 sounds a second before the interval, 32,500 × 106.9,
//     which is 3.47 MB.
const (
	TenHoursVaried = 5 << 20
	TenHoursGroups = 4420 << 10
	TenHoursSums   = 6600 << 10
)

// TripsMisled is how many further round trips it takes where entries of a table do
// not lie where its length says they are likely to: a hundred times as many sync
// samples in one half of a film as in the other, or parts of samples of different
// numbers that take as much room together as if all had as many.
const TripsMisled = 1

// TenHoursMemory is the most memory that it sets aside, all told, in bytes: less
// than the moov, since of that only parts are read.
const TenHoursMemory = 40 << 20

// Fragmented MP4.
const (
	TripsFragments      = 3 // until the first media byte, with a sidx over the file or an mfra
	TripsFragmentsSmall = 2 // the same, where the interval is small enough to come with its moofs
	RoundsFragments     = 4 // of probes at most, where there is no index
)

// PairsMP4Full is how many (file, interval) pairs of all MP4 layouts and codecs
// are compared at least in a full run.
const PairsMP4Full = 100
