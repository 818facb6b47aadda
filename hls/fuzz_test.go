package hls

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/mediafrag/mediafrag/formats"
)

// FuzzSegments reads texts and packed audio of any bytes.
func FuzzSegments(f *testing.F) {
	f.Add([]byte("WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000\n\n1\n00:01.000 --> 00:02.000 align:start\nx\n\nNOTE y\n"))
	f.Add(append(tag(126_000), 0xff, 0xf1, 0x4c, 0x80, 0x02, 0x1f, 0xfc, 0))
	f.Add([]byte("ID3\x04\x00\x10\x7f\x7f\x7f\x7f"))
	f.Fuzz(func(t *testing.T, b []byte) {
		containerOf(b)
		v := readVTT(b)
		for _, c := range v.cues {
			if c.start < 0 || c.end < 0 || len(cueTime(c.start)) < 12 {
				t.Fatalf("%+v", c)
			}
		}
		v.offset(&segment{start: time.Hour, duration: time.Minute}, nil)
		if p, ok := readPacked(b); ok {
			p.length(p.samples)
		}
		if out, err := io.ReadAll(stripID3(bytes.NewReader(b))); err != nil && len(out) > len(b) {
			t.Fatal(len(out), err)
		}
	})
}

// TestSecondSelection: what an earlier selection has read of a medium is not
// asked for again.
func TestSecondSelection(t *testing.T) {
	o := newOrigin()
	o.putFolder(t, "https://host.test/ts", tsPresentation(t))
	m := o.mustOpen(t, "https://host.test/ts/media.m3u8", formats.Env{})
	clip(t, m, mustPlan(t, m, between(9, 11)))
	clip(t, m, mustPlan(t, m, between(5, 15)))
	asked := map[string]int{}
	for _, name := range o.files() {
		asked[name]++
	}
	if asked["s002.ts"] != 1 || asked["s001.ts"] != 1 || asked["media.m3u8"] != 1 {
		t.Errorf("asked for %v", asked)
	}
}

// TestOwnGap: a segment that the playlist says does not exist is not asked for.
func TestOwnGap(t *testing.T) {
	o := newOrigin()
	o.putFolder(t, "https://host.test/ts", tsPresentation(t))
	o.put("https://host.test/ts/gap.m3u8", []byte(head+"#EXTINF:4,\ns000.ts\n#EXTINF:4,\ns001.ts\n#EXT-X-GAP\n#EXTINF:4,\nnone.ts\n#EXTINF:4,\ns003.ts\n#EXT-X-ENDLIST\n"))
	m := o.mustOpen(t, "https://host.test/ts/gap.m3u8", formats.Env{})
	p := mustPlan(t, m, between(5, 15))
	want := append(readFile(t, tsPresentation(t), "s001.ts"), readFile(t, tsPresentation(t), "s003.ts")...)
	if got := clip(t, m, p); string(got) != string(want) {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
	if len(p.Warnings) != 1 {
		t.Errorf("warnings: %v", p.Warnings)
	}
}
