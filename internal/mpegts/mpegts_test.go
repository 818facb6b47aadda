package mpegts

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"testing"
	"testing/iotest"

	"github.com/mediafrag/mediafrag/internal/oracle"
	"github.com/mediafrag/mediafrag/internal/tools"
)

// PIDs of the test's streams.
const (
	pmtPID, videoPID, audioPID = 0x1000, 0x100, 0x101
)

// stream builds a transport stream.
type stream struct{ bytes.Buffer }

// packet adds a packet; payload is filled up behind an adaptation field.
func (s *stream) packet(pid int, start, access bool, payload []byte) {
	b := []byte{sync, byte(pid >> 8), byte(pid), 0x30}
	if start {
		b[1] |= 0x40
	}
	field := make([]byte, PacketSize-4-len(payload))
	field[0] = byte(len(field) - 1)
	for i := 2; i < len(field); i++ {
		field[i] = 0xff
	}
	if access {
		field[1] |= 0x40
	}
	s.Write(append(append(b, field...), payload...))
}

// tables adds a program association and a program map of H.264 and AAC.
func (s *stream) tables() {
	s.packet(patPID, true, false, []byte{0, 0, 0xb0, 13, 0, 1, 0xc1, 0, 0, 0, 1, 0xe0 | pmtPID>>8, pmtPID & 0xff, 0, 0, 0, 0})
	s.packet(pmtPID, true, false, []byte{0, 2, 0xb0, 23, 0, 1, 0xc1, 0, 0, 0xe1, 0, 0xf0, 0,
		0x1b, 0xe1, 0, 0xf0, 0, 0x0f, 0xe1, 1, 0xf0, 0, 0, 0, 0, 0})
}

// pes adds a PES packet in two transport packets.
func (s *stream) pes(pid int, access bool, pts int64) {
	b := []byte{0, 0, 1, 0xe0, 0, 0, 0x80, 0xc0, 10, 0x31, 0, 1, 0, 1, 0x11, 0, 1, 0, 1}
	putTimestamp(b[9:], pts)
	putTimestamp(b[14:], pts-100)
	s.packet(pid, true, access, append(b, "payload"...))
	s.packet(pid, false, false, []byte("more"))
}

// segment has a picture every 3600 ticks and a packet of sound every 1920, from
// start on; decoded in the order of the pictures, the second one shown after the
// third.
func segment(start int64, pictures int) *stream {
	s := &stream{}
	s.tables()
	for i := range int64(pictures) {
		at := i
		switch {
		case i > 0 && i%2 == 1 && i+1 < int64(pictures):
			at = i + 1
		case i > 0 && i%2 == 0:
			at = i - 1
		}
		s.pes(videoPID, i == 0, start+at*3600)
		s.pes(audioPID, true, start+i*1920)
	}
	return s
}

func TestScan(t *testing.T) {
	for _, start := range []int64{0, 126_000, Wrap - 5*3600, Wrap - 1} {
		got, err := Scan(segment(start, 10).Bytes(), start)
		if err != nil {
			t.Fatal(err)
		}
		video, audio := got.Of(Video), got.Of(Audio)
		if got.Lead() != video || video.PID != videoPID || video.Packets != 10 || video.First != start || video.End != start+36000 || !video.Starts || video.RandomAccess != start {
			t.Errorf("from %d: the video is %+v", start, video)
		}
		if audio.First != start || audio.End != start+10*1920 {
			t.Errorf("from %d: the sound is %+v", start, audio)
		}
	}
	// After a wrap, times go on from those that are near.
	got, err := Scan(segment(1000, 10).Bytes(), Wrap-1000)
	if err != nil || got.Lead().First != Wrap+1000 {
		t.Errorf("after a wrap: %+v, %v", got.Lead(), err)
	}
	if got, err = Scan(segment(Wrap-1000, 1).Bytes(), 5); err != nil || got.Lead().First != -1000 {
		t.Errorf("before a wrap: %+v, %v", got.Lead(), err)
	}
	if got, err = Scan(segment(Wrap-100_000, 10).Bytes(), 5); err != nil || got.Lead().End != -64_000 || got.Of(Audio).End != -80_800 {
		t.Errorf("all of it before a wrap: %+v, %v", got, err)
	}
	for _, bad := range [][]byte{nil, []byte("<html>"), bytes.Repeat([]byte{sync}, 10), bytes.Repeat([]byte{0}, 10_000), segment(0, 1).Bytes()[2*PacketSize:]} {
		if _, err := Scan(bad, 0); !errors.Is(err, ErrNoStream) {
			t.Errorf("%d bytes that are none: %v", len(bad), err)
		}
	}
	// A few bytes that were lost are stepped over.
	whole := segment(0, 10).Bytes()
	if got, err := Scan(append(bytes.Clone(whole[:5*PacketSize]), whole[5*PacketSize+100:]...), 0); err != nil || got.Lead().End != 36000 {
		t.Errorf("with a gap: %v", err)
	}
}

