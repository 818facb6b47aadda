package ogg

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/mediafrag/mediafrag/formats"
)

// TestRefusedFiles: what is said of files without a stream that can be cut. A
// codec that is not known is one thing, headers that are broken another.
func TestRefusedFiles(t *testing.T) {
	data := samplePages(t)["vorbis.ogg"]
	first := scanPages(data, 0, true).pages[0]
	wrong := bytes.Clone(data)
	wrong[30] ^= 1
	tests := []struct {
		name    string
		data    []byte
		reason  error
		problem string
	}{
		{"headers cut off", data[:first.size()], formats.ErrDamaged, "vorbis: its header packets are not all there"},
		{"a second header that is none", appendPage(bytes.Clone(data[:first.size()]), 0, 0, first.serial, 1, []byte{9}, []byte("\x04vorbis\x00\x00")), formats.ErrDamaged, "header packet 1 is no Vorbis header"},
		{"a first page with a wrong checksum", wrong, formats.ErrDamaged, "page with a wrong checksum"},
		{"Daala", appendPage(nil, flagBOS, 0, 1, 0, []byte{8}, []byte("\x80daala\x00\x00")[:8]), formats.ErrUnsupported, "Daala"},
		{"CELT", appendPage(nil, flagBOS, 0, 1, 0, []byte{8}, []byte("CELT    ")), formats.ErrUnsupported, "CELT"},
	}
	for name, head := range map[string][]byte{
		"without channels":             {0, 0, 0, 0x80, 0xBB, 0, 0, 0, 0, 0},
		"3 channels without a mapping": {3, 0, 0, 0x80, 0xBB, 0, 0, 0, 0, 0},
		"a mapping that is cut off":    {6, 0, 0, 0x80, 0xBB, 0, 0, 0, 0, 1, 4, 2, 0, 4, 1, 2, 3},
		"no streams":                   {2, 0, 0, 0x80, 0xBB, 0, 0, 0, 0, 1, 0, 0, 0, 1},
		"more coupled than streams":    {2, 0, 0, 0x80, 0xBB, 0, 0, 0, 0, 1, 1, 2, 0, 1},
		"a stream that is not there":   {2, 0, 0, 0x80, 0xBB, 0, 0, 0, 0, 1, 1, 1, 0, 2},
	} {
		head = append([]byte("OpusHead\x01"), head...)
		tests = append(tests, struct {
			name    string
			data    []byte
			reason  error
			problem string
		}{"Opus: " + name, appendPage(nil, flagBOS, 0, 1, 0, []byte{byte(len(head))}, head), formats.ErrDamaged, "broken: "})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := openAndCut(t, tt.data)
			var e *formats.Error
			if !errors.As(err, &e) || !errors.Is(err, tt.reason) || !strings.Contains(e.Problem, tt.problem) || e.Offset != 0 {
				t.Errorf("%v, want %v with %q", err, tt.reason, tt.problem)
			}
		})
	}
}
