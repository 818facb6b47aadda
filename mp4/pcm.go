package mp4

// pcmFrame returns how many bytes a frame of QuickTime's PCM is long: a sample of
// each channel. It is 0 for all other sound.
func (e *sampleEntry) pcmFrame() int64 {
	bits := 0
	switch e.format {
	case "raw ", "NONE", "sowt", "twos", "lpcm":
		bits = e.bits
	case "ulaw", "alaw":
		bits = 8
	case "in24":
		bits = 24
	case "in32", "fl32":
		bits = 32
	case "fl64":
		bits = 64
	}
	if bits <= 0 || bits%8 != 0 || e.channels <= 0 {
		return 0
	}
	return int64(bits/8) * int64(e.channels)
}

// inFrames returns the track with a sample for each frame of its PCM, as
// progressive QuickTime files have them, where fragments have many in one: readers
// of those files take a sample of one description for a frame. A track that is not
// of such PCM, or not throughout, is returned as it is.
func (t *track) inFrames() *track {
	frame, s := t.entry.pcmFrame(), t.tables
	if frame == 0 || t.entry.encrypted || s.count == 0 || s.oneSize == frame {
		return t
	}
	sample := int64(0)
	for _, d := range s.durations(0, s.count) {
		for ; d.count > 0; d.count-- {
			if s.size(sample) != d.value*frame {
				return t
			}
			sample++
		}
	}
	chunks, err := s.chunksOf(0, s.count)
	if err != nil {
		return t
	}
	var b stretch
	count := int64(0)
	for _, c := range chunks {
		if n := c.size / frame; n > 0 {
			b.addChunk(c.offset, n, c.description)
			count += n
		}
	}
	out := *t
	out.tables = &sampleTables{box: s.box, count: count, start: s.start, all: true, oneSize: frame, chunks: b.chunks, wide: true, stsc: b.stsc}
	out.tables.stts, _ = newRunTable(encodeRuns([]run{{count, 1}}), false)
	if out.tables.markChunks() != nil || out.tables.count != count {
		return t
	}
	return &out
}
