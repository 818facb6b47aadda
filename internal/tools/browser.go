package tools

import (
	"bytes"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// Browse opens a page in a headless Chromium until the test ends, and returns
// what tells what the browser has said so far, for the message of a test that
// fails. The page may play media without anybody touching it.
func Browse(t testing.TB, url string) (said func() string) {
	t.Helper()
	// Not t.TempDir: processes that the browser started outlive it by a moment
	// and write to its profile while it is removed, which is no fault of a test.
	profile, err := os.MkdirTemp("", "browser")
	if err != nil {
		t.Fatal(err)
	}
	var log lockedBuffer
	cmd := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-dev-shm-usage", "--mute-audio", "--autoplay-policy=no-user-gesture-required",
		"--user-data-dir="+profile, url)
	cmd.Stderr = &log
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		os.RemoveAll(profile)
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		force := time.AfterFunc(5*time.Second, func() { cmd.Process.Kill() })
		cmd.Wait()
		force.Stop()
		for range 50 {
			if os.RemoveAll(profile) == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	return log.String
}

// lockedBuffer is a bytes.Buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
