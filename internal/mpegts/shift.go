package mpegts

import (
	"errors"
	"io"
)

// errEnough ends a walk.
var errEnough = errors.New("enough")

// Shift returns a transport stream with all its clocks moved by ticks of
// [Clock]: PCR, PTS and DTS. In begins with a packet; no byte is added or lost.
func Shift(in io.Reader, ticks int64) io.Reader {
	return &shifter{in: in, ticks: ticks}
}

type shifter struct {
	in    io.Reader
	ticks int64
	buf   [16 * PacketSize]byte
	ready []byte
	err   error
}

func (s *shifter) Read(p []byte) (int, error) {
	for len(s.ready) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		n, err := io.ReadFull(s.in, s.buf[:])
		if err == io.ErrUnexpectedEOF {
			err = io.EOF
		}
		s.ready, s.err = s.buf[:n], err
		for at := 0; at+PacketSize <= n; at += PacketSize {
			if s.buf[at] == sync {
				move(packet(s.buf[at:at+PacketSize]), s.ticks)
			}
		}
	}
	n := copy(p, s.ready)
	s.ready = s.ready[n:]
	return n, nil
}

// move changes the clocks of one packet.
func move(p packet, ticks int64) {
	if a := p.adaptation(); len(a) >= 7 && a[0]&0x10 != 0 {
		movePCR(a[1:7], ticks)
		if len(a) >= 13 && a[0]&0x08 != 0 {
			movePCR(a[7:13], ticks)
		}
	}
	b := p.payload()
	if !p.starts() || b == nil {
		return
	}
	pts, dts, ptsAt, dtsAt := pesTimes(b)
	if pts >= 0 {
		putTimestamp(b[ptsAt:], pts+ticks)
	}
	if dts >= 0 {
		putTimestamp(b[dtsAt:], dts+ticks)
	}
}

// movePCR changes the 33 bits of a program clock reference that count at
// [Clock].
func movePCR(b []byte, ticks int64) {
	base := int64(b[0])<<25 | int64(b[1])<<17 | int64(b[2])<<9 | int64(b[3])<<1 | int64(b[4]>>7)
	base += ticks
	b[0], b[1], b[2], b[3] = byte(base>>25), byte(base>>17), byte(base>>9), byte(base>>1)
	b[4] = b[4]&0x7f | byte(base&1)<<7
}
