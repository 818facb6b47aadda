package hls

import (
	"bytes"
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// TestCutOff: a transport stream segment that ends within a packet is an error
// that names it, its length and what to do, wherever it lies in the interval:
// when the plan is made where its length is known by then, else when it is read.
func TestCutOff(t *testing.T) {
	dir := tsPresentation(t)
	const cut = 100_000 // neither packets nor blocks come out even
	for _, test := range []struct {
		name      string
		encrypted bool
		after     int    // what is left of the encrypted bytes; 0: it was cut off before that
		tags      string // of the segment that is cut off
		planned   bool   // the plan fails
		which     int
	}{
		{"the first", false, 0, "", true, 1},
		{"the last", false, 0, "", true, 4},
		{"in the middle", false, 0, "", false, 2},
		{"in the middle, behind another clock", false, 0, "#EXT-X-DISCONTINUITY\n", true, 2},
		{"a range in the middle", false, 0, fmt.Sprintf("#EXT-X-BYTERANGE:%d@0\n", cut), true, 2},
		{"the first, encrypted", true, 0, "", true, 1},
		{"encrypted", true, 0, "", false, 2},
		{"encrypted and then cut off", true, 90_001, "", false, 2},
		{"encrypted and then cut off between blocks", true, 90_000, "", false, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := newOrigin()
			o.put("https://host.test/k", []byte("0123456789abcdef"))
			text := head
			if test.encrypted {
				text += "#EXT-X-KEY:METHOD=AES-128,URI=\"k\"\n"
			}
			for i := 1; i <= 4; i++ {
				data := readFile(t, dir, fmt.Sprintf("s%03d.ts", i))
				if i == test.which {
					text += test.tags
				}
				if i == test.which && test.after == 0 {
					data = data[:cut]
				}
				if test.encrypted {
					data = encrypted(t, data, int64(i-1))
				}
				if i == test.which && test.after > 0 {
					data = data[:test.after]
				}
				o.put(fmt.Sprintf("https://host.test/%d.ts", i), data)
				text += fmt.Sprintf("#EXTINF:4,\n%d.ts\n", i)
			}
			o.put("https://host.test/l.m3u8", []byte(text+"#EXT-X-ENDLIST\n"))
			m := o.mustOpen(t, "https://host.test/l.m3u8", formats.Env{})
			p, err := m.Plan(t.Context(), between(0, 16))
			if (err != nil) != test.planned {
				t.Fatalf("planning: %v", err)
			}
			if err == nil {
				r := seek.NewReader(t.Context(), p.Parts, m, 4)
				defer r.Close()
				_, err = r.WriteTo(io.Discard)
			}
			isError(t, err, formats.ErrDamaged)
			for _, want := range []string{fmt.Sprintf("segment %d", test.which-1), fmt.Sprint(cmp.Or(test.after, cut)), "cut off", "--variant"} {
				if !strings.Contains(fmt.Sprint(err), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
		})
	}
}

// encrypted encrypts a segment of a sequence number as AES-128 does.
func encrypted(t *testing.T, b []byte, sequence int64) []byte {
	t.Helper()
	block, err := aes.NewCipher([]byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	pad := aes.BlockSize - len(b)%aes.BlockSize
	b = append(bytes.Clone(b), bytes.Repeat([]byte{byte(pad)}, pad)...)
	iv := (&key{}).ivOf(sequence)
	cipher.NewCBCEncrypter(block, iv[:]).CryptBlocks(b, b)
	return b
}
