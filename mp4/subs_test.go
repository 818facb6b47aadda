package mp4

import "testing"

// TestUniform tells entries of a subs that are equally long, each for the next
// sample, from others that seem so: by what stands where entries would begin.
func TestUniform(t *testing.T) {
	entry := func(distance uint32, parts ...uint64) []byte {
		out := be.AppendUint16(be.AppendUint32(nil, distance), uint16(len(parts)))
		for _, p := range parts {
			out = be.AppendUint64(out, p)
		}
		return out
	}
	join := func(entries ...[]byte) (out []byte) {
		for _, e := range entries {
			out = append(out, e...)
		}
		return out
	}
	const each = 14       // one part
	const looks = 1 << 32 // a part whose bytes are as an entry without parts is
	for _, tt := range []struct {
		name    string
		entries []byte
		want    bool
	}{
		{"one part each", join(entry(1, 7), entry(1, 8), entry(1, 9)), true},
		{"none", nil, true},
		{"a sample without parts between", join(entry(1, 7), entry(2, 8), entry(1, 9)), false},
		{"one and a half on average", join(entry(1), entry(1, 7, 8)), false},
		{"where one would begin the bytes of one stand", join(entry(1, 7, looks), entry(1)), false},
	} {
		if got := uniform(tt.entries, each, 8); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
