package mp4

import (
	"context"
	"fmt"

	"github.com/mediafrag/mediafrag/seek"
)

// demand is how code reads from what a window holds, again and again, until
// nothing is missing: each attempt runs as far as the bytes in hand allow and
// notes what it lacks, and all of that is fetched at once.
type demand struct {
	window  *seek.Window
	missing []seek.Request // without which the attempt could not end
	wished  []seek.Request // that will be needed if a guess is right
}

// maxAttempts bounds the rounds of one demand.
const maxAttempts = 24

// satisfy runs an attempt until nothing that it needs is missing. The attempt
// returns an error only for what it has seen.
func (d *demand) satisfy(ctx context.Context, attempt func() error) error {
	for range maxAttempts {
		d.missing, d.wished = nil, nil
		if err := attempt(); err != nil || len(d.missing) == 0 {
			return err
		}
		if _, err := d.window.Read(ctx, append(d.missing, d.wished...)...); err != nil {
			return err
		}
	}
	return fmt.Errorf("reading an index in parts: %w after %d rounds", seek.ErrLimit, maxAttempts)
}

// need returns n bytes at an offset; ok is false where they are missing.
func (d *demand) need(off, n int64, note string) (data []byte, ok bool) {
	r := seek.Range{Offset: off, Length: n}
	if data, ok = d.window.Held(r); !ok {
		d.missing = append(d.missing, seek.Request{Range: r, Purpose: seek.Index, Note: note})
	}
	return data, ok
}

// wish asks for bytes that are likely to be needed, if anything is fetched.
func (d *demand) wish(off, n int64, note string) {
	r := seek.Range{Offset: off, Length: n}
	if _, ok := d.window.Held(r); !ok && n > 0 {
		d.wished = append(d.wished, seek.Request{Range: r, Purpose: seek.Index, Note: note})
	}
}
