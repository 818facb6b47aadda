package mpegts

// Before returns of the beginning of a segment what presents before end: tables,
// and of each stream the PES packets up to the last that has such a time, in the
// order of decoding. Complete reports whether b shows that nothing behind it is
// wanted. Near is as in [Scan].
func Before(b []byte, end, near int64) (out []byte, complete bool, err error) {
	e := edge{tables: newTables(), near: near}
	if err := each(b, e.packet); err != nil {
		return nil, false, err
	}
	last := map[int]int{} // of each stream, the last wanted PES packet
	past := map[int]bool{}
	for i, p := range e.packets {
		if p.pes < 0 {
			continue
		}
		if p.pts < end {
			last[p.pid] = p.pes
		} else {
			past[p.pid] = true
		}
		e.packets[i] = p
	}
	complete = true
	for pid, kind := range e.tables.types {
		if kinds[kind] != Other && !past[pid] {
			complete = false
		}
	}
	for _, p := range e.packets {
		if n, wanted := last[p.pid]; p.table || wanted && p.belongs >= 0 && p.belongs <= n {
			out = append(out, b[p.at:p.at+PacketSize]...)
		}
	}
	if len(last) == 0 {
		out = nil
	}
	return out, complete, nil
}

// After returns of the end of a segment the sound that still lasts at start:
// tables, given by the segment that follows, and whole PES packets. Complete
// reports whether b shows that nothing before it is wanted.
func After(b []byte, start int64, follows *Segment, tables []byte, near int64) (out []byte, complete bool, err error) {
	e := edge{tables: newTables(), near: near}
	for _, s := range follows.Streams {
		e.tables.types[s.PID] = s.Type
	}
	if err := each(b, e.packet); err != nil {
		return nil, false, err
	}
	first := map[int]int{} // of each stream of sound, the PES packet that lasts until start, or later
	for _, p := range e.packets {
		if p.pes >= 0 && kinds[e.tables.types[p.pid]] == Audio && p.pts <= start {
			first[p.pid] = p.pes
		}
	}
	complete = true
	for _, s := range follows.Streams {
		if _, found := first[s.PID]; s.Kind == Audio && s.Packets > 0 && !found {
			complete = false
		}
	}
	for _, p := range e.packets {
		if n, wanted := first[p.pid]; wanted && p.belongs >= n {
			out = append(out, b[p.at:p.at+PacketSize]...)
		}
	}
	if len(out) > 0 {
		out = append(append([]byte(nil), tables...), out...)
	}
	return out, complete, nil
}

// Tables returns the first program association and the first program map of b,
// as whole packets.
func Tables(b []byte) (out []byte) {
	t := newTables()
	each(b, func(_ int, p packet) error {
		if t.table(p) && len(t.order) == 0 || p.starts() && t.programs[p.pid()] {
			out = append(out, p...)
		}
		if len(t.order) > 0 {
			return errEnough
		}
		return nil
	})
	return out
}

// edge gathers the packets of a piece of a segment.
type edge struct {
	tables  *tables
	near    int64
	packets []edgePacket
	pes     int         // PES packets so far
	current map[int]int // of each stream, the PES packet in hand
}

// edgePacket is a transport packet of a piece.
type edgePacket struct {
	at, pid int
	table   bool
	pes     int // number of the PES packet that begins here and has a time, -1
	pts     int64
	belongs int // number of the PES packet that this one carries, -1: not known
}

func (e *edge) packet(at int, p packet) error {
	if e.current == nil {
		e.current = map[int]int{}
	}
	x := edgePacket{at: at, pid: p.pid(), pes: -1, belongs: -1}
	if x.table = e.tables.table(p); !x.table {
		if p.starts() {
			if pts, _, _, _ := pesTimes(p.payload()); pts >= 0 {
				e.pes++
				x.pes, x.pts = e.pes, Near(pts, e.near)
				e.current[x.pid] = e.pes
			}
		}
		if n, known := e.current[x.pid]; known {
			x.belongs = n
		}
	}
	e.packets = append(e.packets, x)
	return nil
}
