package hls

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
)

// attribute is one of an attribute list (RFC 8216 section 4.2).
type attribute struct {
	name, value string // the value without quotes
	quoted      bool
}

// attributes is an attribute list in its order. It is read leniently: what has
// no '=' is skipped, a missing closing quote ends with the line.
type attributes []attribute

// parseAttributes reads an attribute list.
func parseAttributes(s string) attributes {
	var out attributes
	for s != "" {
		name, rest, ok := strings.Cut(s, "=")
		if comma := strings.LastIndexByte(name, ','); comma >= 0 {
			name = name[comma+1:] // something without a value stood before it
		}
		if !ok {
			break
		}
		a := attribute{name: strings.ToUpper(strings.TrimSpace(name))}
		rest = strings.TrimLeft(rest, " \t")
		if strings.HasPrefix(rest, `"`) {
			a.quoted = true
			a.value, rest, _ = strings.Cut(rest[1:], `"`)
			_, s, _ = strings.Cut(rest, ",")
		} else {
			a.value, s, _ = strings.Cut(rest, ",")
			a.value = strings.TrimRight(a.value, " \t\"")
		}
		if a.name != "" {
			out = append(out, a)
		}
	}
	return out
}

// get returns the value of an attribute, "" where there is none.
func (a attributes) get(name string) string {
	for _, x := range a {
		if x.name == name {
			return x.value
		}
	}
	return ""
}

// has reports whether an attribute is there.
func (a attributes) has(name string) bool {
	for _, x := range a {
		if x.name == name {
			return true
		}
	}
	return false
}

// yes reports whether an enumerated attribute is YES.
func (a attributes) yes(name string) bool { return a.get(name) == "YES" }

// number returns a decimal integer, 0 where there is none.
func (a attributes) number(name string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(a.get(name)), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// seconds returns a decimal number of seconds; ok is false where there is none.
func (a attributes) seconds(name string) (d time.Duration, ok bool) {
	return parseSeconds(a.get(name))
}

// date returns a date; ok is false where there is none.
func (a attributes) date(name string) (t time.Time, ok bool) { return parseDate(a.get(name)) }

// String writes the list as a playlist does.
func (a attributes) String() string {
	var b strings.Builder
	for i, x := range a {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(x.name + "=")
		if x.quoted {
			b.WriteString(`"` + strings.ReplaceAll(x.value, `"`, "") + `"`)
		} else {
			b.WriteString(x.value)
		}
	}
	return b.String()
}

// longest is the longest time that a playlist may state: more cannot be meant.
const longest = 100 * 365 * 24 * time.Hour

// parseSeconds reads a decimal number of seconds, with a sign where it has one.
// Digits beyond nanoseconds are dropped. What is no number, or longer than a
// century, is none.
func parseSeconds(s string) (d time.Duration, ok bool) {
	s = strings.TrimSpace(s)
	s, negative := strings.CutPrefix(s, "-")
	whole, fraction, _ := strings.Cut(s, ".")
	if whole == "" && fraction == "" {
		return 0, false
	}
	n, err := strconv.ParseUint("0"+whole, 10, 62)
	if err != nil || n > uint64(longest/time.Second) {
		return 0, false
	}
	d = time.Duration(n) * time.Second
	unit := time.Second
	for _, c := range []byte(fraction) {
		if c < '0' || c > '9' {
			return 0, false
		}
		unit /= 10
		d += time.Duration(c-'0') * unit
	}
	if negative {
		d = -d
	}
	return d, true
}

// dateLayouts are the forms of ISO 8601 that are seen in playlists; a time
// without a zone is taken for UTC.
var dateLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999-0700", "2006-01-02T15:04:05.999999999-07", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00"}

// parseDate reads an absolute date and time.
func parseDate(s string) (t time.Time, ok bool) {
	s = strings.TrimSpace(s)
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// parseIV reads an initialization vector, a hexadecimal number of up to 128
// bits; ok is false where there is none.
func parseIV(s string) (iv [16]byte, ok bool) {
	if len(s) > 1 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
		s = s[2:]
	}
	if s == "" || len(s) > 32 {
		return iv, false
	}
	if _, err := hex.Decode(iv[:], []byte(strings.Repeat("0", 32-len(s))+s)); err != nil {
		return iv, false
	}
	return iv, true
}

// with returns the list with one attribute set, in its place or at the end.
func (a attributes) with(name, value string, quoted bool) attributes {
	out := slices.Clone(a)
	for i := range out {
		if out[i].name == name {
			out[i] = attribute{name, value, quoted}
			return out
		}
	}
	return append(out, attribute{name, value, quoted})
}

// without returns the list without an attribute.
func (a attributes) without(name string) attributes {
	return slices.DeleteFunc(slices.Clone(a), func(x attribute) bool { return x.name == name })
}
