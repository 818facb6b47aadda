package hls

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
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

// CheckClip compares a clip of the base in fragmented MP4 with [a, b) of it.
func CheckClip(t *testing.T, path string, a, b float64) {
	checkClip(t, fmp4Presentation(t), path, a, b)
}

// apartPresentation is the base with pictures and sound in folders of their own.
func apartPresentation(t testing.TB) string {
	return made(t, "apart", func(dir string) {
		from := masterPresentation(t)
		for folder, n := range map[string]string{"v": "0", "a": "2"} {
			if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
				t.Fatal(err)
			}
			for i := range 10 {
				b := readFile(t, from, fmt.Sprintf("v%s_%03d.m4s", n, i))
				if err := os.WriteFile(filepath.Join(dir, folder, fmt.Sprintf("s%03d.m4s", i)), b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, folder, "init.mp4"), readFile(t, from, "init"+n+".mp4"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// SetClock has a medium go by a clock, as if it had been opened now.
func (m *Medium) SetClock(c *TestClock) { m.clock, m.opened = c, c.Now() }

// SetHeld has a medium hold so many bytes of what it reads.
func (m *Medium) SetHeld(n int64) { m.loader.limit = n }

// The test's presentations.
var (
	RangePresentation     = rangePresentation
	TSPresentation        = tsPresentation
	PartsPresentation     = partsPresentation
	FMP4Presentation      = fmp4Presentation
	MasterPresentation    = masterPresentation
	EncryptedPresentation = encryptedPresentation
	FragmentedFile        = fragmentedFile
	EncryptedMP4          = encryptedMP4
	ApartPresentation     = apartPresentation
	CheckPictures         = checkPictures
	Write                 = write
	BetweenTimes          = between
)
