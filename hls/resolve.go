package hls

import (
	"net/url"
	"strings"
)

// variables are what EXT-X-DEFINE defines (RFC 8216bis section 4.3).
type variables map[string]string

// longestLine is how long a line may become by its variables, in bytes.
const longestLine = 64 << 10

// expand replaces "{$name}" by the variable's value. What is not defined stays
// as it is; it then shows in the error about the name that it spoils.
func (v variables) expand(s string) string {
	if len(v) == 0 || !strings.Contains(s, "{$") {
		return s
	}
	var b strings.Builder
	for s != "" && b.Len() < longestLine {
		before, after, ok := strings.Cut(s, "{$")
		b.WriteString(before)
		if !ok {
			break
		}
		name, rest, closed := strings.Cut(after, "}")
		value, known := v[name]
		if !closed || !known {
			b.WriteString("{$")
			s = after
			continue
		}
		b.WriteString(value)
		s = rest
	}
	return b.String()
}

// define adds what an EXT-X-DEFINE tag defines: a value, one of the master
// playlist's, or a parameter of the playlist's own URI.
func (v variables) define(a attributes, imported variables, base *url.URL) {
	switch {
	case a.has("NAME"):
		v[a.get("NAME")] = a.get("VALUE")
	case a.has("IMPORT"):
		if value, ok := imported[a.get("IMPORT")]; ok {
			v[a.get("IMPORT")] = value
		}
	case a.has("QUERYPARAM"):
		name := a.get("QUERYPARAM")
		if value := base.Query(); value.Has(name) {
			v[name] = value.Get(name)
		}
	}
}

// undefined reports whether a URI still names a variable.
func undefined(uri string) bool { return strings.Contains(uri, "{$") }

// resolve returns the absolute form of a URI that stands in the playlist at
// base. Its query is its own, never that of the playlist.
func resolve(base *url.URL, ref string) (string, error) {
	u, err := url.Parse(ref)
	if err != nil { // such as "12:00.ts", or a stray '%'
		if u, err = url.Parse("./" + strings.ReplaceAll(ref, "%", "%25")); err != nil {
			return "", err
		}
	}
	return base.ResolveReference(u).String(), nil
}
