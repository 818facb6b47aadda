package main

import (
	"regexp"
	"strings"

	"github.com/mediafrag/mediafrag/client"
)

// anyURL finds URLs within text.
var anyURL = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)

// redact returns text with the user information and query values of every URL
// in it hidden. The arguments of the command line are known as they stand, so
// that one with odd characters is hidden whole.
func (a *app) redact(text string) string {
	for _, arg := range a.args {
		if resource, _, _ := strings.Cut(arg, "#"); anyScheme.MatchString(resource) {
			text = strings.ReplaceAll(text, resource, redactURL(resource))
		}
	}
	return anyURL.ReplaceAllStringFunc(text, func(found string) string {
		url := strings.TrimRight(found, ":") // the message's, not the URL's
		return redactURL(url) + found[len(url):]
	})
}

// redactURL hides the user information and the query values of one URL, and
// keeps its fragment. A '?' in a plain path is part of it.
func redactURL(url string) string {
	if !anyScheme.MatchString(url) {
		return url
	}
	resource, fragment, ok := strings.Cut(url, "#")
	resource = client.Redact(resource)
	if ok {
		resource += "#" + fragment
	}
	return resource
}

// withoutUser returns url without its user information.
func withoutUser(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
		rest = rest[at+1:]
	}
	return scheme + "://" + rest
}

// oneLine returns text without line breaks and other control characters, which
// names and servers may put into messages.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || 0x80 <= r && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
}
