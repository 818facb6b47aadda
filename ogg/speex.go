package ogg

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mediafrag/mediafrag/formats"
)

// speex is the mapping of Speex (its manual, section 7.4).
type speex struct {
	samples
	packet int64 // samples of a packet
	extra  int   // headers beyond the first and the comments
}

func (s *speex) header(i int, p []byte, m *mapping) (more bool, err error) {
	if i > 0 {
		return i < 1+s.extra, nil
	}
	if len(p) < 80 {
		return false, errors.New("broken: Speex header is cut off")
	}
	field := func(at int) int64 { return int64(int32(binary.LittleEndian.Uint32(p[at:]))) }
	rate, channels, frame, frames, extra := field(36), field(48), field(56), field(64), field(68)
	if frames == 0 {
		frames = 1
	}
	switch {
	case frame <= 0 || frame > 4096, frames < 0 || frames > 4096:
		return false, fmt.Errorf("broken: Speex with %d frames of %d samples in a packet", frames, frame)
	case channels < 1 || channels > 2:
		return false, fmt.Errorf("broken: Speex with %d channels", channels)
	case extra < 0 || extra > 256:
		return false, fmt.Errorf("%w: Speex with %d extra headers", errVersion, extra)
	}
	s.packet, s.extra = frame*frames, int(extra)
	m.headers = 2 + s.extra
	m.track = formats.Track{Kind: formats.Audio, Codec: "speex", Channels: int(channels), SampleRate: int(rate)}
	m.mime, m.rate = "audio/speex", clock{rate, 1}
	return true, nil
}

func (s *speex) length([]byte) int64 { return s.packet }
