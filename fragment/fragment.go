package fragment

import (
	"strings"
)

// Fragment is what the fragment (or query) part of a URI asks for. Only valid
// occurrences of the four dimensions are in it; whatever had to be ignored is
// in Warnings.
type Fragment struct {
	// Pairs are the name-value pairs of section 5.1.1 in their order, decoded.
	// A component whose encoding is bad is not among them.
	Pairs []Pair
	// Time is the last valid temporal dimension, nil where there is none.
	Time *TimeRange
	// Space is the last valid spatial dimension, nil where there is none.
	// Not read yet: it is nil always, and "xywh" becomes a warning.
	Space *Region
	// Tracks are the names of all track dimensions, in order.
	// Not read yet: it is empty always, and "track" becomes a warning.
	Tracks []string
	// ID is the last valid id dimension, nil where there is none.
	// Not read yet: it is nil always, and "id" becomes a warning.
	ID *string
	// Order are the names of the dimensions in the order of the occurrences
	// that count, "track" as often as there are tracks. It decides only in
	// which order [Fragment.String] writes them, and may be nil.
	Order []string
	// Warnings say what was ignored, and why.
	Warnings []Warning
}

// Warning is something that was ignored, and the reason. Pair is the text as it
// stands in the URI; it is empty where the warning is about the medium.
type Warning struct {
	Pair   string `json:"pair"`
	Reason string `json:"reason"`
}

// String returns `"pair": reason`.
func (w Warning) String() string {
	if w.Pair == "" {
		return w.Reason
	}
	return `"` + w.Pair + `": ` + w.Reason
}

// Unit is the time scheme of a temporal dimension (section 4.2.1).
type Unit string

// Time schemes. Only normal play time is read so far; the others become
// warnings.
const (
	NPT         Unit = "npt"           // seconds of the medium's own timeline
	SMPTE       Unit = "smpte"         // frames at the medium's rate
	SMPTE25     Unit = "smpte-25"      // 25 frames a second
	SMPTE30     Unit = "smpte-30"      // 30 frames a second
	SMPTE30Drop Unit = "smpte-30-drop" // 30000/1001 frames a second, drop-frame
	Clock       Unit = "clock"         // wall-clock time, RFC 3339
)

// TimeRange is a valid temporal dimension.
type TimeRange struct {
	Unit Unit
	Interval
	// StartOmitted is set where only the end is written, as in "t=,20". Start
	// is 0 then. It changes what is written, not what is meant.
	StartOmitted bool
}

// Region is a valid spatial dimension: a box in pixels or percent of the
// picture (section 4.2.2).
type Region struct {
	Percent    bool
	X, Y, W, H int64
}

// Split cuts a whole or relative URI at its first '#' and reads what follows.
// It works on the raw text, since decoding first would lose which '&', '=' and
// ',' were data. The resource part is returned as it stands.
func Split(uri string) (resource string, f Fragment) {
	resource, text, _ := strings.Cut(uri, "#")
	return resource, Parse(text)
}

// SplitQuery reads the query form of a URI (section 3.2): what stands between
// the first '?' and the '#'. The resource is the URI with its query and
// without its fragment, since a server that serves the query form needs it.
func SplitQuery(uri string) (resource string, f Fragment) {
	resource, _, _ = strings.Cut(uri, "#")
	_, text, _ := strings.Cut(resource, "?")
	return resource, Parse(text)
}
