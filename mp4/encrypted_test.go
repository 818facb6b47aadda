package mp4_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/Eyevinn/mp4ff/bits"
	ffmp4 "github.com/Eyevinn/mp4ff/mp4"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
	"github.com/mediafrag/mediafrag/mp4"
)

// testKey encrypts the files of these tests.
const testKey = "00112233445566778899aabbccddeeff"

// decrypted returns the hashes of a file's decrypted packets, by stream.
func decrypted(t *testing.T, path string) map[int][]string {
	t.Helper()
	var doc struct {
		Packets []struct {
			Stream int    `json:"stream_index"`
			Hash   string `json:"data_hash"`
		}
	}
	out := oracle.Run(t, "ffprobe", "-v", "error", "-decryption_key", testKey, "-show_packets", "-show_data_hash", "MD5", "-of", "json", path)
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	hashes := map[int][]string{}
	for _, p := range doc.Packets {
		hashes[p.Stream] = append(hashes[p.Stream], p.Hash)
	}
	return hashes
}

// checkDecrypted decrypts a clip and finds its samples, in sequence, among those
// of the file that was encrypted.
func checkDecrypted(t *testing.T, plain, clip string, least int) {
	t.Helper()
	want, got := decrypted(t, plain), decrypted(t, clip)
	if len(got) != len(want) {
		t.Fatalf("the clip has %d streams, want %d", len(got), len(want))
	}
	for stream, hashes := range got {
		all := strings.Join(want[stream], " ")
		if len(hashes) < least || !strings.Contains(all, strings.Join(hashes, " ")) {
			t.Errorf("stream %d: the %d decrypted samples of the clip are not those of the original", stream, len(hashes))
		}
	}
}

// TestEncrypted passes encrypted tracks through: with the original's key, the
// clip's samples decrypt to what they were.
func TestEncrypted(t *testing.T) {
	tools.Need(t, "ffmpeg", "ffprobe")
	plain := files[0]
	locked := plain
	locked.name, locked.args = "cenc", append(append([]string(nil), plain.args...),
		"-encryption_scheme", "cenc-aes-ctr", "-encryption_key", testKey, "-encryption_kid", "a7e61c373e219033c21091fa607bf3b8")
	o := mustOpen(t, locked.path(t))
	plan, clip := o.cut(t, between(5.013, 7.5))
	if len(plan.Warnings) != 2 || !strings.Contains(plan.Warnings[0].Reason, "encrypted") {
		t.Errorf("warnings %v, want one for each encrypted track", plan.Warnings)
	}
	checkDecrypted(t, plain.path(t), clip, 50)
}

// TestEncryptedInFile reads encryption information that stands between the
// media rather than in the moov.
func TestEncryptedInFile(t *testing.T) {
	sound := tone()
	var info []byte
	for i := range sound.sizes {
		info = be.AppendUint64(info, uint64(0x1000+i))
	}
	base := &testFile{tracks: []*testTrack{sound}, before: mkbox("free", info)}
	at := uint32(8 + 12 + 8) // behind ftyp and the header of free
	sound.entry = mkbox("enca", make([]byte, 6), []byte{0, 1}, make([]byte, 8), []byte{0, 2, 0, 16, 0, 0, 0, 0}, u32(48000<<16),
		mkbox("sinf", mkbox("frma", []byte("mp4a")), mkbox("schm", u32(0), []byte("cenc"), u32(0x10000)),
			mkbox("schi", mkbox("tenc", u32(0, 0x00000108), make([]byte, 16)))))
	saiz := mkbox("saiz", u32(0), []byte{8}, u32(uint32(len(sound.sizes))))
	saio := mkbox("saio", u32(0, 1, at))
	data := withTables(base.build(), append(saiz, saio...))
	o := openBuilt(t, data)
	_, path := o.cut(t, between(2.05, 3.05))
	clip, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	i := bytes.Index(clip, []byte("senc"))
	if i < 0 {
		t.Fatal("the clip has no senc")
	}
	n, first := be.Uint32(clip[i+8:]), be.Uint64(clip[i+12:])
	if n != 20+2 && n != 20 || first < 0x1000+39 || first > 0x1000+41 {
		t.Errorf("%d samples have information, the first %#x; want those from sample 41 on", n, first)
	}
}

// withTables adds boxes to the end of the only stbl of a file whose moov is at
// its end.
func withTables(data, boxes []byte) []byte {
	out := append([]byte(nil), data...)
	for _, typ := range []string{"moov", "trak", "mdia", "minf", "stbl"} {
		i := bytes.LastIndex(out, []byte(typ)) - 4
		be.PutUint32(out[i:], be.Uint32(out[i:])+uint32(len(boxes)))
	}
	return append(out, boxes...)
}

// TestEncryptedFragments passes encrypted fragments through in both layouts.
func TestEncryptedFragments(t *testing.T) {
	tools.Need(t, "ffmpeg", "ffprobe")
	plain := made{name: "to-encrypt", args: args(picture25, x264, s("-bf", "2", "-movflags", "+frag_keyframe+delay_moov+default_base_moof"))}
	data, err := os.ReadFile(plain.path(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "locked.mp4")
	if err := os.WriteFile(path, encryptFragments(t, data), 0o600); err != nil {
		t.Fatal(err)
	}
	o := mustOpen(t, path)
	for _, layout := range []formats.Layout{"", mp4.Fragmented} {
		sel := between(5.013, 9.5)
		sel.Layout = layout
		_, clip := o.cut(t, sel)
		checkDecrypted(t, plain.path(t), clip, 100)
	}
}

// encryptFragments encrypts a fragmented file with mp4ff and leaves out its
// index.
func encryptFragments(t *testing.T, data []byte) []byte {
	t.Helper()
	file, err := ffmp4.DecodeFileSR(bits.NewFixedSliceReader(data))
	if err != nil {
		t.Fatal(err)
	}
	kid, _ := ffmp4.NewUUIDFromString("a7e61c373e219033c21091fa607bf3b8")
	key := []byte{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}
	iv := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	protect, err := ffmp4.InitProtect(file.Init, key, iv, "cenc", kid, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := file.Init.Encode(&out); err != nil {
		t.Fatal(err)
	}
	for _, segment := range file.Segments {
		for _, f := range segment.Fragments {
			if iv, err = ffmp4.EncryptFragment(f, key, iv, protect); err != nil {
				t.Fatal(err)
			}
			if err := f.Encode(&out); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out.Bytes()
}
