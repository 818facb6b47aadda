// Package webm reads WebM and Matroska (RFC 9559, over EBML, RFC 8794) and cuts
// clips of it.
//
// [Format] opens a file: it reads the header, the tracks and the index (Cues),
// wherever SeekHeads say they are, or the ends of the file where none does. A
// file without Cues is searched for Clusters in its raw bytes. Of a live stream,
// whose length nobody says, as much is looked at as an interval needs.
//
// A file may have several Segments, as where files were put one behind the other:
// their times are taken one after the other, and a Segment is opened once an
// interval reaches it. Of several that are coded alike a clip is one Segment.
//
// A clip is a new file of the same type. Its header is written anew, its
// TrackEntries are the original's; its first Cluster begins with the picture's
// keyframe at or before the interval, its last ends behind the last block that
// presents within. What lies between are the original's bytes, whose times a
// [Rewrite] shifts while they stream; no coded frame is changed. All enabled
// tracks are kept unless some are named: their flags still say which are played.
//
// Sound begins exactly with the keyframe, in files of sound alone exactly with
// the interval, and ends exactly with the interval where the codec allows it:
// Opus by pre-skip and CodecDelay, others by DiscardPadding, PCM by cutting its
// frames. Sound that must be decoded before that is in the clip too: CodecDelay
// puts it before the clip's time 0, where the keyframe is. FFmpeg 5.1, which decodes
// FLAC in several threads, takes the DiscardPadding of a block for that of an earlier
// one then: with -threads 1 it is right.
package webm
