package hls

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mediafrag/mediafrag/seek"
)

// plainPrefix begins the names under which the plain bytes of encrypted segments
// go while a plan is made; no plan that is done holds one.
const plainPrefix = "plain:"

func plainName(i int) string { return plainPrefix + strconv.Itoa(i) }

// plainOpener opens the segments of a cut, decrypted.
type plainOpener struct{ *cut }

// OpenSource opens a segment.
func (o plainOpener) OpenSource(ctx context.Context, name string) (seek.Source, error) {
	number, ok := strings.CutPrefix(name, plainPrefix)
	if !ok {
		return o.m.OpenSource(ctx, name)
	}
	i, err := strconv.Atoi(number)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", name, seek.ErrNotFound)
	}
	return plainSource{o.cut, i}, nil
}

// plainSource is the plain bytes of an encrypted segment.
type plainSource struct {
	*cut
	i int
}

// Open opens a range. The segment is read and decrypted whole.
func (s plainSource) Open(ctx context.Context, r seek.Request) (*seek.Body, error) {
	p, err := s.read(ctx, s.i)
	if err != nil {
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
	return &seek.Body{Info: seek.Info{Name: plainName(s.i), Size: size}, Offset: from, ReadCloser: io.NopCloser(bytes.NewReader(p.data[from:to]))}, nil
}

// encrypted makes of a part of a segment's plain bytes one of the segment as it
// lies at the origin.
func (c *cut) encrypted(p *seek.Part) error {
	if p.Resource == nil {
		return nil
	}
	number, ok := strings.CutPrefix(p.Resource.Name, plainPrefix)
	if !ok {
		return nil
	}
	i, err := strconv.Atoi(number)
	if err != nil {
		return err
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
