package hls

import (
	"context"
	"sync"
	"time"
)

// TestClock is a clock that tests drive: sleeping moves it on.
type TestClock struct {
	mu     sync.Mutex
	T      time.Time
	Sleeps []time.Duration
	Tick   func() // called after each move; may be nil
}

// Now is the clock's time.
func (c *TestClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.T
}

// Until moves the clock on to a time.
func (c *TestClock) Until(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.T.Before(t) {
		c.T = t
	}
}

// Sleep moves the clock on.
func (c *TestClock) Sleep(ctx context.Context, d time.Duration) error {
	c.Until(c.Now().Add(d))
	c.mu.Lock()
	c.Sleeps = append(c.Sleeps, d)
	c.mu.Unlock()
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
	PartsPresentation     = partsPresentation
	FMP4Presentation      = fmp4Presentation
	MasterPresentation    = masterPresentation
	EncryptedPresentation = encryptedPresentation
	FragmentedFile        = fragmentedFile
	CheckPictures         = checkPictures
	Write                 = write
	BetweenTimes          = between
)
