package mp4

import (
	"cmp"
	"math"
	"slices"
	"strings"

	gomp4 "github.com/abema/go-mp4"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

// maxTracks bounds the tracks of a file.
const maxTracks = 1024

// movie is what a moov says.
type movie struct {
	box        box
	size       int64 // bytes of the moov in the file
	mvhd       box
	timescale  int64
	duration   int64 // as mvhd says, in timescale; 0: unknown
	fragmented bool  // has an mvex: media may lie in fragments
	extends    int64 // duration with all fragments, as mehd says, in timescale; 0: unknown
	defaults   map[uint32]fragmentDefaults
	tracks     []*track
	marks      []chapterMark
	tags       []formats.Tag
}

// track is one trak.
type track struct {
	box       box
	id        uint32
	handler   string // "vide", "soun", ...
	kind      formats.Kind
	enabled   bool
	timescale int64
	edits     []edit
	tables    *sampleTables
	entry     sampleEntry // the first sample entry
	info      formats.Track

	stblNode   *node         // the stbl in the file, where the moov was read in parts
	sencNode   *node         // the senc of the trak, likewise
	common     *sampleTables // those of the moov, where tables are others
	defaults   fragmentDefaults
	end        int64    // composition time at which the media ends, where its tables do not tell; 0: they do
	companions []uint32 // tracks that belong to it: chapters and time codes

	stbl, tkhd, mdhd, stsd, senc box
}

// edit is one entry of an edit list: for duration (in the movie's timescale)
// the presentation shows the media from mediaTime on (in the track's
// timescale), or nothing where mediaTime is -1.
type edit struct {
	duration  int64
	mediaTime int64
	rate      int16 // 1, or 0: the picture at mediaTime stands
}

// readMovie reads a moov.
func readMovie(moov box, limits formats.Limits) (*movie, error) {
	m := &movie{box: moov, size: int64(len(moov.raw))}
	for c, err := range moov.children() {
		if err != nil {
			return nil, err
		}
		switch c.typ {
		case "mvhd":
			if err := m.readHeader(c); err != nil {
				return nil, err
			}
		case "mvex":
			if err := m.readDefaults(c); err != nil {
				return nil, err
			}
		case "udta":
			m.readUserData(c)
			m.readTags(c)
		case "meta":
			m.readTags(c)
		case "cmov":
			return nil, unsupported(c.path, c.off, "decompress the index first, for example with a remux", "a compressed moov")
		}
	}
	if m.timescale == 0 {
		return nil, moov.damaged(0, "no mvhd with a timescale")
	}
	for c, err := range moov.children() {
		if err != nil {
			return nil, err
		}
		if c.typ != "trak" {
			continue
		}
		if len(m.tracks) == maxTracks {
			return nil, c.damaged(0, "more than %d tracks", maxTracks)
		}
		t, err := m.readTrack(c)
		if err != nil {
			return nil, err
		}
		t.common, t.defaults = t.tables, m.defaults[t.id]
		t.tables.refresh = &refresh{}
		m.tracks = append(m.tracks, t)
	}
	if err := m.uniqueIDs(); err != nil {
		return nil, err
	}
	m.setDefaults()
	return m, nil
}

// setDefaults marks the tracks that are played unless others are asked for:
// the enabled ones, or all where the file enables none.
func (m *movie) setDefaults() {
	none := !slices.ContainsFunc(m.tracks, func(t *track) bool { return t.enabled })
	for _, t := range m.tracks {
		t.info.Default = t.enabled || none
	}
}

// uniqueIDs makes sure that an ID names one track.
func (m *movie) uniqueIDs() error {
	seen := map[uint32]bool{}
	for _, t := range m.tracks {
		if seen[t.id] {
			return t.box.damaged(0, "two tracks have the ID %d", t.id)
		}
		seen[t.id] = true
	}
	return nil
}

func (m *movie) readHeader(b box) error {
	var h gomp4.Mvhd
	if err := b.unmarshal(&h, gomp4.Context{}); err != nil {
		return err
	}
	m.mvhd, m.timescale = b, int64(h.Timescale)
	m.duration = known(h.GetDuration(), h.GetVersion())
	return nil
}

// known returns a duration field's value, 0 where it says that the duration is
// not known (all ones) or is beyond any medium.
func known(duration uint64, version uint8) int64 {
	if version == 0 && duration == math.MaxUint32 || duration > maxTicks {
		return 0
	}
	return int64(duration)
}

// readTrack reads a trak.
func (m *movie) readTrack(b box) (*track, error) {
	t := &track{box: b, kind: formats.Other}
	name := ""
	for c, err := range b.children() {
		if err == nil {
			switch c.typ {
			case "tkhd":
				err = t.readHeader(c)
			case "edts":
				err = t.readEdits(c)
			case "tref":
				err = t.readReferences(c)
			case "mdia":
				err = t.readMedia(c)
			case "udta":
				name = readName(c)
			case "senc":
				t.senc = c
			}
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case t.tkhd.raw == nil:
		return nil, b.damaged(0, "no tkhd")
	case t.timescale == 0:
		return nil, b.damaged(0, "no mdhd with a timescale")
	case t.tables == nil:
		return nil, b.damaged(0, "no sample tables")
	}
	t.tables.addInline(t.senc)
	t.info.Name = cmp.Or(name, t.info.Name)
	t.describe(m)
	return t, nil
}

func (t *track) readHeader(b box) error {
	var h gomp4.Tkhd
	if err := b.unmarshal(&h, gomp4.Context{}); err != nil {
		return err
	}
	t.tkhd, t.id = b, h.TrackID
	t.enabled = h.GetFlags()&1 != 0
	t.info.Width, t.info.Height = shownSize(h)
	t.info.Group = int(h.AlternateGroup)
	return nil
}

// readEdits reads an edts with its elst.
func (t *track) readEdits(b box) error {
	elst, ok, err := b.child("elst")
	if err != nil || !ok {
		return err
	}
	p := elst.payload()
	stride := 12
	if len(p) > 0 && p[0] == 1 {
		stride = 20
	}
	entries, err := elst.entries(stride)
	if err != nil {
		return err
	}
	for at := 0; at < len(entries); at += stride {
		e := entries[at:]
		d := edit{duration: int64(be.Uint32(e)), mediaTime: int64(int32(be.Uint32(e[4:])))}
		if stride == 20 {
			d = edit{duration: int64(be.Uint64(e)), mediaTime: int64(be.Uint64(e[8:]))}
		}
		d.rate = int16(be.Uint16(e[stride-4:]))
		if d.duration < 0 || d.duration > maxTicks || d.mediaTime < -1 || d.mediaTime > maxTicks {
			return elst.damaged(8+at, "an edit of %d ticks from %d on", d.duration, d.mediaTime)
		}
		if d.rate != 1 && d.rate != 0 || be.Uint16(e[stride-2:]) != 0 {
			return unsupported(elst.path, elst.payloadOff()+int64(8+at), "cut a copy without speed changes",
				"an edit at a rate other than 1")
		}
		t.edits = append(t.edits, d)
	}
	return nil
}

// readReferences reads which tracks a tref names that belong to this one.
func (t *track) readReferences(b box) error {
	for c, err := range b.children() {
		if err != nil {
			return err
		}
		if c.typ == "chap" || c.typ == "tmcd" {
			for p := c.payload(); len(p) >= 4 && len(t.companions) < maxTracks; p = p[4:] {
				t.companions = append(t.companions, be.Uint32(p))
			}
		}
	}
	return nil
}

// readMedia reads an mdia. What kind of media it is decides how the rest is
// read, wherever that stands.
func (t *track) readMedia(b box) error {
	hdlr, ok, err := b.child("hdlr")
	if err != nil {
		return err
	}
	if ok {
		t.readHandler(hdlr)
	}
	extended := "" // language, BCP 47
	for c, err := range b.children() {
		if err != nil {
			return err
		}
		switch c.typ {
		case "mdhd":
			var h gomp4.Mdhd
			if err := c.unmarshal(&h, gomp4.Context{}); err != nil {
				return err
			}
			t.mdhd, t.timescale = c, int64(h.Timescale)
			t.info.Language = unpackLanguage(h.Language)
		case "minf":
			stbl, ok, err := c.child("stbl")
			if err != nil {
				return err
			}
			if ok {
				if err := t.readStbl(stbl); err != nil {
					return err
				}
			}
		case "elng":
			if p := c.payload(); len(p) > 4 {
				extended = strings.ToValidUTF8(strings.TrimRight(string(p[4:]), "\x00"), "�")
			}
		}
	}
	t.info.Language = cmp.Or(extended, t.info.Language)
	return nil
}

func (t *track) readStbl(b box) error {
	tables, err := readTables(b)
	if err != nil {
		return err
	}
	stsd, ok, err := b.child("stsd")
	if err != nil {
		return err
	}
	if ok {
		t.stsd = stsd
		t.entry, err = readSampleEntry(stsd, t.kind)
	}
	t.stbl, t.tables = b, tables
	return err
}

// track returns the track of an ID, nil where there is none.
func (m *movie) track(id uint32) *track {
	for _, t := range m.tracks {
		if t.id == id {
			return t
		}
	}
	return nil
}

// presentation is when a track is presented and for how long.
func (m *movie) presentation(t *track) fragment.Time {
	var end fragment.Time
	for _, s := range m.segments(t) {
		end = s.end
	}
	return end
}

// length is how long the movie's presentation lasts: as long as its longest
// track, hint and chapter tracks apart.
func (m *movie) length() fragment.Time {
	var end fragment.Time
	for _, t := range m.playable() {
		end = end.Max(m.presentation(t))
	}
	return end
}

// hasSamples reports whether the moov itself tells of samples.
func (m *movie) hasSamples() bool {
	return slices.ContainsFunc(m.tracks, func(t *track) bool { return t.tables.count > 0 })
}

// playable are the tracks that can be delivered: hint tracks tell servers how
// to send others and hold no media.
func (m *movie) playable() []*track {
	var out []*track
	for _, t := range m.tracks {
		if t.handler != "hint" {
			out = append(out, t)
		}
	}
	return out
}
