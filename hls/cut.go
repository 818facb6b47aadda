package hls

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/internal/mpegts"
	"github.com/mediafrag/mediafrag/internal/segments"
	"github.com/mediafrag/mediafrag/seek"
)

// cut is the selection of one stream: which of its segments, and what was read
// of them.
type cut struct {
	m        *Medium
	s        *stream
	list     *media
	base     *playlist
	interval fragment.Interval // clamped to the playlist
	asked    fragment.Interval // not clamped
	// first and last are the segments that are needed, last included.
	first, last int
	warnings    []fragment.Warning
	// clocks are what the clocks of other streams show at time 0 of the timeline,
	// which is the same for all: for each stretch between discontinuities of which
	// that is known.
	clocks map[int64]time.Duration
	// keeps says that what was read may not be had again.
	keeps bool
	// given is the first segment behind those that were given out before the plan
	// is made; 0: nothing was.
	given int

	mu     sync.Mutex
	pieces map[int]*piece
	infos  map[string]*seek.Info
	plans  map[*initSection]*piece
	looked map[string]bool // resources of which a part is checked
}

// piece is a segment or an initialization section that was read.
type piece struct {
	i     int
	name  string
	bytes seek.Range // of the resource
	size  int64      // of the encrypted bytes
	data  []byte     // decrypted; nil where it was not kept
	plain int64      // how many bytes that are
	ts    *mpegts.Segment
}

// newCut finds the segments of a stream that overlap an interval.
func (m *Medium) newCut(s *stream, i fragment.Interval) (*cut, error) {
	m.mu.Lock()
	list := s.list
	m.mu.Unlock()
	published := *list
	published.media = list.media.upTo(i)
	c := m.cutOf(s, &published, i)
	c.asked, c.interval = i, i.Clamp(segments.Time(c.list.duration()))
	if c.list.growing() && (i.Open || segments.Time(c.list.duration()).Less(i.End)) {
		c.warn("the stream is live: this is what is published of %s so far", i)
	}
	first, end := segments.Overlap(len(c.list.segments), c.list.bounds, c.interval)
	if first == end {
		return nil, &formats.PastEndError{Start: i.Start, Duration: segments.Time(c.list.duration())}
	}
	c.first, c.last = c.list.independent(first), end-1
	return c, nil
}

// cutOf returns a cut of a playlist with nothing selected.
func (m *Medium) cutOf(s *stream, list *playlist, i fragment.Interval) *cut {
	return &cut{m: m, s: s, list: list.media, base: list, interval: i, pieces: map[int]*piece{}, infos: map[string]*seek.Info{}, plans: map[*initSection]*piece{}, looked: map[string]bool{}}
}

// bounds are those of a segment on the timeline.
func (m *media) bounds(i int) (start, end time.Duration) {
	return m.segments[i].start, m.segments[i].end()
}

func (c *cut) warn(format string, args ...any) {
	if len(c.warnings) < maxWarnings {
		c.warnings = append(c.warnings, fragment.Warning{Reason: fmt.Sprintf(format, args...)})
	}
}

// gapWarning tells of a segment of a stream that does not exist.
func gapWarning(s *segment, of *stream) fragment.Warning {
	return fragment.Warning{Reason: fmt.Sprintf("the playlist has a gap from %s s to %s s of %s", segments.Time(s.start), segments.Time(s.end()), of.id)}
}

// exists fails where all of the selection lies in a gap.
func (c *cut) exists() error {
	for i := c.first; i <= c.last; i++ {
		if c.wanted(i) {
			return nil
		}
	}
	return unsupported("EXT-X-GAP", "all of the interval lies in a gap: there are no segments to fetch", "choose another interval, or with --variant another variant")
}

// skipGaps leaves out segments that do not exist, and says so.
func (c *cut) skipGaps() error {
	if err := c.exists(); err != nil {
		return err
	}
	for i := c.first; i <= c.last; i++ {
		if s := &c.list.segments[i]; s.gap && len(c.warnings) < maxWarnings {
			c.warnings = append(c.warnings, gapWarning(s, c.s))
		}
	}
	for c.first < c.last && c.list.segments[c.first].gap {
		c.first++
	}
	for c.last > c.first && c.list.segments[c.last].gap {
		c.last--
	}
	return nil
}

// segment returns a segment and what its resource is called. One that cannot be
// read is an error.
func (c *cut) segment(i int) (*segment, string, error) {
	s := &c.list.segments[i]
	if s.problem != "" {
		return nil, "", damaged(fmt.Sprintf("segment %d", s.sequence), -1, s.problem)
	}
	name, err := nameOf(c.base.base, s.uri)
	return s, name, err
}

