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

// advertisedPresentation is the base with an advertisement in it: its segments 4 and 5
// are that, those behind are the base's from 4 on.
func advertisedPresentation(t testing.TB) string {
	return made(t, "advertised", func(dir string) {
		main, ad := fmp4Presentation(t), advert(t)
		files := map[string][]byte{"init.mp4": readFile(t, main, "init.mp4"), "ad.mp4": readFile(t, ad, "init.mp4"), "small.mp4": readFile(t, smallPresentation(t), "init.mp4")}
		for i := range 10 {
			from, n := main, i
			switch {
			case i >= 6:
				n -= 2
			case i >= 4:
				from, n = ad, i-4
			}
			files[fmt.Sprintf("s%03d.m4s", i)] = readFile(t, from, fmt.Sprintf("s%03d.m4s", n))
		}
		for name, b := range files {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// WriteFile writes a file.
func WriteFile(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Part is a stretch of an original, in seconds: From in that, A and B in a clip.
type Part struct {
	Path       string
	From, A, B float64
}

// CheckParts compares a clip with the stretches of originals that it is made of.
func CheckParts(t *testing.T, path string, parts []Part) {
	var all []part
	for _, x := range parts {
		all = append(all, part{x.Path, x.From, x.A, x.B})
	}
	checkParts(t, path, all)
}

// Whole is the base in fragmented MP4 as one file, Advert that of an advertisement.
func Whole(t testing.TB) string  { return wholeOf(t, fmp4Presentation(t), "0") }
func Advert(t testing.TB) string { return joined(t, advert(t), "init.mp4", "s000.m4s", "s001.m4s") }

// SetClock has a medium go by a clock, as if it had been opened now.
func (m *Medium) SetClock(c *TestClock) { m.clock, m.opened = c, c.Now() }

// SetHeld has a medium hold so many bytes of what it reads.
func (m *Medium) SetHeld(n int64) { m.loader.limit = n }

// SetBehind has a medium hold so many bytes behind a live joint, and a segment.
func (m *Medium) SetBehind(n int64) { m.behind = n }

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

	AdvertisedPresentation = advertisedPresentation
	CheckPictures          = checkPictures
	Write                  = write
	BetweenTimes           = between
)
