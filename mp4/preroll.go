package mp4

import (
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/audioframe"
)

// preroll returns the sample at which decoding has to begin so that sample
// first is decoded as in mid-stream.
func (t *track) preroll(first int64) int64 { return max(0, t.prerollFrom(first)) }

// prerollFrom is preroll, but below 0 where that lies before the tables begin.
func (t *track) prerollFrom(first int64) int64 {
	if t.kind != formats.Audio {
		return first
	}
	frames, roll := int64(0), t.tables.rollBack()
	switch t.entry.codecFamily() {
	case familyAAC:
		// A roll of a frame or two is what muxers write for AAC of any kind.
		if frames = audioframe.AACPreroll; t.entry.sbr && roll <= audioframe.AACPreroll || t.entry.sbrMaybe && roll == 0 {
			return min(first-frames, t.back(first, audioframe.SBRPreroll))
		}
	case familyTransform:
		frames = audioframe.TransformPreroll
	case familyOpus:
		return t.back(first, audioframe.OpusPreroll)
	case familySpeech:
		return t.back(first, audioframe.SpeechPreroll)
	case familyMP3:
		return t.behindReservoir(first)
	case familyExact:
	}
	return first - max(frames, roll)
}

// rollSeconds returns how long before a time its sound's decoding is likely to
// begin, with the frame that the time lies in: as far as the coding tells, without
// samples at hand.
func (t *track) rollSeconds() float64 {
	rate := float64(t.entry.rate)
	if t.kind != formats.Audio || rate <= 0 {
		return 0
	}
	switch t.entry.codecFamily() {
	case familyAAC:
		if t.entry.sbr || t.entry.sbrMaybe {
			return audioframe.SBRPreroll
		}
		return (audioframe.AACPreroll + 1) * 1024 / rate
	case familyTransform:
		return (audioframe.TransformPreroll + 1) * 1536 / rate // of AC-3
	case familyOpus:
		return audioframe.OpusPreroll
	case familySpeech:
		return audioframe.SpeechPreroll
	case familyMP3:
		return 3 * 1152 / rate // at usual rates
	case familyExact:
	}
	return 0
}

// back returns the last sample at least so many seconds before first, -1 where
// it is before the tables.
func (t *track) back(first int64, seconds float64) int64 {
	return t.tables.atDecode(t.tables.decode(first) - int64(seconds*float64(t.timescale)))
}

// behindReservoir returns the frame from which on the bit reservoir of the
// frame before first is whole: that frame's overlap goes into first.
func (t *track) behindReservoir(first int64) int64 {
	from := first - 1
	for lent := int64(0); from >= 0 && first-from < audioframe.MP3Preroll && lent < audioframe.MP3Reservoir; {
		if from--; from >= 0 {
			lent += max(0, t.tables.size(from)-audioframe.MP3Overhead)
		}
	}
	return from
}