// note is what requests say of a segment.
func (c *cut) note(s *segment) string {
	if c.s.id == mainID {
		return fmt.Sprintf("segment %d", s.sequence)
	}
	return fmt.Sprintf("segment %d of %s", s.sequence, c.s.id)
}

// wanted reports whether a segment is one to fetch.
func (c *cut) wanted(i int) bool { return !c.list.segments[i].gap }

// needs returns what a plan needs beside the segments of the selection: their
// initialization sections and keys, not more than maxKeys of these. It fails where
// the playlist says of a segment what cannot be read, or has too many stretches.
func (c *cut) needs() (sections map[*initSection]bool, keys map[*key]bool, err error) {
	sections, keys = map[*initSection]bool{}, map[*key]bool{}
	for i := c.first; i <= c.last; i++ {
		if !c.wanted(i) {
			continue
		}
		s, _, err := c.segment(i)
		if err != nil {
			return nil, nil, err
		}
		k, err := usable(s.keys)
		if err != nil {
			return nil, nil, err
		}
		if k != nil && len(keys) < maxKeys {
			keys[k] = true
		}
		if s.init != nil && s.init.uri != "" {
			sections[s.init] = true
		}
	}
	if len(c.begins()) > maxStretches || len(sections) > maxStretches {
		return nil, nil, limited("EXT-X-DISCONTINUITY", -1, fmt.Sprintf("the interval has more than %d discontinuities or initializations; choose a shorter one", maxStretches))
	}
	return sections, keys, nil
}

// readEnds reads, all at once, what a plan is made from: the first segment and
// the last, the first of each stretch between discontinuities, their
// initialization sections, and all keys.
func (c *cut) readEnds(ctx context.Context) error {
	sections, keys, err := c.needs()
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxAtOnce)
	for i := range c.ends() {
		g.Go(func() error { _, err := c.read(ctx, i); return err })
	}
	for i := range c.begins() {
		g.Go(func() error { return c.lookAt(ctx, i) })
	}
	for section := range sections {
		g.Go(func() error { _, err := c.readInit(ctx, section); return err })
	}
	for k := range keys {
		g.Go(func() error { _, err := c.cipher(ctx, k); return err })
	}
	if e, ok := c.inFront(); ok {
		g.Go(func() error {
			// It may not be needed: whoever does need it meets the error.
			c.m.loader.read(ctx, e, seek.Probe, tablesNote)
			return nil
		})
	}
	for _, e := range c.neighbours() {
		g.Go(func() error {
			// It may not be needed: whoever does need it meets the error.
			c.m.loader.read(ctx, e, seek.Probe, "edge of "+c.s.id)
			return nil
		})
	}
	return g.Wait()
}

// begins are the first segments of each stretch between discontinuities, but for
// the ends.
func (c *cut) begins() map[int]bool {
	ends, out := c.ends(), map[int]bool{}
	for i, before := c.first, -1; i <= c.last; i++ {
		if !c.wanted(i) {
			continue
		}
		if before >= 0 && c.list.segments[before].discontinuity != c.list.segments[i].discontinuity && !ends[i] {
			out[i] = true
		}
		before = i
	}
	return out
}

// ends are the segments that the interval may begin or end in: the first and the
// last, and where it does so at their inner bound the next, since playlists of
// sound count the samples before time 0. Where packed audio begins with its first
// frames, those before are in the segment before.
func (c *cut) ends() map[int]bool {
	read := map[int]bool{c.first: true, c.last: true}
	first, last := &c.list.segments[c.first], &c.list.segments[c.last]
	if first.end()-segments.Duration(c.interval.Start) < atBound && c.first < c.last && c.wanted(c.first+1) {
		read[c.first+1] = true
	}
	if segments.Duration(c.interval.End)-last.start < atBound && c.first < c.last && c.wanted(c.last-1) {
		read[c.last-1] = true
	}
	if lead := leadTime(first.uri); lead > 0 && c.first > 0 && segments.Duration(c.interval.Start)-first.start < lead {
		if before := &c.list.segments[c.first-1]; !before.gap && before.discontinuity == first.discontinuity {
			read[c.first-1] = true // its last frames
		}
	}
	return read
}

const (
	// atBound is how near to its segment's bound an interval has to begin or end
	// for the neighbour to be needed, too: by as much sound lies before or behind
	// the pictures that it belongs to.
	atBound = 150 * time.Millisecond
	// edgeBytes is how much of a neighbour is read for the sound that it has of
	// the interval.
	edgeBytes = 192 << 10
	// indexBytes is how much of one is read for the index of a fragment.
	indexBytes = 64 << 10
)

