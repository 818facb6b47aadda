package seek

import (
	"context"
	"fmt"
	"io"
)

// ToEnd as a length means: to the end of the resource.
const ToEnd = -1

// Range is a stretch of bytes of a resource.
//
//   - Offset ≥ 0: Length bytes from Offset, or with [ToEnd] the rest.
//   - Offset < 0: the last -Offset bytes (fewer where the resource is shorter);
//     Length is ignored.
type Range struct {
	Offset, Length int64
}

// Suffix returns the range of a resource's last n bytes.
func Suffix(n int64) Range { return Range{Offset: -n, Length: ToEnd} }

// End returns the offset of the first byte after a closed range. It means
// nothing for suffixes and ranges to the end.
func (r Range) End() int64 { return r.Offset + r.Length }

// Closed reports whether both ends of the range are known.
func (r Range) Closed() bool { return r.Offset >= 0 && r.Length >= 0 }

// String writes the range as HTTP does: "0-65535", "100-" or "-65536".
func (r Range) String() string {
	switch {
	case r.Offset < 0:
		return fmt.Sprint(r.Offset)
	case r.Length < 0:
		return fmt.Sprintf("%d-", r.Offset)
	default:
		return fmt.Sprintf("%d-%d", r.Offset, r.End()-1)
	}
}

// Purpose says what bytes are wanted for. It changes nothing about how they are
// read; plans, observers and people see it.
type Purpose string

// Purposes.
const (
	Head     Purpose = "head"     // the first bytes, to learn what the resource is
	Tail     Purpose = "tail"     // the last bytes
	Index    Purpose = "index"    // a part of the container's index
	Probe    Purpose = "probe"    // a look at media in search of a time
	Media    Purpose = "media"    // what the caller asked for
	Playlist Purpose = "playlist" // a manifest
	Key      Purpose = "key"      // a decryption key
)

// Request asks a Source for bytes. Note tells people what they are, such as
// "moov" or "round 2"; it is never parsed.
type Request struct {
	Range
	Purpose Purpose
	Note    string
}

// Info is what is known of a resource.
type Info struct {
	// Name is the resource's name after redirects, without credentials.
	Name string
	// MediaType is what the server says it is, without parameters; may be "".
	MediaType string
	// Validator changes when the content does (an entity tag, or a date with a
	// size); "" where the source has none.
	Validator string
	// Size is the length in bytes, -1 where it is not known.
	Size int64
	// Sequential says that the source was asked for a range and gave the whole
	// resource from its beginning.
	Sequential bool
}

// Body is the answer to a Request: the bytes from Offset on, in order. It gives
// no more than was asked and fewer only where the resource ends; a body that
// breaks off otherwise is an error of Read, never a silent io.EOF.
type Body struct {
	Info
	// Offset is where the first byte stands in the resource. It is what was
	// asked for; for a suffix it tells where that began.
	Offset int64
	io.ReadCloser
}

// Source reads one resource by byte range. Open may be called concurrently.
// All bodies of one Source are of one version of the resource: a change is
// [ErrChanged].
//
// Open returns once the source has answered; reading the body waits for its
// bytes. The context covers the body as well: cancelling it breaks the body off.
type Source interface {
	Open(ctx context.Context, r Request) (*Body, error)
}

// Opener finds the Source of a name: a URL without fragment, or whatever the
// Opener calls things.
type Opener interface {
	OpenSource(ctx context.Context, name string) (Source, error)
}

// OpenerFunc is a function that is an Opener.
type OpenerFunc func(ctx context.Context, name string) (Source, error)

// OpenSource calls f.
func (f OpenerFunc) OpenSource(ctx context.Context, name string) (Source, error) {
	return f(ctx, name)
}
