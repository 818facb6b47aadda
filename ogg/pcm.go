package ogg

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mediafrag/mediafrag/formats"
)

// pcm is the mapping of OggPCM (Xiph wiki, draft 3): uncompressed sound.
type pcm struct {
	samples
	frame int64 // bytes of one sample of all channels
	extra int   // headers beyond the first and the comments
}

// pcmWidths are the bytes of a sample in each format of OggPCM.
var pcmWidths = map[uint32]int64{
	0x00: 1, 0x01: 1, 0x02: 2, 0x03: 2, 0x04: 3, 0x05: 3, 0x06: 4, 0x07: 4,
	0x10: 1, 0x11: 1, 0x20: 4, 0x21: 4, 0x22: 8, 0x23: 8,
}

func (c *pcm) header(i int, p []byte, m *mapping) (more bool, err error) {
	if i > 0 {
		return i < 1+c.extra, nil
	}
	if len(p) < 28 {
		return false, errors.New("broken: OggPCM header is cut off")
	}
	format := binary.BigEndian.Uint32(p[12:])
	rate := int64(binary.BigEndian.Uint32(p[16:]))
	channels, extra := int64(p[21]), binary.BigEndian.Uint32(p[24:])
	width, known := pcmWidths[format]
	switch {
	case !known:
		return false, fmt.Errorf("%w: OggPCM of format %#x", errVersion, format)
	case channels == 0:
		return false, errors.New("broken: OggPCM with 0 channels")
	case extra > 256:
		return false, fmt.Errorf("%w: OggPCM with %d extra headers", errVersion, extra)
	}
	c.frame, c.extra = width*channels, int(extra)
	m.headers = 2 + c.extra
	m.track = formats.Track{Kind: formats.Audio, Codec: "pcm", Channels: int(channels), SampleRate: int(rate)}
	m.mime, m.rate = "audio/x-ogg-pcm", clock{rate, 1}
	return true, nil
}

func (c *pcm) length(p []byte) int64 { return int64(len(p)) / c.frame }
