package hls

import (
	"context"
	"time"
)

// clock is what the pace of reloading goes by.
type clock interface {
	Now() time.Time
	// Sleep waits, or ends with the context's error.
	Sleep(ctx context.Context, d time.Duration) error
}

// systemClock is the clock of the machine.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
