package mp4

import (
	"math"
	"math/bits"

	"github.com/mediafrag/mediafrag/formats"
)

// ffmpeg, and so mpv and Chromium, hides sound by its samples: it takes the ticks
// of a track's time at which an edit begins for samples, whatever a tick is, and of
// sound with spectral band replication for samples before that doubles them (5.1,
// libavformat/mov.c and libavcodec/aacdec_template.c). Clips that hide a lead-in
// therefore count sound by those.

// unitRate is the rate of the samples that decoders of the sound count by, in Hz; 0
// where that is not known, or is of no matter.
func (e *sampleEntry) unitRate() int64 {
	switch e.codecFamily() {
	case familyAAC:
		return int64(e.coreRate)
	case familyTransform, familyMP3, familyOpus, familySpeech:
		return int64(e.rate)
	case familyExact:
		if e.format == "fLaC" || e.format == "alac" { // of others, the field of the rate has 16 bits
			return int64(e.rate)
		}
	}
	return 0
}

// frameUnits is how many samples a frame of the sound has, 0 where that varies or
// is not known.
func (e *sampleEntry) frameUnits() int64 {
	switch e.codecFamily() {
	case familyAAC:
		return 1024
	case familyMP3:
		if e.rate < 32_000 {
			return 576
		}
		return 1152
	default:
		return 0
	}
}

// inUnits returns the track with its sound's samples as ticks, exact for the samples
// in of: frames keep their length where the times say no otherwise, up to their
// rounding. It is the track itself where it is counted so already, or nothing is
// known of its rate.
func (t *track) inUnits(of sampleRange) *track {
	s, rate := t.tables, t.entry.unitRate()
	if t.kind != formats.Audio || rate == 0 || rate == t.timescale || s.ctts != nil || s.count == 0 {
		return t
	}
	of = sampleRange{max(0, of.from-nearby), min(s.count, of.to+nearby)}
	frame, most := t.entry.frameUnits(), rate/t.timescale+1
	near := func(a, b int64) bool { return frame > 0 && a-b <= most && b-a <= most }
	at := scaled(s.decode(of.from), rate, t.timescale)
	if n := (at + frame/2) / max(1, frame) * frame; near(at, n) {
		at = n
	}
	out := *s
	out.start = at
	var runs []run
	if of.from > 0 {
		out.start = min(at, scaled(s.start, rate, t.timescale))
		runs = evenly(runs, of.from, at-out.start)
	}
	for i := of.from; i < of.to; i++ {
		next := max(at, scaled(s.decode(i+1), rate, t.timescale))
		if near(next, at+frame) {
			next = at + frame
		}
		runs, at = appendRun(runs, run{1, next - at}), next
	}
	runs = evenly(runs, s.count-of.to, max(0, scaled(s.end(), rate, t.timescale)-at))
	for _, r := range runs {
		if r.value > math.MaxUint32 {
			return t
		}
	}
	var bad int
	if out.stts, bad = newRunTable(encodeRuns(runs), false); bad >= 0 {
		return t
	}
	out.gaps = map[int64]int64{}
	for sample, gap := range s.gaps {
		out.gaps[sample] = scaled(gap, rate, t.timescale)
	}
	with := *t
	with.tables, with.timescale, with.end = &out, rate, scaled(t.end, rate, t.timescale)
	if t.end == s.end() { // the tables tell it, also those that are read in parts
		with.end = 0
	}
	with.edits = nil
	for _, e := range t.edits {
		if e.mediaTime > 0 {
			e.mediaTime = scaled(e.mediaTime, rate, t.timescale)
		}
		with.edits = append(with.edits, e)
	}
	return &with
}

// nearby is how many samples around those of an interval keep their exact times.
const nearby = 8

// evenly appends runs of count samples that last total altogether.
func evenly(runs []run, count, total int64) []run {
	if count <= 0 {
		return runs
	}
	each, more := total/count, total%count
	return append(runs, run{more, each + 1}, run{count - more, each})
}

// scaled returns a time in another timescale, to the nearest tick.
func scaled(t, to, from int64) int64 {
	if t < 0 {
		return -scaled(-t, to, from)
	}
	high, low := bits.Mul64(uint64(t), uint64(to))
	low, carry := bits.Add64(low, uint64(from/2), 0)
	if high += carry; t >= maxTicks || high >= uint64(from) {
		return maxTicks
	}
	q, _ := bits.Div64(high, low, uint64(from))
	return int64(min(q, maxTicks))
}
