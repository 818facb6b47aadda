// Package seek reads named resources by byte range.
//
// It is the ground that containers and the client stand on, and knows nothing
// of either: no box or page layouts, no time schemes, no HTTP.
//
//   - [Source] opens one byte range of one resource; [Opener] finds the Source
//     of a name. An HTTP server, a file or an object store is a Source.
//   - [Window] caches what was read through it, asks for all ranges of a call at
//     once, and never asks twice. Containers read their index through it.
//   - [Search] finds a time in a resource that has no index, in few rounds.
//   - [Part] is one piece of a plan: literal bytes or a byte range, perhaps
//     changed by a [Rewriter] as it streams.
//   - [Reader] turns parts into an io.Reader, io.WriterTo, io.Seeker and
//     io.ReaderAt: fetched in parallel, delivered in order, in bounded memory.
//   - [Observer] is told what a Source does. Only Sources that do I/O tell it.
//     [Totals] is one that adds up requests, round trips and bytes.
package seek
