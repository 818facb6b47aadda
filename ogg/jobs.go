package ogg

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

// jobs are searches that run side by side.
type jobs struct {
	*errgroup.Group
	ctx  context.Context
	into []func()
}

func newJobs(ctx context.Context) *jobs {
	g, ctx := errgroup.WithContext(ctx)
	return &jobs{Group: g, ctx: ctx}
}

// find searches a tick and, once wait has returned, stores where it is.
func (j *jobs) find(l *link, s *stream, tick int64, into map[*stream]stretch) {
	found := new(stretch)
	j.into = append(j.into, func() { into[s] = *found })
	j.Go(func() (err error) {
		*found, err = l.find(j.ctx, s, tick)
		return err
	})
}

func (j *jobs) wait() error {
	if err := j.Wait(); err != nil {
		return searchError(err)
	}
	for _, store := range j.into {
		store()
	}
	return nil
}

// searchError names the container in the error of a search that was given up.
func searchError(err error) error {
	var e *seek.SearchError
	if !errors.As(err, &e) {
		return err
	}
	kind := seek.ErrLimit
	if errors.Is(err, seek.ErrDisorder) {
		kind = formats.ErrDamaged
	}
	return &formats.Error{Container: "ogg", Element: "pages", Offset: e.Range.Offset, Err: kind, Problem: e.Error(),
		Hint: "the file's granule positions contradict each other; a tool such as oggz-validate tells where"}
}
