package hls

import (
	"context"
	"time"
)

// TestClock is a clock that tests drive: sleeping moves it on.
type TestClock struct {
	T      time.Time
	Sleeps []time.Duration
	Tick   func() // called after each move; may be nil
}

// Now is the clock's time.
func (c *TestClock) Now() time.Time { return c.T }

// Sleep moves the clock on.
func (c *TestClock) Sleep(ctx context.Context, d time.Duration) error {
	c.T = c.T.Add(d)
	c.Sleeps = append(c.Sleeps, d)
	if c.Tick != nil {
		c.Tick()
	}
	return ctx.Err()
}

// SetClock has a medium go by a clock, as if it had been opened now.
func (m *Medium) SetClock(c *TestClock) { m.clock, m.opened = c, c.Now() }

// The test's presentations.
var (
	RangePresentation     = rangePresentation
	TSPresentation        = tsPresentation
	FMP4Presentation      = fmp4Presentation
	MasterPresentation    = masterPresentation
	EncryptedPresentation = encryptedPresentation
	CheckPictures         = checkPictures
	Write                 = write
	BetweenTimes          = between
)
