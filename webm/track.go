package webm

import (
	"math"
	"strconv"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

// track is one TrackEntry.
type track struct {
	formats.Track
	number, uid uint64
	kind        uint64 // TrackType
	enabled     bool
	raw         []byte // the body of the TrackEntry
	offset      int64  // of the TrackEntry in the resource

	codecID         string
	private         []byte
	codecDelay      int64 // ns
	seekPreRoll     int64 // ns
	defaultDuration int64 // ns, 0: none
	bitDepth        int
	coreRate        float64 // SamplingFrequency
	prefix          []byte  // bytes that header stripping took from each frame
	opaque          bool    // frames are compressed or encrypted as a whole
	encoded         []byte  // the ContentEncodings
	sound           sound

	begun     bool  // its first block was seen
	firstTick int64 // the time of that
	firstEnd  int64 // the offset behind it
}

// Values of TrackType (RFC 9559 section 5.1.4.1.3).
const (
	typeVideo    = 1
	typeAudio    = 2
	typeComplex  = 3
	typeLogo     = 16
	typeSubtitle = 17
	typeButtons  = 18
	typeControl  = 32
	typeMetadata = 33
)

func kindOf(trackType uint64) formats.Kind {
	switch trackType {
	case typeVideo:
		return formats.Video
	case typeAudio:
		return formats.Audio
	case typeSubtitle:
		return formats.Subtitle
	case typeMetadata:
		return formats.Metadata
	}
	return formats.Other
}

// parseTracks reads the body of a Tracks element.
func parseTracks(l lengths, e element, body []byte) ([]*track, error) {
	var out []*track
	numbers := map[uint64]bool{}
	c := children{lengths: l, data: body, base: e.body(), path: "Segment/Tracks"}
	if err := c.all(func(child element, b []byte) error {
		if child.id != idTrackEntry {
			return nil
		}
		t, err := parseTrackEntry(l, child, b)
		if err != nil {
			return err
		}
		if t.number == 0 || numbers[t.number] {
			return damaged("Segment/Tracks/TrackEntry", child.offset, "its TrackNumber is missing or stands twice")
		}
		numbers[t.number] = true
		out = append(out, t)
		return nil
	}); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, damaged("Segment/Tracks", e.offset, "there is no track in it")
	}
	return out, nil
}

