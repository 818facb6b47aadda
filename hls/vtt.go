package hls

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/mpegts"
	"github.com/mediafrag/mediafrag/internal/segments"
	"github.com/mediafrag/mediafrag/seek"
)

// vtt is a segment of WebVTT.
type vtt struct {
	header string // all before the first cue but the map: styles and regions
	// local is the cue time that the timestamp mpegts stands for (RFC 8216
	// section 3.5).
	local  time.Duration
	mpegts int64
	mapped bool
	cues   []cue
}

// cue is one cue, its times in the segment's own count.
type cue struct {
	id, settings, text string
	start, end         time.Duration
}

// maxCues is how many cues one clip may have.
const maxCues = 1_000_000

// readVTT reads a segment of WebVTT, leniently: a block that is no cue is kept
// where it stands before the first cue and left out elsewhere.
func readVTT(b []byte) vtt {
	text := strings.TrimPrefix(string(b), "\ufeff")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	var v vtt
	for i, block := range strings.Split(text, "\n\n") {
		block = strings.Trim(block, "\n")
		switch {
		case block == "":
		case i == 0:
			v.readHead(block)
		default:
			if c, ok := readCue(block); ok {
				v.cues = append(v.cues, c)
			} else if len(v.cues) == 0 && !strings.HasPrefix(block, "NOTE") {
				v.header += "\n" + block + "\n"
			}
		}
	}
	return v
}

// readHead reads the first block, with X-TIMESTAMP-MAP.
func (v *vtt) readHead(block string) {
	for line := range strings.SplitSeq(block, "\n") {
		list, ok := strings.CutPrefix(line, "X-TIMESTAMP-MAP=")
		if !ok {
			continue
		}
		v.mapped = true
		for item := range strings.SplitSeq(list, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(item), ":")
			switch name {
			case "LOCAL":
				v.local, _ = parseCueTime(value)
			case "MPEGTS":
				v.mpegts, _ = strconv.ParseInt(value, 10, 62)
			}
		}
	}
}

// readCue reads a cue block.
func readCue(block string) (c cue, ok bool) {
	line, rest, _ := strings.Cut(block, "\n")
	if !strings.Contains(line, "-->") {
		c.id = line
		line, rest, _ = strings.Cut(rest, "\n")
	}
	from, to, ok := strings.Cut(line, "-->")
	if !ok {
		return c, false
	}
	to, c.settings, _ = strings.Cut(strings.TrimSpace(to), " ")
	var ok2 bool
	c.start, ok = parseCueTime(from)
	c.end, ok2 = parseCueTime(to)
	c.text = rest
	return c, ok && ok2
}

// parseCueTime reads "hh:mm:ss.ttt" or "mm:ss.ttt".
func parseCueTime(s string) (d time.Duration, ok bool) {
	fields := strings.Split(strings.TrimSpace(s), ":")
	if len(fields) < 2 || len(fields) > 3 {
		return 0, false
	}
	seconds, ok := parseSeconds(fields[len(fields)-1])
	if !ok || seconds < 0 {
		return 0, false
	}
	d = seconds
	unit := time.Minute
	for i := len(fields) - 2; i >= 0; i-- {
		n, err := strconv.ParseUint(fields[i], 10, 32)
		if err != nil || n > 1e5 {
			return 0, false
		}
		d += time.Duration(n) * unit
		unit = time.Hour
	}
	return d, true
}

// cueTime writes a time as WebVTT does.
func cueTime(d time.Duration) string {
	d = max(0, d).Round(time.Millisecond)
	return fmt.Sprintf("%02d:%02d:%02d.%03d", d/time.Hour, d/time.Minute%60, d/time.Second%60, d/time.Millisecond%1000)
}

