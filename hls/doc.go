// Package hls reads HTTP Live Streaming: playlists that name segments of media
// (RFC 8216 and its second edition, draft-pantos-hls-rfc8216bis).
//
// The fragment of a playlist is the run of segments that overlap the interval,
// and nothing else is fetched:
//
//   - [Format] reads a master playlist, chooses a variant and its renditions,
//     and reads their media playlists.
//   - [Medium] answers a selection with one file (transport stream segments one
//     after the other; one MP4 or WebM, cut by the rules of those packages; frames
//     of packed audio), with a package (a playlist and its segments, decrypted),
//     or with a trimmed playlist that points at the origin.
//
// The timeline of a presentation is the sum of its segments' durations: what
// the timestamps inside the segments say is only used to correct it.
package hls