func TestShift(t *testing.T) {
	for _, ticks := range []int64{1, -1, 90_000, -90_000, Wrap - 1} {
		in := segment(50_000, 10).Bytes()
		out, err := io.ReadAll(iotest.OneByteReader(Shift(iotest.HalfReader(bytes.NewReader(in)), ticks)))
		if err != nil || len(out) != len(in) {
			t.Fatalf("by %d: %d bytes of %d, %v", ticks, len(out), len(in), err)
		}
		got, err := Scan(out, (50_000+ticks)&(Wrap-1))
		if err != nil || got.Lead().First != (50_000+ticks)&(Wrap-1) {
			t.Errorf("by %d: %+v, %v", ticks, got.Lead(), err)
		}
	}
	b := []byte{0x12, 0x34, 0x56, 0x78, 0xfe, 0x9a} // base 0x2468acf1, extension 0x9a
	movePCR(b, 0x10)
	if want := []byte{0x12, 0x34, 0x56, 0x80, 0xfe, 0x9a}; !bytes.Equal(b, want) {
		t.Errorf("the clock reference is %x, want %x", b, want)
	}
	movePCR(b, -0x11)
	if b[4] != 0x7e {
		t.Errorf("its lowest bit is in %x", b[4])
	}
}

func TestEdges(t *testing.T) {
	next := segment(100_000, 10)
	out, complete, err := Before(next.Bytes(), 100_000+3000, 100_000)
	if err != nil || !complete {
		t.Fatal(complete, err)
	}
	got, err := Scan(out, 100_000)
	if err != nil || got.Of(Video).Packets != 1 || got.Of(Audio).Packets != 2 {
		t.Errorf("before: %+v, %v", got, err)
	}
	// Of what is shown last but decoded before, all that is decoded before it.
	if out, _, _ = Before(next.Bytes(), 100_000+2*3600, 100_000); true {
		if got, _ := Scan(out, 100_000); got.Of(Video).Packets != 3 {
			t.Errorf("%d pictures, want 3: the second to show is the third to decode", got.Of(Video).Packets)
		}
	}
	if out, complete, _ = Before(next.Bytes(), 99_000, 100_000); len(out) > 0 || !complete {
		t.Errorf("before anything: %d bytes, %v", len(out), complete)
	}
	if _, complete, _ = Before(next.Bytes()[:6*PacketSize], 200_000, 100_000); complete {
		t.Error("a piece that ends before the time is complete")
	}
	follows, err := Scan(next.Bytes(), 100_000)
	if err != nil {
		t.Fatal(err)
	}
	before := segment(100_000-10*1920, 10)
	out, complete, err = After(before.Bytes()[8*PacketSize:], 100_000-2500, follows, Tables(next.Bytes()), 100_000)
	if err != nil || !complete {
		t.Fatal(complete, err)
	}
	if got, err = Scan(out, 100_000); err != nil || got.Of(Video) != nil || got.Of(Audio).Packets != 2 || got.Of(Audio).First != 100_000-2*1920 {
		t.Errorf("after: %+v, %v", got, err)
	}
}

// TestReal reads a segment that ffmpeg made.
func TestReal(t *testing.T) {
	tools.Need(t, "ffmpeg", "ffprobe")
	path := t.TempDir() + "/a.ts"
	oracle.FFmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=96x54:r=25:d=3", "-f", "lavfi", "-i", "sine=d=3:r=48000",
		"-c:v", "libx264", "-bf", "2", "-c:a", "aac", path)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Scan(b, 0)
	if err != nil {
		t.Fatal(err)
	}
	video, audio := got.Of(Video), got.Of(Audio)
	if d := video.End - video.First; d != 3*Clock || !video.Starts || video.Packets != 75 {
		t.Errorf("the video is %+v", video)
	}
	// 3 s are 141 frames, one of them priming; PES packets hold several.
	if d := float64(audio.End-audio.First) / Clock; math.Abs(d-142*1024./48000) > 0.022 {
		t.Errorf("the sound lasts %g s", d)
	}
}

func FuzzScan(f *testing.F) {
	f.Add(segment(0, 3).Bytes())
	f.Add(segment(Wrap-1, 2).Bytes())
	f.Add(segment(0, 3).Bytes()[100:])
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Scan(b, 0)
		if err != nil {
			return
		}
		for _, x := range s.Streams {
			if x.Packets > 0 && x.End < x.First {
				t.Fatalf("%+v ends before it begins", x)
			}
		}
		out, _, err := Before(b, 1000, 0)
		if err != nil || len(out) > len(b) {
			t.Fatalf("%d bytes of %d, %v", len(out), len(b), err)
		}
		if out, _, err = After(b, 1000, s, Tables(b), 0); err != nil || len(out) > 2*len(b) {
			t.Fatalf("%d bytes of %d, %v", len(out), len(b), err)
		}
		shifted, err := io.ReadAll(Shift(bytes.NewReader(b), 12345))
		if err != nil || len(shifted) != len(b) {
			t.Fatalf("shifted to %d bytes of %d, %v", len(shifted), len(b), err)
		}
	})
}
