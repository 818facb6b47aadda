package mp4

import (
	"maps"
	"slices"
)

// sampleDepends are the bits of a sample's flags that an sdtp has.
const sampleDepends = 0xff << 20

// readExtras reads the tables of a track fragment that say something of single
// samples beside its runs. Depends is an sdtp, as Smooth Streaming has it.
func (t *trackFragment) readExtras(x *extras) (depends []byte, err error) {
	for c, err := range t.box.children() {
		if err != nil {
			return nil, err
		}
		if c.typ == "sdtp" {
			depends = c.payload()[min(4, len(c.payload())):]
		} else if _, err := x.read(c); err != nil {
			return nil, err
		}
	}
	return depends, nil
}

// partsBuilder gathers the entries of a subs, in version 1.
type partsBuilder struct {
	entries []byte
	n       int64
	last    int64 // the sample of the last entry
}

// addParts adds what is said of the parts of the next n samples.
func (b *stretch) addParts(x *extras, n int64) {
	for _, s := range x.parts {
		to := b.parts[s.flags]
		if to == nil {
			to = &partsBuilder{last: -1}
			b.parts[s.flags] = to
		}
		s.each(x.first, x.first+n, func(sample int64, entry []byte) {
			at := b.count + sample - x.first
			to.entries = be.AppendUint32(to.entries, uint32(at-to.last))
			to.entries = append(to.entries, s.widened(entry)...)
			to.last = at
			to.n++
		})
	}
}

// widened returns an entry in version 1, with sizes of 32 bits.
func (s *sampleParts) widened(entry []byte) []byte {
	if s.version == 1 {
		return entry
	}
	out := slices.Clone(entry[:2])
	for p := entry[2:]; len(p) > 0; p = p[s.stride():] {
		out = append(be.AppendUint32(out, uint32(be.Uint16(p))), p[2:s.stride()]...)
	}
	return out
}

// extras returns what was gathered of single samples.
func (b *stretch) extras() extras {
	var x extras
	if b.ranked {
		x.priorities = b.priorities
	}
	if b.padded {
		for i, p := range b.padding {
			if i%2 == 0 {
				x.padding = append(x.padding, p<<4)
			} else {
				x.padding[i/2] |= p
			}
		}
	}
	for _, flags := range slices.Sorted(maps.Keys(b.parts)) {
		from := b.parts[flags]
		s := &sampleParts{version: 1, flags: flags, entries: from.entries}
		s.mark(from.n, maxTicks)
		x.parts = append(x.parts, s)
	}
	return x
}
