package mp4

import (
	"math/bits"
	"slices"
)

// traf is a track's share of a fragment that is being written.
type traf struct {
	cut    *cut
	ranges []sampleRange // of its samples; between them some are left out
	chunks []placed
}

// trafs returns what the clip delivers of a fragment, by track. A traf has one
// sample description, and samples that follow one another closely.
func (c *clip) trafs(s section) ([]traf, error) {
	var out []traf
	for _, cut := range c.cuts {
		chunks, err := cut.chunksWithin(s.samples[cut]) // none where the fragment has none
		if err != nil {
			return nil, err
		}
		var t *traf
		for _, ch := range chunks {
			if t == nil || t.chunks[0].description != ch.description || ch.of.from-t.end() > maxReorder {
				out = append(out, traf{cut: cut})
				t = &out[len(out)-1]
			}
			t.add(ch.chunk, ch.of.from)
		}
	}
	return out, nil
}

// add adds a chunk that begins with a sample.
func (t *traf) add(ch chunk, sample int64) {
	t.chunks = append(t.chunks, t.cut.placed(ch, sample)...)
	if n := len(t.ranges) - 1; n >= 0 && t.ranges[n].to == sample {
		t.ranges[n].to += ch.samples
		return
	}
	t.ranges = append(t.ranges, sampleRange{sample, sample + ch.samples})
}

// first is the traf's first sample, end the one behind its last.
func (t *traf) first() int64 { return t.ranges[0].from }
func (t *traf) end() int64   { return t.ranges[len(t.ranges)-1].to }

// each calls f for each sample, with how long it lasts in the cut's timescale:
// until the next one also where some are left out between.
func (t *traf) each(f func(sample, duration int64)) {
	s := t.cut.track.tables
	for n, r := range t.ranges {
		for i := r.from; i < r.to; i++ {
			lasts := s.duration(i) - s.gaps[i]
			if i == r.to-1 && n+1 < len(t.ranges) {
				lasts = s.decode(t.ranges[n+1].from) - s.decode(i)
			}
			f(i, t.cut.lasts(i, lasts))
		}
	}
}

// lasts returns how long a sample lasts in a fragmented clip, in the cut's
// timescale, by how long it does in the track's.
func (c *cut) lasts(sample, ticks int64) int64 {
	ticks = ticks*c.refine - c.trimmed(sample)
	if n := len(c.ranges); n > 0 && sample == c.ranges[n-1].to-1 {
		ticks -= c.trimEnd
	}
	return max(0, ticks)
}

// moof writes a fragment's moof and the header of its mdat.
func (c *clip) moof(s section, trafs []traf, media int64) []byte {
	mdat := mdatHeader(media)
	var w builder
	for range 2 { // the second time, its own length is known
		start := int64(len(w.buf) + len(mdat))
		w.buf = nil
		w.box("moof", func() {
			w.full("mfhd", 0, 0, func() { w.u32(s.number) })
			w.raw(s.systems)
			for i := range trafs {
				w.box("traf", func() { trafs[i].write(&w, start) })
			}
		})
	}
	w.raw(mdat)
	return w.buf
}

// uniform returns what all samples of a traf share; has are the fields of a trun
// that have to be written because they do not.
func (t *traf) uniform() (d fragmentDefaults, has uint32) {
	s, first := t.cut.track.tables, t.first()
	d = fragmentDefaults{
		description: t.chunks[0].description, duration: uint32(t.cut.lasts(first, s.duration(first)-s.gaps[first])),
		size: uint32(s.size(first)), flags: s.flags(first),
	}
	trimmed := t.cut.trimStart != 0 || t.cut.trimEnd != 0
	if len(s.durations(first, t.end())) > 1 || len(s.gaps) > 0 || len(t.ranges) > 1 || trimmed {
		has |= trunDuration
	}
	if t.cut.lift != 0 || slices.ContainsFunc(s.offsets(first, t.end()), func(o run) bool { return o.value != 0 }) {
		has |= trunOffset
	}
	if s.sizes == nil && s.all && s.depends == nil && s.extras.padding == nil && s.extras.priorities == nil {
		return d, has // millions, in the case of PCM
	}
	t.each(func(sample, _ int64) {
		if uint32(s.size(sample)) != d.size {
			has |= trunSize
		}
		if s.flags(sample) != d.flags {
			has |= trunFlags
		}
	})
	return d, has
}

// write writes the boxes of a traf whose samples are in an mdat that begins at
// start, from the moof on.
func (t *traf) write(w *builder, start int64) {
	d, has := t.uniform()
	w.full("tfhd", 0, tfhdBaseIsMoof|tfhdDescription|tfhdDuration|tfhdSize|tfhdFlags, func() {
		w.u32(t.cut.id())
		w.u32(d.description)
		w.u32(d.duration)
		w.u32(d.size)
		w.u32(d.flags)
	})
	w.full("tfdt", 1, 0, func() { w.u64(uint64(t.cut.decodeInFragments(t.first()))) })
	t.writeGroups(w)
	t.writeRuns(w, has, start)
	s := t.cut.track.tables
	for _, p := range s.extras.parts {
		p.write(w, s.extras.first, t.ranges)
	}
	if s.aux != nil {
		s.aux.write(w, t.cut.track, t.ranges)
	}
}

// writeRuns writes the truns of a traf, with the given fields of each sample.
func (t *traf) writeRuns(w *builder, has uint32, start int64) {
	s := t.cut.track.tables
	var fields []byte
	if has != 0 {
		t.each(func(sample, duration int64) {
			for _, f := range [...]struct {
				flag  uint32
				value uint32
			}{
				{trunDuration, uint32(duration)}, {trunSize, uint32(s.size(sample))},
				{trunFlags, s.flags(sample)}, {trunOffset, uint32(s.offset(sample)*t.cut.refine + t.cut.lift)},
			} {
				if has&f.flag != 0 {
					fields = be.AppendUint32(fields, f.value)
				}
			}
		})
	}
	stride := int64(4 * bits.OnesCount32(has))
	for _, ch := range t.joined() {
		w.full("trun", 1, trunDataOffset|has, func() {
			w.u32(uint32(ch.samples))
			w.u32(uint32(start + ch.at))
			w.raw(fields[:ch.samples*stride])
		})
		fields = fields[ch.samples*stride:]
	}
}

// joined returns the traf's chunks, those in one that follow one another in the
// clip.
func (t *traf) joined() []placed {
	var out []placed
	for _, ch := range t.chunks {
		if n := len(out) - 1; n >= 0 && out[n].at+out[n].size == ch.at {
			out[n].size += ch.size
			out[n].samples += ch.samples
			continue
		}
		out = append(out, ch)
	}
	return out
}

// flags returns a sample's flags as fragments have them.
func (s *sampleTables) flags(sample int64) uint32 {
	flags := s.extras.flags(sample)
	if sample < int64(len(s.depends)) {
		flags |= uint32(s.depends[sample]) << 20
	}
	if !s.isSync(sample) {
		flags |= sampleNonSync
	}
	return flags
}
