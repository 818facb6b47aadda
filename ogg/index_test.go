package ogg

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/seektest"
)

// indexPacket is a Skeleton 4 index of fixed length for at most 100 keyframes.
func indexPacket(serial uint32, per int64, points []keypoint) []byte {
	p := make([]byte, indexLen, 1<<10)
	copy(p, "index\x00")
	binary.LittleEndian.PutUint32(p[6:], serial)
	binary.LittleEndian.PutUint64(p[10:], uint64(len(points)))
	binary.LittleEndian.PutUint64(p[18:], uint64(per))
	put := func(v int64) {
		for ; v >= 0x80; v >>= 7 {
			p = append(p, byte(v&0x7f))
		}
		p = append(p, byte(v)|0x80)
	}
	var last keypoint
	for _, k := range points {
		put(k.off - last.off)
		put(k.time - last.time)
		last = k
	}
	return append(p, make([]byte, 1<<10-len(p))...)
}

// TestIndex: a keyframe index of a Skeleton costs no more rounds than none;
// where it lies it is dropped, with a warning, and the clip is the same.
func TestIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plain := theoraVorbis(t, 120, 1).data
		// With is the file with a Skeleton in front, whose index each point of which is
		// off by so many bytes.
		with := func(off int64) []byte {
			w := &pageWriter{serial: 50}
			fishead := make([]byte, fisheadV4)
			copy(fishead, "fishead\x00\x04")
			var points []keypoint
			build := func() []byte {
				w.seq = 0
				out := w.flush(w.add(nil, piece{data: fishead, begins: true, ends: true}, 0), 0, flagBOS)
				pages := scanPages(plain, 0, true).pages
				bos := pages[1].end() // two first pages
				out = append(out, plain[:bos]...)
				out = w.flush(w.add(out, piece{data: indexPacket(synthSerial+1, 25, points), begins: true, ends: true}, 0), 0, 0)
				out = w.flush(w.add(out, piece{begins: true, ends: true}, 0), 0, flagEOS)
				return append(out, plain[bos:]...)
			}
			shift := int64(len(build()) - len(plain))
			key := int64(-1)
			for _, p := range scanPages(plain, 0, true).pages {
				if g := p.granule >> 6; p.serial == synthSerial+1 && p.granule > 0 && g > key && len(points) < 40 {
					key = g
					points = append(points, keypoint{p.off + shift + off, g - 1})
				}
			}
			return build()
		}
		want := over(t, seektest.New(with(0)), formats.Env{})
		lying := over(t, seektest.New(with(1000)), formats.Env{})
		if i := want.Info(); i.Index != Skeleton {
			t.Fatalf("the index is %q", i.Index)
		}
		without := over(t, seektest.New(plain), formats.Env{})
		defer func() {
			if with, none := want.gate.rounds, without.gate.rounds; with > none {
				t.Errorf("%d rounds with an index, %d without", with, none)
			}
		}()
		for _, at := range []float64{30.3, 61.7, 99.9} {
			a, b := want.clip(t, part(at, at+5)), lying.clip(t, part(at, at+5))
			if !bytes.Equal(a, b) {
				t.Errorf("at %g: another clip where the index lies", at)
			}
			without.clip(t, part(at, at+5))
			for name, o := range map[string]*opening{"lying": lying, "honest": want, "none": without} {
				p, err := o.Plan(t.Context(), formats.Selection{Interval: part(at, at+5)})
				if err != nil {
					t.Fatal(err)
				}
				if warned := strings.Contains(warningsOf(p.Warnings), "index"); warned != (name == "lying") {
					t.Errorf("at %g, %s: warned: %v", at, name, warned)
				}
			}
		}
	})
}
