package seek_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"testing"

	"github.com/mediafrag/mediafrag/internal/seektest"
	"github.com/mediafrag/mediafrag/seek"
)

// partsOf yields literals and a range, then err.
func partsOf(source *seektest.Source, err error) func(context.Context) iter.Seq2[seek.Part, error] {
	return func(context.Context) iter.Seq2[seek.Part, error] {
		return func(yield func(seek.Part, error) bool) {
			if yield(seek.Literal([]byte("ab"), ""), nil) && yield(seek.Bytes(&source.Info, seek.Range{Offset: 10, Length: 5}, ""), nil) && err != nil {
				yield(seek.Part{}, err)
			}
		}
	}
}

func TestSequence(t *testing.T) {
	source := seektest.New(seektest.PatternBytes(0, 100))
	want := append([]byte("ab"), seektest.PatternBytes(10, 5)...)
	s := seek.NewSequence(t.Context(), partsOf(source, nil), source, 0)
	if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, want) {
		t.Errorf("Read: %q, %v; want %q", got, err, want)
	}
	s.Close()

	s = seek.NewSequence(t.Context(), partsOf(source, seek.ErrUnavailable), source, 0)
	var b bytes.Buffer
	if n, err := s.WriteTo(&b); !errors.Is(err, seek.ErrUnavailable) || n != int64(len(want)) || !bytes.Equal(b.Bytes(), want) {
		t.Errorf("WriteTo: %d bytes, %v", n, err)
	}
	s.Close()
	if _, err := s.Read(make([]byte, 1)); !errors.Is(err, seek.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}

	// Close ends what waits for the next part.
	waiting := make(chan struct{})
	s = seek.NewSequence(t.Context(), func(ctx context.Context) iter.Seq2[seek.Part, error] {
		return func(yield func(seek.Part, error) bool) {
			close(waiting)
			<-ctx.Done()
			yield(seek.Part{}, ctx.Err())
		}
	}, source, 0)
	done := make(chan error)
	go func() {
		_, err := s.Read(make([]byte, 1))
		done <- err
	}()
	<-waiting
	s.Close()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a Read that Close ended: %v", err)
	}
}
