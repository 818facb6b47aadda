package formatstest

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// Shift is the Rewriter of a [Fake]: it makes the times at the beginning of
// samples earlier.
type Shift struct {
	By    int64   // in ms
	Sizes []int64 // of the part's samples
}

var _ seek.Rewriter = Shift{}

// Name returns "fake-shift".
func (s Shift) Name() string { return "fake-shift" }

// Rewrite begins at the sample that off lies in.
func (s Shift) Rewrite(ctx context.Context, in seek.Input, off int64) (io.ReadCloser, error) {
	at := int64(0)
	sizes := s.Sizes
	for len(sizes) > 0 && at+sizes[0] <= off {
		at += sizes[0]
		sizes = sizes[1:]
	}
	if len(sizes) == 0 {
		return io.NopCloser(strings.NewReader("")), nil
	}
	body, err := in.Open(ctx, at, seek.ToEnd)
	if err != nil {
		return nil, err
	}
	r := &shifted{ReadCloser: body, by: s.By, sizes: sizes}
	if _, err := io.CopyN(io.Discard, r, off-at); err != nil {
		body.Close()
		return nil, err
	}
	return r, nil
}

// shifted reads samples and makes their times earlier.
type shifted struct {
	io.ReadCloser
	by    int64
	sizes []int64 // of the samples that have not begun
	time  []byte  // what is left of the digits in hand
	rest  int64   // of the sample behind them
}

func (r *shifted) Read(p []byte) (int, error) {
	if len(r.time) == 0 && r.rest == 0 {
		if len(r.sizes) == 0 {
			return 0, io.EOF
		}
		if err := r.begin(); err != nil {
			return 0, err
		}
	}
	if n := copy(p, r.time); n > 0 {
		r.time = r.time[n:]
		return n, nil
	}
	n, err := r.ReadCloser.Read(p[:min(int64(len(p)), r.rest)])
	r.rest -= int64(n)
	if err == io.EOF {
		if err = nil; n == 0 {
			err = io.ErrUnexpectedEOF
		}
	}
	return n, err
}

// begin reads the digits of the next sample.
func (r *shifted) begin() error {
	var digits [timeDigits]byte
	if _, err := io.ReadFull(r.ReadCloser, digits[:]); err != nil {
		return err
	}
	time, err := strconv.ParseInt(string(digits[:]), 10, 64)
	if err != nil || time < r.by {
		return &formats.Error{Container: "fake", Element: "sample", Offset: -1, Problem: fmt.Sprintf("time %q", digits), Err: formats.ErrDamaged}
	}
	r.time = fmt.Appendf(nil, "%0*d", timeDigits, time-r.by)
	r.rest = r.sizes[0] - timeDigits
	r.sizes = r.sizes[1:]
	return nil
}
