package mp4

import (
	"context"
	"fmt"
	"slices"

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

const (
	maxAttempts = 24 // rounds of one demand at most
	atOnce      = 64 // ranges at most that are asked for without waiting for one another
)

// satisfy runs an attempt until nothing that it needs is missing. The attempt
// returns an error only for what it has seen.
func (d *demand) satisfy(ctx context.Context, attempt func() error) error {
	for range maxAttempts {
		d.missing, d.wished = nil, nil
		if err := attempt(); err != nil || len(d.missing) == 0 {
			return err
		}
		if err := d.fetch(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("reading an index in parts: %w after %d rounds", seek.ErrLimit, maxAttempts)
}

// fetch reads all that is missing or wished for, by one round trip if it is not in
// too many places.
func (d *demand) fetch(ctx context.Context) error {
	var requests []seek.Request
	seen := map[seek.Range]bool{}
	for _, r := range slices.Concat(d.missing, d.wished) {
		if !seen[r.Range] {
			seen[r.Range] = true
			requests = append(requests, r)
		}
	}
	read := d.window.Read
	if len(requests) <= atOnce {
		read = d.window.ReadAtOnce
	}
	_, err := read(ctx, requests...)
	return err
}

// need returns n bytes at an offset; ok is false where they are missing.
func (d *demand) need(off, n int64, note string) (data []byte, ok bool) {
	r := seek.Range{Offset: off, Length: n}
	if data, ok = d.window.Held(r); !ok {
		d.missing = append(d.missing, seek.Request{Range: r, Purpose: seek.Index, Note: note})
	}
	return data, ok
}

// maxGuess is the most that is read for one guess, in bytes: a wrong one must not
// cost more than it could have saved.
const maxGuess = 3 << 20

// guess lets code read on by what is only supposed: what it needs is wished for.
// What it returns, and its errors, mean nothing.
func (d *demand) guess(read func()) {
	needed := len(d.missing)
	read()
	for _, r := range d.missing[needed:] {
		if r.Length > 0 && r.Length <= maxGuess {
			d.wished = append(d.wished, r)
		}
	}
	d.missing = d.missing[:needed]
}

// wish asks for bytes that are likely to be needed, if anything is fetched.
func (d *demand) wish(off, n int64, note string) {
	r := seek.Range{Offset: off, Length: n}
	if _, ok := d.window.Held(r); !ok && n > 0 {
		d.wished = append(d.wished, seek.Request{Range: r, Purpose: seek.Index, Note: note})
	}
}
