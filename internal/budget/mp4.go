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

// TenHoursMemory is the most memory that it sets aside, all told, in bytes: less
// than the moov, since of that only parts are read.
const TenHoursMemory = 48 << 20

// The same film where each picture has a duration of its own: these are added up
// from the nearer end, and how many there are other tables tell.
const (
	TenHoursVaried = 6 << 20 // bytes
	TripsVaried    = 3       // further round trips
	TripsListed    = 1       // the same for other tables with an entry for each picture, all told
)

// The same film with groups of samples in further tables, one of them without
// runs; and encrypted, with information that lies apart from the moov. Where all
// of that is in one place, the sizes before the interval are added up, of a byte
// for each sample.
const (
	TripsGroups    = 2       // further round trips
	TenHoursGroups = 5 << 20 // bytes
	TripsApart     = 3       // further round trips
	TenHoursSums   = 8 << 20 // bytes
)

// Fragmented MP4.
const (
	TripsFragments      = 3 // until the first media byte, with a sidx over the file or an mfra
	TripsFragmentsSmall = 2 // the same, where the interval is small enough to come with its moofs
	RoundsFragments     = 4 // of probes at most, where there is no index
)

// PairsMP4Full is how many (file, interval) pairs of all MP4 layouts and codecs
// are compared at least in a full run.
const PairsMP4Full = 100
