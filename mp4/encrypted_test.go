package mp4_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

var rawKey = []byte{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}

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

// locked is the first of [files], encrypted.
var locked = made{name: "cenc", args: files[0].args, mux: "encryption_scheme=cenc-aes-ctr:encryption_key=" + testKey + ":encryption_kid=a7e61c373e219033c21091fa607bf3b8"}

// TestEncrypted passes encrypted tracks through: with the original's key, the
// clip's samples decrypt to what they were.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	tools.Need(t, "ffmpeg", "ffprobe")
	plain := files[0]
	o := mustOpen(t, locked.path(t))
	plan, clip := o.cut(t, between(5.013, 7.5))
	if len(plan.Warnings) != 2 || !strings.Contains(plan.Warnings[0].Reason, "encrypted") {
		t.Errorf("warnings %v, want one for each encrypted track", plan.Warnings)
	}
	checkDecrypted(t, plain.path(t), clip, 50)
	checkPictures(t, plain.path(t), clip, 5.013, 7.5)

	// ffmpeg 5.1 decrypts of a track in a fragment one trun alone: each has its own.
	sel := between(5.013, 7.5)
	sel.Layout = mp4.Fragmented
	_, clip = o.cut(t, sel)
	checkDecrypted(t, plain.path(t), clip, 50)
	checkPictures(t, plain.path(t), clip, 5.013, 7.5)
}

