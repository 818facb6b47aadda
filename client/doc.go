// Package client opens media by URI and delivers clips of them.
//
//	var c client.Client // ready to use
//	clip, err := c.Clip(ctx, "https://host/movie.mp4#t=60,100")
//	if err != nil { … }
//	defer clip.Close()
//	_, err = io.Copy(out, clip)
//
// A [Client] holds what all jobs share: connections, formats, limits. A
// [Resource] is one open medium, its index in hand: it answers any number of
// selections. A [Clip] is a selection being read.
//
// # Where media may be
//
// URIs of http and https, file: URIs, plain paths, and whatever
// [Client.Openers] opens. A medium that names others, such as a playlist, leads
// from the network to the network only, from a file to files beside and below
// it and to the network, and from another store to the same and the network.
//
// # HTTP
//
// Any server of files will do. The client sends GET alone, for single ranges:
//
//   - What has a known place is asked for by a closed range; the last bytes by
//     one suffix range beside the first ones, unless the host is known to have
//     no such ranges; a playlist whole, without a range.
//   - The first answer pins the version: a strong entity tag, else date and
//     size. Every later answer is compared, and If-Range sent where RFC 9110
//     allows it. Another version is [seek.ErrChanged]. Of a server that sends
//     neither, only a change of size can be noticed.
//   - 408, 425, 429 and 5xx are tried again, at most 4 times, and no later than
//     30 s after a Retry-After. A body that breaks off or stalls goes on from
//     the byte it had reached.
//   - A server that answers a range by the whole is made do with where at most
//     1 MiB must be skipped; else it is [seek.ErrNoRanges].
//   - The target of a redirect is kept for the job; when it stops working, the
//     origin is asked once for the new one. [Client.Header] and the URI's user
//     information are sent to the host of the URI alone.
//
// A useless answer is a [StatusError], which wraps the condition: the errors of
// package seek.
package client
