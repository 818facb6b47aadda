package ogg

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

// mapping is what is known of a stream from its headers: how its packets lie in
// Ogg, and what its granule positions mean.
//
// A stream's clock counts ticks: samples (frames of all channels) or pictures.
// Tick 0 is where the granule position is 0; what a player shows at the
// stream's time 0 is tick origin.
type mapping struct {
	track formats.Track
	// mime is the media type of the stream, as Skeleton's Content-Type has it.
	mime string
	// rate is ticks a second.
	rate clock
	// origin is the tick at time 0: the pre-skip of Opus.
	origin int64
	// headers is the number of header packets; 0 until it is known.
	headers int
	// lead is how many ticks before what is wanted a decoder must begin.
	lead int64
	codec
}

// codec reads the headers and packets of one codec.
type codec interface {
	// header reads header packet i (from 0) into m, and reports whether
	// another follows.
	header(i int, p []byte, m *mapping) (more bool, err error)
	// length returns how many ticks a data packet lasts; of lapped codecs, how
	// many it would with neighbours as long as it is.
	length(p []byte) int64
	// key reports whether decoding can begin at the packet.
	key(p []byte) bool
	// position reads a granule position; ok is false where it means nothing.
	position(granule int64) (position, bool)
	// granule is the reverse of position.
	granule(position) int64
}

// position is what a granule position says of the last packet that ends on a
// page.
type position struct {
	end int64 // the tick at which it ends; of text, that at which it begins
	key int64 // where decoding must begin for it; of text, the earliest that still shows
}

// clock counts num/den ticks a second.
type clock struct{ num, den int64 }

// check refuses clocks that do not run.
func (c clock) check() error {
	if c.num <= 0 || c.den <= 0 {
		return fmt.Errorf("a rate of %d/%d a second", c.num, c.den)
	}
	return nil
}

// time returns the length of n ticks.
func (c clock) time(n int64) fragment.Time {
	r := new(big.Rat).SetFrac(big.NewInt(c.den), big.NewInt(c.num))
	return fragment.FromRat(r.Mul(r, new(big.Rat).SetInt64(n)))
}

// scaled returns t in ticks as a Time, whose roundings to 1 are whole ticks.
func (c clock) scaled(t fragment.Time) fragment.Time {
	r := new(big.Rat).SetFrac(big.NewInt(c.num), big.NewInt(c.den))
	return fragment.FromRat(r.Mul(r, t.Rat()))
}

// nearest returns the tick nearest to t.
func (c clock) nearest(t fragment.Time) int64 { return c.scaled(t).Round(1) }

// floor returns the last tick at or before t, and ceil the first at or after.
func (c clock) floor(t fragment.Time) int64 { return c.scaled(t).Floor(1) }
func (c clock) ceil(t fragment.Time) int64  { return c.scaled(t).Ceil(1) }

// time returns the stream's own time of a tick, in seconds.
func (m *mapping) time(tick int64) fragment.Time { return m.rate.time(satSub(tick, m.origin)) }

// nearest returns the tick that is nearest to the stream's own time t.
func (m *mapping) nearest(t fragment.Time) int64 { return satAdd(m.rate.nearest(t), m.origin) }

func (m *mapping) audio() bool { return m.track.Kind == formats.Audio }
func (m *mapping) video() bool { return m.track.Kind == formats.Video }

// text reports whether the stream is sparse: long stretches may hold none of
// its pages, and a packet lasts until it says, or until the next.
func (m *mapping) text() bool { return m.track.Kind == formats.Subtitle }

// lapped reports whether a packet yields sound only together with the one
// before it.
func (m *mapping) lapped() bool { _, ok := m.codec.(*vorbis); return ok }

// splits reports whether packets can be cut between samples.
func (m *mapping) splits() bool { _, ok := m.codec.(*pcm); return ok }

// errNoHeader says that a packet is data already: the headers are complete.
var errNoHeader = errors.New("not a header packet")

// errNotMine says that a first packet is of another codec.
var errNotMine = errors.New("another codec")

// errVersion says that a stream is of a version of its codec that is not read,
// where other errors of headers say that they are broken.
var errVersion = errors.New("unreadable")

// newMapping returns the mapping for a stream's first packet. The name of a
// codec that is not supported comes as the error's text.
func newMapping(first []byte) (*mapping, error) {
	for _, known := range []struct {
		magic string
		codec codec
	}{
		{"\x01vorbis", new(vorbis)},
		{"OpusHead", new(opus)},
		{"\x7fFLAC", new(flac)},
		{"Speex   ", new(speex)},
		{"\x80theora", new(theora)},
		{"OVP80", new(vp8)},
		{"PCM     ", new(pcm)},
		{"\x80kate\x00\x00\x00", new(kate)},
		{"CMML\x00\x00\x00\x00", new(cmml)},
	} {
		if !bytes.HasPrefix(first, []byte(known.magic)) {
			continue
		}
		m := &mapping{codec: known.codec}
		more, err := m.header(0, first, m)
		if err != nil {
			return nil, err
		}
		if !more {
			m.headers = 1
		}
		return m, m.rate.check()
	}
	return nil, errNotMine
}

// foreign names the codec of a first packet that no mapping reads.
func foreign(first []byte) string {
	for _, c := range []struct{ magic, name string }{
		{"CELT    ", "CELT"},
		{"BBCD", "Dirac"},
		{"\x80daala", "Daala"},
		{"fLaC", "FLAC in Ogg before version 1.1.1"},
		{"\x01video", "OGM video"},
		{"\x01audio", "OGM audio"},
		{"\x01text", "OGM text"},
		{"Annodex", "Annodex"},
		{"AnxData", "Annodex"},
		{"\x8aJNG", "JNG"},
		{"\x8aMNG", "MNG"},
		{"OggMIDI", "MIDI"},
		{"YUV4Mpeg", "YUV4MPEG"},
		{"UVS ", "uncompressed video"},
		{"Direct Show Samples embedded in Ogg", "OGM"},
	} {
		if bytes.HasPrefix(first, []byte(c.magic)) {
			return c.name
		}
	}
	return fmt.Sprintf("unknown codec (first bytes %q)", first[:min(len(first), 8)])
}

// samples is the position of codecs whose granule position is the number of
// samples up to the end of the packet.
type samples struct{}

func (samples) key([]byte) bool                   { return true }
func (samples) granule(p position) int64          { return p.end }
func (samples) position(g int64) (position, bool) { return position{g, g}, g != noGranule }

// satAdd and satSub stay at the ends of int64.
func satAdd(a, b int64) int64 {
	c := a + b
	switch {
	case b > 0 && c < a:
		return 1<<63 - 1
	case b < 0 && c > a:
		return -1 << 63
	}
	return c
}

func satSub(a, b int64) int64 {
	c := a - b
	switch {
	case b < 0 && c < a:
		return 1<<63 - 1
	case b > 0 && c > a:
		return -1 << 63
	}
	return c
}
