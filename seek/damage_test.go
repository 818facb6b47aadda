package seek_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"testing"

	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

// complaining is a Rewriter that changes nothing and reports each of At from the
// offset on at which it is entered.
type complaining struct{ At []int64 }

func (complaining) Name() string { return "complaining" }

func (c complaining) Rewrite(ctx context.Context, in seek.Input, off int64) (io.ReadCloser, error) {
	for _, at := range c.At {
		if at >= off {
			in.Damaged(at, "a bad byte")
		}
	}
	return in.Open(ctx, off, seek.ToEnd)
}

// What Rewriters report comes with the resource's offsets, in their order and
// once, however the clip is read.
func TestReaderDamage(t *testing.T) {
	source := seektest.New(seektest.PatternBytes(0, 1000))
	info := &source.Info
	part := func(off int64, at ...int64) seek.Part {
		p := seek.Bytes(info, seek.Range{Offset: off, Length: 100}, "")
		p.Rewrite = complaining{at}
		return p
	}
	parts := []seek.Part{part(500, 7, 3), seek.Literal([]byte("x"), ""), part(200, 99)}
	want := fmt.Sprint([]seek.Damage{{info.Name, 299, "a bad byte"}, {info.Name, 503, "a bad byte"}, {info.Name, 507, "a bad byte"}})
	r := seek.NewReader(t.Context(), parts, source, 0)
	defer r.Close()
	if got := r.Damage(); len(got) != 0 {
		t.Errorf("before anything was read: %v", got)
	}
	for range 2 {
		if _, err := r.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if _, err := r.WriteTo(io.Discard); err != nil {
			t.Fatal(err)
		}
		if _, err := r.ReadAt(make([]byte, 50), 4); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r.Damage()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	many := make([]int64, 90)
	for i := range many {
		many[i] = int64(i)
	}
	all := seek.NewReader(t.Context(), []seek.Part{part(0, many...)}, source, 0)
	defer all.Close()
	if _, err := all.WriteTo(io.Discard); err != nil || len(all.Damage()) == 0 || len(all.Damage()) > 20 {
		t.Errorf("%d places of many are remembered, %v", len(all.Damage()), err)
	}
	q := seek.NewSequence(t.Context(), func(context.Context) iter.Seq2[seek.Part, error] {
		return func(yield func(seek.Part, error) bool) {
			for p := range slices.Values(parts) {
				if !yield(p, nil) {
					return
				}
			}
		}
	}, source, 0)
	defer q.Close()
	if _, err := q.WriteTo(io.Discard); err != nil || fmt.Sprint(q.Damage()) != want {
		t.Errorf("of a sequence: %v, %v; want %s", q.Damage(), err, want)
	}
}
