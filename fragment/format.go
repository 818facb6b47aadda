package fragment

import (
	"math/big"
	"strconv"
	"strings"
)

// String returns the canonical text of f, without '#': its dimensions in their
// Order, those that Order does not name after them as t, xywh, track, id. Reading
// it gives the same dimensions. What could not be read back is not written: a
// TimeRange or Region that is not valid, a name that is empty.
func (f Fragment) String() string {
	left := f.values()
	var pairs []Pair
	take := func(name string) {
		if values := left[name]; len(values) > 0 {
			pairs = append(pairs, Pair{name, values[0]})
			left[name] = values[1:]
		}
	}
	for _, name := range f.Order {
		take(name)
	}
	for _, name := range []string{nameTime, nameSpace, nameTrack, nameID} {
		for len(left[name]) > 0 {
			take(name)
		}
	}
	return Encode(pairs...)
}

// values returns what is to be written for each dimension.
func (f Fragment) values() map[string][]string {
	values := map[string][]string{}
	add := func(name, value string) {
		if value != "" {
			values[name] = append(values[name], value)
		}
	}
	if f.Time != nil {
		add(nameTime, f.Time.String())
	}
	if f.Space != nil {
		add(nameSpace, f.Space.String())
	}
	for _, track := range f.Tracks {
		add(nameTrack, track)
	}
	if f.ID != nil {
		add(nameID, *f.ID)
	}
	return values
}

// String returns the value of a temporal dimension in its canonical form:
// "10,20", "10", or, where StartOmitted is set, ",20"; a time is the shortest
// exact decimal number of seconds. It is empty where there is nothing that
// could be read back: both bounds omitted, an empty interval, a start before 0,
// a scheme other than NPT.
//
// A bound that no decimal names exactly, such as a frame's 1001/30000 s, is
// rounded down to the nanosecond, the start and the end alike: a frame that
// begins at the one stays in, and one that begins at the other stays out.
func (r TimeRange) String() string {
	start, end := written(r.Start), ""
	if !r.Open {
		end = written(r.End)
	}
	switch {
	case r.Unit != NPT || r.Start.Sign() < 0 || r.Empty() || start == end:
		return ""
	case r.StartOmitted && start == "0":
		start = ""
	}
	if r.Open {
		return start
	}
	return start + "," + end
}

// written returns t as the shortest exact decimal, or else rounded down.
func written(t Time) string {
	if _, exact := t.fractionDigits(); exact {
		return t.String()
	}
	const nanosecond = 1e9
	down := floor(t.ticks(nanosecond))
	return Time{new(big.Rat).SetFrac(down, big.NewInt(nanosecond))}.String()
}

// String returns the value of a spatial dimension in its canonical form
// (section 4.2.2): "160,120,320,240" in pixels, "percent:25,25,50,50" in
// percent. It is empty for a box that is not valid: with a negative corner, or
// without width or height.
func (r Region) String() string {
	if r.X < 0 || r.Y < 0 || r.W <= 0 || r.H <= 0 {
		return ""
	}
	var numbers [4]string
	for i, n := range [4]int64{r.X, r.Y, r.W, r.H} {
		numbers[i] = strconv.FormatInt(n, 10)
	}
	text := strings.Join(numbers[:], ",")
	if r.Percent {
		return "percent:" + text
	}
	return text
}
