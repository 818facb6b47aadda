package ogg

import "slices"

// maxPacket is the largest media packet in bytes that is joined; what is larger
// is passed over as damage.
const maxPacket = 16 << 20

// piece is the part of a packet that lies on one page.
type piece struct {
	data   []byte
	begins bool // the packet begins here
	ends   bool // and ends here
}

// pieces cuts a page's body at its lacing values (RFC 3533, section 5).
func (p *page) pieces() []piece {
	var out []piece
	begins, from, at := !p.continued(), 0, 0
	for i, l := range p.lacing {
		at += int(l)
		last := i == len(p.lacing)-1
		if l < 255 || last {
			out = append(out, piece{p.body[from:at:at], begins, l < 255})
			begins, from = true, at
		}
	}
	return out
}

// place is where a piece stands: the offset of its page and its number there.
type place struct {
	off   int64
	piece int
}

func (a place) before(b place) bool { return a.off < b.off || a.off == b.off && a.piece < b.piece }

// packet is one packet of a stream.
type packet struct {
	data         []byte
	begins, ends place // its first and its last piece
	broken       bool  // what came before it is missing
}

// assembler joins the pieces of one stream's pages to packets.
type assembler struct {
	limit int // largest packet in bytes; more is dropped

	partial []byte
	begins  place
	joining bool // partial holds the beginning of a packet
	begun   bool // a page was seen
	broken  bool // something is missing since the last packet
	seq     uint32
}

// add returns the packets that end on p. Those whose beginning was not seen are
// dropped; gap reports whether pages before p are missing.
func (a *assembler) add(p *page) (out []packet, gap bool) {
	if a.begun && p.seq != a.seq+1 {
		gap, a.joining = true, false
	}
	a.begun, a.seq = true, p.seq
	if !p.continued() && a.joining { // the rest never came
		a.joining, gap = false, true
	}
	a.broken = a.broken || gap
	for i, f := range p.pieces() {
		at := place{p.off, i}
		switch {
		case f.begins && f.ends:
			out = append(out, packet{f.data, at, at, a.broken})
			a.broken = false
		case f.begins:
			a.partial, a.begins, a.joining = slices.Clone(f.data), at, true
		case !a.joining:
			a.broken = true
		case len(a.partial)+len(f.data) > a.limit:
			a.partial, a.joining, a.broken = nil, false, true
		default:
			a.partial = append(a.partial, f.data...)
			if f.ends {
				out = append(out, packet{a.partial, a.begins, at, a.broken})
				a.partial, a.joining, a.broken = nil, false, false
			}
		}
	}
	return out, gap
}
