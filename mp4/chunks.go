package mp4

import (
	"sort"
)

// chunk is a stretch of samples that lie behind one another in the file.
type chunk struct {
	offset      int64 // in the file
	size        int64 // in bytes
	samples     int64
	description uint32 // which stsd entry, counting from 1
}

// chunkCount returns the number of chunks.
func (s *sampleTables) chunkCount() int64 {
	if s.wide {
		return int64(len(s.chunks) / 8)
	}
	return int64(len(s.chunks) / 4)
}

// chunkOffset returns where a chunk begins in the file. Chunks count from 0.
func (s *sampleTables) chunkOffset(i int64) uint64 {
	if s.wide {
		return be.Uint64(s.chunks[8*i:])
	}
	return uint64(be.Uint32(s.chunks[4*i:]))
}

// stscEntry is a run of chunks with equally many samples.
type stscEntry struct {
	first, next int64 // chunks [first, next), counting from 0
	samples     int64 // in each
	description uint32
}

func (s *sampleTables) stscEntry(i int) stscEntry {
	e := stscEntry{
		first:       int64(be.Uint32(s.stsc[12*i:])) - 1,
		next:        s.chunkCount(),
		samples:     int64(be.Uint32(s.stsc[12*i+4:])),
		description: be.Uint32(s.stsc[12*i+8:]),
	}
	if i+1 < len(s.stsc)/12 {
		e.next = int64(be.Uint32(s.stsc[12*(i+1):])) - 1
	}
	return e
}

// eachChunk calls f for each chunk, with its first sample and its number of
// samples, until f returns false.
func (s *sampleTables) eachChunk(f func(chunk, first, samples int64) bool) {
	var sample int64
	for i := range len(s.stsc) / 12 {
		e := s.stscEntry(i)
		for c := e.first; c < e.next && sample < s.count; c++ {
			if !f(c, sample, e.samples) {
				return
			}
			sample += e.samples
		}
	}
}

// chunksOf returns the samples [from, to) as chunks, the first and the last of
// them cut.
func (s *sampleTables) chunksOf(from, to int64) ([]chunk, error) {
	var out []chunk
	i := sort.Search(len(s.stscMarks), func(i int) bool { return s.stscMarks[i].sample > from })
	if i == 0 {
		return nil, nil
	}
	sample := s.stscMarks[i-1].sample
	for n := s.stscMarks[i-1].entry; n < len(s.stsc)/12 && sample < to; n++ {
		e := s.stscEntry(n)
		c := e.first
		if e.samples > 0 && from > sample { // whole chunks before the wanted ones
			skip := min((from-sample)/e.samples, e.next-e.first)
			c, sample = c+skip, sample+skip*e.samples
		}
		for ; c < e.next && sample < to; c++ {
			first, last := max(sample, from), min(sample+e.samples, to)
			if first < last {
				off := s.chunkOffset(c)
				if off > 1<<62 {
					return nil, s.box.damaged(0, "chunk %d begins at byte %d", c+1, off)
				}
				out = append(out, chunk{
					offset:      int64(off) + s.bytesOf(sample, first),
					size:        s.bytesOf(first, last),
					samples:     last - first,
					description: e.description,
				})
			}
			sample += e.samples
		}
	}
	return out, nil
}

// markChunks checks the chunk table and marks where its entries begin. The
// samples that no chunk holds do not count.
func (s *sampleTables) markChunks() error {
	var sample int64
	for i := range len(s.stsc) / 12 {
		e := s.stscEntry(i)
		if e.first < 0 || e.next <= e.first && e.next < s.chunkCount() {
			return s.box.damaged(0, "stsc entry %d: chunk %d does not follow the ones before", i+1, e.first+1)
		}
		if i%marksEvery == 0 {
			s.stscMarks = append(s.stscMarks, runMark{entry: i, sample: sample})
		}
		if n := min(e.next, s.chunkCount()) - e.first; n > 0 {
			sample += n * e.samples
		}
		if sample >= s.count {
			return nil
		}
	}
	s.count = min(s.count, sample)
	return nil
}
