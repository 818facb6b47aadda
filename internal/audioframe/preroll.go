package audioframe

// What a decoder must have decoded before a frame so that the frame comes out as
// it would have in the middle of the stream, whatever holds it.
const (
	AACPreroll       = 2   // frames: overlap, and one whose own overlap is missing
	SBRPreroll       = 1.0 // seconds, for HE-AAC: high bands are there from the next header on, of which there are a few a second
	TransformPreroll = 2   // frames, for AC-3, DTS and other transform codecs
	AC3Preroll       = 1   // frame, the least for AC-3 and E-AC-3, which overlap with the one before alone
	SpeechPreroll    = 0.5 // seconds, for AMR and others whose filters forget slowly
	OpusPreroll      = 1.0 // seconds: bit-exact from there for CELT; 80 ms is the least
	MP3Reservoir     = 511 // bytes that a frame may borrow from those before it
	MP3Overhead      = 36  // bytes of an MP3 frame that lend nothing: header and side information
	MP3Preroll       = 10  // frames at most
	MP2Preroll       = 1   // frame: the filter bank remembers 480 samples
	MLPPreroll       = 128 // access units at most from one major sync to the next, where TrueHD and MLP begin anew
)
