package seek

import (
	"context"
	"io"
)

// Part is one piece of a plan: either literal bytes or a byte range of a
// resource. The parts of a plan, one after the other, are the clip.
type Part struct {
	// Literal are the bytes themselves; Resource is nil then.
	Literal []byte
	// Resource is what the range is of. Its validator pins the version that the
	// plan was made for.
	Resource *Info
	// Request is the range, closed and not a suffix (its length may be ToEnd
	// where Size is -1), with its purpose. For a literal only the purpose and
	// the note count.
	Request
	// Rewrite changes the range's bytes while they stream; nil leaves them.
	Rewrite Rewriter
	// Size is the number of bytes the part has in the clip, -1 where it is not
	// known before it was read.
	Size int64
	// Run, where it is not 0, numbers the request that unchanged bytes come by:
	// parts of one number that follow one another come by one, which has nothing
	// else and is not divided. It may be on its way before the plan is read.
	Run int
}

// Literal returns a part of the given bytes.
func Literal(b []byte, note string) Part {
	return Part{Literal: b, Request: Request{Note: note}, Size: int64(len(b))}
}

// Bytes returns a part that is the given closed range of a resource, unchanged.
func Bytes(resource *Info, r Range, note string) Part {
	return Part{Resource: resource, Request: Request{Range: r, Purpose: Media, Note: note}, Size: r.Length}
}

// Rewriter changes a part's bytes while they stream, such as page numbers or
// cluster timestamps. It pulls: given random access to the part's original
// bytes it returns the new bytes from any offset. A Rewriter is plain data, a
// small struct of exported fields, and holds no state between calls, so that a
// plan can be printed, sent and read elsewhere.
type Rewriter interface {
	// Name is a short word for plans, such as "ogg-renumber".
	Name() string
	// Rewrite returns the new bytes from off on, off counting in new bytes.
	// Where the part's Size is -1 only 0 is asked for.
	Rewrite(ctx context.Context, in Input, off int64) (io.ReadCloser, error)
}

// Input gives a Rewriter its part's original bytes. It opens other resources
// too, such as the key that the part is encrypted with.
type Input interface {
	Opener
	// Size is the number of original bytes, -1 where it is not known.
	Size() int64
	// Open returns n original bytes from off on (counted from the beginning of
	// the part), or with ToEnd the rest.
	Open(ctx context.Context, off, n int64) (io.ReadCloser, error)
	// Damaged says that the original bytes at off (counted from the beginning of
	// the part) are not what they should be, and what is made of them.
	Damaged(off int64, problem string)
}
