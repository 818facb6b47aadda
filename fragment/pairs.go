package fragment

import (
	"strings"
	"unicode/utf8"
)

// Pair is one name=value of a fragment, percent-decoded and valid UTF-8.
type Pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Reasons why a pair is dropped before its name is looked at.
const (
	badPercent = "bad percent-encoding: two hexadecimal digits must follow each '%'; a percent sign itself is written %25"
	badUTF8    = "not UTF-8 once percent-decoded"
)

// parsePair reads one component of a fragment as section 5.1.1 says: it is
// separated at its first '=' before anything is decoded, so that an encoded
// '=' is data. A component without '=' is a name with an empty value. Where
// reason is not empty the component gives no pair. '+' is an ordinary
// character.
func parsePair(component string) (p Pair, reason string) {
	name, value, _ := strings.Cut(component, "=")
	var ok bool
	if p.Name, ok = unescape(name); ok {
		p.Value, ok = unescape(value)
	}
	switch {
	case !ok:
		return Pair{}, badPercent
	case !utf8.ValidString(p.Name) || !utf8.ValidString(p.Value):
		return Pair{}, badUTF8
	}
	return p, ""
}

// unescape decodes %XX; ok is false where a '%' does not begin one.
func unescape(s string) (decoded string, ok bool) {
	if !strings.Contains(s, "%") {
		return s, true
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			out = append(out, s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		high, low := hexValue(s[i+1]), hexValue(s[i+2])
		if high < 0 || low < 0 {
			return "", false
		}
		out = append(out, byte(high<<4|low))
		i += 2
	}
	return string(out), true
}

func hexValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// Encode writes pairs, in their order, as the text of a fragment or query:
// reading it gives the same pairs. Only what RFC 3986 or section 5.1.1 does not
// let stand is percent-encoded. Text that is not UTF-8 gets U+FFFD in place of
// the bad octets, since a reader would drop the whole pair.
func Encode(pairs ...Pair) string {
	var b strings.Builder
	for i, p := range pairs {
		if i > 0 {
			b.WriteByte('&')
		}
		escape(&b, p.Name)
		b.WriteByte('=')
		escape(&b, p.Value)
	}
	return b.String()
}

func escape(b *strings.Builder, s string) {
	const hex = "0123456789ABCDEF"
	s = strings.ToValidUTF8(s, "\uFFFD")
	for i := 0; i < len(s); i++ {
		if c := s[i]; standsRaw(c) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
}

// standsRaw reports whether c may stand for itself in a name or value: the
// characters of RFC 3986's fragment and query, without the two separators.
func standsRaw(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', isDigit(c):
		return true
	}
	return strings.IndexByte("-._~!$'()*+,;:@/?", c) >= 0
}
