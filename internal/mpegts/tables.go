package mpegts

import "encoding/binary"

// Kind is what a stream carries.
type Kind int

// Kinds of streams.
const (
	Other Kind = iota
	Video
	Audio
)

// kinds are the kinds of the stream types in HLS (ISO/IEC 13818-1 table 2-34,
// and those that Apple and ATSC assign).
var kinds = map[byte]Kind{
	0x01: Video, 0x02: Video, 0x10: Video, 0x1b: Video, 0x24: Video, 0x33: Video, 0xdb: Video,
	0x03: Audio, 0x04: Audio, 0x0f: Audio, 0x11: Audio, 0x81: Audio, 0x87: Audio, 0xc1: Audio, 0xc2: Audio, 0xcf: Audio,
}

// encrypted are the stream types of SAMPLE-AES.
func encrypted(streamType byte) bool {
	return streamType == 0xdb || streamType == 0xc1 || streamType == 0xc2 || streamType == 0xcf
}

// tables gathers the program map.
type tables struct {
	programs map[int]bool // PIDs of program maps
	types    map[int]byte // stream types by PID
	order    []int
	pcr      int
}

func newTables() *tables {
	return &tables{programs: map[int]bool{}, types: map[int]byte{}, pcr: nilPID}
}

// table reports whether a packet belongs to a table, and reads it.
func (t *tables) table(p packet) bool {
	pid := p.pid()
	switch {
	case pid == patPID:
		if section := sectionOf(p); section != nil {
			t.pat(section)
		}
		return true
	case t.programs[pid]:
		if section := sectionOf(p); section != nil {
			t.pmt(section)
		}
		return true
	}
	return false
}

// sectionOf returns the body of a section that begins in a packet and fits into
// it, from the byte after section_length on, without its checksum.
func sectionOf(p packet) []byte {
	b := p.payload()
	if !p.starts() || len(b) == 0 || len(b) < 1+int(b[0])+3 {
		return nil
	}
	b = b[1+int(b[0]):]
	n := int(binary.BigEndian.Uint16(b[1:]) & 0xfff)
	b = b[3:]
	if n < 9 {
		return nil
	}
	if n > len(b) { // it goes on in the next packet: what is here will do
		return b
	}
	return b[:n-4]
}

func (t *tables) pat(b []byte) {
	if len(b) < 5 {
		return
	}
	for b = b[5:]; len(b) >= 4; b = b[4:] {
		if binary.BigEndian.Uint16(b) != 0 && len(t.programs) < maxPMT { // 0 is the network table
			t.programs[int(binary.BigEndian.Uint16(b[2:])&0x1fff)] = true
		}
	}
}

func (t *tables) pmt(b []byte) {
	if len(b) < 9 {
		return
	}
	t.pcr = int(binary.BigEndian.Uint16(b[5:]) & 0x1fff)
	skip := 9 + int(binary.BigEndian.Uint16(b[7:])&0xfff)
	if skip > len(b) {
		return
	}
	for b = b[skip:]; len(b) >= 5; {
		pid := int(binary.BigEndian.Uint16(b[1:]) & 0x1fff)
		if _, known := t.types[pid]; !known && len(t.order) < maxES {
			t.order = append(t.order, pid)
		}
		t.types[pid] = b[0]
		n := 5 + int(binary.BigEndian.Uint16(b[3:])&0xfff)
		if n > len(b) {
			return
		}
		b = b[n:]
	}
}
