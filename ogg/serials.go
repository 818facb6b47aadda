package ogg

// serials gives the streams of a clip their serial numbers, which must differ also
// between the links of a chained file (RFC 3533, section 4): where the original has
// one again, it gets another.
type serials struct {
	link *link
	used map[uint32]bool   // by the links before
	as   map[uint32]uint32 // of this link
}

// of returns the number in the clip of a stream of the link.
func (s *serials) of(serial uint32) uint32 {
	if as, ok := s.as[serial]; ok {
		return as
	}
	as := serial
	for s.used[as] || as != serial && s.link.has(as) {
		as++
	}
	s.used[as], s.as[serial] = true, as
	return as
}

// again reports whether the link has serial numbers that the links before have.
func (s *serials) again() bool {
	for n := range s.used {
		if s.link.has(n) {
			return true
		}
	}
	return false
}

// keep notes the numbers of a link that is delivered as it is.
func (s *serials) keep() {
	for _, t := range s.link.streams {
		s.used[t.serial] = true
	}
	for _, o := range s.link.others {
		s.used[o.serial] = true
	}
	if k := s.link.skeleton; k != nil {
		s.used[k.serial] = true
	}
}
