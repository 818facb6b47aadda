package hls

import (
	"bufio"
	"context"
	"crypto/aes"
	"fmt"
	"io"
	"strings"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/internal/mpegts"
	"github.com/mediafrag/mediafrag/seek"
)

// Rewriter makes of a segment as it lies at the origin what stands in the clip:
// it decrypts it, checks that it is what it should be, and moves its clocks. It
// names where the key lies, never the key.
type Rewriter struct {
	// Segment is what errors call the segment, such as "segment 3".
	Segment string
	// Container is what the segment is, such as "ts"; "" is not checked.
	Container string
	// KeyURI is where the key is, "" where the segment is not encrypted.
	KeyURI string
	// IV is the initialization vector.
	IV [16]byte
	// Shift is how many ticks of 90 kHz are added to the times of a transport
	// stream.
	Shift int64
	// StripID3 drops the tags that packed audio begins with.
	StripID3 bool
	// Plain is the range of the decrypted bytes that is taken, all where it is
	// zero, and Next what becomes of it; nil leaves it as it is.
	Plain seek.Range
	Next  seek.Rewriter
}

var _ seek.Rewriter = Rewriter{}

// Name says what is done.
func (r Rewriter) Name() string {
	var all []string
	if r.KeyURI != "" {
		all = append(all, "aes-128")
	}
	if r.Shift != 0 {
		all = append(all, "ts-shift")
	}
	if r.StripID3 {
		all = append(all, "strip-id3")
	}
	if r.Next != nil {
		all = append(all, r.Next.Name())
	}
	if len(all) == 0 {
		return "check"
	}
	return strings.Join(all, ", ")
}

// Rewrite returns the new bytes from off on.
func (r Rewriter) Rewrite(ctx context.Context, in seek.Input, off int64) (io.ReadCloser, error) {
	input := plainInput{r, in}
	switch {
	case r.Next != nil:
		return r.Next.Rewrite(ctx, input, off)
	case r.Plain != seek.Range{}:
		return input.Open(ctx, off, seek.ToEnd)
	case r.StripID3:
		plain, err := r.plain(ctx, in, 0, seek.ToEnd)
		if err != nil {
			return nil, err
		}
		out := readCloser{stripID3(plain), plain}
		if _, err := io.CopyN(io.Discard, out, off); err != nil && err != io.EOF {
			plain.Close()
			return nil, err
		}
		return out, nil
	case r.Shift == 0:
		return r.plain(ctx, in, off, seek.ToEnd)
	}
	at := off / mpegts.PacketSize * mpegts.PacketSize
	plain, err := r.plain(ctx, in, at, seek.ToEnd)
	if err != nil {
		return nil, err
	}
	out := readCloser{mpegts.Shift(plain, r.Shift), plain}
	if _, err := io.CopyN(io.Discard, out, off-at); err != nil && err != io.EOF {
		plain.Close()
		return nil, err
	}
	return out, nil
}

// plain returns the decrypted bytes from off on, n of them at least or with ToEnd
// the rest, checked where they begin.
func (r Rewriter) plain(ctx context.Context, in seek.Input, off, n int64) (io.ReadCloser, error) {
	open := func(off int64) (io.ReadCloser, error) { return in.Open(ctx, off, seek.ToEnd) }
	if r.KeyURI != "" {
		key, err := readKey(ctx, in, r.KeyURI)
		if err != nil {
			return nil, err
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		encrypted := open
		if _, end := blocks(off, n); n >= 0 {
			encrypted = func(off int64) (io.ReadCloser, error) { return in.Open(ctx, off, end-off) }
		}
		open = func(off int64) (io.ReadCloser, error) { return decrypt(r.Segment, block, r.IV, off, n >= 0, encrypted) }
	}
	plain, err := open(off)
	if err != nil {
		return nil, err
	}
	counted := func(in io.ReadCloser) io.ReadCloser {
		if r.Container == transportStream && n < 0 {
			return &packetCounter{in, r.Segment, off}
		}
		return in
	}
	if off > 0 || r.Container == "" {
		return counted(plain), nil
	}
	b := bufio.NewReaderSize(plain, sniffed)
	head, err := b.Peek(sniffed)
	if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
		plain.Close()
		return nil, err
	}
	if got := containerOf(head); got != r.Container {
		plain.Close()
		return nil, notWhatItShould(r.Container, head)
	}
	return counted(readCloser{b, plain}), nil
}

// plainInput is the decrypted bytes of a part.
type plainInput struct {
	Rewriter
	seek.Input
}

// Size is the number of decrypted bytes.
func (in plainInput) Size() int64 {
	if in.Plain == (seek.Range{}) {
		return -1
	}
	return in.Plain.Length
}

// Open decrypts a range.
func (in plainInput) Open(ctx context.Context, off, n int64) (io.ReadCloser, error) {
	if size := in.Size(); size >= 0 && (n < 0 || n > size-off) {
		n = size - off
	}
	out, err := in.plain(ctx, in.Input, in.Plain.Offset+off, n)
	if err != nil || n < 0 {
		return out, err
	}
	return readCloser{io.LimitReader(out, n), out}, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

// notWhatItShould is that a segment's bytes are not of the container they should
// be, such as an error page that came with status 200.
func notWhatItShould(container string, head []byte) error {
	return &formats.Error{Container: Name, Element: "segment", Offset: 0, Err: formats.ErrDamaged,
		Problem: fmt.Sprintf("it is no %s but begins with %q", container, head[:min(len(head), 16)])}
}
