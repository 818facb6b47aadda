package mpegts

import (
	"fmt"
	"math"
	"slices"

	"github.com/mediafrag/mediafrag/internal/audioframe"
)

// Stream is one elementary stream of a segment. Times are in ticks of [Clock],
// unwrapped: they grow beyond 33 bits rather than begin anew.
type Stream struct {
	PID  int
	Type byte
	Kind Kind
	// First and End are the earliest presentation time and the end of the
	// latest. Packets is how many PES packets have a time; 0: First and End mean
	// nothing.
	First, End int64
	Packets    int
	// RandomAccess is the time of the first packet where a decoder can begin;
	// Starts reports whether there is one.
	RandomAccess int64
	Starts       bool
	// Frame is how long a frame of sound lasts, 0 where that is not known.
	Frame int64
}

// Encrypted reports whether the stream's samples are encrypted.
func (s Stream) Encrypted() bool { return encrypted(s.Type) }

// Segment is what a segment holds.
type Segment struct {
	Streams []Stream
}

// Of returns the first stream of a kind that has timestamps, nil if none.
func (s *Segment) Of(k Kind) *Stream {
	for i := range s.Streams {
		if s.Streams[i].Kind == k && s.Streams[i].Packets > 0 {
			return &s.Streams[i]
		}
	}
	return nil
}

// Lead returns the stream that the segment's times are those of: its video, or
// else its sound; nil if it has neither.
func (s *Segment) Lead() *Stream {
	if v := s.Of(Video); v != nil {
		return v
	}
	return s.Of(Audio)
}

// Scan reads a whole segment. Near is a time that its own lie within 13 hours
// of; for the first segment of many, any will do.
func Scan(b []byte, near int64) (*Segment, error) {
	sc := scanner{tables: newTables(), streams: map[int]*streamScan{}, near: near}
	if err := each(b, sc.packet); err != nil {
		return nil, err
	}
	if len(sc.tables.order) == 0 {
		return nil, fmt.Errorf("%w: it has no program map", ErrNoStream)
	}
	out := &Segment{}
	for _, pid := range sc.tables.order {
		kind := sc.tables.types[pid]
		s := Stream{PID: pid, Type: kind, Kind: kinds[kind]}
		if scan := sc.streams[pid]; scan != nil {
			scan.finish(&s)
		}
		out.Streams = append(out.Streams, s)
	}
	return out, nil
}

type scanner struct {
	tables  *tables
	streams map[int]*streamScan
	near    int64
	anchor  bool // near is a time of this segment
}

// streamScan gathers the packets of one stream.
type streamScan struct {
	times []int64
	start int64 // of the first random access
	has   bool
	last  []byte // the PES packet in hand, of sound
	sound bool
	until int64 // the end of the latest PES packet whose frames were counted
	frame int64
}

func (sc *scanner) packet(_ int, p packet) error {
	if sc.tables.table(p) {
		return nil
	}
	pid := p.pid()
	kind, known := sc.tables.types[pid]
	if !known {
		return nil
	}
	s := sc.streams[pid]
	if s == nil {
		s = &streamScan{sound: kinds[kind] == Audio, until: math.MinInt64}
		sc.streams[pid] = s
	}
	b := p.payload()
	if !p.starts() {
		if s.last != nil {
			s.last = append(s.last, b...)
		}
		return nil
	}
	s.count()
	pts, _, _, _ := pesTimes(b)
	if pts < 0 {
		return nil
	}
	pts = Near(pts, sc.near)
	if !sc.anchor {
		sc.near, sc.anchor = pts, true
	}
	s.times = append(s.times, pts)
	if p.randomAccess() && !s.has {
		s.start, s.has = pts, true
	}
	if s.sound {
		s.last = append([]byte(nil), pesPayload(b)...)
	}
	return nil
}

// count ends the PES packet in hand.
func (s *streamScan) count() {
	if s.last == nil {
		return
	}
	if n, rate := audioframe.Count(s.last); rate > 0 && len(s.times) > 0 {
		s.until = max(s.until, s.times[len(s.times)-1]+int64(n)*Clock/int64(rate))
	}
	if f, ok := audioframe.Parse(s.last); ok && f.Rate > 0 {
		s.frame = int64(f.Samples) * Clock / int64(f.Rate)
	}
	s.last = nil
}

// finish fills in what the packets have told.
func (s *streamScan) finish(to *Stream) {
	s.count()
	to.Packets = len(s.times)
	if len(s.times) == 0 {
		return
	}
	to.RandomAccess, to.Starts, to.Frame = s.start, s.has, s.frame
	slices.Sort(s.times)
	to.First = s.times[0]
	latest := s.times[len(s.times)-1]
	to.End = latest + step(s.times)
	if s.until > latest {
		to.End = s.until
	}
}

// step is how long a packet lasts: the median of the distances. Times are
// sorted.
func step(times []int64) int64 {
	var steps []int64
	for i := 1; i < len(times); i++ {
		if d := times[i] - times[i-1]; d > 0 {
			steps = append(steps, d)
		}
	}
	if len(steps) == 0 {
		return 0
	}
	slices.Sort(steps)
	return steps[len(steps)/2]
}
