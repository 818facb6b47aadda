package formatstest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// How much is read in how many places.
const (
	seeks   = 50
	readers = 8 // that use ReadAt at a time
	piece   = 10_000
)

// checkReading asserts that a clip is the same bytes however it is read.
func checkReading(ctx context.Context, c Case) error {
	return c.opened(ctx, func(m *medium) error {
		return c.each(ctx, m, func(s formats.Selection, p *formats.Plan) error {
			r := m.read(ctx, p)
			defer r.Close()
			want, err := io.ReadAll(struct{ io.Reader }{r}) // no WriteTo
			if err != nil {
				return fmt.Errorf("Read: %w", err)
			}
			if p.Size >= 0 && int64(len(want)) != p.Size || r.Size() != p.Size {
				return fmt.Errorf("Read: %d bytes, the reader says %d, the plan %d", len(want), r.Size(), p.Size)
			}
			wrong := errors.Join(writeToWrong(ctx, m, p, want), downloadWrong(ctx, m, p, want))
			if p.Size < 0 {
				return errors.Join(wrong, unsizedWrong(r))
			}
			return errors.Join(wrong, seekWrong(r, want), readAtWrong(r, want))
		})
	})
}

// differ says how bytes differ from those that Read gave.
func differ(how string, got, want []byte, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", how, err)
	case sha256.Sum256(got) != sha256.Sum256(want):
		return fmt.Errorf("%s: %d bytes with SHA-256 %.8x, Read gave %d with %.8x", how, len(got), sha256.Sum256(got), len(want), sha256.Sum256(want))
	}
	return nil
}

func writeToWrong(ctx context.Context, m *medium, p *formats.Plan, want []byte) error {
	r := m.read(ctx, p)
	defer r.Close()
	var got bytes.Buffer
	n, err := r.WriteTo(&got)
	if err == nil && n != int64(got.Len()) {
		err = fmt.Errorf("says %d bytes, wrote %d", n, got.Len())
	}
	return differ("WriteTo", got.Bytes(), want, err)
}

func downloadWrong(ctx context.Context, m *medium, p *formats.Plan, want []byte) error {
	r := m.read(ctx, p)
	defer r.Close()
	var got file
	n, err := r.Download(ctx, &got)
	if err == nil && n != int64(len(got.data)) {
		err = fmt.Errorf("says %d bytes, wrote %d", n, len(got.data))
	}
	return differ("Download", got.data, want, err)
}

// file is an io.WriterAt in memory.
type file struct {
	mu   sync.Mutex
	data []byte
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if missing := off + int64(len(p)) - int64(len(f.data)); missing > 0 {
		f.data = append(f.data, make([]byte, missing)...)
	}
	return copy(f.data[off:], p), nil
}

func seekWrong(r *seek.Reader, want []byte) error {
	rng := rand.New(rand.NewPCG(1, uint64(len(want))))
	size := int64(len(want))
	for range seeks {
		off := rng.Int64N(size + 1)
		whence, by := io.SeekStart, off
		if rng.IntN(2) == 0 {
			whence, by = io.SeekEnd, off-size
		}
		if at, err := r.Seek(by, whence); err != nil || at != off {
			return fmt.Errorf("Seek(%d, %d): at %d, %v, want %d", by, whence, at, err, off)
		}
		got := make([]byte, min(piece, size-off))
		_, err := io.ReadFull(r, got)
		if err := differ(fmt.Sprintf("Read after Seek to %d", off), got, want[off:off+int64(len(got))], err); err != nil {
			return err
		}
	}
	return nil
}

func readAtWrong(r *seek.Reader, want []byte) error {
	var wg sync.WaitGroup
	wrong := make([]error, readers)
	size := int64(len(want))
	for i := range wrong {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(2, uint64(i)))
			for range seeks / readers {
				off := rng.Int64N(size + 1)
				got := make([]byte, piece)
				n, err := r.ReadAt(got, off)
				if end := off + piece; end > size && err == io.EOF && off+int64(n) == size {
					err = nil
				}
				if err := differ(fmt.Sprintf("ReadAt(%d)", off), got[:n], want[off:min(size, off+piece)], err); err != nil {
					wrong[i] = err
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(wrong...)
}

// unsizedWrong asserts that a clip of unknown size says so.
func unsizedWrong(r *seek.Reader) error {
	if _, err := r.Seek(-1, io.SeekEnd); !errors.Is(err, seek.ErrUnsized) {
		return fmt.Errorf("seeking from an end that is not known: %v, want %w", err, seek.ErrUnsized)
	}
	if _, err := r.ReadAt(make([]byte, 1), 0); !errors.Is(err, seek.ErrUnsized) {
		return fmt.Errorf("reading at an offset of a size that is not known: %v, want %w", err, seek.ErrUnsized)
	}
	return nil
}
