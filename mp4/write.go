package mp4

import (
	"math"
	"slices"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

// header writes what stands before the clip's media: ftyp, moov and the
// header of an mdat of so many bytes. Media offsets depend on the moov's
// length, and that only on whether they need 64 bits: a first pass tells it.
func (c *clip) header(media int64) []byte {
	mdat := mdatHeader(media)
	w := &builder{}
	write := func(wide bool, start int64) (end int64) {
		w.buf = append(w.buf[:0], c.head...)
		c.writeMoov(w, wide, start)
		return int64(len(w.buf) + len(mdat))
	}
	wide := false
	start := write(wide, 0)
	if start+media > math.MaxUint32 {
		wide = true
		start = write(wide, 0)
	}
	write(wide, start)
	w.raw(mdat)
	return w.buf
}

func mdatHeader(media int64) []byte {
	if media+8 <= math.MaxUint32 {
		return append(be.AppendUint32(nil, uint32(media+8)), "mdat"...)
	}
	return be.AppendUint64(append(be.AppendUint32(nil, 1), "mdat"...), uint64(media+16))
}

// writeMoov writes the clip's moov for media that begins at start. What is not
// about time or place is copied as it is.
func (c *clip) writeMoov(w *builder, wide bool, start int64) {
	w.box("moov", func() {
		tracks := false
		for b, err := range c.movie.box.children() {
			if err != nil {
				return // cannot be: the moov was read whole before
			}
			switch b.typ {
			case "mvhd":
				w.box("mvhd", func() { w.raw(c.movieHeader(b)) })
			case "trak":
				if !tracks {
					for i := range c.cuts {
						c.writeTrak(w, i, wide, start)
					}
				}
				tracks = true
			case "mvex":
			case "udta", "meta":
				w.raw(c.userData(b))
			default:
				w.raw(b.raw)
			}
		}
		for _, b := range c.systems {
			w.raw(b)
		}
		if c.fragmented {
			c.writeExtends(w)
		}
	})
}

// movieHeader returns the payload of the clip's mvhd. Its last field is the
// next free track ID.
func (c *clip) movieHeader(mvhd box) []byte {
	p := withDuration(mvhd, c.timescale, c.duration())
	next := be.Uint32(p[len(p)-4:])
	for _, cut := range c.cuts {
		if next != math.MaxUint32 {
			next = max(next, cut.id()+1)
		}
	}
	be.PutUint32(p[len(p)-4:], next)
	return p
}

// writeExtends writes the mvex: that fragments follow, and their defaults. The
// fragments of the clip state everything; those that are passed on as they are
// rely on the source's.
func (c *clip) writeExtends(w *builder) {
	w.box("mvex", func() {
		w.full("mehd", 1, 0, func() { w.u64(uint64(c.duration())) })
		for _, cut := range c.cuts {
			d := cut.track.defaults
			w.full("trex", 0, 0, func() {
				w.u32(cut.id())
				w.u32(max(d.description, 1))
				w.u32(d.duration * uint32(cut.refine))
				w.u32(d.size)
				w.u32(d.flags)
			})
		}
	})
}

func (c *clip) writeTrak(w *builder, i int, wide bool, start int64) {
	cut := c.cuts[i]
	edits := c.edits(cut)
	w.box("trak", func() {
		for b := range cut.track.box.children() {
			switch b.typ {
			case "tkhd":
				w.box("tkhd", func() { w.raw(cut.trackHeader(b, total(edits))) })
				writeEdits(w, edits)
			case "edts", "senc": // a senc is written with the sample tables
			case "tref":
				c.writeReferences(w, cut, b)
			case "mdia":
				c.writeMedia(w, i, b, wide, start)
			case "udta", "meta":
				w.raw(c.userData(b))
			default:
				w.raw(b.raw)
			}
		}
	})
}

// trackHeader returns the payload of a cut's tkhd.
func (c *cut) trackHeader(tkhd box, duration int64) []byte {
	p := withDuration(tkhd, 0, duration)
	at := 12
	if p[0] == 1 {
		at = 20
	}
	be.PutUint32(p[at:], c.id())
	return p
}

// writeReferences copies a cut's tref without the tracks that the clip lacks.
func (c *clip) writeReferences(w *builder, from *cut, tref box) {
	var kept builder
	for b := range tref.children() {
		var ids []byte
		for p := b.payload(); len(p) >= 4; p = p[4:] {
			if i := slices.IndexFunc(c.cuts, func(of *cut) bool { return of.source == from.source && of.track.id == be.Uint32(p) }); i >= 0 {
				ids = be.AppendUint32(ids, c.cuts[i].id())
			}
		}
		if len(ids) > 0 {
			kept.box(b.typ, func() { kept.raw(ids) })
		}
	}
	if len(kept.buf) > 0 {
		w.box("tref", func() { w.raw(kept.buf) })
	}
}

func (c *clip) writeMedia(w *builder, i int, mdia box, wide bool, start int64) {
	cut := c.cuts[i]
	w.box("mdia", func() {
		for b := range mdia.children() {
			switch b.typ {
			case "mdhd":
				w.box("mdhd", func() {
					header := withDuration(b, cut.timescale(), cut.mediaDuration())
					if code := packLanguage(cut.language); code != 0 {
						be.PutUint16(header[len(header)-4:], code)
					}
					w.raw(header)
				})
				if cut.language != "" {
					w.full("elng", 0, 0, func() { w.raw(append([]byte(cut.language), 0)) })
				}
			case "elng":
				if cut.language == "" {
					w.raw(b.raw)
				}
			case "minf":
				w.box("minf", func() {
					for b := range b.children() {
						if b.typ == "stbl" {
							c.writeTables(w, i, b, wide, start)
						} else {
							w.raw(b.raw)
						}
					}
				})
			default:
				w.raw(b.raw)
			}
		}
	})
}

// mediaDuration is the duration of all delivered samples, in the cut's
// timescale.
func (c *cut) mediaDuration() int64 { return c.decodeInClip(math.MaxInt64) }

// withDuration returns the payload of an mvhd, tkhd or mdhd with another
// duration and, unless it is 0, another timescale. A duration that does not fit
// makes it version 1 (ISO/IEC 14496-12 sections 8.2.2, 8.3.2, 8.4.2).
func withDuration(b box, timescale, duration int64) []byte {
	p := b.payload()
	var out []byte
	field := 4 // of the times
	if p[0] == 1 {
		field = 8
	}
	between := 4 // timescale, or in a tkhd the track's ID and 4 reserved bytes
	if b.typ == "tkhd" {
		between = 8
	}
	rest := p[4+2*field+between+field:]
	times := p[4 : 4+2*field]
	middle := slices.Clone(p[4+2*field : 4+2*field+between])
	if timescale != 0 {
		be.PutUint32(middle, uint32(timescale))
	}
	if p[0] == 1 || duration > math.MaxUint32-1 {
		out = append(out, 1)
		out = append(out, p[1:4]...)
		if p[0] == 0 {
			out = be.AppendUint64(out, uint64(be.Uint32(times)))
			out = be.AppendUint64(out, uint64(be.Uint32(times[4:])))
		} else {
			out = append(out, times...)
		}
		out = append(out, middle...)
		out = be.AppendUint64(out, uint64(duration))
		return append(out, rest...)
	}
	out = append(out, p[:4+2*field]...)
	out = append(out, middle...)
	out = be.AppendUint32(out, uint32(duration))
	return append(out, rest...)
}

// duration is the clip's, in its movie timescale: its longest track.
func (c *clip) duration() int64 {
	var longest int64
	for _, cut := range c.cuts {
		longest = max(longest, total(c.edits(cut)))
	}
	return longest
}

// total is how long edits last.
func total(edits []edit) int64 {
	var n int64
	for _, e := range edits {
		n += e.duration
	}
	return n
}

// edits returns the edit list of a cut in the clip: what of its samples is
// presented, so that the lead-in is not, in the clip's timescales.
func (c *clip) edits(cut *cut) []edit {
	var out []edit
	at := int64(0) // in the clip's presentation
	zero := cut.want.Start
	if c.original {
		zero = fragment.Time{}
	}
	add := func(e edit) {
		if e.duration > 0 {
			out = append(out, e)
			at += e.duration
		}
	}
	for _, p := range cut.pieces {
		p = cut.fromFirstPicture(cut.fromFirstSample(p))
		add(edit{duration: p.start.Sub(zero).Round(c.timescale) - at, mediaTime: -1, rate: 1})
		e := edit{rate: 1, mediaTime: c.mediaTime(cut, p)}
		if p.still {
			e.rate = 0
			e.duration = p.end.Sub(p.start).Round(c.timescale)
		} else {
			e.duration = ticksIn(p.to-p.from, cut.timescale(), c.timescale)
		}
		add(e)
	}
	return out
}

// fromFirstSample returns a piece that begins with its first sample, where the
// media begins later than the piece: nothing is presented until then.
func (c *cut) fromFirstSample(p piece) piece {
	if p.still || p.samples.from >= p.samples.to || c.holed && p.samples.from >= c.behind {
		return p
	}
	first, _, _ := c.track.tables.span(p.samples)
	if c.track.kind == formats.Audio { // demuxers give sound out by its decode time
		first = c.track.tables.decode(p.samples.from)
	}
	if first *= c.refine; first > p.from && first < p.to {
		p.start = p.start.Add(fragment.Ticks(first-p.from, c.timescale()))
		p.from = first
	}
	return p
}

// fromFirstPicture returns a piece of pictures that begins with the first one
// that belongs to it. The picture that is on screen at its beginning began
// before and is lead-in. An edit that starts in the middle of a picture would
// say the same, but many players then move all pictures to the edit's start and
// lose step with the sound. Before a sync sample the edit begins a tick early:
// demuxers would otherwise not give out the samples of the lead-in at all.
func (c *cut) fromFirstPicture(p piece) piece {
	if c.track.kind != formats.Video || p.still {
		return p
	}
	tables := c.track.tables
	at, sample := tables.firstPresented(p.samples, ceilDiv(p.from, c.refine))
	if c.holed && sample >= c.behind {
		return p // the first one is among what was not read
	}
	first := at * c.refine
	if sample < 0 || first >= p.to {
		return c.fromPictureUnderWay(p)
	}
	if first > p.from && tables.isSync(sample) {
		first--
	}
	if first > p.from && first < p.to {
		p.start = p.start.Add(fragment.Ticks(first-p.from, c.timescale()))
		p.from = first
	}
	return p
}

// fromPictureUnderWay returns a piece in which one picture stands throughout, moved
// to when that begins: it looks the same, and players that do not show pictures that
// begin before an edit show this one.
func (c *cut) fromPictureUnderWay(p piece) piece {
	at, sample := c.track.tables.underWay(p.samples, floorDiv(p.from, c.refine))
	if sample < 0 || c.holed {
		return p
	}
	by := p.from - at*c.refine
	p.from, p.to = p.from-by, p.to-by
	return p
}

// mediaTime returns where in the clip's media a piece begins.
func (c *clip) mediaTime(cut *cut, p piece) int64 {
	if c.fragmented {
		return max(0, p.from+cut.delta()*cut.refine+cut.lift)
	}
	first := p.samples.from
	return cut.decodeInClip(first) + p.from - cut.track.tables.decode(first)*cut.refine - cut.trimmed(first) + cut.lift
}

// writeEdits writes an edts.
func writeEdits(w *builder, edits []edit) {
	wide := slices.ContainsFunc(edits, func(e edit) bool {
		return e.duration > math.MaxUint32 || e.mediaTime > math.MaxInt32
	})
	version := uint8(0)
	if wide {
		version = 1
	}
	w.box("edts", func() {
		w.full("elst", version, 0, func() {
			w.u32(uint32(len(edits)))
			for _, e := range edits {
				if wide {
					w.u64(uint64(e.duration))
					w.u64(uint64(e.mediaTime))
				} else {
					w.u32(uint32(e.duration))
					w.u32(uint32(int32(e.mediaTime)))
				}
				w.u32(uint32(e.rate) << 16)
			}
		})
	})
}

// ticksIn converts ticks of one timescale to another, rounded to the nearest.
func ticksIn(n, from, to int64) int64 { return fragment.Ticks(n, from).Round(to) }
