package mp4

import "slices"

// traf is a track's share of a fragment that is being written.
type traf struct {
	cut     *cut
	samples sampleRange
	chunks  []placed
}

// trafs returns what the clip delivers of a fragment, by track.
func (c *clip) trafs(s section) ([]traf, error) {
	var out []traf
	for _, cut := range c.cuts {
		in, ok := s.samples[cut]
		if !ok {
			continue
		}
		for _, r := range cut.ranges {
			r.from, r.to = max(r.from, in.from), min(r.to, in.to)
			if r.from >= r.to {
				continue
			}
			chunks, err := cut.track.tables.chunksOf(r.from, r.to)
			if err != nil {
				return nil, err
			}
			for len(chunks) > 0 { // a traf has one sample description
				t := traf{cut: cut, samples: sampleRange{r.from, r.from}}
				for len(chunks) > 0 && (t.chunks == nil || chunks[0].description == t.chunks[0].description) {
					t.chunks = append(t.chunks, placed{chunk: chunks[0]})
					t.samples.to += chunks[0].samples
					chunks = chunks[1:]
				}
				r.from = t.samples.to
				out = append(out, t)
			}
		}
	}
	return out, nil
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
	s, r := t.cut.track.tables, t.samples
	d = fragmentDefaults{
		description: t.chunks[0].description, duration: uint32(t.duration(r.from)),
		size: uint32(s.size(r.from)), flags: s.flags(r.from),
	}
	if len(s.durations(r.from, r.to)) > 1 || len(s.gaps) > 0 {
		has |= trunDuration
	}
	if slices.ContainsFunc(s.offsets(r.from, r.to), func(o run) bool { return o.value != 0 }) {
		has |= trunOffset
	}
	bare := s.all && s.depends == nil && s.extras.padding == nil && s.extras.priorities == nil
	for i := r.from; i < r.to && (s.sizes != nil || !bare); i++ {
		if uint32(s.size(i)) != d.size {
			has |= trunSize
		}
		if s.flags(i) != d.flags {
			has |= trunFlags
		}
	}
	return d, has
}

// duration returns how long a sample of the traf lasts.
func (t *traf) duration(sample int64) int64 {
	s := t.cut.track.tables
	return s.duration(sample) - s.gaps[sample]
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
	w.full("tfdt", 1, 0, func() { w.u64(uint64(t.cut.decodeInFragments(t.samples.from))) })
	t.writeGroups(w)
	s := t.cut.track.tables
	sample := t.samples.from
	for _, ch := range t.joined() {
		w.full("trun", 1, trunDataOffset|has, func() {
			w.u32(uint32(ch.samples))
			w.u32(uint32(start + ch.at))
			for i := sample; has != 0 && i < sample+ch.samples; i++ {
				if has&trunDuration != 0 {
					w.u32(uint32(t.duration(i)))
				}
				if has&trunSize != 0 {
					w.u32(uint32(s.size(i)))
				}
				if has&trunFlags != 0 {
					w.u32(s.flags(i))
				}
				if has&trunOffset != 0 {
					w.u32(uint32(s.offset(i)))
				}
			}
		})
		sample += ch.samples
	}
	for _, p := range s.extras.parts {
		p.write(w, s.extras.first, []sampleRange{t.samples})
	}
	if s.aux != nil {
		s.aux.write(w, []sampleRange{t.samples}, func(at int) int64 { return int64(at) })
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
