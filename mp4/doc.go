// Package mp4 reads the ISO base media file format (ISO/IEC 14496-12: .mp4,
// .m4a, .m4v, .3gp), fragmented or not, and QuickTime files (.mov), and cuts
// clips of them.
//
// The way of a file through the package:
//
//	format.go    recognises the file and finds its moov, wherever it is
//	box.go       walks boxes in memory and checks every size
//	movie.go     reads the moov: tracks, edit lists; describe.go, entry.go,
//	             codec.go and info.go what is said about them
//	tables.go    answers questions about samples from the raw sample tables
//	             (runs.go, chunks.go, groups.go and grouping.go, extras.go,
//	             encrypted.go, keys.go)
//	choose.go    maps an interval through the edit lists to samples (cut.go)
//	pcm.go       makes a sample of each frame of PCM
//	soundrate.go counts sound by its samples
//	refresh.go   tells sync samples that are no whole pictures
//	plan.go      lays the chosen samples out and lists their byte ranges
//	write.go     writes the clip's new moov (writetables.go)
//
// What chooses and writes samples knows sample tables and nothing else. Where
// the moov does not hold them all, or not cheaply, a view of the file is made
// for each interval (view.go), with tables of the samples around it:
//
//	parts.go     reads a large moov in parts: slices.go, timeslices.go and
//	             chunkslices.go read its tables, demand.go fetches what they lack
//	fragment.go  reads a moof; stretch.go makes sample tables of fragments
//	             (fraggroups.go, fragextras.go)
//	locate.go    finds the fragments of an interval by an index: sidx.go,
//	             series.go (several of them), mfra.go, places.go; or without one,
//	             scan.go, and where fragments do not say when they are, summed.go
//	fragwrite.go writes a fragmented clip (trafwrite.go, sidxwrite.go); divide.go
//	             makes fragments of progressive files, rebase.go changes those
//	             that pass on unread
//	segments.go  reads fragments that lie in segments, for HLS and DASH;
//	             renditions.go joins several renditions into one clip
//
// Sample tables are never expanded: they are read in place, as the runs and
// fixed-stride entries that they are, so that a film with millions of samples
// costs little more than its moov.
//
// A clip is a progressive file with its moov in front, or where it has more
// fragments than are looked at or where that is asked for, a fragmented one. Its edit lists hide what
// stands before the interval because decoding has to begin there: the pictures
// from the sync sample on, and the sound's pre-roll.
package mp4