func parseTrackEntry(l lengths, e element, body []byte) (*track, error) {
	t := &track{raw: body, offset: e.offset, enabled: true}
	t.Default, t.Language = true, "eng" // defaults of RFC 9559 section 5.1.4.1
	var bcp47 string
	var video, audio []byte
	c := children{lengths: l, data: body, base: e.body(), path: "Segment/Tracks/TrackEntry"}
	if err := c.all(func(child element, b []byte) error {
		switch child.id {
		case idTrackNumber:
			t.number = uintOf(b)
		case idTrackUID:
			t.uid = uintOf(b)
		case idTrackType:
			t.kind = uintOf(b)
		case idFlagEnabled:
			t.enabled = uintOf(b) != 0
		case idFlagDefault:
			t.Default = uintOf(b) != 0
		case idDefaultDuration:
			t.defaultDuration = ticksOf(b)
		case idName:
			t.Name = stringOf(b)
		case idLanguage:
			t.Language = stringOf(b)
		case idLanguageBCP47:
			bcp47 = stringOf(b)
		case idCodecID:
			t.codecID = stringOf(b)
		case idCodecPrivate:
			t.private = b
		case idCodecDelay:
			t.codecDelay = ticksOf(b)
		case idSeekPreRoll:
			t.seekPreRoll = ticksOf(b)
		case idVideo:
			video = b
		case idAudio:
			audio = b
		case idContentEncodings:
			t.encoded = b
			t.encodings(l, child, b)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	if bcp47 != "" { // it takes the place of Language
		t.Language = bcp47
	}
	t.ID = strconv.FormatUint(t.number, 10)
	t.Kind = kindOf(t.kind)
	if t.kind == typeVideo {
		t.videoSettings(l, e, video)
	}
	if t.kind == typeAudio {
		t.audioSettings(l, e, audio)
	}
	t.Codec = t.codecString()
	t.sound = t.soundOf()
	return t, nil
}

// encodings reads ContentEncodings: frames whose header was stripped can still
// be looked into, others cannot.
func (t *track) encodings(l lengths, e element, body []byte) {
	each(l, e, body, func(enc element, b []byte) {
		if enc.id != idContentEncoding {
			return
		}
		scope, encrypts := uint64(1), false
		algo, setting, compresses := uint64(0), []byte(nil), false
		each(l, enc, b, func(x element, b []byte) {
			switch x.id {
			case idContentScope:
				scope = uintOf(b)
			case idContentEncryption:
				encrypts = true
			case idContentCompression:
				compresses = true
				each(l, x, b, func(y element, b []byte) {
					switch y.id {
					case idContentCompAlgo:
						algo = uintOf(b)
					case idContentCompSetting:
						setting = b
					}
				})
			}
		})
		switch {
		case scope&1 == 0: // not the frames
		case encrypts || compresses && algo != 3:
			t.opaque = true
		case compresses:
			t.prefix = setting
		}
	})
}

// each calls f for the children of an optional element, as far as they are
// sound: what is damaged in it is left as it is.
func each(l lengths, e element, body []byte, f func(element, []byte)) {
	c := children{lengths: l, data: body, base: e.body()}
	for {
		child, b, ok, err := c.next()
		if err != nil || !ok {
			return
		}
		f(child, b)
	}
}

// videoSettings reads Video: sizes as coded and as shown.
func (t *track) videoSettings(l lengths, e element, body []byte) {
	v := map[uint32]uint64{}
	var roll float64
	each(l, e, body, func(x element, b []byte) {
		switch x.id {
		case idPixelWidth, idPixelHeight, idPixelCropBottom, idPixelCropTop, idPixelCropLeft, idPixelCropRight,
			idDisplayWidth, idDisplayHeight, idDisplayUnit, idStereoMode:
			v[x.id] = min(uintOf(b), 1<<24)
		case idProjection:
			each(l, x, b, func(y element, b []byte) {
				if y.id == idProjectionPoseRoll {
					roll = floatOf(b)
				}
			})
		}
	})
	t.CodedWidth, t.CodedHeight = int(v[idPixelWidth]), int(v[idPixelHeight])
	w := t.CodedWidth - int(v[idPixelCropLeft]+v[idPixelCropRight])
	h := t.CodedHeight - int(v[idPixelCropTop]+v[idPixelCropBottom])
	t.Width, t.Height = displaySize(max(w, 0), max(h, 0), v[idDisplayUnit], int(v[idDisplayWidth]), int(v[idDisplayHeight]))
	switch v[idStereoMode] { // two views in one picture
	case 1, 11: // side by side
		t.Width = stereoHalf(t.Width, v[idDisplayWidth])
	case 2, 3: // one above the other
		t.Height = stereoHalf(t.Height, v[idDisplayHeight])
	}
	if turn := math.Mod(math.Abs(roll), 180); turn > 45 && turn < 135 {
		t.Width, t.Height = t.Height, t.Width
	}
	if t.defaultDuration > 0 {
		t.FrameRate = frameRate(t.defaultDuration)
	}
}

// displaySize returns the size as shown, in square pixels (RFC 9559 section
// 5.1.4.1.28.12 on): display units other than pixels state a shape only.
func displaySize(w, h int, unit uint64, displayW, displayH int) (int, int) {
	switch {
	case displayW == 0 && displayH == 0 || w == 0 || h == 0:
		return w, h
	case unit == 0:
		if displayW == 0 {
			displayW = w
		}
		if displayH == 0 {
			displayH = h
		}
		return displayW, displayH
	case unit > 3 || displayW == 0 || displayH == 0: // unknown
		return w, h
	}
	// Centimetres, inches or an aspect ratio: keep the height.
	return int(math.Round(float64(h) * float64(displayW) / float64(displayH))), h
}

// stereoHalf is one view's share of a side that holds both. A stated display
// size is of one view already (RFC 9559 section 18.10).
func stereoHalf(side int, stated uint64) int {
	if stated != 0 {
		return side
	}
	return side / 2
}

// frameRate returns the exact rate of a duration that was rounded to
// nanoseconds: 33366666 ns are 30000/1001 frames a second.
func frameRate(ns int64) fragment.Time {
	for _, den := range []int64{1, 1001} {
		num := int64(math.Round(float64(den) * 1e9 / float64(ns)))
		if num == 0 {
			continue
		}
		for _, unit := range []int64{1, 1000} {
			n := num
			if unit == 1000 {
				n = int64(math.Round(float64(den)*1e9/float64(ns)/1000)) * 1000
			}
			if d := float64(den) * 1e9 / float64(max(n, 1)); n > 0 && math.Abs(d-float64(ns)) <= 1 {
				return fragment.Ticks(n, den)
			}
		}
	}
	return fragment.Ticks(1e9, ns)
}

// audioSettings reads Audio.
func (t *track) audioSettings(l lengths, e element, body []byte) {
	t.coreRate, t.Channels = 8000, 1 // defaults of RFC 9559 section 5.1.4.1.29
	output := 0.0
	each(l, e, body, func(x element, b []byte) {
		switch x.id {
		case idSamplingFrequency:
			t.coreRate = floatOf(b)
		case idOutputSamplingFrequency:
			output = floatOf(b)
		case idChannels:
			t.Channels = int(min(uintOf(b), 1<<16))
		case idBitDepth:
			t.bitDepth = int(min(uintOf(b), 1<<10))
		}
	})
	if !(t.coreRate > 0 && t.coreRate < 1e9) {
		t.coreRate = 8000
	}
	t.SampleRate = int(math.Round(t.coreRate))
	if output > 0 && output < 1e9 {
		t.SampleRate = int(math.Round(output))
	}
	if t.codecID == "A_OPUS" { // always decoded at that; the element says what the encoder was given
		t.SampleRate = opusRate
	}
}
