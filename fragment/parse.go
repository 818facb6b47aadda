package fragment

import (
	"fmt"
	"strings"
)

// Names of the four dimensions (section 4.2). They are case-sensitive.
const (
	nameTime  = "t"
	nameSpace = "xywh"
	nameTrack = "track"
	nameID    = "id"
)

// Parse reads the text of a fragment or query, without its '#' or '?'
// (section 5.1). It never fails: what is not valid becomes a warning, in the
// order of the text, and so does an occurrence of a dimension that a later one
// replaces.
func Parse(text string) Fragment {
	var f Fragment
	if text == "" {
		return f
	}
	components := strings.Split(text, "&")
	reasons := make([]string, len(components)) // why a component is ignored; "": it is not
	last := -1                                 // the temporal dimension that counts so far
	for i, component := range components {
		pair, reason := parsePair(component)
		if reason != "" {
			reasons[i] = reason
			continue
		}
		f.Pairs = append(f.Pairs, pair)
		if pair.Name != nameTime {
			reasons[i] = otherName(pair)
			continue
		}
		r, err := parseTime(pair.Value)
		if err != nil {
			reasons[i] = err.Error()
			continue
		}
		if last >= 0 { // section 5.1.2: the last valid occurrence counts
			reasons[last] = fmt.Sprintf("replaced by %q: only the last valid t counts", shorten(component))
		}
		f.Time, last = r, i
	}
	if f.Time != nil {
		f.Order = []string{nameTime}
	}
	for i, reason := range reasons {
		if reason != "" {
			f.Warnings = append(f.Warnings, Warning{Pair: components[i], Reason: reason})
		}
	}
	return f
}

// parseTime reads the value of a temporal dimension in any scheme.
func parseTime(value string) (*TimeRange, error) {
	scheme, rest, ok := strings.Cut(value, ":")
	if !ok || !isScheme(scheme) {
		return parseNPT(value)
	}
	switch Unit(scheme) {
	case NPT:
		return parseNPT(rest)
	case SMPTE, SMPTE25, SMPTE30, SMPTE30Drop:
		return nil, fmt.Errorf("SMPTE timecodes are not yet supported; write seconds, as in t=10,20")
	case Clock:
		return nil, fmt.Errorf("wall-clock times are not yet supported; write seconds, as in t=10,20")
	}
	return nil, fmt.Errorf("%q is not a time scheme; npt, smpte, smpte-25, smpte-30, smpte-30-drop and clock are", shorten(scheme))
}

// isScheme reports whether s is meant as the name of a time scheme, as opposed
// to the hours of a time or to text before a comma.
func isScheme(s string) bool {
	for i := 0; i < len(s); i++ {
		letter := 'a' <= s[i]|0x20 && s[i]|0x20 <= 'z'
		if !letter && (i == 0 || !isDigit(s[i]) && s[i] != '-') {
			return false
		}
	}
	return s != ""
}

// otherName says why a pair that is not a temporal dimension is ignored.
func otherName(p Pair) string {
	const unknown = "not a media fragment dimension"
	switch p.Name {
	case nameSpace, nameTrack, nameID:
		return p.Name + " is not yet supported"
	case "":
		if p.Value == "" {
			return "an '&' with nothing beside it"
		}
		return "no name stands before the '='"
	}
	switch lower := strings.ToLower(shorten(p.Name)); lower {
	case nameTime, nameSpace, nameTrack, nameID:
		return unknown + "; names are in lower case: " + lower
	}
	if p.Value != "" {
		return unknown
	}
	if name, _, ok := strings.Cut(p.Name, "="); ok {
		switch name {
		case nameTime, nameSpace, nameTrack, nameID:
			return unknown + "; the '=' after " + name + " must not be percent-encoded"
		}
	}
	if _, err := parseTime(p.Name); err == nil {
		return unknown + "; a time needs its name: t=" + shorten(p.Name)
	}
	return unknown
}
