// Package mpegts reads as much of MPEG-2 transport streams (ISO/IEC 13818-1) as
// cutting them takes: which streams there are, the timestamps of their packets,
// and where a decoder can begin. It works on whole segments in memory.
package mpegts

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// PacketSize is the size of a transport packet in bytes.
const PacketSize = 188

// Clock is how many ticks a second timestamps count, and Wrap where their 33
// bits begin anew.
const (
	Clock = 90_000
	Wrap  = 1 << 33
)

// ErrNoStream is that bytes are no transport stream.
var ErrNoStream = errors.New("no MPEG-2 transport stream")

// Is reports whether b begins with a transport packet, as far as it tells.
func Is(b []byte) bool {
	for at := 0; at < len(b) && at <= 2*PacketSize; at += PacketSize {
		if b[at] != sync {
			return false
		}
	}
	return len(b) > 0
}

const (
	sync   = 0x47
	patPID = 0
	nilPID = 0x1fff
	maxPMT = 64 // programs; HLS has one
	maxES  = 256
)

// packet is one transport packet.
type packet []byte

func (p packet) pid() int     { return int(binary.BigEndian.Uint16(p[1:]) & 0x1fff) }
func (p packet) starts() bool { return p[1]&0x40 != 0 } // of a PES packet or a section

// adaptation returns the adaptation field without its length, nil if none.
func (p packet) adaptation() []byte {
	if p[3]&0x20 == 0 {
		return nil
	}
	n := int(p[4])
	if n > PacketSize-5 {
		return nil
	}
	return p[5 : 5+n]
}

// randomAccess reports whether a decoder can begin here.
func (p packet) randomAccess() bool {
	a := p.adaptation()
	return len(a) > 0 && a[0]&0x40 != 0
}

// payload returns what the packet carries, nil if nothing.
func (p packet) payload() []byte {
	at := 4
	if p[3]&0x20 != 0 {
		at += 1 + int(p[4])
	}
	if p[3]&0x10 == 0 || at >= PacketSize {
		return nil
	}
	return p[at:]
}

// pesTimes returns the timestamps of a PES packet that begins in payload, and
// where each stands in it. PTS -1: none.
func pesTimes(b []byte) (pts, dts int64, ptsAt, dtsAt int) {
	if len(b) < 9 || b[0] != 0 || b[1] != 0 || b[2] != 1 || b[6]&0xc0 != 0x80 {
		return -1, -1, 0, 0
	}
	flags := b[7] >> 6
	if flags&2 == 0 || len(b) < 14 {
		return -1, -1, 0, 0
	}
	pts, dts = timestamp(b[9:]), -1
	if flags == 3 && len(b) >= 19 {
		return pts, timestamp(b[14:]), 9, 14
	}
	return pts, dts, 9, 0
}

// pesPayload returns what a PES packet carries.
func pesPayload(b []byte) []byte {
	if len(b) < 9 || 9+int(b[8]) > len(b) {
		return nil
	}
	return b[9+int(b[8]):]
}

// timestamp reads the 33 bits of a PTS or DTS.
func timestamp(b []byte) int64 {
	return int64(b[0]>>1&7)<<30 | int64(b[1])<<22 | int64(b[2]>>1)<<15 | int64(b[3])<<7 | int64(b[4]>>1)
}

// putTimestamp writes a PTS or DTS over another, marker bits and all else kept.
func putTimestamp(b []byte, t int64) {
	b[0] = b[0]&0xf1 | byte(t>>30&7)<<1
	b[1] = byte(t >> 22)
	b[2] = b[2]&1 | byte(t>>15&0x7f)<<1
	b[3] = byte(t >> 7)
	b[4] = b[4]&1 | byte(t&0x7f)<<1
}

// Near returns the time that t, of 33 bits, is if it lies within half a wrap of
// reference, which may have any value.
func Near(t, reference int64) int64 {
	d := (t - reference) % Wrap
	switch {
	case d >= Wrap/2:
		d -= Wrap
	case d < -Wrap/2:
		d += Wrap
	}
	return reference + d
}

// each calls f for each transport packet of b. Bytes between packets that are
// not in step are skipped; more than a few are an error.
func each(b []byte, f func(at int, p packet) error) error {
	const mostLost = 4 * PacketSize
	lost := 0
	for at := 0; at+PacketSize <= len(b); {
		if b[at] != sync {
			if lost++; lost > mostLost {
				return fmt.Errorf("%w: no packet at byte %d", ErrNoStream, at)
			}
			at++
			continue
		}
		if err := f(at, packet(b[at:at+PacketSize])); err != nil {
			return err
		}
		at += PacketSize
	}
	return nil
}
