package mp4

import (
	"encoding/binary"
	"slices"
	"testing"
)

// tfra writes a random access box whose entries' three numbers take so many
// bytes; wide is version 1.
func tfra(wide bool, lengths [3]int, points ...accessPoint) []byte {
	var p []byte
	version := uint32(0)
	if wide {
		version = 1 << 24
	}
	for _, n := range []uint32{version, 7, uint32(lengths[0]-1)<<4 | uint32(lengths[1]-1)<<2 | uint32(lengths[2]-1), uint32(len(points))} {
		p = be.AppendUint32(p, n)
	}
	for _, a := range points {
		if wide {
			p = be.AppendUint64(be.AppendUint64(p, uint64(a.time)), uint64(a.moof))
		} else {
			p = be.AppendUint32(be.AppendUint32(p, uint32(a.time)), uint32(a.moof))
		}
		p = append(p, make([]byte, lengths[0]+lengths[1]+lengths[2])...)
	}
	tfra := append(append(be.AppendUint32(nil, uint32(8+len(p))), "tfra"...), p...)
	return append(append(be.AppendUint32(nil, uint32(8+len(tfra))), "mfra"...), tfra...)
}

// many returns 15 access points as f changes them, without those of a time below 0.
func many(f func([]accessPoint)) []accessPoint {
	var out []accessPoint
	for i := range int64(15) {
		out = append(out, accessPoint{10 * i, 10 + 50*i})
	}
	f(out)
	return slices.DeleteFunc(out, func(a accessPoint) bool { return a.time < 0 })
}

// TestAccessPoints reads the entries of a tfra in every form: for each fragment
// the earliest, in the order of the file. What cannot be is not believed.
func TestAccessPoints(t *testing.T) {
	one := [3]int{1, 1, 1}
	plain := []accessPoint{{0, 100}, {50, 200}}
	for _, tt := range []struct {
		name string
		raw  []byte
		want []accessPoint
	}{
		{"plain", tfra(false, one, plain...), plain},
		{"wide", tfra(true, one, plain...), plain},
		{"traf number of 3 bytes", tfra(false, [3]int{3, 1, 1}, plain...), plain},
		{"trun number of 4 bytes", tfra(false, [3]int{1, 4, 1}, plain...), plain},
		{"sample number of 2 bytes", tfra(true, [3]int{1, 1, 2}, plain...), plain},
		{"in the order of presentation", tfra(false, one, accessPoint{50, 200}, accessPoint{0, 100}), plain},
		{"several of a fragment", tfra(false, one, accessPoint{0, 100}, accessPoint{60, 100}, accessPoint{90, 200}, accessPoint{50, 200}), plain},
		{"one time of many is later than the next", tfra(false, one, many(func(all []accessPoint) { all[3].time = 5000 })...), many(func(all []accessPoint) { all[3].time = -1 })},
		{"one time of many is earlier than the one before", tfra(false, one, many(func(all []accessPoint) { all[3].time = 0 })...), many(func(all []accessPoint) { all[3].time = -1 })},
		{"fragments of one time", tfra(false, one, many(func(all []accessPoint) { all[3].time = all[4].time })...), many(func(all []accessPoint) { all[3].time = all[4].time })},
		{"two times of many", tfra(false, one, many(func(all []accessPoint) { all[3].time, all[5].time = 5000, 0 })...), nil},
		{"times that go back", tfra(false, one, accessPoint{60, 100}, accessPoint{50, 200}), nil},
		{"of the mfra itself", tfra(false, one, accessPoint{0, 100}, accessPoint{50, 1000}), nil},
		{"beyond any time", tfra(true, one, accessPoint{maxTicks + 1, 100}), nil},
		{"before the beginning of time", tfra(true, one, accessPoint{-1, 100}), nil},
		{"before the file", tfra(true, one, accessPoint{0, -1}), nil},
		{"cut off", func() []byte {
			raw := tfra(false, one, plain...)
			binary.BigEndian.PutUint32(raw[8+8+12:], 3)
			return raw
		}(), nil},
	} {
		got := readAccessPoints(box{typ: "mfra", header: 8, raw: tt.raw, path: "mfra"}, 1000)
		if !slices.Equal(got[7], tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got[7], tt.want)
		}
	}
}
