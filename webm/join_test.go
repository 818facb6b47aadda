package webm

import "testing"

// TestDiffers: what a decoder does not see of CodecPrivate keeps no tracks apart.
func TestDiffers(t *testing.T) {
	opus := func(skip byte, channels byte) track {
		return track{codecID: "A_OPUS", private: append([]byte("OpusHead\x01"), channels, skip, 0, 0x80, 0xBB, 0, 0, 0, 0, 0), sound: sound{cut: cutPreSkip}}
	}
	vorbis := func(comment, setup string) track {
		private := []byte{2, 3, byte(len(comment))}
		return track{codecID: "A_VORBIS", private: append(private, "one"+comment+setup...)}
	}
	flac := func(change ...int) track {
		b := make([]byte, 8+34)
		for _, at := range change {
			b[at] ^= 0xFF
		}
		return track{codecID: "A_FLAC", private: b}
	}
	size := func(w int) track {
		u := track{codecID: "V_VP8"}
		u.CodedWidth = w
		return u
	}
	for _, tt := range []struct {
		name    string
		a, b    track
		differs bool
	}{
		{"pre-skip", opus(56, 1), opus(0, 1), false},
		{"channel count of OpusHead", opus(0, 1), opus(0, 2), true},
		{"comments", vorbis("a comment", "setup"), vorbis("another", "setup"), false},
		{"codebooks", vorbis("a comment", "setup"), vorbis("a comment", "other"), true},
		{"counts of FLAC", flac(), flac(12, 15, 22, 30), false},
		{"rate of FLAC", flac(), flac(19), true},
		{"size", size(320), size(640), true},
		{"encodings", track{encoded: []byte{1}}, track{}, true},
		{"CodecPrivate", track{codecID: "V_X", private: []byte{1}}, track{codecID: "V_X"}, true},
		{"number", track{number: 1}, track{number: 2}, true},
	} {
		if why := tt.a.differs(&tt.b); (why != "") != tt.differs {
			t.Errorf("%s: %q", tt.name, why)
		}
	}
}
