package seek

// Named is a request with the name of the resource that it is of.
type Named struct {
	Name string
	Request
}

// First returns what a [Reader] of the parts asks for when it begins, of which
// nothing waits for anything else. Whoever knows parts before the plan that they
// belong to can ask for them at once, and give the Reader those answers. Of a part
// that is rewritten it is what a Rewriter asks for that reads it from its beginning
// to its end.
func First(parts []Part, parallel int) ([]Named, error) {
	if parallel <= 0 {
		parallel = DefaultParallel
	}
	units, _, err := schedule(parts, parallel)
	if err != nil {
		return nil, err
	}
	var out []Named
	for i, running := 0, 0; i < len(units); i++ {
		u := &units[i]
		ranges := min(u.ranges, parallel)
		if running += ranges; running > parallel {
			break
		}
		for _, r := range u.requests(ranges) {
			out = append(out, Named{u.resource.Name, Request{r, u.purpose, u.note}})
		}
	}
	return out, nil
}

// requests returns the ranges that a unit is fetched by, so many at a time.
func (u *unit) requests(ranges int) []Range {
	switch {
	case u.ranges == 0:
		return nil
	case u.part == nil:
		return []Range{spanOf(u.in(u.lo, u.hi))}
	case u.part.Length < 0 || ranges == 1:
		return []Range{u.part.Range}
	}
	var out []Range
	whole := unit{hi: u.part.Length, ranges: 1, pieces: []piece{{Range: u.part.Range}}}
	for _, s := range share([]unit{whole}, ranges) {
		out = append(out, spanOf(s.in(s.lo, s.hi)))
	}
	return out
}