// checkPictures decodes a clip with the original's key: all pictures of the
// interval are there.
func checkPictures(t *testing.T, plain, clip string, a, b float64) {
	t.Helper()
	shown := strings.Join(pictureHashes(t, clip, "-decryption_key", testKey), " ")
	var want []string
	for _, p := range oracle.Between(oracle.Original(t, plain).Video[0], a, b) {
		want = append(want, p.Hash)
	}
	if len(want) == 0 || !strings.Contains(shown, strings.Join(want, " ")) {
		t.Errorf("the clip does not decode to the %d pictures of the original", len(want))
	}
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

// TestEncryptedFragments passes encrypted fragments through in both layouts, by
// either scheme: with a vector for each sample, or with one for all. What is said
// of each sample's encryption stays what mp4ff reads in the original.
func TestEncryptedFragments(t *testing.T) {
	t.Parallel()
	tools.Need(t, "ffmpeg", "ffprobe")
	plain := made{name: "to-encrypt", args: args(picture25, x264), mux: "movflags=+frag_keyframe+delay_moov+default_base_moof"}
	data, err := os.ReadFile(plain.path(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"cenc", "cbcs"} {
		locked := encryptFragments(t, data, scheme)
		path := filepath.Join(t.TempDir(), "locked.mp4")
		if err := os.WriteFile(path, locked, 0o600); err != nil {
			t.Fatal(err)
		}
		o := mustOpen(t, path)
		want := vectors(t, locked)
		for _, layout := range []formats.Layout{"", mp4.Progressive, mp4.Fragmented} {
			t.Run(scheme+" "+string(layout), func(t *testing.T) {
				sel := between(5.013, 9.5)
				sel.Layout = layout
				if _, err := o.Plan(t.Context(), sel); layout == mp4.Progressive && err != nil {
					sel.Layout = "" // no index tells its fragments
				}
				_, path := o.cut(t, sel)
				clip, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				checkDecrypted(t, plain.path(t), path, 100)
				checkPictures(t, plain.path(t), path, 5.013, 9.5)
				if bytes.Contains(moovOf(t, clip), []byte("mvex")) {
					checkUnlocked(t, data, clip, 100)
				}
				got := vectors(t, clip)
				if len(got) < 100 {
					t.Errorf("something is said of %d samples", len(got))
				}
				for sample, is := range got {
					if is != want[sample] {
						t.Fatalf("of a sample it is said %q, want %q", is, want[sample])
					}
				}
			})
		}
	}
}

// checkUnlocked decrypts a fragmented clip with mp4ff and finds its samples among
// those of the file that was encrypted.
func checkUnlocked(t *testing.T, plain, clip []byte, least int) {
	t.Helper()
	file, err := ffmp4.DecodeFileSR(bits.NewFixedSliceReader(bytes.Clone(clip)))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := ffmp4.DecryptInit(file.Init)
	if err != nil {
		t.Fatal(err)
	}
	have := map[[32]byte]bool{}
	for _, s := range isoFragments(t, plain)[0].samples {
		have[s.hash] = true
	}
	n := 0
	for _, segment := range file.Segments {
		if err := ffmp4.DecryptSegment(segment, keys, rawKey); err != nil {
			t.Fatal(err)
		}
		for _, f := range segment.Fragments {
			samples, err := f.GetFullSamples(file.Init.Moov.Mvex.Trex)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range samples {
				if n++; !have[sha256.Sum256(s.Data)] {
					t.Fatalf("sample %d of the clip does not decrypt to one of the original", n)
				}
			}
		}
	}
	if n < least {
		t.Errorf("%d samples, want at least %d", n, least)
	}
}

// vectors returns what a file of one track says of the encryption of its
// samples, by their hashes, as mp4ff reads it.
func vectors(t *testing.T, data []byte) map[[32]byte]string {
	t.Helper()
	out := map[[32]byte]string{}
	add := func(senc *ffmp4.SencBox, samples []isoSample) {
		if senc == nil || int(senc.SampleCount) != len(samples) {
			t.Fatalf("a senc for %d samples: %+v", len(samples), senc)
		}
		for i, s := range samples {
			var iv, parts any
			if i < len(senc.IVs) {
				iv = senc.IVs[i]
			}
			if i < len(senc.SubSamples) {
				parts = senc.SubSamples[i]
			}
			out[s.hash] = fmt.Sprintf("%x %v", iv, parts)
		}
	}
	if !bytes.Contains(moovOf(t, data), []byte("mvex")) {
		stbl := child(data, "moov", "trak", "mdia", "minf", "stbl")
		i := bytes.Index(stbl, []byte("senc"))
		box, err := ffmp4.DecodeBoxSR(0, bits.NewFixedSliceReader(stbl[i-4:]))
		if err != nil {
			t.Fatal(err)
		}
		senc := box.(*ffmp4.SencBox)
		if err := senc.ParseReadBox(vectorSize(t, data), nil); err != nil {
			t.Fatal(err)
		}
		add(senc, isoTracks(t, data)[0].samples)
		return out
	}
	samples := isoFragments(t, data)[0].samples
	file, err := ffmp4.DecodeFileSR(bits.NewFixedSliceReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for _, segment := range file.Segments {
		for _, f := range segment.Fragments {
			n := int(f.Moof.Traf.Trun.SampleCount())
			add(f.Moof.Traf.Senc, samples[:n])
			samples = samples[n:]
		}
	}
	return out
}

// vectorSize returns the length of vectors that a file's tenc states.
func vectorSize(t *testing.T, data []byte) byte {
	i := bytes.Index(moovOf(t, data), []byte("tenc"))
	if i < 0 {
		t.Fatal("no tenc")
	}
	return moovOf(t, data)[i+4+7]
}

// TestKeyRotation keeps what is said of keys that change: groups of samples with
// a key and a length of vectors of their own, and how to come by it.
func TestKeyRotation(t *testing.T) {
	video := pictures()
	video.entry = visual("encv", sinf("avc1", "cenc", u32(0, 0x108), make([]byte, 16)))
	pssh := func(n byte) []byte { return mkbox("pssh", u32(0), bytes.Repeat([]byte{n}, 16), u32(1), []byte{n}) }
	f := &fragmentedFile{tracks: []*testTrack{video}, index: flatIndex, form: fragmentForm{
		more: func(_ *testTrack, from, to int) []byte { // the second half has vectors of 16 bytes
			size := 8 + from/50*8
			seig := append([]byte{0, 0, 1, byte(size)}, bytes.Repeat([]byte{byte(from / 50)}, 16)...)
			out := append(mkbox("sgpd", u32(1<<24), []byte("seig"), u32(20, 1), seig), mkbox("sbgp", u32(0), []byte("seig"), u32(1, uint32(to-from), 0x10001))...)
			var ivs []byte
			for i := from; i < to; i++ {
				ivs = append(ivs, bytes.Repeat([]byte{byte(i)}, size)...)
			}
			return append(out, mkbox("senc", u32(0, uint32(to-from)), ivs)...)
		},
		atMoof: func(second uint32) []byte { return pssh(byte(1 + second/5)) },
	}}
	o := openBuilt(t, f.build())
	for _, layout := range []formats.Layout{mp4.Progressive, mp4.Fragmented} {
		sel := between(4.05, 6.05)
		sel.Layout = layout
		_, path := o.cut(t, sel)
		clip, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for n := byte(1); n <= 2; n++ {
			if !bytes.Contains(clip, pssh(n)) {
				t.Errorf("%s: the clip does not tell how to come by key %d", layout, n)
			}
		}
		if layout != mp4.Progressive {
			continue
		}
		stbl := child(clip, "moov", "trak", "mdia", "minf", "stbl")
		var want []byte
		for i := 40; i < 61; i++ {
			want = append(want, bytes.Repeat([]byte{byte(i)}, 8+i/50*8)...)
		}
		if senc := child(stbl, "senc"); len(senc) < 8 || !bytes.Equal(senc[8:], want) {
			t.Errorf("the vectors are % x, want % x", senc, want)
		}
		if sbgp := child(stbl, "sbgp"); !bytes.Equal(sbgp, append(append(u32(0), "seig"...), u32(2, 10, 1, 11, 2)...)) {
			t.Errorf("the groups of keys are % x", sbgp)
		}
	}
}

// TestEncryptedRuns cuts fragments in which the runs of samples of two encrypted
// tracks take turns: several trun in a traf, of which ffmpeg decrypts one alone.
func TestEncryptedRuns(t *testing.T) {
	t.Parallel()
	tools.Need(t, "ffmpeg", "ffprobe")
	sel := between(0, 20)
	sel.Layout = mp4.Fragmented
	_, path := mustOpen(t, locked.path(t)).cut(t, sel)
	single, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	several := filepath.Join(t.TempDir(), "several.mp4")
	if err := os.WriteFile(several, mergeFragments(t, single, 12), 0o600); err != nil {
		t.Fatal(err)
	}
	o := mustOpen(t, several)
	for _, tracks := range [][]string{nil, {"1"}} {
		sel := between(5.013, 9.5)
		sel.Layout, sel.Tracks = mp4.Fragmented, tracks
		plan, clip := o.cut(t, sel)
		checkPictures(t, files[0].path(t), clip, 5.013, 9.5)
		if tracks == nil {
			checkDecrypted(t, files[0].path(t), clip, 100)
		}
		numbers := fragmentNumbers(t, clip)
		if tracks != nil && len(numbers) > 30 {
			t.Errorf("%d fragments of one track, whose samples lie behind one another", len(numbers))
		}
		for i := range numbers {
			if i > 0 && numbers[i] <= numbers[i-1] {
				t.Errorf("fragments are numbered %v", numbers)
				break
			}
		}
		if len(plan.Warnings) == 0 {
			t.Error("no warning of encryption")
		}
	}
}

// fragmentNumbers returns the sequence numbers of a file's fragments, in order.
func fragmentNumbers(t *testing.T, path string) (out []uint32) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for {
		i := bytes.Index(data, []byte("mfhd"))
		if i < 0 {
			return out
		}
		out, data = append(out, be.Uint32(data[i+8:])), data[i+12:]
	}
}

// mergeFragments puts so many fragments of a fragmented file into one each: with a
// traf for each track, and a trun for each of its fragments. A sidx tells of them.
func mergeFragments(t *testing.T, data []byte, each int) []byte {
	t.Helper()
	file, err := ffmp4.DecodeFileSR(bits.NewFixedSliceReader(bytes.Clone(data)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := file.Init.Encode(&out); err != nil {
		t.Fatal(err)
	}
	var all []*ffmp4.Fragment
	for _, s := range file.Segments {
		all = append(all, s.Fragments...)
	}
	number := uint32(0)
	var fragments []byte
	var references, times []uint32
	for group := range slices.Chunk(all, each) {
		type share struct {
			head, time []byte
			runs       [][]byte
			at         []int // of the data of each run
			n, flags   uint32
			inline     []byte
		}
		shares := map[uint32]*share{}
		var order []uint32
		var media []byte
		encode := func(b ffmp4.Box) []byte {
			var w bytes.Buffer
			if err := b.Encode(&w); err != nil {
				t.Fatal(err)
			}
			return w.Bytes()
		}
		for _, f := range group {
			for _, traf := range f.Moof.Trafs {
				id := traf.Tfhd.TrackID
				s := shares[id]
				if s == nil {
					s = &share{head: encode(traf.Tfhd), time: encode(traf.Tfdt)}
					shares[id], order = s, append(order, id)
				}
				senc := encode(traf.Senc)
				s.flags, s.n, s.inline = be.Uint32(senc[8:]), s.n+be.Uint32(senc[12:]), append(s.inline, senc[16:]...)
				s.at = append(s.at, len(media))
				run := traf.Trun
				run.AddSampleDefaultValues(traf.Tfhd, file.Init.Moov.Mvex.Trexs[0])
				run.Flags |= ffmp4.TrunSampleDurationPresentFlag | ffmp4.TrunSampleSizePresentFlag | ffmp4.TrunSampleFlagsPresentFlag
				s.runs = append(s.runs, encode(run))
			}
			media = append(media, f.Mdat.Data...)
		}
		number++
		var moof []byte
		for range 2 { // the second time, its length is known
			parts := [][]byte{mkbox("mfhd", u32(0, number))}
			for _, id := range order {
				s := shares[id]
				in := [][]byte{s.head, s.time}
				for i, run := range s.runs {
					be.PutUint32(run[16:], uint32(len(moof)+8+s.at[i]))
					in = append(in, run)
				}
				parts = append(parts, mkbox("traf", append(in, mkbox("senc", u32(s.flags, s.n), s.inline))...))
			}
			moof = mkbox("moof", parts...)
		}
		fragments = slices.Concat(fragments, moof, mkbox("mdat", media))
		references = append(references, uint32(len(moof)+len(media)+8))
		times = append(times, uint32(be.Uint64(shares[1].time[12:])))
	}
	index := u32(0, 1, file.Init.Moov.Traks[0].Mdia.Mdhd.Timescale, 0, 0, uint32(len(references)))
	times = append(times, 2*times[len(times)-1]-times[len(times)-2])
	for i, size := range references {
		index = append(index, u32(size, times[i+1]-times[i], 0)...)
	}
	out.Write(mkbox("sidx", index))
	out.Write(fragments)
	return out.Bytes()
}

// encryptFragments encrypts a fragmented file with mp4ff and leaves out its
// index.
func encryptFragments(t *testing.T, data []byte, scheme string) []byte {
	t.Helper()
	file, err := ffmp4.DecodeFileSR(bits.NewFixedSliceReader(bytes.Clone(data)))
	if err != nil {
		t.Fatal(err)
	}
	kid, _ := ffmp4.NewUUIDFromString("a7e61c373e219033c21091fa607bf3b8")
	iv := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	if scheme == "cbcs" {
		iv = append(iv, iv...) // of 16 bytes, and the same for all
	}
	protect, err := ffmp4.InitProtect(file.Init, rawKey, iv, scheme, kid, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := file.Init.Encode(&out); err != nil {
		t.Fatal(err)
	}
	for _, segment := range file.Segments {
		for _, f := range segment.Fragments {
			next, err := ffmp4.EncryptFragment(f, rawKey, iv, protect)
			if err != nil {
				t.Fatal(err)
			}
			if scheme == "cenc" {
				iv = next
			}
			if err := f.Encode(&out); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out.Bytes()
}

// TestClearLead cuts where encryption begins: in one table of a clip stand samples
// without information beside others that have it, and readers that read a vector
// of each sample do not lose their way.
func TestClearLead(t *testing.T) {
	tools.Need(t, "ffprobe")
	video := pictures()
	video.sizes[45] = 70_000 // more than one entry of a table says
	video.entry = visual("encv", sinf("mp4v", "cenc", u32(0, 0x108), make([]byte, 16)))
	f := &fragmentedFile{tracks: []*testTrack{video}, index: flatIndex, form: fragmentForm{
		more: func(_ *testTrack, from, to int) []byte { // the second half is encrypted
			if from < 50 {
				return nil
			}
			var info []byte
			for i := from; i < to; i++ {
				info = append(append(info, bytes.Repeat([]byte{byte(i)}, 8)...), 0, 1, 0, 16, 0, 0, 0, 4)
			}
			return mkbox("senc", u32(2, uint32(to-from)), info)
		},
	}}
	o := openBuilt(t, f.build())
	sel := between(4.05, 6.05)
	sel.Layout = mp4.Progressive
	_, path := o.cut(t, sel)
	clip, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, said := range vectors(t, clip) {
		vector, parts, _ := strings.Cut(said, " ")
		if vector == "0000000000000000" {
			vector = "clear"
			if strings.Contains(parts, "65535 0} {4465 0}") {
				n["large"]++
			}
		} else {
			vector = "encrypted"
		}
		n[vector]++
	}
	if n["clear"] != 10 || n["large"] != 1 || n["encrypted"] != 11 {
		t.Errorf("samples by what is said of them: %v, want 10 clear, a large one among them, and 11 encrypted", n)
	}
	out := oracle.Run(t, "ffprobe", "-v", "error", "-show_entries", "packet=size", "-of", "csv", path)
	if got := bytes.Count(out, []byte("packet,")); got != 21 {
		t.Errorf("ffprobe reads %d samples, want 21", got)
	}

	sel.Layout = mp4.Fragmented // the fragment in the clear says nothing of encryption
	_, path = o.cut(t, sel)
	if clip, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	if fragments, said := bytes.Count(clip, []byte("moof")), bytes.Count(clip, []byte("senc")); said == 0 || said != fragments-1 {
		t.Errorf("%d of %d fragments have a senc, want all but the first", said, fragments)
	}
}

// TestEncryptedApart reads encryption information that fragments keep apart from
// their moofs: in one place for each, or in one for each run of samples.
func TestEncryptedApart(t *testing.T) {
	for _, runs := range []int{1, 3} {
		video := pictures()
		video.entry = visual("encv", sinf("mp4v", "cenc", u32(0, 0x108), make([]byte, 16)))
		info := func(i int) []byte {
			return append(bytes.Repeat([]byte{byte(i)}, 8), 0, 1, 0, byte(i), 0, 0, 0, 4)
		}
		f := &fragmentedFile{tracks: []*testTrack{video}, index: flatIndex, form: fragmentForm{
			runs: runs,
			more: func(_ *testTrack, from, to int) []byte {
				saiz := mkbox("saiz", u32(0), []byte{16}, u32(uint32(to-from)))
				return append(saiz, mkbox("saio", u32(1<<24, uint32(runs)), make([]byte, 8*runs))...)
			},
		}}
		data := f.build()
		var apart []byte
		end := len(data) + 8
		sample := 0
		for at := 0; ; { // the last run's information comes first
			i := bytes.Index(data[at:], []byte("saio"))
			if i < 0 {
				break
			}
			moof := at + bytes.Index(data[at:], []byte("moof")) - 4
			at += i + 12
			each := 10 / runs
			for run := runs - 1; run >= 0; run-- {
				be.PutUint64(data[at+8*run:], uint64(end+len(apart)-moof))
				from, to := sample+run*each, sample+(run+1)*each
				if run == runs-1 {
					to = sample + 10
				}
				for i := from; i < to; i++ {
					apart = append(apart, info(i)...)
				}
			}
			sample += 10
		}
		o := openBuilt(t, append(data, mkbox("free", apart)...))
		for _, layout := range []formats.Layout{mp4.Progressive, mp4.Fragmented} {
			sel := between(4.05, 6.05)
			sel.Layout = layout
			_, path := o.cut(t, sel)
			clip, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := vectors(t, clip)
			if len(got) < 21 {
				t.Errorf("%d runs, %s: something is said of %d samples", runs, layout, len(got))
			}
			for i, s := range expected(video, 0) {
				want := fmt.Sprintf("%x [{%d 4}]", info(i)[:8], i)
				if said, ok := got[s.hash]; ok && said != want {
					t.Errorf("%d runs, %s: of sample %d it is said %q, want %q", runs, layout, i, said, want)
				}
			}
		}
	}
}
