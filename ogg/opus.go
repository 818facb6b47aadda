package ogg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
)

// opus is the mapping of Opus (RFC 7845). Its clock is 48 kHz whatever the
// input was.
type opus struct{ samples }

const (
	opusRate = 48000
	// opusLead is the sound before a that a decoder needs to have forgotten
	// that it began: bit-exact after 1 s; RFC 7845 asks for 80 ms at least.
	opusLead = opusRate
	// opusMaxSkip is the most that the header can hide.
	opusMaxSkip = 1<<16 - 1
)

func (*opus) header(i int, p []byte, m *mapping) (more bool, err error) {
	m.headers = 2
	if i == 1 {
		if !bytes.HasPrefix(p, []byte("OpusTags")) {
			return false, errors.New("header packet 1 is no OpusTags")
		}
		return false, nil
	}
	switch {
	case len(p) < 19:
		return false, errors.New("the OpusHead is cut off")
	case p[8]>>4 != 0:
		return false, fmt.Errorf("%w: OpusHead of version %d", errVersion, p[8])
	}
	if err := checkChannels(p); err != nil {
		return false, err
	}
	m.track = formats.Track{Kind: formats.Audio, Codec: "opus", Channels: int(p[9]), SampleRate: opusRate}
	m.mime, m.rate = "audio/ogg; codecs=opus", clock{opusRate, 1}
	m.origin = int64(binary.LittleEndian.Uint16(p[10:]))
	m.lead = opusLead
	return true, nil
}

// checkChannels refuses the channels and channel mappings that decoders must
// refuse (RFC 7845, section 5.1.1).
func checkChannels(p []byte) error {
	channels, family := int(p[9]), p[18]
	switch {
	case channels == 0 || family == 0 && channels > 2 || family == 1 && channels > 8:
		return fmt.Errorf("broken: Opus with %d channels in mapping family %d", channels, family)
	case family == 0:
		return nil
	case len(p) < 21+channels:
		return errors.New("broken: the channel mapping of the OpusHead is cut off")
	}
	streams, coupled := int(p[19]), int(p[20])
	if streams == 0 || coupled > streams || streams+coupled > 255 {
		return fmt.Errorf("broken: Opus with %d streams, %d of them of two channels", streams, coupled)
	}
	for _, decoded := range p[21 : 21+channels] {
		if family != 3 && int(decoded) >= streams+coupled && decoded != 255 { // family 3 has a matrix there
			return fmt.Errorf("broken: Opus with a channel of stream %d, of %d", decoded, streams+coupled)
		}
	}
	return nil
}

// length returns the samples of a packet (RFC 6716, section 3.1), 0 where it is
// invalid.
func (*opus) length(p []byte) int64 {
	if len(p) == 0 {
		return 0
	}
	config := p[0] >> 3
	var frame int64
	switch {
	case config < 12: // SILK: 10, 20, 40, 60 ms
		frame = []int64{480, 960, 1920, 2880}[config&3]
	case config < 16: // hybrid: 10, 20 ms
		frame = 480 << (config & 1)
	default: // CELT: 2.5, 5, 10, 20 ms
		frame = 120 << (config & 3)
	}
	count := int64(1)
	switch p[0] & 3 {
	case 1, 2:
		count = 2
	case 3:
		if len(p) < 2 {
			return 0
		}
		count = int64(p[1] & 63)
	}
	if n := frame * count; n <= 120*opusRate/1000 {
		return n
	}
	return 0
}

// withSkip returns the header packet with another pre-skip.
func withSkip(head []byte, skip int64) []byte {
	head = slices.Clone(head)
	binary.LittleEndian.PutUint16(head[10:], uint16(skip))
	return head
}
