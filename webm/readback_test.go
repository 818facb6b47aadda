package webm_test

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// back is what a test reads of a clip, by a reader of its own: elements in
// order, no index.
type back struct {
	scale, delay    int64  // ns
	pictures, sound []shot // times in ms
	others          []shot
	lasting         int64 // the last BlockDuration
	before          int   // blocks before their cluster's Timestamp
	positions       int   // Position, PrevSize and CRC-32 elements in clusters
	cues            map[int64]int64
	clusters        []int64 // from the Segment's body
	segment         int64
	tracks          int
	stamps          int // Timestamps of clusters
}

type reader struct {
	t *testing.T
	b []byte
}

func (r *reader) vint(marker bool) (v int64, unknown bool) {
	n := 1
	for n <= 8 && r.b[0]&(0x80>>(n-1)) == 0 {
		n++
	}
	for i := range n {
		c := r.b[i]
		if i == 0 && !marker {
			c &= 0xFF >> n
		}
		v = v<<8 | int64(c)
	}
	r.b = r.b[n:]
	return v, !marker && v == 1<<(7*n)-1
}

// walk calls f for each element of b: f returns true to go into it. An unknown
// size ends where a Cluster begins, or with b.
func walk(t *testing.T, b []byte, base int64, sized bool, f func(id, at int64, body []byte) bool) {
	t.Helper()
	r := &reader{t, b}
	for len(r.b) > 0 {
		at := base + int64(len(b)-len(r.b))
		id, _ := r.vint(true)
		n, unknown := r.vint(false)
		if unknown && sized {
			t.Errorf("element 0x%X at %d of unknown size in one of known size", id, at)
		}
		if unknown {
			n = int64(len(r.b))
			if i := bytes.Index(r.b, []byte{0x1F, 0x43, 0xB6, 0x75}); i >= 0 && id == 0x1F43B675 {
				n = int64(i)
			}
		}
		if n > int64(len(r.b)) {
			t.Fatalf("element 0x%X at %d runs over its parent by %d bytes", id, at, n-int64(len(r.b)))
		}
		body := r.b[:n]
		if f(id, at, body) {
			walk(t, body, base+int64(len(b)-len(r.b)), !unknown, f)
		}
		r.b = r.b[n:]
	}
}

func uintBE(b []byte) (v int64) {
	for _, c := range b {
		v = v<<8 | int64(c)
	}
	return v
}

func readBack(t *testing.T, clip []byte) *back {
	t.Helper()
	out := &back{scale: 1e6, cues: map[int64]int64{}}
	var cluster, cueTime int64
	walk(t, clip, 0, false, func(id, at int64, body []byte) bool {
		switch id {
		case 0x18538067:
			out.segment = int64(len(clip) - len(body))
			return true
		case 0x1549A966, 0x1C53BB6B, 0xBB, 0xB7, 0x1654AE6B, 0xA0:
			return true
		case 0xAE:
			out.tracks++
			return true
		case 0x56AA:
			out.delay = uintBE(body)
		case 0x2AD7B1:
			out.scale = uintBE(body)
		case 0xB3:
			cueTime = uintBE(body)
		case 0xF1:
			out.cues[cueTime] = uintBE(body)
		case 0x1F43B675:
			out.clusters = append(out.clusters, at-out.segment)
			return true
		case 0x9B:
			out.lasting = uintBE(body)
		case 0xE7:
			out.stamps++
			cluster = uintBE(body)
		case 0xA7, 0xAB, 0xBF:
			out.positions++
		case 0xA3, 0xA1:
			out.block(t, id == 0xA3, cluster, body)
		}
		return false
	})
	return out
}

func (o *back) block(t *testing.T, simple bool, cluster int64, b []byte) {
	rel := int64(int16(binary.BigEndian.Uint16(b[1:])))
	s := shot{at: (cluster + rel) * o.scale / 1e6, key: !simple || b[3]&0x80 != 0, frame: b[4:]}
	if rel < 0 {
		o.before++
	}
	if cluster+rel < 0 {
		t.Errorf("a block at %d", cluster+rel)
	}
	if b[0] == 0x81 {
		o.pictures = append(o.pictures, s)
		return
	}
	if b[0] == 0x83 {
		o.others = append(o.others, s)
		return
	}
	if b[3]&6 == 2 { // laced: frames of 160 bytes
		n := int(s.frame[0]) + 1
		frames := s.frame[n:]
		for i := range n {
			o.sound = append(o.sound, shot{s.at + int64(i)*20, true, frames[i*160 : (i+1)*160]})
		}
		return
	}
	o.sound = append(o.sound, s)
}
