package formats

import (
	"context"
	"iter"
	"time"

	"github.com/mediafrag/mediafrag/fragment"
	"github.com/mediafrag/mediafrag/seek"
)

// Format is one container: it recognises resources of its kind and opens them.
// A Format is stateless and may be used concurrently.
type Format interface {
	// Name is the short lower-case name of the container, such as "mp4".
	Name() string
	// Detect reports whether the resource is of this container. Head are its
	// first bytes (at most 64 KiB, all of a smaller resource); they decide, and
	// the media type and name in i only where the bytes leave it open.
	Detect(head []byte, i seek.Info) bool
	// Open reads the container's index through w, which already holds the
	// resource's first bytes and, where the source could give them, its last.
	Open(ctx context.Context, w *seek.Window, env Env) (Media, error)
}

// Manifest is a Format whose resources are small texts: where the name says
// that it is one, it is fetched whole by one plain request.
type Manifest interface {
	Format
	// Named reports whether a resource of this name is one, such as by ".m3u8".
	Named(name string) bool
}

// Env is what a Format needs from whoever opens it.
type Env struct {
	// Limits bound what a resource may cost. Zero fields have defaults.
	Limits Limits
	// Opener opens other resources that this one names, such as segments. It
	// has checked that the resource is allowed to name them.
	Opener seek.Opener
	// Growing says that the resource may grow while it is read.
	Growing bool
	// Variant names one of several forms of the same content, such as a height
	// ("720p"), a bandwidth ("1500000"), a codec or a name; "" is the best.
	Variant string
	// Tracks are the IDs or names of those that will be selected, where that is
	// known: what they need is asked for while the medium is opened, rather than
	// what those that are on by default need. Any others can be selected, too.
	Tracks []string
}

// Media is an opened medium. It may be used concurrently.
//
// A Media that is a [seek.Opener] too opens the resources of its plans: it may
// give what it has read already, or take a segment from another host where one
// fails. A plan can be read without it.
type Media interface {
	// Info says what the index tells without further requests.
	Info() Info
	// Inspect says all that can be found out, including what costs requests.
	Inspect(ctx context.Context) (Info, error)
	// Plan resolves a selection. It fails with [ErrPastEnd] where the interval
	// begins at or after the end, and does not change what earlier plans read.
	Plan(ctx context.Context, s Selection) (*Plan, error)
}

// Live is a Media that can deliver what cannot be planned whole, such as the
// part of a live stream that is yet to come.
type Live interface {
	Media
	// MediaType returns the media type that a clip of the selection will have, where
	// that is known before the selection's end has come: "" where it is not, and where
	// all of the selection is there already, so that Parts does not wait. What cannot
	// be read is no error here: Parts meets it.
	MediaType(ctx context.Context, s Selection) string
	// Parts yields the parts of the selection as they become known. P, which may
	// be nil, is told what they are a clip of: once the iteration has ended it is
	// the plan of all that were yielded. It must not be read before.
	Parts(ctx context.Context, s Selection, p *Plan) iter.Seq2[seek.Part, error]
}

// Starter is a Media that can ask for the media of a clip while it plans it, so that
// no round trip lies between the two.
type Starter interface {
	Media
	// Start is Plan for a clip that is read at once, by so many ranges at a time, 0
	// for the default of [seek.NewReader], through the Media as its opener. Where
	// there is no error, stop has to be called when the clip is not read any more:
	// it ends what was asked for and was not read, and waits for it. So does the end
	// of ctx.
	Start(ctx context.Context, s Selection, parallel int) (p *Plan, stop func(), err error)
}

// Packager is a Media that can deliver a selection as several files, such as a
// playlist with its segments.
type Packager interface {
	Media
	Package(ctx context.Context, s Selection) ([]File, error)
}

// Trimmer is a Media that can state a selection without its media: as a manifest
// of its own type that points at the origin.
type Trimmer interface {
	Media
	// Trim returns the manifest under the given file name, first, and those that
	// it names beside it.
	Trim(ctx context.Context, s Selection, name string) ([]File, error)
}

// File is one file of a package.
type File struct {
	// Name is relative, slash-separated and clean: no "..", no leading slash.
	Name string
	Plan *Plan
}

// Index says by what a container is sought.
type Index string

// Info is what is known of a medium. What does not apply or is not known is
// zero.
type Info struct {
	Format    string // the container's Name
	MediaType string // such as "video/mp4"
	// Duration is the length of the presentation in seconds.
	Duration fragment.Time
	// Timed reports whether Duration is known.
	Timed bool
	// Estimated reports that Duration is what an index says, which may be off by
	// some samples: it does not end an interval. [Media.Inspect] knows better.
	Estimated bool
	// StartTime is the file's own clock, in seconds, at the presentation's
	// time 0.
	StartTime fragment.Time
	// Index says by what the container is sought, such as "moov-head".
	Index Index
	// Seekable reports whether intervals can be found without reading all that
	// lies before.
	Seekable bool
	Tracks   []Track
	Chapters []Chapter
	// Tags are what the file says of itself, such as a title, and Attachments the
	// files it carries. [Media.Info] has those that came with the index,
	// [Media.Inspect] all.
	Tags        []Tag
	Attachments []Attachment
	// Created is when the file says that it was made.
	Created  time.Time
	Warnings []fragment.Warning
}

