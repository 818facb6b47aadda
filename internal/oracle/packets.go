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

// Stream is what ffprobe says of a stream.
type Stream struct {
	Index       int
	ID          string // hexadecimal
	CodecType   string `json:"codec_type"`
	Profile     string
	Width       int
	Height      int
	Channels    int
	SampleRate  string `json:"sample_rate"`
	Disposition struct {
		AttachedPic int `json:"attached_pic"`
	}
}

// probed is a file as ffprobe lists it.
type probed struct {
	packets []Packet
	streams []Stream
}

// Packets lists the packets of a file in the order of its streams and decoding.
func Packets(t testing.TB, path string) []Packet {
	t.Helper()
	return probe(t, path, "-show_packets", "-show_data_hash", "MD5").packets
}

func probe(t testing.TB, path string, show ...string) probed {
	t.Helper()
	var doc struct {
		Streams []Stream
		Packets []struct {
			Stream   int    `json:"stream_index"`
			Time     string `json:"pts_time"`
			Duration string `json:"duration_time"`
			Flags    string `json:"flags"`
			Hash     string `json:"data_hash"`
		}
	}
	out := Run(t, "ffprobe", append(append([]string{"-v", "error"}, show...), "-of", "json", path)...)
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatalf("ffprobe %s: %v", path, err)
	}
	p := probed{streams: doc.Streams}
	for _, q := range doc.Packets {
		at, _ := strconv.ParseFloat(q.Time, 64)
		length, _ := strconv.ParseFloat(q.Duration, 64)
		p.packets = append(p.packets, Packet{q.Stream, at, at + length, len(q.Flags) > 0 && q.Flags[0] == 'K', q.Hash})
	}
	fillLengths(p.packets)
	return p
}

// original lists a file, once for each path.
func original(t testing.TB, path string) probed {
	t.Helper()
	once, _ := listed.LoadOrStore(path, sync.OnceValue(func() probed {
		return probe(t, path, "-show_streams", "-show_packets", "-show_data_hash", "MD5")
	}))
	return once.(func() probed)()
}

// OriginalPackets is Packets, once for each path.
func OriginalPackets(t testing.TB, path string) []Packet {
	t.Helper()
	return original(t, path).packets
}

// OriginalStreams lists the streams of a file, once for each path.
func OriginalStreams(t testing.TB, path string) []Stream {
	t.Helper()
	return original(t, path).streams
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