// neighbours are the pieces of the segments before and behind the selection that
// are probably needed for a little sound. They are read along with it, so that
// no round trip is lost by them.
func (c *cut) neighbours() []extent {
	first, last := &c.list.segments[c.first], &c.list.segments[c.last]
	if c.list.iframes || c.s.kind == formats.Subtitle || audioOnly(first.uri) || leadTime(first.uri) > 0 {
		return nil
	}
	var out []extent
	add := func(i int, from *segment, n int64) {
		if i < 0 || i >= len(c.list.segments) {
			return
		}
		s := &c.list.segments[i]
		if s.gap || s.discontinuity != from.discontinuity {
			return
		}
		if _, name, err := c.segment(i); err == nil {
			r := s.bytes
			encrypted := s.init != nil && len(s.keys) > 0 // fragments are decrypted whole
			if small := c.s.kind == formats.Audio && r.Length < 0; !small && !encrypted {
				r = edgeRange(s.bytes, n)
			}
			out = append(out, extent{name, r})
		}
	}
	if d := last.end() - segments.Duration(c.interval.End); d < atBound && d > -atBound && !c.s.silent() {
		add(c.last+1, last, edgeBytes)
	}
	if first.init != nil && first.init.uri != "" && segments.Duration(c.interval.Start)-first.start < atBound/3 {
		add(c.first-1, first, indexBytes)
	}
	return out
}

// silent reports whether it is known that a stream has pictures alone.
func (s *stream) silent() bool {
	return len(s.tracks) > 0 && !slices.ContainsFunc(s.tracks, func(t formats.Track) bool { return t.Kind != formats.Video || t.Codec == "" })
}

// audioOnly reports whether a name is that of packed audio or text, of which
// segments do not overlap.
func audioOnly(uri string) bool {
	switch extension(uri, "") {
	case ".aac", ".mp3", ".ac3", ".ec3", ".eac3", ".vtt", ".webvtt":
		return true
	}
	return false
}

// edgeRange is the range of the first n bytes of a segment, or with a negative n
// of the last ones.
func edgeRange(of seek.Range, n int64) seek.Range {
	size := max(n, -n)
	switch {
	case of.Length >= 0 && n > 0:
		return seek.Range{Offset: of.Offset, Length: min(of.Length, size)}
	case of.Length >= 0:
		size = min(of.Length, size)
		return seek.Range{Offset: of.End() - size, Length: size}
	case n > 0:
		return seek.Range{Offset: of.Offset, Length: size}
	}
	return seek.Suffix(size)
}

const (
	// maxAtOnce is how many requests a plan makes at a time.
	maxAtOnce = 16
	// maxStretches is how many discontinuities or initialization sections one
	// selection may have: a segment is read for each.
	maxStretches = 1000
	// maxKeys is how many keys are fetched with a plan; others wait until their
	// segments are read.
	maxKeys = 256
)

// lookAt reads a segment between the ends for its timestamps, and does not keep
// its bytes.
func (c *cut) lookAt(ctx context.Context, i int) error {
	p, err := c.read(ctx, i)
	if err != nil {
		return err
	}
	if c.keeps {
		return nil
	}
	if !mpegts.Is(p.data) {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.pieces, i)
		return nil
	}
	if c.list.iframes {
		return nil // it is small, and its tables may be elsewhere
	}
	s := &c.list.segments[i]
	scan, err := mpegts.Scan(p.data, ticks(s.start))
	if err != nil {
		return &formats.Error{Container: Name, Element: c.note(s), Offset: 0, Problem: err.Error(), Err: formats.ErrDamaged}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p.ts, p.data = scan, nil
	return nil
}

