package main

import (
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mediafrag/mediafrag/fragment"
)

// maxName is the longest file name that is derived from a URI, in bytes. File
// systems allow 255; the rest is for the temporary name beside it.
const maxName = 200

// clipName derives a clip's file name from its URI: the last segment, decoded
// and made safe, with what was selected before the extension.
func clipName(t *target) string {
	name := safeName(lastSegment(t.resource))
	ext := extension(name)
	stem, what := strings.TrimSuffix(name, ext), selected(t.fragment)
	if stem == "" {
		stem = "media"
	}
	what = cut(what, maxName/2)
	return cut(stem, maxName-len(what)-len(ext)) + what + ext
}

// lastSegment returns the last segment of a path or of a URI's path, decoded.
func lastSegment(resource string) string {
	scheme := anyScheme.FindString(resource)
	if scheme == "" {
		return filepath.Base(resource)
	}
	path := strings.TrimPrefix(resource[len(scheme):], "//")
	hasHost := len(path) < len(resource)-len(scheme)
	path, _, _ = strings.Cut(path, "?")
	segment := path[strings.LastIndexByte(path, '/')+1:]
	if hasHost && !strings.Contains(path, "/") {
		segment = "" // that is the host
	}
	if decoded, err := url.PathUnescape(segment); err == nil {
		return decoded
	}
	return segment
}

// anyScheme finds the scheme of a URI. One letter is a drive.
var anyScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:`)

// extension returns the extension with its dot: a few letters and digits, or
// nothing.
func extension(name string) string {
	ext := filepath.Ext(name)
	if len(ext) < 2 || len(ext) > 10 || strings.ContainsFunc(ext[1:], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		return ""
	}
	return ext
}

// selected says in a file name what was selected: ".t60-100", ".t60" with an
// open end, ".track-audio", nothing for the whole.
func selected(f fragment.Fragment) string {
	var b strings.Builder
	if f.Time != nil {
		b.WriteString(".t" + seconds(f.Time.Start))
		if !f.Time.Open {
			b.WriteString("-" + seconds(f.Time.End))
		}
	}
	for _, track := range f.Tracks {
		b.WriteString(".track-" + safeName(track))
	}
	if f.ID != nil {
		b.WriteString(".id-" + safeName(*f.ID))
	}
	return b.String()
}

// safeName returns name as one that any file system and shell takes: no
// separators, control or invisible characters, no dots or spaces at its ends,
// no '-' in front, none of Windows' device names.
func safeName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError, strings.ContainsRune(`/\:*?"<>|`, r), !unicode.IsPrint(r):
			return '_'
		}
		return r
	}, name)
	name = strings.Trim(name, ". ")
	if strings.HasPrefix(name, "-") || device.MatchString(name) {
		name = "_" + name
	}
	return name
}

// device matches the names that Windows gives to devices, whatever follows.
var device = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)

// cut shortens s to at most n bytes, at the end of a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
