package client

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// version is what tells one version of a resource from another.
type version struct {
	etag     string // the entity tag as the server writes it; "" where there is none
	modified string // Last-Modified as the server writes it; "" where there is none
	strong   bool   // modified is a strong validator (RFC 9110 section 8.8.2.2)
	size     int64  // -1: not known
}

// versionOf reads the validators of an answer about a resource of size bytes.
func versionOf(h http.Header, size int64) version {
	v := version{etag: h.Get("ETag"), modified: h.Get("Last-Modified"), size: size}
	modified, err := http.ParseTime(v.modified)
	if err != nil {
		v.modified = ""
		return v
	}
	// A date is strong where the answer is at least a second younger, so that
	// no second change can hide in the same second.
	date, err := http.ParseTime(h.Get("Date"))
	v.strong = err == nil && date.Sub(modified) >= time.Second
	return v
}

// tagged reports whether the version has a strong entity tag.
func (v version) tagged() bool { return v.etag != "" && !strings.HasPrefix(v.etag, "W/") }

// String returns the validator: a strong entity tag, else date and size, else a
// weak tag and size, else "".
func (v version) String() string {
	switch {
	case v.tagged():
		return v.etag
	case v.modified != "":
		return v.modified + "/" + strconv.FormatInt(v.size, 10)
	case v.etag != "":
		return v.etag + "/" + strconv.FormatInt(v.size, 10)
	}
	return ""
}

// ifRange returns what may stand in an If-Range field: a strong entity tag, or
// a date that is strong where there is no tag at all (RFC 9110 section 13.1.5).
func (v version) ifRange() string {
	switch {
	case v.tagged():
		return v.etag
	case v.etag == "" && v.strong:
		return v.modified
	}
	return ""
}

// differs says in what a later answer is of another version, "" if in nothing.
// Only what both state is compared.
func (v version) differs(later version) string {
	switch {
	case v.size >= 0 && later.size >= 0 && v.size != later.size:
		return resized(v.size, later.size)
	case v.tagged() && later.tagged():
		if v.etag != later.etag {
			return fmt.Sprintf("its entity tag was %s, now it is %s; open it again", v.etag, later.etag)
		}
	case v.modified != "" && later.modified != "":
		if v.modified != later.modified {
			return fmt.Sprintf("it was last modified on %s, now on %s; open it again", v.modified, later.modified)
		}
	case v.etag != "" && later.etag != "" && v.etag != later.etag:
		return fmt.Sprintf("its entity tag was %s, now it is %s; open it again", v.etag, later.etag)
	}
	return ""
}

// resized says that the size has become another, and what can be done.
func resized(had, now int64) string {
	hint := "open it again"
	if now > had {
		hint += ", or allow it to grow (--growing)"
	}
	return fmt.Sprintf("it had %d bytes, now it has %d; %s", had, now, hint)
}