// Kind is the kind of a track.
type Kind string

// Kinds of tracks.
const (
	Video    Kind = "video"
	Audio    Kind = "audio"
	Subtitle Kind = "subtitle"
	Metadata Kind = "metadata"
	Other    Kind = "other"
)

// Track is one stream of a medium. What does not apply or is not known is zero.
type Track struct {
	ID       string // what selects it; unique within the medium
	Kind     Kind
	Codec    string // as in RFC 6381, such as "avc1.64001f"; else the container's own name
	Language string // BCP 47 or ISO 639-2, as the file says; "und" is undetermined
	Name     string
	Default  bool // played unless others are asked for
	Group    int  // tracks of one group other than 0 are alternatives to each other

	Width, Height           int           // as shown, in square pixels, after crop and rotation
	CodedWidth, CodedHeight int           // as coded
	FrameRate               fragment.Time // frames a second, exact; 0 where it varies or is not known

	Channels   int
	SampleRate int // in Hz
}

// Chapter is a named stretch of the medium.
type Chapter struct {
	ID       string
	Title    string
	Language string
	fragment.Interval
}

// Tag is a statement about the medium, or about one of its tracks or chapters.
type Tag struct {
	// Name is the container's own, such as "TITLE"; of a tag within another the
	// outer one's name and a "/" stand before.
	Name, Value string
	Language    string // BCP 47 or ISO 639-2, as the file says; "" where it does not
	// Track and Chapter are the ID of what the tag is about; both "" is the whole.
	Track, Chapter string
}

// Attachment is a file within the medium, such as a font or a cover.
type Attachment struct {
	Name, MediaType, Description string
	Size                         int64 // in bytes
}

// Form says what a clip is.
type Form string

// Forms of a clip. The zero value is Standalone.
const (
	// Standalone is a valid new file of the same media type: its header is
	// written anew, its coded media bytes are untouched.
	Standalone Form = "standalone"
	// Verbatim holds bytes of the original only: its header and the ranges that
	// cover the interval.
	Verbatim Form = "verbatim"
)

// Timeline says what the times in a clip are.
type Timeline string

// Timelines of a clip. The zero value is Zero.
const (
	Zero     Timeline = "zero"     // the clip begins at 0
	Original Timeline = "original" // the clip keeps the original's times
)

// Layout names a way to arrange the clip's file where a container has several,
// such as "progressive" and "fragmented". The zero value leaves the choice to
// the container.
type Layout string

// Exact is the layout of a Matroska clip that states by an ordered edition that
// only the interval is presented. Players that honour it, such as mpv, hide the
// pictures before the interval; others show the clip from its keyframe on.
const Exact Layout = "exact"

// Layouts of MP4.
const (
	// Progressive is the layout with one index in front of all media.
	Progressive Layout = "progressive"
	// Fragmented is the layout with an index that describes the tracks, and
	// fragments that hold their samples.
	Fragmented Layout = "fragmented"
)

// Selection is what is wanted of a medium.
type Selection struct {
	// Interval is on the presentation's timeline, in seconds from its start. An
	// open end is the end of the medium. The zero Interval is nothing: use
	// [fragment.From] of 0 for the whole.
	Interval fragment.Interval
	// Tracks are the IDs of the tracks that are wanted; none means those that
	// are played by default.
	Tracks   []string
	Form     Form
	Timeline Timeline
	Layout   Layout
	// Attachments asks for the files that the medium carries to come along,
	// such as the fonts of its subtitles. Containers that have none ignore it.
	Attachments bool
}

// Plan is the answer to a Selection, as plain data: the clip is the
// concatenation of its parts. It never depends on how fast the source was, so
// the same selection of the same resource has the same plan.
type Plan struct {
	MediaType string
	// Requested is the selection's interval, clamped to the medium.
	Requested fragment.Interval
	// Presented is what a player shows that honours the container. Where it is
	// Requested, the clip is exact.
	Presented fragment.Interval
	// Covered is what the delivered samples span, lead-in included.
	Covered fragment.Interval
	Tracks  []Track
	Parts   []seek.Part
	// Size is the length of the clip in bytes, -1 where it is not known.
	Size int64
	// Needed is the least a reader must fetch that reads whole index elements:
	// those elements, and the file's bytes from the first to the last needed
	// sample. It is 0 where that is not known, as with segments whose sizes no
	// index tells.
	Needed   int64
	Warnings []fragment.Warning
}

// MediaOffset returns how many bytes of the clip stand before its first media
// byte: those of its header.
func (p *Plan) MediaOffset() (n int64) {
	for _, part := range p.Parts {
		if part.Resource != nil || part.Purpose == seek.Media {
			break
		}
		n += part.Size
	}
	return n
}
