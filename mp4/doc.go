// Package mp4 reads the ISO base media file format (ISO/IEC 14496-12: .mp4,
// .m4a, .m4v, .3gp) and QuickTime files (.mov), and cuts clips of them.
//
// The way of a file through the package:
//
//	format.go    recognises the file and finds its moov, wherever it is
//	box.go       walks boxes in memory and checks every size
//	movie.go     reads the moov: tracks, edit lists, what is said about them
//	tables.go    answers questions about samples from the raw sample tables
//	choose.go    maps an interval through the edit lists to samples
//	plan.go      lays the chosen samples out and lists their byte ranges
//	write.go     writes the clip's new moov
//
// Sample tables are never expanded: they are read in place, as the runs and
// fixed-stride entries that they are, so that a film with millions of samples
// costs little more than its moov.
//
// A clip is a progressive file with its moov in front. Its edit lists hide what
// stands before the interval because decoding has to begin there: the pictures
// from the sync sample on, and the sound's pre-roll.
package mp4
