// Package fragment reads and writes W3C media fragment URIs: the text after
// '#' (or '?') that names a part of a recording, such as "t=60,100".
//
// It is pure text: no I/O, no knowledge of any container. Reading never fails.
// What the specification tells a user agent to ignore becomes a [Warning], and
// everything else stands:
//
//	resource, f := fragment.Split("https://host/talk.ogv#t=01:00,100&foo=bar")
//	// resource: "https://host/talk.ogv"
//	// f.Time:   [60, 100) in normal play time
//	// f.Warnings: "foo=bar": not a media fragment dimension
//
// The types to know are [Fragment], what a URI asks for; [Interval], a half-open
// stretch of time; and [Time], an exact rational number of seconds. What an
// interval comes to on a medium is [Fragment.Resolve]; the way back to text is
// [Fragment.String].
//
// What stands in a URI may be hostile: any text is read in time proportional to
// its length.
//
// The authority is the W3C Recommendation "Media Fragments URI 1.0 (basic)" of
// 25 September 2012; comments name its sections.
package fragment
