package audioframe

import "testing"

// TestParseConfig reads configurations as encoders write them.
func TestParseConfig(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config []byte
		want   Config
	}{
		{"AAC-LC", []byte{0x12, 0x10}, Config{Object: 2, Core: 2, Rate: 44100, OutputRate: 44100, Channels: 2}},
		{"960 samples", []byte{0x11, 0x94}, Config{Object: 2, Core: 2, Rate: 48000, OutputRate: 48000, Channels: 2, Short: true}},
		{"7.1", []byte{0x11, 0xb8}, Config{Object: 2, Core: 2, Rate: 48000, OutputRate: 48000, Channels: 8}},
		{"HE-AAC, explicit", []byte{0x2b, 0x92, 0x08, 0x00}, Config{Object: 5, Core: 2, Rate: 22050, OutputRate: 44100, Channels: 2, SBR: true}},
		{"HE-AAC, compatible", []byte{0x13, 0x90, 0x56, 0xe5, 0xa0}, Config{Object: 5, Core: 2, Rate: 22050, OutputRate: 44100, Channels: 2, SBR: true}},
		{"HE-AAC v2, compatible", []byte{0x13, 0x88, 0x56, 0xe5, 0xa5, 0x48, 0x80}, Config{Object: 29, Core: 2, Rate: 22050, OutputRate: 44100, Channels: 1, SBR: true}},
		{"SBR denied", []byte{0x13, 0x90, 0x56, 0xe5, 0x00}, Config{Object: 2, Core: 2, Rate: 22050, OutputRate: 22050, Channels: 2, NoSBR: true}},
		{"xHE-AAC", []byte{0xf9, 0x4a, 0x42, 0x00}, Config{Object: 42, Core: 42, Rate: 32000, OutputRate: 32000, Channels: 2}},
	} {
		if got, ok := ParseConfig(tt.config); !ok || got != tt.want {
			t.Errorf("%s: %+v, %v; want %+v", tt.name, got, ok, tt.want)
		}
	}
	if _, ok := ParseConfig([]byte{0x12}); ok {
		t.Error("a configuration of one byte is read")
	}
}
