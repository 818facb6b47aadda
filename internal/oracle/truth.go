package oracle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TruthFile is what independent tools recorded of a corpus file.
type TruthFile struct {
	FFProbe         string        `json:"ffprobe"`
	OwnParserAgrees *bool         `json:"own_parser_agrees"`
	Streams         []TruthStream `json:"streams"`
}

// TruthStream is one stream of a TruthFile.
type TruthStream struct {
	Index         int             `json:"index"`
	Type          string          `json:"type"`
	Codec         string          `json:"codec"`
	Packets       int             `json:"packets"`
	Packetization string          `json:"packetization"` // set where packet borders mean nothing
	Intervals     []TruthInterval `json:"intervals"`
	ISO           *struct {
		Samples int     `json:"samples"`
		First   float64 `json:"first_pts"`
		Last    float64 `json:"last_pts"`
		Agrees  *bool   `json:"agrees"`
	} `json:"iso_timeline"`
}

// TruthInterval is the packets of a stream that overlap [A, B), in seconds of
// the file's own timeline.
type TruthInterval struct {
	A, B    float64
	Packets int      `json:"packets"`
	SHA256  string   `json:"sha256"`
	Key     *float64 `json:"keyframe_at_or_before_a"`
}

// Corpus returns the folder of the corpus beside the repository and what was
// recorded of its files, by path. It skips the test where there is none.
func Corpus(t testing.TB) (dir string, files map[string]TruthFile) {
	t.Helper()
	dir = filepath.Join(root(t), "..", "shared", "corpus")
	raw, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err != nil {
		t.Skip("no corpus beside the repository")
	}
	var doc struct{ Files map[string]TruthFile }
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	return dir, doc.Files
}

// root returns the repository's folder: the nearest with a go.mod.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir
		}
		if parent := filepath.Dir(dir); parent == dir {
			break
		} else {
			dir = parent
		}
	}
	t.Fatal("no go.mod above the test")
	return ""
}

// CheckInterval checks that a clip holds the packets that a stream has in an
// interval, in sequence and with not a byte changed, and, of video, that it
// begins with the right key frame. It returns how many packets more the clip's
// stream has, or an error. Original are the packets of the whole file.
func (s TruthStream) CheckInterval(original, clip []Packet, i TruthInterval) (extra int, err error) {
	var want []Packet
	for _, p := range original {
		if p.Stream == s.Index && p.Time < i.B-1e-7 && (p.End > i.A+1e-7 || p.End == p.Time && p.Time >= i.A-1e-7) {
			want = append(want, p)
		}
	}
	if got := hashOf(want); got != i.SHA256 {
		return 0, fmt.Errorf("the original's %d packets of [%g, %g) are not the recorded %d: hash %s", len(want), i.A, i.B, i.Packets, got)
	}
	streams := map[int][]Packet{}
	for _, p := range clip {
		streams[p.Stream] = append(streams[p.Stream], p)
	}
	for _, have := range streams {
		if first := subsequence(have, want); first >= 0 {
			if s.Type == "video" && i.Key != nil {
				return len(have) - len(want), s.checkKey(original, have, *i.Key)
			}
			return len(have) - len(want), nil
		}
	}
	return 0, fmt.Errorf("no stream of the clip has the %d packets of [%g, %g) in sequence", len(want), i.A, i.B)
}

// checkKey checks that a clip begins with the key frame at the given time.
func (s TruthStream) checkKey(original, have []Packet, at float64) error {
	for _, p := range original {
		if p.Stream == s.Index && p.Key && p.Time > at-1e-6 && p.Time < at+1e-6 {
			if have[0].Hash != p.Hash {
				return fmt.Errorf("the clip does not begin with the key frame at %g", at)
			}
			return nil
		}
	}
	return fmt.Errorf("the original has no key frame at %g", at)
}

func hashOf(packets []Packet) string {
	var all strings.Builder
	for _, p := range packets {
		all.WriteString(strings.TrimPrefix(p.Hash, "MD5:"))
	}
	sum := sha256.Sum256([]byte(all.String()))
	return hex.EncodeToString(sum[:])
}

// subsequence returns where in have the packets of want begin to stand in
// order, others between allowed; -1 where they do not.
func subsequence(have, want []Packet) int {
	first, n := -1, 0
	for i, p := range have {
		if n < len(want) && p.Hash == want[n].Hash {
			if n == 0 {
				first = i
			}
			n++
		}
	}
	if n < len(want) {
		return -1
	}
	return max(first, 0)
}