// read reads a segment whole, once.
func (c *cut) read(ctx context.Context, i int) (*piece, error) {
	c.mu.Lock()
	p := c.pieces[i]
	c.mu.Unlock()
	if p != nil {
		return p, nil
	}
	s, name, err := c.segment(i)
	if err != nil {
		return nil, err
	}
	k, err := usable(s.keys)
	if err != nil {
		return nil, err
	}
	p = &piece{i: i, name: name, bytes: s.bytes}
	var iv [16]byte
	if k != nil {
		iv = k.ivOf(s.sequence)
	}
	if err := c.fetch(ctx, p, k, iv, c.note(s)); err != nil {
		return nil, err
	}
	if containerOf(p.data) == transportStream {
		if err := wholePackets(c.note(s), p.plain); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pieces[i] = p
	return p, nil
}

// readInit reads an initialization section, once.
func (c *cut) readInit(ctx context.Context, section *initSection) (*piece, error) {
	c.mu.Lock()
	p := c.plans[section]
	c.mu.Unlock()
	if p != nil {
		return p, nil
	}
	name, err := nameOf(c.base.base, section.uri)
	if err != nil {
		return nil, err
	}
	k, err := usable(section.keys)
	if err != nil {
		return nil, err
	}
	p = &piece{i: -1, name: name, bytes: section.bytes}
	var iv [16]byte
	if k != nil {
		if k.iv == nil { // RFC 8216 section 4.3.2.5 requires it
			return nil, damaged("EXT-X-MAP", -1, "it is encrypted, but its EXT-X-KEY has no IV")
		}
		iv = *k.iv
	}
	if err := c.fetch(ctx, p, k, iv, "initialization of "+c.s.id); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plans[section] = p
	return p, nil
}

// fetch fills in a piece.
func (c *cut) fetch(ctx context.Context, p *piece, k *key, iv [16]byte, note string) error {
	var block cipher.Block
	g, gctx := errgroup.WithContext(ctx)
	var h *held
	g.Go(func() (err error) {
		h, err = c.m.loader.read(gctx, extent{p.name, p.bytes}, seek.Media, note)
		return err
	})
	if k != nil {
		g.Go(func() (err error) {
			block, err = c.cipher(gctx, k)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	p.data, p.size = h.data, int64(len(h.data))
	if k != nil {
		plain, err := decryptWhole(note, block, iv, h.data)
		if err != nil {
			return err
		}
		p.data = plain
	}
	p.plain = int64(len(p.data))
	info := c.info(p.name)
	c.mu.Lock()
	defer c.mu.Unlock()
	info.MediaType, info.Validator, info.Size = h.info.MediaType, h.info.Validator, h.info.Size
	return nil
}

// cipher returns the cipher of a key.
func (c *cut) cipher(ctx context.Context, k *key) (cipher.Block, error) {
	uri, err := nameOf(c.base.base, k.uri)
	if err != nil {
		return nil, err
	}
	b, err := readKey(ctx, c.m, uri)
	if err != nil {
		return nil, err
	}
	return aes.NewCipher(b)
}

// info returns what the plan says of a resource: the same for all its parts.
func (c *cut) info(name string) *seek.Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.infos[name]
	if i == nil {
		i = &seek.Info{Name: name, Size: -1}
		c.infos[name] = i
	}
	return i
}

// part returns the part of a plan that is a segment, changed by what r says
// beyond decryption.
func (c *cut) part(i int, r Rewriter) (seek.Part, error) {
	s, name, err := c.segment(i)
	if err != nil {
		return seek.Part{}, err
	}
	k, err := usable(s.keys)
	if err != nil {
		return seek.Part{}, err
	}
	p := seek.Part{Resource: c.info(name), Request: seek.Request{Range: s.bytes, Purpose: seek.Media, Note: c.note(s)}, Size: s.bytes.Length}
	c.mu.Lock()
	read := c.pieces[i]
	c.mu.Unlock()
	if read != nil {
		p.Range = seek.Range{Offset: s.bytes.Offset, Length: read.size}
		p.Size = read.plain
		r.Container = "" // it has been looked at
	}
	if k != nil {
		if r.KeyURI, err = nameOf(c.base.base, k.uri); err != nil {
			return seek.Part{}, err
		}
		r.IV = k.ivOf(s.sequence)
		if read == nil {
			p.Size = -1 // of the padding nothing is known
		}
	} else if err := r.sized(c.note(s), p.Size); err != nil {
		return seek.Part{}, err
	} else if p.Size >= 0 && c.checked(name) {
		r.Container = "" // a range is asked for as it stands, together with its neighbours
	}
	if r != (Rewriter{}) {
		r.Segment = c.note(s)
		p.Rewrite = r
	}
	return p, nil
}

// checked reports whether a resource has been looked at, or is by the part that
// this is asked for before: one of its ranges tells for all.
func (c *cut) checked(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.looked[name]
	for _, p := range c.pieces {
		known = known || p.name == name
	}
	c.looked[name] = true
	return known
}

// initPart returns the part that is an initialization section.
func (c *cut) initPart(section *initSection) (seek.Part, error) {
	c.mu.Lock()
	p := c.plans[section]
	c.mu.Unlock()
	return seek.Literal(p.data, "initialization"), nil
}

// decryptWhole decrypts bytes that are in memory.
func decryptWhole(segment string, block cipher.Block, iv [16]byte, b []byte) ([]byte, error) {
	r, err := decrypt(segment, block, iv, 0, false, bytesFrom(b))
	if err != nil {
		return nil, err
	}
	return readAll(r, len(b))
}
