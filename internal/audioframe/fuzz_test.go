package audioframe

import "testing"

func FuzzParse(f *testing.F) {
	f.Add([]byte{0xff, 0xf1, 0x4c, 0x80, 0x02, 0x1f, 0xfc, 0})
	f.Add([]byte{0xff, 0xfb, 0x90, 0x64, 0, 0, 0, 0})
	f.Add([]byte{0x0b, 0x77, 0, 0, 0x14, 0x40, 0, 0})
	f.Add([]byte{0x0b, 0x77, 0x01, 0xff, 0x3f, 0x80, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, ok := Parse(b)
		if ok && (frame.Size <= 0 || frame.Rate <= 0 || frame.Samples < 0 || frame.Codec == "") {
			t.Fatalf("%+v", frame)
		}
		if samples, rate := Count(b); samples < 0 || samples > 0 && rate <= 0 {
			t.Fatal(samples, rate)
		}
	})
}
