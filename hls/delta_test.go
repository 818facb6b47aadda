package hls

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mediafrag/mediafrag/formats"
)

// TestDeltaUpdate: a delta update, merged with what is known, is what the whole
// playlist says: whatever applies behind the segments that it leaves out goes on.
func TestDeltaUpdate(t *testing.T) {
	const top = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-VERSION:9\n#EXT-X-SERVER-CONTROL:CAN-SKIP-UNTIL=24\n"
	lines := []string{ // by segment, from number 7 on
		"#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00Z\n#EXT-X-MAP:URI=\"i0\"\n#EXTINF:4,\na\n",
		"#EXT-X-KEY:METHOD=AES-128,URI=\"k\"\n#EXTINF:3,\n#EXT-X-BYTERANGE:10@5\nall\n",
		"#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"i1\"\n#EXTINF:4,\n#EXT-X-BYTERANGE:7\nall\n",
		"#EXTINF:2,\n#EXT-X-BYTERANGE:3\nall\n",
		"#EXT-X-DISCONTINUITY\n#EXT-X-KEY:METHOD=NONE\n#EXTINF:4,\nz\n",
		"#EXT-X-PART:DURATION=1,URI=\"p\"\n",
	}
	full := func(from, to int) string {
		discontinuities := strings.Count(strings.Join(lines[:from], ""), "DISCONTINUITY")
		return top + fmt.Sprintf("#EXT-X-MEDIA-SEQUENCE:%d\n#EXT-X-DISCONTINUITY-SEQUENCE:%d\n", 7+from, 3+discontinuities) + strings.Join(lines[from:to], "")
	}
	type said struct {
		URI, Key, Init, Bytes, Date string
		Start, Duration             time.Duration
		Sequence, Discontinuity     int64
	}
	say := func(m *media) (out []said) {
		for _, all := range [][]segment{m.segments, m.tail} {
			for _, s := range all {
				x := said{URI: s.uri, Bytes: s.bytes.String() + s.problem, Date: s.date.String(), Start: s.start, Duration: s.duration, Sequence: s.sequence, Discontinuity: s.discontinuity}
				if len(s.keys) > 0 {
					x.Key = s.keys[0].uri
				}
				if s.init != nil {
					x.Init = s.init.uri
				}
				out = append(out, x)
			}
		}
		return out
	}
	known := mustParse(t, full(0, 4)).media
	whole := mustParse(t, full(0, 6)).media
	if err := whole.follow(known); err != nil {
		t.Fatal(err)
	}
	for skipped := 1; skipped <= 4; skipped++ {
		delta := full(0, 0) + fmt.Sprintf("#EXT-X-SKIP:SKIPPED-SEGMENTS=%d\n", skipped) + strings.Join(lines[skipped:], "")
		p, err := parseUpdate(delta, testURL+"?_HLS_msn=11&a=1&_HLS_skip=YES", nil, formats.Limits{}, known)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.media.follow(known); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(say(whole), say(p.media)); diff != "" {
			t.Errorf("%d segments left out:\n%s", skipped, diff)
		}
		if got := p.base.String(); got != testURL+"?a=1" {
			t.Errorf("the playlist goes by the name %s", got)
		}
	}
	// What was never named cannot be left out.
	for _, delta := range []string{
		top + "#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-SKIP:SKIPPED-SEGMENTS=5\n" + lines[5],
		top + "#EXT-X-MEDIA-SEQUENCE:5\n#EXT-X-SKIP:SKIPPED-SEGMENTS=3\n" + lines[5],
		top + "#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-SKIP:SKIPPED-SEGMENTS=4611686018427387903\n" + lines[5],
	} {
		p, err := parseUpdate(delta, testURL, nil, formats.Limits{}, known)
		if err != nil {
			t.Fatal(err)
		}
		isError(t, p.media.follow(known), formats.ErrDamaged)
	}
}

// TestTail: parts behind the last segment are published, but for encrypted ones;
// one that depends on another is cut from there on.
func TestTail(t *testing.T) {
	parts := "#EXT-X-PART:DURATION=1,URI=\"p0\",INDEPENDENT=YES\n#EXT-X-PART:DURATION=1,URI=\"p1\"\n#EXT-X-PART:DURATION=1,URI=\"p2\",GAP=YES\n"
	m := mustParse(t, head+"#EXTINF:4\na\n"+parts).media
	if m.duration() != 4*time.Second || m.edge() != 7*time.Second {
		t.Errorf("segments end at %v, parts at %v", m.duration(), m.edge())
	}
	all := m.upTo(between(5.5, 6).Interval)
	if len(all.segments) != 4 || all.independent(2) != 1 || !all.segments[3].gap || all.segments[3].sequence != 1 {
		t.Errorf("%+v", all.segments)
	}
	if m.upTo(between(3, 4).Interval) != m {
		t.Error("parts stand in a playlist of which whole segments are enough")
	}
	if m := mustParse(t, head+"#EXT-X-KEY:METHOD=AES-128,URI=\"k\"\n#EXTINF:4\na\n"+parts).media; m.edge() != 4*time.Second {
		t.Errorf("encrypted parts are taken: %v", m.edge())
	}
}