// planVTT makes one text of the cues of an interval.
func (c *cut) planVTT(ctx context.Context, s formats.Selection) (*formats.Plan, error) {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(maxAtOnce)
	var size atomic.Int64
	for i := c.first; i <= c.last; i++ {
		if c.wanted(i) {
			g.Go(func() error {
				p, err := c.read(gctx, i)
				if err == nil && size.Add(p.size) > maxHeld {
					return limited("segment", -1, fmt.Sprintf("the texts of the interval have more than %d bytes; choose a shorter one", maxHeld))
				}
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	texts := map[int]vtt{}
	for i := c.first; i <= c.last; i++ {
		if c.wanted(i) {
			texts[i] = readVTT(c.pieces[i].data)
		}
	}
	unmapped := c.unmapped(texts)
	a, b := segments.Duration(c.interval.Start), segments.Duration(c.interval.End)
	var out strings.Builder
	out.WriteString("WEBVTT\n")
	seen := map[cue]bool{}
	for i := c.first; i <= c.last; i++ {
		if !c.wanted(i) {
			continue
		}
		v := texts[i]
		if i == c.first {
			out.WriteString(v.header)
		}
		move := unmapped(v, &c.list.segments[i])
		if v.mapped {
			move = v.offset(&c.list.segments[i], c.clocks)
		}
		for _, x := range v.cues {
			x.start, x.end = (x.start + move).Round(time.Millisecond), (x.end + move).Round(time.Millisecond)
			if x.end <= a || x.start >= b || seen[x] {
				continue // a cue that lasts over several segments stands in each
			}
			if seen[x] = true; len(seen) > maxCues {
				return nil, limited("cues", -1, "too many cues")
			}
			if s.Timeline != formats.Original {
				x.start, x.end = max(x.start, a)-a, min(x.end, b)-a
			}
			x.write(&out)
		}
	}
	p := &formats.Plan{MediaType: mediaTypes[webVTT], Requested: c.interval, Presented: c.interval, Covered: c.interval, Warnings: c.warnings}
	p.Parts = []seek.Part{mediaPart([]byte(out.String()), "cues")}
	return p, nil
}

// near is how far from their segment the times of cues may lie.
const near = 10 * time.Second

// offset returns what is added to cue times to place them on the timeline. The
// map ties them to the clock of the media, of which clocks are what it shows at
// time 0. Where that is not known, or the map leads far away from the segment,
// cues that lie where their segment does are on the timeline; others count from
// their segment's beginning.
func (v vtt) offset(s *segment, clocks map[int64]time.Duration) time.Duration {
	if len(v.cues) == 0 {
		return 0
	}
	if move, known := v.byClock(s, clocks); known && v.near(s, move) {
		return move
	}
	if v.near(s, 0) {
		return 0
	}
	return s.start - v.local
}

// byClock is what is added where cues go by the clock of the media; known is false
// where that of their segment is not known.
func (v vtt) byClock(s *segment, clocks map[int64]time.Duration) (move time.Duration, known bool) {
	zero, known := clocks[s.discontinuity]
	if !known || len(v.cues) == 0 {
		return 0, known
	}
	first := v.cues[0].start
	shown := mpegts.Near(v.mpegts+ticks(first-v.local), ticks(s.start+zero))
	return span(shown) - zero - first, true
}

// unmapped returns what tells what is added to the cue times of texts without a map.
// Their time 0 is that of the media's clock (RFC 8216 section 3.5). Authors also have
// it mean that of the playlist, or their segment's beginning: that is believed where
// it has more cues lie in their segments.
func (c *cut) unmapped(texts map[int]vtt) func(vtt, *segment) time.Duration {
	readings := []func(vtt, *segment) time.Duration{
		func(v vtt, s *segment) time.Duration { move, _ := v.byClock(s, c.clocks); return move },
		func(vtt, *segment) time.Duration { return 0 },
		func(_ vtt, s *segment) time.Duration { return s.start },
	}
	best, most := 0, -1
	for n, move := range readings {
		inside := 0
		for i, v := range texts {
			if s := &c.list.segments[i]; !v.mapped {
				inside += v.inside(s, move(v, s))
			}
		}
		if inside > most {
			best, most = n, inside
		}
	}
	return readings[best]
}

// inside is how many cues are shown within their segment when they are moved.
func (v vtt) inside(s *segment, move time.Duration) (n int) {
	for _, x := range v.cues {
		if x.start+move < s.end() && x.end+move > s.start {
			n++
		}
	}
	return n
}

// near reports whether some cues lie near their segment when they are moved.
func (v vtt) near(s *segment, move time.Duration) bool {
	return slices.ContainsFunc(v.cues, func(x cue) bool {
		return x.start+move < s.end()+near && x.end+move > s.start-near
	})
}

func (c cue) write(out *strings.Builder) {
	out.WriteString("\n")
	if c.id != "" {
		out.WriteString(c.id + "\n")
	}
	out.WriteString(cueTime(c.start) + " --> " + cueTime(c.end))
	if c.settings != "" {
		out.WriteString(" " + c.settings)
	}
	out.WriteString("\n" + c.text + "\n")
}
