// Package ogg reads Ogg files by byte range and plans clips of them.
//
// Ogg (RFC 3533) has no index: a file is a run of pages, each with the
// checksum, the stream's serial number and a granule position, which is a time
// in the unit of the stream's codec. The package finds times by looking at few
// pages, and writes clips by cutting pages between packets, giving them new
// numbers, granule positions and checksums. Packets are never changed, but for
// the headers that must state the cut and the times inside text packets.
//
// From the bytes upwards:
//
//   - page.go, packet.go: pages and the packets that lie across them
//   - mapping.go and a file for each codec: headers, and granule positions as time
//   - link.go, end.go, chain.go, review.go: the streams of one logical file, and files in a row
//   - media.go, extent.go: what is known of a resource, which may grow or tell no length
//   - search.go, keyframe.go, jobs.go, index.go: which bytes hold a time
//   - cutting.go, carry.go, carry_text.go: the packets that a clip needs
//   - zone.go, plan.go: its pages and its parts
//   - write.go, serials.go, rewrite.go: new pages, and old ones changed as they stream
//   - format.go: [Format] and the Media that it opens
package ogg
