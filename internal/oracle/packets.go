package oracle

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"sync"
	"testing"
)

// Packet is a coded frame as ffprobe lists it.
type Packet struct {
	Stream    int
	Time, End float64 // seconds; End is Time where the length is not known
	Key       bool
	Hash      string // of the payload
}

// Packets lists the packets of a file in the order of its streams and decoding.
func Packets(t testing.TB, path string) []Packet {
	t.Helper()
	var doc struct {
		Packets []struct {
			Stream   int    `json:"stream_index"`
			Time     string `json:"pts_time"`
			Duration string `json:"duration_time"`
			Flags    string `json:"flags"`
			Hash     string `json:"data_hash"`
		}
	}
	out := Run(t, "ffprobe", "-v", "error", "-show_packets", "-show_data_hash", "MD5", "-of", "json", path)
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatalf("ffprobe %s: %v", path, err)
	}
	var packets []Packet
	for _, p := range doc.Packets {
		at, _ := strconv.ParseFloat(p.Time, 64)
		length, _ := strconv.ParseFloat(p.Duration, 64)
		packets = append(packets, Packet{p.Stream, at, at + length, len(p.Flags) > 0 && p.Flags[0] == 'K', p.Hash})
	}
	fillLengths(packets)
	return packets
}

// OriginalPackets is Packets, once for each path.
func OriginalPackets(t testing.TB, path string) []Packet {
	t.Helper()
	once, _ := listed.LoadOrStore(path, sync.OnceValue(func() []Packet { return Packets(t, path) }))
	return once.(func() []Packet)()
}

// fillLengths gives packets without a length that to the next one presented of
// their stream.
func fillLengths(packets []Packet) {
	times := map[int][]float64{}
	for _, p := range packets {
		times[p.Stream] = append(times[p.Stream], p.Time)
	}
	for _, all := range times {
		slices.Sort(all)
	}
	for i, p := range packets {
		all := times[p.Stream]
		if n := sort.SearchFloat64s(all, p.Time+1e-9); p.End == p.Time && n < len(all) {
			packets[i].End = all[n]
		}
	}
}

// SamePackets checks that a clip holds, stream by stream and in sequence, the
// original's coded frames of [a, b) with not a byte changed.
func SamePackets(t testing.TB, original, clip string, a, b float64) error {
	t.Helper()
	want, have := map[int][]string{}, map[int][]string{}
	for _, p := range OriginalPackets(t, original) {
		if p.Time < b-1e-6 && (p.End > a+1e-6 || p.End == p.Time && p.Time >= a) {
			want[p.Stream] = append(want[p.Stream], p.Hash)
		}
	}
	for _, p := range Packets(t, clip) {
		have[p.Stream] = append(have[p.Stream], p.Hash)
	}
	for s, w := range want {
		if !contains(have[s], w) {
			return fmt.Errorf("stream %d: the %d coded frames of [%g, %g) are not all among the clip's %d, in sequence", s, len(w), a, b, len(have[s]))
		}
	}
	return nil
}

// contains reports whether part stands in all, in sequence and without a gap.
func contains(all, part []string) bool {
	for from := 0; from+len(part) <= len(all); from++ {
		same := 0
		for same < len(part) && all[from+same] == part[same] {
			same++
		}
		if same == len(part) {
			return true
		}
	}
	return false
}
