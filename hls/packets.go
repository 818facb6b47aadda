package hls

import (
	"fmt"
	"io"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/mpegts"
)

// cutOff is that a segment ends before it should.
func cutOff(segment, problem string) error {
	return &formats.Error{Container: Name, Element: segment, Offset: -1, Err: formats.ErrDamaged,
		Problem: problem + ": it is cut off", Hint: "choose an interval without it, or with --variant another variant"}
}

// wholePackets fails where a transport stream segment of so many bytes ends
// within a packet (ISO/IEC 13818-1 section 2.4.3.2): those of the segment behind
// it would be out of step.
func wholePackets(segment string, size int64) error {
	if size%mpegts.PacketSize == 0 {
		return nil
	}
	return cutOff(segment, fmt.Sprintf("its %d bytes are no whole number of packets of %d", size, mpegts.PacketSize))
}

// sized checks a size that is known before the segment is read; -1 is not known.
func (r Rewriter) sized(segment string, size int64) error {
	if r.Container != transportStream || size < 0 {
		return nil
	}
	return wholePackets(segment, size)
}

// packetCounter passes a transport stream segment on to its end, which only then
// turns out to be one of a packet or not.
type packetCounter struct {
	io.ReadCloser
	segment string
	size    int64 // up to where it has been read
}

func (c *packetCounter) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.size += int64(n)
	if err == io.EOF {
		if bad := wholePackets(c.segment, c.size); bad != nil {
			err = bad
		}
	}
	return n, err
}
