package webm

import (
	"maps"
	"slices"
)

// seekHead reads a SeekHead whose body is at hand, or remembers it.
func (o *opening) seekHead(e element) {
	b := o.peek(e.body())
	if e.size == unknownSize || e.size > maxGuess {
		return
	}
	if int64(len(b)) < e.size {
		o.second = append(o.second, e)
		return
	}
	each(o.m.doc.lengths, e, b[:e.size], func(x element, b []byte) {
		if x.id != idSeek {
			return
		}
		var id uint32
		pos := int64(-1)
		each(o.m.doc.lengths, x, b, func(y element, b []byte) {
			switch y.id {
			case idSeekID:
				if len(b) <= 4 {
					id = uint32(uintOf(b))
				}
			case idSeekPosition:
				pos = ticksOf(b)
			}
		})
		at := o.m.segment.body() + pos
		if pos < 0 || !isLevel1(id) || id == idCluster || o.seen[at] || at >= o.limit() || o.tells[id] >= maxTold {
			return
		}
		o.told[at] = id
		o.tells[id]++
	})
}

// resolve looks at the told places that are at hand; those that lie are dropped.
func (o *opening) resolve() {
	for again := true; again; {
		again = false
		for _, at := range slices.Sorted(maps.Keys(o.told)) {
			id, b := o.told[at], o.peek(at)
			if len(b) < maxHeader && at+int64(len(b)) < o.limit() {
				continue
			}
			delete(o.told, at)
			e, err := o.m.doc.parse(b, at)
			if err != nil || e.id != id || e.size == unknownSize && e.id != idCluster || e.end() > o.m.segment.end() {
				o.m.warn("a SeekHead points to %s at byte %d, where there is none", element{id: id}, at)
				continue
			}
			again = true
			o.note(e)
		}
	}
}

// searchTail looks in the last bytes for elements that follow each other up to
// the end exactly, such as Cues that no SeekHead tells of.
func (o *opening) searchTail() {
	size := o.m.w.Info().Size
	if size <= headSize {
		return
	}
	data := o.peek(max(0, size-headSize))
	end := o.limit()
	base := size - int64(len(data))
	for i := 0; i+maxHeader < len(data) && base+int64(i) < end; i++ {
		e, err := o.m.doc.parse(data[i:], base+int64(i))
		if err != nil || !isLevel1(e.id) || e.id == idCluster || e.size == unknownSize {
			continue
		}
		if chain := o.chain(e, end); chain != nil {
			for _, e := range chain {
				if !o.seen[e.offset] && e.id != idVoid {
					o.note(e)
				}
			}
			return
		}
	}
}

// maxChain is the most elements that are looked for at the end of a file.
const maxChain = 32

// chain returns the elements from e on if they end at end exactly.
func (o *opening) chain(e element, end int64) []element {
	chain := []element{e}
	for e.end() < end {
		if len(chain) >= maxChain {
			return nil
		}
		next, err := o.m.doc.parse(o.peek(e.end()), e.end())
		if err != nil || !isLevel1(next.id) && next.id != idVoid || next.size == unknownSize {
			return nil
		}
		e = next
		chain = append(chain, e)
	}
	if e.end() != end {
		return nil
	}
	return chain
}
