package hls

import (
	"bytes"
	"context"
	"crypto/aes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/mediafrag/mediafrag/seek"
)

// plainPrefix begins the names under which the plain bytes of encrypted segments
// go while a plan is made; no plan that is done holds one.
const plainPrefix = "plain:"

// plainName is the name of a segment's plain bytes, of those of this cut.
func (c *cut) plainName(i int) string { return plainPrefix + strconv.Itoa(i) + ":" + c.s.id }

// plainIndex returns which segment of the cut a name stands for; ok is false for
// all other names.
func (c *cut) plainIndex(name string) (i int, ok bool) {
	name, ok = strings.CutPrefix(name, plainPrefix)
	number, id, _ := strings.Cut(name, ":")
	i, err := strconv.Atoi(number)
	return i, ok && err == nil && id == c.s.id
}

// plainOpener opens the segments of a cut, decrypted.
type plainOpener struct{ *cut }

// OpenSource opens a segment.
func (o plainOpener) OpenSource(ctx context.Context, name string) (seek.Source, error) {
	if i, ok := o.plainIndex(name); ok {
		return plainSource{o.cut, i}, nil
	}
	return o.m.OpenSource(ctx, name)
}

// plainSource is the plain bytes of an encrypted segment.
type plainSource struct {
	*cut
	i int
}

// Open opens a range. What was not read whole is decrypted from the block on
// that it lies in.
func (s plainSource) Open(ctx context.Context, r seek.Request) (*seek.Body, error) {
	s.mu.Lock()
	p := s.pieces[s.i]
	s.mu.Unlock()
	x, name, err := s.segment(s.i)
	if err != nil {
		return nil, err
	}
	if p == nil && r.Closed() && !s.m.loader.holds(extent{name, x.bytes}) {
		return s.stretch(ctx, x, name, r)
	}
	if p, err = s.read(ctx, s.i); err != nil {
		return nil, err
	}
	size := int64(len(p.data))
	from := r.Offset
	if from < 0 {
		from = size + from
	}
	from = min(max(0, from), size)
	to := size
	if r.Offset >= 0 && r.Length >= 0 {
		to = min(to, from+r.Length)
	}
	return &seek.Body{Info: seek.Info{Name: s.plainName(s.i), Size: size}, Offset: from, ReadCloser: io.NopCloser(bytes.NewReader(p.data[from:to]))}, nil
}

// stretch reads and decrypts a range of a segment, and no more than the blocks
// that it lies in. Where that is the segment's end, the size becomes known.
func (s plainSource) stretch(ctx context.Context, x *segment, name string, r seek.Request) (*seek.Body, error) {
	k, err := usable(x.keys)
	if err != nil {
		return nil, err
	}
	block, err := s.cipher(ctx, k)
	if err != nil {
		return nil, err
	}
	from, end := blocks(r.Offset, r.Length)
	at := seek.Range{Offset: x.bytes.Offset + from, Length: end - from}
	if x.bytes.Length >= 0 {
		at.Length = max(0, min(at.Length, x.bytes.Length-from))
	}
	h, err := s.m.loader.read(ctx, extent{name, at}, seek.Probe, s.note(x))
	if errors.Is(err, seek.ErrNoRanges) { // then all of it
		if _, err := s.read(ctx, s.i); err != nil {
			return nil, err
		}
		return s.Open(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	last := int64(len(h.data)) < end-from || h.info.Size >= 0 && x.bytes.Length < 0 && at.End() >= h.info.Size || x.bytes.Length == end
	open := func(off int64) (io.ReadCloser, error) { return bytesFrom(h.data)(off - from) }
	plain, err := decrypt(s.note(x), block, k.ivOf(x.sequence), r.Offset, !last, open)
	if err != nil {
		return nil, err
	}
	data, err := readAll(plain, len(h.data))
	if err != nil {
		return nil, err
	}
	info := seek.Info{Name: s.plainName(s.i), Size: -1}
	if last {
		info.Size = r.Offset + int64(len(data))
	}
	data = data[:min(r.Length, int64(len(data)))]
	return &seek.Body{Info: info, Offset: r.Offset, ReadCloser: io.NopCloser(bytes.NewReader(data))}, nil
}

// blocks returns the range of encrypted bytes that n plain bytes from off on are
// in, and the block before them, which chains them. Padding adds a byte at least,
// so that this does not reach beyond the encrypted bytes.
func blocks(off, n int64) (from, end int64) {
	const size = aes.BlockSize
	return max(0, off/size*size-size), (off + n + size) / size * size
}

// encrypted makes of a part of a segment's plain bytes one of the segment as it
// lies at the origin.
func (c *cut) encrypted(p *seek.Part) error {
	if p.Resource == nil {
		return nil
	}
	i, ok := c.plainIndex(p.Resource.Name)
	if !ok {
		return nil
	}
	s, name, err := c.segment(i)
	if err != nil {
		return err
	}
	k, err := usable(s.keys)
	if err != nil {
		return err
	}
	r := Rewriter{IV: k.ivOf(s.sequence), Plain: p.Range, Next: p.Rewrite}
	if r.KeyURI, err = nameOf(c.base.base, k.uri); err != nil {
		return err
	}
	p.Resource, p.Range, p.Rewrite = c.info(name), s.bytes, r
	return nil
}
