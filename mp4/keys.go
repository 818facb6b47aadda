package mp4

import (
	"bytes"
	"slices"
)

// groupKey is the type of groups whose samples have a key of their own (ISO/IEC
// 23001-7 section 6).
const groupKey = "seig"

// vectors returns a function that tells how long the samples' initialization
// vectors are: as their group says, else the track.
func (s *sampleTables) vectors(e *sampleEntry) func(sample int64) int {
	for _, g := range s.groups {
		if g.typ != groupKey {
			continue
		}
		return func(sample int64) int {
			if i := int(g.index(sample)); i >= 1 && i <= len(g.entries) && len(g.entries[i-1]) >= 4 {
				return int(g.entries[i-1][3])
			}
			return e.ivSize
		}
	}
	return func(int64) int { return e.ivSize }
}

// vectors is the same of the next samples, whose groups are known.
func (b *stretch) vectors() func(sample int64) int {
	s := &sampleTables{}
	for _, g := range b.groups {
		if g.typ == groupKey {
			of := *g
			of.samples = grouped(b.grouped[g])
			s.groups = append(s.groups, &of)
		}
	}
	of := s.vectors(&b.track.entry)
	first := b.count
	return func(sample int64) int { return of(first + sample) }
}

// systems returns the boxes that say for the clip how to come by its keys, where
// they change from fragment to fragment.
func (b box) systems() [][]byte {
	var out [][]byte
	for c, err := range b.children() {
		if err == nil && c.typ == "pssh" {
			out = append(out, c.raw)
		}
	}
	return out
}

// takeSystems takes those boxes out of fragments, each once, for a clip with one
// moov.
func (c *clip) takeSystems(fragments []*moof) {
	have := c.movie.box.systems()
	for _, m := range fragments {
		for _, b := range m.box.systems() {
			if !slices.ContainsFunc(have, func(h []byte) bool { return bytes.Equal(b, h) }) {
				have = append(have, b)
				c.systems = append(c.systems, b)
			}
		}
	}
}

// encryptedWarning is what a clip of encrypted media says.
const encryptedWarning = "track %d is encrypted and stays so: the clip needs the original's keys"

// readScheme reads what a sinf says of how samples are encrypted.
func (e *sampleEntry) readScheme(sinf box) {
	e.encrypted = true
	if frma, ok, err := sinf.child("frma"); err == nil && ok && len(frma.payload()) >= 4 {
		e.format = string(frma.payload()[:4])
	}
	schi, ok, err := sinf.child("schi")
	if err != nil || !ok {
		return
	}
	if tenc, ok, err := schi.child("tenc"); err == nil && ok && len(tenc.payload()) >= 8 {
		e.ivSize = int(tenc.payload()[7])
	}
}
